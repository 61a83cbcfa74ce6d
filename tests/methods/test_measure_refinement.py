"""The bench that measures the refinement runs, and its rows speak of every attack of the lab."""

import measure_refinement
import shoal


def test_every_attack_is_measured_before_and_after() -> None:
    city = shoal.read(shoal.synthesize(24, 2, 3, layout="city"))
    told = list(measure_refinement.lines(city, [3], 1, 8))
    assert told[0].startswith("20 people, ")
    rows = [line.split("|")[1].strip() for line in told if line.startswith("| ")]
    assert rows[:2] == ["greedy", "refined, 1 rounds"]
    assert {"linkage", "unicity", "insider-exact", "downcoding-exact", "home", "membership"} <= set(rows)
