"""Tables with a history: exactly the rows of the current version, or a refusal that names what hinders."""

from pathlib import Path

import pyarrow as pa
import pytest

from foreign_files import installed
from foreign_writers import NOON_S, people
from lake_tables import delta_with_vectors, iceberg_with_deletes
from shoal.errors import InputError
from shoal.io import read

delta_lake = pytest.mark.skipif(not installed("deltalake"), reason="deltalake is not installed")
iceberg = pytest.mark.skipif(
    not (installed("pyiceberg") and installed("sqlalchemy")), reason="pyiceberg with SQL is not installed"
)


def crowd(n: int = 40) -> pa.Table:
    return pa.table(
        {
            "id": [f"p{one:02}" for one in range(n)],
            "t": [NOON_S + 60 * one for one in range(n)],
            "lat": [48.85] * n,
            "lon": [2.35] * n,
        }
    )


@delta_lake
@pytest.mark.parametrize("kind", ["inline", "in a file"])
def test_rows_that_a_deletion_vector_marks_are_not_read(kind: str, tmp_path: Path) -> None:
    gone = [0, 7, 8, 39]
    folder = delta_with_vectors(tmp_path / "calls", crowd(), gone, kind)
    got = read(folder)
    assert got.ids == tuple(f"p{one:02}" for one in range(40) if one not in gone)
    assert got.intake.rows_read == 36


@delta_lake
def test_a_deletion_vector_that_is_missing_is_an_error(tmp_path: Path) -> None:
    folder = delta_with_vectors(tmp_path / "calls", crowd(), [1], "in a file")
    (vector,) = folder.glob("deletion_vector_*")
    vector.unlink()
    with pytest.raises(InputError, match=r"calls is a Delta Lake table .*vector, is missing or damaged"):
        read(folder)


@delta_lake
def test_an_older_library_refuses_and_names_the_feature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import deltalake

    monkeypatch.delattr(deltalake.DeltaTable, "scan")
    folder = delta_with_vectors(tmp_path / "calls", crowd(), [1], "inline")
    with pytest.raises(InputError, match=r"it uses deletionVectors\); update deltalake, or export"):
        read(folder)


@iceberg
def test_rows_that_a_position_delete_names_are_not_read(tmp_path: Path) -> None:
    folder = iceberg_with_deletes(
        tmp_path, people(), pa.table({"pos": pa.array([1], pa.int64())}), "position"
    )
    assert read(folder).ids == ("ann",)


@iceberg
def test_equality_deletes_are_refused_by_name(tmp_path: Path) -> None:
    folder = iceberg_with_deletes(tmp_path, people(), pa.table({"id": ["bob"]}), "equality")
    with pytest.raises(InputError, match=r"cannot be read here \(it uses equality deletes\); compact it"):
        read(folder)
