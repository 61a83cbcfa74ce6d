"""What the habits of the papers' layouts decide of the gaps; for docs/synthetic.md.

python lab/measure_tails.py [--subjects 8000] [--seeds 1]

For each change of the habits of civ and sen: the gaps of GLOVE's paper (Fig. 3a and 5), as `shoal
reproduce` measures them.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from unittest.mock import patch

from shoal.runtime.run import Run
from shoal.synthetic import people
from shoal_papers.data import QUICK, Size
from shoal_papers.experiment import Experiment
from shoal_papers.glove_gap import NATIONS, two_gap, why
from shoal_papers.running import reproduce

EXPERIMENTS: Final = [
    Experiment(figure="gap", title="", function=two_gap),
    Experiment(figure="parts", title="", function=why),
]
_BEFORE: Final = {"rate_sigma": 0.55, "day_sigma": 0.0, "burst_size": 1.6, "staying": 0.1}
CHANGES: Final[dict[str, dict[str, float]]] = {
    "as it is": {},
    "days alike": {"day_sigma": 0.0},
    "days alike, people more alike (sigma 0.55)": {"day_sigma": 0.0, "rate_sigma": 0.55},
    "people more alike (sigma 0.55)": {"rate_sigma": 0.55},
    "bursts of 1.6 events": {"burst_size": 1.6},
    "10 % stay at one station": {"staying": 0.1},
    "20 % stay at one station": {"staying": 0.2},
    "35 % of events at a station beside": {"handover": 0.35},
    "8 % of events at a station beside": {"handover": 0.08},
    "bursts, days alike, sigma 0.55, 10 % stay": _BEFORE,
}


def lines(changes: dict[str, dict[str, float]], size: Size) -> Iterator[str]:
    """A row for each change and layout, of means over the seeds."""
    head = False
    for name, changed in changes.items():
        own = {layout: replace(people.HABITS[layout], **changed) for layout in NATIONS}
        with patch.dict(people.HABITS, own):
            found = reproduce(EXPERIMENTS, size, Run())
        for layout in NATIONS:
            value = {cell.column: cell.mean for one in found for cell in one.cells if cell.row == layout}
            if not head:
                yield "| habits | layout | " + " | ".join(value) + " |"
                yield "|---" * (len(value) + 2) + "|"
                head = True
            yield f"| {name} | {layout} | " + " | ".join(f"{one:.3g}" for one in value.values()) + " |"


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=8000)
    options.add_argument("--seeds", type=int, default=1)
    asked = options.parse_args()
    for line in lines(CHANGES, replace(QUICK, people=asked.subjects, seeds=asked.seeds)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
