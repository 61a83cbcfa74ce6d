"""The record of a release of points: every number is marked, and is what public functions give."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from naive_release import stating
from record_marks import (
    RECORD,
    TERMS,
    Marks,
    check_vanished_drawings,
    gaps_of,
    risks_of,
    same,
)
from record_marks import vanished_of as figures_of_vanished
from shoal.attacks import ATTACKS, Rate, attack
from shoal.attacks.knowledge import parse_knowledge
from shoal.attacks.questions import DRAW, QUESTIONS, assess_release
from shoal.errors import InputError, MisuseError
from shoal.methods.assembly import PointRecords, assemble_points
from shoal.methods.swapping.reach_locations import ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.claims import KDeltaAnonymity, LocationPrivacy
from shoal.model.grid import Grid
from shoal.model.release import Linkage, Losses, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.release_folder.manifest import LossesJson, read_manifest, read_statement
from shoal.report.facts.evidence import Evidence
from shoal.report.pages.record import record_page
from shoal.report.words.numbers import two_digits
from shoal.report.words.settings import method_name, settings_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import rounded_up
from shoal.utility import METRICS, Facts, measure, metrics_of_every_release
from shoal.utility.points import measure_points
from shoal.utility.vanished import vanished_of
from small_points import crowd, drivers, table_of_fleet, town
from usefulness_texts import usefulness_texts

TRIES = 12


def fleet() -> Trajectories:
    return shoal.read(table_of_fleet(30), snap=False)


def on_a_clock() -> Trajectories:
    """Walkers with a fix at every ten or twenty seconds of a clock."""
    people = crowd(40)
    return replace(people, t=np.floor(people.t / 10) * 10)


CASES: dict[str, tuple[Callable[[], Trajectories], Callable[[], Any]]] = {
    "w4m": (fleet, lambda: shoal.W4m(k=3)),
    "nwa": (on_a_clock, lambda: shoal.Nwa(k=3, pi_s=200, step_s=20)),
    "swap-locations": (lambda: crowd(60), lambda: SwapLocations(k=3, space_threshold_m=100)),
    "reach-locations": (lambda: drivers(town(), 60), lambda: ReachLocations(k=3, streets=town())),
}


EXACT: dict[Path, Losses] = {}  # of each folder, whose files give rounded counts


@pytest.fixture(scope="module", params=CASES)
def published(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Trajectories, Path, tuple[str, ...]]:
    people, method = CASES[request.param]
    folder, original = tmp_path_factory.mktemp("record"), people()
    (folder / "record.toml").write_text(RECORD)
    made = shoal.publish(
        original,
        method(),
        folder / "release",
        rng=Randomness.for_research(1),  # drawn by chance, all shares on the map round to 0 now and then
        linkage_file=folder / "linkage.parquet",
        tries=TRIES,
        options=shoal.PublishOptions(statement=read_statement(folder / "record.toml")),
    )
    EXACT[folder] = made.release.losses
    assert read_manifest(folder / "release").losses == LossesJson(**asdict(made.release.losses.rounded()))
    release = shoal.read_release(folder / "release")
    rows = [row for row in ATTACKS.values() if row.suits(release)]
    rows.sort(
        key=lambda row: (row.takes_boxes, row.uses == "own record")
    )  # of equal rates, the first is first
    return original, folder, tuple(text for row in rows for text in row.texts(row.record, release.claim))


def rates_again(
    original: Trajectories, folder: Path, known: tuple[str, ...]
) -> tuple[list[tuple[str, Rate]], dict[str, str]]:
    """Every attack by itself with what was asked, from the files, and why one was not tried.

    Those on the grid take data that were put on it here; of cylinders they need the points, too.
    """
    release, linkage = shoal.read_release(folder / "release"), shoal.read_linkage(folder / "linkage.parquet")
    rates: list[tuple[str, Rate]] = []
    untried = {}
    for text in known:
        raw, shown = (
            (original.snapped_to(Grid()), release.as_boxes(Grid()))
            if parse_knowledge(text).adversary.takes_boxes and not isinstance(release.claim, KDeltaAnonymity)
            else (original, release)
        )
        try:
            found = attack(
                raw, shown, linkage, knowledge=[text], rng=Randomness.for_research(DRAW), tries=TRIES
            )
            rates += [(text, rate) for rate in found.rates]
        except MisuseError as error:
            untried[text] = f"{text} was not tried: {error.cli_message}"
    assert set(untried) <= {"membership:4"}
    return rates, untried


def recomputed(original: Trajectories, folder: Path, known: tuple[str, ...]) -> dict[str, float]:
    """Every figure of the page, from the files and the raw data."""
    release, linkage = shoal.read_release(folder / "release"), shoal.read_linkage(folder / "linkage.parquet")
    manifest, losses = read_manifest(folder / "release"), EXACT[folder]
    n, m = original.n_subjects, original.n_samples
    slots = np.floor(release.points.t / 60)
    found: dict[str, float] = {
        **dict.fromkeys(("records", "records-to-check"), manifest.n_records),
        **dict.fromkeys(("points", "points-in-all", "map-points"), manifest.n_samples),
        **dict.fromkeys(
            ("suppressed-share", "samples-suppressed-share"), two_digits(losses.samples_suppressed / m)
        ),
        **dict.fromkeys(("risk-cell", "utility-cell", "cell"), 100.0),
        **dict.fromkeys(("risk-slot", "utility-slot", "slot"), 60.0),
        "samples": rounded_up(m),
        "risk-tries": TRIES,
        "rows-read": rounded_up(original.intake.rows_read),
        "samples-suppressed": rounded_up(losses.samples_suppressed),
        "samples-created": rounded_up(losses.samples_created),
        "samples-created-share": two_digits(losses.samples_created / manifest.n_samples),
        "subjects": n,
        "subjects-suppressed": losses.subjects_suppressed,
        "subjects-suppressed-share": losses.subjects_suppressed / n,
        "span": (float(slots.max()) + 1 - float(slots.min())) * 60,
    }
    for what, rows in (("dropped", losses.rows), ("repaired", original.intake.repaired)):
        for place, count in enumerate(sorted(rows.values(), reverse=True), start=1):
            found |= {
                f"{what}-{place}": rounded_up(count),
                f"{what}-share-{place}": two_digits(count / original.intake.rows_read),
            }
    for place, count in enumerate(losses.subjects_by_reason.values(), start=1):
        found |= {f"reason-{place}": count, f"reason-share-{place}": count / n}
    found |= gaps_of(original.snapped_to(Grid()), {2, 5, release.claim.k})
    asked, _ = rates_again(original, folder, known)
    found |= risks_of(asked, "points")
    return (
        found
        | utility_again(original, release, linkage)
        | figures_of_vanished(lost_rows(original, release, linkage), 100.0)
    )


def utility_again(original: Trajectories, release: Release, linkage: Linkage) -> dict[str, float]:
    """What the table of utility holds; all of these people make trips within a day."""
    as_given = measure_points(original, release, linkage)
    found = {
        "total-distortion": as_given.total_distortion_m,
        "mean-distortion": as_given.mean_distortion_m,
        "times-defined": as_given.defined / original.n_samples,
        "removed-trajectories": 1 - release.n_records / original.n_subjects,
        "removed-locations": 1 - release.n_samples / original.n_samples,
    }
    named = [name for name in metrics_of_every_release() if "points" in METRICS[name].in_record_of]
    assert len(named) == 11
    for one in measure(original.snapped_to(Grid()), release.as_boxes(Grid()), linkage, named):
        if one.name != "gyration-error" or release.n_records >= 20:
            found[one.name] = one.result.value
        if (
            one.result.low is not None and one.result.high is not None
        ):  # the page says that points leave nothing open
            assert (one.result.low, one.result.high) == pytest.approx((one.result.value,) * 2)
    return {f"utility-{name}": value for name, value in found.items()}


def lost_rows(
    original: Trajectories, release: Release, linkage: Linkage
) -> list[tuple[int, int, int, int, bool]]:
    """(subject, slot, cell east, cell north, lost) of every raw sample, without what the methods told.

    Swapped triples are looked for among all that are published, times in the own record; which samples W4M
    keeps only it can say.
    """
    own = dict(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    published = Counter(
        zip(release.points.t.tolist(), release.points.x.tolist(), release.points.y.tolist(), strict=True)
    )
    edited = shoal.W4m(**release.parameters).clusters(original, Run()) if release.method == "w4m" else []
    kept = {row for cluster in edited for row in cluster.source.ravel().tolist()}
    rows = []
    for subject, (uid, samples) in enumerate(zip(original.ids, original, strict=True)):
        times = Counter(
            release.record(release.trajectory_ids.index(own[uid])).t.tolist() if uid in own else ()
        )
        for at, (t, x, y) in enumerate(zip(*(column.tolist() for column in samples), strict=True)):
            if release.method == "w4m":
                held = int(original.offsets[subject]) + at in kept
            else:
                left, key = (published, (t, x, y)) if release.method == "swap-locations" else (times, t)
                held = left[key] > 0
                left[key] -= held
            rows.append((subject, int(t // 60), int(x // 100), int(y // 100), not held))
    assert rounded_up(sum(row[4] for row in rows)) == release.losses.samples_suppressed
    return rows


def test_drawings_of_who_vanished_are_of_these_samples(
    published: tuple[Trajectories, Path, tuple[str, ...]],
) -> None:
    original, folder, _ = published
    page = Marks((folder / "release/report.html").read_text())
    release, linkage = shoal.read_release(folder / "release"), shoal.read_linkage(folder / "linkage.parquet")
    rows = lost_rows(original, release, linkage)
    assert any(row[4] for row in rows)
    check_vanished_drawings(page.figures, rows, 100.0)
    squares = page.figures["vanished-place"].cells
    assert any(shade for *_, shade, _ in squares)
    side = round(10 * max(east - west for west, _, east, *_ in squares))
    assert len(squares) < len({(row[2] // side, row[3] // side) for row in rows}), "some are blank"


def test_every_number_is_marked_and_is_what_public_functions_give(
    published: tuple[Trajectories, Path, tuple[str, ...]],
) -> None:
    original, folder, known = published
    page = Marks((folder / "release/report.html").read_text())
    assert page.unmarked == []
    assert page.terms <= TERMS
    expected = recomputed(original, folder, known)
    assert page.facts.keys() == expected.keys()
    wrong = {
        name: (page.facts[name], value)
        for name, value in expected.items()
        if not same(page.facts[name][0], value)
    }
    assert wrong == {}
    names = {rate.name for _, rate in rates_again(original, folder, known)[0]}
    assert all(names & set(question.attacks) for question in QUESTIONS)
    assert all(f"{name}, " in page.text for name in names)


def test_every_text_with_a_number_is_that_of_the_manifest(
    published: tuple[Trajectories, Path, tuple[str, ...]],
) -> None:
    original, folder, known = published
    page = Marks((folder / "release/report.html").read_text())
    manifest, release = read_manifest(folder / "release"), shoal.read_release(folder / "release")
    (asked, untried), settings = rates_again(original, folder, known), settings_of(release)
    rates = [rate for _, rate in asked if rate.target == "release"]
    days = [
        str(np.datetime64(int(t) // 86_400, "D")) for t in (release.points.t.min(), release.points.t.max())
    ]
    expected: dict[str, list[Any]] = {
        "claim": [release.claim.promise],
        "claim-name": [release.claim.name],
        "no-anonymity": [release.claim.no_anonymity],
        "method": [method_name(release.method)],
        "unit_of_protection": [manifest.unit_of_protection],
        "crs": [manifest.crs] if manifest.crs else [],
        "limit[]": list(release.claim.limits),
        "verdict.notes[]": manifest.verdict["notes"],
        "losses.rows[]": list(manifest.losses.rows),
        "losses.subjects_by_reason[]": list(manifest.losses.subjects_by_reason),
        "rows_repaired[]": list(manifest.rows_repaired),
        "setting-name[]": [setting.name for setting in settings],
        "setting[]": [setting.value for setting in settings],
        "setting-meaning[]": [setting.meaning for setting in settings],
        "knowledge[]": [rate.knowledge for rate in rates],
        "attacker[]": [rate.attacker for rate in rates],
        "attack-source[]": [parse_knowledge(text).adversary.source for text in known if text not in untried],
        "risk-note[]": list(untried.values()),
        **usefulness_texts(original, release, shoal.read_linkage(folder / "linkage.parquet")),
        **({"first-day": days[:1], "last-day": days[1:]} if release.points.t.min() > 1e9 else {}),
        **{f"record.{name}": [text] for name, text in manifest.record.items() if name != "earlier_releases"},
        **{
            f"record.earlier_releases[].{name}": [
                earlier[name] for earlier in manifest.record["earlier_releases"]
            ]
            for name in ("name", "published_on", "overlap")
        },
    }
    assert {path: set(texts) for path, texts in page.quotes.items()} == {
        path: set(texts) for path, texts in expected.items() if texts
    }
    assert page.title == f"Report of a release: {release.claim.name} ({method_name(release.method)})"
    assert "anonymous" not in (page.text + page.title).lower()
    assert not any(uid in page.text for uid in original.ids)


def test_the_map_of_points_counts_points(published: tuple[Any, Path]) -> None:
    text = (published[1] / "release/report.html").read_text()
    assert ("points per km²" in text, "boxes per km²" in text) == (True, False)
    assert not re.search(
        r"[a-z]\.[A-Z]", re.sub(r"<(style|code).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    )


def test_what_holds_and_is_no_anonymity_is_not_green_and_the_page_lists_its_parts(
    published: tuple[Trajectories, Path, tuple[str, ...]],
) -> None:
    text = (published[1] / "release/report.html").read_text()
    claim = shoal.read_release(published[1] / "release").claim
    assert '<div class="verdict bare" id="verdict"' in text
    assert "The claim holds, but it is no anonymity:" in text
    assert claim.no_anonymity in text
    contents = re.findall(r'<li><a href="#([a-z]+)">', text.partition('aria-label="Contents"')[2])
    assert contents[0] == "purpose"
    assert contents[-1] == "map"
    assert [part for part in contents if f'<section id="{part}"' not in text] == []


def test_the_page_says_when_no_attack_was_played_and_hides_rates_of_hardly_anybody(tmp_path: Path) -> None:
    shoal.publish(crowd(), SwapLocations(k=3), tmp_path / "none", rng=Randomness.from_system(), tries=0)
    page = Marks((tmp_path / "none/report.html").read_text())
    assert "no attack was played" in page.text
    assert page.unmarked == []
    shoal.publish(crowd(8), SwapLocations(k=3), tmp_path / "few", rng=Randomness.from_system())
    page = Marks((tmp_path / "few/report.html").read_text())
    assert "fewer than ten people; not shown" in page.text
    assert not any(
        name.startswith(("risk-1", "risk-2", "risk-3", "utility-", "vanished-")) for name in page.facts
    )
    assert "Fewer than ten people are in this release" in page.text


def test_what_speaks_of_fewer_than_ten_is_left_out_and_the_rest_is_not() -> None:
    """24 people with two samples each, in two zones; half a minute apart, of the second six a day apart."""
    rows = [
        (i, j, f"p{i:02d}", 50.0 + i + 30 * j + (86_400 * j if 6 <= i < 12 else 0))
        for i in range(24)
        for j in range(2)
    ]

    def shown(*, people: int = 24, second_of: int = 24) -> set[str]:
        kept = [
            (uid, t, 2_000.0 * (i % 5) + 700 * j)
            for i, j, uid, t in rows
            if i < people and (j == 0 or i < second_of)
        ]
        ids, t, x = zip(*kept, strict=True)
        original = Trajectories.from_rows(ids, t, x, np.zeros(len(x)))
        facts = Facts(original, *everything(original))
        return {one.name for one in Evidence(facts, tries=0).utility}

    all_shown = shown()
    assert {
        "od-similarity",
        "trip-length-error",
        "gyration-error",
        "mean-distortion",
        "range-error",
    } <= all_shown
    assert all_shown - shown(second_of=12) == {"od-similarity"}
    assert all_shown - shown(second_of=9) == {"od-similarity", "trip-length-error"}
    assert all_shown - shown(people=19) == {"gyration-error"}
    assert shown(people=9) == set()


def everything(original: Trajectories) -> tuple[Release, Linkage]:
    """Every point of everybody, with nobody protected."""
    release, linkage, _ = assemble_points(
        original,
        PointRecords(
            members=np.arange(original.n_subjects),
            offsets=original.offsets,
            points=Points(t=original.t, x=original.x, y=original.y),
            stands_for=np.arange(original.n_samples),
        ),
        stating(KDeltaAnonymity(k=2, delta_m=1e9), "w4m"),
        Randomness.from_system(),
    )
    return release, linkage


@pytest.mark.parametrize("case", CASES)
def test_every_point_stands_for_a_sample_of_its_own_or_is_counted_as_created(case: str) -> None:
    people, method = CASES[case]
    original = people()
    release, linkage = method().anonymize(original, Randomness.from_system())
    rows = linkage.stands_for
    assert rows is not None
    kept = rows[rows >= 0]
    assert len(np.unique(kept)) == len(kept) == original.n_samples - release.losses.samples_suppressed
    assert np.count_nonzero(rows < 0) == release.losses.samples_created
    assert (release.losses.samples_created > 0) == isinstance(release.claim, KDeltaAnonymity)
    uid_of = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    record_of = np.repeat(np.arange(release.n_records), np.diff(release.offsets))
    owner_of = np.repeat(np.arange(original.n_subjects), original.lengths)
    own = [
        original.ids[owner_of[row]] == uid_of[release.trajectory_ids[record_of[p]]]
        for p, row in enumerate(rows.tolist())
        if row >= 0
    ]
    if case == "swap-locations":
        for name in ("t", "x", "y"):
            np.testing.assert_array_equal(getattr(original, name)[rows], getattr(release.points, name))
        assert not all(own)
    else:
        assert all(own)
    if case in {"nwa", "reach-locations"}:
        np.testing.assert_array_equal(original.t[kept], release.points.t[rows >= 0])
    if isinstance(release.claim, LocationPrivacy):
        assert linkage.trace is not None
        assert set(linkage.trace.place_from.tolist()) == set(rows.tolist())


def test_files_tell_who_vanished_of_swapped_points_alone(tmp_path: Path) -> None:
    for case, known in (("swap-locations", True), ("w4m", False)):
        people, method = CASES[case]
        original = people()
        written = shoal.publish(
            original,
            method(),
            tmp_path / case,
            rng=Randomness.from_system(),
            tries=0,
            linkage_file=tmp_path / f"of-{case}" / "l.parquet",
        )
        assert isinstance(written.release, Release)
        read = shoal.read_linkage(tmp_path / f"of-{case}" / "l.parquet")
        assert read.stands_for is None
        gaps = [shoal.k_gap(original.snapped_to(Grid()), 2)]
        evidence = Evidence(Facts(original, written.release, read, gaps=gaps), tries=0)
        found = evidence.vanished
        first = vanished_of(Facts(original, written.release, written.linkage))
        assert first is not None
        assert (found is not None) == known
        if found is not None:
            np.testing.assert_array_equal(found.by_zone.lost, first.by_zone.lost)
            np.testing.assert_array_equal(found.by_hour.losers, first.by_hour.losers)
        page = record_page(evidence, shoal.verify(original, written.release, read))
        assert ("which raw samples the points stand for was not told" in page) == (not known)
        assert ("plot-vanished-place" in page) == known
    assert written.linkage.stands_for is not None
    for wrong in (
        written.linkage.stands_for[1:],
        np.full_like(written.linkage.stands_for, original.n_samples),
    ):
        with pytest.raises(MisuseError, match="other lost samples than the release counts"):
            vanished_of(Facts(original, written.release, replace(written.linkage, stands_for=wrong)))


def test_more_tries_ask_more_and_all_points_are_asked_with_true_ones() -> None:
    original = crowd(30)
    release, linkage = SwapLocations(k=3).anonymize(original, Randomness.from_system())
    asked = {
        answer.release.knowledge
        for one in assess_release(original, release, linkage, tries=1000).questions
        for answer in one.answers
    }
    assert {
        "1 exact triple",
        "2 exact triples",
        "4 exact triples",
        "1 exact time",
        "4 exact times",
        "4 exact points",
        "1 true point",
        "4 true points",
    } <= asked
    moved = shoal.W4m(k=3).anonymize(original, Randomness.from_system())
    asked = {
        answer.release.knowledge
        for one in assess_release(original, *moved, tries=1000).questions
        for answer in one.answers
    }
    assert {"1 true point", "2 true points", "4 true points", "4 exact triples"} <= asked
    assert isinstance(moved[0].claim, KDeltaAnonymity)


def test_what_does_not_belong_together_is_refused() -> None:
    original = crowd(30)
    release, linkage = SwapLocations(k=3).anonymize(original, Randomness.from_system())
    none = np.empty(0)
    empty = replace(
        release,
        trajectory_ids=(),
        offsets=np.zeros(1, dtype=np.int64),
        payload=Points(t=none, x=none, y=none),
    )
    inside = Linkage(linkage.uids[1:], linkage.trajectory_ids[1:])
    named = tuple(f"other-{uid}" for uid in original.ids)
    cases: list[tuple[Trajectories, Any, Linkage, type[Exception], str]] = [
        (original, empty, Linkage((), ()), InputError, "holds no record"),
        (
            original,
            replace(release, crs="EPSG:2154"),
            linkage,
            InputError,
            "in the plane 'local meters', the release in 'EPSG:2154'",
        ),
        (
            original,
            replace(release, unit_of_protection="each vehicle"),
            linkage,
            InputError,
            "protects each vehicle",
        ),
        (original, release, inside, InputError, "no subject"),
        (crowd(31), release, linkage, InputError, "misses"),
        (replace(original, ids=named), release, linkage, InputError, "does not belong"),
        (original.snapped_to(Grid()), release, linkage, MisuseError, "snapped to cells and slots"),
        (original, release.as_boxes(Grid()), linkage, MisuseError, "are as given"),
    ]
    assert len(cases) == 8
    for raw, published, links, kind, message in cases:
        with pytest.raises(kind, match=message):
            assess_release(raw, published, links, tries=5)
        with pytest.raises(kind, match=message):
            attack(raw, published, links, knowledge=["nearest:2"], rng=Randomness.for_research(0))
