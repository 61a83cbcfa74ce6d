"""Recovery of paths: exact counts of presence tell them, noise hides them."""

import numpy as np
import pytest

import plain_table as plain
from shoal.errors import MisuseError
from shoal_tables.attacks.attacking import recover_paths, score_recovery

SIDE = 12
PLACES = (1000 * np.indices((SIDE, SIDE)).reshape(2, -1).T[:, ::-1]).astype(np.float64)


def _walkers(n: int, hours: int, seed: int) -> np.ndarray:
    """People who stay or step to a neighboring square."""
    rng = np.random.default_rng(seed)
    at = rng.integers(0, SIDE, (n, 2))
    path = []
    for _ in range(hours):
        path.append(at[:, 0] * SIDE + at[:, 1])
        steps = rng.integers(-1, 2, (n, 2)) * (rng.random((n, 1)) < 0.3)
        at = np.clip(at + steps, 0, SIDE - 1)
    return np.stack(path, axis=1)


def _counts(paths: np.ndarray) -> np.ndarray:
    return np.stack([np.bincount(column, minlength=SIDE * SIDE) for column in paths.T])


def test_exact_counts_tell_paths_and_noise_hides_them() -> None:
    """Noise for an epsilon below 1 (24 hours of a person: a bound of root 24) leaves a seventh of it."""
    truth = _walkers(60, 24, 1)
    counts, rng = _counts(truth), np.random.default_rng(2)
    exact = score_recovery(counts, PLACES, truth, rng)
    assert exact.right > 0.5
    assert exact.right > 3 * exact.guessing
    noise = plain.true_noise(plain.Plan(sigma=30), counts.size, 3).reshape(counts.shape)
    noisy = score_recovery(counts + noise, PLACES, truth, rng)
    assert noisy.right < 0.3 * exact.right


def test_people_are_matched_with_the_nearest_of_the_next_hour() -> None:
    counts = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 1, 1, 0]], dtype=float)
    line = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0]])
    assert recover_paths(counts, line, 2).tolist() == [[0, 1, 1], [3, 3, 2]]


def test_everybody_is_somewhere_in_each_hour() -> None:
    paths = recover_paths(np.array([[0.0, -3.0, 0.0], [9.0, 1.0, 0.0]]), PLACES[:3], 5)
    assert paths.shape == (5, 2)
    assert np.bincount(paths[:, 0], minlength=3).tolist() == [2, 2, 1]
    assert paths[:, 1].tolist() == [0] * 5


def test_counts_of_other_places_are_refused() -> None:
    with pytest.raises(MisuseError, match="a column for each place"):
        recover_paths(np.zeros((2, 3)), PLACES[:4], 2)
