"""A Parquet file made by hand, each size and offset off by one: refused, or found as hidden bytes."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_surgery import packed
from shoal.errors import InputError
from shoal.verification.files.layout import _require_honest_size, layout_findings, read_layout, walk_groups
from shoal.verification.files.thrift import FOOTER, PAGE, Shape

MAGIC = b"PAR1"
BODY = np.array([5, 6, 7], dtype="<i8").tobytes()
HEAD = {"values": 3, "encoding": 0, "definition_levels": 3, "repetition_levels": 3}
SIZES = "sizes that are not those of its pages"
ORDER = "an order of rows, or numbers of groups, that nobody needs"
ELSEWHERE = "an index, a filter, metadata of a column or other parts that hold no rows"
NO_ROWS = "pages that hold no rows"
METADATA = "metadata other than that of the geometries"
GEO = "more in the description of its geometries than GeoParquet asks for"
BROKEN = "truncated or another format"
OTHER_WAY = "stored in a way that shoal does not write"
Change = Mapping[str, Any]
AS_IT_IS: Change = {}


def file_of(
    page: Change = AS_IT_IS,
    data: Change = AS_IT_IS,
    chunk: Change = AS_IT_IS,
    group: Change = AS_IT_IS,
    footer: Change = AS_IT_IS,
    *,
    name: bytes = b"a",
    pages_before: bytes = b"",
    pages_behind: bytes = b"",
    n_groups: int = 1,
    bare: bool = False,
) -> bytes:
    """One column of three numbers in each group, with these entries in place of the right ones."""
    out, groups = MAGIC, []
    for _ in range(n_groups):
        head = packed({"type": 0, "uncompressed": 24, "compressed": 24, "data": HEAD, **page}, PAGE)
        chunk_bytes = b"" if bare else pages_before + head + BODY + pages_behind
        account = {
            "type": 2,
            "encodings": [0, 3],
            "path": [name],
            "codec": 0,
            "values": 3,
            "uncompressed": len(chunk_bytes),
            "compressed": len(chunk_bytes),
            "data_page_offset": len(out),
            **data,
        }
        groups.append({"chunks": [{"data": account, **chunk}], "bytes": len(chunk_bytes), "rows": 3, **group})
        out += chunk_bytes
    schema = [{"name": b"schema", "children": 1}, {"type": 2, "repetition": 0, "name": name}]
    entries = {"version": 2, "schema": schema, "rows": 3 * n_groups, "row_groups": groups, **footer}
    return out + with_length(packed(entries, FOOTER))


def with_length(footer: bytes, more: int = 0) -> bytes:
    return footer + (len(footer) + more).to_bytes(4, "little") + MAGIC


def found_in(content: bytes) -> list[str]:
    findings = layout_findings(content)
    assert {finding.kind for finding in findings} <= {"hidden-bytes"}
    return [finding.message.removeprefix("release.parquet holds ") for finding in findings]


END = 4 + len(packed({"type": 0, "uncompressed": 24, "compressed": 24, "data": HEAD}, PAGE)) + len(BODY)
CHUNK = END - 4
EMPTY = file_of(n_groups=0)[4:-8]


def test_a_file_made_by_hand_holds() -> None:
    assert found_in(file_of()) == []
    assert found_in(file_of(n_groups=3)) == []
    assert found_in(file_of(n_groups=0)) == []  # the footer begins behind the mark
    assert read_layout(file_of()).end == END


RIGHT: list[dict[str, Any]] = [
    {"group": {"compressed": CHUNK}},
    {"group": {"file_offset": 0}},
    {"group": {"file_offset": 4}},
    {"group": {"ordinal": 0}},
    {"chunk": {"file_offset": 0}},
    {"chunk": {"file_offset": 4}},
    {"footer": {"version": 1}},
    {"footer": {"created_by": b"x" * 100}},
    {"footer": {"created_by": b"parquet-cpp-arrow version 25.0.1 (a_b+c)"}},
    {"data": {"statistics": {"max_value": BODY[16:], "min_value": BODY[:8]}}},
    {"page": {"data": {**HEAD, "statistics": {"max": BODY[16:], "min": BODY[8:16]}}}},
]
HIDDEN: list[tuple[dict[str, Any], str]] = [
    ({"group": {"bytes": CHUNK + 1}}, SIZES),
    ({"group": {"bytes": CHUNK - 1}}, SIZES),
    ({"group": {"compressed": CHUNK + 1}}, SIZES),
    ({"group": {"file_offset": 3}}, SIZES),
    ({"group": {"file_offset": 5}}, SIZES),
    ({"group": {"file_offset": 1}}, SIZES),
    ({"chunk": {"file_offset": 1}}, SIZES),
    ({"chunk": {"file_offset": 5}}, SIZES),
    ({"group": {"ordinal": 1}}, ORDER),
    ({"group": {"sorting": []}}, ORDER),
    *(({"chunk": {part: b""}}, ELSEWHERE) for part in ("file_path", "encrypted")),
    *(
        ({"chunk": {part: 0}}, ELSEWHERE)
        for part in (
            "offset_index_offset",
            "offset_index_length",
            "column_index_offset",
            "column_index_length",
        )
    ),
    *(
        ({"data": {part: 0}}, ELSEWHERE)
        for part in ("index_page_offset", "bloom_filter_offset", "bloom_filter_length")
    ),
    ({"data": {"pairs": []}}, ELSEWHERE),
    ({"page": {"crc": 7}}, "checks of single pages"),
    ({"data": {"encodings": [0, 3, 4]}}, "encodings that no page has"),
    ({"page": {"data": {**HEAD, "repetition_levels": 4}}}, "encodings that no page has"),
    ({"data": {"statistics": {"max_value": b"8 bytes."}}}, "statistics that are values of no row"),
    ({"data": {"statistics": {"min": b"8 bytes."}}}, "statistics that are values of no row"),
    (
        {"page": {"data": {**HEAD, "statistics": {"max": b"8 bytes."}}}},
        "statistics that are values of no row",
    ),
    (
        {"page": {"data": {**HEAD, "statistics": {"min_value": b"8 bytes."}}}},
        "statistics that are values of no row",
    ),
    ({"page": {"data": {**HEAD, "statistics": {"nulls": 1}}}}, "statistics that count what is not there"),
    ({"footer": {"version": 3}}, "a version of the format that there is not"),
    ({"footer": {"created_by": b"x" * 101}}, "more under the name of its writer than a name"),
    ({"footer": {"created_by": b"a/b"}}, "more under the name of its writer than a name"),
    ({"footer": {"pairs": [{"key": b"note", "value": b"x"}]}}, METADATA),
    ({"footer": {"pairs": [{"key": b"geo", "value": b"{}"}]}}, GEO),
    ({"pages_behind": packed({"type": 1, "uncompressed": 0, "compressed": 0}, PAGE)}, NO_ROWS),
    (
        {
            "pages_behind": packed(
                {"type": 0, "uncompressed": 0, "compressed": 0, "data": {**HEAD, "values": 0}}, PAGE
            )
        },
        NO_ROWS,
    ),
    (
        {
            "pages_behind": packed(
                {"type": 2, "uncompressed": 0, "compressed": 0, "dictionary": {"values": 0, "encoding": 0}},
                PAGE,
            )
        },
        NO_ROWS,
    ),
]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"page": {"compressed": 25}}, BROKEN),
    ({"page": {"compressed": 23}}, BROKEN),
    ({"page": {"compressed": -1}}, BROKEN),
    ({"page": {"uncompressed": 25}}, BROKEN),
    ({"page": {"uncompressed": 23}}, BROKEN),
    ({"page": {"uncompressed": -1}}, BROKEN),
    ({"page": {"data": {**HEAD, "values": 2}}}, BROKEN),
    ({"page": {"data": {**HEAD, "values": 4}}}, BROKEN),
    ({"page": {"data": {**HEAD, "encoding": 5}}}, "an encoding that shoal does not write"),
    ({"data": {"compressed": 0}}, BROKEN),
    ({"data": {"compressed": CHUNK + 1}}, BROKEN),
    ({"data": {"compressed": CHUNK - 1}}, BROKEN),
    ({"data": {"uncompressed": CHUNK + 1}}, BROKEN),
    ({"data": {"uncompressed": CHUNK - 1}}, BROKEN),
    ({"data": {"values": 2}}, BROKEN),
    ({"data": {"values": 4}}, BROKEN),
    ({"data": {"codec": 2}}, OTHER_WAY),
    ({"data": {"type": 3}}, OTHER_WAY),
    ({"data": {"path": [b"b"]}}, OTHER_WAY),
    ({"data": {"path": [b"a", b"a"]}}, OTHER_WAY),
    ({"data": {"data_page_offset": 5}}, "do not follow each other"),
    ({"data": {"data_page_offset": 3}}, "do not follow each other"),
    ({"data": {"dictionary_page_offset": 5}}, "do not follow each other"),
    ({"group": {"rows": 2}}, BROKEN),
    ({"group": {"rows": 2}, "footer": {"rows": 2}}, BROKEN),
    ({"group": {"rows": 4}, "footer": {"rows": 4}}, BROKEN),
    ({"group": {"rows": -1}, "footer": {"rows": -1}}, BROKEN),
    ({"bare": True, "data": {"values": 0}, "group": {"rows": 0}, "footer": {"rows": 0}}, BROKEN),  # no page
    ({"group": {"chunks": []}}, BROKEN),
    ({"footer": {"rows": 2}}, BROKEN),
    ({"footer": {"rows": 4}}, BROKEN),
    ({"footer": {"schema": [{"name": b"schema", "children": 0}]}}, BROKEN),
    (
        {"footer": {"schema": [{"name": b"schema", "children": 1}, {"repetition": 2, "name": b"a"}]}},
        "columns inside columns, or two columns of one name",
    ),
    (
        {"footer": {"schema": [{"name": b"schema", "children": 2}, {"repetition": 0, "name": b"a"}]}},
        "columns inside columns, or two columns of one name",
    ),
]


@pytest.mark.parametrize("change", RIGHT, ids=str)
def test_what_writers_may_say_holds(change: dict[str, Any]) -> None:
    assert found_in(file_of(**change)) == []


@pytest.mark.parametrize(("change", "what"), HIDDEN, ids=str)
def test_what_is_not_so_is_found_and_nothing_else(change: dict[str, Any], what: str) -> None:
    assert found_in(file_of(**change)) == [what]


@pytest.mark.parametrize(("change", "words"), REFUSED, ids=str)
def test_what_cannot_be_walked_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        layout_findings(file_of(**change))


def test_two_dictionaries_are_one_too_many() -> None:
    entry = BODY[:8]
    about = {"type": 2, "uncompressed": 8, "compressed": 8, "dictionary": {"values": 1, "encoding": 0}}
    dictionary = packed(about, PAGE) + entry
    data = {"dictionary_page_offset": 4}
    assert found_in(file_of(data=data, pages_before=dictionary)) == ["values in a dictionary that no row has"]
    assert NO_ROWS in found_in(file_of(data=data, pages_before=2 * dictionary))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PAR2" + file_of()[4:], BROKEN),
        (file_of()[:-4] + b"PAR2", BROKEN),
        (MAGIC + with_length(b"", 1), BROKEN),  # a footer that would begin in the mark
        (MAGIC + with_length(b"", 99), BROKEN),
        (MAGIC + with_length(EMPTY, len(EMPTY) + 12), BROKEN),  # counted from behind, it would be found
        (file_of()[: -len(MAGIC)], BROKEN),
        (MAGIC + b"\0\0\0" + MAGIC, BROKEN),
        (file_of()[:END] + with_length(file_of()[END:-9]), BROKEN),
    ],
)
def test_marks_and_footer_stand_where_they_belong(content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        layout_findings(content)


def test_bytes_around_the_footer_are_counted() -> None:
    content = file_of()
    footer = content[END:-8]
    assert found_in(content[:END] + b"seven b" + with_length(footer)) == [
        "7 bytes between its pages and its footer"
    ]
    assert found_in(content[:END] + with_length(footer + b"seven b")) == ["7 bytes behind its footer"]


@pytest.mark.parametrize("size", [0, 100])
def test_rows_and_bytes_that_a_file_can_honestly_hold(size: int) -> None:
    rows, unpacked = (1 << 20) + 8 * size, (1 << 28) + 256 * size

    def footer(rows: int, unpacked: int) -> dict[str, Any]:
        half = {"data": {"uncompressed": unpacked // 2}}
        rest = {"data": {"uncompressed": unpacked - unpacked // 2}}
        return {"rows": rows, "row_groups": [{"rows": rows, "chunks": [half, rest]}]}

    _require_honest_size(size, footer(rows, unpacked))
    for more in (footer(rows + 1, 0), footer(0, unpacked + 1)):
        with pytest.raises(InputError, match="more than such a file can honestly hold"):
            _require_honest_size(size, more)


def test_a_size_below_zero_makes_up_for_no_other() -> None:
    """The pages of the first column would be unpacked before anybody looks at the second."""
    sizes = [{"data": {"uncompressed": size}} for size in (1 << 50, -(1 << 50))]
    with pytest.raises(InputError, match=BROKEN):
        _require_honest_size(100, {"rows": 2, "row_groups": [{"rows": 2, "chunks": sizes}]})
    groups = [{"rows": rows, "chunks": []} for rows in (1 << 50, 2 - (1 << 50))]
    with pytest.raises(InputError, match=BROKEN):
        _require_honest_size(100, {"rows": 2, "row_groups": groups})


@pytest.mark.parametrize("groups", [1, 4])
def test_a_text_of_a_dictionary_counts_for_each_row_that_has_it(groups: int) -> None:
    """A few thousand bytes that would fill a machine's memory once they are read."""
    rows = 1 << 13  # texts of 512 MiB
    codes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * (1 << 16)]))
    table, sink = pa.table({"a": codes}), pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", store_schema=False, row_group_size=-(-rows // groups))
    content = sink.getvalue().to_pybytes()
    assert len(content) < 1 << 16
    with pytest.raises(InputError, match=r"texts of [\d,]+ bytes, more than such a file can honestly hold"):
        layout_findings(content)


