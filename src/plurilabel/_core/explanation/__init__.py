"""What makes up the score of a label: exact parts where a learner has them, else occlusion."""
