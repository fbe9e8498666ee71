"""Published tables as data, and the runs that repeat them."""
