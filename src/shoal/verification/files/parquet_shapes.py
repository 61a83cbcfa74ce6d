"""The structures of a Parquet file, field by field, as parquet.thrift of Apache Parquet 2.12 numbers them."""

from typing import Final

from shoal.verification.files.thrift import Field, Shape


def _int(name: str) -> Field:
    return Field(name=name, kind="i32")


def _long(name: str) -> Field:
    return Field(name=name, kind="i64")


def _bytes(name: str) -> Field:
    return Field(name=name, kind="bytes")


def _bool(name: str) -> Field:
    return Field(name=name, kind="bool")


def _one(name: str, shape: Shape) -> Field:
    return Field(name=name, kind="struct", of=shape)


def _some(name: str, shape: Shape) -> Field:
    return Field(name=name, kind="list", of=shape)


def _plain(name: str, items: str) -> Field:
    return Field(name=name, kind="list", items=items)


_NOTHING: Final = Shape(name="mark", fields={})
_UNIT: Final = Shape(
    name="unit of time",
    fields={
        1: _one("milliseconds", _NOTHING),
        2: _one("microseconds", _NOTHING),
        3: _one("nanoseconds", _NOTHING),
    },
)
_INSTANT: Final = Shape(name="type of times", fields={1: _bool("utc"), 2: _one("unit", _UNIT)})
_WHOLE: Final = Shape(
    name="type of whole numbers", fields={1: Field(name="bits", kind="i8"), 2: _bool("signed")}
)
_LOGICAL: Final = Shape(
    name="type of a column",
    fields={
        1: _one("text", _NOTHING),
        2: _one("map", _NOTHING),
        3: _one("list", _NOTHING),
        8: _one("instant", _INSTANT),
        10: _one("whole", _WHOLE),
    },
)
_SCHEMA: Final = Shape(
    name="schema",
    fields={
        1: _int("type"),
        2: _int("type_length"),
        3: _int("repetition"),
        4: _bytes("name"),
        5: _int("children"),
        6: _int("converted_type"),
        7: _int("scale"),
        8: _int("precision"),
        9: _int("field_id"),
        10: _one("logical_type", _LOGICAL),
    },
)
_STATISTICS: Final = Shape(
    name="statistics",
    fields={
        1: _bytes("max"),
        2: _bytes("min"),
        3: _long("nulls"),
        4: _long("distinct"),
        5: _bytes("max_value"),
        6: _bytes("min_value"),
        7: _bool("max_exact"),
        8: _bool("min_exact"),
    },
)
_PAIR: Final = Shape(name="metadata", fields={1: _bytes("key"), 2: _bytes("value")})
_SIZES: Final = Shape(
    name="statistics of sizes",
    fields={1: _long("bytes"), 2: _plain("repetition_levels", "i64"), 3: _plain("definition_levels", "i64")},
)
_ENCODING_COUNT: Final = Shape(
    name="count of encodings", fields={1: _int("page_type"), 2: _int("encoding"), 3: _int("pages")}
)
_CHUNK_DATA: Final = Shape(
    name="metadata of a column",
    fields={
        1: _int("type"),
        2: _plain("encodings", "i32"),
        3: _plain("path", "bytes"),
        4: _int("codec"),
        5: _long("values"),
        6: _long("uncompressed"),
        7: _long("compressed"),
        8: _some("pairs", _PAIR),
        9: _long("data_page_offset"),
        10: _long("index_page_offset"),
        11: _long("dictionary_page_offset"),
        12: _one("statistics", _STATISTICS),
        13: _some("encoding_counts", _ENCODING_COUNT),
        14: _long("bloom_filter_offset"),
        15: _int("bloom_filter_length"),
        16: _one("sizes", _SIZES),
    },
)
_CHUNK: Final = Shape(
    name="column",
    fields={
        1: _bytes("file_path"),
        2: _long("file_offset"),
        3: _one("data", _CHUNK_DATA),
        4: _long("offset_index_offset"),
        5: _int("offset_index_length"),
        6: _long("column_index_offset"),
        7: _int("column_index_length"),
        9: _bytes("encrypted"),
    },
)
_SORTING: Final = Shape(
    name="order of rows", fields={1: _int("column"), 2: _bool("descending"), 3: _bool("nulls_first")}
)
_ROW_GROUP: Final = Shape(
    name="group of rows",
    fields={
        1: _some("chunks", _CHUNK),
        2: _long("bytes"),
        3: _long("rows"),
        4: _some("sorting", _SORTING),
        5: _long("file_offset"),
        6: _long("compressed"),
        7: Field(name="ordinal", kind="i16"),
    },
)
_ORDER: Final = Shape(name="order of values", fields={1: _one("by_type", _NOTHING)})
FOOTER: Final = Shape(
    name="footer",
    fields={
        1: _int("version"),
        2: _some("schema", _SCHEMA),
        3: _long("rows"),
        4: _some("row_groups", _ROW_GROUP),
        5: _some("pairs", _PAIR),
        6: _bytes("created_by"),
        7: _some("orders", _ORDER),
    },
)
_DATA_PAGE: Final = Shape(
    name="header of a data page",
    fields={
        1: _int("values"),
        2: _int("encoding"),
        3: _int("definition_levels"),
        4: _int("repetition_levels"),
        5: _one("statistics", _STATISTICS),
    },
)
_DICTIONARY_PAGE: Final = Shape(
    name="header of a dictionary", fields={1: _int("values"), 2: _int("encoding"), 3: _bool("sorted")}
)
PAGE: Final = Shape(
    name="header of a page",
    fields={
        1: _int("type"),
        2: _int("uncompressed"),
        3: _int("compressed"),
        4: _int("crc"),
        5: _one("data", _DATA_PAGE),
        7: _one("dictionary", _DICTIONARY_PAGE),
    },
)
