"""The files of a table: digests, cells, and columns that follow from each other and from the counts."""

import json
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html import unescape
from math import ceil
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from pyproj import CRS
from pyproj.exceptions import CRSError
from scipy import special

from shoal.errors import InputError
from shoal.model.people_on_disk import StoredPeople
from shoal.release_folder.files import is_public, require_plain_file
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.files import sha256_of
from shoal.verification.leaks.active_pages import is_active
from shoal.verification.leaks.identifiers import searchable_text
from shoal.verification.leaks.raw_identifiers import RawIdentifiers
from shoal_tables.definition.manifest import NUMBERS, Files, Promise, TableManifest, read_table_manifest
from shoal_tables.verification import zones as of_zones
from shoal_tables.verification.contributions import sums_over
from shoal_tables.verification.finding_kinds import Finding, FindingKind
from shoal_tables.verification.statements import guessing_share
from shoal_tables.verification.zones import Level, ZoneFile

_MOST_COUNTED: Final = 1 << 53
_SPURIOUS: Final = 0.05
_ROUNDING: Final = 1e-9
_METADATA: Final = frozenset({b"ARROW:schema", b"geo"})
_FIELD: Final = frozenset({b"PARQUET:field_id"})
_ABOUT_SHAPES: Final = {"encoding", "geometry_types", "crs", "bbox"}
_FACT: Final = re.compile(r'<data id="fact-([\w-]+)" value="([^"]*)">([^<]*)</data>')
_CLOSE: Final = 0.01  # what rounding to three digits changes
_HALF_OF_A_TENTH: Final = 0.000501  # what rounding to a tenth of a percent changes
_HALF_BELOW: Final = 0.67449  # half of all normal errors are smaller than so many standard deviations
_SIZES: Final = {1: 50, 2: 100, 3: 300}  # of the cells whose error a record states


def read_folder(folder: Path) -> tuple[TableManifest, ZoneFile, list[Level]]:
    """Manifest, zones and tables; InputError where one lacks cells."""
    manifest, zones = read_table_manifest(folder), of_zones.read_zones(folder)
    levels = of_zones.read_levels(folder, manifest, zones)
    if not all(level.cells.n for level in levels):
        raise InputError(f"{folder} lacks cells; verify the table first")
    return manifest, zones, levels


def numbers_of(levels: Sequence[Level]) -> pa.Table:
    """The columns of numbers of a table, and behind them those of its outer zones."""
    return pa.concat_tables([level.table.select(NUMBERS) for level in levels], promote_options="permissive")


def file_findings(folder: Path, manifest: TableManifest) -> Iterator[Finding]:
    """Find files that the manifest does not state, and files that changed since it was written."""
    form, nested, weights = of_zones.table_file(folder), manifest.zones.nested, manifest.zones.weights
    tables = (Files.TABLE,) if nested is None else (Files.TABLE, Files.OUTER)
    package = () if form == Files.TABLE else (Files.PACKAGE,)
    allowed = {Files.MANIFEST, Files.ZONES, Files.REPORT, form, *tables[1:], *package}
    yield from of_zones.export_findings(folder, manifest)
    for path in sorted(folder.iterdir()):
        if path.name not in allowed:
            yield Finding("further-file", "the folder holds a file that is no part of a table")
    for stated, digest in manifest.files.items():
        if stated == Files.TABLE != form:
            continue  # the digest of the counts stands for it
        require_plain_file(folder / stated)
        if sha256_of(folder / stated) != digest:
            yield Finding("changed-file", f"{stated} is not the file that the manifest states")
    for name in (*tables, Files.ZONES, Files.REPORT):
        if name not in manifest.files and (name != Files.REPORT or (folder / name).exists()):
            yield Finding("changed-file", f"the manifest states no digest of {name}")
    parents = {} if nested is None else {"parent": pa.string()}
    weights_type = {} if weights is None else {"weight": pa.float64()}
    of_zone = {"zone": pa.string(), **parents, **weights_type, "geometry": pa.binary()}
    types = dict.fromkeys(tables, of_zones.column_types(manifest)) | {Files.ZONES: of_zone}
    for file in (one for one in types if (folder / one).exists()):
        schema = of_zones.read_table(folder / file).schema
        further = set(schema.metadata or ()) - _METADATA
        further |= {key for one in schema for key in one.metadata or ()} - _FIELD
        if further or not _is_geo(schema, manifest):
            yield Finding("further-metadata", f"{file} carries metadata that is no part of a table")
        if [(one.name, one.type) for one in schema] != list(types[file].items()):
            yield Finding("columns-differ", f"{file} has other columns or types than such a file has")


