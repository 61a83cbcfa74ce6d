"""A peer's own program and shoal's version of the method on the same data, side by side.

    python lab/peers/compare_peers.py --program FOLDER --raw FILE [--method w4m|nwa|swap-locations|static]
        [--k 2 5] [--delta 2000] [--slot 7200] [--crs local] [--subjects N]

FOLDER holds the program and a peer.toml (lab/peers/README.md). Printed for both: seconds and peak memory of
a process of its own, people and samples that are gone, mean distance of raw points from their own person's
record at their time, and how often somebody who knows four true points of a person names the record that
passes nearest to them. With static, delta is the side of a cell, both sides start from the same snapped
points, and shoal's boxes stand as their middles, since a public program publishes the middles of its cells.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from shoal.attacks import attack
from shoal.attacks.attacking import AttackScope
from shoal.errors import InputError, NothingLeftError
from shoal.methods import method_named
from shoal.model.claims import Claim, KDeltaAnonymity
from shoal.model.release import Boxes, Linkage, Losses, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from shoal.utility.points import measure_points
from shoal_papers.data import as_points

METHODS = ("w4m", "nwa", "swap-locations", "static")
TRIES = 300
SLOT_S = 7_200.0


@dataclass(frozen=True)
class Row:
    """What is printed of one release."""

    name: str
    seconds: float
    mebibytes: float
    people_gone: float
    points_gone: float
    mean_distance_m: float
    linked: float


def write_input(original: Trajectories, peer: Mapping[str, Any], path: Path) -> None:
    """The raw points in the peer's columns."""
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    column = {"id": owner, "t": original.t / peer["time_unit_s"], "x": original.x, "y": original.y}
    rows = zip(*(column[name].tolist() for name in peer["columns"]), strict=True)
    path.write_text("\n".join(peer["separator"].join(map(str, row)) for row in rows) + "\n")


def read_output(original: Trajectories, peer: Mapping[str, Any], path: Path, k: int, delta_m: float) -> Any:
    """The peer's points as a release with its linkage; raises InputError for what is not in its columns."""
    names, rows = peer["columns"], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        cells = dict(zip(names, line.split(peer["separator"]), strict=False))
        try:
            rows.append((int(cells["id"]), float(cells["t"]), float(cells["x"]), float(cells["y"])))
        except (KeyError, ValueError) as error:
            raise InputError(
                f"line {number} of the program's output is not {', '.join(names)}: {line[:60]!r}; mend "
                "peer.toml"
            ) from error
    if not rows:
        raise NothingLeftError("the program's output is empty")
    who, t, x, y = (np.array(column) for column in zip(*rows, strict=True))
    if who.min() < 0 or who.max() >= original.n_subjects:
        raise InputError("the program's output holds ids that its input did not; mend peer.toml")
    return released(original, who, t * peer["time_unit_s"], x, y, KDeltaAnonymity(k=k, delta_m=delta_m))


def released(
    original: Trajectories, who: Integers, t: Floats, x: Floats, y: Floats, claim: Claim
) -> tuple[Release, Linkage]:
    """Points [m] of people as a release with a record each; who: positions in the original."""
    order = np.lexsort((t, who))
    people, counts = np.unique(who, return_counts=True)
    names_of = tuple(f"r{person}" for person in people.tolist())
    release = Release(
        trajectory_ids=names_of,
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        payload=Points(t=t[order], x=x[order], y=y[order]),
        claim=claim,
        grid=None,
        method="none",
        parameters={},
        losses=Losses(),
        crs=original.crs,
        unit_of_protection=original.intake.unit_of_protection,
        publishable=False,
    )
    return release, Linkage(tuple(original.ids[person] for person in people.tolist()), names_of)


def middles(original: Trajectories, made: tuple[Release, Linkage]) -> tuple[Release, Linkage]:
    """A release of boxes as the middles of these."""
    release, linkage = made
    boxes, grid = release.payload, original.snapped_grid()
    assert isinstance(boxes, Boxes)
    person = {one: at for at, one in enumerate(original.ids)}
    owner = {record: person[uid] for uid, record in zip(linkage.uids, linkage.trajectory_ids, strict=True)}
    who = np.repeat([owner[record] for record in release.trajectory_ids], np.diff(release.offsets))
    t = (boxes.t_start + boxes.t_end - 1) / 2 * grid.slot_s
    x, y = (
        (low + high - 1) / 2 * grid.cell_m
        for low, high in ((boxes.x_min, boxes.x_max), (boxes.y_min, boxes.y_max))
    )
    return released(original, who, t, x, y, release.claim)


