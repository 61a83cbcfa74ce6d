"""From nothing to a verified release of very many people, each step as the command that a user would run.

    python bench/bench_million.py --subjects 1000000 [--blocks 20000] [--engine local] [--folder FOLDER]

A million people over 14 days are 250 million samples. They need about 30 GB of disk in FOLDER, which is
removed at the end unless you name it, and hours on a slow machine; the default is smaller. Prints a table
with the time and memory of each step; with --output it also writes million.json.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def step(name: str, *arguments: str) -> dict[str, float | str]:
    """Run one shoal command; peak memory is that of the largest process so far, its workers included."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "shoal", *arguments], check=True, stdout=subprocess.DEVNULL)
    after, unit = resource.getrusage(resource.RUSAGE_CHILDREN), 1 if sys.platform == "darwin" else 1024
    row: dict[str, float | str] = {
        "step": name,
        "wall_s": time.perf_counter() - began,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_gib": after.ru_maxrss * unit / 2**30,
    }
    print(
        f"{name:>12}: {row['wall_s']:.0f} s, {row['cpu_s']:.0f} CPU s, largest process so far "
        f"{row['peak_gib']:.2f} GiB",
        flush=True,
    )
    return row


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=20_000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--blocks", type=int, default=20_000)
    options.add_argument("--engine", default="local")
    options.add_argument("--folder", type=Path)
    options.add_argument("--output", type=Path)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        source, release, linkage = (
            str(folder / name) for name in ("people.parquet", "release", "linkage.parquet")
        )
        rows = [
            step(
                "generate",
                "synthesize",
                source,
                "--subjects",
                str(asked.subjects),
                "--days",
                str(asked.days),
                "--layout",
                "nation",
            ),
            step(
                "anonymize",
                *(
                    "anonymize",
                    source,
                    "--blocks",
                    str(asked.blocks),
                    "--engine",
                    asked.engine,
                    "--output",
                    release,
                    "--linkage",
                    linkage,
                ),
            ),
            step("verify", "verify", source, release, "--linkage", linkage, "--streamed"),
        ]
    print(f"{'all':>12}: {sum(float(row['wall_s']) for row in rows):.0f} s")
    if asked.output:
        asked.output.mkdir(parents=True, exist_ok=True)
        (asked.output / "million.json").write_text(
            json.dumps({"asked": vars(asked), "steps": rows}, indent=2, default=str)
        )


if __name__ == "__main__":
    main()