def _is_geo(schema: pa.Schema, manifest: TableManifest) -> bool:
    """Whether a statement on geometries has no further parts, and the zones' coordinate system."""
    text = (schema.metadata or {}).get(b"geo")
    if text is None:
        return True
    try:
        geo = json.loads(text)
        about = geo["columns"].pop("geometry")
        crs = None if about["crs"] is None else CRS.from_json_dict(about["crs"])
        right = None if manifest.zones.crs is None else CRS.from_user_input(manifest.zones.crs)
    except (ValueError, KeyError, TypeError, AttributeError, CRSError):
        return False
    parts = set(geo) == {"version", "primary_column", "columns"} and not geo["columns"]
    return bool(parts and set(about) == _ABOUT_SHAPES and crs == right)


def record_findings(folder: Path, manifest: TableManifest, table: pa.Table) -> Iterator[Finding]:
    """Find a record to sign that states other numbers than the table, or is more than paper."""
    if Files.REPORT not in manifest.files:
        return
    page, promise = (folder / Files.REPORT).read_text(encoding="utf-8", errors="replace"), manifest.promise
    if not is_public(page) or is_active(page):
        yield Finding("record-differs", "report.html is no public page, or it runs or loads something")
    share = guessing_share(promise.epsilon, promise.delta)
    stated = (f"at most {100 * share:.1f} % of guesses", f"One unit is {manifest.unit_of_protection}.")
    is_promised = all(words in unescape(page) for words in stated)
    if not is_promised or ("Not for publication" in page) == manifest.publishable:
        yield Finding("record-differs", "report.html promises something else than the manifest")
    expected, facts = _record_numbers(manifest, table), _FACT.findall(page)
    if sorted(name for name, *_ in facts) != sorted(expected):
        yield Finding("record-differs", "report.html states other facts than a record of a table has")
    for name, value, text in facts:
        if not all(_shows(unescape(one), expected.get(name, np.nan)) for one in (value, text)):
            yield Finding("record-differs", f"report.html states another number than the table: {name}")


def _record_numbers(manifest: TableManifest, table: pa.Table) -> dict[str, float]:
    """All numbers of a record by the names of its facts."""
    promise, totals = manifest.promise, manifest.promise.totals
    one = promise.granularity / stated_scale(promise)
    errors = {f"error-{place}": _HALF_BELOW * promise.sigma / one / size for place, size in _SIZES.items()}
    return {
        "cells": table.num_rows,
        "shown": table.num_rows - table["shown"].null_count,
        "zones": manifest.zones.n_zones,
        "epsilon": promise.epsilon,
        "epsilon-again": promise.epsilon,
        "delta": promise.delta,
        "half": promise.half_width / one,
        "least": promise.least_shown / one,
        "bound": promise.bound,
        "scale": stated_scale(promise),
        "most": (promise.sensitivity if totals is None else totals.most) / promise.granularity,
        **{f"size-{place}": size for place, size in _SIZES.items()},
        **errors,
    }


def _shows(text: str, number: float) -> bool:
    """Whether a text is a number, rounded, or a bound of it such as ``< 0.1 %``."""
    try:
        shown = float(text.removesuffix(" %").lstrip("<> ").replace(",", ""))
    except ValueError:
        return False
    rounding = 0.0
    if text.endswith(" %"):
        shown, rounding = shown / 100, _HALF_OF_A_TENTH
    if text.startswith(("<", ">")):
        return number < shown if text[0] == "<" else number > shown
    return abs(shown - number) <= _CLOSE * number + rounding


