"""What ``shoal advise`` proposes on the page of measured releases is on the frontier of risk and use."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

USES = ("areas", "presence", "flows", "routes", "models")


class Row(NamedTuple):
    options: str
    gain: float  # of the strongest attack over guessing
    answers: dict[str, int]  # of each use: 2 yes, 1 roughly, 0 no
    proposed_for: list[str]

    def dominates(self, other: "Row") -> bool:
        """Whether this release is as safe and as useful, and better in one of both."""
        ours, theirs = self.answers, other.answers
        as_good = self.gain <= other.gain and all(ours[use] >= theirs[use] for use in USES)
        return as_good and (self.gain < other.gain or ours != theirs)


def _row(options: str, attack: str, good_for: str, proposed_for: str) -> Row:
    rate, guessing = map(int, re.findall(r"(\d+) %", attack))
    answers = dict.fromkeys(USES, 0)
    for words in filter(None, good_for.replace("nothing", "").split(", ")):
        use, *roughly = words.split()
        answers[use] = 1 if roughly else 2
    return Row(
        options, (rate - guessing) / (100 - guessing), answers, list(filter(None, proposed_for.split(", ")))
    )


def _measured() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    page = Path(__file__).parents[2] / "docs" / "which.md"
    table = page.read_text(encoding="utf-8").partition("## Measured")[2]
    for line in table.splitlines():
        if line.startswith("| ") and not line.startswith("| data "):
            data, options, _half, _left, attack, good_for, proposed = (
                cell.strip() for cell in line.strip("|").split("|")
            )
            found.setdefault(data, []).append(_row(options, attack, good_for, proposed))
    return found


MEASURED = _measured()


def test_the_page_has_five_data_sets() -> None:
    assert set(MEASURED) == {"city", "nation", "cabs", "GeoLife", "check-ins"}


@pytest.mark.parametrize("data", MEASURED)
def test_no_measured_release_beats_a_proposed_one(data: str) -> None:
    rows = MEASURED[data]
    proposed = [row for row in rows if row.proposed_for]
    assert proposed
    beaten = [(ours.options, other.options) for ours in proposed for other in rows if other.dominates(ours)]
    assert beaten == []
