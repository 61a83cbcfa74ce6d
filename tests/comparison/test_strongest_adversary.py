"""Releases are ranked and recommended by the strongest adversary of each, who is named."""

import json
from pathlib import Path

import pytest

import shoal
from shoal.comparison.compare import compare
from shoal.comparison.study import Setting, Study
from shoal.utility.frontier import Budget


def test_a_class_of_two_is_worst_against_its_own_members(tmp_path: Path) -> None:
    city = shoal.read(shoal.synthesize(n_subjects=50, days=1, seed=1))
    settings = tuple(Setting(label=f"glove k={k}", name="glove", method=shoal.Glove(k=k)) for k in (2, 5))
    study = Study(
        settings=settings, budget=Budget(attack="linkage"), knowledge=("points:4",), tries=30, hold_out=0
    )
    found = compare(city, study, tmp_path / "study")
    by_label = {point.label: point for point in found.points}
    assert [point.label for point in found.ranking] == ["glove k=5", "glove k=2"]
    assert by_label["glove k=2"].worst_by.startswith("insider-")
    assert by_label["glove k=2"].worst > by_label["glove k=2"].risk, "the budget asks of another adversary"
    written = json.loads((tmp_path / "study/comparison.json").read_text())
    assert written["ranking"] == ["glove k=5", "glove k=2"]
    assert written["points"][0]["worst_by"] in (tmp_path / "study/comparison.html").read_text()


def test_a_budget_is_held_against_the_strongest_adversary_unless_it_names_another(tmp_path: Path) -> None:
    """In classes of two the partner's places are read off, which nobody sees who only counts linkage."""
    city = shoal.read(shoal.synthesize(n_subjects=50, days=1, seed=1))
    settings = tuple(Setting(label=f"glove k={k}", name="glove", method=shoal.Glove(k=k)) for k in (2, 10))
    found = {
        attack: compare(
            city,
            Study(
                settings=settings,
                budget=Budget(attack=attack, at_most=0.65),
                knowledge=("points:4",),
                tries=30,
                hold_out=0,
            ),
            tmp_path / "study",
        )
        for attack in ("linkage", "strongest")
    }
    by_label = {point.label: point for point in found["strongest"].points}
    (worst,) = (
        one
        for one in found["strongest"].results[0]["attacks_of_its_claim"]
        if f"{one['name']}, {one['knowledge']}" == by_label["glove k=2"].worst_by
    )
    left = 1 - worst["baseline"]
    assert by_label["glove k=2"].risk == pytest.approx((worst["rate"] - worst["baseline"]) / left)
    assert by_label["glove k=2"].risk_high == pytest.approx((worst["high"] - worst["baseline"]) / left)
    assert by_label["glove k=2"].risk_high > 0.65 > by_label["glove k=10"].risk_high
    assert found["linkage"].recommendation.label == "glove k=2"
    assert by_label["glove k=2"].worst_by in " ".join(found["linkage"].recommendation.reasons)
    assert found["strongest"].recommendation.label == "glove k=10"
    assert "sefulness: " in found["strongest"].recommendation.reasons[0]
    assert "strongest adversary" in (tmp_path / "study/comparison.html").read_text()