@pytest.mark.parametrize("first", [b"", b"x"])
def test_groups_alone_begin_where_the_footer_says(first: bytes) -> None:
    content = file_of(n_groups=3)
    layout = read_layout(content)
    part = walk_groups(content, layout.of(1, 3))
    assert (part.start, part.end, part.faults) == (END, layout.end, ())
    assert layout.of(0, 1).start == 4
    empty: list[list[dict[str, Any]]] = [[], [{"chunks": []}], [{"chunks": [{}]}]]
    for groups in empty:
        with pytest.raises(InputError, match=BROKEN):
            type(layout)(**{**vars(layout), "groups": groups}).of(0, 1)
    for start in (3, layout.end, None, first):
        moved = [{"chunks": [{"data": {"data_page_offset": start}}]}]
        with pytest.raises(InputError, match=BROKEN):
            type(layout)(**{**vars(layout), "groups": moved}).of(0, 1)
    moved = [{"chunks": [{"data": {"data_page_offset": layout.end - 1}}]}]
    assert type(layout)(**{**vars(layout), "groups": moved}).of(0, 1).start == layout.end - 1


def test_what_was_found_in_a_group_is_told_once_and_with_its_number() -> None:
    content = file_of(group={"ordinal": 1}, n_groups=3)
    layout = read_layout(content)
    assert found_in(content) == [ORDER]
    assert walk_groups(content, layout.of(1, 2)).faults == ()
    assert walk_groups(content, layout.of(2, 3)).faults == (ORDER,)


