"""A row of the table of trade-offs says what it costs: risk, use, and what is left out."""

from typing import Any

import pytest

from desk_visits import Visitor
from shoal_desk.steps.trade import _cells
from shoal_desk.words import LANGUAGES, Words


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


@pytest.mark.parametrize(("method", "samples_out"), [("kte-hide", "93.7 %"), ("nwa", "?")])
def test_what_is_left_out_is_said_of_every_kind(method: str, samples_out: str) -> None:
    measured = {"samples-covered": 0.0631, "people-suppressed": 1 / 6}
    point = {
        "label": f"{method} k=10",
        "worst": 0.051,
        "worst_by": "linkage, 4 exact points",
        "utility": 0.798,
    }
    row = _cells(point, found(method, **measured), Words("en"))
    assert (row["samples_out"], row["people_out"], row["value"], row["guess"]) == (
        samples_out,
        "16.7 %",
        "79.8 %",
        0.008,
    )
    assert row["adversary"].startswith("Knows some exact times")
    assert _cells(point, found(method, **measured), Words("de"))["people_out"] == "16,7 %"


def test_the_comparison_is_one_table_with_a_recommendation(visitor: Visitor) -> None:
    page = visitor.post("trade", "start:study", methods=["glove"], ks="2, 4", sample="40", tries="20").html
    assert 'id="recommended"' in page
    assert 'value="glove k=4 refine=True hull=grid:500m"' in page
    rows = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert rows.count("<tr>") == rows.count('type="radio"') == 2
    for language in LANGUAGES:
        visitor.desk.case.change(visitor.desk.case.choices().version, language=language)
        assert 'id="recommended"' in visitor.get("trade").html
    visitor.post("trade", "next", pick="glove k=4 refine=True hull=grid:500m")
    choices = visitor.desk.case.choices()
    assert (choices.k, choices.settings) == (4, {"refine": "on", "hull": "grid:500m"})
    visitor.desk.case.change(choices.version, method="", reading={"cell": "300m"})
    visitor.post("trade", "next", direct="yes", method="glove", k="4")
    assert visitor.desk.case.choices().settings == {"refine": "on"}  # 300 m is no part of 500 m


@pytest.mark.parametrize(("recipient", "k"), [("public", 11), ("inside", 5)])
def test_the_k_proposed_is_the_one_that_its_recipient_asks_for(
    visitor: Visitor, recipient: str, k: int
) -> None:
    visitor.desk.case.change(visitor.desk.case.choices().version, recipients={recipient: ["points:4"]}, k=0)
    assert f'name="k" type="text" value="{k}"' in visitor.get("trade").html


def test_the_desk_has_people_who_do_not_exist_to_try_it_with(newcomer: Visitor) -> None:
    assert "1,000 people who do not exist" in newcomer.get("data").html
    page = newcomer.post("data", "sample").html
    assert "1,000 ids" in page
    assert newcomer.desk.case.choices().source.endswith("people-who-do-not-exist.parquet")
    assert '<button form="sample" name="do" value="sample"' in page  # Enter in a field presses another button
