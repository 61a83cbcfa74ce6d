"""Two releases under fresh pseudonyms joined by their places: an oracle, a known answer, and no places."""

from collections import defaultdict
from math import log1p
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import Shoal
from example_counts import examples
from shoal.attacks import Rate, attack, default_knowledge
from shoal.attacks.attacking import AttackScope
from shoal.attacks.series import _named, _scores
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.model.grid import Grid
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from small_releases import naive_release, random_people


def weeks(people: Trajectories) -> tuple[Trajectories, Trajectories]:
    """The same people before the middle of the data and after it."""
    ids = np.repeat(np.array(people.ids), people.lengths)
    early = people.t < np.median(people.t)
    first, second = (
        Trajectories.from_rows(
            ids[part].tolist(), people.t[part], people.x[part], people.y[part], grid=people.grid
        )
        for part in (early, ~early)
    )
    both = sorted(set(first.ids) & set(second.ids))
    return first.keep(np.flatnonzero(np.isin(first.ids, both))), second.keep(
        np.flatnonzero(np.isin(second.ids, both))
    )


def joined(
    second: Trajectories, release: Release, linkage: Linkage, earlier: tuple[Release, Linkage]
) -> dict[str, Rate]:
    found = attack(
        second,
        release,
        linkage,
        knowledge=["series"],
        rng=Randomness.for_research(1),
        scope=AttackScope(earlier=earlier),
    )
    return {rate.name: rate for rate in found.rates if rate.target == "release"}


