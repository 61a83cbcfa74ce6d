"""What the long commands cost, for `--plan`: measured, fitted, and held against other sizes.

    python bench/measure_costs.py measure [--minutes N]   # what bench/costs.csv lacks
    python bench/measure_costs.py memory [--minutes N]    # memory and disk once more, beside any other work
    python bench/measure_costs.py fit                     # writes the rows of src/shoal/publishing/costs.py
    python bench/measure_costs.py check                   # writes docs/plan-accuracy.md, of other sizes

Each run is `shoal ...` as a user has it, in a process of its own, on synthetic people, with kernels compiled
by a small run before. CPU seconds are of the process; memory is its peak; disk is what it wrote. After N
minutes no run begins. `measure` goes on where it ended. `memory` begins anew, with `assess` and GLOVE, keeps
CPU seconds as they are, and leaves those of a new size (nan) to `measure`. To begin anew, remove the CSV.
"""

import argparse
import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from shoal.methods import METHODS
from shoal.publishing import costs
from shoal.publishing.block_facts import people_for_k_gaps
from shoal.publishing.costs import COSTS, USUAL_EACH, Growth
from shoal.publishing.planning import AROUND, BLOCKS, GAPS, WORKER

TABLE: Final = Path(__file__).with_name("costs.csv")
PAGE: Final = Path(__file__).parents[1] / "docs" / "plan-accuracy.md"
NAMES: Final = (
    "kind", "what", "task", "layout", "people", "samples", "k", "block", "cpu_s", "peak_mb", "disk_mb",
)  # fmt: skip
UNKNOWN: Final = ("reach-locations", "static")  # what they take depends on streets, and on their grid
EVERY: Final = tuple(method for method in METHODS if method not in UNKNOWN)
ASSESS: Final = "assess"
STARTED: Final = 6000  # people at most in the runs that tell what a further worker costs
LOOK_S: Final = 0.05  # between two looks at what a publication in blocks keeps on disk
TRIES: Final = (100, 1000)
EXPONENTS: Final = np.arange(0, 1.01, 0.05)
ROOM: Final = 1.03  # peaks of the same run differ by up to 3 %
FEWER: Final = 3.0  # times as many samples of a person that tell what few of them cost
NEARLY: Final = 1.1  # a smaller exponent is taken when its error is at most this much larger
Row = dict[str, Any]
NOT_YET: Final[Row] = {"cpu_s": math.nan}


class Job(NamedTuple):
    """A method, ASSESS or BLOCKS on people; what comes after a release goes with GLOVE at k = 2.

    block: the most people in a block, 0 where all are worked on at once.
    """

    what: str
    kind: str
    people: int
    days: int = 14
    layout: str = "city"
    k: int = 2
    block: int = 0


JOBS: Final = (
    *(Job(ASSESS, "fitted", people) for people in (250, 500, 1000, 3000, 8000)),
    *(Job(ASSESS, "fitted", people, 7) for people in (2100, 4000)),  # draws people from 2,001 on
    *(Job("glove", "fitted", people) for people in (3000, 8000, 12_000)),
    *(
        Job("glove", "fitted", people, days, k=5)
        for people, days in ((8100, 14), (3100, 3), (9100, 3), (14_100, 3))
    ),
    *(Job("glove", "fitted", *size) for size in ((3200, 3), (9200, 3))),
    *(Job("glove", "unseen", people, days, k=5) for people, days in ((6100, 5), (18_100, 2))),
    Job("w4m", "fitted", 3000),
    *(
        Job(what, "unseen", *size)
        for size in ((350, 28), (700, 7), (1400, 7))
        for what in (ASSESS, "glove", "kte-hide", "w4m")
    ),
    Job("glove", "unseen", 5000, 14, "nation"),
    Job("glove", "unseen", 20_000, 14),
    *(
        Job(BLOCKS, "fitted", people, layout="nation", k=k, block=block)
        for people, block in (
            (2000, 500),
            (2000, 1000),
            (4000, 1000),
            (4000, 2000),
            (6000, 2000),
            (10_000, 2500),
            (10_000, 5000),
        )
        for k in (2, 5)
    ),
    *(
        Job(BLOCKS, "fitted", people, 3, k=k, block=block)
        for people, block in ((3300, 1100), (9300, 3100), (20_300, 10_150))
        for k in (2, 5)
    ),
    *(Job(BLOCKS, "unseen", 16_200, days, k=5, block=block) for days, block in ((2, 8100), (5, 5400))),
    *(
        Job(BLOCKS, "unseen", people, layout=layout, k=k, block=block)
        for people, block, layout, k in (
            (3000, 750, "nation", 2),
            (8000, 2500, "nation", 2),
            (10_000, 1000, "nation", 2),
            (10_000, 2500, "city", 2),
            (20_000, 5000, "nation", 2),
            (20_000, 5000, "nation", 5),
            (20_000, 10_000, "nation", 2),
            (6000, 1500, "nation", 10),
        )
    ),
    *(
        Job(method, "fitted", people, k=k)
        for method in sorted(EVERY, key="kte-hide".__eq__)
        for people in (250, 500, 1000)
        for k in (2, 5)
    ),
)


