"""The record that covers most of what is known most narrowly, and a corner of its smallest other box."""

from pathlib import Path

import numpy as np

from shoal.model.grid import Grid
from shoal.model.release import Release
from shoal.release_folder.folder import read_release


def link(folder: Path, known: list[list[list[float]]]) -> list[str]:
    release = read_release(folder)
    return [release.trajectory_ids[_named(release, points)[0]] for points in known]


def reveal(folder: Path, known: list[list[list[float]]]) -> list[list[float]]:
    release = read_release(folder)
    return [_named(release, points)[1] for points in known]


def _named(release: Release, points: list[list[float]]) -> tuple[int, list[float]]:
    grid = release.grid or Grid()
    size = np.array([grid.slot_s, grid.cell_m, grid.cell_m])
    boxes, offsets = np.column_stack(release.as_boxes(grid).boxes.columns()), release.as_boxes(grid).offsets
    low, high = boxes[:, [0, 2, 3]], boxes[:, [1, 4, 5]]
    worth = 40 - np.log((high - low).prod(axis=1))
    cells = np.floor(np.array(points) / size)[:, None, :]
    covers = ((low <= cells) & (cells < high)).all(axis=2)
    record = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    score = np.zeros(len(offsets) - 1)
    for one in covers:
        best = np.zeros(len(score))
        np.maximum.at(best, record[one], worth[one])
        score += best
    named = int(np.random.default_rng().choice(np.flatnonzero(score == score.max())))
    own = np.flatnonzero((record == named) & ~covers.any(axis=0))
    row = own[np.argmax(worth[own])] if len(own) else offsets[named]
    return named, (low[row] * size).tolist()
