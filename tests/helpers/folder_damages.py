"""Ways to break a written release folder, in one literal table.

Those of a release in memory stand in damages.py.

An attacker's bookkeeping (hash and number of rows in the manifest) is done where it would be done, so that
the damage itself is what must be found. They work on any folder of boxes with a plane, four records and a
linkage.
"""

import getpass
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.release_folder.files import PUBLIC
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE, REPORT_FILE
from shoal.runtime.files import sha256_of

Break = Callable[[Path, Trajectories, Linkage], None]


@dataclass(frozen=True)
class FolderDamage:
    """A way to break a written release folder, in place."""

    name: str
    break_it: Break
    expected_kind: str

    def applied_to(self, folder: Path, original: Trajectories, linkage: Linkage) -> None:
        self.break_it(folder, original, linkage)


def edit_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / MANIFEST_FILE
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def edit_page(folder: Path, text: str | None) -> None:
    """Write another page, or none, and give the manifest its digest."""
    path = folder / REPORT_FILE
    path.unlink(missing_ok=True)
    if text is not None:
        path.write_text(text)
    digest = None if text is None else sha256_of(path)
    edit_manifest(folder, lambda manifest: manifest.update(report_sha256=digest))


def edit_table(folder: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Rewrite the boxes' file and give the manifest the new hash and number of rows."""
    path = folder / RELEASE_FILE
    table = change(pq.read_table(path))
    with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(table.schema.metadata or {})
    edit_manifest(
        folder, lambda manifest: manifest.update(release_sha256=sha256_of(path), n_samples=table.num_rows)
    )


def with_column(table: pa.Table, name: str, change: Callable[[Any], Any]) -> pa.Table:
    return table.set_column(
        table.column_names.index(name), name, pa.array(change(table[name].to_numpy().copy()))
    )


def in_column(name: str, change: Callable[[Any], Any]) -> Break:
    return lambda folder, *_: edit_table(folder, lambda table: with_column(table, name, change))


def in_manifest(change: Callable[[dict[str, Any], Linkage], object]) -> Break:
    return lambda folder, _, linkage: edit_manifest(folder, lambda manifest: change(manifest, linkage))


def first_geometry_moved(values: Any) -> Any:
    """The last coordinate of the first geometry moved by a ten-millionth of a degree: one centimeter."""
    corner = np.frombuffer(values[0][-8:], dtype="<f8") + 1e-7
    return [values[0][:-8] + corner.tobytes(), *values[1:]]


def rows_shuffled(folder: Path, *_: Any) -> None:
    """One row of a record that has several moved behind all others."""

    def change(table: pa.Table) -> pa.Table:
        names = table["trajectory_id"].to_pylist()
        torn = next(row for row in range(len(names) - 1) if names[row] == names[row + 1])
        return table.take([*range(torn), *range(torn + 1, len(names)), torn])

    edit_table(folder, change)


def rows_of_a_record_swapped(folder: Path, *_: Any) -> None:
    """Two rows of one record in the wrong order."""

    def change(table: pa.Table) -> pa.Table:
        names = table["trajectory_id"].to_pylist()
        row = next(row for row in range(len(names) - 1) if names[row] == names[row + 1])
        return table.take([*range(row), row + 1, row, *range(row + 2, len(names))])

    edit_table(folder, change)


def second_manifest(folder: Path, *_: Any) -> None:
    shutil.copy(folder / MANIFEST_FILE, folder / "old.json")


def file_in_input_order(folder: Path, original: Trajectories, linkage: Linkage) -> None:
    assert original.input_rank is not None
    rank = {
        name: original.input_rank[original.ids.index(uid)]
        for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True)
    }
    edit_table(
        folder,
        lambda table: table.take(
            np.argsort([rank[name] for name in table["trajectory_id"].to_pylist()], kind="stable")
        ),
    )


def metadata_added(name: str, value: Callable[[Linkage], str]) -> Break:
    return lambda folder, _, linkage: edit_table(
        folder,
        lambda table: table.replace_schema_metadata({**(table.schema.metadata or {}), name: value(linkage)}),
    )


def report_says(text: Callable[[Linkage], str]) -> Break:
    def break_it(folder: Path, _: Trajectories, linkage: Linkage) -> None:
        path = folder / REPORT_FILE
        before = path.read_text() if path.exists() else f"<!doctype html>{PUBLIC}<title>release</title>"
        edit_page(folder, before.replace("</body>", "") + f"<p>{text(linkage)}</p>")

    return break_it


def linkage_inside(folder: Path, _: Trajectories, linkage: Linkage) -> None:
    pq.write_table(
        pa.table({"uid": list(linkage.uids), "trajectory_id": list(linkage.trajectory_ids)}),
        folder / "linkage.parquet",
    )


