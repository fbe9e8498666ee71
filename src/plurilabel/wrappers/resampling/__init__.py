"""Resamplers for rare labels."""
