"""Scores to probabilities, and label sets with a guarantee."""