def linkage_as_text(folder: Path, _: Trajectories, linkage: Linkage) -> None:
    lines = [f"{uid};{name}" for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True)]
    (folder / "notes.txt").write_text("\n".join(lines))


def sha1(linkage: Linkage) -> str:
    return hashlib.sha1(linkage.uids[0].encode()).hexdigest()


def user_name() -> str:
    """Who runs the tests; the name of the folder of the user's home where the system knows no name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "/home/somebody"


FOLDER_DAMAGES = (
    FolderDamage(
        "box moved off the grid", in_column("x_min", lambda values: values + 0.5), "finer-than-claim"
    ),
    FolderDamage("time off the slots", in_column("t_end", lambda values: values + 1), "finer-than-claim"),
    FolderDamage(
        "geometry finer than its box", in_column("geometry", first_geometry_moved), "finer-than-claim"
    ),
    FolderDamage(
        "geometry that is no rectangle",
        in_column("geometry", lambda values: [b"\x01" * 93, *values[1:]]),
        "finer-than-claim",
    ),
    FolderDamage(
        "geometry missing", in_column("geometry", lambda values: [None, *values[1:]]), "finer-than-claim"
    ),
    FolderDamage(
        "extra column",
        lambda folder, *_: edit_table(folder, lambda t: t.append_column("n", pa.array(range(len(t))))),
        "unexpected-column",
    ),
    FolderDamage("extra file", second_manifest, "unexpected-file"),
    FolderDamage("extra folder", lambda folder, *_: (folder / "cache").mkdir(), "unexpected-file"),
    FolderDamage("linkage inside", linkage_inside, "unexpected-file"),
    FolderDamage("identifiers in an extra table", linkage_inside, "raw-identifier"),
    FolderDamage("identifiers in an extra text", linkage_as_text, "raw-identifier"),
    FolderDamage(
        "identifier as name of a file",
        lambda folder, _, links: (folder / f"{links.uids[0]}.csv").touch(),
        "raw-identifier",
    ),
    FolderDamage(
        "manifest with wrong number of records",
        in_manifest(lambda m, _: m.update(n_records=m["n_records"] + 1)),
        "wrong-count",
    ),
    FolderDamage(
        "manifest with wrong number of samples",
        in_manifest(lambda m, _: m.update(n_samples=m["n_samples"] - 1)),
        "wrong-count",
    ),
    FolderDamage(
        "manifest with wrong hash", in_manifest(lambda m, _: m.update(release_sha256="0" * 64)), "wrong-hash"
    ),
    FolderDamage(
        "manifest with larger k", in_manifest(lambda m, _: m["claim"].update(k=10**6)), "class-below-k"
    ),
    FolderDamage(
        "manifest with another grid",
        in_manifest(lambda m, _: m.update(cell_m=m["cell_m"] * 2)),
        "grid-mismatch",
    ),
    FolderDamage(
        "manifest with wrong losses",
        in_manifest(lambda m, _: m["losses"].update(samples_suppressed=10**6)),
        "lost-samples-not-counted",
    ),
    FolderDamage("seed in the manifest", in_manifest(lambda m, _: m["parameters"].update(seed=7)), "seed"),
    FolderDamage(
        "identifier in the manifest",
        in_manifest(lambda m, links: m["verdict"]["notes"].append(links.uids[0])),
        "raw-identifier",
    ),
    FolderDamage(
        "identifier as key",
        in_manifest(lambda m, links: m["losses"]["rows"].update({links.uids[0]: 1})),
        "raw-identifier",
    ),
    FolderDamage(
        "hash in the manifest",
        in_manifest(lambda m, links: m["parameters"].update(leader=sha1(links)[:8])),
        "raw-identifier",
    ),
    FolderDamage(
        "identifier in the report",
        report_says(lambda links: f'var labels = ["{links.uids[0]}"]'),
        "raw-identifier",
    ),
    FolderDamage(
        "hash in the report", report_says(lambda links: f"data-name='{sha1(links)}'"), "raw-identifier"
    ),
    FolderDamage(
        "path in the report", report_says(lambda _: "made from /home/somebody/calls.csv"), "metadata"
    ),
    FolderDamage(
        "path of another system in the report",
        report_says(lambda _: r"made from C:\Users\somebody\calls.csv"),
        "metadata",
    ),
    FolderDamage(
        "identifier in the file's metadata",
        metadata_added("note", lambda links: links.uids[0]),
        "raw-identifier",
    ),
    FolderDamage(
        "user name in the file's metadata", metadata_added("author", lambda _: user_name()), "metadata"
    ),
    FolderDamage("rows of a record apart", rows_shuffled, "row-order"),
    FolderDamage("rows of a record in another order", rows_of_a_record_swapped, "row-order"),
    FolderDamage("file in input order", file_in_input_order, "record-order"),
)