class Refused(Exception):  # noqa: N818 (no error: some methods leave nobody of few people)
    """A command that made no release of so few people."""


def timed(
    words: list[str], folder: Path, meanwhile: Callable[[], None] = lambda: None
) -> tuple[float, float, dict[str, Any]]:
    """CPU seconds and peak memory in MB of a command, and the document that it prints."""
    told = folder / "told.json"
    with told.open("wb") as out:
        child = subprocess.Popen([sys.executable, "-m", "shoal", *words, "--json", "--quiet"], stdout=out)
        meanwhile()
        _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise Refused(" ".join(words[:1] + words[2:6]))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, json.loads(told.read_text())


def anonymized(method: str, city: Path, folder: Path, k: int) -> dict[str, tuple[float, float, float]]:
    """The whole of a publication but its attacks, and those alone."""
    given = ["--method", method, "--k", str(k)]
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


def in_blocks(city: Path, folder: Path, job: Job) -> dict[str, tuple[float, float, float]]:
    """A publication in blocks without its attacks, all tasks in one process; and a further worker's start."""
    given = ["--k", str(job.k), "--blocks", str(job.block), "--research-seed", "1", "--timings"]

    def published(engine: str) -> tuple[float, dict[str, float], float]:
        release = folder / f"release-{engine.replace(':', '-')}"
        on_disk, ended = 0.0, threading.Event()

        def look() -> None:
            nonlocal on_disk
            while not ended.wait(LOOK_S):
                on_disk = max(on_disk, sum(map(size_of, folder.glob(f"*{release.name}*/**/*"))) / 1e6)

        watching = threading.Thread(target=look)
        words = ["anonymize", str(city), "--output", str(release), "--engine", engine, *given]
        try:
            cpu_s, _, told = timed(words, folder, watching.start)
        finally:
            ended.set()
            watching.join()
        return cpu_s, {each["stage"]: each["cpu_s"] for each in told["timings"]}, on_disk

    cpu_s, stages, disk = published("threads")
    apart = {BLOCKS: stages["method"], GAPS: stages["k-gaps"]}
    rest = cpu_s - sum(apart.values()) - stages["attacks"]
    found = {task: (spent, 0.0, 0.0) for task, spent in apart.items()} | {AROUND: (rest, 0.0, disk)}
    if job.kind == "fitted" and job.k == 2 and job.people <= STARTED:
        one, two = (published(f"local:{workers}")[0] for workers in (1, 2))
        found[WORKER] = (two - one, 0.0, 0.0)
    return found


def size_of(path: Path) -> int:
    """Bytes of a file, 0 of what is no more there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def assessed(city: Path, folder: Path, people: int) -> dict[str, tuple[float, float, float]]:
    page = folder / "page.html"
    cpu_s, peak, _ = timed(["assess", str(city), "--k", "2", "--output", str(page)], folder)
    drawn = "of drawn people" if people > 2000 else "of everybody"
    return {f"assess {drawn}": (cpu_s, peak, page.stat().st_size / 1e6)}


def runs(job: Job) -> Iterator[Row]:
    """The tasks of a job."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        city = folder / "city.parquet"
        given = ["--subjects", str(job.people), "--days", str(job.days), "--layout", job.layout]
        samples = timed(["synthesize", str(city), *given], folder)[2]["rows"]
        if job.what == ASSESS:
            found = assessed(city, folder, job.people)
        elif job.what == BLOCKS:
            found = in_blocks(city, folder, job)
        else:
            found = anonymized(job.what, city, folder, job.k)
        if job.what == "glove" and job.k == 2:
            found |= judged(city, folder, job.people)
        for task, (cpu_s, peak_mb, disk_mb) in found.items():
            row = {"task": task, "samples": samples, "cpu_s": round(cpu_s, 2), "peak_mb": round(peak_mb, 0)}
            row |= {name: value for name, value in job._asdict().items() if name != "days"}
            if task == WORKER:  # which starts alike for any data
                row["samples"] = 0
            yield {**row, "disk_mb": round(disk_mb, 2)}


