"""kte-hide goes on from its finished windows.

Killed, interrupted or suppressed on the way, it ends where an undisturbed run ends.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import shoal
from planted_people import EPOCH, planted
from shoal.methods.kte_hide.hiding_sets import (
    UNPUBLISHED,
    WINDOWS_A_PART,
    Search,
    Window,
    choose_hiders,
    cut_into_epochs,
)
from shoal.methods.kte_hide.spectral import spectral_states
from shoal.model.trajectories import Trajectories
from shoal.runtime.checkpoint import Arrays, Checkpoint
from shoal.runtime.run import Run
from shoal.synthetic import write_synthetic

_METHOD = ("--method", "kte-hide", "--tau", "2min", "--epsilon", "2min")
_OPTIONS = (*_METHOD, "--research-seed", "7", "--risk-tries", "0", "--quiet")


class StoppedError(Exception):
    """Stands for whatever ends a run."""


@dataclass(frozen=True)
class StopsAfter(Checkpoint):
    """A checkpoint whose run ends after this many parts."""

    limit: int

    def load_or_make(self, part: str, make: Callable[[], Arrays], apart: str | None = None) -> Arrays:
        if len(list(self.folder.glob("*.npz"))) >= self.limit:
            raise StoppedError
        return super().load_or_make(part, make, apart)


def hiders(original: Trajectories, width: int, run: Run) -> tuple[list[Window], np.ndarray]:
    epochs = cut_into_epochs(original, EPOCH, width)
    states = np.ones(len(epochs.subject), dtype=np.int64)
    return choose_hiders(epochs, states, 2, Search(8, 10), run), states


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("people", [8, 40])
def test_stopped_after_any_part_the_hiders_are_those_of_one_run(
    people: int, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With eight people hiders run out, so that windows of earlier parts are taken back and done again."""
    monkeypatch.setattr("shoal.methods.kte_hide.hiding_sets.WINDOWS_A_PART", 4)
    original = planted(people, 17, seed=3, activity=0.9)
    undisturbed, expected = hiders(original, width, Run(threads=1))
    assert (expected == UNPUBLISHED).any()
    taken_back = False
    for finished in range(4):
        folder = tmp_path / f"{finished}"
        with pytest.raises(StoppedError):
            hiders(
                original,
                width,
                Run(threads=1, checkpoint=StopsAfter(Checkpoint.open(folder, {}).folder, finished)),
            )
        for path in folder.glob("*.npz"):
            with np.load(path) as part:
                taken_back |= int(part["kept"]) < int(path.stem.removeprefix("hiders-"))
        assert len(list(folder.glob("*.npz"))) == finished
        again, states = hiders(original, width, Run(threads=2, checkpoint=Checkpoint(folder)))
        assert np.array_equal(states, expected)
        assert len(again) == len(undisturbed)
        for one, other in zip(again, undisturbed, strict=True):
            for name in ("subjects", "table", "hiders"):
                assert np.array_equal(getattr(one, name), getattr(other, name))
    assert taken_back or people == 40


def test_finished_clusters_are_not_sought_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.methods.kte_hide.spectral.WINDOWS_A_PART", 4)
    epochs = cut_into_epochs(planted(30, 6), EPOCH, 2)
    kept = Run(threads=1, checkpoint=Checkpoint.open(tmp_path / "parts", {}))
    first = spectral_states(epochs, 2, kept)
    assert sorted(path.name for path in (tmp_path / "parts").glob("*.npz")) == [
        "clusters-0.npz",
        "clusters-4.npz",
    ]
    monkeypatch.setattr(
        "shoal.methods.kte_hide.spectral.pair_costs", None
    )  # nothing can be clustered any more
    assert np.array_equal(first, spectral_states(epochs, 2, kept))


def begin(data: Path, output: Path, *more: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "shoal",
        "anonymize",
        str(data),
        "--output",
        str(output),
        *_OPTIONS,
        *more,
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """The exit code, and what was said on standard error."""
    told = process.communicate(timeout=900)[1]
    return process.returncode, told


def wait_for_parts(process: "subprocess.Popen[str]", folder: Path, count: int) -> None:
    until = time.monotonic() + 900
    while len(list(folder.glob("hiders-*.npz"))) < count:
        assert process.poll() is None, "the run ended before it could be stopped"
        assert time.monotonic() < until
        time.sleep(0.002)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "calls.parquet"
    write_synthetic(path, 120, 1, 1)
    return path


def test_a_killed_run_ends_with_the_same_bytes_as_one_that_was_left_alone(
    calls: Path, tmp_path: Path
) -> None:
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    assert finish(begin(calls, whole))[0] == 0
    process = begin(calls, resumed, "--resume")
    parts = tmp_path / "resumed.parts"
    wait_for_parts(process, parts, 3)
    process.kill()
    assert finish(process)[0] == -signal.SIGKILL
    assert not resumed.exists()
    assert parts.stat().st_mode & 0o077 == 0
    assert len(list(parts.glob("*.npz"))) < 24 * 30 // WINDOWS_A_PART  # it was stopped in the middle
    assert finish(begin(calls, resumed, "--resume"))[0] == 0
    assert not parts.exists()
    assert (resumed / "release.parquet").read_bytes() == (whole / "release.parquet").read_bytes()
    assert shoal.verify_folder(shoal.read(str(calls)), resumed, None).findings == ()


def test_an_interrupted_run_says_how_to_go_on(calls: Path, tmp_path: Path) -> None:
    output = tmp_path / "release"
    process = begin(calls, output, "--resume")
    wait_for_parts(process, tmp_path / "release.parts", 2)
    ignored = (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    )  # in a shell's background jobs, and in what they start
    process.send_signal(signal.SIGTERM if ignored else signal.SIGINT)
    code, told = finish(process)
    assert code == 130
    assert "interrupted; finished parts are kept in" in told
    assert "run the same command again to continue" in told
    assert "Traceback" not in told
    assert not output.exists()