def presence_of(target: BoxTarget, record: int) -> dict[tuple[int, int, int, int], float]:
    """Shares of features, box by box and cell by cell."""
    found: dict[tuple[int, int, int, int], float] = defaultdict(float)
    for t0, t1, x0, y0, x1, y1 in target.record(record).tolist():
        part = 4 if (t1 - t0) * 60 > 21_600 else int((t0 + t1) / 2 * 60 % 86_400 // 21_600)
        for scale, side in enumerate((1, 8)):
            xs, ys = (range(low // side, (high - 1) // side + 1) for low, high in ((x0, x1), (y0, y1)))
            if len(xs) * len(ys) > 256:
                continue
            for x in xs:
                for y in ys:
                    found[scale, x, y, part] += 0.5 / (len(xs) * len(ys))
            for x in (xs[0], xs[-1]):
                for y in (ys[0], ys[-1]):
                    found[scale, x, y, part] += 0.125
    total = sum(found.values())
    return {feature: weight / total for feature, weight in found.items()}


@examples(0.4)
@given(seed=st.integers(0, 500))
def test_scores_are_those_of_going_through_cells(seed: int) -> None:
    draw = np.random.default_rng(seed)

    def records(n: int) -> BoxTarget:
        low = draw.integers(-20, 20, (3 * n, 3))
        size = draw.choice([1, 2, 30], (3 * n, 3))
        boxes = np.column_stack([low[:, 0], low[:, 0] + size[:, 0], *low[:, 1:].T, *(low + size)[:, 1:].T])
        return BoxTarget(offsets=np.arange(n + 1) * 3, boxes=boxes[:, [0, 1, 2, 3, 4, 5]], grid=Grid())

    here, there = records(4), records(3)
    shown = [[presence_of(target, record) for record in range(target.n_records)] for target in (here, there)]
    usual = [
        {f: sum(one.get(f, 0) for one in side) / len(side) for one in side for f in one} for side in shown
    ]
    scores = _scores(here, there, np.arange(4))
    assert scores.shape == (4, 3)
    for a, mine in enumerate(shown[0]):
        for b, theirs in enumerate(shown[1]):
            expected = sum(
                mine[f] * log1p(theirs[f] / usual[1][f]) + theirs[f] * log1p(mine[f] / usual[0][f])
                for f in mine.keys() & theirs.keys()
            )
            assert scores[a, b] == pytest.approx(expected)


def test_who_is_like_everybody_is_left_to_whom_nobody_else_is_like() -> None:
    """By itself each names the popular one; all at once, and against rivals, each names another."""
    popular = np.array([[9.0, 8.0, 0.0], [9.0, 0.0, 1.0], [9.0, 2.0, 7.0]])
    own = np.arange(3)
    at_once, against_rivals, by_itself = _named(popular, own)
    assert at_once == [{1: 1.0}, {0: 1.0}, {2: 1.0}]
    assert by_itself == [{0: 1.0}] * 3
    assert [max(named) for named in against_rivals] == [1, 0, 2]
    assert next(_named(popular[:, :2], own[:2]))[:2] == [{1: 1.0}, {0: 1.0}]  # more records than others
    assert next(_named(popular[:2], own)) == [{1: 1.0}, {0: 1.0}]
    alike = np.array([[3.0, 3.0, 1.0]])
    assert list(_named(alike, own))[2] == [{0: 0.5, 1: 0.5}]
    assert list(_named(alike, np.array([0, 0, 1])))[2] == [{0: 1.0}]
    assert list(_named(np.zeros((2, 3)), own))[2] == [dict.fromkeys(range(3), 1 / 3)] * 2


def test_people_with_places_of_their_own_are_joined_and_people_without_are_not() -> None:
    first, second = weeks(random_people(60, 40, seed=1, cells=400))
    (release, linkage), earlier = (
        naive_release(second, k=2, boxes_per_record=20),
        naive_release(first, k=2, boxes_per_record=20),
    )
    rates = joined(second, release, linkage, earlier)
    assert rates["series-class"].rate > 10 * rates["series-class"].baseline
    assert rates["series-linkage"].rate == pytest.approx(rates["series-class"].rate / 2)
    draw = np.random.default_rng(0)
    ids = [f"p{i:02d}" for i in range(60) for _ in range(20)]
    anywhere = [
        Trajectories.from_rows(
            ids, draw.integers(0, 5000, 1200), *draw.integers(0, 30, (2, 1200)), grid=Grid()
        )
        for _ in range(2)
    ]
    (release, linkage), earlier = naive_release(anywhere[1], k=2), naive_release(anywhere[0], k=2)
    alike = joined(anywhere[1], release, linkage, earlier)["series-linkage"]
    assert alike.low <= alike.baseline <= alike.high


def test_a_series_needs_two_releases_of_one_grid_and_plane_and_people() -> None:
    first, second = weeks(random_people(20, 20, seed=1))
    (release, linkage), (before, linked) = naive_release(second), naive_release(first)
    assert "series" not in default_knowledge(release)
    assert "series" in default_knowledge(release, series=True)
    with pytest.raises(MisuseError, match="give earlier"):
        attack(second, release, linkage, knowledge=["series"], rng=Randomness.for_research(1))
    strangers = Linkage(tuple(f"other {uid}" for uid in linked.uids), linked.trajectory_ids)
    with pytest.raises(MisuseError, match="nobody is in both releases"):
        joined(second, release, linkage, (before, strangers))
    other, other_linkage = naive_release(random_people(20, 20, grid=Grid(cell_m=500)))
    with pytest.raises(MisuseError, match="other cells or slots"):
        joined(second, release, linkage, (other, other_linkage))


def test_two_weeks_are_joined_from_their_folders(shoal: Shoal, tmp_path: Path) -> None:
    """The planes of two weeks differ by a little, because each is centered on its own data."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from shoal.synthetic import write_synthetic

    write_synthetic(tmp_path / "all.parquet", 60, 4, 5)
    table = pq.read_table(tmp_path / "all.parquet")
    time = table.column_names[1]
    values = pc.cast(table[time], pa.int64())
    middle = (pc.min(values).as_py() + pc.max(values).as_py()) // 2
    options: list[str] = []
    for name, kept in (("one", pc.less(values, middle)), ("two", pc.greater_equal(values, middle))):
        pq.write_table(table.filter(kept), tmp_path / f"{name}.parquet")
        made = shoal(
            "anonymize",
            tmp_path / f"{name}.parquet",
            "--k",
            2,
            "--output",
            tmp_path / name,
            "--linkage",
            tmp_path / f"{name}-linkage.parquet",
            "--risk-tries",
            0,
        )
        assert made.code == 0, made.err
        options = [f"{tmp_path / 'one'}={tmp_path / 'one-linkage.parquet'}={tmp_path / 'one.parquet'}"]
    found = shoal(
        "attack",
        tmp_path / "two.parquet",
        tmp_path / "two",
        "--linkage",
        tmp_path / "two-linkage.parquet",
        "--earlier",
        *options,
        "--knowledge",
        "series",
        "--json",
        "--seed",
        1,
    )
    assert found.code == 0, found.err
    import json

    rates = {(one["name"], one["target"]): one for one in json.loads(found.out)["attacks"]}
    assert rates["series-class", "release"]["low"] > rates["series-class", "release"]["baseline"]
    assert not any(name == "intersection" for name, _ in rates)
    earlier = ("--linkage", tmp_path / "two-linkage.parquet", "--earlier", *options)
    checked = shoal("verify", tmp_path / "two.parquet", tmp_path / "two", *earlier, "--json")
    series = json.loads(checked.out)["series"]
    assert (checked.code, series["people_below_k"] > 30, series["k"]) == (1, True, 2)
    attacked = shoal(
        "attack", tmp_path / "two.parquet", tmp_path / "two", *earlier, "--knowledge", "points:10", "--json"
    )
    told = json.loads(attacked.out)
    assert told["together"]["releases"] == series["releases"]
    joined = next(one for one in told["together"]["attacks"] if one["name"] == "linkage")
    alone = next(one for one in told["attacks"] if (one["name"], one["target"]) == ("linkage", "release"))
    assert alone["rate"] <= told["together"]["promised"] == 0.5 < joined["rate"]
    unnamed = (*earlier[:3], f"{tmp_path / 'one'}={tmp_path / 'one-linkage.parquet'}")
    refused = shoal("attack", tmp_path / "two.parquet", tmp_path / "two", *unnamed)
    assert (refused.code, "FOLDER=LINKAGE=RAW" in refused.err) == (2, True)
