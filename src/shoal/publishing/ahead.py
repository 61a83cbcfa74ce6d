"""Compile kernels for a first publication meanwhile, by a toy release in other processes.

They end with the publication. ``SHOAL_COMPILE_AHEAD=0`` switches it off.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from shoal.runtime import compiled
from shoal.runtime.compiling import COMPILING
from shoal.runtime.run import available_cores

SWITCH: Final = "SHOAL_COMPILE_AHEAD"
FEWEST_SAMPLES: Final = 1 << 16  # of fewer, a publication compiles too little to need help
_FEW_KERNELS: Final = 3  # so few are compiled before another process has begun
_PEOPLE: Final = 12
_DAYS: Final = 2
_MAKE: Final = "make"
_STEPS: Final[dict[str, Callable[[Any], object]]] = {  # of an Evidence; what a record comes to last, first
    "attacks": lambda evidence: evidence.assessment,
    "utility": lambda evidence: evidence.utility,
    "facts": lambda evidence: (evidence.release_facts, evidence.vanished),
}


@contextmanager
def compile_ahead(method: str) -> Iterator[None]:
    """Let other processes compile kernels for this method, if it begins to compile."""
    processes_started: list[subprocess.Popen[bytes]] = []

    def begin() -> None:
        if not processes_started and COMPILING.kernels > _FEW_KERNELS:
            processes = min(available_cores() - 1, len(_STEPS))
            with suppress(OSError):  # it is a help, and no more
                processes_started.extend(
                    _start_process(method, list(_STEPS)[n::processes]) for n in range(processes)
                )

    if os.environ.get(SWITCH) != "0":
        COMPILING.listeners.append(begin)
    try:
        yield
    finally:
        if begin in COMPILING.listeners:
            COMPILING.listeners.remove(begin)
        for process in processes_started:
            process.communicate()  # closes what it listens to, which ends it


def _start_process(method: str, steps: list[str]) -> subprocess.Popen[bytes]:
    silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(  # noqa: S603  (this file; a session of its own, since Ctrl-C is for the publication)
        _ahead_command(method, *steps),
        stdin=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, compiled.SWITCH: "0"},
        **silent,
    )


def _ahead_command(*rest: str) -> list[str]:
    return [sys.executable, "-P", "-m", "shoal.publishing.ahead", *rest]


def make(method: str, folder: Path) -> None:
    """Write tiny raw data, a release of it, and its linkage."""
    from shoal.io import read
    from shoal.methods import method_named
    from shoal.publishing.publish import publish
    from shoal.runtime.randomness import Randomness
    from shoal.synthetic import write_synthetic

    people, release, linkage = _toy_files(folder)
    write_synthetic(people, n_subjects=_PEOPLE, days=_DAYS, seed=1)
    made_by: Any = method_named(method)
    raw = read(people, snap=made_by.about.publishes == "boxes")
    publish(raw, made_by(k=2), release, rng=Randomness.for_research(1), linkage_file=linkage, tries=0)


def compile_report_kernels(method: str, folder: Path, steps: list[str]) -> None:
    """Run these steps of a report."""
    from shoal.io import read_with
    from shoal.release_folder.folder import raw_reading, read_linkage, read_release
    from shoal.report.facts.evidence import Evidence
    from shoal.runtime.run import Run
    from shoal.utility import Facts

    # slow, but at once: kernels of the method are compiled by the publication
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run(_ahead_command(method, _MAKE, str(folder)), env=environment, check=True)  # noqa: S603  (this file)
    people, release, linkage = _toy_files(folder)
    run = Run(threads=1)
    raw = read_with(people, raw_reading(release), run)
    evidence = Evidence(Facts(raw, read_release(release), read_linkage(linkage), run=run))
    for step in steps:
        _STEPS[step](evidence)


def _toy_files(folder: Path) -> tuple[Path, Path, Path]:
    return folder / "people.parquet", folder / "release", folder / "linkage.parquet"


def _exit_with_parent(folder: Path) -> None:
    # the parent's end closes standard input
    sys.stdin.read()
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def main(method: str, *rest: str) -> None:
    """Run one of the other processes."""
    if rest[0] == _MAKE:
        make(method, Path(rest[1]))
        return
    with tempfile.TemporaryDirectory(prefix="shoal-ahead-", ignore_cleanup_errors=True) as name:
        threading.Thread(target=_exit_with_parent, args=(Path(name),), daemon=True).start()
        compile_report_kernels(method, Path(name), list(rest))


if __name__ == "__main__":
    main(*sys.argv[1:])
