"""What the share of events that a station beside records decides; for docs/synthetic.md.

python bench/measure_stations.py [--shares 0.45 0.08 0] [--subjects 1000] [--seeds 2]

For each share: the gaps of GLOVE's paper on civ (Fig. 3a and 5), and k-merge of tuples of one home on abi
(Table II of the kte paper), as `shoal reproduce` measures them.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final
from unittest.mock import patch

from shoal.reproduction.data import QUICK, Size
from shoal.reproduction.experiment import Experiment
from shoal.reproduction.glove_gap import two_gap, why
from shoal.reproduction.kte_tuples import merged
from shoal.reproduction.running import reproduce
from shoal.runtime.run import Run
from shoal.synthetic import habits
from shoal.synthetic.stations import Layout

ASKED = {
    "gap": (("civ", "median"),),
    "parts": (
        ("civ", "time above space, % of people"),
        ("civ", "time share, median, %"),
        ("civ", "time alone, % of people"),
        ("civ", "tail of time >= 1.5, % of people"),
    ),
    "tuples": tuple((f"k = {k}", column) for k in (2, 5, 8) for column in ("k-merge, km", "k-merge, min")),
}
CHANGED: Final[tuple[Layout, ...]] = ("civ", "sen", "abi")
EXPERIMENTS = [
    Experiment(figure="gap", title="", function=two_gap),
    Experiment(figure="parts", title="", function=why),
    Experiment(figure="tuples", title="", function=lambda world: merged(world, "abi")),
]


def lines(shares: Sequence[float], size: Size) -> Iterator[str]:
    """A row for each share of events, of means over the seeds."""
    names = [f"{row}: {column}" for cells in ASKED.values() for row, column in cells]
    yield "| events of a station beside | " + " | ".join(names) + " |"
    yield "|---" * (len(names) + 1) + "|"
    for share in shares:
        changed = {one: replace(habits.HABITS[one], handover=share) for one in CHANGED}
        with patch.dict(habits.HABITS, changed):
            found = reproduce(EXPERIMENTS, size, Run())
        value = {
            (one.experiment.figure, cell.row, cell.column): cell.mean for one in found for cell in one.cells
        }
        cells = [f"{value[figure, *cell]:.3g}" for figure, named in ASKED.items() for cell in named]
        yield f"| {share:.0%} | " + " | ".join(cells) + " |"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--shares", type=float, nargs="+", default=[0.45, 0.08, 0.0])
    options.add_argument("--subjects", type=int, default=1000)
    options.add_argument("--seeds", type=int, default=2)
    asked = options.parse_args()
    for line in lines(asked.shares, replace(QUICK, people=asked.subjects, seeds=asked.seeds)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
