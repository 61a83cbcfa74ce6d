"""How likely a bad group is: exact, and against every draw of small rosters."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from command_line import Shoal
from group_sizes import any_isolation_bound, isolation_probability, main
from service_town import seed
from shoal.errors import MisuseError
from shoal_collect.cli.documents import CollectPlanDocument
from shoal_collect.cli.plan import _lines
from shoal_collect.mix.messages import LARGEST, least_left
from shoal_collect.roles.lottery import divide


@pytest.mark.parametrize(("people", "dishonest", "size"), [(6, 3, 3), (7, 4, 4), (9, 2, 3), (8, 7, 8)])
def test_the_chance_of_isolation_is_that_of_all_draws(people: int, dishonest: int, size: int) -> None:
    """Everybody from 1 on may be in the group of person 0, who is honest; the last ones play together."""
    groups = list(itertools.combinations(range(1, people), size - 1))
    bad = sum(all(one >= people - dishonest for one in group) for group in groups)
    once = Fraction(bad, len(groups))
    assert isolation_probability(people, dishonest, size, 1) == pytest.approx(float(once))
    assert isolation_probability(people, dishonest, size, 3) == pytest.approx(float(1 - (1 - once) ** 3))


@pytest.mark.parametrize(("people", "dishonest", "size"), [(8, 3, 4), (9, 3, 6), (12, 4, 5)])
def test_a_collector_that_withholds_letters_isolates_more(people: int, dishonest: int, size: int) -> None:
    """Every draw, and every set of honest people that falls silent while the others may go on."""
    shares = []
    for n in (size, size + 1):
        bad = 0
        groups = list(itertools.combinations(range(1, people), n - 1))
        for group in groups:
            honest = [one for one in group if one < people - dishonest]
            bad += any(
                n - len(silent) >= least_left(n) and len(silent) == len(honest)
                for k in range(len(honest) + 1)
                for silent in itertools.combinations(honest, k)
            )
        shares.append(Fraction(bad, len(groups)))
    helped = isolation_probability(people, dishonest, size, 1, with_collector=True)
    assert helped == pytest.approx(float(max(shares)))
    assert helped > isolation_probability(people, dishonest, size, 1)
    assert any_isolation_bound(people, dishonest, size) >= helped


def test_draws_of_the_lottery_isolate_as_often_as_is_said() -> None:
    """3,000 draws of the protocol's own groups, 12 people in groups of 3, half of them dishonest."""
    people = [bytes((i,)) for i in range(12)]
    hits = 0
    for number in range(3_000):
        groups, _ = divide(seed("draw", number), people, 3)
        group = next(one for one in groups if people[0] in one)
        hits += all(one[0] >= 6 for one in group if one != people[0])
    expected = isolation_probability(12, 6, 3, 1)
    assert abs(hits / 3_000 - expected) < 4 * math.sqrt(expected * (1 - expected) / 3_000)


def test_bounds_and_borders() -> None:
    assert isolation_probability(100, 2, 4) == 0.0
    assert isolation_probability(3, 2, 3) == 1.0
    assert isolation_probability(10**9, 10**6, 24) > 0
    assert any_isolation_bound(10, 8, 3, 10**6) == 1.0
    sizes = range(3, 25)
    chances = [isolation_probability(100, 30, size) for size in sizes]
    assert chances == sorted(chances, reverse=True)
    for people, dishonest, size in ((2, 0, 3), (10, 10, 3), (10, -1, 3), (10, 1, 2)):
        with pytest.raises(MisuseError, match="at least as many people"):
            isolation_probability(people, dishonest, size)


def test_groups_of_24_fit() -> None:
    assert LARGEST == 25, "24, and one more where the number of people does not divide"
    groups, left = divide(seed("x"), [bytes((i,)) for i in range(49)], 24)
    assert (sorted(map(len, groups)), left) == ([24, 25], ())


def test_the_table_of_group_sizes_has_these_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["group_sizes.py", "--people", "1000", "--dishonest", "100"])
    main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [int(row[0]) for row in rows] == [3, 4, 6, 8, 10, 12, 15, 18, 21, 24]
    assert rows[1][1] == f"{isolation_probability(1000, 100, 4):.2e}"
    assert rows[1][2] == f"{isolation_probability(1000, 100, 4, with_collector=True):.2e}"
    assert rows[9][3] == f"{any_isolation_bound(1000, 100, 24):.2e}"


def test_a_plan_says_how_much_would_come_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nine people on one way at one time share it; of nine people each in a town of her own no one shares."""
    shoal = Shoal(capsys)
    together, alone = tmp_path / "together.csv", tmp_path / "alone.csv"
    for file, apart in ((together, 0), (alone, 1)):
        rows = [
            f"p{i},{1_750_000_000 + 600 * step},48,{2 + apart * i + 0.001 * step}"
            for i in range(9)
            for step in range(4)
        ]
        file.write_text("\n".join(["uid,t,lat,lon", *rows]) + "\n")
    reading = ("--time-unit", "s")
    document = json.loads(shoal("collect", "plan", "--data", together, *reading, "--first", 3, "--json").out)
    TypeAdapter(CollectPlanDocument).validate_python(document)
    assert len(document["yields"]) == 12
    proposal = document["proposal"]
    assert (proposal["people"], proposal["theta_m"], proposal["k"]) == (6, 500, 3), (
        "the finest that was tried"
    )
    assert proposal["share_submitted"] > 0.9
    assert "Proposed: theta_m = 500 and theta_min = 30" in _lines(document)[-1]
    nothing = shoal("collect", "plan", "--data", alone, *reading)
    assert (nothing.code, "This study cannot work" in nothing.out) == (0, True)
    for wrong, message in (
        (("--data", together, *reading, "--first", 9), "9 bootstrappers among 9"),
        (("--data", tmp_path / "none.csv"), "none.csv"),
        (("--data", together, "--no-snap"), "leave out"),
        (("--first", 3), "--data"),
    ):
        ended = shoal("collect", "plan", *wrong)
        assert (ended.code, message in ended.err) == (2, True), ended.err
