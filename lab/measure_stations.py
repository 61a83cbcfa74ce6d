"""What the share of events that a station beside records decides; for docs/synthetic.md.

python lab/measure_stations.py [--shares 0.45 0.08 0] [--subjects 1000] [--seeds 2] [--crowds]

For each share: the gaps of GLOVE's paper on civ (Fig. 3a and 5), and k-merge of tuples of one home on abi
(Table II of the kte paper), as `shoal reproduce` measures them. --crowds: instead of these, what GLOVE
leaves of civ at k = 5 (Fig. 8 of its paper), with k-merge, with its crowds refined, and as published, for
each seed.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final
from unittest.mock import patch

from shoal.runtime.run import Run
from shoal.synthetic import people
from shoal.synthetic.stations import Layout
from shoal_papers.data import QUICK, Size
from shoal_papers.experiment import Experiment
from shoal_papers.glove_accuracy import by_k, with_k_merge
from shoal_papers.glove_gap import two_gap, why
from shoal_papers.kte_tuples import compare_on_home_tuples
from shoal_papers.running import reproduce

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
_SHARES: Final = ("kept place", "half within 2 km", "half within 2 h")
CROWDS = {
    "crowds": tuple(
        (row, f"raw: {column}, %")
        for row in ("k = 5, k-merge", "k = 5, k-merge, refined")
        for column in _SHARES
    ),
    "as published": tuple(("k = 5", f"published: {column}, %") for column in _SHARES),
}
EXPERIMENTS = [
    Experiment(figure="gap", title="", function=two_gap),
    Experiment(figure="parts", title="", function=why),
    Experiment(figure="tuples", title="", function=lambda world: compare_on_home_tuples(world, "abi")),
    Experiment(figure="crowds", title="", function=with_k_merge),
    Experiment(figure="as published", title="", function=lambda world: by_k(world, (5,))),
]


def lines(
    shares: Sequence[float], size: Size, asked: Mapping[str, Sequence[tuple[str, str]]] = ASKED
) -> Iterator[str]:
    """A row for each share of events: means over the seeds; of crowds the number of each seed."""
    names = [f"{row}: {column}" for cells in asked.values() for row, column in cells]
    experiments = [one for one in EXPERIMENTS if one.figure in asked]
    yield "| events of a station beside | " + " | ".join(names) + " |"
    yield "|---" * (len(names) + 1) + "|"
    for share in shares:
        changed = {one: replace(people.HABITS[one], handover=share) for one in CHANGED}
        with patch.dict(people.HABITS, changed):
            found = reproduce(experiments, size, Run())
        value = {
            (one.experiment.figure, cell.row, cell.column): cell.values if asked is CROWDS else (cell.mean,)
            for one in found
            for cell in one.cells
        }
        cells = [
            ", ".join(f"{number:.3g}" for number in value[figure, *cell])
            for figure, named in asked.items()
            for cell in named
        ]
        yield f"| {share:.0%} | " + " | ".join(cells) + " |"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--shares", type=float, nargs="+", default=[0.45, 0.08, 0.0])
    options.add_argument("--subjects", type=int, default=1000)
    options.add_argument("--seeds", type=int, default=2)
    options.add_argument("--crowds", action="store_true")
    asked = options.parse_args()
    size = replace(QUICK, people=asked.subjects, seeds=asked.seeds)
    for line in lines(asked.shares, size, CROWDS if asked.crowds else ASKED):
        print(line, flush=True)


if __name__ == "__main__":
    main()
