"""Genuine releases with random options must be accepted, mutated ones refused, in every format.

    python bench/forge_releases.py --mutants 2000 --genuine 60

Each genuine release is made by a random method and options, exported in every format, and verified
against its raw data. Then its files and those of its exports are mutated: bits, cuts, doubled and
appended bytes, files more, fewer, exchanged or renamed, entries of the manifest; as a forger does,
digests and the list of files are written again. The judge shares no code with shoal: a mutant may be
accepted only if its files are, byte for byte, those of the genuine folder, but for tables with the same
rows (outlines to 1e-9 degrees; of W4M and NWA, whose points are moved, rows for which the claim is as true,
of NWA at the same times), counts of W4M that follow from no file, and what is the publisher's word (the page,
its digest, the version, and the entries usefulness and parameters of the manifest). Exit 1 if a mutant was
accepted that is none, a genuine release was refused, or a command ended otherwise than with 0 to 3.
"""

import argparse
import hashlib
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.csv import read_csv
from pyogrio import read_arrow
from pyogrio.errors import DataSourceError

import shoal
from shoal.errors import ShoalError
from shoal.publishing.exporting import export
from shoal.release_folder.exports import EXPORTS

STEPS = (("lat", 0.018), ("lon", 0.027))  # degrees between streets
METHODS: dict[str, Callable[[random.Random], shoal.Method]] = {
    "glove": lambda r: shoal.Glove(
        k=r.choice([2, 3, 5]),
        suppress_space_m=r.choice([None, 15_000.0]),
        refine=r.random() < 0.3,
        omit_at_most=r.choice([0.0, 0.0, 0.1]),
        hull=r.choice(["tight", "tight", "grid:500m"]),
        generalize=r.choice(["k-merge", "k-merge", "reshape-final", "overlap-split"]),
        leftover=r.choice(["merge", "suppress"]),
    ),
    "static": lambda r: shoal.StaticGeneralization(
        k=2, grid_m=r.choice([10_000.0, 20_000.0]), slot_s=r.choice([14_400.0, 86_400.0])
    ),
    "kte-hide": lambda r: shoal.KteHide(
        k=r.choice([2, 2, 3]),
        tau_s=r.choice([1800.0, 3600.0]),
        epsilon_s=1800.0,
        hiding=r.choice(["neighbors", "clusters"]),
    ),
    "swap-locations": lambda r: shoal.SwapLocations(
        k=r.choice([2, 3]),
        time_threshold_s=7_200.0,
        clustering=r.choice(["greedy", "mdav"]),
        paths=r.choice(["disjoint", "all"]),
    ),
    "reach-locations": lambda r: shoal.ReachLocations(
        k=r.choice([2, 3]),
        time_threshold_s=7_200.0,
        space_threshold_m=20_000.0,
        both_sides=r.random() < 0.5,
        most_off_street_m=2_000.0,
    ),
    "w4m": lambda r: shoal.W4m(
        k=r.choice([2, 3]), delta_m=r.choice([0.0, 500.0, 5_000.0]), distance=r.choice(["lst", "edr"])
    ),
    "nwa": lambda r: shoal.Nwa(k=2, delta_m=r.choice([500.0, 2_000.0]), pi_s=4 * 3_600.0),
}


def square_streets(table: pa.Table) -> shoal.StreetGraph:
    """Streets about 2 km apart, north to south and west to east, over all positions."""
    lat, lon = (np.arange(np.min(table[name]), np.max(table[name]) + step, step) for name, step in STEPS)
    nodes = np.arange(len(lat) * len(lon)).reshape(len(lat), len(lon))
    ends = [
        np.concatenate(pair)
        for pair in ((nodes[:-1].ravel(), nodes[:, :-1].ravel()), (nodes[1:].ravel(), nodes[:, 1:].ravel()))
    ]
    places = {"id": nodes.ravel(), "lat": np.repeat(lat, len(lon)), "lon": np.tile(lon, len(lat))}
    return shoal.read_streets(pa.table(places), pa.table(dict(zip("uv", ends, strict=True))))


