"""How long GLOVE takes, how many pairs it looks at, and what its pruning and its kernel are worth.

    python bench/bench_glove.py [--subjects 5000 20000] [--days 14] [--layout nation] [--k 2 5]
        [--matrix 1000] [--output FOLDER]

Prints seconds by the clock, CPU seconds of all threads, and the peak memory of the process so far. Makes and
reads the data and compiles the kernels first, and reports that too.

The ratios are taken in this one process, one after the other. Merging: the full matrix of literal efforts
against bands, which must merge the same pairs in the same order. Pairs: evaluated in full by NumPy, by the
literal equation and by the cost table, among people with 225 to 275 samples each.

With --output it also writes glove.json and a plot, glove.html.
"""

import argparse
import json
import math
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

import numpy as np

import shoal
from effort_matrix import EffortMatrix
from shoal.kernels.near_pairs import (
    Workspace,
    choose_columns,
    fill_cost_table,
    least_costs,
    sum_by_cost_table,
)
from shoal.kernels.people import People
from shoal.kernels.stretch import Scale
from shoal.measures.nearest_pairs import NearPairs
from shoal.measures.stretch import Caps
from shoal.methods.glove.closest_pairs import BandedPairs
from shoal.methods.glove.greedy import ClosestPairs, Merging, merge, merge_greedily
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled
from shoal.runtime.run import Run


@compiled
def literal_efforts(
    offsets: Integers, t: Integers, x: Integers, y: Integers, scale: Scale, efforts: Floats
) -> None:
    """Eq. 10 as it stands: every sample of the longer against every sample of the shorter."""
    for i in range(len(offsets) - 1):
        for j in range(i + 1, len(offsets) - 1):
            p, q = (i, j) if offsets[i + 1] - offsets[i] >= offsets[j + 1] - offsets[j] else (j, i)
            total = 0 * scale.half
            for a in range(offsets[p], offsets[p + 1]):
                best = 2 * scale.half
                for b in range(offsets[q], offsets[q + 1]):
                    space = min(scale.per_cell * (abs(x[a] - x[b]) + abs(y[a] - y[b])), scale.half)
                    best = min(best, space + min(scale.per_slot * abs(t[a] - t[b]), scale.half))
                total += best
            efforts[i, j] = total / (offsets[p + 1] - offsets[p])


def numpy_efforts(original: Trajectories, scale: Scale, pairs: int) -> None:
    """The same with one NumPy matrix per pair, as a notebook would do it."""
    done = 0
    for i in range(original.n_subjects):
        for j in range(i + 1, original.n_subjects):
            (t_a, x_a, y_a), (t_b, x_b, y_b) = original.samples_of(i), original.samples_of(j)
            space = np.abs(x_a[:, None] - x_b) + np.abs(y_a[:, None] - y_b)
            cost = np.minimum(space * scale.per_cell, scale.half) + np.minimum(
                np.abs(t_a[:, None] - t_b) * scale.per_slot, scale.half
            )
            cost.min(axis=1).sum()
            done += 1
            if done == pairs:
                return


@compiled
def every_sum(people: People, order: Integers, workspace: Workspace, scale: Scale) -> Any:
    """The total of Eq. 10 before division over all pairs, by the cost table; no bound ends or skips any."""
    places, total = people.places, np.int64(0)
    least = np.empty(len(places.costs), dtype=places.costs.dtype)
    nothing = np.zeros(people.hours.n_bins, dtype=places.costs.dtype)
    for i in range(len(order)):
        least_costs(places, order[i], least)
        for first in range(i + 1, len(order), 256):
            others = order[first : first + 256]
            choose_columns(places, others, least, workspace)
            fill_cost_table(people, order[i], least, workspace, scale)
            for a in others:
                lowest = np.int64(0)
                for own in range(places.offsets[a], places.offsets[a + 1]):
                    lowest += np.int64(places.weights[own]) * np.int64(least[places.distinct[own]])
                total += sum_by_cost_table(people, a, workspace, nothing, lowest, 1 << 60, scale)
    return total


