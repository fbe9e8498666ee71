"""The search of :class:`~plurilabel.neighbors.ExactIndex` on a GPU, by torch and Triton."""
