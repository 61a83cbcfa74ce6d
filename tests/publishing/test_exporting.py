"""A release in other formats: complete or absent, checked like any other, and nothing hidden in it."""

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from command_line import Shoal
from folder_damages import edit_manifest
from shoal.cli.publish import publish
from shoal.errors import InputError, MisuseError, OutputError
from shoal.publishing.exported import OTHER_DIGEST
from shoal.publishing.exporting import PACKAGE_FILE, export
from shoal.publishing.in_database import FORMS
from shoal.release_folder import joining, tables
from shoal.release_folder.exports import EXPORTS
from shoal.runtime.files import sha256_of
from shoal.verification.files.written import PACKED_DIFFERENTLY


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two releases, one of boxes and one of points, each with its raw data and its linkage."""
    place = tmp_path_factory.mktemp("exports")
    pq.write_table(pa.table(shoal.synthesize(30, 2, 1)), place / "raw.parquet")
    city = shoal.read(place / "raw.parquet")
    given = shoal.read(place / "raw.parquet", snap=False)
    rng = shoal.Randomness.from_system()
    shoal.publish(
        city, shoal.Glove(k=2), place / "boxes", rng=rng, tries=0, linkage_file=place / "boxes.links"
    )
    method = shoal.W4m(k=2, delta_m=2000)
    shoal.publish(given, method, place / "points", rng=rng, tries=0, linkage_file=place / "points.links")
    return {
        "place": place,
        "raw": place / "raw.parquet",
        "boxes": place / "boxes",
        "points": place / "points",
    }


def verdict_of(folder: Path, made: dict[str, Path], kind: str) -> shoal.Verdict:
    original = shoal.read(made["raw"], snap=kind == "boxes", working_crs=_plane(folder))
    return shoal.verify_folder(original, folder, shoal.read_linkage(made["place"] / f"{kind}.links"))


def _plane(folder: Path) -> str:
    return str(json.loads((folder / "manifest.json").read_text())["crs"])


@pytest.mark.parametrize("kind", ["boxes", "points"])
@pytest.mark.parametrize("form", EXPORTS)
def test_a_release_is_verified_in_every_format(
    form: str, kind: str, made: dict[str, Path], tmp_path: Path
) -> None:
    done = export(made[kind], tmp_path / "out", form)
    package = json.loads((tmp_path / "out" / PACKAGE_FILE).read_text())
    assert {one["path"] for one in package["resources"]} == set(done.files)
    assert done.files == {path: sha256_of(tmp_path / "out" / path) for path in done.files}
    verdict = verdict_of(tmp_path / "out", made, kind)
    assert verdict.findings == ()
    assert verdict.holds
    with pytest.raises(OutputError, match="exists"):
        export(made[kind], tmp_path / "out", form)


@pytest.mark.parametrize("form", EXPORTS)
def test_people_who_come_day_by_day_stand_in_any_order(form: str, tmp_path: Path) -> None:
    """Joined in the order of the days, the records would follow the identifiers, and be refused."""
    raw = [
        (f"u{who:02}", 1714521600 + who // 10 * 86400 + hour * 3600 + who, 48.8 + who / 1000, 2.35)
        for who in range(60)
        for hour in (7, 9, 12, 18)
    ]
    columns = dict(zip(("uid", "t", "lat", "lon"), zip(*raw, strict=True), strict=True))
    given, links = shoal.read(pa.table(columns)), tmp_path / "links.parquet"
    rng = shoal.Randomness.for_research(1)
    shoal.publish(given, shoal.Glove(k=3), tmp_path / "boxes", rng=rng, tries=0, linkage_file=links)
    export(tmp_path / "boxes", tmp_path / "out", form)
    verdict = shoal.verify_folder(given, tmp_path / "out", shoal.read_linkage(links))
    assert (verdict.findings, verdict.unchecked) == ((), ())


@pytest.mark.parametrize("form", EXPORTS)
def test_people_who_begin_on_other_days_stand_in_any_order(form: str, tmp_path: Path) -> None:
    raw = [
        (who, 1714557600 + day * 86400, 48.85 + pair / 100, 2.35)
        for pair in range(10)
        for who in (f"a{pair}", f"b{pair}")
        for day in range(pair % 3, 4)
    ]
    columns = dict(zip(("uid", "t", "lat", "lon"), zip(*raw, strict=True), strict=True))
    given, links = shoal.read(pa.table(columns)), tmp_path / "links.parquet"
    rng = shoal.Randomness.for_research(1)
    shoal.publish(given, shoal.Glove(k=2), tmp_path / "boxes", rng=rng, tries=0, linkage_file=links)
    export(tmp_path / "boxes", tmp_path / "out", form)
    assert shoal.verify_folder(given, tmp_path / "out", shoal.read_linkage(links)).findings == ()


@pytest.mark.parametrize("form", EXPORTS)
def test_swapped_points_are_held_against_their_origins_in_every_format(form: str, tmp_path: Path) -> None:
    raw = [
        (f"u{person}", 1714557600 + hour * 3600, 48.85 + person // 4 / 10 + person / 10000, 2.35)
        for person in range(24)
        for hour in range(person // 4 % 2 * 24, 48)
    ]
    columns = dict(zip(("uid", "t", "lat", "lon"), zip(*raw, strict=True), strict=True))
    given, links = shoal.read(pa.table(columns), snap=False), tmp_path / "links.parquet"
    method = shoal.SwapLocations(k=4, time_threshold_s=100.0)
    rng = shoal.Randomness.for_research(1)
    shoal.publish(given, method, tmp_path / "points", rng=rng, tries=0, linkage_file=links)
    export(tmp_path / "points", tmp_path / "out", form)
    verdict = shoal.verify_folder(given, tmp_path / "out", shoal.read_linkage(links))
    assert (verdict.findings, verdict.unchecked) == ((), ())
    other = pq.read_table(tmp_path / "links-origin.parquet")
    swapped = other.set_column(1, "time_from", pa.array(other["time_from"].to_numpy()[::-1]))
    pq.write_table(swapped, tmp_path / "links-origin.parquet")
    verdict = shoal.verify_folder(given, tmp_path / "out", shoal.read_linkage(links))
    assert "trace-mismatch" in verdict.kinds


@pytest.mark.parametrize("target", ["boxes/in", "boxes/a/b", "other/../boxes/in"])
def test_an_export_does_not_lie_in_its_release(target: str, made: dict[str, Path]) -> None:
    before = sorted(made["boxes"].iterdir())
    with pytest.raises(OutputError, match="in the release itself"):
        export(made["boxes"], made["place"] / target, "csv")
    assert sorted(made["boxes"].iterdir()) == before


def test_the_help_names_every_format() -> None:
    choices = next(option.type for option in publish.params if option.name == "form")
    assert list(choices.choices) == [*EXPORTS, *FORMS]  # type: ignore[attr-defined]  # of a choice


def relisted(folder: Path, indent: int | None = 2) -> None:
    """Let the list of files tell what is there now, as a forger would."""
    package = json.loads((folder / PACKAGE_FILE).read_text())
    for resource in package["resources"]:
        resource["hash"] = f"sha256:{sha256_of(folder / resource['path'])}"
        resource["bytes"] = (folder / resource["path"]).stat().st_size
    (folder / PACKAGE_FILE).write_text(json.dumps(package, indent=indent, ensure_ascii=False) + "\n")


def cut_a_row(folder: Path) -> None:
    lines = (folder / "release.csv").read_text().splitlines(keepends=True)
    (folder / "release.csv").write_text("".join(lines[:-1]))


def two_rows_swapped(folder: Path) -> None:
    lines = (folder / "release.csv").read_text().splitlines(keepends=True)
    (folder / "release.csv").write_text("".join([lines[0], lines[2], lines[1], *lines[3:]]))


def blanks_at_the_end(folder: Path) -> None:
    text = (folder / "release.csv").read_text()
    (folder / "release.csv").write_text(text.replace("\n", "\r\n"))


def a_further_column(folder: Path) -> None:
    lines = (folder / "release.csv").read_text().splitlines()
    further = [f"{line},{n or 'note'}" for n, line in enumerate(lines)]
    (folder / "release.csv").write_text("\n".join(further))


def a_box_moved(folder: Path) -> None:
    lines = (folder / "release.csv").read_text().splitlines(keepends=True)
    first = lines[1].split(",")
    first[3] = str(float(first[3]) - 100)
    (folder / "release.csv").write_text("".join([lines[0], ",".join(first), *lines[2:]]))


DAMAGES: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "a row is gone": (cut_a_row, {"wrong-count"}),
    "two rows change places": (two_rows_swapped, {"row-order"}),
    "other line ends": (blanks_at_the_end, {"hidden-bytes"}),
    "a further column": (a_further_column, {"unexpected-column"}),
    "a box moved": (a_box_moved, {"class-below-k"}),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_to_an_export_is_found_although_its_list_was_made_anew(
    name: str, made: dict[str, Path], tmp_path: Path
) -> None:
    change, kinds = DAMAGES[name]
    export(made["boxes"], tmp_path / "out", "csv")
    change(tmp_path / "out")
    assert "wrong-hash" in verdict_of(tmp_path / "out", made, "boxes").kinds
    relisted(tmp_path / "out")
    assert kinds <= verdict_of(tmp_path / "out", made, "boxes").kinds


def test_other_places_in_geojson_than_those_of_the_rows_are_found(
    made: dict[str, Path], tmp_path: Path
) -> None:
    export(made["boxes"], tmp_path / "out", "geojsonl")
    lines = (tmp_path / "out" / "release.geojsonl").read_text().splitlines()
    feature = json.loads(lines[0])
    feature["geometry"]["coordinates"][0][0][0] += 1e-5
    lines[0] = json.dumps(feature, separators=(",", ":"))
    (tmp_path / "out" / "release.geojsonl").write_text("\n".join(lines) + "\n")
    relisted(tmp_path / "out")
    assert verdict_of(tmp_path / "out", made, "boxes").kinds == {"hidden-bytes"}


def test_bytes_hidden_in_a_day_are_found(made: dict[str, Path], tmp_path: Path) -> None:
    export(made["boxes"], tmp_path / "out", "parquet-by-day")
    part = sorted((tmp_path / "out" / "data").glob("day=*/part-0.parquet"))[0]
    table = pq.read_table(part).replace_schema_metadata({"owner": "somebody"})
    pq.write_table(table, part)
    relisted(tmp_path / "out")
    assert "hidden-bytes" in verdict_of(tmp_path / "out", made, "boxes").kinds


def test_a_part_that_is_cut_or_changed_is_named(made: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "days"
    export(made["boxes"], folder, "parquet-by-day")
    part = first_part(folder)
    name, whole = str(part.relative_to(folder)), part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="is not a readable Parquet file") as refused:
        verdict_of(folder, made, "boxes")
    assert str(refused.value).startswith(name)
    part.write_bytes(whole[:4] + b"hidden here" + whole[4:])
    try:
        told = [finding.message for finding in verdict_of(folder, made, "boxes").findings]
    except InputError as error:
        told = [str(error)]
    assert any(message.startswith(name) for message in told)
    assert not any("release.parquet" in message for message in told)


def first_part(folder: Path) -> Path:
    return sorted((folder / "data").rglob("*.parquet"))[0]


def elsewhere(values: list[bytes]) -> list[bytes]:
    """The first rectangle drawn a hundred meters to the east; all others as they are."""
    numbers = np.frombuffer(values[0][13:], dtype="<f8") + np.tile([1e-3, 0], 5)
    return [values[0][:13] + numbers.astype("<f8").tobytes(), *values[1:]]


def drawn_elsewhere(folder: Path) -> None:
    part = first_part(folder)
    table = pq.ParquetFile(part).read()
    moved = pa.array(elsewhere(table["geometry"].to_pylist()), pa.binary())
    place = table.column_names.index("geometry")
    pq.write_table(table.set_column(place, "geometry", moved), part, compression="zstd", store_schema=False)


def rewritten_delta(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        part = first_part(folder)
        pq.write_table(change(pq.ParquetFile(part).read()), part, compression="zstd", store_schema=False)
        EXPORTS["delta"].finish(folder / "data")  # type: ignore[attr-defined]
        relisted(folder)

    return damage


def delta_by_its_library(folder: Path) -> None:
    """A table with the same rows, in a log and a file of another writer."""
    deltalake = pytest.importorskip("deltalake")
    table = pq.ParquetFile(first_part(folder)).read()
    shutil.rmtree(folder / "data")
    deltalake.write_deltalake(str(folder / "data"), table)
    next((folder / "data").glob("*.parquet")).rename(folder / "data" / "part-00000.parquet")
    listed_anew(folder)


def appended(name: str, content: bytes) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        with (folder / name).open("ab") as file:
            file.write(content)
        relisted(folder)

    return damage


def replaced_in(name: str, old: bytes, new: bytes) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = (folder / name).read_bytes()
        assert old in content
        (folder / name).write_bytes(content.replace(old, new, 1))
        relisted(folder)

    return damage


def listed_anew(folder: Path) -> None:
    """A list of whatever lies there now."""
    package = json.loads((folder / PACKAGE_FILE).read_text())
    model = package["resources"][0]
    package["resources"] = [
        {**model, "path": str(path.relative_to(folder)), "name": path.name}
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != PACKAGE_FILE
    ]
    (folder / PACKAGE_FILE).write_text(json.dumps(package))
    relisted(folder)


def in_package(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        package = json.loads((folder / PACKAGE_FILE).read_text())
        change(package)
        (folder / PACKAGE_FILE).write_text(json.dumps(package, indent=2, ensure_ascii=False) + "\n")

    return damage


def two_days_in_one(folder: Path) -> None:
    """The rows of the second day stand in the file of the first."""
    days(lambda tables: [pa.concat_tables(tables[:2]), *tables[1:]])(folder)
    shutil.rmtree(sorted((folder / "data").iterdir())[1])
    package = json.loads((folder / PACKAGE_FILE).read_text())
    package["resources"] = [one for one in package["resources"] if (folder / one["path"]).exists()]
    (folder / PACKAGE_FILE).write_text(json.dumps(package, indent=2, ensure_ascii=False) + "\n")


def beside(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("u000001 was at home")
        listed_anew(folder)

    return damage


def days(change: Callable[[list[pa.Table]], list[pa.Table]]) -> Callable[[Path], None]:
    """Write other tables into the files of the days, and tell it in the list."""

    def damage(folder: Path) -> None:
        parts = sorted((folder / "data").rglob("*.parquet"))
        tables = change([pq.ParquetFile(part).read() for part in parts])
        for part, table in zip(parts, tables, strict=True):
            pq.write_table(table, part, compression="zstd", store_schema=False)
        relisted(folder)

    return damage


def of_next_day(tables: list[pa.Table]) -> list[pa.Table]:
    """The last row of the first day among those of the second: put together, nothing has changed."""
    first, second, *others = tables
    last = len(first) - 1
    return [first.slice(0, last), pa.concat_tables([first.slice(last), second]), *others]


def with_values(name: str, values: Callable[[pa.Table], Any]) -> Callable[[list[pa.Table]], list[pa.Table]]:
    return lambda tables: [
        each.set_column(each.column_names.index(name), name, values(each)) for each in tables
    ]


def of_other_types(folder: Path) -> None:
    days(with_values("t_start", lambda table: table["t_start"].cast(pa.float64())))(folder)
    in_package(lambda package: package["shoal_columns"].update(t_start="double"))(folder)


def one_last_bit(table: pa.Table) -> pa.Array:
    drawn = table["geometry"].to_pylist()
    return pa.array([drawn[0][:13] + bytes([drawn[0][13] ^ 1]) + drawn[0][14:], *drawn[1:]], pa.binary())


def other_heads(table: pa.Table) -> pa.Array:
    """As many rings and corners as a message says, alike for all: readers that look at them fail."""
    return pa.array([drawn[:5] + b"u0000001" + drawn[13:] for drawn in table["geometry"].to_pylist()])


def with_bounds(folder: Path) -> None:
    """A day states bounds, as GeoParquet has them, which shoal leaves to the table."""
    drawn = {"encoding": "WKB", "geometry_types": ["Polygon"], "bbox": [-122.41, 37.77, -122.40, 37.78]}
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": drawn}}
    part = first_part(folder)
    table = pq.ParquetFile(part).read()
    with pq.ParquetWriter(part, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"geo": json.dumps(geo)})
    relisted(folder)


def zeros_with_signs(table: pa.Table) -> pa.Array:
    values = table["x_min"].to_numpy()
    return pa.array(np.where(values == 0, -0.0, values))


def by_another_writer(folder: Path) -> None:
    part = first_part(folder)
    content = part.read_bytes()
    own = pq.read_metadata(part).created_by.encode()
    part.write_bytes(content.replace(own, b"u000001".ljust(len(own))))
    relisted(folder)


DELTA_LOG = f"data/_delta_log/{0:020}.json"
FEATURE_BYTES = 48 + 80 + 4 + 22 + 6 * 10 + 4  # of a box: tables, corners, properties, sizes


def in_features(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Another last feature of boxes."""

    def damage(folder: Path) -> None:
        content = (folder / "release.fgb").read_bytes()
        rest, last = content[:-FEATURE_BYTES], content[-FEATURE_BYTES:]
        assert int.from_bytes(last[:4], "little") == FEATURE_BYTES - 4
        (folder / "release.fgb").write_bytes(rest + change(last))
        relisted(folder)

    return damage