def all_pairs(original: Trajectories) -> Callable[[], object]:
    """Work that finds every effort by the cost table."""
    near = NearPairs(original, Caps(), Run(threads=1))
    order = np.argsort(original.lengths, kind="stable")
    workspace = near.workspace(order)
    return lambda: every_sum(near.people, order, workspace, near.scale)


@contextmanager
def timed(row: dict[str, Any], name: str) -> Iterator[None]:
    """Add seconds by the clock and CPU seconds to a row."""
    began, spent = time.perf_counter(), time.process_time()
    yield
    row[f"{name}_s"], row[f"{name}_cpu_s"] = time.perf_counter() - began, time.process_time() - spent


def cpu_s_of(work: Callable[[], object]) -> float:
    row: dict[str, Any] = {}
    with timed(row, "work"):
        work()
    return float(row["work_cpu_s"])


def pairs_a_second(original: Trajectories) -> dict[str, float]:
    """Pairs evaluated in full per CPU second."""
    few = original.keep(np.flatnonzero(np.abs(original.lengths - 250) <= 25)[:600])
    n, n_some, scale = few.n_subjects, min(60, few.n_subjects), Caps().scale_on(original.snapped_grid())
    tiny, some, out = few.keep(np.arange(min(12, n))), few.keep(np.arange(n_some)), np.zeros((n_some, n_some))
    numpy_pairs = min(200, n_some * (n_some - 1) // 2)
    compile_s = cpu_s_of(all_pairs(tiny))
    literal_efforts(tiny.offsets, tiny.t, tiny.x, tiny.y, scale, out)
    return {
        "compile_s": compile_s,
        "people": few.n_subjects,
        "samples_each": few.n_samples / few.n_subjects,
        "numpy": numpy_pairs / cpu_s_of(lambda: numpy_efforts(few, scale, numpy_pairs)),
        "literal": n_some
        * (n_some - 1)
        // 2
        / cpu_s_of(lambda: literal_efforts(some.offsets, some.t, some.x, some.y, scale, out)),
        "cost_table": n * (n - 1) // 2 / cpu_s_of(all_pairs(few)),
    }


def against_matrix(original: Trajectories, k: int) -> dict[str, Any]:
    """Merging by the full matrix and by bands, on one thread, which must merge alike."""
    caps, row, outcomes = Caps(), {"people": original.n_subjects, "k": k}, []
    makers: dict[str, Callable[[Trajectories], ClosestPairs]] = {
        "matrix": lambda people: EffortMatrix(people, caps),
        "bands": lambda people: BandedPairs(people, caps, Run(threads=1)),
    }
    for name, make in makers.items():
        merging(original.keep(np.arange(20)), make, k)  # compiles
        with timed(row, name):
            outcomes.append(merging(original, make, k))
    assert outcomes[0].sequence == outcomes[1].sequence, "bands and matrix merge other pairs"
    return row


def merging(original: Trajectories, make: Callable[[Trajectories], ClosestPairs], k: int) -> Merging:
    scale = Caps().scale_on(original.snapped_grid())
    return merge_greedily(original, make(original), k, lambda a, b: merge(a, b, scale), Run(threads=1))


def searched(original: Trajectories) -> dict[str, Any]:
    """Which pairs k = 2 merges, without merging them."""
    row: dict[str, Any] = {}
    with timed(row, "search"):
        pairs = BandedPairs(original, Caps(), Run())
        while (pair := pairs.closest()) is not None:
            pairs.retire(*pair)
    possible = original.n_subjects * (original.n_subjects - 1) / 2
    row["share_begun"], row["share_ended"] = (pairs.tally / possible).tolist()  # repeats counted
    return row


def compared(original: Trajectories, ks: list[int], n_matrix: int) -> dict[str, Any]:
    """The ratios, printed."""
    speed = pairs_a_second(original)
    print(f"compile: {speed['compile_s']:.2f} s (0.1 s or less when cached)")
    print(
        f"pairs a CPU second, in full: NumPy {speed['numpy']:,.0f}; literal {speed['literal']:,.0f}; cost "
        f"table "
        f"{speed['cost_table']:,.0f}"
    )
    print(
        f"ratio: {speed['cost_table'] / speed['literal']:.1f} x the literal kernel, "
        f"{speed['cost_table'] / speed['numpy']:.1f} x NumPy"
    )
    few = original.keep(np.arange(min(n_matrix, original.n_subjects)))
    rows = [against_matrix(few, k) for k in ks] if n_matrix else []
    for row in rows:
        both = f"matrix {row['matrix_cpu_s']:.1f}, bands {row['bands_cpu_s']:.2f} CPU s"
        print(
            f"{row['people']:,} people, k = {row['k']}: {both}: "
            f"{row['matrix_cpu_s'] / row['bands_cpu_s']:.0f} x",
            flush=True,
        )
    return {"pairs_a_cpu_s": speed, "matrix": rows}


def cost(rows: list[dict[str, Any]], name: str) -> str:
    """The last row's seconds, and how they grow from the size before."""
    said = f"{rows[-1][f'{name}_s']:.1f} s, {rows[-1][f'{name}_cpu_s']:.1f} CPU s"
    if len(rows) > 1:
        before, after = rows[-2:]
        more = math.log(after[f"{name}_cpu_s"] / before[f"{name}_cpu_s"]) / math.log(
            after["people"] / before["people"]
        )
        said += f" (CPU grows with exponent {more:.2f})"
    return said


def peak_gib() -> float:
    return (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**30
    )


def plot(searches: list[dict[str, Any]], runs: dict[int, list[dict[str, Any]]], path: Path) -> None:
    import plotly.graph_objects as go

    figure = go.Figure()
    lines = {
        "search for the closest, k = 2": (searches, "search_cpu_s"),
        **{f"all, k = {k}": (rows, "all_cpu_s") for k, rows in runs.items()},
    }
    for title, (rows, name) in lines.items():
        figure.add_scatter(
            x=[row["people"] for row in rows], y=[row[name] for row in rows], name=title, mode="lines+markers"
        )
    figure.update_layout(
        xaxis={"title": "people", "type": "log"}, yaxis={"title": "CPU seconds", "type": "log"}
    )
    figure.write_html(path, include_plotlyjs=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, nargs="+", default=[5000])
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="nation")
    options.add_argument("--k", type=int, nargs="+", default=[2, 5])
    options.add_argument(
        "--matrix", type=int, default=1000, help="people merged by the full matrix, too; 0 leaves it out"
    )
    options.add_argument("--output", type=Path)
    asked = options.parse_args()

    searches: list[dict[str, Any]] = []
    runs: dict[int, list[dict[str, Any]]] = {k: [] for k in asked.k}
    ratios: dict[str, Any] = {}
    for n in sorted(set(asked.subjects)):
        row: dict[str, Any] = {}
        with timed(row, "load"):
            original = shoal.read(shoal.synthesize(n, asked.days, 1, layout=asked.layout))
        size = f"{n:,} people, {original.n_samples:,} samples, {asked.layout}"
        print(f"{size}, {Run().threads} threads; made and read in {row['load_s']:.1f} s")
        ratios = ratios or compared(original, asked.k, asked.matrix)
        searches.append({"people": n, **searched(original)})
        print(f"closest pairs at k = 2, no merging: {cost(searches, 'search')}")
        begun, ended = searches[-1]["share_begun"], searches[-1]["share_ended"]
        print(
            f"share of pairs begun {begun:.3%}, evaluated to the end {ended:.3%} (repeats counted)",
            flush=True,
        )
        for k in asked.k:
            runs[k].append(row := {"people": n})
            with timed(row, "all"):
                row["crowds"] = len(shoal.Glove(k=k).classes(original, Run()))
            row["peak_gib"] = peak_gib()
            made = f"from trajectories to {row['crowds']:,} finished crowds at k = {k}"
            print(f"{made}: {cost(runs[k], 'all')}; peak memory {row['peak_gib']:.2f} GiB", flush=True)
    if asked.output:
        asked.output.mkdir(parents=True, exist_ok=True)
        result = {"asked": vars(asked), **ratios, "searches": searches, "runs": runs}
        (asked.output / "glove.json").write_text(json.dumps(result, indent=2, default=str))
        plot(searches, runs, asked.output / "glove.html")


if __name__ == "__main__":
    main()