def measure(minutes: float, *, again: bool) -> None:
    """What the CSV does not have yet, job by job; again: what it has, too, but for CPU seconds."""
    until = time.monotonic() + 60 * minutes
    table = {_key(row): row for row in read_table()} if TABLE.exists() else {}
    known = {key[:-1] for key, row in table.items() if not math.isnan(row["cpu_s"])}
    waiting = [job for job in JOBS if again or _key({**job._asdict(), "task": ""})[:-1] not in known]
    for method in {job.what for job in waiting} - {ASSESS, BLOCKS}:
        with suppress(Refused):
            list(runs(Job(method, "warm", 60, 2)))
    for job in waiting:
        if time.monotonic() > until:
            print(f"{minutes:g} minutes are over before {job}")
            break
        try:
            found = {_key(row): row for row in runs(job)}
        except Refused as refused:
            print(f"no release: {refused}", flush=True)
            continue
        for key, row in found.items():
            row["cpu_s"] = table.get(key, NOT_YET)["cpu_s"] if again else row["cpu_s"]
        table |= found
        with TABLE.open("w", newline="") as file:
            rows = csv.DictWriter(file, NAMES, lineterminator="\n")
            rows.writeheader()
            rows.writerows(table.values())
        print(f"measured: {job}", flush=True)


def _key(row: Row) -> tuple[str | int, ...]:
    return tuple(row[name] for name in ("what", "kind", "layout", "people", "k", "block", "task"))


def read_table() -> list[Row]:
    """The rows of the CSV, numbers as numbers."""
    with TABLE.open(newline="") as file:
        return [
            {
                **{name: row[name] for name in ("kind", "what", "task", "layout")},
                **{name: int(row[name]) for name in ("people", "samples", "k", "block")},
                **{name: float(row[name]) for name in ("cpu_s", "peak_mb", "disk_mb")},
            }
            for row in csv.DictReader(file)
        ]


def line(size: Any, value: Any) -> tuple[float, float]:
    """A fixed part and a slope, neither negative, with the least sum of squared relative errors."""
    if not np.any(value):
        return 0.0, 0.0
    weight = 1 / np.maximum(value, 0.05 * np.max(value))
    if not np.any(size):  # whatever the data are
        return float(np.average(value, weights=weight**2)), 0.0
    both = np.stack([weight, size * weight], axis=1)
    candidates = [
        np.linalg.lstsq(both, value * weight, rcond=None)[0],
        np.array([0.0, float(np.sum(both[:, 1] * value * weight) / np.sum(both[:, 1] ** 2))]),
        np.array([float(np.sum(both[:, 0] * value * weight) / np.sum(both[:, 0] ** 2)), 0.0]),
    ]
    sound = [each for each in candidates if (each >= 0).all()]
    best = min(sound, key=lambda each: float(np.sum((both @ each - value * weight) ** 2)))
    return float(best[0]), float(best[1])


def line_above(size: Any, value: Any) -> tuple[float, float]:
    """A fixed part and a slope, neither negative, that no value exceeds: least squares of the excess."""
    if not np.any(value):
        return 0.0, 0.0
    pairs = [(a, b) for a, b in combinations(range(len(size)), 2) if size[a] != size[b]]
    slopes = [0.0, *((value[a] - value[b]) / (size[a] - size[b]) for a, b in pairs)]
    lines = [(float(np.max(value - slope * size)), float(slope)) for slope in slopes if slope >= 0]
    sound = [each for each in lines if each[0] >= 0]
    return min(sound, key=lambda each: float(np.sum((each[0] + each[1] * size - value) ** 2)))


def together(row: Row) -> int:
    """The people that a task looks at together: all, those of a block, or those whose k-gap it says."""
    if row["task"] == GAPS:
        return len(people_for_k_gaps(row["people"], row["k"], row["block"]))
    return int(row["block"] if row["task"] == BLOCKS else row["people"])


