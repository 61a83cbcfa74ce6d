"""Numbers of a page in runs and packed bits: counted as they were written, and all else is told."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_surgery import varint
from shoal.verification.files.loops import BITS_BEHIND, BROKEN, BYTES_BEHIND, count_numbers

pytestmark = pytest.mark.kernels
parts = st.lists(st.tuples(st.booleans(), st.integers(1, 40)), max_size=6)


def written(width: int, pieces: list[tuple[bool, int]], draw: np.random.Generator) -> tuple[bytes, list[int]]:
    """(bytes, the numbers): each piece packed, in whole groups of eight but for the last, or a run."""
    body, numbers = b"", list[int]()
    for place, (packed, many) in enumerate(pieces):
        if packed:
            count = many if place == len(pieces) - 1 else 8 * many
            run_of_numbers = draw.integers(0, 1 << width, count).tolist()
            groups = -(-count // 8)
            bits = sum(number << (width * at) for at, number in enumerate(run_of_numbers))
            body += varint(groups << 1 | 1) + bits.to_bytes(groups * width, "little")
            numbers += run_of_numbers
        else:
            value = int(draw.integers(0, 1 << width))
            body += varint(many << 1) + value.to_bytes(-(-width // 8), "little")
            numbers += [value] * many
    return body, numbers


def counted(body: bytes, n: int, width: int, size: int) -> tuple[int, list[int]]:
    counts, order = np.zeros(size, dtype=np.int64), np.array([size, 0])
    return count_numbers(np.frombuffer(body, dtype=np.uint8), n, width, counts, order), counts.tolist()


@given(width=st.integers(0, 9), pieces=parts, seed=st.integers(0, 99))
def test_numbers_are_counted_as_they_were_written(
    width: int, pieces: list[tuple[bool, int]], seed: int
) -> None:
    body, numbers = written(width, pieces, np.random.default_rng(seed))
    size = 1 << width
    expected = np.bincount(np.array(numbers, dtype=np.int64), minlength=size).tolist()
    assert counted(body, len(numbers), width, size) == (0, expected)
    assert counted(body + b"\0", len(numbers), width, size) == (BYTES_BEHIND, expected)
    if numbers:
        assert counted(body[:-1], len(numbers), width, size)[0] == BROKEN
        assert counted(body, len(numbers), width, max(numbers))[0] == BROKEN


@given(body=st.binary(max_size=12), n=st.integers(0, 60), width=st.integers(0, 32))
def test_any_bytes_are_refused_or_counted(body: bytes, n: int, width: int) -> None:
    messages, counts = counted(body, n, width, 5)
    assert messages == BROKEN or (0 <= messages <= BITS_BEHIND + BYTES_BEHIND and sum(counts) == n)


def test_bits_behind_the_last_number_are_told() -> None:
    assert counted(b"\x03\x05", 3, 1, 2) == (0, [1, 2])
    assert counted(b"\x03\x15", 3, 1, 2) == (BITS_BEHIND, [1, 2])
    assert counted(b"\x03\x15\x00", 3, 1, 2) == (BITS_BEHIND + BYTES_BEHIND, [1, 2])


@given(width=st.integers(0, 4), pieces=parts, seed=st.integers(0, 99), highest=st.integers(-1, 6))
def test_numbers_that_come_before_the_next_lower_one_are_told(
    width: int, pieces: list[tuple[bool, int]], seed: int, highest: int
) -> None:
    body, numbers = written(width, pieces, np.random.default_rng(seed))
    order = np.array([highest, 0])
    count_numbers(
        np.frombuffer(body, dtype=np.uint8), len(numbers), width, np.zeros(1 << width, np.int64), order
    )
    seen, early = highest, False
    for number in numbers:
        early |= number > seen + 1
        seen = max(seen, number)
    assert order.tolist() == [seen, int(early)]
