"""A table in parts: each a file of its own, together the table to the byte, and nothing beside it."""

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.release_folder import joining
from shoal.release_folder.joining import join_table, split_table

ROWS = 90


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five groups of rows, with metadata and gaps; two groups in a part."""
    monkeypatch.setattr(joining, "GROUPS_PER_PART", 2)
    rows = pa.table(
        {
            "text": [str(row % 3) for row in range(ROWS)],
            "number": np.random.default_rng(1).random(ROWS),
            "gaps": pa.array([None if row % 2 else row for row in range(ROWS)], pa.int64()),
        }
    ).replace_schema_metadata({"geo": "{}"})
    pq.write_table(rows, tmp_path / "whole.parquet", row_group_size=20, compression="zstd")
    return tmp_path / "whole.parquet"


def test_each_part_is_a_table_and_all_make_the_whole_one(table: Path, tmp_path: Path) -> None:
    split_table(table, tmp_path / "parts")
    parts = sorted((tmp_path / "parts").iterdir())
    assert [part.name for part in parts] == [f"part-0000{number}.parquet" for number in range(3)]
    read = [pq.ParquetFile(part) for part in parts]
    assert [each.metadata.num_rows for each in read] == [40, 40, 10]
    assert [each.metadata.num_row_groups for each in read] == [2, 2, 1]
    assert {each.metadata.metadata[b"geo"] for each in read} == {b"{}"}
    assert pa.concat_tables([each.read() for each in read]).equals(pq.ParquetFile(table).read())
    assert pq.read_table(tmp_path / "parts").equals(pq.read_table(table)), "as a dataset"
    assert join_table(tmp_path / "parts", tmp_path / "again") == []
    assert (tmp_path / "again").read_bytes() == table.read_bytes()


def test_what_is_no_part_is_named(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    split_table(table, folder)
    first, second, last = sorted(folder.iterdir())
    kept_items = {path: path.read_bytes() for path in (first, second, last)}

    def named() -> list[str]:
        return join_table(folder, tmp_path / "again")

    (folder / "notes.txt").write_text("u000001")
    assert named() == ["notes.txt"]
    (folder / "notes.txt").unlink()
    rows = pq.ParquetFile(last).read()
    pq.write_table(rows, last, compression="zstd", row_group_size=3)
    assert named() == [last.name], "more groups than a part has"
    last.write_bytes(kept_items[last])
    pages, tail = kept_items[first][:-8], kept_items[first][-8:]
    size = int.from_bytes(tail[:4], "little")
    first.write_bytes(pages[:-size] + b"u000001" + pages[-size:] + tail)
    assert named() == []
    assert b"u000001" in (tmp_path / "again").read_bytes(), (
        "bytes behind pages stay for whoever walks the table"
    )
    first.write_bytes(kept_items[first])
    pq.write_table(rows.replace_schema_metadata({"who": "u000001"}), last, compression="zstd")
    assert set(named()) == {first.name, second.name}, "the last footer becomes that of the table"
    last.write_bytes(kept_items[last])
    assert named() == []
    last.rename(folder / "part-00007.parquet")
    assert named() == ["part-00007.parquet"]


@given(data=st.data())
def test_damaged_parts_are_refused_in_words_or_named_or_make_another_table(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("damaged")
    pq.write_table(pa.table({"a": list(range(50))}), place / "whole", row_group_size=20)
    split_table(place / "whole", place / "parts")
    part = place / "parts" / "part-00000.parquet"
    content = bytearray(part.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(0, len(content))) :]
    same = bytes(content) == part.read_bytes()
    part.write_bytes(bytes(content))
    try:
        wrong = join_table(place / "parts", place / "again")
    except InputError as error:
        assert not same
        assert "fetch or write it again" in str(error)  # noqa: PT017  (one of three outcomes)
    else:
        assert bool(wrong) or ((place / "again").read_bytes() == (place / "whole").read_bytes()) == same


def test_a_list_that_is_longer_than_its_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    """A few bytes that tell of very many numbers of eight bytes, and end there."""
    many = b"\xff\xff\xff\x1f"  # 2 to 26, less one
    footer = bytes([0x19, 0xF7]) + many  # field 1, a list of doubles
    (tmp_path / "parts").mkdir()
    part = tmp_path / "parts" / "part-00000.parquet"
    part.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    tracemalloc.start()
    with pytest.raises(InputError, match="is not the table of a release"):
        join_table(tmp_path / "parts", tmp_path / "again")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_no_parts_and_no_table(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    with pytest.raises(InputError, match="holds no part"):
        join_table(tmp_path / "parts", tmp_path / "again")
    (tmp_path / "text").write_text("no table at all")
    with pytest.raises(InputError, match="is not the table of a release"):
        split_table(tmp_path / "text", tmp_path / "out")
