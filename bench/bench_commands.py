"""What each command costs as a whole process: seconds, CPU seconds and peak memory, in repeated runs.

    python bench/bench_commands.py [--minutes 15] [--runs 3] [--rows NAME ...] [--people 20000]
        [--nation 82000] [--cabs FILE] [--before CHECKOUT] [--stages 1000 5000 20000] [--output FOLDER]

The rows stand in the order of their importance. They are all run once, then all once more, and so on; a row
for which too few minutes are left, by its own longest run, is passed over. With --before each run is paired
with one of the same command from another checkout, one right after the other, because a machine's speed
changes; that one may be too old for --timings. Inputs and releases are made before, and a small run compiles
the kernels; neither is counted among the runs, but both among the minutes. With --stages, bench_stages.py
begins, with bars and growth of the stages of a publication for so many people. Prints minimum, median and
maximum beside the goal; with --output also commands.json. A peak below that of this program is not seen.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench_stages import ALONE
from shoal.synthetic import Layout, write_synthetic

ROOT = Path(__file__).resolve().parents[1]
WARM_UP = 300
DAYS = 14
STUDY = """seed = 1
[[runs]]
method = "glove"
k = 2
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One command.

    words: as on the command line, with {city}, {nation}, {cabs}, {release}, {linkage}, {study} and {new} for
    files and folders; {new} does not exist yet. goal_s: by the clock, on two cores. alone: whether the ratio
    to reading, method and writing is asked for.
    """

    name: str
    words: str
    goal_s: float
    alone: bool = False


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What one run took; alone_cpu_s: of reading, method and writing, None where it does not tell."""

    seconds: float
    cpu_s: float
    peak_mib: float
    alone_cpu_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """The runs of a row, and those of the checkout before."""

    now: list[Taken] = field(default_factory=list)
    before: list[Taken] = field(default_factory=list)


_PUBLISH = "anonymize {%s} --output {new} --research-seed 1 --timings --json --quiet --k %d"
_OF_RELEASE = "{city} {release} --linkage {linkage} --quiet"
ROWS = (
    Row(name="anonymize city, k = 2", words=_PUBLISH % ("city", 2), goal_s=25, alone=True),
    Row(name="verify", words=f"verify {_OF_RELEASE}", goal_s=5),
    Row(name="assess", words="assess {city} --output {new}.html --quiet", goal_s=12),
    Row(name="measure", words=f"measure {_OF_RELEASE}", goal_s=12),
    Row(name="attack", words=f"attack {_OF_RELEASE} --seed 1", goal_s=20),
    Row(name="help", words="--help", goal_s=0.25),
    Row(name="demo", words="demo --output {new} --quiet", goal_s=4),
    Row(name="anonymize cabs, kte-hide", words=f"{_PUBLISH % ('cabs', 2)} --method kte-hide", goal_s=10),
    Row(
        name="compare one setting", words="compare {city} --config {study} --output {new} --quiet", goal_s=60
    ),
    Row(name="anonymize nation, k = 2", words=_PUBLISH % ("nation", 2), goal_s=90, alone=True),
    Row(name="anonymize city, k = 5", words=_PUBLISH % ("city", 5), goal_s=90, alone=True),
)


def run_once(words: Sequence[str], checkout: Path, told: Path) -> Taken:
    """One run of a command from a checkout; what it prints goes to the file ``told``.

    Raises CalledProcessError when the command fails.
    """
    surroundings = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    with told.open("wb") as output:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "shoal", *words],
            stdout=output,
            stderr=subprocess.DEVNULL,
            env=surroundings,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, ["shoal", *words])
    stages = {}
    if "--timings" in words:
        stages = {stage["stage"]: stage for stage in json.loads(told.read_text())["timings"]}
    # the system forgets the peak between stages, so the largest of them counts where they are told
    peaks = [stage["peak_bytes"] or 0 for stage in stages.values()]
    return Taken(
        seconds=seconds,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_mib=max([usage.ru_maxrss * 1024, *peaks]) / 2**20,
        alone_cpu_s=sum(stages[name]["cpu_s"] for name in ALONE) if stages else None,
    )


def summary(rows: Sequence[Row], found: dict[str, Found]) -> list[str]:
    """A table for people: minimum, median and maximum of each row that was run."""
    lines = [f"{'':26} {'seconds':>23} {'goal':>6} {'CPU s':>23} {'peak MiB':>9} {'ratio':>6}"]
    for row in rows:
        for label, runs in ((row.name, found[row.name].now), ("  before", found[row.name].before)):
            if not runs:
                lines += [f"{row.name:26} {'not run':>23} {row.goal_s:>6g}"] if label == row.name else []
                continue
            alone = [one.cpu_s / one.alone_cpu_s for one in runs if row.alone and one.alone_cpu_s]
            lines.append(
                f"{label:26} {_three([one.seconds for one in runs])} {row.goal_s:>6g} "
                f"{_three([one.cpu_s for one in runs])} {max(one.peak_mib for one in runs):>9,.0f} "
                + (f"{statistics.median(alone):>5.2f}x" if alone else "")
            )
    return lines


