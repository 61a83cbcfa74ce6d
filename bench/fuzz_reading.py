"""Mutated files of every format against the reader.

    python bench/fuzz_reading.py --inputs 10000 --seed 1

No input may end in an error other than shoal's, take more than 20 s of the processor, end the process or
fill its memory. Where a simple independent reading exists (``csv``, ElementTree, ``json``, fitdecode), no
sample may have another person, time or place than it says. Exit 1 with the seeds of those that do; ``--only
SEED`` repeats one. Inputs are read in blocks, each in a process of its own.
"""

import argparse
import gzip
import io
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from foreign_files import FILES, installed
from foreign_writers import _fit_crc
from independent_reading import WRITERS, samples
from shoal.errors import ShoalError
from shoal.io import read

_MORE_MEMORY = 8 << 30  # than the process has before its first input
_SECONDS = 20
_AT_ONCE = 250
_WORDS = [
    b"", b"0", b"-1", b"1e400", b"NaN", b"null", b"\\N", b"181", b"360", b"48,85", b"2024-13-45",
    b"9999999999999999999", b"\xff\xfe", b"\x00", b"\xe9", b'"', b"'", b"\n", b",", b";", b"\t",
    b"<", b">", b"{", b"}", b"[", b"]", b"&#0;", b"T24:00:00Z", b"+99:99", b"1714564800000", b"1e309",
    b"\xc3\xbc", b"\xe2\x80\xa8", b"S", b"W", b"12:00", b"01/02/2024", b"XFD1048576",
    b"guest", b"999999", b"Europe/Paris", b"zone", b"period", b"32512345",
]  # fmt: skip


