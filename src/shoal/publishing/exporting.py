"""A release in another format; ``datapackage.json``, written last, makes it complete."""

import json
import re
import shutil
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.errors import InputError, MisuseError, OutputError
from shoal.io.sources.object_stores import store
from shoal.model.release import BOX_COLUMNS, DEGREE_COLUMNS, POINT_COLUMNS
from shoal.model.verdicts import Finding
from shoal.release_folder.exports import EXPORTS, RowsExport
from shoal.release_folder.files import require_plain_file
from shoal.release_folder.joining import split_table
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE, REPORT_FILE, Manifest, read_manifest
from shoal.release_folder.packing import GEOMETRY
from shoal.runtime.files import sha256_of
from shoal.runtime.run import Run
from shoal.runtime.staging import staged_folder
from shoal.verification.files.folder import read_in_background
from shoal.verification.files.layout import layout_findings
from shoal.verification.files.stated import manifest_mismatches
from shoal.verification.files.stored import unexpected_pseudonyms
from shoal.verification.leaks.active_pages import is_active

PACKAGE_FILE: Final = "datapackage.json"
_MEDIATYPES: Final = {".json": "application/json", ".html": "text/html"}
_TYPES: Final = {"string": "string", "int64": "integer", "double": "number"}
_KINDS: Final = {"string": pa.string(), "int64": pa.int64(), "double": pa.float64()}


@dataclass(frozen=True, kw_only=True)
class ExportResult:
    """Folder, format, number of rows, and files with digests."""

    folder: Path
    form: str
    rows: int
    files: dict[str, str]


def export(release_folder: Path, target: Path, form: str) -> ExportResult:
    """Write a release in another format (a key of EXPORTS), complete or absent."""
    if form not in EXPORTS:
        raise MisuseError(f"'{form}' is no format of a release; choose from {', '.join(EXPORTS)}")
    row = EXPORTS[form]
    if target.resolve().is_relative_to(release_folder.resolve()):
        raise OutputError(
            f"{target} would lie in the release itself, which then holds other files; write elsewhere"
        )
    with staged_folder(target) as staging:
        if isinstance(row, RowsExport):
            manifest, table = read_exportable_table(release_folder)
            row.write(table, staging / row.where)
            schema, rows = table.schema, len(table)
        else:
            manifest, schema, rows = _write_parts(release_folder, staging / row.where)
        for name in (MANIFEST_FILE, REPORT_FILE):
            if (release_folder / name).exists():
                shutil.copyfile(release_folder / name, staging / name)
        files = {str(path.relative_to(staging)): sha256_of(path) for path in files_in(staging)}
        package = package_of(staging, files, form, schema, manifest)
        # last: without it no release
        (staging / PACKAGE_FILE).write_text(text_of_package(package), encoding="utf-8")
    return ExportResult(folder=target, form=form, rows=rows, files=files)


def read_exportable_table(release_folder: Path) -> tuple[Manifest, pa.Table]:
    """Manifest and table of a release; raises InputError for what ``shoal verify`` finds without raw data."""
    manifest = _read_manifest_of_unchanged_table(release_folder)
    with read_in_background(release_folder, Run(threads=1)) as reading:
        table = reading.rows()
    n_records = table.release.n_records
    about = manifest_mismatches(release_folder, manifest, table.sha256, n_records, table.n_samples)
    page = release_folder / REPORT_FILE
    if page.is_file() and is_active(page.read_text(encoding="utf-8", errors="replace")):
        raise InputError(f"the release was not published: {REPORT_FILE} holds a script or an outside address")
    for finding in (*table.findings, *about):
        raise _not_published(finding)
    return manifest, pq.read_table(release_folder / RELEASE_FILE)


