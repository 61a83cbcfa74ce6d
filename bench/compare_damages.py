"""Broken copies of releases for compare_commits.py: each breaks one thing in a folder of a release."""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def sha256(path: Path) -> str:
    """The digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Package:
    """A stored release that is about to be damaged: its folder, and its secret files."""

    folder: Path

    @property
    def manifest_path(self) -> Path:
        """The manifest."""
        return self.folder / "release" / "manifest.json"

    @property
    def release_path(self) -> Path:
        """The table that is published."""
        return self.folder / "release" / "release.parquet"

    def edit_manifest(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the manifest, written as shoal writes it."""
        manifest = json.loads(self.manifest_path.read_text())
        change(manifest)
        self.manifest_path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")

    def edit_release(self, change: Callable[[pa.Table], pa.Table], *, bookkeeping: bool = True) -> None:
        """Change the table; with bookkeeping the manifest follows, as an attacker would do it."""
        table = change(pq.read_table(self.release_path))
        with pq.ParquetWriter(
            self.release_path, table.schema, compression="zstd", store_schema=False
        ) as file:
            file.write_table(table)
            file.add_key_value_metadata(table.schema.metadata or {})
        if bookkeeping:
            digest = sha256(self.release_path)
            self.edit_manifest(lambda m: m.update(release_sha256=digest, n_samples=table.num_rows))

    def edit_secret(self, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
        """Change the linkage or origin.parquet."""
        path = self.folder / name
        pq.write_table(change(pq.read_table(path)), path)


Damage = Callable[[Package], object]


def in_manifest(change: Callable[[dict[str, Any]], object]) -> Damage:
    """A damage of the manifest alone."""
    return lambda package: package.edit_manifest(change)


def in_release(change: Callable[[pa.Table], pa.Table], *, bookkeeping: bool = True) -> Damage:
    """A damage of the published table."""
    return lambda package: package.edit_release(change, bookkeeping=bookkeeping)


def in_secret(name: str, change: Callable[[pa.Table], pa.Table]) -> Damage:
    """A damage of a secret file."""
    return lambda package: package.edit_secret(name, change)


def in_column(name: str, change: Callable[[Any], Any]) -> Damage:
    """A damage of one column of the published table, given as a list."""
    return in_release(lambda table: with_column(table, name, change(table[name].to_pylist())))


def with_column(table: pa.Table, name: str, values: Sequence[Any]) -> pa.Table:
    """The table with other values in a column."""
    at = table.column_names.index(name)
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))


def with_first(values: list[Any], change: Callable[[Any], Any]) -> list[Any]:
    """The values with the first one changed."""
    return [change(values[0]), *values[1:]]


def first_exchanged(values: list[Any]) -> list[Any]:
    """The first value and the next one that is different, exchanged."""
    other = next(at for at, value in enumerate(values) if value != values[0])
    return [values[other], *values[1:other], values[0], *values[other + 1 :]]


def without_record(table: pa.Table) -> pa.Table:
    """The table without its first record."""
    return table.filter(pc.not_equal(table["trajectory_id"], table["trajectory_id"][0]))


def without_row(table: pa.Table, row: int = 0) -> pa.Table:
    """The table without one row."""
    return pa.concat_tables([table[:row], table[row + 1 :]])


def rows_reversed(table: pa.Table) -> pa.Table:
    """The rows in reverse order."""
    return table.take(list(range(len(table) - 1, -1, -1)))


def cut_off(path: str, share: float) -> Damage:
    """A file that ends too early."""

    def damage(package: Package) -> None:
        content = (package.folder / path).read_bytes()
        (package.folder / path).write_bytes(content[: int(len(content) * share)])

    return damage


def with_identifier(package: Package) -> None:
    """A raw identifier as pseudonym, in the release and in the linkage."""
    linkage = pq.read_table(package.folder / "linkage.parquet")
    record, person = linkage["trajectory_id"][0].as_py(), linkage["uid"][0].as_py()

    def renamed(table: pa.Table) -> pa.Table:
        names = table["trajectory_id"].to_pylist()
        return with_column(table, "trajectory_id", [person if name == record else name for name in names])

    package.edit_release(renamed)
    package.edit_secret("linkage.parquet", renamed)


def linkage_inside(package: Package) -> None:
    """The linkage, published."""
    shutil.copyfile(package.folder / "linkage.parquet", package.folder / "release" / "linkage.parquet")


def identifier_in_report(package: Package) -> None:
    """A raw identifier on the page, whose digest the manifest has."""
    person = pq.read_table(package.folder / "linkage.parquet")["uid"][0].as_py()
    page = package.folder / "release" / "report.html"
    page.write_text(page.read_text().replace("</body>", f"<p>{person}</p></body>"))
    package.edit_manifest(lambda manifest: manifest.update(report_sha256=sha256(page)))


