"""Damages that keep up appearances: folders that are whole and agree with themselves, and say or store more.

The same change in every member of a class, other digits of the same number, the same rows or the same
manifest in another spelling, names, and sizes. A damage may change the linkage, too: it gives the new name of
each old one, None for a record that is gone.
"""

import json
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz_damages import PLANTED, with_digest
from shoal.model.release import BOX_COLUMNS, Boxes, Release
from shoal.release_folder.folder import read_release
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE
from shoal.release_folder.tables import write_table

Renamed = dict[str, str | None] | None
_HOSTILE_NAMES = (
    "", "\x00", "\x1b[2J", "a\u202eb", "../../x", "=1+1", "'; --", "x" * 70_000, "\ud7ff\U0010ffff", " ", "0",
    PLANTED.decode(), "x" + PLANTED.decode() + "y", "caller0007", "CALLER-0007", "\uff43aller-0007", "7",
)  # fmt: skip


def _rows_of(release: Release) -> list[list[tuple[int, ...]]]:
    """The boxes of each record as rows of six bounds."""
    rows = list(zip(*(column.tolist() for column in release.boxes.columns()), strict=True))
    ends = release.offsets.tolist()
    return [rows[start:end] for start, end in pairwise(ends)]


def _written(folder: Path, release: Release, names: list[str], rows: list[list[tuple[int, ...]]]) -> None:
    """These records in place of those of the folder, with all counts and the digest right."""
    table = np.array([row for own in rows for row in own], dtype=np.int64).reshape(-1, len(BOX_COLUMNS))
    changed = replace(
        release,
        trajectory_ids=tuple(names),
        offsets=np.cumsum([0, *(len(own) for own in rows)]).astype(np.int64),
        payload=Boxes(**dict(zip(BOX_COLUMNS, np.ascontiguousarray(table.T), strict=True))),
    )
    write_table(changed, folder / RELEASE_FILE)
    with_digest(folder, n_records=len(names), n_samples=len(table))


def _told(folder: Path, change: Any) -> None:
    path = folder / MANIFEST_FILE
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def of_a_class(draw: random.Random, folder: Path) -> Renamed:
    """The same lie in the boxes of all members of a class; mostly, the losses are made to fit."""
    release = read_release(folder)
    names, rows = list(release.trajectory_ids), _rows_of(release)
    crowd = draw.choice(sorted({tuple(own) for own in rows}))
    members = [place for place, own in enumerate(rows) if tuple(own) == crowd]
    others = [own for own in rows if tuple(own) != crowd]
    boxes, box = list(crowd), draw.randrange(len(crowd))
    renamed: Renamed = None
    match draw.randrange(9):
        case 0 | 1:
            changed, side = list(boxes[box]), draw.randrange(6)
            changed[side] += draw.choice((-1, 1, 1, -1, 7, -7, 10**6))
            boxes[box] = tuple(changed)
        case 2:
            del boxes[box]
        case 3:
            boxes.insert(box, boxes[box])
        case 4:
            first, second = list(boxes[box]), list(boxes[box])
            axis = draw.choice((0, 2, 3))
            end = {0: 1, 2: 4, 3: 5}[axis]
            first[end] = second[axis] = (first[axis] + first[end]) // 2
            boxes[box : box + 1] = [tuple(first), tuple(second)]
        case 5 if others:
            boxes = draw.choice(others)
        case 6:
            members = members[:1]
            boxes = draw.choice(others) if others else boxes[:1]
        case 7:
            renamed = dict(zip(names, names, strict=True)) | {names[place]: None for place in members}
        case _:
            low, high = np.array(boxes).min(axis=0), np.array(boxes).max(axis=0)
            boxes = [tuple(int(high[column] if column in {1, 4, 5} else low[column]) for column in range(6))]
    rows = [sorted(boxes) if place in members else own for place, own in enumerate(rows)]
    if renamed is not None:
        kept = [place for place, name in enumerate(names) if renamed[name] is not None]
        names, rows = [names[place] for place in kept], [rows[place] for place in kept]
    if draw.random() < 0.2:
        order = draw.sample(range(len(names)), len(names))
        names, rows = [names[place] for place in order], [rows[place] for place in order]
    _written(folder, release, names, rows)
    gone = len(members) if renamed is not None else 0
    samples = draw.choice((0, len(members), 9 * gone, 9 * len(members), draw.randrange(100)))

    def losses(manifest: dict[str, Any]) -> None:
        manifest["losses"]["samples_suppressed"] += samples
        manifest["losses"]["subjects_suppressed"] += draw.choice((gone, gone, 0))
        manifest["verdict"]["checked"] = len(names)

    _told(folder, losses)
    return renamed