def _read_manifest_of_unchanged_table(release_folder: Path) -> Manifest:
    manifest = read_manifest(release_folder)
    require_plain_file(release_folder / RELEASE_FILE)
    if sha256_of(release_folder / RELEASE_FILE) != manifest.release_sha256:
        raise InputError(
            f"{RELEASE_FILE} is not the table that the manifest names; look at it with shoal verify "
            "before it is handed over"
        )
    return manifest


def _not_published(finding: Finding) -> InputError:
    return InputError(f"the release was not published, for shoal verify refuses it: {finding.message}")


def _write_parts(release_folder: Path, folder: Path) -> tuple[Manifest, pa.Schema, int]:
    manifest = _read_manifest_of_unchanged_table(release_folder)
    table = release_folder / RELEASE_FILE
    try:
        about = pq.read_metadata(table)
        schema = about.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{table} is not the table of a release; fetch or write it again") from error
    schema_of(_columns(schema), manifest, table)
    with table.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        findings = layout_findings(content)
    with pq.ParquetFile(table) as rows:
        for group in range(about.num_row_groups):
            names = rows.read_row_group(group, ["trajectory_id"])["trajectory_id"]
            findings += unexpected_pseudonyms(pc.unique(names).to_pylist())
    for finding in findings:
        raise _not_published(finding)
    split_table(table, folder)
    return manifest, schema, about.num_rows


def export_to_store(release_folder: Path, address: str, form: str) -> ExportResult:
    """As ``export``, into a new folder of a store, the list of files last."""
    with TemporaryDirectory(prefix="shoal-export-") as scratch:
        done = export(release_folder, Path(scratch) / "out", form)
        store(Path(scratch) / "out", address, last=PACKAGE_FILE)
    return done


def text_of_package(package: dict[str, Any]) -> str:
    """The list of files as text."""
    return json.dumps(package, indent=2, ensure_ascii=False) + "\n"


def schema_of(types: dict[str, Any], manifest: Manifest, where: object) -> pa.Schema:
    """The schema of these columns; raises InputError when a release has other ones."""
    names = list(types)
    allowed = [["trajectory_id", *BOX_COLUMNS]]
    if manifest.grid is None:
        allowed = [["trajectory_id", *POINT_COLUMNS], ["trajectory_id", *POINT_COLUMNS, *DEGREE_COLUMNS]]
    if names not in allowed or not all(isinstance(kind, str) and kind in _KINDS for kind in types.values()):
        raise InputError(f"{where} names other columns than a release has")
    return pa.schema([(name, _KINDS[types[name]]) for name in names])


def package_of(
    folder: Path, files: dict[str, str], form: str, schema: pa.Schema, manifest: Manifest
) -> dict[str, Any]:
    """The description of the folder: https://specs.frictionlessdata.io/data-package/."""
    fields = [
        {"name": field.name, "type": _TYPES.get(str(field.type), "any")}
        for field in schema
        if field.name != GEOMETRY
    ]
    resources = []
    for path, digest in sorted(files.items()):
        resource: dict[str, Any] = {
            "name": re.sub(r"[^a-z0-9._/-]+", "-", path.lower()).replace("/", "-").strip("-."),
            "path": path,
            "bytes": (folder / path).stat().st_size,
            "hash": f"sha256:{digest}",
            "mediatype": _MEDIATYPES.get(Path(path).suffix, EXPORTS[form].mediatype),
        }
        if resource["mediatype"] == "text/csv":
            resource |= {
                "profile": "tabular-data-resource",
                "encoding": "utf-8",
                "schema": {"fields": fields},
            }
        resources.append(resource)
    return {
        "profile": "data-package",
        "name": "release",
        "title": "Movement data released by shoal",
        "description": "manifest.json says what is promised; shoal verify checks it.",
        "shoal_format": form,
        "shoal_version": manifest.shoal_version,
        "shoal_columns": _columns(schema),
        "resources": resources,
    }


def _columns(schema: pa.Schema) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema if field.name != GEOMETRY}


def files_in(folder: Path) -> list[Path]:
    """All files below a folder, links included."""
    return sorted(path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
