"""CML: the learner, its likelihood, and sums over label sets."""
