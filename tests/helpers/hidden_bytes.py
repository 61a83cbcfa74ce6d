"""Bytes put into a table's file that are no row."""

import pyarrow as pa

from parquet_surgery import Anatomy


def _with_length(value: bytes) -> bytes:
    return len(value).to_bytes(4, "little") + value


def in_dictionary(anatomy: Anatomy) -> None:
    """A raw identifier as one more value of the pseudonyms' dictionary, which no row uses."""
    page = anatomy.pages[0][0]
    page.body += _with_length(b"caller-0007")
    page.head["dictionary"]["values"] += 1


def in_numbers(anatomy: Anatomy) -> None:
    """A raw coordinate as one more value of a dictionary of numbers."""
    page = anatomy.pages[3][0]
    assert "dictionary" in page.head
    page.body += bytes(8)[:7] + b"\x40"
    page.head["dictionary"]["values"] += 1


def in_statistics(anatomy: Anatomy) -> None:
    anatomy.chunk(0)["statistics"]["max_value"] = b"zz-caller-0007"


def in_old_statistics(anatomy: Anatomy) -> None:
    anatomy.chunk(3)["statistics"]["min"] = b"caller07"


def in_metadata_of_a_column(anatomy: Anatomy) -> None:
    anatomy.chunk(0)["pairs"] = [{"key": b"note", "value": b"caller-0007"}]


def in_metadata(anatomy: Anatomy) -> None:
    anatomy.footer["pairs"].append({"key": b"note", "value": b"caller-0007"})


def before_the_footer(anatomy: Anatomy) -> None:
    anatomy.before_footer = b"caller-0007"


def behind_the_footer(anatomy: Anatomy) -> None:
    anatomy.behind_footer = b"caller-0007"


def in_a_second_frame(anatomy: Anatomy) -> None:
    page = anatomy.pages[0][1]
    skipped = bytes.fromhex("502a4d18") + _with_length(b"caller-0007")
    page.raw = pa.Codec("zstd").compress(page.body, asbytes=True) + skipped
