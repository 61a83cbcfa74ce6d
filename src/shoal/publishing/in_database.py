"""A release as PostgreSQL tables: rows, and in ``_files`` the manifest and the page."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, MisuseError
from shoal.io.formats.mobility_text import texts
from shoal.io.sources.servers import GEOMETRY, WGS84_CODE, StoredTable, place_of, read_table, write_table
from shoal.model.release import BOX_COLUMNS
from shoal.model.verdicts import Finding
from shoal.publishing.exported import OTHER_DIGEST, compare_rows, release_of_rows
from shoal.publishing.exporting import ExportResult, read_exportable_table, schema_of
from shoal.release_folder.manifest import MANIFEST_FILE, REPORT_FILE, read_manifest
from shoal.release_folder.outlines import is_cut, polygons_of
from shoal.runtime.files import sha256_of
from shoal.verification.files.stated import respelled_manifest

FORMS: Final = ("postgis", "mobilitydb")
_MOVING: Final[Mapping[str, str]] = {"boxes": "stbox", "points": "tgeompoint"}
_FILES: Final = frozenset({MANIFEST_FILE, REPORT_FILE})


def export_to_database(release_folder: Path, address: str, form: str) -> ExportResult:
    """Write a release as new tables at ``postgresql://USER@HOST/DATABASE#schema.table``."""
    if form not in FORMS:
        raise MisuseError(f"'{form}' is no format of a database; choose from {', '.join(FORMS)}")
    place = place_of(address)
    manifest, table = read_exportable_table(release_folder)
    rows = table.replace_schema_metadata(None)
    moving = _MOVING[manifest.kind] if form == "mobilitydb" else None
    if moving is not None:
        rows = rows.append_column(moving, pa.array(_mobility_texts(rows), pa.string()))
    paths = [release_folder / name for name in sorted(_FILES) if (release_folder / name).is_file()]
    write_table(place, rows, moving, {path.name: path.read_bytes() for path in paths})
    digests = {path.name: sha256_of(path) for path in paths}
    return ExportResult(folder=Path(place.label), form=form, rows=len(rows), files=digests)


def fetch_from_database(address: str, folder: Path) -> tuple[list[Finding], list[str]]:
    """Make a release folder from tables; return findings and notes."""
    place = place_of(address)
    stored = read_table(place)
    if MANIFEST_FILE not in stored.files:
        raise InputError(f"{place.label}_files holds no {MANIFEST_FILE}, so {place.label} is no release")
    for name in _FILES & set(stored.files):
        (folder / name).write_bytes(stored.files[name])
    manifest = read_manifest(folder)
    derived = {GEOMETRY, _MOVING[manifest.kind]}
    types = {field.name: str(field.type) for field in stored.rows.schema if field.name not in derived}
    schema = schema_of(types, manifest, place.label)
    rows = stored.rows.select(schema.names).combine_chunks()
    if any(column.null_count for column in rows.columns):
        raise InputError(f"{place.label} is not the table of a release: it has empty values")
    # before the manifest is written again
    findings = list[Finding](respelled_manifest(folder / MANIFEST_FILE, manifest))
    table = release_of_rows(rows, folder, manifest, folder)
    for _ in stored.files.keys() - _FILES:
        findings.append(Finding("unexpected-file", f"{place.label}_files holds a file that no release has"))
    findings += compare_rows(table, rows)
    findings += _compare_derived_columns(stored, table, _MOVING[manifest.kind])
    notes = [
        "the rows were read from the database and checked as the table of a release; what else it keeps of "
        "the tables (comments, rights, statistics) was not looked at",
        *(f"the column {name} is of a type of its own and was not looked at" for name in stored.unread),
    ]
    if read_manifest(folder).release_sha256 != manifest.release_sha256:
        notes.append(OTHER_DIGEST)
    return findings, notes


def _compare_derived_columns(stored: StoredTable, table: pa.Table, moving: str) -> Iterator[Finding]:
    if not stored.numbered:
        yield Finding("hidden-bytes", "the rows are not numbered 0, 1, 2, ...")
    names = stored.rows.column_names
    if GEOMETRY in names and (
        GEOMETRY not in table.column_names or stored.rows[GEOMETRY].to_pylist() != table[GEOMETRY].to_pylist()
    ):
        yield Finding("hidden-bytes", "the geometry holds other places than its rows")
    if moving in names and stored.rows[moving].to_pylist() != _mobility_texts(table):
        yield Finding("hidden-bytes", f"the column {moving} holds other places or times than its rows")


def _mobility_texts(table: pa.Table) -> list[str]:
    if GEOMETRY in table.column_names:
        return texts(table, map(bounds_of, table[GEOMETRY].to_pylist()), WGS84_CODE)
    names = BOX_COLUMNS[2:] if "x_min" in table.column_names else ("x", "y", "x", "y")
    return texts(table, zip(*(table[name].to_pylist() for name in names), strict=True), 0)


def bounds_of(wkb: bytes) -> tuple[float, float, float, float]:
    """West, south, east, north; across the 180th meridian on beyond it, around a pole all of them."""
    parts = polygons_of(wkb)
    x, y = np.concatenate(parts).T
    if is_cut(wkb) and np.abs(y).max() < 90:
        x = np.concatenate([part[:, 0] + 360 * (part[:, 0].min() == -180) for part in parts])
    return float(x.min()), float(y.min()), float(x.max()), float(y.max())
