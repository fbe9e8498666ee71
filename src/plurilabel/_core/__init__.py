"""The foundation: what a learner is, labels, unknown labels, blocks, limits, the roster, words."""
