"""Every byte of a table's file is a row or says how rows are stored: whatever else stands there is found."""

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from folder_damages import edit_manifest
from hidden_bytes import (
    before_the_footer,
    behind_the_footer,
    in_a_second_frame,
    in_dictionary,
    in_metadata,
    in_metadata_of_a_column,
    in_numbers,
    in_old_statistics,
    in_statistics,
)
from naive_release import PLANE, naive_release, small_city
from parquet_surgery import Anatomy, Page, operated, varint
from shoal.errors import InputError
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.runtime.files import sha256_of
from shoal.runtime.run import Run
from shoal.verification import verify, verify_files
from shoal.verification.files.layout import hidden_bytes, layout_findings, read_layout, walk_groups
from shoal.verification.files.streamed import verify_streamed_folder
from shoal.verification.files.thrift import Field, Shape, Source, read_struct
from stored import stored
from written_folders import write_folder

Case = tuple[Trajectories, Path, Linkage]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Case:
    original = small_city(crs=PLANE)
    release, linkage = naive_release(original, n_boxes=3)
    verdict = verify(original, release, linkage)
    return original, write_folder(tmp_path_factory.mktemp("folder") / "release", release, verdict), linkage


@pytest.fixture
def case(sound: Case, tmp_path: Path) -> Case:
    original, folder, linkage = sound
    shutil.copytree(folder, tmp_path / "release")
    return original, tmp_path / "release", linkage


def behind_the_dictionary(anatomy: Anatomy) -> None:
    anatomy.pages[0][0].body += b"caller-0007"


def behind_the_rows(anatomy: Anatomy) -> None:
    anatomy.pages[0][1].body += b"caller-0007"


def in_statistics_of_a_page(anatomy: Anatomy) -> None:
    anatomy.pages[0][1].head["data"]["statistics"] = {"min_value": b"caller-0007"}


def in_the_description(anatomy: Anatomy) -> None:
    value = anatomy.footer["pairs"][0]["value"]
    anatomy.footer["pairs"][0]["value"] = value[:-1] + b', "note": "caller-0007"}'


def twice_in_the_description(anatomy: Anatomy) -> None:
    value = anatomy.footer["pairs"][0]["value"]
    anatomy.footer["pairs"][0]["value"] = b'{"version": "caller-0007", ' + value[1:]


def in_a_page_without_rows(anatomy: Anatomy) -> None:
    anatomy.pages[0].append(Page({"type": 1}, b"caller-0007"))


def in_a_page_behind_the_last_row(anatomy: Anatomy) -> None:
    head = {"type": 0, "data": {"values": 0, "encoding": 0, "definition_levels": 3, "repetition_levels": 3}}
    anatomy.pages[0].append(Page(head, bytes(4) + b"caller-0007"))


def in_padding(anatomy: Anatomy) -> None:
    """Bits behind the last number of a packed run."""
    place, page = next(
        (chunk, page)
        for chunk, pages in enumerate(anatomy.pages)
        for page in pages[1:]
        if page.head["data"]["encoding"] == 8
    )
    n = page.head["data"]["values"]
    levels = 4 + int.from_bytes(page.body[:4], "little")
    width = 8
    groups = (n + 7) // 8
    assert groups * 8 > n
    size = anatomy.pages[place][0].head["dictionary"]["values"]
    numbers = bytes([*(k % size for k in range(n)), *[0x41] * (groups * 8 - n)])
    page.body = page.body[:levels] + bytes([width]) + varint(groups << 1 | 1) + numbers


def checksums(anatomy: Anatomy) -> None:
    anatomy.pages[0][0].head["crc"] = 0x4141


def sorted_rows(anatomy: Anatomy) -> None:
    anatomy.footer["row_groups"][0]["sorting"] = [{"column": 7, "descending": True, "nulls_first": False}]


def file_path(anatomy: Anatomy) -> None:
    anatomy.footer["row_groups"][0]["chunks"][0]["file_path"] = b""


def in_the_writers_name(anatomy: Anatomy) -> None:
    anatomy.footer["created_by"] = b"parquet-cpp-arrow: caller/0007"


def in_the_root_of_the_schema(anatomy: Anatomy) -> None:
    anatomy.footer["schema"][0]["name"] = b"caller-0007"


def in_the_encodings(anatomy: Anatomy) -> None:
    anatomy.chunk(1)["encodings"] = [0, 3, 8, *(8 if bit == "1" else 0 for bit in f"{0xCA11E7:b}")]


