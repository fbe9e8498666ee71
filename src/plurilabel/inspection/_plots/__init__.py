"""Displays of labels, scores and errors."""
