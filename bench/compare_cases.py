"""The cases of compare_commits.py: data, the releases made of them, and the questions about releases."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from compare_damages import DAMAGES

CITY, NATION, MESSY = "city.parquet", "nation.parquet", "messy.csv"
WALKERS, DRIVERS = "walkers.parquet", "drivers.parquet"
LOCAL = ("--crs", "local", "--time-unit", "s")
STREETS = ("--streets-nodes", "../../data/nodes.parquet", "--streets-edges", "../../data/edges.parquet")


@dataclass(frozen=True)
class Run:
    """One release: ``shoal anonymize`` with this data and these options."""

    name: str
    data: str
    words: str
    reading: tuple[str, ...] = ()  # options that verify, attack and measure need as well

    def command(self) -> list[str]:
        """Its words, to be run in the folder of the release, two levels below the data."""
        written = ("--output", "release", "--linkage", "linkage.parquet", "--research-seed", "1", *AS_JSON)
        return ["anonymize", f"../../data/{self.data}", *self.words.split(), *self.reading, *written]


SYNTHESIZED = (
    (CITY, "--subjects", "60", "--days", "3"),
    (NATION, "--subjects", "90", "--days", "2", "--layout", "nation", "--seed", "7"),
)
AS_JSON = ("--json", "--log", "json")
FAST = "--risk-tries 0"
RUNS = (
    Run("glove-k2", CITY, "--k 2 --risk-tries 50"),
    Run("glove-k5", CITY, f"--k 5 {FAST}"),
    Run("glove-k5-nation", NATION, f"--k 5 {FAST} --exact-figures"),
    Run("glove-as-published", CITY, f"--k 3 --as-published {FAST}"),
    Run("glove-refine", CITY, f"--k 2 --refine {FAST}"),
    Run("glove-halves-refine", NATION, f"--k 5 --start halves --refine --refine-rounds 2 {FAST}"),
    Run("glove-suppress", CITY, f"--k 5 --suppress-space 15km --suppress-time 6h {FAST}"),
    Run(
        "glove-suppress-samples",
        NATION,
        f"--k 2 --suppress-space 15km --suppress-by samples --generalize reshape-each {FAST}",
    ),
    Run("glove-leftover", CITY, f"--k 7 --leftover suppress {FAST}"),
    Run("glove-extent", CITY, f"--k 3 --extent-at-most 25km,8h {FAST}"),
    Run("glove-omit", CITY, f"--k 5 --refine --omit-at-most 0.05 {FAST}"),
    Run("glove-outward", CITY, f"--k 2 --hull outward:3 {FAST}"),
    Run("glove-hull-grid", NATION, f"--k 2 --hull grid:2km {FAST}"),
    Run("glove-overlap-split", CITY, f"--k 2 --generalize overlap-split {FAST}"),
    Run("glove-reshape", CITY, f"--k 3 --generalize reshape-each {FAST}"),
    Run("glove-overlapping", CITY, f"--k 3 --generalize none {FAST}"),
    Run("glove-blocks", NATION, f"--k 5 --blocks 30 {FAST}"),
    Run("glove-blocks-refine", CITY, f"--k 2 --blocks 20 --refine --suppress-space 15km {FAST}"),
    Run("glove-memory", CITY, f"--k 5 --memory 4GiB {FAST}"),
    Run("glove-per-day", CITY, f"--k 5 {FAST}", ("--per-day",)),
    Run("glove-messy", MESSY, "--k 2 --cell 500m --risk-tries 30", ("--min-active-days", "2")),
    Run("kte-hide", CITY, f"--method kte-hide {FAST}"),
    Run("kte-hide-k3", NATION, f"--method kte-hide --k 3 --tau 1h --epsilon 1h --hiders stay {FAST}"),
    Run("kte-hide-clusters", CITY, f"--method kte-hide --hiding clusters --cluster-size 20 {FAST}"),
    Run("kte-hide-cycles", CITY, f"--method kte-hide --hiding clusters --assignment cycles {FAST}"),
    Run("static", CITY, f"--method static --k 2 --grid 20km --slot 12h {FAST}"),
    Run("static-offset", CITY, f"--method static --k 3 --grid 40km --grid-offset 5km --slot 1d {FAST}"),
    Run("swap-greedy", WALKERS, f"--method swap-locations --k 3 --space-threshold 500m {FAST}", LOCAL),
    Run("swap-mdav", WALKERS, f"--method swap-locations --k 3 --clustering mdav {FAST}", LOCAL),
    Run("swap-share", WALKERS, f"--method swap-locations --k 2 --publish-share 0.7 {FAST}", LOCAL),
    Run(
        "reach", DRIVERS, f"--method reach-locations --k 3 --space-threshold 500m {FAST}", (*LOCAL, *STREETS)
    ),
    Run(
        "reach-leader",
        DRIVERS,
        f"--method reach-locations --k 2 --reach leader --set-members least-sum {FAST}",
        (*LOCAL, *STREETS),
    ),
    Run("nwa", CITY, f"--method nwa --k 3 {FAST}"),
    Run("nwa-wide", NATION, f"--method nwa --k 2 --delta 4km --pi 2h --step 30min --trash 0.2 {FAST}"),
    Run("w4m", CITY, f"--method w4m --k 3 {FAST}"),
    Run("w4m-edr", CITY, f"--method w4m --k 2 --distance edr --delta 2km --chunk 30 {FAST}"),
    Run("refused-k", CITY, "--k 1"),
    Run("refused-too-few", CITY, "--k 61"),
    Run("refused-option", CITY, "--method nwa --k 2 --tau 30min"),
    Run("refused-length", CITY, "--k 2 --suppress-space 5parsec"),
    Run("refused-column", CITY, "--k 2 --id name"),
    Run("refused-streets", DRIVERS, "--method reach-locations --k 2", LOCAL),
    Run("refused-blocks", CITY, "--method kte-hide --k 2 --blocks 20"),
)
BY_NAME = {run.name: run for run in RUNS}


@dataclass(frozen=True)
class Question:
    """A command about a stored release, run in its folder: verify, inspect, attack or measure."""

    command: str
    release: str
    words: tuple[str, ...]
    variant: str = ""

    @property
    def name(self) -> str:
        """What the table and the stored answer are called."""
        return " ".join(part for part in (self.release, self.variant) if part)


def question(command: str, run: Run, release: str, variant: str = "", *further: str) -> Question:
    """A question with the run's data and the linkage; without it where the variant says so."""
    linkage = () if variant == "without linkage" else ("--linkage", "linkage.parquet")
    reading = tuple(run.reading)
    if command != "verify" and STREETS[0] in reading:
        reading = reading[: reading.index(STREETS[0])]
    words = (f"../../data/{run.data}", "release", *linkage, *reading, *further, *AS_JSON)
    return Question(command, release, words, variant)


