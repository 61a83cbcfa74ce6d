"""The bench that measures samples left out runs: the frontier shrinks, and every attack is played twice."""

import measure_omission
import shoal


def test_the_frontier_and_every_attack_before_and_after() -> None:
    people = shoal.read(shoal.synthesize(30, 1, 1))
    told = list(measure_omission.lines(people, {"k": 2}, [], 4, 0.1))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in told if line.startswith("| ")]
    frontier, attacks = rows[1:3], {row[0] for row in rows[3:]}
    assert [row[0] for row in frontier] == ["0%", "10%"]
    assert frontier[0][1] == "0.00%" != frontier[1][1]
    assert {"linkage", "unicity", "insider-exact", "home", "membership"} <= attacks
