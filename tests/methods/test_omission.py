"""GLOVE with a budget of samples left out: what it keeps to and counts, and what the verifier refuses."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from claim_check import verdict_on_claim
from command_line import Shoal
from exchanged_links import classes_of, exchanged
from record_marks import Marks
from shoal.errors import MisuseError, NothingLeftError
from shoal.model.claims import KAnonymity
from shoal.model.omission import ANY_SHARE, REASONS, most_allowed
from shoal.report.facts.omission import SHARES
from shoal.units import parse_share
from shoal.utility import Facts


@pytest.fixture(scope="module")
def calls() -> shoal.Trajectories:
    return shoal.read(shoal.synthesize(60, 2, 1))


def released(calls: shoal.Trajectories, **settings: Any) -> tuple[shoal.Release, shoal.Linkage]:
    return shoal.Glove(k=3, **settings).anonymize(calls, shoal.Randomness.for_research(1))


def missing_by_person(calls: shoal.Trajectories, release: shoal.Release, linkage: shoal.Linkage) -> Any:
    """[people] the samples of each that no box of the own record holds, counted plainly."""
    record_of = dict(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    missing = []
    for subject, uid in enumerate(calls.ids):
        t, x, y = calls.samples_of(subject)
        held = np.zeros(len(t), dtype=bool)
        if uid in record_of:
            boxes = release.record(release.trajectory_ids.index(record_of[uid]))
            for t0, t1, x0, y0, x1, y1 in zip(*boxes.columns(), strict=True):
                held |= (t0 <= t) & (t < t1) & (x0 <= x) & (x < x1) & (y0 <= y) & (y < y1)
        missing.append(int((~held).sum()))
    return np.array(missing)


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_what_is_missing_keeps_to_the_budget_and_is_counted(calls: shoal.Trajectories, share: float) -> None:
    release, linkage = released(calls, omit_at_most=share)
    missing = missing_by_person(calls, release, linkage)
    gone = np.array([uid not in linkage.uids for uid in calls.ids])
    assert 0 < missing.sum() <= share * calls.n_samples
    assert gone.sum() <= share * calls.n_subjects
    assert (missing[~gone] <= 4 * share * calls.lengths[~gone]).all()
    assert release.losses.samples_suppressed == missing.sum()
    counted = dict(zip(REASONS, (missing[gone].sum(), missing[~gone].sum()), strict=True))
    assert release.losses.samples_by_reason == {why: count for why, count in counted.items() if count}
    assert shoal.verify(calls, release, linkage).holds


def test_boxes_shrink_and_more_so_the_more_is_left_out(calls: shoal.Trajectories) -> None:
    means = []
    for share in (0, 0.02, 0.1):
        release, linkage = released(calls, omit_at_most=share)
        raw = Facts(calls, release, linkage).accuracy.raw
        means.append(raw.mean_space_m * raw.mean_time_s)
    assert means[0] > means[1] > means[2]


def test_a_budget_of_0_changes_nothing_and_claims_no_bound(calls: shoal.Trajectories) -> None:
    (plain, _), (none, _) = released(calls), released(calls, omit_at_most=0.0)
    assert [
        np.array_equal(*pair) for pair in zip(plain.boxes.columns(), none.boxes.columns(), strict=True)
    ] == [True] * 6
    assert plain.claim == none.claim == KAnonymity(k=3)
    assert plain.claim.missing_at_most == ANY_SHARE
    assert plain.losses.samples_by_reason == {}


def test_a_person_may_be_told_to_lose_nothing_but_all(calls: shoal.Trajectories) -> None:
    release, linkage = released(calls, omit_at_most=0.1, omit_of_one_at_most=0.01)
    missing = missing_by_person(calls, release, linkage)
    stays = np.array([uid in linkage.uids for uid in calls.ids])
    assert (missing[stays] <= 0.01 * calls.lengths[stays]).all()
    assert release.losses.subjects_suppressed > 0  # whole crowds go


@pytest.mark.parametrize(
    ("claimed", "kind"),
    [
        ({"missing_at_most": 0.001}, "too-much-missing"),
        ({"missing_of_one_at_most": 0.01}, "too-much-of-one-missing"),
    ],
)
def test_the_verifier_refuses_a_release_that_omits_more(
    calls: shoal.Trajectories, claimed: dict[str, Any], kind: str
) -> None:
    release, linkage = released(calls, omit_at_most=0.1)
    less = replace(release, claim=replace(release.claim, **claimed))
    assert kind in {each.kind for each in verdict_on_claim(calls, less, linkage).findings}


def test_a_folder_made_in_blocks_is_held_to_its_claim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Shoal(capsys)
    raw, folder, links = tmp_path / "raw.parquet", tmp_path / "release", tmp_path / "links.parquet"
    assert command("synthesize", raw, "--subjects", 40, "--days", 1, "--seed", 1).code == 0
    made = command(
        *("anonymize", raw, "--k", 2, "--omit-at-most", "10%", "--blocks", 20, "--engine", "threads"),
        *("--output", folder, "--linkage", links),
    )
    assert made.code == 0, made.out
    manifest = json.loads((folder / "manifest.json").read_text())
    lost, by_reason = (manifest["losses"][name] for name in ("samples_suppressed", "samples_by_reason"))
    assert 0 < lost <= sum(by_reason.values()) <= 1.2 * lost + 10
    page = Marks((folder / "report.html").read_text())
    told = {name: float(value) for name, (value, _) in page.facts.items() if name.startswith("omission-")}
    assert len(told) == 1 + 7 * len(SHARES)
    assert told["omission-people"] == manifest["n_records"]
    assert told["omission-1-2"] == 0 < told["omission-5-2"] <= told["omission-5-1"] == 0.1
    assert told["omission-1-4"] > told["omission-5-4"]
    assert page.unmarked == []
    manifest["claim"]["missing_at_most"] = 0.001
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    refused = command("verify", raw, folder, "--linkage", links, "--streamed")
    assert (refused.code, "too-much-missing: " in refused.out) == (1, True)


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("0.05", 0.05), ("0", 0.0), ("12.5 %", 0.125)])
def test_a_share_is_read_in_percent_or_plain(text: str, share: float) -> None:
    assert parse_share(text) == share


@pytest.mark.parametrize("text", ["5", "-1%", "101%", "nan", "5%%", "", "%", "5 percent"])
def test_another_text_is_no_share(text: str) -> None:
    with pytest.raises(MisuseError, match="is no share; write for example 5%"):
        parse_share(text)


def test_the_verifier_refuses_other_counts_by_reason(calls: shoal.Trajectories) -> None:
    release, linkage = released(calls, omit_at_most=0.1)
    told = {REASONS[0]: release.losses.samples_suppressed}
    assert told != release.losses.samples_by_reason
    false = replace(release, losses=replace(release.losses, samples_by_reason=told))
    kinds = {each.kind for each in verdict_on_claim(calls, false, linkage).findings}
    assert kinds == {"lost-samples-not-counted"}


def test_boxes_that_must_fit_do_and_hold_more_than_dropping_leaves(calls: shoal.Trajectories) -> None:
    fit, linkage = released(calls, extent_at_most="4km, 5h")
    dropped, _ = released(calls, suppress_space_m=4000.0, suppress_time_s=5 * 3600.0)
    boxes, grid = fit.boxes, fit.snapped_grid()
    sides = (boxes.x_max - boxes.x_min + boxes.y_max - boxes.y_min) * grid.cell_m
    assert 0 < sides.max() <= 4000
    assert 0 < (boxes.t_end - boxes.t_start).max() * grid.slot_s <= 5 * 3600
    assert fit.parameters["extent_at_most"] == "4km,5h"
    missing = missing_by_person(calls, fit, linkage)
    gone = np.array([uid not in linkage.uids for uid in calls.ids])
    counted = dict(zip(REASONS, (missing[gone].sum(), missing[~gone].sum()), strict=True))
    assert fit.losses.samples_by_reason == {why: count for why, count in counted.items() if count}
    assert fit.losses.samples_suppressed == missing.sum() < 0.9 * dropped.losses.samples_suppressed
    assert shoal.verify(calls, fit, linkage).holds


def test_one_extent_is_enough_and_a_wide_one_leaves_nothing_out(calls: shoal.Trajectories) -> None:
    wide, _ = released(calls, extent_at_most="900000km")
    assert wide.losses.samples_suppressed == 0
    short, _ = released(calls, extent_at_most="2h")
    assert 0 < (short.boxes.t_end - short.boxes.t_start).max() * 60 <= 7200


def test_extents_in_which_nothing_fits_leave_nothing_to_publish(calls: shoal.Trajectories) -> None:
    with pytest.raises(NothingLeftError, match="nothing to publish"):
        released(calls, extent_at_most="1m")


def test_the_command_line_covers_what_fits_and_counts_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, raw = Shoal(capsys), tmp_path / "raw.parquet"
    assert command("synthesize", raw, "--subjects", 40, "--days", 1, "--seed", 1).code == 0
    made = command(
        *("anonymize", raw, "--k", 2, "--extent-at-most", "3km,2h", "--output", tmp_path / "release"),
        *("--risk-tries", 0),
    )
    manifest = json.loads((tmp_path / "release/manifest.json").read_text())
    assert (made.code, manifest["parameters"]["extent_at_most"]) == (0, "3km,2h")
    lost, by_reason = (manifest["losses"][name] for name in ("samples_suppressed", "samples_by_reason"))
    assert 0 < lost <= sum(by_reason.values()) <= 1.2 * lost + 10
    refused = command("anonymize", raw, "--extent-at-most", "3km,2km", "--output", tmp_path / "other")
    assert refused.code == 2
    assert "--extent-at-most" in refused.err
    assert "for example 5km,2h" in refused.err


def test_the_claim_says_what_may_be_missing() -> None:
    claim = shoal.Glove(k=5, omit_at_most=0.05).claim()
    assert claim.promise.endswith(
        "At most 5 % of all samples and of all people are missing, and at most 20 % of the samples of "
        "anybody with a record."
    )
    assert shoal.Glove(k=5, omit_at_most=0.3).claim().missing_of_one_at_most == 0.5
    assert KAnonymity(k=5).promise.endswith("of each member of its crowd.")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"omit_at_most": 1.0}, "share of at least 0 and below 1"),
        ({"omit_at_most": float("nan")}, "share of at least 0 and below 1"),
        ({"omit_at_most": 0.1, "omit_of_one_at_most": 0.0}, "share above 0"),
        ({"omit_of_one_at_most": 0.1}, "set omit_at_most"),
        ({"omit_at_most": 0.1, "generalize": "reshape-each"}, "choose k-merge"),
        ({"omit_at_most": 0.1, "suppress_space_m": 5000.0}, "choose one of them"),
        ({"omit_at_most": 0.1, "leftover": "suppress"}, "leftover = 'merge'"),
        ({"omit_at_most": 0.1, "extent_at_most": "5km,2h"}, "choose one of them"),
        ({"suppress_time_s": 60.0, "extent_at_most": "5km,2h"}, "choose one of them"),
        ({"extent_at_most": "2h", "generalize": "none"}, "choose k-merge"),
        ({"extent_at_most": 5}, "is not text, such as LENGTH,DURATION"),
        *(
            ({"extent_at_most": text}, "for example 5km,2h, or one of them")
            for text in ("", ",", "5", "2h,5km", "5km,2km", "5km,2h,1m", "0km,2h", "-5km", "nan,2h")
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(MisuseError, match=words):
        shoal.Glove(k=2, **settings)


def test_nothing_that_is_told_depends_on_who_has_which_record_of_a_class(calls: shoal.Trajectories) -> None:
    """Who lost how much follows from the class, so that absent samples name nobody's record in it."""
    release, linkage = released(calls, omit_at_most=0.1)
    classes, rng = classes_of(calls, release, linkage), np.random.default_rng(1)
    told = []
    for other in (linkage, exchanged(linkage, classes, rng)):
        verdict = shoal.verify(calls, release, other).to_json()
        accuracy = Facts(calls, release, other).accuracy
        told.append((verdict, accuracy.samples_suppressed, accuracy.raw.count.tolist()))
        assert len(np.unique(missing_by_person(calls, release, other))) > 5
    assert linkage != exchanged(linkage, classes, rng)
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("share", "total", "most"), [(0.29, 100, 29), (0.05, 39, 1), (1.0, 7, 7), (0.0, 5, 0), (0.07, 100, 7)]
)
def test_a_share_allows_as_many_as_its_decimals_say(share: float, total: int, most: int) -> None:
    assert most_allowed(share, total) == most
