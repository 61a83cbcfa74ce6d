"""Damaged release folders without end: what each damage does is drawn from a seed.

Every damage keeps the attacker's books: digests and counts in the manifest are made right again, mostly, so
that what was damaged is what must be found.
"""

import json
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from folder_judge import objections
from naive_release import naive_release, small_city
from parquet_surgery import Anatomy, Page
from shoal.errors import ShoalError
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    manifest_of,
    write_manifest,
)
from shoal.release_folder.page_mark import PUBLIC
from shoal.release_folder.tables import write_table
from shoal.runtime.hashing import sha256_of
from shoal.runtime.randomness import Randomness
from shoal.verification import verify, verify_folder

PLANE = "+proj=laea +lat_0=37.8 +lon_0=-122.4 +datum=WGS84 +units=m +no_defs"
PLANTED = b"caller-0007"
LONGEST_S = 10.0
_ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**53, 2**63, -(2**63), 10**30, 0.5, 1e300, -1e-300, "", "x",
    "caller-0007", [], {}, [[]], {"caller-0007": [37.77, -122.41]}, "NaN", "\x00\x1b[2J", "é\u202e",
)  # fmt: skip


@dataclass
class Sound:
    """The folder that all others are made from."""

    original: Trajectories
    folder: Path
    linkage: Linkage

    @classmethod
    def made(cls, folder: Path) -> "Sound":
        original = small_city(crs=PLANE)
        release, linkage = naive_release(original, n_boxes=3, rng=Randomness.for_research(7))
        folder.mkdir(parents=True)
        write_table(release, folder / RELEASE_FILE)
        (folder / REPORT_FILE).write_text(f"<!doctype html><head>{PUBLIC}</head><h1>A release</h1>")
        verdict = verify(original, release, linkage)
        write_manifest(manifest_of(release, verdict, folder / RELEASE_FILE), folder / MANIFEST_FILE)
        return cls(original, folder, linkage)


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
    path.write_text(json.dumps(manifest, ensure_ascii=draw.random() < 0.5))


def in_text_of_manifest(draw: random.Random, folder: Path) -> None:
    path = folder / MANIFEST_FILE
    path.write_bytes(_bytes_changed(draw, path.read_bytes()))


def _bytes_changed(draw: random.Random, content: bytes) -> bytes:
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


def _with_digest(folder: Path, **counts: int) -> None:
    path = folder / MANIFEST_FILE
    manifest = json.loads(path.read_text())
    manifest.update(release_sha256=sha256_of(folder / RELEASE_FILE), **counts)
    path.write_text(json.dumps(manifest))


def in_bytes_of_table(draw: random.Random, folder: Path) -> None:
    path = folder / RELEASE_FILE
    path.write_bytes(_bytes_changed(draw, path.read_bytes()))
    _with_digest(folder)


def in_footer(draw: random.Random, folder: Path) -> None:
    path = folder / RELEASE_FILE
    anatomy = Anatomy.of(path)
    for _ in range(draw.choice((1, 1, 2))):
        _changed(draw, anatomy.footer, _odd_field(draw))
    anatomy.write(path)
    _with_digest(folder)


def in_pages(draw: random.Random, folder: Path) -> None:
    path = folder / RELEASE_FILE
    anatomy = Anatomy.of(path)
    pages = draw.choice(anatomy.pages)
    page = draw.choice(pages)
    match draw.randrange(7):
        case 0:
            _changed(draw, page.head, _odd_field(draw))
        case 1:
            page.body = _bytes_changed(draw, page.body)
        case 2:
            page.raw = _bytes_changed(draw, pa.Codec("zstd").compress(page.body, asbytes=True))
        case 3:
            pages.insert(draw.randrange(len(pages) + 1), page)
        case 4:
            pages.append(Page({"type": draw.randrange(4)}, PLANTED))
        case 5:
            page.body += PLANTED
        case _:
            anatomy.before_footer, anatomy.behind_footer = draw.choice(((PLANTED, b""), (b"", PLANTED)))
    anatomy.write(path)
    _with_digest(folder)


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
        _with_digest(folder, n_samples=table.num_rows, n_records=counted)


def in_page(draw: random.Random, folder: Path) -> None:
    path = folder / REPORT_FILE
    content = draw.choice((_bytes_changed(draw, path.read_bytes()), path.read_bytes() + PLANTED, b""))
    path.write_bytes(content)
    if draw.random() < 0.7:
        manifest = json.loads((folder / MANIFEST_FILE).read_text())
        manifest["report_sha256"] = sha256_of(path)
        (folder / MANIFEST_FILE).write_text(json.dumps(manifest))


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


DAMAGES: tuple[Callable[[random.Random, Path], None], ...] = (
    in_manifest, in_text_of_manifest, in_bytes_of_table, in_footer, in_pages, in_columns, in_page, in_files,
)  # fmt: skip


@dataclass
class Tally:
    """What became of damaged folders; bad: seeds of those that broke a rule, with the rule."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    bad: list[tuple[int, str]] = field(default_factory=list)
    slowest_s: float = 0.0


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def examine(sound: Sound, seed: int, room: Path, tally: Tally) -> None:
    """Damage a copy of the sound folder as a seed says, verify it, and let the judge look at what passed."""
    draw = random.Random(seed)
    folder = room / "release"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound.folder, folder)
    damage = draw.choice(DAMAGES)
    try:
        damage(draw, folder)
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        OverflowError,
        AttributeError,
        pa.ArrowException,
        OSError,
    ):
        tally.outcomes[damage.__name__, "not made"] += 1
        return
    started = time.process_time()
    try:
        with _ended_after(60 * LONGEST_S):  # of the clock, which other work may slow down
            verdict = verify_folder(sound.original, folder, sound.linkage)
        outcome = "accepted" if verdict.holds else "refused"
        for finding in verdict.findings:
            if PLANTED.decode() in finding.message:
                tally.bad.append((seed, "an identifier in a finding"))
    except ShoalError as error:
        outcome = "bad input"
        if "\n" in str(error):
            tally.bad.append((seed, "more than a line"))
    except TimeoutError:
        outcome = "hang"
    except Exception as error:
        outcome = "crash"
        tally.bad.append((seed, f"{type(error).__name__}: {error}"))
    took_s = time.process_time() - started
    tally.slowest_s = max(tally.slowest_s, took_s)
    if took_s > LONGEST_S:
        tally.bad.append((seed, f"took {took_s:.1f} s"))
    if outcome == "accepted":
        against = objections(sound.original, folder, sound.linkage, [PLANTED])
        if against:
            tally.bad.append((seed, f"accepted, and the judge says: {against[0]}"))
            outcome = "accepted and wrong"
    tally.outcomes[damage.__name__, outcome] += 1