a_feature_twice = in_features(lambda feature: feature * 2)
a_padding_byte = in_features(lambda feature: feature[:44] + b"who?" + feature[48:])
a_feature_elsewhere = in_features(lambda feature: feature[:52] + struct.pack("<d", 7.0) + feature[60:])


BY_HAND: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "raw data in the description": (
        "csv", in_package(lambda p: p.update(description="u000001 lives at 37.7, -122.4")), "respelled",
    ),
    "an entry of its own": ("csv", in_package(lambda p: p.update(contributors=["u000001"])), "respelled"),
    "a title of a file": ("csv", in_package(lambda p: p["resources"][0].update(title="u0001")), "respelled"),
    "a name of a file": ("csv", in_package(lambda p: p["resources"][0].update(name="u000001")), "respelled"),
    "another size": ("csv", in_package(lambda p: p["resources"][0].update(bytes=7)), "respelled"),
    "files in another order": ("csv", in_package(lambda p: p["resources"].reverse()), "respelled"),
    "a list in one line": ("csv", lambda f: relisted(f, indent=None), "respelled"),
    "an empty folder": ("csv", lambda f: (f / "u000001").mkdir(), "unexpected-file"),
    "a listed note": ("csv", beside("notes.txt"), "unexpected-file"),
    "a listed note among the days": ("parquet-by-day", beside("data/notes.txt"), "unexpected-file"),
    "a day without rows": ("parquet-by-day", beside("data/day=2031-01-01/notes.txt"), "unexpected-file"),
    "an empty day": (
        "parquet-by-day", lambda f: (f / "data" / "day=u000001").mkdir(), "unexpected-file",
    ),
    "a listed note among the parts": ("parquet-parts", beside("data/notes.txt"), "unexpected-file"),
    "a note in the place of a part": ("parquet-parts", beside("data/part-00001.parquet.txt"), "hidden-bytes"),
    "places of somebody in a part": ("parquet-parts", drawn_elsewhere, "wrong-hash"),
    "the name of a person as that of a part's writer": ("parquet-parts", by_another_writer, "wrong-hash"),
    "places of somebody in the days": ("parquet-by-day", drawn_elsewhere, "hidden-bytes"),
    "a row in the file of the next day": ("parquet-by-day", days(of_next_day), "row-order"),
    "a day whose rows stand in another's file": (
        "parquet-by-day",
        two_days_in_one, "row-order",
    ),
    "numbers of another type": (
        "parquet-by-day",
        days(with_values("t_start", lambda table: table["t_start"].cast(pa.int32()))), "unexpected-type",
    ),
    "another type, told in the list": ("parquet-by-day", of_other_types, "unexpected-type"),
    "another type in the list alone": (
        "parquet-by-day", in_package(lambda p: p["shoal_columns"].update(t_start="double")), "respelled",
    ),
    "a last bit of a geometry": (
        "parquet-by-day", days(with_values("geometry", one_last_bit)), "stored-differently",
    ),
    "heads of geometries": ("parquet-by-day", days(with_values("geometry", other_heads)), "hidden-bytes"),
    "bounds that are a message": ("parquet-by-day", with_bounds, "hidden-bytes"),
    "the name of a person as that of a writer": ("parquet-by-day", by_another_writer, "hidden-bytes"),
    "zeros with signs": ("parquet-by-day", days(with_values("x_min", zeros_with_signs)), "row-order"),
    "a further column in Delta": (
        "delta",
        rewritten_delta(lambda t: t.append_column("who", pa.array(["u000001"] * len(t)))),
        "unexpected-column",
    ),
    "raw rows next to the file of a Delta table": ("delta", beside("data/calls.csv"), "unexpected-file"),
    "another version of a Delta table": ("delta", beside(f"data/_delta_log/{1:020}.json"), "unexpected-file"),
    "a checkpoint of a Delta table": ("delta", beside("data/_delta_log/_last_checkpoint"), "unexpected-file"),
    "a note in the log of a Delta table": (
        "delta", appended(DELTA_LOG, b'{"commitInfo":{"who":"u000001"}}\n'), "hidden-bytes",
    ),
    "another size in the log": ("delta", replaced_in(DELTA_LOG, b'"size": ', b'"size": 1'), "hidden-bytes"),
    "another file in the log": (
        "delta", replaced_in(DELTA_LOG, b"part-00000", b"part-00001"), "hidden-bytes",
    ),
    "a Delta table of another writer": ("delta", delta_by_its_library, "hidden-bytes"),
    "raw rows behind the features": (
        "flatgeobuf", appended("release.fgb", b"u000001,1714557600,48.8,2.3\n" * 9), "hidden-bytes",
    ),
    "a feature more than in the table": ("flatgeobuf", a_feature_twice, "wrong-count"),
    "another title of a layer": (
        "flatgeobuf", replaced_in("release.fgb", b"release", b"u000001"), "hidden-bytes",
    ),
    "padding of a feature": ("flatgeobuf", a_padding_byte, "hidden-bytes"),
    "places of somebody in the features": ("flatgeobuf", a_feature_elsewhere, "hidden-bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_what_an_export_says_besides_its_rows_is_found(
    name: str, made: dict[str, Path], tmp_path: Path
) -> None:
    form, damage, kind = BY_HAND[name]
    export(made["boxes"], tmp_path / "out", form)
    damage(tmp_path / "out")
    if form.startswith("parquet") and name.startswith("places"):
        relisted(tmp_path / "out")
    try:
        kinds = verdict_of(tmp_path / "out", made, "boxes").kinds
    except InputError:
        assert name in {"raw rows behind the features", "a Delta table of another writer"}  # are unreadable
    else:
        assert kind in kinds


