"""Tables: CSV, Parquet, JSON lines and data frames."""
