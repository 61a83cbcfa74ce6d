"""How many people one grid for all hides: GLOVE's Fig. 4 and Table II of the kte paper, for docs/static.md.

python lab/measure_static.py [--input FILE | --subjects 5000 --days 14 --layout nation] [--k 2 5 8]
    [--gap] [--seed 0]
"""

import argparse

import numpy as np

import shoal
from shoal.measures.k_gap import k_gaps
from shoal.methods.static import StaticGeneralization
from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories

STEPS = (
    (100, 60),
    (1_000, 1_800),
    (2_000, 3_600),
    (4_000, 7_200),
    (10_000, 14_400),
    (20_000, 28_800),
)  # meters, seconds
N_TUPLES = 100  # random k-tuples, as the kte paper tries


def coarsened(original: Trajectories, grid: Grid) -> Trajectories:
    """Everybody's samples on a coarser grid, repeats left out."""
    fine = original.snapped_grid()
    slots, cells = round(grid.slot_s / fine.slot_s), round(grid.cell_m / fine.cell_m)
    ids = np.repeat(original.ids, original.lengths).tolist()
    return Trajectories.from_rows(
        ids, original.t // slots, original.x // cells, original.y // cells, grid=grid
    )


def tuples_alike(coarse: Trajectories, k: int, rng: np.random.Generator) -> tuple[float, float]:
    """Of random k-tuples: the share that agree fully, and the mean share of coarse samples that all have."""
    alike, shared = 0, []
    for _ in range(N_TUPLES):
        own = [
            set(zip(*coarse.samples_of(i), strict=True))
            for i in rng.choice(coarse.n_subjects, k, replace=False)
        ]
        common, together = set.intersection(*own), set.union(*own)
        alike += common == together
        shared.append(len(common) / len(together))
    return alike / N_TUPLES, float(np.mean(shared))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--input")
    options.add_argument("--subjects", type=int, default=5000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="nation")
    options.add_argument("--k", type=int, nargs="+", default=[2, 5, 8])
    options.add_argument(
        "--gap", action="store_true", help="the k-gap on each grid, too: minutes for thousands of people"
    )
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    rng = np.random.default_rng(asked.seed)
    print(f"{original.n_subjects} people, {original.n_samples} samples\n")
    print(
        "| grid, slot | k | people hidden | random k-tuples alike | samples they share | k-gap, 25 / 50 / "
        "75 % |\n|---|---|---|---|---|---|"
    )
    for cell_m, slot_s in STEPS:
        coarse = coarsened(original, Grid(cell_m=cell_m, slot_s=slot_s))
        gaps = k_gaps(coarse, asked.k) if asked.gap else []
        for place, k in enumerate(asked.k):
            crowds = StaticGeneralization(k=k, grid_m=cell_m, slot_s=slot_s).classes(original, shoal.Run())
            hidden = sum(len(crowd.members) for crowd in crowds) / original.n_subjects
            alike, shared = tuples_alike(coarse, k, rng)
            quartiles = (
                " / ".join(f"{value:.3f}" for value in np.quantile(gaps[place].gap, (0.25, 0.5, 0.75)))
                if gaps
                else ""
            )
            name = f"{cell_m / 1000:g} km, {slot_s / 60:g} min"
            print(
                f"| {name} | {k} | {100 * hidden:.1f} % | {100 * alike:.0f} % | {100 * shared:.1f} % | "
                f"{quartiles} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
