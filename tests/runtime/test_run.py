"""Runs and tasks: progress, threads, stages."""

import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import MisuseError
from shoal.runtime.run import Run, split_evenly


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_results_come_in_the_order_of_the_parts_with_progress(threads: int, n: int) -> None:
    seen: list[tuple[str, int, int]] = []
    run = Run(threads=threads, progress=lambda label, done, total: seen.append((label, done, total)))
    assert list(run.map(lambda part: part * part, range(n), label="squares")) == [m * m for m in range(n)]
    assert seen == [("squares", done, n) for done in range(n + 1)]


@pytest.mark.parametrize("threads", [0, -1])
def test_no_thread_does_no_work(threads: int) -> None:
    with pytest.raises(MisuseError, match=f"threads = {threads} does no work"):
        Run(threads=threads)


def test_one_part_alone_needs_no_other_thread() -> None:
    (name,) = Run(threads=2).map(lambda _: threading.current_thread().name, [0])
    assert name == threading.current_thread().name


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_pieces_beside_a_block_are_done_once_and_hand_out_their_results(threads: int) -> None:
    done: list[int] = []

    def piece(number: int) -> Callable[[], int]:
        def work() -> int:
            done.append(number)
            return number

        return work

    run = Run(threads=threads)
    with run.alongside(piece(1)) as first, run.alongside(piece(2)) as second:
        assert (second(), first(), second()) == (2, 1, 2)
    assert sorted(done) == [1, 2]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_piece_raises_comes_where_its_result_is_asked_for(threads: int) -> None:
    def fails() -> int:
        raise KeyError("piece")

    with Run(threads=threads).alongside(fails) as result, pytest.raises(KeyError, match="piece"):
        result()


def test_a_block_that_fails_waits_for_what_was_begun() -> None:
    begun, ended = threading.Event(), []

    def piece() -> None:
        begun.set()
        ended.append(threading.current_thread())

    def block() -> None:
        with Run(threads=2).alongside(piece):
            begun.wait(10)
            raise ValueError("block")

    with pytest.raises(ValueError, match="block"):
        block()
    assert len(ended) == 1
    assert not ended[0].is_alive()


def test_with_one_thread_a_piece_nobody_asks_for_is_not_done() -> None:
    done: list[int] = []
    with Run(threads=1).alongside(lambda: done.append(1)):
        pass
    assert done == []


@given(st.integers(0, 500), st.integers(1, 60))
def test_runs_hold_everything_once_and_are_alike(n: int, at_most: int) -> None:
    runs = split_evenly(n, at_most)
    assert [one for first, end in runs for one in range(first, end)] == list(range(n))
    lengths = {end - first for first, end in runs}
    assert len(runs) == -(-n // at_most)
    assert max(lengths, default=0) - min(lengths, default=0) <= 1
    assert max(lengths, default=0) <= at_most
