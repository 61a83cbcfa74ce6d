"""From nothing to verified releases of very many people, each step as the command that a user would run.

    python bench/bench_million.py --subjects 1000000 [--k 2 5 10] [--blocks 20000] [--layout nation]
        [--engine local] [--folder FOLDER] [--output FOLDER]

A million people over 14 days are 250 million samples. They need about 30 GB of disk in FOLDER, which is
removed at the end unless you name it. The default is smaller. Each k is published, then each is verified once
more, as its receiver would. Prints the time and memory of each step and the accuracy of each release; with
--output it also writes million.json, with the stages of each publication, anew after each step.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def step(name: str, *arguments: str) -> tuple[dict[str, float | str], str]:
    """Run one shoal command; peak memory is that of the largest process so far, its workers included."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "shoal", *arguments], check=True, stdout=subprocess.PIPE)
    after, unit = resource.getrusage(resource.RUSAGE_CHILDREN), 1 if sys.platform == "darwin" else 1024
    row: dict[str, float | str] = {
        "step": name,
        "wall_s": time.perf_counter() - began,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_gib": after.ru_maxrss * unit / 2**30,
    }
    print(
        f"{name:>20}: {row['wall_s']:.0f} s, {row['cpu_s']:.0f} CPU s, largest process so far "
        f"{row['peak_gib']:.2f} GiB",
        flush=True,
    )
    return row, done.stdout.decode()


def told(accuracy: dict[str, dict[str, float]]) -> dict[str, float]:
    """Of the accuracy that `shoal anonymize --json` tells: for raw samples, in metres, seconds and shares."""
    kept = {name: values["raw_samples"] for name, values in accuracy.items()}
    print(
        f"{'':>20}  mean {kept['mean-space'] / 1000:.2f} km, {kept['mean-time'] / 60:.0f} min; median "
        f"{kept['median-space'] / 1000:.1f} km, {kept['median-time'] / 60:.0f} min; within 2 km "
        f"{kept['within-2km']:.1%}, within 2 h {kept['within-2h']:.1%}",
        flush=True,
    )
    return kept


def files(folder: Path, k: int) -> tuple[str, ...]:
    """Where the release of one k and its linkage go, as options."""
    return "--output", str(folder / f"release-{k}"), "--linkage", str(folder / f"linkage-{k}.parquet")


def write(rows: list[dict[str, object]], asked: argparse.Namespace) -> None:
    """What is known so far, into million.json where a folder was asked for."""
    if asked.output:
        asked.output.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"asked": vars(asked), "steps": rows}, indent=2, default=str)
        (asked.output / "million.json").write_text(text)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=20_000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", default="nation")
    options.add_argument("--k", type=int, nargs="+", default=[2])
    options.add_argument("--blocks", type=int, default=20_000)
    options.add_argument("--engine", default="local")
    options.add_argument("--folder", type=Path)
    options.add_argument("--output", type=Path)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        source = str(folder / "people.parquet")
        people = f"--subjects {asked.subjects} --days {asked.days} --layout {asked.layout}"
        rows: list[dict[str, object]] = [{**step("generate", "synthesize", source, *people.split())[0]}]
        for k in asked.k:
            how = f"--k {k} --blocks {asked.blocks} --engine {asked.engine} --timings --json --quiet"
            row, answer = step(f"anonymize, k = {k}", "anonymize", source, *how.split(), *files(folder, k))
            found = json.loads(answer)
            rows.append({**row, "accuracy": told(found["accuracy"]), "stages": found["timings"]})
            write(rows, asked)
        for k in asked.k:
            _, release, *linkage = files(folder, k)
            words = ("verify", source, release, *linkage, "--streamed", "--quiet")
            rows.append({**step(f"verify, k = {k}", *words)[0]})
            write(rows, asked)


if __name__ == "__main__":
    main()
