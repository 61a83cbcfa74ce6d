"""Structures of the compact protocol, byte by byte: read as it says, and refused where anything is longer."""

from typing import Any

import pytest

from shoal.errors import InputError
from shoal.verification.files.thrift import Field, Shape, Source, read_struct

INNER = Shape(name="inner", fields={1: Field(name="n", kind="i64")})
SHAPE = Shape(
    name="outer",
    fields={
        1: Field(name="flag", kind="bool"),
        2: Field(name="small", kind="i8"),
        3: Field(name="number", kind="i32"),
        4: Field(name="text", kind="bytes"),
        5: Field(name="inner", kind="struct", of=INNER),
        6: Field(name="inners", kind="list", of=INNER),
        7: Field(name="texts", kind="list", items="bytes"),
        8: Field(name="numbers", kind="list", items="i32"),
        15: Field(name="late", kind="i16"),
        16: Field(name="later", kind="i64"),
        31: Field(name="last", kind="bool"),
    },
)
TEXT_OF_15 = "01" * 15

READ: list[tuple[str, dict[str, Any]]] = [
    ("00", {}),
    ("11 00", {"flag": True}),
    ("12 00", {"flag": False}),
    ("23 ff 00", {"small": 255}),
    ("35 00 00", {"number": 0}),
    ("35 01 00", {"number": -1}),
    ("35 02 00", {"number": 1}),
    ("35 fe 01 00", {"number": 127}),
    ("35 80 01 00", {"number": 64}),
    ("35 ff ff ff ff ff ff ff ff ff 01 00", {"number": -(1 << 63)}),
    ("48 00 00", {"text": b""}),
    ("48 02 61 62 00", {"text": b"ab"}),
    ("5c 16 04 00 00", {"inner": {"n": 2}}),
    ("69 1c 16 04 00 00", {"inners": [{"n": 2}]}),
    ("69 0c 00", {"inners": []}),
    ("79 28 01 61 00 00", {"texts": [b"a", b""]}),
    ("89 15 03 00", {"numbers": [-2]}),
    (f"89 f5 0f {TEXT_OF_15} 00", {"numbers": [-1] * 15}),
    (f"89 e5 {'01' * 14} 00", {"numbers": [-1] * 14}),
    ("11 13 05 15 02 00", {"flag": True, "small": 5, "number": 1}),
    ("f4 02 00", {"late": 1}),
    ("06 20 02 00", {"later": 1}),
    ("f4 02 16 02 f1 00", {"late": 1, "later": 1, "last": True}),
    ("f4 02 01 3e 00", {"late": 1, "last": True}),
]
REFUSED = [
    "",
    "35",
    "35 80",
    "35 80 00 00",  # longer than it must be
    "35 82 80 00 00",
    "35 ff ff ff ff ff ff ff ff ff 81 01 00",
    "35 80 80 80 80 80 80 80 80 80 80 01 00",
    "48 03 61 62",
    "48 01",
    "01 02 00",  # the first field, its number spelled out
    "04 1e 02 00",  # the fifteenth
    "11 01 02 00",  # the first again
    "11 01 00 00",  # back
    "23 05 01 01 00",
    "36 02 00",  # of another type
    "19 00",
    "69 18 16 04 00 00",
    "89 f5 0e" + "01" * 14 + "00",  # fourteen items, their number spelled out
    "89 25 01",
    "89 f5 7f 01 00",
    "89 f5 ff ff ff ff ff ff ff ff 7f 01 00",  # more items than any file holds
    "5c 16 04 00",
]


@pytest.mark.parametrize(("content", "expected"), READ, ids=str)
def test_fields_are_read_as_the_protocol_says(content: str, expected: dict[str, Any]) -> None:
    source = Source(bytes.fromhex(content) + b"\x00behind", "it")
    assert read_struct(source, SHAPE) == expected
    assert source.at == len(bytes.fromhex(content))


@pytest.mark.parametrize("content", REFUSED)
def test_what_ends_early_or_is_written_longer_than_it_must_be_is_refused(content: str) -> None:
    with pytest.raises(InputError, match="it is not a readable Parquet file"):
        read_struct(Source(bytes.fromhex(content), "it"), SHAPE)


@pytest.mark.parametrize(("content", "number"), [("95 02 00", 9), ("01 22 00", 17), ("5c 25 02 00 00", 2)])
def test_a_field_that_no_structure_has_is_named(content: str, number: int) -> None:
    with pytest.raises(InputError, match=f"^it has a field {number} in its (outer|inner), "):
        read_struct(Source(bytes.fromhex(content), "it"), SHAPE)