def questions() -> list[Question]:
    """All questions, those about broken releases included."""
    asked = [question("verify", run, run.name) for run in RUNS if not run.name.startswith("refused")]
    for name, damages in DAMAGES.items():
        asked += [question("verify", BY_NAME[name], f"{name}+{damage}") for damage in damages]
    k2, k5, blocks = BY_NAME["glove-k2"], BY_NAME["glove-k5"], BY_NAME["glove-blocks"]
    swap, other = BY_NAME["swap-greedy"], Run("other", NATION, "")
    earlier = ("--earlier", "../glove-k2/release=../glove-k2/linkage.parquet")
    asked += [
        question("verify", k5, k5.name, "without linkage"),
        question("verify", swap, swap.name, "without linkage"),
        question("verify", k5, k5.name, "claim", "--claim", "k-anonymity:5,truthful"),
        question("verify", k5, k5.name, "claim too large", "--claim", "k-anonymity:10"),
        question("verify", other, k5.name, "other data"),
        question("verify", k5, k5.name, "earlier", *earlier),
        question("verify", k5, k5.name, "streamed", "--streamed"),
        question("verify", blocks, blocks.name, "streamed", "--streamed"),
        question("verify", k5, f"{k5.name}+row-removed", "streamed", "--streamed"),
        question("verify", k5, "nowhere"),
        *(
            Question("inspect", name, ("release", *AS_JSON))
            for name in ("glove-k5", "kte-hide", "swap-greedy")
        ),
        Question("inspect", "data", (CITY, *AS_JSON), CITY),
        Question("inspect", "data", (MESSY, *AS_JSON), MESSY),
        Question("assess", "data", (CITY, *AS_JSON), CITY),
        Question("assess", "data", (MESSY, "--k", "3", "--cell", "1km", *AS_JSON), MESSY),
        question("attack", k2, k2.name, "", "--tries", "50", "--seed", "1"),
        question("attack", swap, swap.name, "", "--tries", "20", "--seed", "1"),
        *(
            question("measure", BY_NAME[name], name)
            for name in ("glove-k2", "kte-hide", "nwa", "swap-greedy")
        ),
    ]
    return asked


