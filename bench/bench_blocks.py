"""What blocks cost: accuracy lost, seconds of a block, overhead of an engine, and time on more cores.

    python bench/bench_blocks.py [--subjects 20000] [--sizes 20000 10000 5000 2500] [--k 2] [--output FOLDER]

All tasks run one after another in this process, so that the CPU seconds of each are its own: reading all but
the first piece of the input, sorting, blocks, the table, nearest others and the check. The rest is what the
process around them does: for everybody in turn (driver), or of a fixed size (the first piece of the input,
the end of the k-gaps, the page). Prints a table; with --output it also writes blocks.json and a plot,
blocks.html.
"""

import argparse
import json
import operator
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import shoal
from shoal.io import read_tables
from shoal.io.disk import spilling, storing
from shoal.model.intake import Reading
from shoal.publishing import block_facts, block_records, in_blocks
from shoal.publishing.in_blocks import InBlocks
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.timings import Timings
from shoal.scale.engines import engine_of
from shoal.synthetic import write_synthetic
from shoal.verification.files import streamed
from shoal.verification.leaks import spread_digests

Part = TypeVar("Part")
Result = TypeVar("Result")

CORES = (2, 16, 64, 256)
FIRST = "read_piece"  # of the input, which the process around the tasks reads
GAPS = "find_nearest"
TASKS = (
    (read_tables, FIRST),
    (spilling, "run_task"),
    (storing, "sort_buckets"),
    (in_blocks, "store_block"),
    (block_records, "extents_of_blocks"),
    (block_records, "write_part"),
    (block_facts, GAPS),
    (streamed, "spread_groups"),
    (streamed, "examine_bucket"),
    (spread_digests, "compare_part"),
)
EVERYBODY = ("reading", "method", "writing", "who vanished", "check of the files", "everything else")