def row_of(
    name: str, original: Trajectories, made: tuple[Release, Linkage], seconds: float, mebibytes: float
) -> Row:
    """The figures of one release."""
    found = measure_points(original, *made)
    (rate,) = attack(
        original,
        *made,
        knowledge=["nearest:4"],
        rng=Randomness.for_research(1),
        tries=TRIES,
        scope=AttackScope(targets=["release"]),
    ).rates
    gone = found.removed_trajectories, found.removed_locations
    return Row(name, seconds, mebibytes, *gone, found.mean_distortion_m, rate.rate)


def run_peer(folder: Path, original: Trajectories, k: int, delta_m: float) -> Row:
    """The peer's program in a process of its own; raises InputError when it fails."""
    peer = tomllib.loads((folder / "peer.toml").read_text())
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place) / "in.txt", Path(place) / "out.txt"
        write_input(original, peer, source)
        words = {
            "input": source, "output": target, "k": k, "delta": delta_m, "folder": folder,
            "python": sys.executable,
        }  # fmt: skip
        command = [part.format_map(words) for part in peer["command"]]
        began = time.perf_counter()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - began
        if done.returncode or not target.exists():
            raise InputError(f"{peer['name']} ended with {done.returncode}: {done.stderr[-300:]}")
        mebibytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        return row_of(
            peer["name"], original, read_output(original, peer, target, k, delta_m), seconds, mebibytes
        )


def run_own(name: str, original: Trajectories, k: int, delta_m: float, slot_s: float = SLOT_S) -> Row:
    """shoal's version in this process; for static the original is snapped."""
    given: dict[str, Any] = {"k": k}
    if name == "static":
        given |= {"grid_m": delta_m, "slot_s": slot_s}
    elif name != "swap-locations":
        given["delta_m"] = delta_m
    began = time.perf_counter()
    made = method_named(name)(**given).anonymize(original, Randomness.for_research(1))
    seconds = time.perf_counter() - began
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if name == "static":
        return row_of(f"shoal, {name}", as_points(original), middles(original, made), seconds, mebibytes)
    return row_of(f"shoal, {name}", original, made, seconds, mebibytes)


def table(rows: Sequence[Row], k: int) -> list[str]:
    """Lines of a Markdown table."""
    return [
        f"| {k} | {row.name} | {row.seconds:.1f} s | {row.mebibytes:,.0f} MiB | "
        f"{100 * row.people_gone:.1f} % | "
        f"{100 * row.points_gone:.1f} % | {row.mean_distance_m:,.0f} m | {100 * row.linked:.1f} % |"
        for row in rows
    ]


HEAD = (
    "| k | program | time | peak memory | people gone | points gone | mean distance | linked |",
    "|---|---|---|---|---|---|---|---|",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--program", type=Path, required=True)
    options.add_argument("--raw", required=True)
    options.add_argument("--method", choices=METHODS, default="w4m")
    options.add_argument("--k", type=int, nargs="+", default=[2, 5])
    options.add_argument("--delta", type=float, default=2000.0)
    options.add_argument("--slot", type=float, default=SLOT_S)
    options.add_argument("--crs")
    options.add_argument("--subjects", type=int)
    asked = options.parse_args(arguments)
    static = asked.method == "static"
    original = shoal.read(asked.raw, snap=static, **({"crs": asked.crs} if asked.crs else {}))
    if asked.subjects is not None:
        original = original.keep(np.arange(min(asked.subjects, original.n_subjects)))
    print("\n".join(HEAD))
    for k in asked.k:
        rows = [
            run_peer(asked.program.resolve(), as_points(original) if static else original, k, asked.delta),
            run_own(asked.method, original, k, asked.delta, asked.slot),
        ]
        print("\n".join(table(rows, k)), flush=True)


if __name__ == "__main__":
    main()