@pytest.mark.parametrize("kind", ["boxes", "points"])
def test_other_tools_read_the_rows_of_exports(kind: str, made: dict[str, Path], tmp_path: Path) -> None:
    expected = pq.read_table(made[kind] / "release.parquet").replace_schema_metadata(None)
    deltalake = pytest.importorskip("deltalake")
    export(made[kind], tmp_path / "delta", "delta")
    read = deltalake.DeltaTable(str(tmp_path / "delta" / "data")).to_pyarrow_table()
    assert read.cast(expected.schema).equals(expected)
    pyogrio = pytest.importorskip("pyogrio")
    export(made[kind], tmp_path / "out", "flatgeobuf")
    path = tmp_path / "out" / "release.fgb"
    about, read = pyogrio.read_arrow(path)
    read = read.rename_columns([name.replace("wkb_geometry", "geometry") for name in read.column_names])
    assert read.select(expected.column_names).cast(expected.schema).equals(expected)
    facts = pyogrio.read_info(path)
    assert (facts["driver"], facts["crs"], facts["features"]) == ("FlatGeobuf", "EPSG:4326", len(expected))
    assert (facts["layer_name"], about["geometry_type"]) == (
        "release", "Polygon" if kind == "boxes" else "Point",
    )  # fmt: skip


