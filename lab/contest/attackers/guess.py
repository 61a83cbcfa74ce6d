"""Knows nothing: a record at random, and the middle of a row of it at random."""

from pathlib import Path

import numpy as np

from shoal.release_folder.folder import read_release


def link(folder: Path, known: list[list[list[float]]]) -> list[str]:
    names, draw = read_release(folder).trajectory_ids, np.random.default_rng()
    return [names[int(draw.integers(len(names)))] for _ in known]


def reveal(folder: Path, known: list[list[list[float]]]) -> list[list[float]]:
    release, draw = read_release(folder), np.random.default_rng()
    rows = draw.integers(0, release.n_samples, len(known))
    if release.grid is None:
        points = np.column_stack([release.points.t, release.points.x, release.points.y])[rows]
        return [list(map(float, one)) for one in points]
    size = np.array([release.grid.slot_s, release.grid.cell_m, release.grid.cell_m])
    boxes = np.column_stack(release.boxes.columns())[rows]
    low, high = boxes[:, [0, 2, 3]], boxes[:, [1, 4, 5]]
    return [list(map(float, one)) for one in draw.integers(low, high) * size]
