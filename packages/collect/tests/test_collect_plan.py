"""How likely a bad group is: exact, and against every draw of small rosters."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from collect_costs import mix_messages
from command_line import Shoal
from service_town import seed
from shoal.errors import MisuseError
from shoal_collect.cli.documents import CollectPlanDocument
from shoal_collect.cli.plan import _lines
from shoal_collect.mix.messages import LARGEST, least_left
from shoal_collect.roles.lottery import divide
from shoal_collect.roles.plan import (
    any_isolation_bound,
    cost_of,
    isolation_probability,
)


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


def test_messages_are_those_of_two_mixes_vouchers_and_answers_and_groups_of_24_fit() -> None:
    for size in (3, 4, 24):
        assert cost_of(size, 50, 4).messages == 2 * mix_messages(size) + 2 * (size - 1)
    assert LARGEST == 25, "24, and one more where the number of people does not divide"
    groups, left = divide(seed("x"), [bytes((i,)) for i in range(49)], 24)
    assert (sorted(map(len, groups)), left) == ([24, 25], ())
    for size, most in ((4, 3), (24, 4)):
        assert 1.5 < cost_of(size, 50, 4, proven=True).cpu_s / cost_of(size, 50, 4).cpu_s < most


@pytest.mark.parametrize(
    ("size", "questions", "measured_s", "measured_mb"),
    [(4, 20, 1.65, 0.34), (8, 10, 2.4, 0.76), (12, 5, 2.3, 0.93), (24, 3, 4.55, 2.39), (4, 1000, 48.0, 16.2)],
)
def test_the_cost_is_what_was_measured(
    size: int, questions: int, measured_s: float, measured_mb: float
) -> None:
    """One mix of bench/bench_mix.py; ``cost_of`` adds up two, and its estimate of bytes leaves out heads."""
    twice = cost_of(size, questions, questions)
    assert twice.cpu_s / 2 == pytest.approx(measured_s, rel=0.07)
    assert measured_mb * 0.75 < twice.sent_mb / 2 <= measured_mb * 1.03


def test_the_command_prints_a_table_and_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    command = Shoal(capsys)
    said = command("collect", "plan", "--people", 1000, "--dishonest", "0.1", "--json")
    document = json.loads(said.out)
    TypeAdapter(CollectPlanDocument).validate_python(document)
    assert [row["group_size"] for row in document["sizes"]] == [3, 4, 6, 8, 10, 12, 15, 18, 21, 24]
    assert (document["dishonest"], document["shots"]) == (100, 3)
    assert document["sizes"][1]["isolated"] == pytest.approx(isolation_probability(1000, 100, 4))
    helped = isolation_probability(1000, 100, 4, with_collector=True)
    assert document["sizes"][1]["isolated_with_collector"] == pytest.approx(helped)
    words = command("collect", "plan", "--group-size", 8, "--group-size", 4).out
    assert f"{isolation_probability(100, 10, 8, with_collector=True):.2e}" in words
    assert "count on the second figure" in words
    assert "100 people on a roster, 10 of them play together" in words
    for wrong, message in (
        (("--people", 5, "--group-size", 8), "groups of 8 among 5 people"),
        (("--people", 3, "--dishonest", "0.99"), "all of 3 people"),
        (("--group-size", 25), "25"),
        (("--dishonest", "1"), "--dishonest"),
        (("--dishonest", "nan"), "--dishonest"),
        (("--first", 3), "no effect without --data"),
        (("--crs", "EPSG:4326"), "no effect without --data"),
    ):
        ended = command("collect", "plan", *wrong)
        assert ended.code == 2, wrong
        assert message in ended.err


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
    ):
        ended = shoal("collect", "plan", *wrong)
        assert (ended.code, message in ended.err) == (2, True), ended.err