def geo(*, bbox: Any = (-1.5, 2.0, -1.25, 3.5), **changes: Any) -> dict[str, Any]:
    column = {"encoding": "WKB", "geometry_types": ["Polygon"], "bbox": list(bbox)}
    column |= {name: value for name, value in changes.items() if name in column}
    top = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
    return top | {name: value for name, value in changes.items() if name not in column}


def found_beside(text: bytes, name: bytes = b"geometry", n: int = 1) -> list[str]:
    return found_in(file_of(name=name, footer={"pairs": [{"key": b"geo", "value": text}] * n}))


def test_the_description_of_geometries_is_said_once_and_where_there_are_any() -> None:
    text = json.dumps(geo()).encode()
    assert found_beside(text) == []
    assert found_beside(json.dumps(geo(geometry_types=["Point"])).encode()) == []
    assert found_beside(text, name=b"a") == [GEO]
    assert found_beside(text, n=2) == [METADATA]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(geo(version="1.0.0")),
        json.dumps(geo(primary_column="a")),
        json.dumps(geo(encoding="wkb")),
        json.dumps(geo(geometry_types=["LineString"])),
        json.dumps(geo(geometry_types=["Polygon", "Point"])),
        json.dumps(geo(bbox=(1.5, 2.0, 3.5))),
        json.dumps(geo(bbox=(1.5, 2.0, 3.5, 4.5, 5.5))),
        json.dumps(geo(bbox=(1, 2.0, 3.5, 4.5))),
        json.dumps(geo(note="x")),
        json.dumps(geo(columns={"geometry": geo()["columns"]["geometry"], "other": {}})),
        json.dumps(dict(reversed(geo().items()))),
        json.dumps(geo()).replace(": ", ":"),
        json.dumps(geo()).replace("-1.5", "-1.50"),
        json.dumps([geo()]),
        "{",
        "{}",
        "[" * 100_000,
    ],
    ids=lambda text: text[:200],
)
def test_the_description_of_geometries_has_one_spelling(text: str) -> None:
    assert found_beside(text.encode()) == [GEO]


