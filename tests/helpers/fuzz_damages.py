"""Random damages to a release folder: entries and bytes of its files, columns, pages, and strange files.

Each is drawn from a seed, and mostly keeps the attacker's books: digests and counts in the manifest are made
right again, so that what was damaged is what must be found.
"""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_surgery import Anatomy, Page
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE, REPORT_FILE
from shoal.runtime.files import sha256_of

PLANTED = b"caller-0007"
_ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**53, 2**63, -(2**63), 10**30, 0.5, 1e300, -1e-300, "", "x",
    "caller-0007", [], {}, [[]], {"caller-0007": [37.77, -122.41]}, "NaN", "\x00\x1b[2J", "é\u202e",
)  # fmt: skip


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in nested dictionaries and lists."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from _places(value, (*path, key))


def _changed(draw: random.Random, node: Any, odd: Callable[[Any], Any]) -> None:
    """One entry somewhere in nested dictionaries and lists replaced, dropped, repeated or added."""
    places = list(_places(node))
    *path, key = draw.choice(places)
    at = node
    for step in path:
        at = at[step]
    match draw.randrange(5):
        case 0:
            del at[key]
        case 1 if isinstance(at, list):
            at.insert(key, at[key])
        case 2 if isinstance(at, dict) and isinstance(key, str):
            at[draw.choice(["caller-0007", key + "_", "note"])] = odd(at[key])
        case _:
            at[key] = odd(at[key])


def _odd_entry(draw: random.Random) -> Callable[[Any], Any]:
    def change(value: Any) -> Any:
        if isinstance(value, bool) or value is None or draw.random() < 0.4:
            return draw.choice(_ODD)
        if isinstance(value, int):
            return value + draw.choice((-1, 1, 7, -value, value, 10**6))
        if isinstance(value, float):
            return value * draw.choice((0.5, 2.0, 0.999, 1.001, -1.0, 1000.0, 0.001))
        if isinstance(value, str):
            return draw.choice(
                (value + "0", value[1:], value.upper(), value.replace("m", "km"), value + " caller-0007")
            )
        return draw.choice(_ODD)

    return change


def _odd_field(draw: random.Random) -> Callable[[Any], Any]:
    def change(value: Any) -> Any:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return value + draw.choice((-1, 1, 8, 256, -value, 2**31 - 1 - value, 2**40, -(2**40)))
        if isinstance(value, bytes):
            return draw.choice((PLANTED, value + PLANTED, value[:-1], b"", value * 100))
        return value

    return change


def in_manifest(draw: random.Random, folder: Path) -> None:
    path = folder / MANIFEST_FILE
    manifest = json.loads(path.read_text())
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        _changed(draw, manifest, _odd_entry(draw))
    path.write_text(json.dumps(manifest, ensure_ascii=draw.random() < 0.1, indent=2) + "\n")


def in_text_of_manifest(draw: random.Random, folder: Path) -> None:
    path = folder / MANIFEST_FILE
    path.write_bytes(bytes_changed(draw, path.read_bytes()))


