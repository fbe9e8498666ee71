"""The automatic choice of learners."""
