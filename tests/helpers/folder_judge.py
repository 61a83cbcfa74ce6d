"""A slow and obvious judge of release folders of boxes that claim k-anonymity, for the fuzzer.

It shares the data model with the verifier and nothing else: columns come from pyarrow, boxes are compared in
plain Python, and what must not be there is searched for in all bytes, packed or not.
"""

import hashlib
import json
import stat
import struct
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
_TOP = [
    "format_version", "shoal_version", "method", "parameters", "claim", "crs", "cell_m", "slot_s",
    "unit_of_protection", "verdict", "losses", "rows_repaired", "reading", "n_records", "n_samples",
    "publishable", "record", "release_sha256", "report_sha256",
]  # fmt: skip
_LOSSES = {"rows", "samples_suppressed", "subjects_suppressed", "samples_created", "subjects_by_reason"}
_ZSTD = bytes.fromhex("28b52ffd")
Box = tuple[float, ...]


def objections(
    original: Trajectories,
    folder: Path,
    linkage: Linkage,
    planted: Sequence[bytes],
    *,
    noted: bool = False,
) -> list[str]:
    """Everything that speaks against a folder.

    planted: bytes that must stand nowhere in it. noted: whether it was said that its rows are packed
    otherwise than usual.
    """
    found = list(_objections(original, folder, linkage, planted))
    if not (found or noted or _is_packed_as_usual(folder / "release.parquet")):
        found.append("packed otherwise than usual, and nobody says so")
    return found


def _is_packed_as_usual(path: Path) -> bool:
    """Whether the rows, written again with the same groups, give the same bytes."""
    again = path.with_name("again")
    groups = [pq.ParquetFile(path).read_row_group(k) for k in range(pq.read_metadata(path).num_row_groups)]
    about = pq.read_metadata(path).metadata
    schema = groups[0].schema.remove_metadata()
    with pq.ParquetWriter(again, schema, compression="zstd", store_schema=False) as writer:
        for group in groups:
            writer.write_table(group.replace_schema_metadata(None), row_group_size=1 << 20)
        if about is not None:
            writer.add_key_value_metadata(about)
    same = again.read_bytes() == path.read_bytes()
    again.unlink()
    return same


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

    text = (folder / "manifest.json").read_text(encoding="utf-8")
    manifest = json.loads(text, object_pairs_hook=entries)
    if twice or set(manifest) != set(_TOP) or set(manifest["losses"]) - {"samples_by_reason"} != _LOSSES:
        yield "other entries in the manifest"
    if list(manifest) != _TOP or text != json.dumps(manifest, indent=2, ensure_ascii=False) + "\n":
        yield "another spelling of the manifest"
    for name, file in (("release_sha256", "release.parquet"), ("report_sha256", "report.html")):
        if hashlib.sha256((folder / file).read_bytes()).hexdigest() != manifest[name]:
            yield f"{name} is wrong"
    yield from _about_storage(folder / "release.parquet", planted)
    yield from _about_boxes(original, folder, linkage, manifest)


