import numpy as np

from plurilabel._core.medoids import k_medoids


def test_moving_medoids_never_raises_the_cost():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 2))

    def distances(rows, columns):
        return np.linalg.norm(points[rows][:, None] - points[columns], axis=2)

    costs = []
    for rounds in range(1, 8):
        medoids, done = k_medoids(distances, np.arange(5), 60, rounds)
        costs.append(distances(np.arange(60), medoids).min(axis=1).sum())
        assert done <= rounds
    assert costs == sorted(costs, reverse=True) and costs[-1] < costs[0]