def report_with_path(package: Package) -> None:
    """A page that is not the one that the manifest names."""
    page = package.folder / "release" / "report.html"
    page.write_text(page.read_text() + "made from /home/somebody/calls.csv")


ANY: dict[str, Damage] = {  # of boxes and points alike
    "row-removed": in_release(without_row),
    "row-removed-without-bookkeeping": in_release(without_row, bookkeeping=False),
    "record-removed": in_release(without_record),
    "ids-swapped": in_column("trajectory_id", first_exchanged),
    "identifier-as-pseudonym": with_identifier,
    "rows-reversed": in_release(rows_reversed),
    "linkage-exchanged": in_secret(
        "linkage.parquet", lambda table: with_column(table, "uid", first_exchanged(table["uid"].to_pylist()))
    ),
    "linkage-row-removed": in_secret("linkage.parquet", without_row),
    "manifest-more-records": in_manifest(lambda m: m.update(n_records=m["n_records"] + 1)),
    "manifest-larger-k": in_manifest(
        lambda m: m["claim"].update({name: m["claim"][name] + 1 for name in ("k", "p") if name in m["claim"]})
    ),
    "release-truncated": cut_off("release/release.parquet", 0.7),
}
OF_BOXES: dict[str, Damage] = {
    "box-moved": in_column("x_min", lambda values: with_first(values, lambda x: x - 100.0)),
    "box-off-the-grid": in_column("y_max", lambda values: with_first(values, lambda y: y + 0.5)),
    "time-moved": in_column("t_end", lambda values: with_first(values, lambda t: t + 3600)),
    "box-inside-out": in_column("x_max", lambda values: with_first(values, lambda x: x - 1e7)),
    "coordinate-not-a-number": in_column("y_min", lambda values: with_first(values, lambda _: float("nan"))),
    "geometry-missing": in_column("geometry", lambda values: with_first(values, lambda _: None)),
    "column-added": in_release(lambda t: t.append_column("n", pa.array(range(len(t))))),
    "metadata-added": in_release(
        lambda t: t.replace_schema_metadata({**(t.schema.metadata or {}), "path": "/home/somebody/calls.csv"})
    ),
    "linkage-row-twice": in_secret("linkage.parquet", lambda t: pa.concat_tables([t, t[:1]])),
    "linkage-unknown-record": in_secret(
        "linkage.parquet",
        lambda t: with_column(
            t, "trajectory_id", with_first(t["trajectory_id"].to_pylist(), lambda _: "0" * 16)
        ),
    ),
    "linkage-truncated": cut_off("linkage.parquet", 0.5),
    "linkage-inside": linkage_inside,
    "report-other": report_with_path,
    "report-identifier": identifier_in_report,
    "manifest-truncated": cut_off("release/manifest.json", 0.5),
    "manifest-without-claim": in_manifest(lambda m: m.pop("claim")),
    "manifest-other-hash": in_manifest(lambda m: m.update(release_sha256="0" * 64)),
    "manifest-other-grid": in_manifest(lambda m: m.update(cell_m=m["cell_m"] * 2)),
    "manifest-other-unit": in_manifest(lambda m: m.update(unit_of_protection="each person")),
    "manifest-losses": in_manifest(lambda m: m["losses"].update(samples_suppressed=10**6)),
    "manifest-seed": in_manifest(lambda m: m["parameters"].update(seed=7)),
    "manifest-method": in_manifest(lambda m: m.update(method="static")),
    "manifest-format": in_manifest(lambda m: m.update(format_version=99)),
}
OF_POINTS: dict[str, Damage] = {
    "point-moved": in_column("x", lambda values: with_first(values, lambda x: x + 1.0)),
    "time-moved": in_column("t", lambda values: with_first(values, lambda t: t + 1)),
    "origin-exchanged": in_secret(
        "origin.parquet",
        lambda table: with_column(
            table, table.column_names[0], first_exchanged(table[table.column_names[0]].to_pylist())
        ),
    ),
    "origin-row-removed": in_secret("origin.parquet", without_row),
}
FEW = ("row-removed", "ids-swapped", "linkage-exchanged", "manifest-larger-k")
DAMAGES: dict[str, dict[str, Damage]] = {
    "glove-k5": ANY | OF_BOXES,
    "glove-blocks": {name: ANY[name] for name in FEW},
    "kte-hide": {name: (ANY | OF_BOXES)[name] for name in (*FEW, "box-moved")},
    "static": {name: (ANY | OF_BOXES)[name] for name in (*FEW, "time-moved")},
    "nwa": {name: (ANY | OF_POINTS)[name] for name in (*FEW, "point-moved")},
    "w4m": {name: (ANY | OF_POINTS)[name] for name in (*FEW, "time-moved")},
    "swap-greedy": ANY | OF_POINTS,
    "reach": {name: (ANY | OF_POINTS)[name] for name in (*FEW, *OF_POINTS)},
}
