"""Read a release in another format as a folder, and find other contents."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.model.finding_kinds import FindingKind
from shoal.model.verdicts import Finding
from shoal.publishing.exporting import PACKAGE_FILE, files_in, package_of, schema_of, text_of_package
from shoal.release_folder.exports import EXPORTS, Export, RowsExport
from shoal.release_folder.files import require_plain_file
from shoal.release_folder.folder import release_from_table
from shoal.release_folder.joining import join_table
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    Manifest,
    read_manifest,
    write_manifest,
)
from shoal.release_folder.outlines import heads_of, polygons_of
from shoal.release_folder.packing import GEOMETRY
from shoal.release_folder.tables import write_table
from shoal.runtime.arrays import Numbers
from shoal.runtime.files import require_unique_keys, sha256_of
from shoal.verification.files.layout import layout_findings
from shoal.verification.files.precision import SAME_PLACE_DEG, stated_bounds
from shoal.verification.files.stated import respelled_manifest
from shoal.verification.files.thrift import not_readable
from shoal.verification.files.written import PACKED_DIFFERENTLY
from shoal.verification.leaks.lint import unexpected_attributes

OTHER_DIGEST: Final = (
    "the manifest gives the SHA-256 of another table than these rows make here: another version of pyarrow "
    "or of zstd made it, or it is a message"
)
_LARGEST: Final = 1 << 24
_BESIDE: Final = frozenset(map(Path, (MANIFEST_FILE, REPORT_FILE, PACKAGE_FILE)))
_ELSEWHERE: Final = "the geometry holds other places than its rows"
_FILES: Final = [MANIFEST_FILE, REPORT_FILE, *(one.where for one in EXPORTS.values() if "." in one.where)]
_OWN_NAME: Final = re.compile(
    "|".join(map(re.escape, _FILES)) + r"|data/(part-\d{5}|day=\d{4}-\d{2}-\d{2}/part-0)\.parquet"
)
_WRITER: Final = re.compile(r"parquet-cpp-arrow version \d{1,2}\.\d{1,2}\.\d{1,2}(-SNAPSHOT)?")


def is_export(folder: Path) -> bool:
    """Whether a folder is an export."""
    return (folder / PACKAGE_FILE).is_file() and not (folder / RELEASE_FILE).exists()


def is_read_at_once(folder: Path) -> bool:
    """Whether a folder is an export whose rows are checked all at once."""
    return is_export(folder) and isinstance(EXPORTS[_format_of(folder, _read_package(folder))], RowsExport)


def _format_of(folder: Path, package: dict[str, Any]) -> str:
    form = str(package.get("shoal_format"))
    if form not in EXPORTS:
        raise InputError(
            f"{folder / PACKAGE_FILE} names the format '{form[:40]}', which this version does not know"
        )
    return form


@contextmanager
def as_release_folder(
    folder: Path, within: Path | None = None
) -> Iterator[tuple[Path, list[Finding], list[str]]]:
    """The folder, or an export as a temporary one (in ``within``); with findings and notes."""
    if not is_export(folder):
        yield folder, [], []
        return
    package = _read_package(folder)
    form = _format_of(folder, package)
    findings = list(_compare_file_list(folder, package))
    manifest = read_manifest(folder)
    if not findings:
        findings += _compare_package(folder, package, form, manifest)
    with TemporaryDirectory(prefix="shoal-export-", dir=within) as scratch:
        inner = Path(scratch) / "release"  # regardless of the name of the folder
        inner.mkdir()
        row = EXPORTS[form]
        if isinstance(row, RowsExport):
            notes = [f"the rows were read from {form} and checked as the table of a release"]
            findings += _rebuild_release(folder, package, form, row, manifest, inner, notes)
        else:
            notes = ["the parts were put behind each other and checked as the table of a release"]
            findings += _join_parts(folder, package, row, manifest, inner)
        yield inner, findings, notes


def _join_parts(
    folder: Path, package: dict[str, Any], row: Export, manifest: Manifest, inner: Path
) -> Iterator[Finding]:
    data = folder / row.where
    _listed_schema(folder, package, manifest)
    for part in data.iterdir() if data.is_dir() else ():
        require_plain_file(part)
    for name in join_table(data, inner / RELEASE_FILE):
        kind: FindingKind = "hidden-bytes" if name.startswith("part-") else "unexpected-file"
        yield Finding(kind, f"{_safe_name(f'{data.name}/{name}')} holds what is no part of the table")
    within = {path.relative_to(folder) for path in data.iterdir()} | {Path(data.name)}
    if strange := {path.relative_to(folder) for path in folder.rglob("*")} - _BESIDE - within:
        yield Finding("unexpected-file", f"the folder holds what is no part: {len(strange)} more")
    for name in (MANIFEST_FILE, REPORT_FILE):
        if (folder / name).exists() or (folder / name).is_symlink():
            require_plain_file(folder / name)
            shutil.copyfile(folder / name, inner / name)


def _rebuild_release(
    folder: Path,
    package: dict[str, Any],
    form: str,
    row: RowsExport,
    manifest: Manifest,
    inner: Path,
    notes: list[str],
) -> Iterator[Finding]:
    parts = sorted(folder.rglob("*.parquet")) if row.where == "data" else []
    for part in parts:
        require_plain_file(part)
    for part in parts:
        yield from _layout_findings(part, _safe_name(str(part.relative_to(folder))))
    yield from respelled_manifest(folder / MANIFEST_FILE, manifest)  # the copy's manifest is written again
    schema = _listed_schema(folder, package, manifest)
    rows = row.read(folder / row.where, schema)
    try:
        rows.validate(full=True)  # a file may hold bytes that are not text
    except pa.ArrowException as error:
        raise InputError(f"{folder / row.where} holds text that is none; fetch or write it again") from error
    drawn = rows[GEOMETRY].to_pylist() if GEOMETRY in rows.column_names else None
    rows = rows if drawn is None else rows.drop_columns([GEOMETRY])
    extra = sorted(set(rows.column_names) - set(schema.names))
    if not set(schema.names) <= set(rows.column_names):
        raise InputError(f"{folder / row.where} lacks columns of a release; fetch or write it again")
    if extra or rows.schema.names != schema.names:
        yield Finding("unexpected-column", f"its table has other columns than a release: {len(extra)} more")
        rows = rows.select(schema.names)
    table = release_of_rows(row.joined(rows), folder, manifest, inner)
    yield from compare_rows(row.arranged(table), rows)
    if schema.types != rows.schema.types:
        yield Finding("respelled", f"{PACKAGE_FILE} names other types of columns than there are")
    if drawn is not None:
        yield from _compare_geometry(drawn, row.arranged(table))
        if row.arranged(table) is table and len(table) == len(drawn) and GEOMETRY in table.column_names:
            # which may differ in last digits
            place = table.column_names.index(GEOMETRY)
            table = table.set_column(place, table.schema.field(GEOMETRY), pa.array(drawn, pa.binary()))
    yield from _compare_bounds(parts, inner / RELEASE_FILE)
    yield from _compare_files(folder, form, row, table, inner.parent / "again", notes)
    if (folder / REPORT_FILE).exists() or (folder / REPORT_FILE).is_symlink():
        require_plain_file(folder / REPORT_FILE)
        shutil.copyfile(folder / REPORT_FILE, inner / REPORT_FILE)


def _layout_findings(part: Path, name: str) -> list[Finding]:
    try:
        findings = layout_findings(part.read_bytes())
        writer = pq.read_metadata(part).created_by
    except InputError as error:
        raise InputError(error.cli_message.replace(RELEASE_FILE, name)) from error
    except (pa.ArrowException, OSError) as error:  # such as columns of a type that there is not
        raise not_readable(name) from error
    if not _WRITER.fullmatch(writer or ""):
        findings.append(Finding("hidden-bytes", f"{RELEASE_FILE} names another writer than pyarrow"))
    return [replace(one, message=one.message.replace(RELEASE_FILE, name)) for one in findings]


def _compare_geometry(drawn: list[bytes | None], table: pa.Table) -> Iterator[Finding]:
    """Whether places differ by more than the last digits, in which projections may."""
    expected = table[GEOMETRY].to_pylist() if GEOMETRY in table.column_names else []
    if drawn == expected:
        return
    if len(drawn) != len(expected) or not all(
        one is not None and len(one) == len(other) and heads_of(one) == heads_of(other)
        for one, other in zip(drawn, expected, strict=True)
    ):
        yield Finding("hidden-bytes", _ELSEWHERE)
        return
    drawn_values, expected_values = (
        np.concatenate([part for one in some if one is not None for part in polygons_of(one)])
        for some in (drawn, expected)
    )
    if not (np.abs(drawn_values - expected_values) <= SAME_PLACE_DEG).all():
        yield Finding("hidden-bytes", _ELSEWHERE)
    if len(set(zip(drawn, expected, strict=True))) > len(set(expected)):
        yield Finding("stored-differently", "the same place is drawn in different bytes")


def _compare_bounds(parts: list[Path], table: Path) -> Iterator[Finding]:
    expected = stated_bounds(pq.read_schema(table))
    for bounds in (stated_bounds(pq.read_schema(part)) for part in parts):
        if bounds is not None and (
            expected is None
            or bounds.shape != expected.shape
            or not (np.abs(bounds - expected) <= SAME_PLACE_DEG).all()
        ):
            yield Finding("hidden-bytes", "a file states other bounds than those of the geometries")
            return


def _compare_files(
    folder: Path, form: str, row: RowsExport, table: pa.Table, rewritten: Path, notes: list[str]
) -> Iterator[Finding]:
    paths = {path.relative_to(folder) for path in folder.rglob("*")} - _BESIDE
    row.write(table, rewritten)
    files = {
        Path(row.where): rewritten,
        **{Path(row.where) / path.relative_to(rewritten): path for path in rewritten.rglob("*")},
    }
    common = {folder / path: again for path, again in files.items() if (folder / path).is_file()}
    unlike = {part for part, again in common.items() if part.read_bytes() != again.read_bytes()}
    parts = {part for part in unlike if part.suffix == ".parquet"}
    if files.keys() - paths or any(_row_count(part) != _row_count(common[part]) for part in parts):
        yield Finding("row-order", f"files of {row.where} hold other rows than those of their day")
    elif parts:
        notes.append(PACKED_DIFFERENTLY.replace(RELEASE_FILE, row.where))
        for part in parts:
            shutil.copyfile(part, common[part])
        if row.finish is not None:
            row.finish(rewritten)
    if any(part.read_bytes() != common[part].read_bytes() for part in unlike - parts):
        yield Finding(
            "hidden-bytes", f"{row.where} holds bytes that are no row, or other places than its rows"
        )
    strange = paths - files.keys()
    if strange:
        yield Finding("unexpected-file", f"the folder holds what {form} does not write: {len(strange)} more")


def _row_count(part: Path) -> int:
    return int(pq.read_metadata(part).num_rows)


def _compare_package(
    folder: Path, package: dict[str, Any], form: str, manifest: Manifest
) -> Iterator[Finding]:
    files = {str(path.relative_to(folder)): sha256_of(path) for path in files_in(folder)}
    del files[PACKAGE_FILE]
    expected = text_of_package(
        package_of(folder, files, form, _listed_schema(folder, package, manifest), manifest)
    )
    if (folder / PACKAGE_FILE).read_bytes() != expected.encode("utf-8", "surrogatepass"):
        yield Finding("respelled", f"{PACKAGE_FILE} says more than shoal writes of these files, or otherwise")


def release_of_rows(rows: pa.Table, folder: Path, manifest: Manifest, inner: Path) -> pa.Table:
    """Write table and manifest of the release of rows; return the table."""
    write_table(release_from_table(rows, folder, manifest), inner / RELEASE_FILE)
    digest = sha256_of(inner / RELEASE_FILE)
    write_manifest(manifest.model_copy(update={"release_sha256": digest}), inner / MANIFEST_FILE)
    return pq.read_table(inner / RELEASE_FILE)


def compare_rows(canonical: pa.Table, rows: pa.Table) -> Iterator[Finding]:
    """Find rows that differ in value, order or type."""
    plain = canonical.drop_columns([GEOMETRY]) if GEOMETRY in canonical.column_names else canonical
    if rows.schema.types != plain.schema.types:
        yield Finding("unexpected-type", "columns of the export are of other types than those of a release")
    if len(plain) != len(rows) or not all(
        np.array_equal(_bits(plain[name]), _bits(rows[name]))
        for name in plain.column_names
        if name in rows.column_names
    ):
        yield Finding(
            "row-order", "the rows of the export do not stand in the order of a release, or are others"
        )


def _bits(column: pa.ChunkedArray) -> Numbers:
    """A zero with a sign differs from one without."""
    values = column.to_numpy(zero_copy_only=False)
    return np.asarray(values).view(np.int64) if pa.types.is_float64(column.type) else values


def _listed_schema(folder: Path, package: dict[str, Any], manifest: Manifest) -> pa.Schema:
    columns = package.get("shoal_columns")
    return schema_of(columns if isinstance(columns, dict) else {}, manifest, folder / PACKAGE_FILE)


def _compare_file_list(folder: Path, package: dict[str, Any]) -> Iterator[Finding]:
    listed: dict[str, str] = {}
    for resource in package["resources"]:
        listed[str(resource.get("path"))] = str(resource.get("hash", "")).removeprefix("sha256:")
    names = {str(path.relative_to(folder)) for path in files_in(folder)} - {PACKAGE_FILE}
    for name in sorted(names):
        require_plain_file(folder / name)
    yield from unexpected_attributes([folder, *files_in(folder)])
    for name in sorted(names - set(listed)):
        message = f"the folder holds {_safe_name(name)}, which {PACKAGE_FILE} does not list"
        yield Finding("unexpected-file", message)
    for name in sorted(listed):
        if name not in names:
            yield Finding("wrong-hash", f"{_safe_name(name)} is listed in {PACKAGE_FILE} and is not there")
        elif sha256_of(folder / name) != listed[name]:
            yield Finding("wrong-hash", f"{_safe_name(name)} has another SHA-256 than {PACKAGE_FILE} gives")


def _safe_name(name: str) -> str:
    """Any other could be a raw identifier, or steer a terminal."""
    return name if _OWN_NAME.fullmatch(name) else "a file of a name that shoal does not give"


def _read_package(folder: Path) -> dict[str, Any]:
    path = folder / PACKAGE_FILE
    require_plain_file(path, _LARGEST)
    try:
        package = json.loads(path.read_bytes(), object_pairs_hook=require_unique_keys)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: no JSON") from error
    resources = package.get("resources") if isinstance(package, dict) else None
    if not isinstance(resources, list) or not all(isinstance(one, dict) for one in resources):
        raise InputError(f"{path} is no data package: it lists no resources")
    listed: dict[str, Any] = package
    return listed