def write_other_data(folder: Path) -> None:
    """Write a file with faults, walkers in a plane, and drivers on streets."""
    draw = np.random.default_rng(1)
    rows = pq.read_table(folder / CITY).to_pylist()[:2000]
    header = list(rows[0])
    lines = [[str(row[name]) for name in header] for row in rows]
    for at in draw.permutation(len(lines))[:60]:
        lines[at][int(draw.integers(1, len(header)))] = ("", "nan", "1e9")[int(draw.integers(3))]
    with (folder / MESSY).open("w", newline="") as file:
        csv.writer(file).writerows([header, *lines, *lines[:25]])
    write_points(folder / WALKERS, [walk(draw) for _ in range(40)])
    write_town(folder, side=6)
    write_points(folder / DRIVERS, [drive(draw, side=6) for _ in range(30)])


Track = list[tuple[float, float, float]]


def walk(draw: np.random.Generator) -> Track:
    """A walker's times (s) and places (m)."""
    n = int(draw.integers(15, 31))
    times = 10 * np.cumsum(draw.integers(1, 3, n)) + draw.integers(0, 200)
    places = np.cumsum(draw.integers(-20, 21, (n, 2)), axis=0) + draw.integers(0, 400, 2)
    return [(float(t), float(x), float(y)) for t, (x, y) in zip(times, places, strict=True)]


def drive(draw: np.random.Generator, side: int) -> Track:
    """A driver's times and places along the streets of the town."""
    at, time, track = draw.integers(0, side, 2), float(draw.integers(0, 50)), Track()
    for _ in range(int(draw.integers(10, 21))):
        step = np.array([(1, 0), (-1, 0), (0, 1), (0, -1)][int(draw.integers(4))])
        if ((at + step < 0) | (at + step >= side)).any():
            continue
        x, y = 100.0 * (at + draw.random() * step)
        track.append((time, float(x), float(y)))
        at, time = at + step, time + float(draw.integers(5, 15))
    return track


def write_points(path: Path, tracks: Sequence[Track]) -> None:
    """Write tracks as a table of points in a plane."""
    rows = [(f"person-{at:03d}", *point) for at, track in enumerate(tracks) for point in track]
    ids, t, x, y = zip(*rows, strict=True)
    pq.write_table(pa.table({"id": ids, "t": t, "x": x, "y": y}), path)


def write_town(folder: Path, side: int) -> None:
    """Write a grid of streets, 100 m apart."""
    nodes = np.arange(side * side)
    east, north = nodes[nodes % side < side - 1], nodes[nodes < side * (side - 1)]
    pq.write_table(
        pa.table({"node_id": nodes, "x": 100.0 * (nodes % side), "y": 100.0 * (nodes // side)}),
        folder / "nodes.parquet",
    )
    ends = {"u": np.concatenate([east, north]), "v": np.concatenate([east + 1, north + side])}
    pq.write_table(pa.table(ends), folder / "edges.parquet")
