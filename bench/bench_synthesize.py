"""How fast synthetic people are made and written, and in how much memory.

    python bench/bench_synthesize.py [--subjects 5000 --subjects 82000] [--days 14] [--layout city]
        [--threads 2]

Each size runs in its own process, so that the peak memory is its own.
"""

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

from shoal.runtime.run import Run
from shoal.synthetic import Layout, write_synthetic
from shoal.synthetic.stations import LAYOUTS


def report(subjects: int, days: int, layout: Layout, run: Run) -> None:
    """Write one file, print seconds, rows a second and the peak of resident memory."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "people.parquet"
        started = time.perf_counter()
        counts = write_synthetic(target, subjects, days, 1, layout=layout, run=run)
        seconds = time.perf_counter() - started
        size_mb = target.stat().st_size / 1e6
    per_unit = 1 if sys.platform == "darwin" else 1024
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * per_unit / 1e6
    print(
        f"{layout}: {subjects:,} people x {days} days, {run.threads} threads: {seconds:.1f} s, "
        f"{counts.rows:,} rows, "
        f"{counts.rows / seconds / 1e6:.2f} M rows/s, file {size_mb:,.0f} MB, peak memory {peak_mb:,.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subjects", type=int, action="append")
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--layout", choices=LAYOUTS, default="city")
    parser.add_argument("--threads", type=int, default=Run().threads)
    given = parser.parse_args()
    for subjects in given.subjects or [5_000, 82_000]:
        process = multiprocessing.get_context("spawn").Process(
            target=report, args=(subjects, given.days, given.layout, Run(threads=given.threads))
        )
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)


if __name__ == "__main__":
    main()
