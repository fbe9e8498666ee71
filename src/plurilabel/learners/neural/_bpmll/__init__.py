"""BP-MLL: the learner, its network, and what training needs of torch."""