def _about_storage(path: Path, planted: Sequence[bytes]) -> Iterator[str]:
    """What a reader of the file can be told beside its rows, as far as pyarrow shows it."""
    file = pq.ParquetFile(path)
    about, size = file.metadata, path.stat().st_size
    footer = int.from_bytes(path.read_bytes()[-8:-4], "little")
    chunks = [
        (group, about.row_group(group).column(column))
        for group in range(about.num_row_groups)
        for column in range(about.num_columns)
    ]
    if size != 4 + sum(chunk.total_compressed_size for _, chunk in chunks) + footer + 8:
        yield "bytes that belong to no column"
    if about.serialized_size != footer:
        yield "bytes behind the footer"
    if set(about.metadata or {}) - {b"geo"} or any(field.metadata for field in file.schema_arrow):
        yield "metadata"
    words = [str(about.created_by).encode(), *(about.metadata or {}).values()]
    for group, chunk in chunks:
        name = chunk.path_in_schema
        values = file.read_row_group(group, columns=[name])[name].to_pylist()
        told = chunk.statistics
        if told is not None and told.has_min_max:
            ends = [value.encode() if isinstance(value, str) else value for value in (told.min, told.max)]
            own = [value.encode() if isinstance(value, str) else value for value in values]
            if any(end not in own for end in ends):
                yield f"statistics of {name} that are no values"
        words += [value if isinstance(value, bytes) else str(value).encode() for value in values]
    if any(word in each for word in planted for each in words):
        yield "what was planted stands in a value"
    texts = [field.name for field in file.schema_arrow if field.type in (pa.string(), pa.binary())]
    for name, column in zip(texts, pq.read_table(path, columns=texts, read_dictionary=texts), strict=True):
        for piece in column.chunks:
            if set(piece.dictionary.to_pylist()) != set(piece.to_pylist()) - {None}:
                yield f"a dictionary of {name} with values of no row"


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
    if set(map(str, table.schema.types)) - {"string", "int64", "double", "binary"}:
        yield "other types"
    records: dict[str, list[Box]] = {}
    stored: dict[str, list[Any]] = {}
    corners: dict[tuple[float, float], set[bytes]] = {}
    last = None
    around = Transformer.from_crs(original.crs, "EPSG:4326", always_xy=True)
    for row in table.to_pylist():
        bounds = [row[name] for name in _COLUMNS[1:7]]
        if any(type(value) not in {int, float} for value in bounds):
            yield "a bound is no number"
            return
        steps = [grid.slot_s] * 2 + [grid.cell_m] * 4
        counted = [round(value / step) for value, step in zip(bounds, steps, strict=True)]
        exact = [number * step for number, step in zip(counted, steps, strict=True)]
        if any(struct.pack("<d", a) != struct.pack("<d", b) for a, b in zip(bounds, exact, strict=True)):
            yield "a bound is off the grid"
        name = row["trajectory_id"]
        if name != last and name in records:
            yield "the rows of a record stand apart"
        last = name
        records.setdefault(name, []).append(tuple(counted))
        stored.setdefault(name, []).append((bounds, row.get("geometry")))
        west, south, east, north = bounds[2], bounds[3], bounds[4], bounds[5]
        ring = [
            around.transform(x, y) for x, y in ((west, south), (east, south), (east, north), (west, north))
        ]
        if "geometry" in row and not _is_ring(row["geometry"], [*ring, ring[0]]):
            yield "a geometry is not its box"
            return
        places = ((west, south), (east, south), (east, north), (west, north), (west, south))
        for number, (x, y) in enumerate(places):
            digits = row.get("geometry", bytes(93))[13 + 16 * number : 29 + 16 * number]
            corners.setdefault((x, y), set()).add(digits)
    yield from _about_spelling(corners, records, stored)
    if (manifest["n_records"], manifest["n_samples"]) != (len(records), table.num_rows):
        yield "other counts"
    yield from _about_the_claim(original, linkage, manifest, records)


def _about_spelling(
    corners: dict[tuple[float, float], set[bytes]],
    records: dict[str, list[Box]],
    stored: dict[str, list[Any]],
) -> Iterator[str]:
    """What rows that say the same are told apart by."""
    if any(len(digits) > 1 for digits in corners.values()):
        yield "one place in two spellings"
    for name, boxes in records.items():
        if boxes != sorted(boxes):
            yield "the rows of a record are in another order"
        if any(stored[other] != stored[name] for other, theirs in records.items() if theirs == boxes):
            yield "members of a class are stored differently"


def _about_the_claim(
    original: Trajectories, linkage: Linkage, manifest: dict[str, Any], records: dict[str, list[Box]]
) -> Iterator[str]:
    claim, verdict, losses = manifest["claim"], manifest["verdict"], manifest["losses"]
    # a k-anonymous release has k records that fit in every interval, too
    if (
        claim.get("type") not in {"k-anonymity", "kte-anonymity"}
        or not verdict["holds"]
        or verdict["checked"] != len(records)
    ):
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
    dropped = dict(original.intake.dropped)
    if (
        (losses["subjects_suppressed"], losses["samples_created"]) != (len(samples) - len(owner), 0)
        or losses["samples_suppressed"] not in (lost, _rounded_up(lost))
        or told not in (dropped, {reason: _rounded_up(rows) for reason, rows in dropped.items()})
    ):
        yield "other losses"


def _rounded_up(count: int) -> int:
    step = int("1" + "0" * max(1, len(str(count)) - 2))
    return -(-count // step) * step


def _holds(box: Box, sample: tuple[int, int, int]) -> bool:
    t, x, y = sample
    return box[0] <= t < box[1] and box[2] <= x < box[4] and box[3] <= y < box[5]


def _hull(samples: list[tuple[int, int, int]]) -> Box | None:
    if not samples:
        return None
    t, x, y = zip(*samples, strict=True)
    return min(t), max(t) + 1, min(x), min(y), max(x) + 1, max(y) + 1


def _is_ring(geometry: Any, corners: list[tuple[float, float]]) -> bool:
    if not isinstance(geometry, bytes) or len(geometry) != 93:
        return False
    order, kind, rings, points, *values = struct.unpack("<BIII10d", geometry)
    expected = [value for corner in corners for value in corner]
    near = all(abs(a - b) <= 1e-9 for a, b in zip(values, expected, strict=True))
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