def in_the_claim(draw: random.Random, folder: Path) -> Renamed:
    """Another claim, and all that follows from it."""
    claims: tuple[dict[str, Any], ...] = (
        {"k": draw.choice((2, 3, 4, 5, 50))},
        {"truthful": False},
        {"disjoint_in_time": False},
        {"hull": draw.choice(("outward:1", "outward:9", "grid:200", "grid:50000", "outward:0", "grid:0"))},
        {"type": "kte-anonymity", "tau_s": draw.choice((60.0, 1800.0, 1e9)), "epsilon_s": 1800.0},
        {"type": draw.choice(("k-delta-anonymity", "trajectory-p-privacy", "location-p-privacy", "none"))},
    )
    change = draw.choice(claims)

    def claim(manifest: dict[str, Any]) -> None:
        manifest["claim"].update(change)
        for name in manifest["parameters"].keys() & change.keys():
            manifest["parameters"][name] = change[name]
        if change.get("type") == "kte-anonymity":
            manifest["claim"] = {"type": "kte-anonymity", "k": 2, **change}

    _told(folder, claim)
    return None


def in_digits(draw: random.Random, folder: Path) -> Renamed:
    """Other digits behind the ones that count, or another zero, in one row or in all rows of the same box."""
    path = folder / RELEASE_FILE
    table = pq.read_table(path)
    metadata = table.schema.metadata
    row = draw.randrange(len(table))
    keys = list(zip(*(table[name].to_pylist() for name in BOX_COLUMNS), strict=True))
    alike = [place for place, key in enumerate(keys) if key == keys[row]] if draw.random() < 0.7 else [row]
    column = draw.choice([*BOX_COLUMNS, "geometry", "geometry"])
    if column == "geometry":
        values = table["geometry"].to_pylist()
        changed = _other_outline(draw, values[row])
        for place in alike:
            values[place] = changed
        array = pa.array(values, pa.large_binary())
    else:
        numbers = table[column].to_numpy().astype(np.float64)
        match draw.randrange(5):
            case 0:
                numbers[alike] = np.nextafter(numbers[alike], draw.choice((-np.inf, np.inf)))
            case 1:
                numbers[alike] += draw.choice((2, 3, 4, 5)) * np.spacing(numbers[alike])
            case 2:
                numbers[numbers == 0] = -0.0
            case 3:
                numbers[alike] *= 1 + draw.choice((1e-15, -1e-15, 1e-13, 1e-9))
            case _:
                pass  # whole numbers as floats
        if column.startswith("t_") and draw.random() < 0.5:
            ticks = [int(number) * 10**9 + draw.randrange(300) for number in numbers.tolist()]
            array = pa.array(ticks, pa.timestamp("ns"))
        else:
            array = pa.array(numbers)
    table = table.set_column(table.column_names.index(column), column, array)
    with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata or {})
    with_digest(folder)
    return None


def _other_outline(draw: random.Random, outline: bytes) -> bytes:
    """Well-known binary with other digits, another head, or more behind it."""
    changed = bytearray(outline)
    at = 13 + 8 * draw.randrange(10)
    match draw.randrange(6):
        case 0 | 1:
            changed[at] ^= 1 << draw.randrange(8)
        case 2:
            changed[at + draw.randrange(8)] ^= 1 << draw.randrange(8)
        case 3:
            changed[at : at + 8] = b"caller7\x7f"  # a number that is none
        case 4:
            changed[:13] = bytes([1]) + (0x20000003).to_bytes(4, "little") + bytes(changed[5:13])
        case _:
            changed += PLANTED
    if draw.random() < 0.3:
        changed[77:93] = changed[13:29]
    return bytes(changed)


