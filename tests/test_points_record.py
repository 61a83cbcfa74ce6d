"""The record of a release of points: every number marked, and what public functions give for folder, raw data and linkage."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.attacks import Rate, attack
from shoal.attacks.questions import DRAW, QUESTIONS, assess_release
from shoal.claims import KDeltaAnonymity
from shoal.errors import InputError, MisuseError
from shoal.methods.reach_locations import ReachLocations
from shoal.methods.swap_locations import SwapLocations
from shoal.randomness import Randomness
from shoal.release import Linkage, Points
from shoal.release_folder import read_manifest, read_points
from shoal.report.wording import LIMITS_OF_POINTS, claim_in_words, claim_name, method_name, settings_of
from shoal.statement import read_statement
from shoal.trajectories import Grid, Trajectories
from shoal.utility.points import measure_points
from small_points import crowd, drivers, town
from test_every_point_method import table_of_fleet
from test_record import RECORD, TERMS, Marks, same

TRIES = 12
ON_GRID = ("points:4", "top:2", "attribution:2", "home-work")


def fleet() -> Trajectories:
    return shoal.read(table_of_fleet(), snap=False)


CASES: dict[str, tuple[Callable[[], Trajectories], Callable[[], Any], tuple[str, ...]]] = {
    "w4m": (fleet, lambda: shoal.W4m(k=3), ("triples:4", "times:4", "nearest:4")),
    "swap-locations": (lambda: crowd(30), lambda: SwapLocations(k=3, space_threshold_m=300), ("triples:4", "times:4")),
    "reach-locations": (lambda: drivers(town(), 24), lambda: ReachLocations(k=3, streets=town()), ("triples:4", "times:4")),
}


@pytest.fixture(scope="module", params=CASES)
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Trajectories, Path, tuple[str, ...]]:
    people, method, known = CASES[request.param]
    folder, original = tmp_path_factory.mktemp("record"), people()
    (folder / "record.toml").write_text(RECORD)
    shoal.publish(
        original,
        method(),
        folder / "release",
        rng=Randomness.from_system(),
        linkage_file=folder / "linkage.parquet",
        statement=read_statement(folder / "record.toml"),
        tries=TRIES,
    )
    return original, folder, (*known, *ON_GRID)


def rates_again(original: Trajectories, folder: Path, known: tuple[str, ...]) -> list[Rate]:
    """Every attack by itself, from the files; those on the grid with data that were put on it here."""
    release, linkage = read_points(folder / "release"), shoal.read_linkage(folder / "linkage.parquet")
    rates: list[Rate] = []
    for text in known:
        raw, shown = (original.snapped_to(Grid()), release.as_boxes(Grid())) if text in ON_GRID else (original, release)
        rates += attack(raw, shown, linkage, [text], np.random.default_rng(DRAW), tries=TRIES).rates
    return rates


def recomputed(original: Trajectories, folder: Path, known: tuple[str, ...]) -> dict[str, float]:
    """Every figure of the page, from the files and the raw data."""
    release, linkage = read_points(folder / "release"), shoal.read_linkage(folder / "linkage.parquet")
    manifest, losses = read_manifest(folder / "release"), read_manifest(folder / "release").losses
    n, m = original.n_subjects, original.n_samples
    utility = measure_points(original, release, linkage)
    slots = np.floor(release.points.t / 60)
    found: dict[str, float] = {
        **dict.fromkeys(("records", "records-to-check"), manifest.n_records),
        **dict.fromkeys(("points", "points-in-all", "map-points"), manifest.n_samples),
        **dict.fromkeys(("suppressed-share", "samples-suppressed-share"), losses.samples_suppressed / m),
        **dict.fromkeys(("samples", "samples-compared"), m),
        **dict.fromkeys(("risk-cell", "cell"), 100.0),
        **dict.fromkeys(("risk-slot", "slot"), 60.0),
        "risk-tries": TRIES,
        "rows-read": original.intake.rows_read,
        "samples-suppressed": losses.samples_suppressed,
        "samples-created": losses.samples_created,
        "samples-created-share": losses.samples_created / manifest.n_samples,
        "subjects": n,
        "subjects-suppressed": losses.subjects_suppressed,
        "subjects-suppressed-share": losses.subjects_suppressed / n,
        "times-compared": utility.defined,
        "mean-distortion": utility.mean_distortion_m,
        "total-distortion": utility.total_distortion_m,
        "span": (float(slots.max()) + 1 - float(slots.min())) * 60,
    }
    for what, rows in (("dropped", losses.rows), ("repaired", manifest.rows_repaired)):
        for place, count in enumerate(sorted(rows.values(), reverse=True), start=1):
            found |= {f"{what}-{place}": count, f"{what}-share-{place}": count / original.intake.rows_read}
    for place, count in enumerate(losses.subjects_by_reason.values(), start=1):
        found |= {f"reason-{place}": count, f"reason-share-{place}": count / n}
    for gap_k in {2, 5, release.claim.k}:
        gap = shoal.k_gap(original.snapped_to(Grid()), gap_k)
        middle = np.argsort(gap.gap, kind="stable")[(n - 10) // 2 :][:10]
        found |= {
            f"gap-k-{gap_k}": gap_k,
            f"gap-median-{gap_k}": float(np.median(gap.gap)),
            f"gap-hidden-{gap_k}": float((gap.gap == 0).mean()),
            f"gap-space-{gap_k}": float(gap.space[middle].mean()) * 2 * gap.space_cap_m,
            f"gap-time-{gap_k}": float(gap.time[middle].mean()) * 2 * gap.time_cap_s,
        }
    rates = rates_again(original, folder, known)
    for number, question in enumerate(QUESTIONS, start=1):
        own = [rate for rate in rates if rate.name in question.attacks]
        for place, rate in enumerate((rate for rate in own if rate.target == "release"), start=1):
            raw = next(r for r in own if (r.name, r.knowledge, r.target) == (rate.name, rate.knowledge, "raw"))
            assert rate.worst is not None
            slug = f"risk-{number}-{place}"
            found |= {f"{slug}-tries": rate.tries, f"{slug}-worst": rate.worst, f"{slug}-guess": rate.baseline}
            found |= {f"{slug}-rate": rate.rate, f"{slug}-low": rate.low, f"{slug}-high": rate.high}
            found |= {f"{slug}-raw-rate": raw.rate, f"{slug}-raw-low": raw.low, f"{slug}-raw-high": raw.high}
    return found


def test_every_number_is_marked_and_is_what_public_functions_give(published: tuple[Trajectories, Path, tuple[str, ...]]) -> None:
    original, folder, known = published
    page = Marks((folder / "release/report.html").read_text())
    assert page.unmarked == []
    assert page.terms <= TERMS
    expected = recomputed(original, folder, known)
    assert page.facts.keys() == expected.keys()
    wrong = {name: (page.facts[name], value) for name, value in expected.items() if not same(page.facts[name][0], value)}
    assert wrong == {}
    names = {rate.name for rate in rates_again(original, folder, known)}
    assert all(names & set(question.attacks) for question in QUESTIONS)
    assert all(f"{name}, " in page.text for name in names)


def test_every_text_with_a_number_is_that_of_the_manifest(published: tuple[Trajectories, Path, tuple[str, ...]]) -> None:
    original, folder, known = published
    page = Marks((folder / "release/report.html").read_text())
    manifest, release = read_manifest(folder / "release"), read_points(folder / "release")
    rates, settings = rates_again(original, folder, known), settings_of(release)
    days = [str(np.datetime64(int(t) // 86_400, "D")) for t in (release.points.t.min(), release.points.t.max())]
    expected: dict[str, list[Any]] = {
        "claim": [claim_in_words(release.claim)],
        "claim-name": [claim_name(release.claim)],
        "method": [method_name(release.method)],
        "unit_of_protection": [manifest.unit_of_protection],
        "crs": [manifest.crs] if manifest.crs else [],
        "limit[]": list(LIMITS_OF_POINTS[release.claim.type]),
        "verdict.notes[]": manifest.verdict["notes"],
        "losses.rows[]": list(manifest.losses.rows),
        "losses.subjects_by_reason[]": list(manifest.losses.subjects_by_reason),
        "rows_repaired[]": list(manifest.rows_repaired),
        "setting-name[]": [setting.name for setting in settings],
        "setting[]": [setting.value for setting in settings],
        "setting-meaning[]": [setting.meaning for setting in settings],
        "knowledge[]": [rate.knowledge for rate in rates],
        "attacker[]": [rate.attacker for rate in rates],
        **({"first-day": days[:1], "last-day": days[1:]} if release.points.t.min() > 1e9 else {}),
        **{f"record.{name}": [text] for name, text in manifest.record.items() if name != "earlier_releases"},
        **{
            f"record.earlier_releases[].{name}": [earlier[name] for earlier in manifest.record["earlier_releases"]]
            for name in ("name", "published_on", "overlap")
        },
    }
    assert {path: set(texts) for path, texts in page.quotes.items()} == {path: set(texts) for path, texts in expected.items() if texts}
    assert page.title == f"Record of a release: {claim_name(release.claim)} ({method_name(release.method)})"
    assert "anonymous" not in (page.text + page.title).lower()
    assert not any(uid in page.text for uid in original.ids)


def test_the_page_says_when_no_attack_was_played_and_hides_rates_of_hardly_anybody(tmp_path: Path) -> None:
    shoal.publish(crowd(), SwapLocations(k=3), tmp_path / "none", rng=Randomness.from_system(), tries=0)
    page = Marks((tmp_path / "none/report.html").read_text())
    assert "no attack was played" in page.text
    assert page.unmarked == []
    shoal.publish(crowd(8), SwapLocations(k=3), tmp_path / "few", rng=Randomness.from_system())
    page = Marks((tmp_path / "few/report.html").read_text())
    assert "fewer than ten people; not shown" in page.text
    assert not any(name.startswith(("risk-1", "risk-2", "risk-3")) for name in page.facts)


def test_more_tries_ask_more_and_moved_points_are_asked_with_true_ones() -> None:
    original = crowd(30)
    release, linkage = SwapLocations(k=3).anonymize(original, Randomness.from_system())
    asked = {answer.release.knowledge for one in assess_release(original, release, linkage, tries=1000).questions for answer in one.answers}
    assert {"1 exact triple", "2 exact triples", "4 exact triples", "1 exact time", "4 exact times", "4 exact points"} <= asked
    assert "4 true points" not in asked
    moved = shoal.W4m(k=3).anonymize(original, Randomness.from_system())
    asked = {answer.release.knowledge for one in assess_release(original, *moved, tries=1000).questions for answer in one.answers}
    assert {"1 true point", "2 true points", "4 true points", "4 exact triples"} <= asked
    assert isinstance(moved[0].claim, KDeltaAnonymity)


def test_what_does_not_belong_together_is_refused() -> None:
    original = crowd(30)
    release, linkage = SwapLocations(k=3).anonymize(original, Randomness.from_system())
    none = np.empty(0)
    empty = replace(release, trajectory_ids=(), offsets=np.zeros(1, dtype=np.int64), points=Points(t=none, x=none, y=none))
    inside = Linkage(linkage.uids[1:], linkage.trajectory_ids[1:])
    named = tuple(f"other-{uid}" for uid in original.ids)
    cases: list[tuple[Trajectories, Any, Linkage, type[Exception], str]] = [
        (original, empty, Linkage((), ()), InputError, "holds no record"),
        (original, replace(release, crs="EPSG:2154"), linkage, InputError, "in the plane 'local metres', the release in 'EPSG:2154'"),
        (original, replace(release, unit_of_protection="each vehicle"), linkage, InputError, "protects each vehicle"),
        (original, release, inside, InputError, "no subject"),
        (crowd(31), release, linkage, InputError, "misses"),
        (replace(original, ids=named), release, linkage, InputError, "does not belong"),
        (original.snapped_to(Grid()), release, linkage, MisuseError, "snapped to cells and slots"),
        (original, release.as_boxes(Grid()), linkage, MisuseError, "are as given"),
    ]
    for raw, published, links, kind, message in cases:
        with pytest.raises(kind, match=message):
            assess_release(raw, published, links, tries=5)
        with pytest.raises(kind, match=message):
            attack(raw, published, links, ["nearest:2"], np.random.default_rng(0))
