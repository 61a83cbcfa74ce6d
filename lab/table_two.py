"""Table II of Gramaglia et al. 2017 on synthetic data: random people merged by three methods.

    python lab/table_two.py [--subjects 3000] [--days 14] [--layout city] [--tuples 100] [--k 2 5 8]
        [--input FILE]

The methods are k-merge, GLOVE and one coarse grid for all. For k-merge and GLOVE: median and mean duration
and dx + dy of the published boxes of all tuples. For static generalization: the share of tuples whose members
become identical, and the share of samples whose coarse cell and slot all members visit.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

import shoal
from shoal.methods.glove.greedy import Generalize
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run

GRIDS = (("2 h, 4 km", 7200, 4000), ("4 h, 10 km", 14400, 10_000), ("8 h, 20 km", 28800, 20_000))


def by_k_merge(own: Trajectories) -> Boxes:
    grid = own.snapped_grid()
    cells = np.rint(shoal.k_merge(own)[0] / np.array([grid.slot_s] * 2 + [grid.cell_m] * 4)).astype(np.int64)
    return Boxes(
        t_start=cells[:, 0],
        t_end=cells[:, 1],
        x_min=cells[:, 2],
        y_min=cells[:, 3],
        x_max=cells[:, 4],
        y_max=cells[:, 5],
    )


def by_glove(reading: Generalize) -> Callable[[Trajectories], Boxes]:
    def merge(own: Trajectories) -> Boxes:
        (crowd,) = shoal.Glove(k=own.n_subjects, generalize=reading).classes(own, Run(threads=1))
        return crowd.boxes

    return merge


def alike(own: Trajectories, slot_s: float, cell_m: float) -> tuple[bool, int]:
    """Whether all members agree on the coarse grid, and how many samples lie where all members have been."""
    grid = own.snapped_grid()
    steps = np.array([slot_s / grid.slot_s, cell_m / grid.cell_m, cell_m / grid.cell_m])
    coarse = [
        [tuple(row) for row in (np.stack(own.samples_of(i), axis=1) // steps).astype(int).tolist()]
        for i in range(own.n_subjects)
    ]
    everywhere = set.intersection(*map(set, coarse))
    return all(set(member) == everywhere for member in coarse), sum(
        cell in everywhere for member in coarse for cell in member
    )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=3000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="city")
    options.add_argument("--tuples", type=int, default=100)
    options.add_argument("--k", type=int, nargs="+", default=[2, 5, 8])
    options.add_argument("--input")
    asked = options.parse_args()

    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    grid = original.snapped_grid()
    print(
        f"{original.n_subjects} people, {original.n_samples} samples, {asked.tuples} random tuples for each k"
    )
    readings: tuple[Generalize, ...] = ("none", "reshape-final", "reshape-each")
    merges = {"k-merge": by_k_merge, **{f"GLOVE, {reading}": by_glove(reading) for reading in readings}}
    for k in asked.k:
        draw = np.random.default_rng(k)
        tuples = [
            original.keep(np.sort(draw.choice(original.n_subjects, k, replace=False)))
            for _ in range(asked.tuples)
        ]
        for name, merge in merges.items():
            began = time.process_time()
            boxes = Boxes.concatenate([merge(own) for own in tuples])
            seconds = time.process_time() - began
            minutes = (boxes.t_end - boxes.t_start) * grid.slot_s / 60
            km = (boxes.x_max - boxes.x_min + boxes.y_max - boxes.y_min) * grid.cell_m / 1000
            print(
                f"k = {k}, {name}: median {np.median(minutes):.0f} min, {np.median(km):.1f} km; mean "
                f"{minutes.mean():.0f} min, "
                f"{km.mean():.1f} km; {len(boxes) / asked.tuples:.0f} boxes a tuple; {seconds:.1f} CPU s",
                flush=True,
            )
        for name, slot_s, cell_m in GRIDS:
            outcome = [alike(own, slot_s, cell_m) for own in tuples]
            identical = float(np.mean([whole for whole, _ in outcome]))
            shared = sum(samples for _, samples in outcome) / sum(own.n_samples for own in tuples)
            print(f"k = {k}, static {name}: {identical:.1%} of tuples, {shared:.1%} of samples", flush=True)


if __name__ == "__main__":
    main()
