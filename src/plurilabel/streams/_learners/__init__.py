"""Learners of streams, one a file; their base class is river's, if it is installed."""
