"""How long, and in how much memory, a large Parquet file becomes arrays.

    python bench/bench_read.py [--rows N]

Makes calls around one city over 14 days, 100 rows a subject in random order, with text ids, epoch seconds and
degrees. Reads them in a fresh process with the default grid, so that the peak is that of reading alone.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START_S = 1_717_200_000


def write(path: Path, rows: int, order: str) -> None:
    """The file, a million rows at a time."""
    rng = np.random.default_rng(7)
    subjects = max(rows // 100, 1)
    names = pa.array([f"phone-{number:07d}" for number in rng.permutation(subjects)])
    schema = pa.schema(
        [("user_id", pa.string()), ("t", pa.int64()), ("lat", pa.float64()), ("lon", pa.float64())]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, 1_000_000):
            n = min(1_000_000, rows - begin)
            who = (
                rng.integers(0, subjects, n)
                if order == "random"
                else np.arange(begin, begin + n) // 100 % subjects
            )
            columns = [
                names.take(pa.array(who)),
                pa.array(START_S + rng.integers(0, 14 * 86_400, n)),
                pa.array(48.85 + rng.normal(0, 0.15, n)),
                pa.array(2.35 + rng.normal(0, 0.2, n)),
            ]
            writer.write_table(pa.table(columns, schema=schema))


def read_and_print(path: str) -> None:
    """Runs in the fresh process."""
    import shoal.io

    begin = time.perf_counter()
    trajectories = shoal.io.read(path)
    seconds = time.perf_counter() - begin
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
    print(
        f"{trajectories.intake.rows_read:,} rows -> {trajectories.n_subjects:,} subjects, "
        f"{trajectories.n_samples:,} samples in {seconds:.1f} s, peak {peak:.2f} GiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--order", choices=["random", "by-person"], default="random")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        read_and_print(given.read)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.parquet"
        write(path, given.rows, given.order)
        print(f"file: {path.stat().st_size / 2**20:,.0f} MiB", flush=True)
        subprocess.run([sys.executable, __file__, "--read", str(path)], check=True)


if __name__ == "__main__":
    main()