def main() -> int:
    """Run a campaign and print what became of the inputs."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--inputs", type=int, default=1000)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--only", type=int)
    words.add_argument("--formats", default="", help="an expression for the names of formats")
    asked = words.parse_args()
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as room:
        corpus = _corpus(Path(room), asked.formats)
        seed = asked.seed * 10**7 if asked.only is None else asked.only
        end = seed + (asked.inputs if asked.only is None else 1)
        started, begun = time.monotonic(), seed
        while seed < end:
            seed = _block(corpus, seed, min(seed + _AT_ONCE, end), Path(room), tally)
            print(f"{seed - begun:,} inputs, {time.monotonic() - started:.0f} s: {dict(tally)}", flush=True)
    return 1 if any(kind.startswith("BAD") for kind in tally) else 0


def _corpus(room: Path, formats: str) -> list[tuple[str, Path, dict[str, Any]]]:
    """Sound files, written by a process of its own: some libraries do not survive a fork."""
    if not (child := os.fork()):
        for name, foreign in _layouts().items():
            place = room / "sound" / str(list(FILES).index(name))
            place.mkdir(parents=True)
            source = foreign.write(place)
            if isinstance(source, Path):
                (place.parent / f"{place.name}.name").write_text(str(source))
        for ending, write in WRITERS.items():
            write(room / f"six{ending}")
        os._exit(0)
    os.waitpid(child, 0)
    sound = []
    for name, foreign in _layouts().items():
        said = room / "sound" / f"{list(FILES).index(name)}.name"
        if said.exists():
            sound.append((name, Path(said.read_text()), dict(foreign.options)))
    for ending in WRITERS:
        place = room / ending[1:]
        place.mkdir()
        (room / f"six{ending}").rename(place / f"six{ending}")
        sound += [(f"six people in {ending}", place / f"six{ending}", {})] * 3
    return [entry for entry in sound if re.search(formats, entry[0])]


def _layouts() -> dict[str, Any]:
    return {name: foreign for name, foreign in FILES.items() if installed(foreign.needs)}


def _block(corpus: Any, seed: int, end: int, room: Path, tally: Counter[str]) -> int:
    log, at = room / "log", room / "at"
    log.write_text("")
    child = os.fork()
    if not child:
        warnings.simplefilter("error")
        pa.set_cpu_count(1)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _MORE_MEMORY, used + _MORE_MEMORY))
        signal.signal(signal.SIGPROF, _too_long)
        with log.open("a", buffering=1) as file:
            for each in range(seed, end):
                at.write_text(str(each))
                signal.setitimer(signal.ITIMER_PROF, _SECONDS)
                outcome = _examine(corpus, each, room / "work")
                signal.setitimer(signal.ITIMER_PROF, 0)
                print(outcome.replace("\n", "\\n"), file=file)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    for line in log.read_text().splitlines():
        tally[line.split(":")[0]] += 1
        if line.startswith("BAD"):
            print(line.replace("\\n", "\n"))
    if status == 0:
        return end
    died = int(at.read_text())
    tally["BAD"] += 1
    print(f"BAD: {died} {_name(corpus, died)}: the process ended with {os.waitstatus_to_exitcode(status)}")
    return died + 1


def _too_long(*_: object) -> None:
    raise RuntimeError(f"longer than {_SECONDS} s")


def _name(corpus: Any, seed: int) -> str:
    return str(random.Random(seed).choice(corpus)[0])


def _examine(corpus: Any, seed: int, work: Path) -> str:
    draw = random.Random(seed)
    name, source, options = draw.choice(corpus)
    shutil.rmtree(work, ignore_errors=True)
    root = source if source.is_dir() else source.parent
    shutil.copytree(root, work)
    files = [path for path in sorted(work.rglob("*")) if path.is_file()]
    path = draw.choice(files) if source.is_dir() else work / source.name
    path.write_bytes(_mutated(path.name, path.read_bytes(), draw))
    moved = work / source.relative_to(root)
    try:
        got = read(moved, snap=False, **options)
    except ShoalError as error:
        return "refused" if "\n" not in str(error) else f"BAD: {seed} {name}: a message of several lines"
    except BaseException:
        return f"BAD: {seed} {name}: {traceback.format_exc(limit=-4)}"
    expected = samples(moved)
    if expected is None:
        return "read"
    ids = [who for who, n in zip(got.ids, got.lengths, strict=True) for _ in range(n)]
    if got.lat is None or got.lon is None:
        return f"BAD: {seed} {name}: read as local meters"
    rows = zip(ids, got.t.tolist(), got.lat.tolist(), got.lon.tolist(), strict=True)
    for who, t, lat, lon in rows:
        if not any(
            who == other[0] and abs(t - other[1]) < 2e-3 and abs(lat - other[2]) < 1e-7
            and abs(lon - other[3]) < 1e-7 for other in expected
        ):  # fmt: skip
            return f"BAD: {seed} {name}: the sample {who!r} {t} {lat} {lon} is none of {sorted(expected)[:6]}"
    return "read and compared"


def _mutated(name: str, content: bytes, draw: random.Random) -> bytes:
    """The content with one to four changes; inside of a packed file, and with a right checksum in FIT."""
    name = name.lower()
    if name.endswith(".gz"):
        return gzip.compress(_mutated(name[:-3], gzip.decompress(content), draw))
    if content.startswith(b"PK\x03\x04") and draw.random() < 0.8:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            inner = {member: archive.read(member) for member in archive.namelist()}
        chosen = draw.choice(list(inner))
        inner[chosen] = _mutated(chosen, inner[chosen], draw)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in inner.items():
                archive.writestr(member, data)
        return packed.getvalue()
    for _ in range(draw.randint(1, 4)):
        content = _changed(content, draw)
    if name.endswith(".fit") and len(content) > 16 and draw.random() < 0.8:
        body = content[:4] + (len(content) - 16).to_bytes(4, "little") + content[8:-2]
        content = body + _fit_crc(body).to_bytes(2, "little")
    return content


def _changed(content: bytes, draw: random.Random) -> bytes:
    at, length = draw.randrange(len(content) + 1), draw.choice([1, 1, 1, 2, 4, 8, 30])
    kind = draw.randrange(7)
    if kind == 0:
        return content[:at] + bytes([draw.randrange(256)]) + content[at + 1 :]
    if kind == 1:
        return content[:at] + content[at + length :]
    if kind == 2:
        return content[:at] + content[at : at + length] * 2 + content[at + length :]
    if kind == 3:
        return content[:at] + draw.choice(_WORDS) + content[at + draw.choice([0, length]) :]
    if kind == 4:  # another value in place of a number or a word
        found = list(re.finditer(rb"-?\d+(\.\d+)?|\b\w+\b", content))
        if found:
            match = draw.choice(found)
            return content[: match.start()] + draw.choice(_WORDS) + content[match.end() :]
    if kind == 5:  # a line, or what stands between two tags, twice
        lines = re.split(rb"(?<=[\n>])", content)
        line = draw.randrange(len(lines))
        return b"".join([*lines[: line + 1], *lines[line:]])
    return (
        content[:at]
        if draw.random() < 0.3
        else content[:at] + bytes([draw.choice(b"0123456789")]) + content[at:]
    )


if __name__ == "__main__":
    sys.exit(main())