def leak_findings(folder: Path, zones: ZoneFile, people: StoredPeople) -> Iterator[Finding]:
    """Find identifiers of the raw data in the texts of the folder."""
    texts = {
        path.name: searchable_text(path.read_text(encoding="utf-8", errors="replace"))
        for path in sorted(folder.iterdir())
        if path.suffix in {".json", ".html"} and path.is_file()
    }
    texts[Files.ZONES] = "\n".join((*zones.names, *zones.outer))
    names = RawIdentifiers.of(people).relevant_names((), texts.values())
    for name, text in texts.items():
        if names.in_text(text):
            yield Finding("raw-identifiers", f"{name} holds identifiers of the raw data")


def cell_findings(level: Level, numbers: Sequence[str]) -> Iterator[Finding]:
    """Find cells that are absent, repeated or out of order, and columns that a table must not have."""
    name, table, cells = level.file, level.table, level.cells
    words = "zones, hours and days are public, and empty cells are cells"
    if not cells.n or table.num_rows != cells.n:
        yield Finding("cells-differ", f"{name} has not one row for each cell; {words}")
        return
    expected = [*cells.keys, *numbers]
    if table.column_names != expected:
        further = len(set(table.column_names) - set(expected))
        absent = [one for one in expected if one not in table.column_names]
        words = f"lacks {', '.join(absent)}" if absent else f"has {further} further columns, or another order"
        yield Finding("columns-differ", f"{name} {words}")
        if absent:
            return
    for column in cells.keys:
        texts = np.array(table[column].cast(pa.string()).to_pylist(), dtype=object)
        if not np.array_equal(texts, cells.texts(column)):
            words = f"{name} has other values of '{column}', or another order, than stated"
            yield Finding("cells-differ", words)
            return


def published_integers(levels: Sequence[Level], granularity: int) -> tuple[Integers, list[Finding]]:
    """The published counts as integers, and those that are none."""
    counts = np.array(numbers_of(levels)["count"].cast(pa.float64()).to_numpy(), dtype=np.float64)
    bad = int((~(np.abs(counts) * granularity < _MOST_COUNTED)).sum())  # nan, too
    if bad:
        return np.zeros(len(counts), dtype=np.int64), [Finding("no-number", f"{bad:,} counts are no numbers")]
    integers = np.rint(counts * granularity)
    off = np.abs(integers / granularity - counts) > 1e-12 * np.maximum(np.abs(counts), 1)
    words = f"{int(off.sum()):,} counts are no multiples of 1/{granularity}, as noise in whole units is"
    return integers.astype(np.int64), [Finding("count-between-units", words)] if off.any() else []


