"""Multi-label trees: what they share, the single tree, and the forest."""
