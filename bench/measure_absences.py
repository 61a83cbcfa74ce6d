"""What absences give away in a series: weeks of people who leave, arrive and are away now and then.

python bench/measure_absences.py WEEKS
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_WEEKS, _PEOPLE, _CHANGE, _AWAY = int(sys.argv[1]), 1200, 36, 20
_BEGIN_S, _WEEK_S = 1_704_067_200, 7 * 86_400


def shoal(*words: object) -> str:
    """What a command prints; it must not fail."""
    command = [sys.executable, "-m", "shoal", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def split(everything: Path, folder: Path) -> list[Path]:
    """Write the weeks."""
    table, rng = pq.read_table(everything), np.random.default_rng(0)
    order = rng.permutation(sorted(pc.unique(table["uid"]).to_pylist())).tolist()
    weeks = []
    for week in range(_WEEKS):
        present = sorted(order[_CHANGE * week : _CHANGE * week + _PEOPLE])
        present = sorted(set(present) - set(rng.choice(present, _AWAY, replace=False).tolist()))
        begin = _BEGIN_S + week * _WEEK_S
        during = pc.and_(pc.greater_equal(table["t"], begin), pc.less(table["t"], begin + _WEEK_S))
        weeks.append(folder / f"week{week}.parquet")
        pq.write_table(table.filter(pc.and_(during, pc.is_in(table["uid"], pa.array(present)))), weeks[-1])
    return weeks


def main() -> None:
    """Publish a series, check it, and print the rates of joined attacks."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        shoal("synthesize", folder / "all.parquet", "--subjects", 1500, "--days", 7 * _WEEKS, "--seed", 3)
        weeks = split(folder / "all.parquet", folder)
        for number, week in enumerate(weeks):
            places = ("--output", folder / f"r{number}", "--linkage", folder / f"l{number}.parquet")
            begin = ["--renew"] * (number == 0)
            shoal(
                "anonymize", week, "--k", 5, "--series", folder / "state", *begin, *places, "--risk-tries", 0
            )
        *before, last = range(_WEEKS)
        earlier = [
            word
            for number in reversed(before)
            for word in (
                "--earlier",
                f"{folder / f'r{number}'}={folder / f'l{number}.parquet'}={weeks[number]}",
            )
        ]
        words = (
            weeks[last],
            folder / f"r{last}",
            "--linkage",
            folder / f"l{last}.parquet",
            *earlier,
            "--json",
        )
        print(json.loads(shoal("verify", *words))["series"])
        knowledge = [word for p in (1, 4, 10) for word in ("--knowledge", f"points:{p}")]
        for rate in json.loads(shoal("attack", *words, *knowledge, "--seed", 1))["together"]["attacks"]:
            if rate["name"] == "linkage":
                print(f"{rate['knowledge']}: {rate['rate']:.1%} ({rate['low']:.1%} to {rate['high']:.1%})")


if __name__ == "__main__":
    main()
