"""Every learner on every split of every dataset, in runs that can be stopped and resumed."""