def in_encodings_of_no_page(anatomy: Anatomy) -> None:
    anatomy.chunk(1)["encodings"] = [0, 3, 8, 4]


def in_counts_of_encodings(anatomy: Anatomy) -> None:
    anatomy.chunk(2)["encoding_counts"].append({"page_type": 0, "encoding": 0, "pages": 0xCA11E7})


def in_counts_of_pages(anatomy: Anatomy) -> None:
    anatomy.chunk(2)["encoding_counts"][0]["pages"] = 0xCA11E7


def in_encoding_counts_said_twice(anatomy: Anatomy) -> None:
    counts = anatomy.chunk(2)["encoding_counts"]
    counts.append(dict(counts[0]))


def in_levels_counted(anatomy: Anatomy) -> None:
    anatomy.chunk(3)["sizes"]["repetition_levels"] = [0xCA11E7, 7]


def in_values_counted(anatomy: Anatomy) -> None:
    anatomy.chunk(3)["sizes"]["definition_levels"] = [3, 33]


def in_bytes_counted(anatomy: Anatomy) -> None:
    anatomy.chunk(0)["sizes"]["bytes"] += 7


def in_bytes_of_numbers(anatomy: Anatomy) -> None:
    anatomy.chunk(3)["sizes"]["bytes"] = 7


def in_gaps_counted(anatomy: Anatomy) -> None:
    anatomy.chunk(4)["statistics"]["nulls"] = 7


def in_gaps_counted_in_a_page(anatomy: Anatomy) -> None:
    anatomy.pages[4][1].head["data"]["statistics"]["nulls"] = 7


def in_distinct_values_counted(anatomy: Anatomy) -> None:
    anatomy.chunk(4)["statistics"]["distinct"] = 7


def in_marks_of_statistics(anatomy: Anatomy) -> None:
    anatomy.chunk(4)["statistics"]["min_exact"] = False


def in_other_marks_of_statistics(anatomy: Anatomy) -> None:
    anatomy.chunk(4)["statistics"]["max_exact"] = False


def in_a_sorted_dictionary(anatomy: Anatomy) -> None:
    anatomy.pages[5][0].head["dictionary"]["sorted"] = True


def in_the_version(anatomy: Anatomy) -> None:
    anatomy.footer["version"] = 7


def in_orders_of_no_column(anatomy: Anatomy) -> None:
    anatomy.footer["orders"] += [{"by_type": {}}] * 7


def in_columns_without_columns(anatomy: Anatomy) -> None:
    anatomy.footer["schema"][3]["children"] = 0


