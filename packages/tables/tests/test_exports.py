"""Tables in other formats: the verifier accepts each like the Parquet file, and refuses changed ones."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.errors import InputError, MisuseError, OutputError
from shoal.runtime.files import sha256_of
from shoal_tables.definition.manifest import EXPORTED, Kind, read_table_manifest
from shoal_tables.making.folder import export_table
from shoal_tables.verification.checking import verify_table
from shoal_tables.verification.zones import export_findings, read_table
from table_cases import city, make, rules_of

pytest.importorskip("h5py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from shoal_tables import hours_of

    return make(tmp_path_factory.mktemp("flows"), rules_of("flows", hours=hours_of("6-12,12-20"))).folder


@pytest.mark.parametrize("form", EXPORTED)
def test_an_export_holds_the_same_table_and_is_verified_alike(
    tmp_path: Path, folder: Path, form: str
) -> None:
    assert export_table(folder, tmp_path / "out", form) == pq.read_metadata(folder / "table.parquet").num_rows
    read = read_table(tmp_path / "out" / EXPORTED[form], read_table_manifest(folder))
    assert read.cast(pq.read_schema(folder / "table.parquet")).equals(pq.read_table(folder / "table.parquet"))
    one, other = (verify_table(city(), where) for where in (folder, tmp_path / "out"))
    assert one.verdict == other.verdict
    assert one.verdict.holds
    names = {EXPORTED[form], "datapackage.json", "manifest.json", "report.html", "zones.parquet"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names


@pytest.mark.parametrize("form", EXPORTED)
def test_a_changed_export_is_refused(tmp_path: Path, folder: Path, form: str) -> None:
    export_table(folder, tmp_path / "out", form)
    other = make(tmp_path, rules_of("flows", hours=folder_hours(folder)), seed=2).folder
    export_table(other, tmp_path / "other", form)
    shutil.copyfile(tmp_path / "other" / EXPORTED[form], tmp_path / "out" / EXPORTED[form])
    assert "changed-file" in verify_table(city(), tmp_path / "out").verdict.kinds  # another file than listed
    listed = json.loads((tmp_path / "out" / "datapackage.json").read_text())
    for resource in listed["resources"]:
        resource["hash"] = f"sha256:{sha256_of(tmp_path / 'out' / resource['path'])}"
    (tmp_path / "out" / "datapackage.json").write_text(json.dumps(listed))
    verdict = verify_table(city(), tmp_path / "out").verdict
    assert [finding.message for finding in verdict.findings] == [
        "counts or totals are not those whose digest the manifest states"
    ]
    (tmp_path / "out" / "a folder").mkdir()
    assert "further-file" in verify_table(city(), tmp_path / "out").verdict.kinds
    listed["description"] = "exact counts"
    (tmp_path / "out" / "datapackage.json").write_text(json.dumps(listed))
    manifest = read_table_manifest(folder)
    assert [finding.kind for finding in export_findings(tmp_path / "out", manifest)] == ["changed-file"]
    (tmp_path / "out" / EXPORTED[form]).write_bytes(b"zone,hour\n1")
    with pytest.raises(InputError):
        verify_table(city(), tmp_path / "out")


def folder_hours(folder: Path) -> tuple[tuple[int, int], ...]:
    return read_table_manifest(folder).hours


def test_columns_of_csv_are_explained_with_units(tmp_path: Path, folder: Path) -> None:
    export_table(folder, tmp_path / "out", "csv")
    listed = json.loads((tmp_path / "out" / "datapackage.json").read_text())
    (table,) = (one for one in listed["resources"] if one["path"] == "table.csv")
    assert table["schema"]["fields"][0] == {"name": "origin", "type": "string"}
    assert table["schema"]["fields"][5]["unit"] == "trips a day"


def test_matrices_are_those_of_openmatrix(tmp_path: Path, folder: Path) -> None:
    openmatrix = pytest.importorskip(
        "openmatrix", reason="openmatrix is not installed: pip install openmatrix"
    )
    export_table(folder, tmp_path / "out", "omx")
    table = pq.read_table(folder / "table.parquet").to_pylist()
    zones = pq.read_table(folder / "zones.parquet")["zone"].to_pylist()
    with openmatrix.open_file(str(tmp_path / "out" / "table.omx")) as file:
        assert file.shape() == (len(zones), len(zones))
        assert list(file.mapping("zone")) == list(range(1, len(zones) + 1))
        for row in table[:50]:
            matrix = file[f"estimate {row['hour']} {row['day']}"]
            assert matrix[zones.index(row["origin"]), zones.index(row["destination"])] == row["estimate"]


@pytest.mark.parametrize("table", ["presence", "homes"])
def test_matrices_hold_flows_alone_and_other_formats_hold_all(tmp_path: Path, table: Kind) -> None:
    made = make(tmp_path, rules_of(table)).folder
    with pytest.raises(MisuseError, match="omx holds matrices of flows"):
        export_table(made, tmp_path / "out", "omx")
    for form in ("csv", "geopackage"):
        export_table(made, tmp_path / form, form)
        read = read_table(tmp_path / form / EXPORTED[form], read_table_manifest(made))
        assert read.cast(pq.read_schema(made / "table.parquet")).equals(pq.read_table(made / "table.parquet"))


def test_what_cannot_be_exported_is_refused(tmp_path: Path, folder: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    with pytest.raises(OutputError, match="would lie inside"):
        export_table(copy, copy / "out", "csv")
    pq.write_table(pa.table({"count": [1.0]}), copy / "table.parquet")
    with pytest.raises(InputError, match="other files than its manifest states"):
        export_table(copy, tmp_path / "out", "csv")
    assert not (tmp_path / "out").exists()
