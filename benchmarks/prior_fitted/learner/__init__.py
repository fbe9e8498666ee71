"""A network trained on generated tables, which answers for a new table in one pass."""