def read_features(path: Path) -> pa.Table:
    try:
        return pa.Table.from_pylist(
            [json.loads(line)["properties"] for line in path.read_text().splitlines()]
        )
    except (ValueError, KeyError, TypeError) as error:
        raise pa.ArrowInvalid("no features") from error


READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": pq.read_table,
    ".csv": read_csv,
    ".fgb": lambda path: read_arrow(path)[1],
    ".geojsonl": read_features,
}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def state(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): digest(path) if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def flip(r: random.Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[r.randrange(len(content))] ^= 1 << r.randrange(8)
    path.write_bytes(content)


def edit(r: random.Random, path: Path) -> None:
    content = path.read_bytes()
    a, b = sorted(r.choices(range(len(content) + 1), k=2))
    new = r.choice(
        [content[:a], content[:a] + content[b:], content[:b] + content[a:], content + content[a:b]]
    )
    path.write_bytes(new)


def note(r: random.Random, path: Path) -> None:
    at = r.choice([0, path.stat().st_size // 2, path.stat().st_size])
    content = path.read_bytes()
    path.write_bytes(content[:at] + r.choice([b"u0000001", b" ", b"\n", b"\0" * 4]) + content[at:])


def digits(r: random.Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    places = [at for at, byte in enumerate(content) if 48 <= byte <= 57]
    if places:
        content[r.choice(places)] = 48 + r.randrange(10)
        path.write_bytes(content)


def add(r: random.Random, path: Path) -> None:
    name = r.choice(
        ["calls.csv", "part-00001.parquet", "notes.txt", ".hidden", "_last_checkpoint", "release.dbf"]
    )
    path.with_name(name).write_text("u0000001,1714557600,48.8,2.3\n")


def swap(r: random.Random, path: Path) -> None:
    others = [other for other in sorted(path.parent.iterdir()) if other.is_file() and other != path]
    if others:
        other = r.choice(others)
        first, second = path.read_bytes(), other.read_bytes()
        path.write_bytes(second)
        other.write_bytes(first)


def manifest(r: random.Random, path: Path) -> None:
    file = next(parent for parent in path.parents if (parent / "manifest.json").exists()) / "manifest.json"
    entries = json.loads(file.read_text())
    section = r.choice(
        [entries, entries["claim"], entries["losses"], entries["parameters"], entries["reading"]]
    )
    numbers = [name for name, value in section.items() if type(value) in (int, float)]
    if numbers:
        name = r.choice(numbers)
        section[name] = r.choice([section[name] + 1, section[name] * 2, 0, -1, 1e9])
    file.write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n")


MUTATIONS = [flip, edit, note, digits, add, swap, manifest]


def relist(folder: Path) -> None:
    """Write digests and the list of files again, as a forger does."""
    table, page, file = (folder / name for name in ("release.parquet", "report.html", "manifest.json"))
    try:
        entries = json.loads(file.read_text())
        for name, path in (("release_sha256", table), ("report_sha256", page)):
            if path.is_file() and entries.get(name):
                file.write_text(file.read_text().replace(str(entries[name]), digest(path)))
    except ValueError:
        return  # the manifest itself was cut
    package = folder / "datapackage.json"
    try:
        listed = json.loads(package.read_text()) if package.exists() else None
        for resource in [] if listed is None else listed["resources"]:
            path = folder / resource["path"]
            if path.is_file():
                resource |= {"bytes": path.stat().st_size, "hash": f"sha256:{digest(path)}"}
    except (ValueError, KeyError, TypeError):
        return
    if listed is not None:
        package.write_text(json.dumps(listed, indent=2, ensure_ascii=False) + "\n")


def means_the_same(mutant: Path, genuine: Path) -> bool:
    """The judge: the same bytes, but for Parquet files with the same rows and for the page."""
    before, after = state(genuine), state(mutant)
    if before.keys() != after.keys():
        return False
    for name in (name for name in before if before[name] != after[name]):
        if name == "report.html":
            continue  # its figures are the publisher's word, as the verdict says
        if name.endswith(".json") and "_delta_log" not in name:
            if derived_words(genuine / name) != derived_words(mutant / name):
                return False
        elif not (read := READERS.get(Path(name).suffix)):
            return False
        else:
            try:
                before_table, after_table = read(genuine / name), read(mutant / name)
            except (pa.ArrowException, DataSourceError, OSError):
                return False
            entries = json.loads((genuine / "manifest.json").read_text())
            claim = entries["claim"]
            if (
                name.endswith((".csv", ".geojsonl")) or not have_equal_rows(before_table, after_table)
            ) and not (
                claim["type"] == "k-delta-anonymity"
                and is_as_true(before_table, after_table, claim, entries["method"])
            ):
                return False
    return True


def have_equal_rows(before: pa.Table, after: pa.Table) -> bool:
    """Outlines within 1e-9 degrees, as other versions of PROJ make them."""
    if before.schema != after.schema or len(before) != len(after):
        return False
    return all(
        before[name].equals(after[name])
        or (
            name in ("geometry", "wkb_geometry")
            and all(
                one[:9] == other[:9]
                and len(one) == len(other)
                and np.abs(degrees(one) - degrees(other)).max() < 1e-9
                for one, other in zip(before[name].to_pylist(), after[name].to_pylist(), strict=True)
            )
        )
        for name in before.column_names
    )


def degrees(shape: bytes) -> np.ndarray:
    """The coordinates of a point, or of a polygon of one ring, in well-known binary."""
    return np.frombuffer(shape, dtype="<f8", offset=5 if shape[1] == 1 else 13)


def is_as_true(before: pa.Table, after: pa.Table, claim: dict[str, object], method: str) -> bool:
    """Points at the same times (W4M moves these), each record within delta of k - 1 others of its times."""
    kept = ["trajectory_id"] if method == "w4m" else ["trajectory_id", "t"]
    if before.schema != after.schema or not before.select(kept).equals(after.select(kept)):
        return False
    tracks: dict[str, list[tuple[float, ...]]] = {}
    for row in zip(*(after[name].to_pylist() for name in ("trajectory_id", "t", "x", "y")), strict=True):
        tracks.setdefault(str(row[0]), []).append(row[1:])
    together = [np.array(track) for track in tracks.values()]
    return all((np.diff(one[:, 0]) > 0).all() for one in together) and all(
        sum(
            len(one) == len(other)
            and bool((one[:, 0] == other[:, 0]).all())
            and np.hypot(*(one - other)[:, 1:].T).max() <= claim["delta_m"]
            for other in together
        )
        >= claim["k"]
        for one in together
    )


def derived_words(path: Path) -> object:
    """The entries of a manifest or a list of files, without digests, sizes and the publisher's word."""
    entries = json.loads(path.read_text())
    for name in ("release_sha256", "report_sha256", "usefulness", "parameters", "shoal_version"):
        entries.pop(name, None)
    if entries.get("method") == "w4m":  # the samples that were left out or made follow from no file
        entries["losses"]["samples_suppressed"] = entries["losses"]["samples_created"] = None
    if entries.get("losses", {}).get("samples_suppressed") == 0:
        for name in ("missing_at_most", "missing_of_one_at_most"):  # nothing is missing, whatever may be
            entries["claim"].pop(name, None)
    if entries.get("losses", {}).get("samples_by_reason", {}).keys() == {"their person is left out"}:
        entries["claim"].pop("missing_of_one_at_most", None)  # nobody who is published misses any
    for name in ("not_after_s", *(("cell_m", "slot_s") if entries.get("cell_m") is None else ())):
        entries.get("reading", {}).pop(name, None)  # numbers that change nothing of what was read
    for resource in entries.get("resources", []):
        resource["hash"] = resource["bytes"] = None
    return entries


def accepts(original: shoal.Trajectories, folder: Path, links: shoal.Linkage) -> bool | str:
    try:
        return bool(shoal.verify_folder(original, folder, links).holds)
    except ShoalError:
        return False
    except Exception as error:  # counted: no folder may end the verifier otherwise
        return type(error).__name__


def make_folders(
    r: random.Random, method_name: str, place: Path
) -> tuple[shoal.Trajectories, dict[str, Path], shoal.Linkage]:
    """Raw data, the release in every format, and its linkage with what a check may be given."""
    table = shoal.synthesize(r.randrange(24, 50), r.randrange(1, 3), r.randrange(1 << 30), layout="city")
    method, file = METHODS[method_name](r), place / "links.parquet"
    if isinstance(method, shoal.ReachLocations):
        method = replace(method, streets=square_streets(table))
    per_day = method_name != "nwa" and r.random() < 0.2
    read = partial(shoal.read, table, snap=method.about.publishes == "boxes", per_day=per_day)
    own, rng = place / "own", shoal.Randomness.from_system()
    shoal.publish(read(), method, own, rng=rng, tries=0, linkage_file=file)
    links = shoal.read_linkage(file)
    if isinstance(method, shoal.ReachLocations) and links.trace is not None:
        links = replace(links, trace=replace(links.trace, streets=method.streets))
    for form in EXPORTS:
        export(own, place / form, form)
    plane = json.loads((own / "manifest.json").read_text())["crs"]
    return read(working_crs=plane), {"own": own} | {form: place / form for form in EXPORTS}, links


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--mutants", type=int, default=2000)
    options.add_argument("--genuine", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    r = random.Random(given.seed)
    counts: Counter[str] = Counter()
    per_release = -(-given.mutants // given.genuine)
    for number in range(given.genuine):
        with tempfile.TemporaryDirectory() as scratch:
            place, method_name = Path(scratch), list(METHODS)[number % len(METHODS)]
            try:
                original, folders, links = make_folders(r, method_name, place)
            except ShoalError as error:  # options that do not go together, or nobody is left
                counts[f"{method_name}: not made ({type(error).__name__})"] += 1
                continue
            for form, folder in folders.items():
                word = accepts(original, folder, links)
                counts[f"genuine, {'accepted' if word is True else f'REFUSED ({method_name}, {form})'}"] += 1
            for _ in range(per_release):
                form = r.choice(list(folders))
                mutant = place / "mutant"
                shutil.copytree(folders[form], mutant)
                files = [path for path in sorted(mutant.rglob("*")) if path.is_file()]
                mutation = r.choice(MUTATIONS)
                mutation(r, r.choice([path for path in files if path.stat().st_size]))
                if state(mutant) == state(folders[form]):
                    counts["mutant, unchanged"] += 1
                else:
                    if r.random() < 0.8:
                        relist(mutant)
                    word = accepts(original, mutant, links)
                    if isinstance(word, str):
                        counts[f"mutant, ENDED BY {word} ({method_name}, {form}, {mutation.__name__})"] += 1
                    elif word and not means_the_same(mutant, folders[form]):
                        counts[f"mutant, FALSELY ACCEPTED ({method_name}, {form}, {mutation.__name__})"] += 1
                        kept = Path(tempfile.mkdtemp(prefix="accepted-"))
                        shutil.copytree(mutant, kept / "mutant")
                        shutil.copytree(folders[form], kept / "genuine")
                    else:
                        counts["mutant, accepted and the same" if word else "mutant, refused"] += 1
                shutil.rmtree(mutant)
        print(f"{number + 1} of {given.genuine}: {dict(counts)}", flush=True)
    return int(any(word in line for line in counts for word in ("REFUSED", "FALSELY", "ENDED")))


if __name__ == "__main__":
    sys.exit(main())