def bytes_changed(draw: random.Random, content: bytes) -> bytes:
    out = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(out) or 1)
        match draw.randrange(6):
            case 0:
                out[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                out[at : at + 1] = bytes([(out[at] if out else 0) ^ 1 << draw.randrange(8)])
            case 2:
                del out[at : at + draw.randrange(1, 40)]
            case 3:
                out[at:at] = draw.choice(
                    (b" " + PLANTED + b" ", bytes(draw.randrange(1, 9)), out[: draw.randrange(60)])
                )
            case 4:
                other = draw.randrange(len(out) or 1)
                out[at : at + 8] = out[other : other + 8]
            case _:
                del out[draw.choice((at, len(out) - draw.randrange(1, 20))) :]
    return bytes(out)


def with_digest(folder: Path, **counts: int) -> None:
    path = folder / MANIFEST_FILE
    manifest = json.loads(path.read_text())
    manifest.update(release_sha256=sha256_of(folder / RELEASE_FILE), **counts)
    path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def in_bytes_of_table(draw: random.Random, folder: Path) -> None:
    path = folder / RELEASE_FILE
    path.write_bytes(bytes_changed(draw, path.read_bytes()))
    with_digest(folder)


def in_footer(draw: random.Random, folder: Path) -> None:
    path = folder / RELEASE_FILE
    anatomy = Anatomy.of(path)
    for _ in range(draw.choice((1, 1, 2))):
        _changed(draw, anatomy.footer, _odd_field(draw))
    anatomy.write(path)
    with_digest(folder)


def in_pages(draw: random.Random, folder: Path) -> None:
    path = folder / RELEASE_FILE
    anatomy = Anatomy.of(path)
    pages = draw.choice(anatomy.pages)
    page = draw.choice(pages)
    match draw.randrange(7):
        case 0:
            _changed(draw, page.head, _odd_field(draw))
        case 1:
            page.body = bytes_changed(draw, page.body)
        case 2:
            page.raw = bytes_changed(draw, pa.Codec("zstd").compress(page.body, asbytes=True))
        case 3:
            pages.insert(draw.randrange(len(pages) + 1), page)
        case 4:
            pages.append(Page({"type": draw.randrange(4)}, PLANTED))
        case 5:
            page.body += PLANTED
        case _:
            anatomy.before_footer, anatomy.behind_footer = draw.choice(((PLANTED, b""), (b"", PLANTED)))
    anatomy.write(path)
    with_digest(folder)


def in_columns(draw: random.Random, folder: Path) -> None:
    path = folder / RELEASE_FILE
    table = pq.read_table(path)
    metadata = table.schema.metadata
    names = table.column_names
    column = draw.randrange(len(names))
    values = table[names[column]].to_pylist()
    row = draw.randrange(len(values))
    other = draw.randrange(len(values))
    match draw.randrange(11):
        case 0:
            values[row] = values[other]
            table = table.set_column(column, names[column], pa.array(values))
        case 1:
            order = list(range(len(values)))
            draw.shuffle(order)
            table = table.take(order)
        case 2:
            table = table.take([k for k in range(len(values)) if k != row])
        case 3:
            table = table.take([*range(len(values)), row])
        case 4:
            table = table.drop_columns([names[column]])
        case 5:
            extra = draw.choice(
                ([*range(len(values))], [PLANTED.decode()] * len(values), [[1]] * len(values))
            )
            table = table.append_column(draw.choice(("note", "lat", "t", names[column])), pa.array(extra))
        case 6:
            table = table.set_column(column, names[column], pa.array([str(value) for value in values]))
        case 7:
            values[row] = None
            table = table.set_column(column, names[column], pa.array(values))
        case 8:
            numbers = list(range(1, 7))
            column = draw.choice(numbers)
            values = table[names[column]].to_pylist()
            values[row] += draw.choice((60, -60, 100, -100, 1, 0.5, 1e-9, 6000, 1e6))
            table = table.set_column(column, names[column], pa.array(values))
        case 9:
            renamed = dict(
                zip(sorted(set(table["trajectory_id"].to_pylist())), "abcdefghijklmnop", strict=False)
            )
            ids = [renamed[name] for name in table["trajectory_id"].to_pylist()]
            table = table.set_column(0, "trajectory_id", pa.array(ids))
        case _:
            table = table.rename_columns([*names[:-2], names[-1], names[-2]])
    store = draw.random() < 0.1
    with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=store) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata or {})
    counted = len(set(table["trajectory_id"].to_pylist())) if "trajectory_id" in table.column_names else 0
    if draw.random() < 0.8:
        with_digest(folder, n_samples=table.num_rows, n_records=counted)


def in_page(draw: random.Random, folder: Path) -> None:
    path = folder / REPORT_FILE
    content = draw.choice((bytes_changed(draw, path.read_bytes()), path.read_bytes() + PLANTED, b""))
    path.write_bytes(content)
    if draw.random() < 0.7:
        manifest = json.loads((folder / MANIFEST_FILE).read_text())
        manifest["report_sha256"] = sha256_of(path)
        (folder / MANIFEST_FILE).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def in_files(draw: random.Random, folder: Path) -> None:
    name = draw.choice(
        (MANIFEST_FILE, RELEASE_FILE, REPORT_FILE, "x", "é\x1b", os.fsdecode(b"\xff"), "caller-0007")
    )
    path = folder / name
    if path.exists() and draw.random() < 0.8:
        path.unlink()
    if path.exists():
        return
    match draw.randrange(6):
        case 0:
            path.symlink_to(draw.choice(("/", "/dev/zero", "nothing", name, MANIFEST_FILE)))
        case 1:
            os.mkfifo(path)
        case 2:
            path.mkdir()
        case 3:
            shutil.copy(
                folder / draw.choice([each.name for each in folder.iterdir() if each.is_file()] or [name]),
                path,
            )
        case 4:
            path.write_bytes(b"PAR1" + PLANTED * draw.randrange(90) + b"PAR1")