# --- the numbers of fields ----------------------------------------------------------------------------------

# by the name of each structure, as parquet.thrift of Apache Parquet 2.12 numbers them
NUMBERS = {
    "footer": "1 version 2 schema 3 rows 4 row_groups 5 pairs 6 created_by 7 orders",
    "schema": "1 type 2 type_length 3 repetition 4 name 5 children 6 converted_type 7 scale 8 precision "
    "9 field_id 10 logical_type",
    "type of a column": "1 text 2 map 3 list 8 instant 10 whole",
    "type of times": "1 utc 2 unit",
    "unit of time": "1 milliseconds 2 microseconds 3 nanoseconds",
    "type of whole numbers": "1 bits 2 signed",
    "group of rows": "1 chunks 2 bytes 3 rows 4 sorting 5 file_offset 6 compressed 7 ordinal",
    "order of rows": "1 column 2 descending 3 nulls_first",
    "order of values": "1 by_type",
    "column": "1 file_path 2 file_offset 3 data 4 offset_index_offset 5 offset_index_length "
    "6 column_index_offset 7 column_index_length 9 encrypted",
    "metadata of a column": "1 type 2 encodings 3 path 4 codec 5 values 6 uncompressed 7 compressed 8 pairs "
    "9 data_page_offset 10 index_page_offset 11 dictionary_page_offset 12 statistics 13 encoding_counts "
    "14 bloom_filter_offset 15 bloom_filter_length 16 sizes",
    "metadata": "1 key 2 value",
    "statistics": "1 max 2 min 3 nulls 4 distinct 5 max_value 6 min_value 7 max_exact 8 min_exact",
    "count of encodings": "1 page_type 2 encoding 3 pages",
    "statistics of sizes": "1 bytes 2 repetition_levels 3 definition_levels",
    "header of a page": "1 type 2 uncompressed 3 compressed 4 crc 5 data 7 dictionary",
    "header of a data page": "1 values 2 encoding 3 definition_levels 4 repetition_levels 5 statistics",
    "header of a dictionary": "1 values 2 encoding 3 sorted",
    "mark": "",
}


def shapes_in(shape: Shape) -> dict[str, str]:
    """The numbers of the fields of a structure, and of all structures inside."""
    messages = " ".join(f"{number} {field.name}" for number, field in shape.fields.items())
    inside = [shapes_in(field.of) for field in shape.fields.values() if field.of is not None]
    return {shape.name: messages} | {name: text for item in inside for name, text in item.items()}


def test_fields_have_the_numbers_of_the_format() -> None:
    assert shapes_in(FOOTER) | shapes_in(PAGE) == NUMBERS
