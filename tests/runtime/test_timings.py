"""Stages count their own seconds, CPU seconds and memory, and not those of the stages inside them."""

import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from shoal.runtime import timings as timing
from shoal.runtime.run import Run
from shoal.runtime.timings import REST, Timings, format_costs, total_cost


class Clocks:
    """Clocks that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = self.cpu_s = 1000.0
        clock = Mock(wraps=time)
        clock.perf_counter = lambda: self.now_s
        monkeypatch.setattr(timing, "time", clock)
        monkeypatch.setattr(timing, "_cpu_s", lambda: self.cpu_s)

    def spend(self, seconds: float, cpu_s: float) -> None:
        self.now_s += seconds
        self.cpu_s += cpu_s


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


def test_a_stage_counts_what_it_does_itself_and_not_what_the_stages_inside_it_do(clocks: Clocks) -> None:
    timings = Timings()
    clocks.spend(1, 2)
    with timings.stage("outer"):
        clocks.spend(3, 6)
        with timings.stage("inner"):
            clocks.spend(10, 15)
        clocks.spend(4, 7)
    with timings.stage("inner"):
        clocks.spend(20, 25)
    clocks.spend(0.5, 0)
    costs = timings.costs()
    assert [(cost.stage, cost.seconds, cost.cpu_s) for cost in costs] == [
        ("outer", 7, 13),
        ("inner", 30, 40),
        (REST, 1.5, 2),
    ]
    assert (total_cost(costs).seconds, total_cost(costs).cpu_s) == (38.5, 55)


def test_the_clocks_are_those_of_the_process() -> None:
    timings = Timings()
    with timings.stage("one"):
        began, cpu = time.perf_counter(), time.process_time()
        while time.process_time() < cpu + 0.05:
            pass
        passed = time.perf_counter() - began
    (one, _) = timings.costs()
    assert one.seconds >= passed
    assert one.cpu_s >= 0.02  # the system counts in steps of 10 ms


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system tells no peaks of stages")
def test_the_peak_of_a_stage_is_its_own() -> None:
    timings = Timings()
    with timings.stage("large"):
        large = np.ones(40_000_000, dtype=np.uint8)
        assert large.sum() == 40_000_000
        del large
    with timings.stage("small"):
        pass
    costs = {cost.stage: cost for cost in timings.costs()}
    large_peak, small_peak = costs["large"].peak_bytes, costs["small"].peak_bytes
    assert large_peak is not None
    assert small_peak is not None
    assert large_peak - small_peak > 30_000_000
    assert total_cost(list(costs.values())).peak_bytes == large_peak


def test_where_the_system_tells_no_peak_none_is_made_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(timing, "_STATUS", tmp_path / "absent" / "status")
    monkeypatch.setattr(timing, "_CLEAR_REFS", tmp_path / "absent" / "clear_refs")
    timings = Timings()
    with timings.stage("one"):
        pass
    costs = timings.costs()
    assert [cost.peak_bytes for cost in costs] == [None, None]
    assert [cost.to_json()["peak_bytes"] for cost in [*costs, total_cost(costs)]] == [None] * 3
    assert "MiB" not in "".join(format_costs(costs))


def _spends(cpu_s: float) -> None:
    began = time.thread_time()
    while time.thread_time() < began + cpu_s:
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell the time of another thread")
def test_what_is_done_beside_a_stage_counts_for_its_own() -> None:
    timings = Timings()
    run = Run(threads=2, timings=timings)
    halfway, go_on = threading.Event(), threading.Event()

    def piece() -> int:
        _spends(0.1)
        halfway.set()
        go_on.wait(10)
        _spends(0.1)
        return 1

    with run.alongside(piece, stage="beside") as result:
        with run.stage("one"):
            halfway.wait(10)
        with run.stage("two"):
            go_on.set()
            assert result() == 1
    costs = {cost.stage: cost for cost in timings.costs()}
    assert costs["beside"].cpu_s >= 0.2
    assert costs["beside"].seconds == 0
    assert max(costs[name].cpu_s for name in ("one", "two")) < 0.1
    assert (costs["beside"].peak_bytes or 0) >= max(costs[name].peak_bytes or 0 for name in ("one", "two"))


def test_with_one_thread_a_piece_is_a_stage_where_it_is_asked_for() -> None:
    timings = Timings()
    run = Run(threads=1, timings=timings)
    with run.alongside(lambda: _spends(0.02), stage="beside") as result:
        with run.stage("one"):
            pass
        assert [cost.stage for cost in timings.costs()] == ["one", REST]
        result()
    spent = {cost.stage: cost.seconds for cost in timings.costs()}
    assert spent.keys() == {"one", "beside", REST}
    assert spent["beside"] >= 0.02


def test_a_stage_that_fails_is_closed() -> None:
    timings = Timings()
    with pytest.raises(ValueError, match="no"), timings.stage("failing"):
        raise ValueError("no")
    with timings.stage("next"):
        pass
    assert [cost.stage for cost in timings.costs()] == ["failing", "next", REST]


def test_a_run_without_timings_counts_nothing() -> None:
    with Run().stage("anything"):
        pass
    timings = Timings()
    with Run(timings=timings).stage("something"):
        pass
    assert timings.costs()[0].stage == "something"
