"""Attacks on points as given, against oracles that look at every record and point; and their command."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from attack_cases import evaluation_of
from command_line import Shoal
from shoal.attacks import ATTACKS, AttackResult, attack, default_knowledge
from shoal.attacks.attacking import AttackScope
from shoal.attacks.cylinders import middles_of
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.exact import answers, attack_nearest
from shoal.attacks.target import PointIndex, PointTarget
from shoal.errors import InputError, MisuseError
from shoal.kernels import moved_inward
from shoal.kernels.passing import N_SUMS, KnownPoints, Lines, link_nearest_passing
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.grid import Grid
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from small_points import crowd, small_crowds, table_of_fleet

EVERY_KNOWLEDGE = ["triples:1", "triples:4", "times:2", "nearest:1", "nearest:4"]


def strangers_in(known: Trajectories, published: Trajectories, seed: int) -> Evaluation[PointTarget]:
    """Everybody looked for, each in a record drawn at random."""
    own = np.random.default_rng(seed).integers(0, published.n_subjects, known.n_subjects)
    return evaluation_of(known, PointTarget.of_trajectories(published), own, label="release")


def places_at(record: list[tuple[float, float, float]], t: float) -> tuple[list[tuple[float, float]], bool]:
    """Where a broken line is at a time, several places where it has several points; and whether it exists.

    Before its first and after its last point it stands still, and does not exist.
    """
    before, after = [p for p in record if p[0] < t], [p for p in record if p[0] > t]
    now = [p[1:] for p in record if p[0] == t]
    if now:
        return now, True
    if not (before and after):
        return [(before[-1] if before else after[0])[1:]], False
    a, b = before[-1], after[0]
    share = (t - a[0]) / (b[0] - a[0])
    return [(a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2]))], True


@st.composite
def doubled_crowds(draw: st.DrawFn) -> Trajectories:
    """Small crowds of whom some are at several places at once."""
    rows = [
        (f"p{i}", float(draw(st.integers(0, 5))), float(draw(st.integers(-9, 9))), 0.0)
        for i in range(draw(st.integers(1, 4)))
        for _ in range(draw(st.integers(1, 7)))
    ]
    return Trajectories.from_rows(*zip(*rows, strict=True))


def rows_of(people: Trajectories) -> list[list[tuple[float, float, float]]]:
    return [list(zip(*(column.tolist() for column in own), strict=True)) for own in people]


@given(
    known=small_crowds(),
    published=small_crowds() | doubled_crowds(),
    p=st.integers(1, 10),
    seed=st.integers(0, 100),
)
def test_the_nearest_record_is_that_of_brute_force(
    known: Trajectories, published: Trajectories, p: int, seed: int
) -> None:
    evaluation, records = strangers_in(known, published, seed), rows_of(published)
    rng = np.random.default_rng(seed)
    told = [evaluation.draw_rows(victim, p, rng) for victim in range(known.n_subjects)]
    chances = np.zeros((known.n_subjects, N_SUMS))
    offsets, taken = np.cumsum([0, *map(len, told)]), np.concatenate(told)
    link_nearest_passing(
        KnownPoints(offsets, known.t[taken], known.x[taken], known.y[taken], evaluation.records),
        Lines(published.offsets, published.t, published.x, published.y),
        chances,
    )
    assert len(told) == known.n_subjects > 0
    for rows, own, found in zip(told, evaluation.records.tolist(), chances, strict=True):
        sums: list[list[float]] = [[], [], []]
        for record in records:
            away, there = [], []
            for t, x, y in zip(known.t[rows], known.x[rows], known.y[rows], strict=True):
                places, exists = places_at(record, t)
                away.append(min(np.hypot(a - x, b - y) for a, b in places))
                there.append(exists)
            sums[0].append(sum(away))
            sums[1].append(sum(np.log1p(away)))
            sums[2].append(sum(away) if all(there) else np.inf)
        for rule, of_records in enumerate(sums):
            best = [r for r, one in enumerate(of_records) if one <= min(of_records) + 1e-9]
            assert found[rule] == pytest.approx((own in best) / len(best))


@pytest.mark.kernels
@given(
    known=small_crowds(),
    published=small_crowds() | doubled_crowds(),
    p=st.integers(1, 4),
    radius=st.sampled_from([0.0, 3.0, 50.0]),
    seed=st.integers(0, 100),
)
def test_who_stands_moved_into_a_cylinder_is_that_of_brute_force(
    known: Trajectories, published: Trajectories, p: int, radius: float, seed: int
) -> None:
    evaluation, rng = strangers_in(known, published, seed), np.random.default_rng(seed)
    middles = (
        np.column_stack([published.x, published.y]) + rng.integers(-5, 6, (published.n_samples, 2)) * 1.0
    )
    told = [evaluation.draw_rows(victim, p, rng) for victim in range(known.n_subjects)]
    offsets, taken = np.cumsum([0, *map(len, told)]), np.concatenate(told)
    lines = Lines(published.offsets, published.t, published.x, published.y)
    chances, least = np.zeros((2, known.n_subjects, moved_inward.N_SUMS))
    moved_inward.link_moved_points(
        KnownPoints(offsets, known.t[taken], known.x[taken], known.y[taken], evaluation.records),
        lines,
        middles,
        radius,
        chances,
        least,
    )

    def off(place: np.ndarray, middle: np.ndarray, point: np.ndarray) -> float:
        way = point - middle
        away = float(np.hypot(*way))
        moved = middle + (way if away <= radius else way / away * radius)
        return float(np.hypot(*(place - moved)))

    assert len(told) == known.n_subjects > 0
    for rows, own, found, lowest in zip(told, evaluation.records.tolist(), chances, least, strict=True):
        sums: list[list[float]] = [[], []]
        for record in range(published.n_subjects):
            mine = slice(published.offsets[record], published.offsets[record + 1])
            t, at = published.t[mine], np.column_stack([published.x[mine], published.y[mine]])
            both = np.column_stack([at, middles[mine]])
            now, any_time = 0.0, 0.0
            for row in rows:
                point = np.array([known.x[row], known.y[row]])
                line = [(float(a), float(b), float(c)) for a, (b, c) in zip(t, at, strict=True)]
                near = min(np.hypot(*(point - one)) for one in places_at(line, float(known.t[row]))[0])
                moment = stands_at(t, both, float(known.t[row]))
                offs = [off(moment[:2], moment[2:], point)]
                now += np.log1p(near) + np.log(offs[0] + 0.01)
                offs += [off(place, middle, point) for place, middle in zip(at, middles[mine], strict=True)]
                any_time += np.log1p(near) + np.log(min(offs) + 0.01)
            sums[0].append(now)
            sums[1].append(any_time)
        for rule, of_records in enumerate(sums):
            best = [r for r, one in enumerate(of_records) if one <= min(of_records) + 1e-9]
            assert found[rule] == pytest.approx((own in best) / len(best))
            assert lowest[rule] == pytest.approx(min(of_records))


def stands_at(t: np.ndarray, columns: np.ndarray, when: float) -> np.ndarray:
    """Columns at a time on straight lines; the first of several rows of that time, the ends beyond them."""
    if not (t > when).any() and not (t == when).any():
        return np.asarray(columns[-1])
    after = int(np.flatnonzero(t >= when)[0])
    if t[after] == when or after == 0:
        return np.asarray(columns[after])
    share = (when - t[after - 1]) / (t[after] - t[after - 1])
    return np.asarray(columns[after - 1] + share * (columns[after] - columns[after - 1]))


@pytest.mark.parametrize(
    "method", [shoal.Nwa(k=4, delta_m=250, pi_s=50, step_s=10), shoal.W4m(k=3, delta_m=60)]
)
def test_published_points_show_the_middle_of_their_cylinder(method: shoal.Nwa | shoal.W4m) -> None:
    """Where three were moved, and where nobody was: as the method has it, which no release says."""
    original = crowd(60, 40, seed=3)
    release, linkage = method.anonymize(original, Randomness.for_research(0))
    found = middles_of(PointTarget.of_release(release), method.delta_m)
    record_of = dict(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    number_of = {name: number for number, name in enumerate(release.trajectory_ids)}
    three, nobody = [], []
    for cluster in method.clusters(original, Run()):
        true_x, true_y = cluster.x.mean(axis=0), cluster.y.mean(axis=0)
        moved = (np.hypot(cluster.x - true_x, cluster.y - true_y) > method.delta_m / 2).sum(axis=0)
        for member in cluster.members.tolist():
            begin = int(release.offsets[number_of[record_of[original.ids[member]]]])
            own = found[begin : begin + len(cluster.t)]
            shown = np.hypot(own[:, 0] - true_x, own[:, 1] - true_y) < 0.1
            three += shown[moved > 2].tolist()
            nobody += shown[moved == 0].tolist()
    assert len(three) > 100
    assert len(nobody) > 10
    assert np.mean(three) > 0.95 < np.mean(nobody)


def test_moves_into_cylinders_name_the_record_and_no_stranger() -> None:
    """Two points tell the record of most people, far from 1/k, and of people who are not there nothing."""
    original = crowd(150, 40, seed=5)
    inside, outside = original.keep(np.arange(100)), original.keep(np.arange(100, 150))
    method = shoal.Nwa(k=5, delta_m=60, pi_s=50, step_s=10)
    release, linkage = method.anonymize(inside, Randomness.for_research(0))
    found = attack(
        inside,
        release,
        linkage,
        knowledge=["nearest:2"],
        rng=Randomness.for_research(1),
        scope=AttackScope(control=outside),
    )
    rate = {one.target: one for one in found.rates}
    assert rate["raw"].rate == 1
    assert rate["release"].rule == "moved inward"
    assert rate["release"].low > 3 / method.k
    assert rate["control"].low <= 3 * rate["control"].baseline


@given(people=doubled_crowds(), p=st.integers(1, 8), seed=st.integers(0, 100))
def test_raw_points_are_nearest_to_whose_they_are_even_at_several_places_at_once(
    people: Trajectories, p: int, seed: int
) -> None:
    victims = np.arange(people.n_subjects)
    away = replace(people, y=people.y + 100 * np.repeat(victims, people.lengths))
    evaluation = evaluation_of(away, PointTarget.of_trajectories(away), victims)
    (rate,) = attack_nearest(evaluation, p, rng=np.random.default_rng(seed))
    assert rate.rate == 1


@given(known=small_crowds(), published=small_crowds(), seed=st.integers(0, 100))
@pytest.mark.parametrize("kind", ["triples", "times"])
def test_most_of_everything_known_is_that_of_brute_force(
    kind: str, known: Trajectories, published: Trajectories, seed: int
) -> None:
    width = 3 if kind == "triples" else 1
    evaluation = strangers_in(known, published, seed)
    index = evaluation.target.by_triple if kind == "triples" else evaluation.target.by_time
    codes = index.codes_of(*((known.t, known.x, known.y) if kind == "triples" else (known.t,)))
    found = answers(evaluation, kind, index.codes, codes, 10, np.random.default_rng(seed))
    assert len(found.alone) == known.n_subjects > 0
    for place, (own, samples) in enumerate(zip(evaluation.records.tolist(), rows_of(known), strict=True)):
        seen = [
            sum(row[:width] in {other[:width] for other in record} for row in samples)
            for record in rows_of(published)
        ]
        best = [r for r, count in enumerate(seen) if count == max(seen)]
        least = min(len(rows_of(published)[r]) for r in best)
        shortest = [r for r in best if len(rows_of(published)[r]) == least]
        assert found.alone[place] == (best == [own] and max(seen) > 0)
        assert found.linked[place].tolist() == [(own in named) / len(named) for named in (shortest, best)]
    if kind == "triples":
        assert found.disclosed.sum() == 0, "all of the person's triples were known before"


@pytest.mark.parametrize("seed", range(8))
def test_at_a_known_time_nothing_further_is_said(seed: int) -> None:
    """A record shows one true point and one false one: who knows the time of one says the other."""
    known = Trajectories.from_rows(["a", "a"], [0.0, 9.0], [0.0, 5.0], [0.0, 0.0])
    shown = Trajectories.from_rows(["a", "a"], [0.0, 9.0], [0.0, 7.0], [0.0, 0.0])
    evaluation = evaluation_of(known, PointTarget.of_trajectories(shown), np.array([0]), label="release")
    index = evaluation.target.by_time
    codes = index.codes_of(known.t)
    found = answers(evaluation, "time", index.codes, codes, 1, np.random.default_rng(seed))
    (drawn,) = evaluation.draw_rows(0, 1, np.random.default_rng(seed))
    assert found.disclosed.tolist() == [[float(drawn == 1)] * 2]
    assert found.lucky.tolist() == [float(drawn == 1)]


@given(published=small_crowds() | doubled_crowds(), known=small_crowds())
def test_equal_points_have_equal_numbers(published: Trajectories, known: Trajectories) -> None:
    for columns in (("t",), ("t", "x", "y")):
        index = PointIndex.of_columns(*(getattr(published, name) for name in columns))
        rows = list(zip(*(getattr(published, name).tolist() for name in columns), strict=True))
        wanted = list(zip(*(getattr(known, name).tolist() for name in columns), strict=True))
        number_of = dict(zip(rows, index.codes.tolist(), strict=True))
        assert len(set(number_of.values())) == len(set(rows)) == len(number_of) > 0
        assert [number_of[row] for row in rows] == index.codes.tolist()
        codes = index.codes_of(*(getattr(known, name) for name in columns))
        assert codes.tolist() == [number_of.get(row, -1) for row in wanted]


def test_raw_points_single_out_and_strangers_show_luck() -> None:
    """On raw data everybody is found.

    Of 20 people who were never in the release nobody is, except by luck.
    """
    everybody = crowd(60, 40, spread_s=20)
    original, strangers = everybody.keep(np.arange(40)), everybody.keep(np.arange(40, 60))
    release, linkage = shoal.W4m(k=2, trash=0).anonymize(original, Randomness.for_research(3))
    played = attack(
        original,
        release,
        linkage,
        knowledge=EVERY_KNOWLEDGE,
        rng=Randomness.for_research(0),
        scope=AttackScope(control=strangers),
    )
    rates = {(rate.name, rate.knowledge, rate.target): rate for rate in played.rates}
    assert rates["nearest-linkage", "4 true points", "raw"].rate == 1
    assert rates["triples-unicity", "4 exact triples", "raw"].rate == 1
    assert rates["nearest-linkage", "4 true points", "release"].rate > 0.25
    luck = rates["nearest-linkage", "4 true points", "control"]
    assert (luck.tries, luck.baseline) == (20, 1 / 40)
    again = [
        attack(
            original,
            release,
            linkage,
            knowledge=["nearest:4"],
            rng=Randomness.for_research(draw),
            scope=AttackScope(control=strangers, targets=["control"]),
        ).rates[0]
        for draw in range(20)
    ]
    assert (
        1 <= sum(rate.successes for rate in again) <= 22
    )  # 400 guesses at 1/40: 10 expected, outside once in some thousands
    assert not played.notes
    alone = attack(original, None, None, knowledge=["nearest:1", "times:1"], rng=Randomness.for_research(0))
    assert {rate.target for rate in alone.rates} == {"raw"}


def test_one_call_plays_both_kinds_as_two_calls_do() -> None:
    original = crowd(30)
    release, linkage = SwapLocations(k=3, space_threshold_m=300).anonymize(original, Randomness.from_system())

    def play(raw: Trajectories, published: Release | shoal.Release, *known: str) -> AttackResult:
        return attack(raw, published, linkage, knowledge=known, rng=Randomness.for_research(5), tries=10)

    both = play(original, release, "triples:2", "points:2", "nearest:2", "home-work")
    given = play(original, release, "triples:2", "nearest:2")
    on_grid = play(original.snapped_to(Grid()), release.as_boxes(Grid()), "points:2", "home-work")
    assert {rate.name for rate in both.rates} >= {"triples-linkage", "linkage", "nearest-linkage", "home"}
    assert len(both.rates) == len(set(both.rates))
    assert set(both.rates) == {*given.rates, *on_grid.rates}


@pytest.mark.parametrize("text", ["triples", "triples:0", "times:99", "nearest:x", "nearest", "nearest:1:2"])
def test_other_knowledge_is_refused(text: str) -> None:
    with pytest.raises(MisuseError, match=f"write for example {text.partition(':')[0]}:4"):
        attack(crowd(), None, None, knowledge=[text], rng=Randomness.for_research(0))


def test_boxes_and_other_people_are_refused() -> None:
    original = crowd()
    release, linkage = SwapLocations(k=3).anonymize(original, Randomness.from_system())
    for text in [row.example for row in ATTACKS.values() if not row.takes_boxes]:
        with pytest.raises(MisuseError, match="holds boxes; leave it out"):
            attack(
                original.snapped_to(Grid()),
                release.as_boxes(Grid()),
                linkage,
                knowledge=[text],
                rng=Randomness.for_research(0),
            )
    with pytest.raises(MisuseError, match=r"nearest:P \(points\)"):
        attack(original, release, linkage, knowledge=["magic:1"], rng=Randomness.for_research(0))
    for control in (original, replace(crowd(30), crs="EPSG:2154"), crowd(30).snapped_to(Grid())):
        with pytest.raises(InputError, match="control"):
            attack(
                original,
                release,
                linkage,
                knowledge=["nearest:1"],
                rng=Randomness.for_research(0),
                scope=AttackScope(control=control),
            )


def test_true_points_belong_to_the_default_of_all_releases_of_points() -> None:
    original = crowd()
    swapped, _ = SwapLocations(k=3).anonymize(original, Randomness.from_system())
    moved, _ = shoal.W4m(k=2).anonymize(original, Randomness.from_system())
    of_points = {name for name, row in ATTACKS.items() if not row.takes_boxes}
    for release in (moved, swapped):
        asked = set(default_knowledge(release))
        assert {"nearest:1", "nearest:2", "nearest:4", "triples:4", "points:4"} <= asked
    assert "triples:4" in default_knowledge(swapped)
    assert not any(
        text.partition(":")[0] in of_points for text in default_knowledge(swapped.as_boxes(Grid()))
    )


def test_the_command_plays_true_points_with_a_control_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call, table = Shoal(capsys), table_of_fleet(20)
    known = table["uid"].to_pylist()
    kept = [row for row, uid in enumerate(known) if uid < "taxi-14"]
    pq.write_table(table.take(kept), tmp_path / "fleet.parquet")
    pq.write_table(
        table.take([row for row in range(len(known)) if row not in set(kept)]), tmp_path / "others.parquet"
    )
    for name, method in {
        "points": ("--method", "w4m", "--delta", "500m"),
        "boxes": ("--method", "glove"),
    }.items():
        links = tmp_path / f"{name}.links" / "linkage.parquet"
        words = ("--k", 2, "--output", tmp_path / name, "--linkage", links, "--risk-tries", 0)
        assert call("anonymize", tmp_path / "fleet.parquet", *method, *words).code == 0

    def play(name: str, *words: object) -> tuple[int, str, str]:
        links = ("--linkage", tmp_path / f"{name}.links" / "linkage.parquet", "--seed", 1)
        outcome = call("attack", tmp_path / "fleet.parquet", tmp_path / name, *links, *words)
        return outcome.code, outcome.out, outcome.err

    code, out, _ = play(
        "points", "--knowledge", "nearest:2", "--control", tmp_path / "others.parquet", "--json"
    )
    assert code == 0
    assert {(rate["name"], rate["target"]) for rate in json.loads(out)["attacks"]} == {
        ("nearest-linkage", target) for target in ("raw", "release", "control")
    }
    assert not any(f'"{uid}"' in out for uid in known)
    code, out, _ = play("points")
    assert (code, "nearest-linkage" in out, "triples-disclosure" in out, "4 true points" in out) == (
        0,
        True,
        True,
        True,
    )
    for name, text, message in (
        ("boxes", "nearest:2", "holds boxes; leave it out"),
        ("points", "nearest:0", "for example nearest:4"),
    ):
        code, _, err = play(name, "--knowledge", text)
        assert (code, message in err) == (2, True), err
