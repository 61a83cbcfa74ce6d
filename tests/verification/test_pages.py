"""Pages of a column: each byte of them is a value of a row, and what is not is refused or told."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import InputError
from shoal.verification.files.loops import count_numbers
from shoal.verification.files.pages import TEXT, Chunk, Values, count_hybrid, decompress

BEHIND_VALUES = "bytes behind the values of a page"
BESIDE = "bytes beside the packed content of a page"
UNUSED = "values in a dictionary that no row has"
ORDER = "a dictionary in another order than that of its rows"
OF_NO_ROW = "statistics that are values of no row"


def texts(*values: bytes) -> bytes:
    return b"".join(len(value).to_bytes(4, "little") + value for value in values)


def longs(*values: int) -> bytes:
    return np.array(values, dtype="<i8").tobytes()


# --- values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "n", "physical", "lengths"),
    [
        (longs(1, 2, 3), 3, "<i8", [0, 0, 0]),
        (b"", 0, "<i8", []),
        (texts(b"ab", b"cd"), 2, TEXT, [2, 2]),
        (texts(b"ab", b"", b"cde"), 3, TEXT, [2, 0, 3]),
        (texts(b"", b""), 2, TEXT, [0, 0]),
        (texts(b"a"), 1, TEXT, [1]),
        (b"", 0, TEXT, []),
    ],
)
def test_values_fill_a_page_to_its_last_byte(body: bytes, n: int, physical: str, lengths: list[int]) -> None:
    messages: list[str] = []
    values = Values(body, n, physical, messages.append)
    assert values.lengths.tolist() == lengths
    assert messages == []
    Values(body + b"\0", n, physical, messages.append)
    assert messages == [BEHIND_VALUES]
    if n:
        with pytest.raises(InputError, match="truncated or another format"):
            Values(body[:-1], n, physical, messages.append)


@pytest.mark.parametrize(
    "body", [b"\x01", b"\x01\0\0", b"\x02\0\0\0a", b"\xff\xff\xff\xffab", texts(b"a") + b"\1\0\0"]
)
def test_texts_that_end_early_are_refused(body: bytes) -> None:
    with pytest.raises(InputError, match="truncated or another format"):
        Values(body, 2 if body.startswith(texts(b"a")) else 1, TEXT, lambda _: None)


@pytest.mark.parametrize(
    ("body", "n", "physical", "n_covered", "strange"),
    [
        (longs(1, 2), 2, "<i8", longs(2), longs(3)),
        (longs(1, 2), 2, "<i8", longs(1), longs(1)[:-1]),
        (texts(b"ab", b"cd"), 2, TEXT, b"cd", b"bc"),
        (texts(b"ab", b"cd"), 2, TEXT, b"ab", b"abc"),
        (texts(b"ab", b"cd"), 2, TEXT, b"ab", b"ad"),  # neither is one of both
        (texts(b"ab", b"cde"), 2, TEXT, b"cde", b"cd"),
    ],
)
def test_what_a_statistic_states_is_a_value(
    body: bytes, n: int, physical: str, n_covered: bytes, strange: bytes
) -> None:
    values = Values(body, n, physical, lambda _: None)
    assert values.holds(n_covered)
    assert not values.holds(strange)


# --- runs and packed bits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "n", "width", "size", "counts"),
    [
        ("06 01", 3, 1, 2, [0, 3]),  # a run of three ones
        ("06 01", 2, 1, 2, None),  # longer than what is left
        ("06 01", 4, 1, 2, None),  # shorter, and nothing follows
        ("06 02", 3, 1, 2, None),  # a number that the dictionary lacks
        ("06", 3, 0, 1, [3]),
        ("06 01 01", 3, 9, 258, {257: 3}),
        ("06 01", 3, 9, 258, None),
        ("03 05", 8, 1, 2, [6, 2]),  # eight packed bits
        ("03 05", 3, 1, 2, [1, 2]),
        ("05 05 00", 8, 1, 2, None),  # two groups where one holds all
        ("05 05 00", 9, 1, 2, [7, 2]),
        ("05 05", 9, 1, 2, None),
        ("01", 8, 1, 2, None),  # no group at all
        ("00 01", 8, 1, 2, None),
        ("03 e4 e4", 8, 2, 4, [2, 2, 2, 2]),
        ("03 e4 e4", 8, 2, 3, None),
        ("03 88 c6 fa", 8, 3, 8, [1] * 8),
        ("00 01 06 01", 3, 1, 2, None),
        ("01 06 01", 3, 1, 2, None),
        ("03 05 06 01", 11, 1, 2, [6, 5]),
        ("", 0, 1, 2, [0, 0]),
        ("", 1, 1, 2, None),
        # the length of a run has one spelling, and five bytes at most
        ("80 01 00", 64, 1, 2, [64, 0]),
        ("86 00 01", 3, 1, 2, None),
        ("80", 64, 1, 2, None),
        ("fe ff ff ff 0f 00", (1 << 31) - 1, 1, 2, [(1 << 31) - 1, 0]),
        ("80 80 80 80 80 01 00", 1 << 34, 1, 2, None),
    ],
)
def test_numbers_of_a_page_one_by_one(
    body: str, n: int, width: int, size: int, counts: list[int] | dict[int, int] | None
) -> None:
    messages: list[str] = []
    if counts is None:
        with pytest.raises(InputError, match="truncated or another format"):
            count_hybrid(bytes.fromhex(body), n, width, size, messages.append)
        return
    expected = counts if isinstance(counts, list) else [counts.get(number, 0) for number in range(size)]
    assert count_hybrid(bytes.fromhex(body), n, width, size, messages.append).tolist() == expected
    assert messages == []
    if n:
        count_hybrid(bytes.fromhex(body) + b"\0", n, width, size, messages.append)
        assert messages == [BEHIND_VALUES]


def test_bits_behind_the_last_number_of_a_page_are_told() -> None:
    messages: list[str] = []
    assert count_hybrid(b"\x03\x15", 3, 1, 2, messages.append).tolist() == [1, 2]
    assert messages == ["bits behind the values of a page"]


@pytest.mark.parametrize(
    ("body", "n", "before", "after"),
    [
        ("02 00 02 01 02 02", 3, [-1, 0], [2, 0]),
        ("02 00 02 02 02 01", 3, [-1, 0], [2, 1]),
        ("02 01", 1, [-1, 0], [1, 1]),
        ("02 01", 1, [0, 0], [1, 0]),
        ("02 00", 1, [2, 0], [2, 0]),
        ("02 02", 1, [2, 0], [2, 0]),
        ("02 03", 1, [2, 1], [3, 1]),
        ("03 e4 e4", 8, [-1, 0], [3, 0]),
        ("03 d8 00", 8, [-1, 0], [3, 1]),
    ],
)
def test_numbers_come_first_in_the_order_of_the_dictionary(
    body: str, n: int, before: list[int], after: list[int]
) -> None:
    order = np.array(before)
    result = count_numbers(
        np.frombuffer(bytes.fromhex(body), dtype=np.uint8), n, 2, np.zeros(4, dtype=np.int64), order
    )
    assert result == 0
    assert order.tolist() == after


# --- a chunk ------------------------------------------------------------------------------------------------


def chunk_of(
    told: list[str], physical: str = TEXT, *, optional: bool = False, stated: tuple[bytes, ...] = ()
) -> Chunk:
    return Chunk(physical, optional=optional, stated_values=set(stated), tell=told.append)


DICTIONARY = texts(b"ab", b"cde")


@pytest.mark.parametrize(
    ("head", "numbers", "parameters", "expected"),
    [
        ({}, "01 02 00 02 01", (b"ab", b"cde"), []),
        ({}, "01 02 01 02 00", (), [ORDER]),
        ({"sorted": True}, "01 02 00 02 01", (), [ORDER]),
        ({"sorted": False}, "01 02 00 02 01", (), []),
        ({}, "01 04 00", (), [UNUSED]),
        ({}, "01 02 00 02 01", (b"ab", b"ac"), [OF_NO_ROW]),
        ({"encoding": 2}, "01 02 00 02 01", (), []),
    ],
)
def test_a_dictionary_holds_what_rows_have_in_their_order(
    head: dict[str, Any], numbers: str, parameters: tuple[bytes, ...], expected: list[str]
) -> None:
    messages: list[str] = []
    chunk = chunk_of(messages, stated=parameters)
    chunk.take_dictionary(DICTIONARY, {"values": 2, "encoding": 0, **head})
    assert chunk.take_page(bytes.fromhex(numbers), {"values": 2, "encoding": 8}, 2) == 0
    chunk.finish()
    assert messages == expected
    assert (chunk.n_values, chunk.n_gaps) == (2, 0)
    assert chunk.n_bytes == (4 if UNUSED in expected else 5)
    assert chunk.pages == {(2, head.get("encoding", 0)): 1, (0, 8): 1}


@pytest.mark.parametrize(
    "head",
    [
        {"values": -1, "encoding": 0},
        {"values": 99, "encoding": 0},
        {"values": 2, "encoding": 3},
        {"encoding": 0},
        {"values": 2},
    ],
)
def test_a_dictionary_that_cannot_be_is_refused(head: dict[str, int]) -> None:
    with pytest.raises(InputError, match="truncated or another format"):
        chunk_of([]).take_dictionary(DICTIONARY, head)


def test_empty_texts_make_a_dictionary_of_as_many_bytes_as_their_lengths() -> None:
    chunk = chunk_of([])
    chunk.take_dictionary(texts(b""), {"values": 1, "encoding": 0})
    assert chunk.dictionary is not None
    assert chunk.dictionary.n == 1


@pytest.mark.parametrize(
    ("levels", "values", "n", "gaps"),
    [
        ("03 07", longs(5, 6, 7), 3, 0),
        ("03 05", longs(5, 7), 3, 1),
        ("06 00", b"", 3, 3),
    ],
)
def test_gaps_are_rows_without_a_value(levels: str, values: bytes, n: int, gaps: int) -> None:
    messages: list[str] = []
    chunk = chunk_of(messages, "<i8", optional=True)
    raw = bytes.fromhex(levels)
    body = len(raw).to_bytes(4, "little") + raw + values
    assert chunk.take_page(body, {"values": n, "encoding": 0}, n) == gaps
    assert chunk.take_page(body, {"values": n, "encoding": 0}, n + 1) == gaps
    assert (chunk.n_values, chunk.n_gaps, chunk.n_bytes) == (2 * n, 2 * gaps, 0)
    assert chunk.pages == {(0, 0): 2}
    assert messages == []
    with pytest.raises(InputError):
        chunk.take_page(body, {"values": n, "encoding": 0}, n - 1)
    with pytest.raises(InputError):
        chunk.take_page((len(body) - 3).to_bytes(4, "little") + body[4:], {"values": n, "encoding": 0}, n)


@pytest.mark.parametrize(
    ("head", "body", "words"),
    [
        ({"encoding": 0}, b"", "truncated or another format"),
        ({"values": -1, "encoding": 0}, b"", "truncated or another format"),
        ({"values": 1, "encoding": 8}, b"", "truncated or another format"),  # no width
        ({"values": 1, "encoding": 8}, b"\x21\x02\0\0\0\0\0", "truncated or another format"),  # 33 bits
        ({"values": 1, "encoding": 5}, b"\x01\x02\0", "an encoding that shoal does not write"),
        ({"values": 1}, b"\x01\x02\0", "an encoding that shoal does not write"),
    ],
)
def test_pages_that_cannot_be_are_refused(head: dict[str, int], body: bytes, words: str) -> None:
    chunk = chunk_of([])
    chunk.take_dictionary(DICTIONARY, {"values": 2, "encoding": 0})
    with pytest.raises(InputError, match=words):
        chunk.take_page(body, head, 5)


def test_numbers_of_32_bits_and_of_none_are_read() -> None:
    chunk = chunk_of([])
    chunk.take_dictionary(DICTIONARY, {"values": 2, "encoding": 0})
    assert chunk.take_page(bytes.fromhex("20 02 01 00 00 00"), {"values": 1, "encoding": 2}, 1) == 0
    assert chunk.take_page(bytes.fromhex("00 04"), {"values": 2, "encoding": 8}, 2) == 0
    assert chunk.take_page(b"", {"values": 0, "encoding": 8}, 0) == 0
    assert chunk.n_bytes == 3 + 2 + 2


def test_a_page_by_a_dictionary_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="an encoding that shoal does not write"):
        chunk_of([]).take_page(bytes.fromhex("01 02 00"), {"values": 1, "encoding": 8}, 1)


def test_values_of_plain_pages_are_those_that_statistics_may_state() -> None:
    messages: list[str] = []
    chunk = chunk_of(messages, stated=(b"ab", b"xyz"))
    chunk.take_page(texts(b"ab", b"cde"), {"values": 2, "encoding": 0}, 2)
    assert chunk.n_bytes == 5
    assert chunk.stated_values == {b"xyz"}
    chunk.finish()
    assert messages == [OF_NO_ROW]


def test_a_statistic_across_two_texts_is_that_of_no_row() -> None:
    """Its bytes stand there, length and all, but where no text begins."""
    across = b"b\x06\0\0\0c"
    page = texts(b"a\x06\0\0\0b", b"cdefgh", b"uvwxyz")
    assert texts(across) in page
    chunk = chunk_of([], stated=(across, b"uvwxyz", b"uvwxy"))
    chunk.take_page(page, {"values": 3, "encoding": 0}, 3)
    assert chunk.stated_values == {across, b"uvwxy"}
    chunk = chunk_of([], stated=(across,))
    chunk.take_page(page + texts(across), {"values": 4, "encoding": 0}, 4)
    assert chunk.stated_values == set()


# --- packing ------------------------------------------------------------------------------------------------


def packed(content: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(content, asbytes=True))


@pytest.mark.parametrize(
    "content", [b"", b"a", b"a" * 300, bytes(range(256)) * 300, bytes(70_000), b"ab" * 200_000]
)
def test_frames_of_any_size_are_told_from_bytes_behind_them(content: bytes) -> None:
    messages: list[str] = []
    assert decompress(packed(content), len(content), "zstd", messages.append) == content
    assert messages == []
    assert decompress(content, len(content), None, messages.append) == content
    skipped = bytes.fromhex("502a4d18 01000000 41")
    assert decompress(packed(content) + skipped, len(content), "zstd", messages.append) == content
    assert messages == [BESIDE]
    for codec, body in ((None, content), ("zstd", packed(content)), ("zstd", packed(content)[:-1] or b"x")):
        with pytest.raises(InputError, match="truncated or another format"):
            decompress(body, len(content) + 1, codec, messages.append)


RAW = b"hello, crowd"
FRAME = bytes.fromhex("28b52ffd")
BLOCK = (len(RAW) << 3 | 1).to_bytes(3, "little") + RAW  # the last block, stored as it is


@pytest.mark.parametrize(
    ("frame", "plain"),
    [
        (FRAME + b"\x20" + bytes([len(RAW)]) + BLOCK, True),  # one segment, size in one byte
        (FRAME + b"\xa0" + (12).to_bytes(4, "little") + BLOCK, True),
        (FRAME + b"\xe0" + (12).to_bytes(8, "little") + BLOCK, True),
        (FRAME + b"\x00\x58" + BLOCK, True),  # a window, and no size
        (FRAME + b"\x80\x58" + (12).to_bytes(4, "little") + BLOCK, True),
        (FRAME + b"\xc0\x58" + (12).to_bytes(8, "little") + BLOCK, True),
        (FRAME + b"\x30\x0c" + BLOCK, False),  # a bit that readers pass over
        # the number of a dictionary may say anything
        (FRAME + b"\x21\x00" + bytes([len(RAW)]) + BLOCK, False),
        (FRAME + b"\x20\x0c" + (12 << 3 | 3).to_bytes(3, "little") + b"a", True),  # one byte, twelve times
        (
            FRAME
            + b"\x20\x0c"
            + (5 << 3).to_bytes(3, "little")
            + RAW[:5]
            + (7 << 3 | 1).to_bytes(3, "little")
            + RAW[5:],
            True,
        ),
    ],
)
def test_frames_are_followed_by_their_headers(frame: bytes, plain: bool) -> None:
    messages: list[str] = []
    assert decompress(frame, 12, "zstd", messages.append) in (RAW, b"a" * 12)
    assert messages == ([] if plain else [BESIDE])
    decompress(frame + FRAME + b"\x20\x00\x01\0\0", 12, "zstd", messages.append)
    assert messages == [BESIDE] * (2 - plain)


def test_a_frame_that_readers_skip_is_told_even_where_its_bytes_look_like_a_header() -> None:
    """A message of 32 bytes before the rows, of which the first make up the header of a frame to the end."""
    frame = packed(RAW)
    to_the_end = (32 - 4 + len(frame)) << 3 | 1
    skipped = bytes.fromhex("502a4d18 20000000 00") + to_the_end.to_bytes(3, "little") + bytes(28)
    messages: list[str] = []
    assert decompress(skipped + frame, 12, "zstd", messages.append) == RAW
    assert messages == [BESIDE]


@pytest.mark.parametrize("codec", ["zstd", "snappy", None])
def test_a_page_of_no_bytes_holds_nothing(codec: str | None) -> None:
    assert decompress(b"", 0, codec, print) == b""
    with pytest.raises(InputError, match="truncated or another format"):
        decompress(b"", 5, codec, print)