def _three(values: Sequence[float]) -> str:
    return f"{min(values):>7.2f} {statistics.median(values):>7.2f} {max(values):>7.2f}"


def prepared(folder: Path, rows: Sequence[Row], asked: argparse.Namespace) -> dict[Path, dict[str, str]]:
    """Make what the rows name, compile the kernels by small runs; gives the files by name for each checkout.

    Each checkout has releases of its own, because an older one may not read those of a newer one.
    """
    files = {"study": str(folder / "study.toml")}
    Path(files["study"]).write_text(STUDY)
    needs = " ".join(row.words for row in rows)
    sizes: dict[Layout, int] = {"city": asked.people, "nation": asked.nation}
    for layout, people in sizes.items():
        if f"{{{layout}}}" in needs or layout == "city":
            files[layout] = str(folder / f"{layout}.parquet")
            write_synthetic(Path(files[layout]), people, DAYS, 1, layout=layout)
    if asked.cabs is not None:
        files["cabs"] = str(asked.cabs)
    small = str(folder / "small.parquet")
    write_synthetic(Path(small), WARM_UP, DAYS, 1, layout="city")
    warm = {"study": files["study"], **dict.fromkeys(("city", "nation", "cabs"), small)}
    checkouts = [ROOT] if asked.before is None else [ROOT, asked.before]
    for number, checkout in enumerate(checkouts):
        small_release = _released(warm, folder, f"small-{number}", checkout)
        for at, row in enumerate(rows):
            words = _words(row, {**warm, **small_release}, folder / f"warm-{at}-{number}", checkout)
            run_once(words, checkout, folder / "told")
    if "{release}" not in needs:
        return dict.fromkeys(checkouts, files)
    return {
        checkout: {**files, **_released(files, folder, f"large-{number}", checkout)}
        for number, checkout in enumerate(checkouts)
    }


def _released(files: dict[str, str], folder: Path, name: str, checkout: Path) -> dict[str, str]:
    """A release of the city by a checkout, and its linkage."""
    made = {"release": str(folder / name), "linkage": str(folder / f"{name}.parquet")}
    words = ["anonymize", files["city"], "--k", "2", "--research-seed", "1", "--quiet"]
    words += ["--output", made["release"], "--linkage", made["linkage"]]
    run_once(words, checkout, folder / "told")
    return made


def _words(row: Row, files: dict[str, str], new: Path, checkout: Path) -> list[str]:
    """Words of a command; an older checkout may have no stages to tell."""
    words = row.words.format(**files, new=str(new)).split()
    return words if checkout == ROOT else [word for word in words if word != "--timings"]


def measure(rows: Sequence[Row], asked: argparse.Namespace, folder: Path) -> dict[str, Found]:
    """Run the rows until the minutes are over."""
    end = time.monotonic() + 60 * asked.minutes
    if asked.stages:
        drawn = [] if asked.output is None else ["--output", str(asked.output)]
        program = [sys.executable, str(ROOT / "bench" / "bench_stages.py")]
        subprocess.run([*program, "--subjects", *map(str, asked.stages), *drawn], check=True)
    files = prepared(folder, rows, asked)
    found = {row.name: Found() for row in rows}
    for turn in range(asked.runs):
        for number, row in enumerate(rows):
            runs = found[row.name]
            longest = max((one.seconds for one in (*runs.now, *runs.before)), default=row.goal_s)
            if time.monotonic() + longest * (2 if asked.before else 1) > end:
                continue
            for label, checkout, kept in (("now", ROOT, runs.now), ("before", asked.before, runs.before)):
                if checkout is not None:
                    new = folder / f"new-{turn}-{number}-{label}"
                    words = _words(row, files[checkout], new, checkout)
                    kept.append(run_once(words, checkout, folder / "told"))
                    print(f"{row.name}, {label}: {kept[-1].seconds:.2f} s", file=sys.stderr, flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--minutes", type=float, default=15.0)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--rows", nargs="+", choices=[row.name for row in ROWS], metavar="NAME")
    options.add_argument("--people", type=int, default=20_000)
    options.add_argument("--nation", type=int, default=82_000)
    options.add_argument("--cabs", type=Path, help="a file of taxis, for kte-hide")
    options.add_argument("--before", type=Path, help="another checkout, whose runs are paired with these")
    options.add_argument("--stages", type=int, nargs="+", help="draw the stages for so many people, too")
    options.add_argument("--output", type=Path)
    asked = options.parse_args(arguments)
    rows = [
        row
        for row in ROWS
        if (asked.rows is None or row.name in asked.rows) and ("{cabs}" not in row.words or asked.cabs)
    ]
    with tempfile.TemporaryDirectory() as folder:
        found = measure(rows, asked, Path(folder))
    print("\n".join(summary(rows, found)))
    if asked.output is not None:
        asked.output.mkdir(parents=True, exist_ok=True)
        told = {name: asdict(runs) for name, runs in found.items()}
        (asked.output / "commands.json").write_text(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
