"""A point of the frontier says what it costs: risk, use, and what is left out."""

from typing import Any

import pytest

from shoal_desk.steps.trade import _sentence
from shoal_desk.words import Words


def found(method: str, **measured: float) -> dict[str, Any]:
    rate = {
        "name": "linkage",
        "knowledge": "4 exact points",
        "target": "release",
        "baseline": 0.008,
        "asked": "points:4",
    }
    release = {
        "label": f"{method} k=10",
        "method": method,
        "attacks": {"points:4": [rate]},
        "attacks_of_its_claim": [],
        "measurements": [{"name": name, "value": value} for name, value in measured.items()],
    }
    return {"budget": {"utility": "range-error"}, "releases": [release]}


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("kte-hide", "Left out: 93.7 % of the samples, 16.7 % of the people."),
        ("nwa", "Left out: 16.7 % of the people; points may be moved or left out, too."),
    ],
)
def test_what_is_left_out_is_said_of_every_kind(method: str, told: str) -> None:
    measured = {"samples-covered": 0.0631, "people-suppressed": 1 / 6}
    point = {
        "label": f"{method} k=10",
        "worst": 0.051,
        "worst_by": "linkage, 4 exact points",
        "utility": 0.798,
    }
    sentence = _sentence(point, found(method, **measured), Words("en"))
    assert "right in 5.1 %" in sentence
    assert sentence.endswith(told)
    assert "5,1 %" in (said := _sentence(point, found(method, **measured), Words("de")))
    assert "16,7 %" in said