@pytest.mark.parametrize("form", EXPORTS)
def test_what_verify_refuses_is_not_published(form: str, made: dict[str, Path], tmp_path: Path) -> None:
    """A pseudonym that a spreadsheet would run, with a manifest made after it."""
    shutil.copytree(made["boxes"], tmp_path / "boxes")
    table = pq.read_table(tmp_path / "boxes" / "release.parquet")
    name = table["trajectory_id"][0].as_py()
    names = [f"=cmd|{one[:11]}" if one == name else one for one in table["trajectory_id"].to_pylist()]
    table = table.set_column(0, "trajectory_id", pa.array(names))
    with pq.ParquetWriter(
        tmp_path / "boxes" / "release.parquet", table.schema, compression="zstd", store_schema=False
    ) as writer:
        writer.write_table(table)
    manifest = tmp_path / "boxes" / "manifest.json"
    digest = json.loads(manifest.read_text())["release_sha256"]
    manifest.write_text(
        manifest.read_text().replace(digest, sha256_of(tmp_path / "boxes" / "release.parquet"))
    )
    with pytest.raises(InputError, match="not 16 hexadecimal digits"):
        export(tmp_path / "boxes", tmp_path / "out", form)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", EXPORTS)
def test_the_manifest_of_an_export_has_one_spelling(form: str, made: dict[str, Path], tmp_path: Path) -> None:
    export(made["boxes"], tmp_path / "out", form)
    path = tmp_path / "out" / "manifest.json"
    path.write_text(path.read_text().replace(",\n", ", \n", 1))
    relisted(tmp_path / "out")
    assert verdict_of(tmp_path / "out", made, "boxes").kinds == {"respelled"}


