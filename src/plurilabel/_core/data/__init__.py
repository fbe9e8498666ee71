"""Containers of data: datasets, bags, hierarchies of labels."""
