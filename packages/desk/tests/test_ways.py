"""What else could be published: figures of trial releases, and a button that makes one of everybody."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import shoal
from desk_visits import Visitor
from shoal.comparison import advice
from shoal.utility.usefulness import ways_out
from shoal_desk.recipients import BANDS
from shoal_desk.words import LANGUAGES


@pytest.fixture
def stuck(released: Visitor, tmp_path: Path) -> Visitor:
    """Somebody whose release is good for nothing, at a copy of the case."""
    visitor = Visitor(Path(shutil.copytree(released.folder, tmp_path / "case")))
    choices = visitor.desk.case.choices()
    places: dict[str, Any] = {name: str(tmp_path / name) for name in ("output", "linkage")}
    visitor.desk.case.change(choices.version, private_report="", **places)
    assert visitor.post("release", "start:release", **places).sentence == ""
    return visitor


def test_a_way_out_is_tried_on_a_sample_and_then_made(
    stuck: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = stuck.get("release").html
    assert "The release is good for none of these uses." in page
    assert "What could be published instead" in page
    assert "each day of a person by itself" in page
    assert "--per-day" not in page.partition('id="ways"')[2].partition("</ul>")[0]
    monkeypatch.setattr(advice, "TRIALS", [advice.TRIALS[1], advice.TRIALS[9]])
    monkeypatch.setattr(advice, "DAYS_APIECE", 0)  # people of one day try days as well
    page = stuck.post("release", "start:advice", ways="yes").html
    rows = page.partition('id="trials"')[2].partition("</table>")[0]
    assert rows.count("<tr>") == 3
    assert "crowds of 2, up to 5 % left out" in rows
    assert "days by themselves, crowds of 2" in rows
    for language in LANGUAGES:
        stuck.desk.case.change(stuck.desk.case.choices().version, language=language)
        assert 'id="trials"' in stuck.get("release").html
    stuck.desk.case.change(stuck.desk.case.choices().version, language="en")
    refused = stuck.post("release", "start:release", trial="--k 1")
    assert refused.status == 422
    made = stuck.post("release", "start:release", trial="--per-day --k 2 --refine")
    assert made.sentence == ""
    choices = stuck.desk.case.choices()
    assert (choices.k, choices.per_day, dict(choices.settings)) == (2, True, {"refine": "on"})
    assert choices.output == str(tmp_path / "output-2")
    release = shoal.read_release(Path(choices.output))
    assert release.claim.k == 2
    assert "day" in release.unit_of_protection
    assert 'id="risk"' in stuck.get("release").html


def test_settings_are_proposed_for_what_the_data_is_for(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = visitor.desk.case.choices().source
    assert visitor.post("data", "start:data", source=source, uses=["a walk"]).status == 422
    visitor.post("data", "start:data", source=source, uses=["flows", "presence"])
    assert visitor.desk.case.choices().uses == ("flows", "presence")
    assert 'value="flows" checked' in visitor.get("data").html
    trial = advice.TRIALS[1]
    monkeypatch.setattr(advice, "TRIALS", [trial])
    page = visitor.post("trade", "start:advice", ways="yes").html
    job = visitor.desk.work(visitor.desk.case.choices()).advice
    assert job is not None
    assert "--for flows --for presence" in job.plan.commands[0].shell_line()
    name = page.partition('name="trial" value="')[2].partition('"')[0]
    visitor.post("trade", "next", trial=name)
    choices = visitor.desk.case.choices()
    assert (choices.method, choices.k, choices.output) == ("glove", trial.k, "")
    assert choices.settings["refine"] == "on"


def test_a_release_above_the_threshold_of_a_recipient_says_so_wherever_it_may_be_given_away(
    released: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = tuple((0.0, band) for _, band in BANDS[:-1])
    monkeypatch.setattr("shoal_desk.recipients.BANDS", (*none, BANDS[-1]))
    for step in ("release", "record"):
        assert "Do not give it to them without a decision" in released.get(step).html
    monkeypatch.setattr("shoal_desk.recipients.BANDS", tuple((1.0, band) for _, band in BANDS))
    for step in ("release", "record"):
        assert "Do not give it to them" not in released.get(step).html


def test_what_a_release_has_already_is_no_way_out() -> None:
    everything = [way.option for way in ways_out(for_use=True, for_risk=True)]
    made_with = {"k": 11, "hull": "grid:500m", "refine": True, "per_day": False}
    left = [way.option for way in ways_out(for_use=True, for_risk=True, made_with=made_with)]
    assert set(everything) - set(left) == {"--k 11", "--hull grid:500m", "--refine"}
    few_places = [way.option for way in ways_out(for_use=True, for_risk=True, stations=True)]
    assert set(everything) ^ set(few_places) == {"--hull grid:500m", "--places FILE --hull leaves:10"}
    assert everything == [
        way.option for way in ways_out(for_use=True, for_risk=True, made_with={"k": 5, "hull": "tight"})
    ]
