"""People planted far apart, in which nobody covers anybody by accident, and their release by kte-hide."""

import numpy as np

import shoal
from shoal.methods.kte_hide.kte_hide import KteHide
from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness

EPOCH = 10  # slots; tau = epsilon = 10 min in all planted data


def planted(n_subjects: int, n_epochs: int, *, seed: int = 0, activity: float = 0.6) -> Trajectories:
    """People far from each other, each at a place of their own in every epoch in which they are active.

    Nobody covers by accident.
    """
    draw = np.random.default_rng(seed)
    rows = [
        (
            f"p{person:02d}",
            epoch * EPOCH + int(draw.integers(EPOCH)),
            person * 1000 + epoch * 7,
            (person * 37 % 19) * 1000 + epoch * 11,
        )
        for person in range(n_subjects)
        for epoch in range(n_epochs)
        if epoch == 0 or draw.random() < activity
    ]
    ids, t, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t, x, y, grid=Grid())


def bursts(order: int = 5, n_bursts: int = 4, *, apart: int = 6, seed: int = 0) -> Trajectories:
    """order^2 people (order prime) who meet in bursts of two epochs, on far islands, never twice on one.

    Boxes of the cheapest hiders stay on an island, so nobody covers anybody on another one by accident.
    """
    draw = np.random.default_rng(seed)
    rows = []
    for burst in range(n_bursts):
        for person in range(order**2):
            row, column = divmod(person, order)
            island = (
                row if burst == 0 else (column + (burst - 1) * row) % order
            )  # the parallel classes of an affine plane
            for epoch in (burst * apart, burst * apart + 1):
                t, x, y = draw.integers(0, [EPOCH, 100, 100]).tolist()
                rows.append((f"p{person:02d}", epoch * EPOCH + t, island * 100_000 + x, y))
    ids, t, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t, x, y, grid=Grid())


def hidden(original: Trajectories, k: int = 2, width: int = 2) -> tuple[shoal.Release, shoal.Linkage]:
    method = KteHide(k=k, tau_s=60.0 * EPOCH * (width - 1), epsilon_s=60.0 * EPOCH)
    return method.anonymize(original, Randomness.from_system())
