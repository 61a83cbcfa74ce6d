"""A slow and obvious judge of release folders of boxes that claim k-anonymity, for the fuzzer.

It shares the data model with the verifier and nothing else: columns come from pyarrow, boxes are compared in
plain Python, and what must not be there is searched for in all bytes, packed or not.
"""

import hashlib
import json
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyproj import Transformer

from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories

_COLUMNS = ["trajectory_id", "t_start", "t_end", "x_min", "y_min", "x_max", "y_max", "geometry"]
_TOP = {
    "format_version", "shoal_version", "method", "parameters", "claim", "crs", "cell_m", "slot_s",
    "unit_of_protection", "verdict", "losses", "rows_repaired", "reading", "n_records", "n_samples",
    "publishable", "record", "release_sha256", "report_sha256",
}  # fmt: skip
_LOSSES = {"rows", "samples_suppressed", "subjects_suppressed", "samples_created", "subjects_by_reason"}
_ZSTD = bytes.fromhex("28b52ffd")
Box = tuple[float, ...]


def objections(original: Trajectories, folder: Path, linkage: Linkage, planted: Sequence[bytes]) -> list[str]:
    """Everything that speaks against a folder; planted: bytes that must stand nowhere in it."""
    return list(_objections(original, folder, linkage, planted))


def _objections(
    original: Trajectories, folder: Path, linkage: Linkage, planted: Sequence[bytes]
) -> Iterator[str]:
    names = sorted(path.name for path in folder.iterdir())
    if names != ["manifest.json", "release.parquet", "report.html"]:
        yield f"files {names}"
    for path in folder.iterdir():
        if not stat.S_ISREG(path.lstat().st_mode):
            yield f"{path.name} is no file"
            return
        content = path.read_bytes()
        if any(word in content for word in planted) or any(
            word in piece for piece in _unpacked(content) for word in planted
        ):
            yield f"{path.name} holds what was planted"
    twice: list[str] = []

    def entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.extend(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)
        return dict(pairs)

    manifest = json.loads((folder / "manifest.json").read_bytes(), object_pairs_hook=entries)
    if twice or set(manifest) != _TOP or set(manifest["losses"]) != _LOSSES:
        yield "other entries in the manifest"
    for name, file in (("release_sha256", "release.parquet"), ("report_sha256", "report.html")):
        if hashlib.sha256((folder / file).read_bytes()).hexdigest() != manifest[name]:
            yield f"{name} is wrong"
    yield from _about_boxes(original, folder, linkage, manifest)


def _about_boxes(
    original: Trajectories, folder: Path, linkage: Linkage, manifest: dict[str, Any]
) -> Iterator[str]:
    grid = original.snapped_grid()
    if (manifest["cell_m"], manifest["slot_s"], manifest["crs"]) != (grid.cell_m, grid.slot_s, original.crs):
        yield "another grid or plane"
        return
    table = pq.read_table(folder / "release.parquet")
    if table.column_names not in (_COLUMNS, _COLUMNS[:-1]):  # rectangles may be left out
        yield "other columns"
        return
    records: dict[str, list[Box]] = {}
    around = Transformer.from_crs(original.crs, "EPSG:4326", always_xy=True)
    for row in table.to_pylist():
        bounds = [row[name] for name in _COLUMNS[1:7]]
        if any(type(value) not in {int, float} for value in bounds):
            yield "a bound is no number"
            return
        steps = [grid.slot_s] * 2 + [grid.cell_m] * 4
        counted = [value / step for value, step in zip(bounds, steps, strict=True)]
        if any(abs(value - round(value)) > 1e-6 for value in counted):
            yield "a bound is off the grid"
        records.setdefault(row["trajectory_id"], []).append(tuple(round(value) for value in counted))
        west, south, east, north = bounds[2], bounds[3], bounds[4], bounds[5]
        ring = [
            around.transform(x, y) for x, y in ((west, south), (east, south), (east, north), (west, north))
        ]
        if "geometry" in row and not _is_ring(row["geometry"], [*ring, ring[0]]):
            yield "a geometry is not its box"
    if (manifest["n_records"], manifest["n_samples"]) != (len(records), table.num_rows):
        yield "other counts"
    yield from _about_the_claim(original, linkage, manifest, records)


def _about_the_claim(
    original: Trajectories, linkage: Linkage, manifest: dict[str, Any], records: dict[str, list[Box]]
) -> Iterator[str]:
    claim, verdict, losses = manifest["claim"], manifest["verdict"], manifest["losses"]
    if claim.get("type") != "k-anonymity" or not verdict["holds"] or verdict["checked"] != len(records):
        yield "another claim, or a false verdict"
        return
    crowds = Counter(tuple(boxes) for boxes in records.values())
    if min(crowds.values()) < claim["k"]:
        yield "a class is smaller than k"
    owner = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    if set(owner) != set(records) or len(set(owner.values())) != len(owner):
        yield "records and linkage differ"
        return
    samples = {
        uid: list(zip(*(column.tolist() for column in original.samples_of(place)), strict=True))
        for place, uid in enumerate(original.ids)
    }
    lost = 0
    for name, boxes in records.items():
        own = samples[owner[name]]
        members = [samples[owner[other]] for other, theirs in records.items() if theirs == boxes]
        if claim.get("disjoint_in_time", True) and any(a[1] > b[0] for a, b in pairwise(boxes)):
            yield "boxes overlap in time"
        for box in boxes:
            inside = [one for each in members for one in each if _holds(box, one)]
            if claim.get("truthful", True) and (
                not any(_holds(box, one) for one in own) or _hull(inside) != box
            ):
                yield "a box is not the hull of its class's samples"
        lost += sum(not any(_holds(box, one) for box in boxes) for one in own)
    lost += sum(len(samples[uid]) for uid in samples if uid not in owner.values())
    told = {reason: rows for reason, rows in losses["rows"].items() if rows}
    if (losses["samples_suppressed"], losses["subjects_suppressed"], losses["samples_created"]) != (
        lost,
        len(samples) - len(owner),
        0,
    ) or told != dict(original.intake.dropped):
        yield "other losses"


def _holds(box: Box, sample: tuple[int, int, int]) -> bool:
    t, x, y = sample
    return box[0] <= t < box[1] and box[2] <= x < box[4] and box[3] <= y < box[5]


def _hull(samples: list[tuple[int, int, int]]) -> Box | None:
    if not samples:
        return None
    t, x, y = zip(*samples, strict=True)
    return min(t), max(t) + 1, min(x), min(y), max(x) + 1, max(y) + 1


def _is_ring(geometry: Any, corners: list[tuple[float, float]]) -> bool:
    import struct

    if not isinstance(geometry, bytes) or len(geometry) != 93:
        return False
    order, kind, rings, points, *values = struct.unpack("<BIII10d", geometry)
    expected = [value for corner in corners for value in corner]
    near = all(abs(a - b) <= 1e-8 for a, b in zip(values, expected, strict=True))
    return (order, kind, rings, points) == (1, 3, 1, 5) and near


def _unpacked(content: bytes) -> Iterator[bytes]:
    """Whatever in the bytes is packed with zstd."""
    at = content.find(_ZSTD)
    while at >= 0:
        try:
            with pa.input_stream(pa.BufferReader(content[at:]), compression="zstd") as stream:
                yield stream.read(1 << 20)
        except (pa.ArrowException, OSError, MemoryError):  # what only looks like a packed page
            pass
        at = content.find(_ZSTD, at + 1)