def column_findings(
    levels: Sequence[Level], published: Integers, manifest: TableManifest, zones: ZoneFile, outer: Integers
) -> Iterator[Finding]:
    """Find counts of another draw, and columns that do not follow from the published counts alone."""
    table = numbers_of(levels)
    totals = manifest.promise.totals
    drawn = [*published.tolist(), *([] if totals is None else [totals.before, totals.after])]
    if sha256(np.array(drawn, dtype="<i8").tobytes()).hexdigest() != manifest.counts_sha256:
        yield Finding("changed-file", "counts or totals are not those whose digest the manifest states")
    promise, g = manifest.promise, manifest.promise.granularity
    numbers, spread = estimated(published, levels, promise, zones.weights_of(len(outer)), outer)
    half, least = spread * promise.half_width, spread * promise.least_shown
    columns: tuple[tuple[FindingKind, str, Floats], ...] = (
        ("estimate-differs", "estimate", numbers / g),
        ("interval-differs", "low", np.maximum(numbers - half, 0.0) / g),
        ("interval-differs", "high", np.maximum(numbers + half, 0.0) / g),
    )
    for kind, name, expected in columns:
        column = np.array(table[name].cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        wrong = ~(np.abs(column - expected) <= _ROUNDING * np.maximum(np.abs(expected), 1))
        if wrong.any():
            yield Finding(kind, f"'{name}' of {int(wrong.sum()):,} cells does not follow from 'count'")
    seldom = -promise.sigma * float(special.ndtri(_SPURIOUS / len(published)))
    near = _ROUNDING * promise.sigma
    allowed = {max(2 * promise.half_width, ceil(seldom + 0.5 + off)) for off in (-near, near)}
    if promise.least_shown not in allowed:
        yield Finding("shown-differs", "'shown' begins at another count than the rules say")
    shown = table["shown"].cast(pa.float64(), safe=False).fill_null(-np.inf).to_numpy()
    slack = _ROUNDING * np.maximum(np.abs(numbers), 1)
    fits = np.zeros(len(shown), dtype=bool)
    for number in (numbers - slack, numbers + slack):  # a last bit may decide how a half is rounded
        fits |= shown == np.where(number >= least, np.floor(number / g + 0.5), -np.inf)
    if not fits.all():
        words = f"'shown' of {int((~fits).sum()):,} cells does not follow from 'count'"
        yield Finding("shown-differs", words)


def stated_scale(promise: Promise) -> float:
    """All contributions before the bound over those after it, as the published totals say."""
    totals = promise.totals
    if totals is None or totals.after < 10 * totals.sigma or totals.before < totals.after:
        return 1.0
    return totals.before / totals.after


def estimated(
    published: Integers, levels: Sequence[Level], promise: Promise, weights: Floats, outer: Integers
) -> tuple[Floats, Floats]:
    """The estimate of each cell in the integers of the counts, and what multiplies sigma for it [n]."""
    measured = [_likeliest(published[level.place], level, promise.sigma * level.noise) for level in levels]
    parts = [(weights * numbers, weights**2 * squares) for numbers, squares in measured[0]]
    if len(levels) > 1:
        parts = [agreeing(one, two, outer, weights) for one, two in zip(*measured, strict=True)]
    numbers, squares = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
    scale = stated_scale(promise)
    return scale * numbers, scale * np.sqrt(squares)


def _likeliest(counts: Integers, level: Level, sigma: int) -> list[tuple[Floats, Floats]]:
    """Parts with independent errors that an estimate adds up, and their variances in squares of sigma."""
    numbers, keys, noise = counts.astype(np.float64), level.cells.keys, float(level.noise**2)
    if "origin" not in keys:
        return [(numbers, np.full(len(counts), noise))]
    hours_and_days = keys["hour"] * (int(keys["day"].max(initial=0)) + 1) + keys["day"]
    opposite = np.lexsort((hours_and_days, keys["origin"], keys["destination"]))
    total, apart, keep = numbers + numbers[opposite], numbers - numbers[opposite], np.ones(len(counts))
    for one in np.unique(hours_and_days):
        cells = np.flatnonzero(hours_and_days == one)
        keep[cells] = _true_share(total[cells], apart[cells], sigma)
    return [(total / 2, np.full(len(counts), noise / 2)), (keep * apart / 2, noise * keep / 2)]


def agreeing(
    of_zones: tuple[Floats, Floats], of_outer: tuple[Floats, Floats], outer: Integers, weights: Floats
) -> tuple[Floats, Floats]:
    """Sums over zones and counts of outer zones, averaged by precision; zones share the rest by variance."""
    (numbers, squares), (direct, square) = of_zones, of_outer
    sums = sums_over(outer, len(direct))
    total, variance = sums @ numbers, sums @ squares
    share = variance / np.where(variance + square > 0, variance + square, 1)  # of what was counted directly
    best = share * direct + (1 - share) * total
    part = squares * (sums.T @ (1 / np.where(variance > 0, variance, 1)))  # of the error of their total
    weighted = weights * (numbers + part * (sums.T @ (best - total)))
    left = weights**2 * (squares * (1 - part) + part**2 * (sums.T @ (share * square)))
    of_total = sums @ (weights * part)
    errors = sums @ (weights**2 * squares) - of_total**2 * (variance - share * square)
    return np.append(weighted, sums @ weighted), np.append(left, np.maximum(errors, 0))


def _true_share(total: Floats, apart: Floats, sigma: int) -> Floats:
    """The share of each difference between there and back that noise does not explain."""
    noise, clear = 2.0 * sigma**2, total >= 4 * sigma
    if not clear.any():
        return np.ones(len(total))
    relative = max(float((apart[clear] ** 2 - noise).sum() / (total[clear] ** 2).sum()), 0.0)
    signal = relative * np.maximum(total, 0.0) ** 2
    return np.asarray(signal / (signal + noise))