def in_the_order_of_a_dictionary(anatomy: Anatomy) -> None:
    """The first two entries the other way round, and so the numbers of the rows."""
    dictionary, page = anatomy.pages[0]
    entries = [dictionary.body[at : at + 20] for at in range(0, len(dictionary.body), 20)]
    entries[:2] = entries[1::-1]
    dictionary.body = b"".join(entries)
    n = page.head["data"]["values"]
    levels = 4 + int.from_bytes(page.body[:4], "little")
    place = np.arange(n) // 3
    numbers = np.where(place < 2, 1 - place, place).astype(np.uint8)
    packed = numbers.tobytes() + bytes(-n % 8)
    page.body = page.body[:levels] + bytes([8]) + varint((n + 7) // 8 << 1 | 1) + packed


HIDING = (
    in_the_root_of_the_schema, in_the_encodings, in_encodings_of_no_page, in_counts_of_encodings,
    in_counts_of_pages, in_encoding_counts_said_twice, in_values_counted,
    in_bytes_counted, in_gaps_counted, in_gaps_counted_in_a_page,
    in_distinct_values_counted, in_marks_of_statistics, in_other_marks_of_statistics, in_a_sorted_dictionary,
    in_the_version, in_columns_without_columns, in_the_order_of_a_dictionary,
    in_the_writers_name,
    in_dictionary, in_numbers, behind_the_dictionary, behind_the_rows, in_statistics, in_old_statistics,
    in_statistics_of_a_page, in_metadata_of_a_column, in_metadata, in_the_description,
    twice_in_the_description, before_the_footer, behind_the_footer, in_a_page_without_rows,
    in_a_page_behind_the_last_row, in_a_second_frame, in_padding, checksums, sorted_rows, file_path,
)  # fmt: skip


def kinds_of(case: Case, tmp_path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Kinds of findings, in memory and streamed, of a folder whose manifest has the file's digest."""
    original, folder, linkage = case
    digest = sha256_of(folder / RELEASE_FILE)
    edit_manifest(folder, lambda manifest: manifest.update(release_sha256=digest))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    people = stored(original, tmp_path / "people")
    streamed = verify_streamed_folder(people, folder, linkage, scratch, Run())
    return verify_files(original, folder, linkage).kinds, streamed.kinds


def test_a_file_put_together_again_holds(case: Case, tmp_path: Path) -> None:
    operated(case[1] / RELEASE_FILE, lambda _: None)
    assert kinds_of(case, tmp_path) == (frozenset(), frozenset())


@pytest.mark.parametrize("hide", HIDING, ids=lambda hide: hide.__name__)
def test_what_is_hidden_is_found(hide: Callable[[Anatomy], None], case: Case, tmp_path: Path) -> None:
    before = pq.read_table(case[1] / RELEASE_FILE)
    operated(case[1] / RELEASE_FILE, hide)
    if hide is not in_padding:
        assert pq.read_table(case[1] / RELEASE_FILE).equals(before)  # readers see nothing of it
    in_memory, streamed = kinds_of(case, tmp_path)
    assert "hidden-bytes" in in_memory
    assert "hidden-bytes" in streamed


def in_how_levels_are_stored(anatomy: Anatomy) -> None:
    anatomy.pages[1][1].head["data"]["repetition_levels"] = 4


@pytest.mark.parametrize(
    "hide", [in_levels_counted, in_bytes_of_numbers, in_orders_of_no_column, in_how_levels_are_stored]
)
def test_what_some_readers_refuse_is_found_in_the_bytes(hide: Callable[[Anatomy], None], case: Case) -> None:
    operated(case[1] / RELEASE_FILE, hide)
    findings = layout_findings((case[1] / RELEASE_FILE).read_bytes())
    assert {finding.kind for finding in findings} == {"hidden-bytes"}


SHAPE = Shape(name="test", fields={1: Field(name="a", kind="i32"), 20: Field(name="b", kind="i32")})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("15 0e 00", {"a": 7}),
        ("15 0e 05 28 02 00", {"a": 7, "b": 1}),
        ("05 02 0e 00", None),  # the number of a field at length, a step from the one before
        ("15 0e 05 02 0e 00", None),  # the same field again
        ("05 28 02 15 0e 00", None),
        ("05 28 02 05 02 0e 00", None),  # fields out of order
        ("15 8e 00 00", None),  # a number at length
    ],
)
def test_fields_have_one_spelling(content: str, expected: dict[str, int] | None) -> None:
    source = Source(bytes.fromhex(content), "test")
    if expected is None:
        with pytest.raises(InputError):
            read_struct(source, SHAPE)
    else:
        assert read_struct(source, SHAPE) == expected


def test_lists_have_one_spelling() -> None:
    shape = Shape(name="test", fields={1: Field(name="a", kind="list", items="i32")})
    assert read_struct(Source(bytes.fromhex("19 15 0e 00"), "test"), shape) == {"a": [7]}
    many = "19 f5 0f" + " 02" * 15 + " 00"
    assert read_struct(Source(bytes.fromhex(many), "test"), shape) == {"a": [1] * 15}
    for content in ("19 f5 01 0e 00", "19 f5 0e" + " 02" * 14 + " 00"):
        with pytest.raises(InputError):
            read_struct(Source(bytes.fromhex(content), "test"), shape)


@pytest.mark.parametrize(
    "written",
    [
        {"write_page_index": True},
        {"write_page_checksum": True},
        {"store_schema": True},
        {"sorting_columns": [pq.SortingColumn(0)]},
    ],
    ids=lambda written: next(iter(written)),
)
def test_what_other_settings_write_is_found(written: dict[str, object], case: Case) -> None:
    path = case[1] / RELEASE_FILE
    table = pq.read_table(path)
    geo = (table.schema.metadata or {}).get(b"geo", b"").decode()
    settings = {"compression": "zstd", "store_schema": False, **written}
    with pq.ParquetWriter(path, table.schema.remove_metadata(), **settings) as writer:
        writer.write_table(table.replace_schema_metadata(None))
        writer.add_key_value_metadata({"geo": geo})
    assert {finding.kind for finding in layout_findings(path.read_bytes())} == {"hidden-bytes"}


