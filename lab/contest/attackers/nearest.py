"""The record whose line passes nearest to what is known, ends held."""

from pathlib import Path

import numpy as np

from shoal.model.grid import Grid
from shoal.release_folder.folder import read_release


def link(folder: Path, known: list[list[list[float]]]) -> list[str]:
    release = read_release(folder)
    if release.grid is None:
        t, x, y = release.points.t, release.points.x, release.points.y
    else:
        grid, boxes = release.grid or Grid(), release.boxes
        t = (boxes.t_start + boxes.t_end) / 2 * grid.slot_s
        x, y = (boxes.x_min + boxes.x_max) / 2 * grid.cell_m, (boxes.y_min + boxes.y_max) / 2 * grid.cell_m
    lines = [slice(a, b) for a, b in zip(release.offsets[:-1], release.offsets[1:], strict=True)]
    answers = []
    for points in known:
        at = np.array(points).T
        away = [
            np.hypot(np.interp(at[0], t[s], x[s]) - at[1], np.interp(at[0], t[s], y[s]) - at[2]).sum()
            for s in lines
        ]
        best = np.flatnonzero(np.array(away) <= min(away) * (1 + 1e-9))
        answers.append(release.trajectory_ids[int(np.random.default_rng().choice(best))])
    return answers
