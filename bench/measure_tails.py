"""What decides how heavy the tails of `--layout sen` are; for docs/synthetic.md.

python bench/measure_tails.py [--subjects 8000] [--seeds 1]

For each change of the layout: the gaps of GLOVE's paper (Fig. 3a and 5), as `shoal reproduce` measures them.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from unittest.mock import patch

from shoal.reproduction.data import QUICK, Size
from shoal.reproduction.experiment import Experiment
from shoal.reproduction.glove_gap import two_gap, why
from shoal.reproduction.running import reproduce
from shoal.runtime.run import Run
from shoal.synthetic import activity, habits

EXPERIMENTS: Final = [
    Experiment(figure="gap", title="", function=two_gap),
    Experiment(figure="parts", title="", function=why),
]
CHANGES: Final[dict[str, tuple[float, dict[str, float]]]] = {  # events in a burst, habits
    "as it is": (activity.BURST_SIZE, {}),
    "rates of people alike (sigma 0.35)": (activity.BURST_SIZE, {"rate_sigma": 0.35}),
    "no bursts": (1.0, {}),
    "no bursts, 20 % stay": (1.0, {"staying": 0.2}),
    "no bursts, sigma 0.8": (1.0, {"rate_sigma": 0.8}),
    "no bursts, sigma 0.8, 15 % stay": (1.0, {"rate_sigma": 0.8, "staying": 0.15}),
}


def lines(changes: dict[str, tuple[float, dict[str, float]]], size: Size) -> Iterator[str]:
    """A row for each change, of means over the seeds."""
    head = False
    for name, (burst, changed) in changes.items():
        own = {"sen": replace(habits.HABITS["sen"], **changed)}
        with patch.dict(habits.HABITS, own), patch.object(activity, "BURST_SIZE", burst):
            found = reproduce(EXPERIMENTS, size, Run())
        value = {cell.column: cell.mean for one in found for cell in one.cells if cell.row == "sen"}
        if not head:
            yield "| sen | " + " | ".join(value) + " |"
            yield "|---" * (len(value) + 1) + "|"
            head = True
        yield f"| {name} | " + " | ".join(f"{one:.3g}" for one in value.values()) + " |"


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