@pytest.mark.parametrize("groups", [3, 7, 1000])
@pytest.mark.parametrize("dictionary", [True, False])
def test_honest_files_of_many_forms_hold(groups: int, dictionary: bool, tmp_path: Path) -> None:
    """Several groups, pages and lengths of text; runs, packed bits and plain values."""
    texts = [("x" * (k % 5)) + str(k // 3) for k in range(2000)]
    table = pa.table({"a": texts, "b": [k // 7 for k in range(2000)], "c": [k / 3 for k in range(2000)]})
    path = tmp_path / "t.parquet"
    with pq.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        store_schema=False,
        use_dictionary=dictionary,
        data_page_size=1000,
    ) as writer:
        writer.write_table(table, row_group_size=groups)
    assert layout_findings(path.read_bytes()) == []


def test_a_file_walked_in_parts_is_a_file_walked_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": range(90)}), path, compression="zstd", store_schema=False, row_group_size=9)
    content = path.read_bytes()
    layout = read_layout(content)
    cuts = [0, 1, 5, len(layout.groups)]
    parts = [walk_groups(content, layout.of(first, people_behind)) for first, people_behind in pairwise(cuts)]
    assert len(parts) == 3
    assert hidden_bytes(parts, layout) == layout_findings(content) == []
    assert [finding.kind for finding in hidden_bytes(parts[:2], layout)] == ["hidden-bytes"]
    for some in (parts[1:], [parts[0], parts[2]], [*parts, parts[0]]):
        with pytest.raises(InputError, match="do not follow each other"):
            hidden_bytes(some, layout)


def test_gaps_and_texts_of_one_length_are_read(tmp_path: Path) -> None:
    table = pa.table({"a": ["aa", None, "bb", None] * 9, "b": pa.array([1, None] * 18, pa.int32())})
    for dictionary in (True, False):
        pq.write_table(
            table, tmp_path / "t", store_schema=False, use_dictionary=dictionary, compression="none"
        )
        assert layout_findings((tmp_path / "t").read_bytes()) == []


def test_columns_inside_columns_and_two_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    for table in (
        pa.table({"a": [[1], [2]]}),
        pa.table({"a": [{"b": 1}]}),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ):
        pq.write_table(table, path, store_schema=False)
        with pytest.raises(InputError, match="columns inside columns, or two columns of one name"):
            layout_findings(path.read_bytes())


def test_a_file_that_unpacks_to_far_more_is_refused_before_it_is_read(case: Case) -> None:
    path = case[1] / RELEASE_FILE
    pq.write_table(pa.table({"trajectory_id": pa.array(["a"] * 3_000_000)}), path, compression="zstd")
    assert path.stat().st_size < 20_000
    with pytest.raises(InputError, match="more than such a file can honestly hold"):
        shoal.verify_folder(case[0], case[1])


def test_a_folder_of_far_more_records_than_people_is_refused_before_each_is_looked_at(
    case: Case, tmp_path: Path
) -> None:
    path = case[1] / RELEASE_FILE
    table = pq.read_table(path)
    names = pa.array([f"{number:016x}" for number in range(1100)])
    many = table.take([0] * len(names)).set_column(0, "trajectory_id", names)
    with pq.ParquetWriter(path, many.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(many)
    assert kinds_of(case, tmp_path) == (frozenset({"record-without-subject", "nothing-checked"}),) * 2
    in_memory = verify_files(case[0], case[1], case[2]).findings[0].message
    assert in_memory == "the release holds 1,100 records, and the raw data 12 subjects"


@pytest.mark.parametrize("cut", [0, 3, 11, 12, 40, -1, -8, -9, -100])
def test_a_cut_file_is_refused(cut: int, case: Case) -> None:
    path = case[1] / RELEASE_FILE
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="truncated or another format"):
        verify_files(case[0], case[1])


@pytest.mark.parametrize("where", ["writer", "column"])
def test_names_that_are_no_text_are_refused(where: str, case: Case) -> None:
    def change(anatomy: Anatomy) -> None:
        if where == "writer":
            anatomy.footer["created_by"] = b"parquet \xb8"
        else:
            anatomy.footer["schema"][2]["name"] = b"t_\xff"

    operated(case[1] / RELEASE_FILE, change)
    with pytest.raises(InputError, match="truncated or another format"):
        verify_files(case[0], case[1])
