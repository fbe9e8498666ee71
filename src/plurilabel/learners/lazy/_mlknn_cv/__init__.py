"""ML-kNN that chooses its own parameters by leave-one-out."""