class OneByOne:
    """An engine that runs one task after another and measures each."""

    def __init__(self) -> None:
        self.cpu_s: dict[str, list[float]] = defaultdict(list)  # of each task, by the name of its function

    def counted(self, fn: Callable[..., Result]) -> Callable[..., Result]:
        """The function, measured whoever calls it: a task that is alone goes to no engine."""

        def work(*parts: Any) -> Result:
            began = time.process_time()
            result = fn(*parts)
            self.cpu_s[fn.__name__].append(time.process_time() - began)
            return result

        return work

    def map(self, fn: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        return map(fn, parts)


def overhead(name: str, tasks: int = 200) -> dict[str, float]:
    """Seconds until the first of some empty tasks is done, and for each one after it."""
    began = time.perf_counter()
    results = engine_of(name).map(operator.neg, range(tasks))
    next(results)
    first = time.perf_counter() - began
    for _ in results:
        pass
    return {"start_s": first, "task_s": (time.perf_counter() - began - first) / (tasks - 1)}


def measured(source: Path, folder: Path, size: int, k: int) -> dict[str, Any]:
    engine, timings = OneByOne(), Timings()
    with ExitStack() as patched:
        for room, task in TASKS:
            patched.enter_context(patch.object(room, task, engine.counted(getattr(room, task))))
        published = shoal.publish(
            InBlocks(source=source, reading=Reading(), size=size, engine=engine),
            shoal.Glove(k=k),
            folder / f"release-{size}",
            rng=Randomness.for_research(1),
            run=Run(timings=timings),
        )
    stages = {cost.stage: cost.cpu_s for cost in timings.costs()}
    blocks = engine.cpu_s.pop("store_block")
    first = sum(engine.cpu_s.pop(FIRST))
    tasks = {name: sum(each) for name, each in engine.cpu_s.items()}
    driver = sum(stages[name] for name in EVERYBODY if name in stages)
    driver -= sum(blocks) + sum(tasks.values()) - tasks.get(GAPS, 0.0) + first
    assert published.accuracy is not None
    raw, boxes = published.accuracy.raw, published.accuracy.published
    return {
        "size": size,
        "blocks": len(published.block_sizes),
        "people_in_block": max(published.block_sizes),
        "mean_space_m": raw.mean_space_m,
        "mean_time_s": raw.mean_time_s,
        "published_mean_space_m": boxes.mean_space_m,
        "published_mean_time_s": boxes.mean_time_s,
        "block_cpu_s": sum(blocks) / len(blocks),
        "stages_cpu_s": stages,
        "tasks_cpu_s": tasks,
        "n_tasks": {name: len(each) for name, each in engine.cpu_s.items()},
        "driver_cpu_s": driver,
        "first_piece_cpu_s": first,
        "fixed_cpu_s": sum(stages.values()) - sum(blocks) - sum(tasks.values()) - driver,
        "release_sha256": published.manifest.release_sha256,
    }


def projected(row: dict[str, Any], subjects: int, engine: dict[str, float]) -> dict[int, float]:
    """Seconds for a million people on so many cores, the driver's own work in sequence."""
    more, blocks = 1_000_000 / subjects, -(-1_000_000 // row["size"])
    alone = row["driver_cpu_s"] * more + row["fixed_cpu_s"]
    spread = sum(row["tasks_cpu_s"].values()) * more
    return {
        cores: engine["start_s"]
        + -(-blocks // cores) * row["block_cpu_s"]
        + blocks * engine["task_s"]
        + spread / cores
        + alone
        for cores in CORES
    }


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    import plotly.graph_objects as go

    sizes = [row["size"] for row in rows]
    figure = go.Figure()
    for name, title in (
        ("mean_space_m", "place"),
        ("mean_time_s", "time"),
        ("block_cpu_s", "CPU seconds a block"),
    ):
        figure.add_scatter(
            x=sizes, y=[row[name] / rows[0][name] for row in rows], name=title, mode="lines+markers"
        )
    figure.update_layout(
        xaxis={"title": "people in a block", "type": "log"}, yaxis={"title": f"relative to {sizes[0]:,}"}
    )
    figure.write_html(path, include_plotlyjs=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=20_000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="nation")
    options.add_argument("--sizes", type=int, nargs="+", default=[20_000, 10_000, 5000, 2500])
    options.add_argument("--engines", nargs="*", default=["local", "dask"])
    options.add_argument("--k", type=int, default=2)
    options.add_argument("--output", type=Path)
    asked = options.parse_args()

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_synthetic(folder / "warm.parquet", 300, 2, 1, layout=asked.layout, run=Run())
        measured(folder / "warm.parquet", folder, 150, asked.k)  # compiles
        source = folder / "people.parquet"
        write_synthetic(source, asked.subjects, asked.days, 1, layout=asked.layout, run=Run())
        rows = []
        for size in asked.sizes:
            rows.append(row := measured(source, folder, size, asked.k))
            print(
                f"{row['people_in_block']:>6,} in a block: {row['mean_space_m'] / 1000:.2f} km, "
                f"{row['mean_time_s'] / 60:.1f} min of raw, "
                f"{row['published_mean_space_m'] / 1000:.2f} km, {row['published_mean_time_s'] / 60:.1f} "
                "min of published samples; "
                f"a block {row['block_cpu_s']:.1f} CPU s; "
                f"around: tasks {sum(row['tasks_cpu_s'].values()):.1f}, "
                f"first piece {row['first_piece_cpu_s']:.1f}, gaps and page "
                f"{row['fixed_cpu_s'] - row['first_piece_cpu_s']:.1f}, "
                f"driver {row['driver_cpu_s']:.1f} CPU s",
                flush=True,
            )
            for name in ("stages_cpu_s", "tasks_cpu_s", "n_tasks", "release_sha256"):
                print(f"  {name}: {row[name]}", flush=True)
    engines = {name: overhead(name) for name in asked.engines}
    for name, cost in engines.items():
        print(
            f"engine {name}: {cost['start_s']:.2f} s to the first result, {1000 * cost['task_s']:.2f} ms a "
            "task"
        )
        for row in rows:
            times = ", ".join(
                f"{cores} cores {seconds / 60:.1f} min"
                for cores, seconds in projected(row, asked.subjects, cost).items()
            )
            print(f"  a million people in blocks of {row['size']:,}, projected: {times}")
    unit = 1 if sys.platform == "darwin" else 1024
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30:.2f} GiB")
    if asked.output:
        asked.output.mkdir(parents=True, exist_ok=True)
        (asked.output / "blocks.json").write_text(
            json.dumps({"asked": vars(asked), "rows": rows, "engines": engines}, indent=2, default=str)
        )
        plot(rows, asked.output / "blocks.html")


if __name__ == "__main__":
    main()
