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


def test_rounding_does_not_choose_between_equal_distances():
    """Whatever is added to distances in the last digits, and in whatever order they are summed."""
    rng = np.random.default_rng(1)
    points = rng.integers(0, 3, size=(40, 3)).astype(float)
    exact = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    answers = set()
    for _ in range(8):
        D = exact * (1 + 1e-14 * rng.standard_normal(exact.shape))
        answers.add(tuple(k_medoids(lambda i, j, D=D: D[np.ix_(i, j)], np.arange(6), 40, 50)[0]))
    assert len(answers) == 1
    middle = np.abs(np.arange(4.0)[:, None] - np.arange(4.0))  # of four in a row, the second
    assert k_medoids(lambda i, j: middle[np.ix_(i, j)], np.array([3]), 4, 9)[0].tolist() == [1]


def test_two_groups():
    x = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])
    medoids, rounds = k_medoids(
        lambda i, j: np.abs(x[i, None] - x[j]), np.array([0, 1]), 6, max_iter=10
    )
    assert (medoids.tolist(), rounds) == ([1, 4], 3)
