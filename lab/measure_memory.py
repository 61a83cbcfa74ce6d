"""Peak memory beside what `--memory` reckons with (PEAKS of src/shoal/scale/blocks.py).

    python lab/measure_memory.py [--subjects 500 2000 8000] [--days 14] [--k 2] [--layout nation]

Each figure is the peak of a process of its own (Linux): a block of so many people, the process around blocks
of a quarter of them as under `--memory`, which has no tasks but blocks, and everything at once.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np

import shoal
from shoal.io.disk.storing import store_people
from shoal.model.intake import Reading
from shoal.publishing.block_facts import SAMPLE_PEOPLE
from shoal.publishing.in_blocks import InBlocks
from shoal.runtime.memory import limit_idle_memory
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.scale.blocks import (
    A_BLOCK,
    ALL_AT_ONCE,
    AROUND_BLOCKS,
    BLOCKS,
    PEAKS,
    PEOPLE,
    BlockTask,
    MemoryBound,
    store_block,
)
from shoal.scale.engines import engine_of
from shoal.synthetic import write_synthetic
from shoal.units import MIB


def a_block(folder: Path, k: int) -> None:
    store_block(BlockTask(folder=str(folder / "job"), block=0, method=shoal.Glove(k=k)))


def around_blocks(folder: Path, k: int) -> None:
    size = int(np.load(folder / "job" / f"{BLOCKS}.npz")["offsets"][1]) // 4
    bound = MemoryBound(total_bytes=0, workers=1, measured_people=SAMPLE_PEOPLE)
    with patch.object(MemoryBound, "people_in_a_block", return_value=size):
        people = InBlocks(
            source=folder / "people.parquet", reading=Reading(), size=bound, engine=engine_of("local:1")
        )
        shoal.publish(people, shoal.Glove(k=k), folder / "blocks", rng=Randomness.from_system())


def all_at_once(folder: Path, k: int) -> None:
    people = shoal.read(folder / "people.parquet")
    shoal.publish(people, shoal.Glove(k=k), folder / "release", rng=Randomness.from_system())


WORK = {A_BLOCK: a_block, AROUND_BLOCKS: around_blocks, ALL_AT_ONCE: all_at_once}


def peak_of(work: str, folder: Path, k: int) -> int:
    """Bytes, in a process of its own."""
    given = [sys.executable, __file__, "--work", work, "--folder", str(folder), "--k", str(k)]
    return int(subprocess.run(given, check=True, capture_output=True, text=True).stdout.split()[-1])


def own_peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, nargs="+", default=[500, 2000, 8000])
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--k", type=int, default=2)
    options.add_argument("--layout", choices=("nation", "city"), default="nation")
    options.add_argument("--work", choices=sorted(WORK), help="one measurement; used by this script itself")
    options.add_argument("--folder", type=Path)
    asked = options.parse_args()
    if asked.work is not None:
        if asked.work != A_BLOCK:  # the command's own process; workers leave memory as it is
            limit_idle_memory()
        WORK[asked.work](asked.folder, asked.k)
        print(own_peak())
        return
    for n in asked.subjects:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            source = folder / "people.parquet"
            write_synthetic(source, n, asked.days, 1, layout=asked.layout, run=Run())
            samples = store_people(source, Reading(), folder / "job" / PEOPLE, Run()).n_samples
            np.savez(folder / "job" / f"{BLOCKS}.npz", subjects=np.arange(n), offsets=np.array([0, n]))
            for work in WORK:
                measured, reckoned = peak_of(work, folder, asked.k), PEAKS[work].of(n, samples)
                print(
                    f"{n:>7,} people, {samples:>10,} samples, {work:<17}: {measured / MIB:>6,.0f} MiB "
                    f"measured, {reckoned / MIB:>6,.0f} MiB reckoned with",
                    flush=True,
                )


if __name__ == "__main__":
    main()
