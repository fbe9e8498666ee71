"""Checks that scikit-learn's own suite lacks for several labels."""