def in_storage(draw: random.Random, folder: Path) -> Renamed:
    """The same rows as another writer would put them down."""
    path = folder / RELEASE_FILE
    table = pq.read_table(path)
    metadata = table.schema.metadata or {}
    fields = list(table.schema.remove_metadata())
    if draw.random() < 0.3:
        fields = [field.with_nullable(draw.random() < 0.5) for field in fields]
    if draw.random() < 0.1:
        place = draw.randrange(len(fields))
        fields[place] = fields[place].with_metadata({"note": PLANTED, "PARQUET:field_id": "7"})
    if draw.random() < 0.2:
        place = draw.randrange(1, 7)
        kinds = (
            pa.int32(),
            pa.float32(),
            pa.float64(),
            pa.decimal128(20, 0),
            pa.timestamp("us"),
            pa.string(),
        )
        fields[place] = fields[place].with_type(draw.choice(kinds))
    if draw.random() < 0.2:
        fields[0] = fields[0].with_type(
            draw.choice((pa.large_string(), pa.dictionary(pa.int32(), pa.string())))
        )
    table = table.replace_schema_metadata(None).cast(pa.schema(fields))
    compression = draw.choice(("zstd", "zstd", "snappy", "none", "gzip", "brotli", "lz4"))
    settings: dict[str, Any] = {
        "compression": compression,
        "store_schema": draw.random() < 0.1,
        "use_dictionary": draw.choice((True, True, False, ["x_min"], ["trajectory_id", "geometry"])),
        "data_page_size": draw.choice((None, 1, 64, 4096)),
        "data_page_version": draw.choice(("1.0", "1.0", "1.0", "2.0")),
        "version": draw.choice(("1.0", "2.4", "2.6")),
        "write_statistics": draw.choice((True, True, False, ["x_min"])),
        "dictionary_pagesize_limit": draw.choice((None, 16)),
        "write_page_index": draw.random() < 0.1,
        "write_page_checksum": draw.random() < 0.1,
        "use_byte_stream_split": draw.random() < 0.05,
    }
    if compression in {"zstd", "gzip", "brotli"}:
        settings["compression_level"] = draw.choice((None, 1, 3, 9))
    with pq.ParquetWriter(path, table.schema, **settings) as writer:
        cuts = sorted(
            {0, len(table), *(draw.randrange(len(table)) for _ in range(draw.choice((0, 0, 1, 3))))}
        )
        for start, end in pairwise(cuts):
            writer.write_table(table.slice(start, end - start))
        writer.add_key_value_metadata(metadata)
    with_digest(folder)
    return None


def in_names(draw: random.Random, folder: Path) -> Renamed:
    """Other pseudonyms, in the linkage, too."""
    release = read_release(folder)
    names = list(release.trajectory_ids)
    place = draw.randrange(len(names))
    match draw.randrange(4):
        case 0:
            new = [f"r{number:02d}" for number in range(len(names))]
        case 1:
            new = [f"{draw.getrandbits(64):016x}" for _ in names]
        case 2:
            new = [*names]
            new[place] = draw.choice(names)
        case _:
            new = [*names]
            new[place] = draw.choice(_HOSTILE_NAMES)
    _written(folder, release, new, _rows_of(release))
    return dict(zip(names, new, strict=True))


def in_spelling(draw: random.Random, folder: Path) -> Renamed:
    """The same manifest in other letters: order, blanks, escapes, spellings of a number."""
    path = folder / MANIFEST_FILE
    manifest = json.loads(path.read_text())
    if draw.random() < 0.5:
        node = draw.choice([each for each in (manifest, *manifest.values()) if isinstance(each, dict)])
        entries = list(node.items())
        draw.shuffle(entries)
        node.clear()
        node.update(entries)
    text = json.dumps(
        manifest,
        indent=draw.choice((2, 2, 1, None, "\t")),
        ensure_ascii=draw.random() < 0.3,
        separators=draw.choice((None, None, (" ,", ":"))),
    )
    text += draw.choice(("\n", "\n", "", " \n", "\n\n"))
    for before, after in (
        ("100.0", "1e2"),
        ("60.0", "60"),
        ('"k"', '"\\u006b"'),
        ("true", " true"),
        ("2,", "2 ,"),
    ):
        if draw.random() < 0.1:
            text = text.replace(before, after)
    path.write_text(text)
    return None


def of_size(draw: random.Random, folder: Path) -> Renamed:
    """Far more rows or records than there are people, in few bytes."""
    path = folder / RELEASE_FILE
    table = pq.read_table(path)
    metadata = table.schema.metadata or {}
    n = int(10 ** draw.uniform(3, 6.1))
    kind = draw.randrange(3)
    many = table.take([0] * n) if kind == 0 else table.take([k % len(table) for k in range(n)])
    if kind == 1:
        names = pa.array([f"{number:x}" for number in range(n)])
        many = many.set_column(0, "trajectory_id", names)
    if kind == 2:
        starts = np.arange(n) * 60
        many = many.take([0] * n).set_column(1, "t_start", pa.array(starts))
        many = many.set_column(2, "t_end", pa.array(starts + 60))
    if draw.random() < 0.3 and "geometry" in many.column_names:
        many = many.drop_columns(["geometry"])
    with pq.ParquetWriter(path, many.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(many)
        writer.add_key_value_metadata(metadata if "geometry" in many.column_names else {})
    with_digest(folder, n_samples=n, n_records=len(many["trajectory_id"].unique()))
    return None
