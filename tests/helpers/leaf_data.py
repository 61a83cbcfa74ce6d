"""Small populations with a public list of places, and leaves by a slow look."""

from dataclasses import replace

import numpy as np

from shoal.model.places import PublicPlaces
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories

Cell = tuple[int, int]


def with_places(original: Trajectories, *, further: int = 3, seed: int = 1) -> Trajectories:
    """The people with a list of the cells that they use and ``further`` others; busyness is drawn."""
    draw = np.random.default_rng(seed)
    used = np.column_stack([original.x, original.y])
    others = draw.integers(used.min() - 3, used.max() + 4, (further, 2))
    cells = draw.permutation(np.unique(np.concatenate([used, others]), axis=0))
    x, y = ((cells + 0.5) * original.snapped_grid().cell_m).T
    return replace(
        original, places=PublicPlaces(x=x, y=y, busyness=draw.integers(1, 9, len(x)).astype(np.float64))
    )


def moved_within(original: Trajectories, leaves: list[list[Cell]], *, seed: int) -> Trajectories:
    """The same people and times, each sample in a cell of its leaf that is drawn."""
    draw = np.random.default_rng(seed)
    leaf_at = {cell: leaf for leaf in leaves for cell in leaf}
    cells = [
        leaf_at[cell][draw.integers(len(leaf_at[cell]))]
        for cell in zip(original.x.tolist(), original.y.tolist(), strict=True)
    ]
    moved = Trajectories.from_rows(
        np.repeat(original.ids, original.lengths).tolist(),
        original.t,
        *np.array(cells).T,
        grid=original.grid,
        intake=original.intake,
    )
    return replace(moved, places=original.places, input_rank=original.input_rank)


def boxes_are_hulls_of_leaves(
    original: Trajectories, release: Release, members_of: dict[str, list[int]], leaves: list[list[Cell]]
) -> bool:
    """Whether each box is the hull of the leaves inside it that hold a sample of these people at its time."""
    leaf_at = {cell: leaf for leaf in leaves for cell in leaf}
    for number, name in enumerate(release.trajectory_ids):
        samples = [
            row
            for member in members_of[name]
            for row in zip(*(column.tolist() for column in original.samples_of(member)), strict=True)
        ]
        for box in zip(*(column.tolist() for column in release.record(number).columns()), strict=True):
            t, low_x, low_y, high_x, high_y = [], [], [], [], []
            for moment, x, y in samples:
                xs, ys = zip(*leaf_at[x, y], strict=True)
                inside = box[2] <= min(xs) and max(xs) < box[4] and box[3] <= min(ys) and max(ys) < box[5]
                if box[0] <= moment < box[1] and inside:
                    t.append(moment)
                    low_x.append(min(xs))
                    low_y.append(min(ys))
                    high_x.append(max(xs) + 1)
                    high_y.append(max(ys) + 1)
            if not t or box != (
                min(t),
                max(t) + 1,
                min(low_x),
                min(low_y),
                max(high_x),
                max(high_y),
            ):
                return False
    return True
