"""Labels that are probably wrong."""