def fit(found: list[Row]) -> Growth:
    """The row of COSTS that the runs of a task make."""
    samples, k, cpu_s, peak_mb, disk_mb = (
        np.array([row[name] for row in found], dtype=float)
        for name in ("samples", "k", "cpu_s", "peak_mb", "disk_mb")
    )
    people = np.array([together(row) for row in found], dtype=float)
    tried: list[tuple[float, float, Growth]] = []
    memory, disk = line_above(samples / 1e6, peak_mb), line_above(samples / 1e6, disk_mb)
    timed = ~np.isnan(cpu_s)
    everyone = np.array([row["people"] for row in found])
    fewer = np.maximum(USUAL_EACH * everyone / np.maximum(samples, 1), 1.0)[timed]
    people, samples, k, cpu_s = people[timed], samples[timed], k[timed], cpu_s[timed]
    for by_people, by_k, by_fewer in product(
        EXPONENTS,
        EXPONENTS if len(set(k)) > 1 else (0.0,),
        EXPONENTS if fewer.max() > FEWER * fewer.min() else (0.0,),
    ):
        grown = samples / 1e6 * (people / 1000) ** by_people * (k - 1) ** by_k * fewer**by_fewer
        fixed_s, slope = line(grown, cpu_s)
        off = float(np.sum(np.log(np.maximum(fixed_s + slope * grown, 0.01) / np.maximum(cpu_s, 0.01)) ** 2))
        row = Growth(
            fixed_s=round(fixed_s, 2), s_per_million=round(slope, 2),
            by_people=round(float(by_people), 2), by_k=round(float(by_k), 2),
            by_fewer=round(float(by_fewer), 2),
            fixed_mb=math.ceil(ROOM * memory[0]), mb_per_million=math.ceil(ROOM * memory[1]),
            disk_mb=round(ROOM * disk[0], 2), disk_mb_per_million=round(ROOM * disk[1], 2),
        )  # fmt: skip
        tried.append((off, by_people + by_k + by_fewer, row))
    least = min(off for off, _, _ in tried)
    return min((each for each in tried if each[0] <= NEARLY * least), key=lambda each: each[1])[2]


def fitted() -> dict[str, Growth]:
    """The rows of COSTS, from the sizes that are to be fitted."""
    found = [row for row in read_table() if row["kind"] == "fitted"]
    tasks = dict.fromkeys(row["task"] for row in found)
    return {task: fit([row for row in found if row["task"] == task]) for task in tasks}


def check() -> list[str]:
    """Predicted beside measured for sizes that the fit has not seen, as a table in Markdown."""
    lines = [
        "| task | of a | people | samples | k | blocks of | CPU s, predicted | measured "
        "| MB, predicted | measured |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in read_table():
        if row["kind"] == "unseen" and not row["task"].startswith("200 tries"):
            growth = COSTS[row["task"]]
            each = max(row["samples"] / row["people"], 1.0)
            cpu_s = growth.cpu_s(together(row), row["samples"], row["k"], each)
            spent = "not yet" if math.isnan(row["cpu_s"]) else f"{row['cpu_s']:.1f}"
            memory = (
                f"{growth.memory_mb(row['samples']):.0f} | {row['peak_mb']:.0f}" if row["peak_mb"] else " | "
            )
            block = f"{row['block']:,}" if row["block"] else "-"
            size = f"{row['layout']} | {row['people']:,} | {row['samples']:,} | {row['k']} | {block}"
            lines.append(f"| {row['task']} | {size} | {cpu_s:.1f} | {spent} | {memory} |")
    return lines


def page() -> str:
    """The page that holds the table of `check`."""
    words = """# Predicted and measured costs

`python bench/measure_costs.py check` writes this page from `bench/costs.csv`: predictions of `--plan` for
sizes that no constant was fitted to, and the measured costs. [Performance](performance.md#plans) sums it up.

Synthetic people over 14 days, and over 2 to 5 where samples are few; one run each, with nothing else
running. Rows on blocks come from one process that runs all tasks (`--engine threads`). MB is peak memory.
When a cost changes, run `measure`, then `fit`, then `check`.

"""
    return words + "\n".join(check()) + "\n"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("what", choices=("measure", "memory", "fit", "check"))
    options.add_argument("--minutes", type=float, default=math.inf)
    asked = options.parse_args()
    if asked.what in ("measure", "memory"):
        measure(asked.minutes, again=asked.what == "memory")
    elif asked.what == "check":
        PAGE.write_text(page())
    else:
        module = Path(costs.__file__)
        head, begin, rest = module.read_text().partition("] = {\n")
        end, tail = rest.partition("\n}\n")[1:]
        rows = ",\n".join(
            f'"{name}": {re.sub(r", [a-z_]+=0(?:[.]0)?(?=[,)])", "", str(row))}'
            for name, row in fitted().items()
        )
        module.write_text(head + begin + rows + end + tail)
        subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", module], check=True)


if __name__ == "__main__":
    main()
