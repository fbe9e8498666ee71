"""The search of :class:`~plurilabel.ExactIndex` on a GPU, by torch and Triton."""