@pytest.mark.parametrize("form", ["csv", "parquet-by-day", "parquet-parts"])
@pytest.mark.parametrize("name", ["again", "release", "k=2", "."])
def test_an_export_may_be_called_anything(
    name: str, form: str, made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(made["boxes"], tmp_path / "all" / ("out" if name == "." else name), form)
    monkeypatch.chdir(tmp_path / "all" / ("out" if name == "." else ""))
    verdict = verdict_of(Path(name), made, "boxes")
    assert (verdict.findings, verdict.holds) == ((), True)


@pytest.mark.parametrize("form", ["csv", "parquet-parts"])
@pytest.mark.parametrize("name", ["u000001.csv", "data/u000001.parquet", "data/part-u000001", "\x1b]0;me"])
def test_names_that_shoal_does_not_give_are_not_shown(
    name: str, form: str, made: dict[str, Path], tmp_path: Path
) -> None:
    export(made["boxes"], tmp_path / "out", form)
    (tmp_path / "out" / "data").mkdir(exist_ok=True)
    (tmp_path / "out" / name).write_text("somebody")
    for listed in (False, True):
        if listed:
            listed_anew(tmp_path / "out")
        verdict = verdict_of(tmp_path / "out", made, "boxes")
        assert verdict.kinds & {"unexpected-file", "hidden-bytes"}
        assert not [one for one in verdict.findings if Path(name).name in one.message]
    (tmp_path / "out" / name).unlink()
    gone = verdict_of(tmp_path / "out", made, "boxes")
    assert "wrong-hash" in gone.kinds
    assert not [one for one in gone.findings if Path(name).name in one.message]


def test_a_listed_name_that_is_no_text_is_found(made: dict[str, Path], tmp_path: Path) -> None:
    export(made["boxes"], tmp_path / "out", "csv")
    path = tmp_path / "out" / os.fsdecode(b"\xff")
    path.write_text("somebody")
    package = json.loads((tmp_path / "out" / PACKAGE_FILE).read_text())
    own = {**package["resources"][0], "path": path.name, "hash": f"sha256:{sha256_of(path)}"}
    package["resources"].append(own)
    (tmp_path / "out" / PACKAGE_FILE).write_text(json.dumps(package))
    assert {"unexpected-file", "respelled"} <= verdict_of(tmp_path / "out", made, "boxes").kinds


@pytest.mark.parametrize("form", ["csv", "parquet-by-day", "parquet-parts"])
def test_links_in_an_export_are_not_followed(form: str, made: dict[str, Path], tmp_path: Path) -> None:
    """Nor are pipes, from which nothing would ever come; whether the list names them or not."""
    folder = tmp_path / "out"
    export(made["boxes"], folder, form)
    file = next(path for path in sorted(folder.rglob("*")) if path.suffix in {".csv", ".parquet"})
    place = file if form == "csv" else folder / "data"
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    in_package(lambda package: package.update(resources=[]))(folder)
    with pytest.raises(InputError, match="is no plain file"):
        verdict_of(folder, made, "boxes")


@pytest.mark.parametrize("name", [".", "manifest.json", "release.parquet"])
def test_attributes_beside_the_bytes_of_files_are_found(
    name: str, made: dict[str, Path], tmp_path: Path
) -> None:
    """Those of file systems and of downloads are not the publisher's."""
    shutil.copytree(made["boxes"], tmp_path / "release")
    export(made["boxes"], tmp_path / "csv", "csv")
    for folder in (tmp_path / "release", tmp_path / "csv"):
        path = folder / name if (folder / name).exists() else folder / "release.csv"
        try:
            os.setxattr(path, "user.xdg.origin.url", b"https://a.example")
        except (AttributeError, OSError):
            pytest.skip("this file system has no attributes")
        assert verdict_of(folder, made, "boxes").holds
        os.setxattr(path, "user.note", b"u0000001")
        assert verdict_of(folder, made, "boxes").kinds == {"unexpected-file"}


def test_many_parts_are_one_table_also_in_a_stream(
    made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Shoal(capsys)
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 40)
    monkeypatch.setattr(joining, "GROUPS_PER_PART", 3)
    rng, links = shoal.Randomness.for_research(1), tmp_path / "links"
    city = shoal.read(made["raw"])
    shoal.publish(city, shoal.Glove(k=2), tmp_path / "boxes", rng=rng, tries=0, linkage_file=links)
    export(tmp_path / "boxes", tmp_path / "out", "parquet-parts")
    parts = sorted((tmp_path / "out" / "data").iterdir())
    assert len(parts) > 3
    own = pq.read_table(tmp_path / "boxes" / "release.parquet")
    assert pq.read_table(tmp_path / "out" / "data").equals(own)

    def found(*more: str) -> tuple[int, set[str]]:
        words = ("verify", made["raw"], tmp_path / "out", "--linkage", links, "--json", *more)
        done = command(*words)
        return done.code, {one["kind"] for one in json.loads(done.out)["findings"]}

    assert (found(), found("--streamed")) == ((0, set()), (0, set()))
    first, second = parts[0].read_bytes(), parts[1].read_bytes()
    parts[0].write_bytes(second)
    parts[1].write_bytes(first)
    relisted(tmp_path / "out")
    assert [("wrong-hash" in kinds, code) for code, kinds in (found(), found("--streamed"))] == [
        (True, 1)
    ] * 2
    parts[0].unlink()
    listed_anew(tmp_path / "out")
    assert [{"wrong-hash", "hidden-bytes"} <= found(*way)[1] for way in ((), ("--streamed",))] == [True] * 2
    assert not list(tmp_path.glob(".*")), "nothing is left of the copies"


def no_table(folder: Path) -> None:
    first_part(folder).write_bytes(b"PAR1" + bytes(99))
    relisted(folder)


MALFORMED: dict[str, tuple[Callable[[Path], None], str]] = {
    "without a column": (
        days(lambda tables: [each.drop_columns(["x_max"]) for each in tables]), "lacks columns of a release",
    ),
    "a type that is a list": (
        in_package(lambda package: package["shoal_columns"].update(t_start=["int64"])), "names other columns",
    ),
    "a format that is not there": (in_package(lambda p: p.update(shoal_format="csv")), "csv is not"),
    "a setting of reading that there is not": (
        lambda folder: edit_manifest(folder, lambda manifest: manifest["reading"].update(strange=1)),
        "manifest.json cannot be read: reading:",
    ),
    "a part that is no table": (
        no_table,
        r"data/day=.*/part-0.parquet is not a readable Parquet file",
    ),
}  # fmt: skip


def test_flatgeobuf_with_a_byte_that_is_no_text_is_refused(made: dict[str, Path], tmp_path: Path) -> None:
    export(made["boxes"], tmp_path / "out", "flatgeobuf")
    path = tmp_path / "out" / "release.fgb"
    content, name = path.read_bytes(), shoal.read_release(made["boxes"]).trajectory_ids[0].encode()
    place = content.rfind(name)
    for damaged in (content[:place] + b"\xff" + content[place + 1 :], content[: place + 7]):
        path.write_bytes(damaged)
        relisted(tmp_path / "out")
        with pytest.raises(InputError, match="fetch or write it again"):
            verdict_of(tmp_path / "out", made, "boxes")


def test_a_part_with_a_column_of_no_type_is_refused(made: dict[str, Path], tmp_path: Path) -> None:
    export(made["boxes"], tmp_path / "out", "delta")
    part = tmp_path / "out" / "data" / "part-00000.parquet"
    content = bytearray(part.read_bytes())
    content[content.index(b"\x25\x02\x18\x05x_min") - 1] = 0x2A  # in the footer, after its type's number
    part.write_bytes(content)
    relisted(tmp_path / "out")
    with pytest.raises(InputError, match="is not a readable Parquet file"):
        verdict_of(tmp_path / "out", made, "boxes")


@pytest.mark.parametrize("name", MALFORMED)
def test_an_export_that_cannot_be_read_is_told_in_words(
    name: str, made: dict[str, Path], tmp_path: Path
) -> None:
    damage, words = MALFORMED[name]
    export(made["boxes"], tmp_path / "out", "parquet-by-day")
    damage(tmp_path / "out")
    with pytest.raises(InputError, match=words):
        verdict_of(tmp_path / "out", made, "boxes")


@pytest.mark.parametrize("form", ["csv", "parquet-by-day"])
def test_a_digest_of_another_table_is_noted_and_that_of_an_identifier_found(
    form: str, made: dict[str, Path], tmp_path: Path
) -> None:
    export(made["boxes"], tmp_path / "out", form)
    somebody = pq.read_table(made["raw"])["uid"][0].as_py()
    found: list[tuple[bool, set[str], bool]] = []
    for text in ("nobody at all", somebody):
        manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
        manifest["release_sha256"] = hashlib.sha256(text.encode()).hexdigest()
        (tmp_path / "out" / "manifest.json").write_text(
            json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        )
        relisted(tmp_path / "out")
        verdict = verdict_of(tmp_path / "out", made, "boxes")
        found.append((verdict.holds, set(verdict.kinds), OTHER_DIGEST in verdict.notes))
    assert found == [(True, set(), True), (False, {"raw-identifier"}, True)]


def test_days_that_are_packed_otherwise_are_noted(made: dict[str, Path], tmp_path: Path) -> None:
    export(made["boxes"], tmp_path / "out", "parquet-by-day")
    sound = verdict_of(tmp_path / "out", made, "boxes")
    assert sound.holds, sound.findings
    noted = PACKED_DIFFERENTLY.replace("release.parquet", "data")
    assert noted not in sound.notes
    part = first_part(tmp_path / "out")
    pq.write_table(
        pq.ParquetFile(part).read(), part, compression="zstd", store_schema=False, row_group_size=2
    )
    relisted(tmp_path / "out")
    assert noted in verdict_of(tmp_path / "out", made, "boxes").notes


def test_what_is_not_complete_or_not_listed_is_no_release(made: dict[str, Path], tmp_path: Path) -> None:
    export(made["boxes"], tmp_path / "out", "csv")
    (tmp_path / "out" / "notes.txt").write_text("the first one is Ann")
    assert "unexpected-file" in verdict_of(tmp_path / "out", made, "boxes").kinds
    (tmp_path / "out" / PACKAGE_FILE).unlink()
    with pytest.raises(InputError, match="does not exist"):
        verdict_of(tmp_path / "out", made, "boxes")


def test_a_table_that_the_manifest_does_not_name_is_not_handed_over(
    made: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(made["boxes"], tmp_path / "changed")
    with (tmp_path / "changed" / "release.parquet").open("ab") as file:
        file.write(b"more")
    with pytest.raises(InputError, match="not the table that the manifest names"):
        export(tmp_path / "changed", tmp_path / "out", "csv")
    assert not (tmp_path / "out").exists()
    with pytest.raises(MisuseError, match="choose from"):
        export(made["boxes"], tmp_path / "out", "xml")


def test_the_command_writes_and_verifies(
    made: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Shoal(capsys)
    told = command("publish", made["boxes"], "--to", tmp_path / "out", "--format", "geojsonl", "--json")
    assert told.code == 0
    assert json.loads(told.out)["format"] == "geojsonl"
    links = made["place"] / "boxes.links"
    found = command("verify", made["raw"], tmp_path / "out", "--linkage", links, "--json")
    assert found.code == 0
    assert json.loads(found.out)["outcome"] == "HOLDS"
    refused = command("verify", made["raw"], tmp_path / "out", "--linkage", links, "--streamed")
    assert (refused.code, "another format is read and checked as a whole" in refused.err) == (2, True)


def test_an_address_that_nobody_serves_is_no_folder(
    made: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = Shoal(capsys)("publish", made["boxes"], "--to", "ftp://host/out", "--format", "csv")
    assert (told.code, "--to takes a folder" in told.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_told_as_it_is_named(
    made: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "maps@city?1"
    told = Shoal(capsys)("publish", made["boxes"], "--to", folder, "--format", "csv", "--json")
    assert json.loads(told.out)["output"] == str(folder)


@pytest.mark.parametrize("form", ["csv", "parquet-by-day", "parquet-parts"])
def test_an_export_is_on_the_disk_before_it_has_its_name(
    form: str, made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: flushed.append(os.fstat(file).st_ino))
    done = export(made["boxes"], tmp_path / "out", form)
    written = [tmp_path / "out" / name for name in (PACKAGE_FILE, *done.files)]
    assert sorted(flushed) == sorted(path.stat().st_ino for path in written)


def test_an_address_that_holds_a_key_is_never_shown(
    made: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[tuple[str, str]] = []

    def keep(folder: Path, address: str, *, last: str) -> None:
        assert (folder / "release.csv").exists()
        copied.append((address, last))

    monkeypatch.setattr("shoal.publishing.exporting.store", keep)
    address = "s3://key:secret@bucket/out?scheme=http"
    told = Shoal(capsys)("publish", made["boxes"], "--to", address, "--format", "csv")
    assert told.code == 0
    assert copied == [(address, PACKAGE_FILE)]
    assert "secret" not in told.out + told.err
