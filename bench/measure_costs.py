"""What the long commands cost, for `--plan`: measured, fitted, and held against other sizes.

    python bench/measure_costs.py measure   # bench/costs.csv, then paste what `fit` prints
    python bench/measure_costs.py fit       # the rows of src/shoal/publishing/costs.py
    python bench/measure_costs.py check     # sizes that the fit has not seen: predicted beside measured

Each run is `shoal ...` as a user has it, in a process of its own with one thread, on synthetic people of one
city, with kernels compiled by a small run before. CPU seconds are of the process; memory is its peak; disk is
what it wrote. What is in the CSV already is not measured again.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.methods import METHODS
from shoal.publishing.costs import Growth
from shoal.synthetic import write_synthetic

TABLE: Final = Path(__file__).with_name("costs.csv")
NAMES: Final = ("kind", "task", "people", "samples", "k", "cpu_s", "peak_mb", "disk_mb")
SIZES: Final = ((250, 14), (500, 14), (1000, 14))
MORE: Final = ((2100, 7), (4000, 7))  # of assess, which draws people from 2,001 on
LARGER: Final = ((3000, 14),)
LARGER_METHODS: Final = ("glove", "w4m")  # the others take minutes there
UNSEEN: Final = ((350, 28), (700, 7), (1400, 7))
UNSEEN_METHODS: Final = ("glove", "kte-hide", "w4m")  # one of each kind, at k = 2, to save time
KS: Final = (2, 5)
UNKNOWN: Final = ("reach-locations",)  # what it takes depends on its street graph
WARM_UP: Final = 60
TRIES: Final = (100, 1000)
EXPONENTS: Final = np.arange(0, 1.01, 0.05)
NEARLY: Final = 1.1  # a smaller exponent is taken when its error is at most this much larger
Row = dict[str, Any]


class Refused(Exception):  # noqa: N818 (no error: some methods leave nobody of few people)
    """A command that made no release of so few people."""


def timed(words: list[str], folder: Path) -> tuple[float, float, dict[str, Any]]:
    """CPU seconds and peak memory in MB of a command, and the document that it prints."""
    told = folder / "told.json"
    with told.open("wb") as out:
        child = subprocess.Popen([sys.executable, "-m", "shoal", *words, "--json", "--quiet"], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise Refused(" ".join(words[:1] + words[2:6]))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3, json.loads(told.read_text())


def anonymized(method: str, city: Path, folder: Path, k: int) -> dict[str, tuple[float, float, float]]:
    """The whole of a publication but its attacks, and those alone."""
    given = ["--method", method, "--k", str(k)] if "k" in METHODS[method].__dataclass_fields__ else []
    given = given or ["--method", method]
    files = ["--output", str(folder / "release"), "--linkage", str(folder / "links.parquet")]
    cpu_s, _, told = timed(
        ["anonymize", str(city), *given, *files, "--research-seed", "1", "--timings"], folder
    )
    stages = {each["stage"]: each for each in told["timings"]}
    peak = max(each["peak_bytes"] for each in stages.values()) / 1e6
    disk = sum(path.stat().st_size for path in (folder / "release").iterdir()) / 1e6
    attacks = stages.get("attacks", {"cpu_s": 0.0})["cpu_s"]
    return {
        method: (cpu_s - attacks, peak, disk),
        f"200 tries for the record of {METHODS[method].about.publishes}": (attacks, 0.0, 0.0),
    }


def judged(city: Path, folder: Path, people: int) -> dict[str, tuple[float, float, float]]:
    """What comes after a release: measure, and attack without and with its tries."""
    given = [str(city), str(folder / "release"), "--linkage", str(folder / "links.parquet")]
    measured = timed(["measure", *given], folder)
    few, many = (timed(["attack", *given, "--tries", str(n), "--seed", "1"], folder) for n in TRIES)
    each = (many[0] - few[0]) / (min(TRIES[1], people) - TRIES[0])  # nobody is a victim twice
    return {
        "measure": (*measured[:2], 0.0),
        "attack": (few[0] - each * TRIES[0], many[1], 0.0),
        "1000 tries of attack": (each * 1000, 0.0, 0.0),
    }


def assessed(city: Path, folder: Path, people: int) -> dict[str, tuple[float, float, float]]:
    page = folder / "page.html"
    cpu_s, peak, _ = timed(["assess", str(city), "--k", "2", "--output", str(page)], folder)
    drawn = "of drawn people" if people > 2000 else "of everybody"
    return {f"assess {drawn}": (cpu_s, peak, page.stat().st_size / 1e6)}


def runs(people: int, days: int, methods: Collection[str], ks: Collection[int] = KS) -> Iterator[Row]:
    """Every task on people of one city, with these methods."""
    with tempfile.TemporaryDirectory() as name:
        city = Path(name) / "city.parquet"
        samples = write_synthetic(city, people, days, 1, layout="city").rows
        size = {"people": people, "samples": samples}
        yield from rows({**size, "k": 2}, assessed(city, Path(name), people))
        for method in methods:
            for k in ks:
                with tempfile.TemporaryDirectory(dir=name) as inner:
                    try:
                        found = anonymized(method, city, Path(inner), k)
                    except Refused as refused:
                        print(f"no release: {refused}", flush=True)
                        continue
                    yield from rows({**size, "k": k}, found)
                    if method == "glove" and k == KS[0]:
                        yield from rows({**size, "k": k}, judged(city, Path(inner), people))


def rows(size: Row, found: dict[str, tuple[float, float, float]]) -> Iterator[Row]:
    """Rows of the CSV."""
    for task, (cpu_s, peak_mb, disk_mb) in found.items():
        row = {**size, "task": task, "cpu_s": round(cpu_s, 2), "peak_mb": round(peak_mb)}
        yield {**row, "disk_mb": round(disk_mb, 2)}


def measure() -> None:
    """Everything that the CSV does not have yet, row by row."""
    known = {(row["kind"], row["people"]) for row in read_table()} if TABLE.exists() else set()
    if not known:
        TABLE.write_text(",".join(NAMES) + "\n")
    every = [method for method in METHODS if method not in UNKNOWN]
    jobs = [
        *(("fitted", *size, every, KS) for size in SIZES),
        *(("fitted", *size, (), KS) for size in MORE),
        *(("fitted", *size, LARGER_METHODS, KS[:1]) for size in LARGER),
        *(("unseen", *size, UNSEEN_METHODS, KS[:1]) for size in UNSEEN),
    ]
    waiting = [job for job in jobs if job[:2] not in known]
    if any(job[3] for job in waiting):
        list(runs(WARM_UP, 2, every))
    for kind, people, days, methods, ks in waiting:
        found = [{"kind": kind, **row} for row in runs(people, days, methods, ks)]
        with TABLE.open("a", newline="") as file:
            csv.DictWriter(file, NAMES, lineterminator="\n").writerows(found)
        print(f"{people} people x {days} days measured", flush=True)


def read_table() -> list[Row]:
    """The rows of the CSV, numbers as numbers."""
    with TABLE.open(newline="") as file:
        return [
            {
                "kind": row["kind"],
                "task": row["task"],
                **{name: int(row[name]) for name in ("people", "samples", "k")},
                **{name: float(row[name]) for name in ("cpu_s", "peak_mb", "disk_mb")},
            }
            for row in csv.DictReader(file)
        ]


def line(size: Any, value: Any) -> tuple[float, float]:
    """A fixed part and a slope, neither negative, with the least sum of squared relative errors."""
    if not np.any(value):
        return 0.0, 0.0
    weight = 1 / np.maximum(value, 0.05 * np.max(value))
    both = np.stack([weight, size * weight], axis=1)
    candidates = [
        np.linalg.lstsq(both, value * weight, rcond=None)[0],
        np.array([0.0, float(np.sum(both[:, 1] * value * weight) / np.sum(both[:, 1] ** 2))]),
        np.array([float(np.sum(both[:, 0] * value * weight) / np.sum(both[:, 0] ** 2)), 0.0]),
    ]
    sound = [each for each in candidates if (each >= 0).all()]
    best = min(sound, key=lambda each: float(np.sum((both @ each - value * weight) ** 2)))
    return float(best[0]), float(best[1])


def fit(found: list[Row]) -> Growth:
    """The row of COSTS that the runs of a task make."""
    people, samples, k, cpu_s, peak_mb, disk_mb = (
        np.array([row[name] for row in found], dtype=float)
        for name in ("people", "samples", "k", "cpu_s", "peak_mb", "disk_mb")
    )
    tried: list[tuple[float, float, Growth]] = []
    memory, disk = line(samples / 1e6, peak_mb), line(samples / 1e6, disk_mb)
    for by_people in EXPONENTS:
        for by_k in EXPONENTS if len(set(k)) > 1 else (0.0,):
            grown = samples / 1e6 * (people / 1000) ** by_people * (k - 1) ** by_k
            fixed_s, slope = line(grown, cpu_s)
            off = float(
                np.sum(np.log(np.maximum(fixed_s + slope * grown, 0.01) / np.maximum(cpu_s, 0.01)) ** 2)
            )
            row = Growth(
                fixed_s=round(fixed_s, 2), s_per_million=round(slope, 2),
                by_people=round(float(by_people), 2), by_k=round(float(by_k), 2),
                fixed_mb=round(memory[0]), mb_per_million=round(memory[1]),
                disk_mb=round(disk[0], 2), disk_mb_per_million=round(disk[1], 2),
            )  # fmt: skip
            tried.append((off, by_people + by_k, row))
    least = min(off for off, _, _ in tried)
    return min((each for each in tried if each[0] <= NEARLY * least), key=lambda each: each[1])[2]


def fitted() -> dict[str, Growth]:
    """The rows of COSTS, from the sizes that are to be fitted."""
    found = [row for row in read_table() if row["kind"] == "fitted"]
    tasks = dict.fromkeys(row["task"] for row in found)
    return {task: fit([row for row in found if row["task"] == task]) for task in tasks}


def check() -> list[str]:
    """Predicted beside measured for sizes that the fit has not seen, as a table in Markdown."""
    from shoal.publishing.costs import COSTS

    lines = [
        "| task | people | samples | k | CPU s, predicted | measured | MB, predicted | measured |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in read_table():
        if row["kind"] == "unseen" and not row["task"].startswith("200 tries"):
            growth = COSTS[row["task"]]
            cpu_s = growth.cpu_s(row["people"], row["samples"], row["k"])
            memory = (
                f"{growth.memory_mb(row['samples']):.0f} | {row['peak_mb']:.0f}" if row["peak_mb"] else " | "
            )
            lines.append(
                f"| {row['task']} | {row['people']:,} | {row['samples']:,} | {row['k']} | {cpu_s:.1f} | "
                f"{row['cpu_s']:.1f} | {memory} |"
            )
    return lines


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("what", choices=("measure", "fit", "check"))
    what = options.parse_args().what
    if what == "measure":
        measure()
    else:
        rows_shown = (
            check() if what == "check" else [f'    "{name}": {row},' for name, row in fitted().items()]
        )
        print("\n".join(rows_shown))


if __name__ == "__main__":
    main()
