"""The process of one job: its commands in order.

It belongs to no server: both may end while it works. It holds a lock while it lives. ``python -m
shoal_desk.work FOLDER`` starts it; on SIGTERM it lets the command clean up.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, Final

from filelock import lock_descriptor

from shoal import messages
from shoal.errors import OutputError
from shoal.runtime import timings
from shoal.runtime.staging import write_private

PLAN_FILE: Final = "plan.json"
STATUS_FILE: Final = "status.json"
PROGRESS_FILE: Final = "progress.json"
LOCK_FILE: Final = "lock"
CANCEL_FILE: Final = "cancel"
_TRIES: Final = 20
_RESULT_CODES: Final = (
    0,
    1,
    3,
)  # a command that ends so and printed a result: it holds, does not hold, was not checked


@contextmanager
def hold_lock(file: Path, *, tries: int = 1) -> Iterator[int | None]:
    """A lock's descriptor, None when another process holds it.

    tries: a tenth of a second apart. A process that inherits the descriptor holds the lock, too.
    """
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:  # of a folder that can be read alone, it can still be told whether somebody holds it
        descriptor = os.open(file, os.O_RDONLY)
    try:
        mine = any(_locked(descriptor, wait_s=0.1 * bool(number)) for number in range(tries))
        yield descriptor if mine else None
    finally:
        os.close(descriptor)


def _locked(descriptor: int, *, wait_s: float) -> bool:
    time.sleep(wait_s)
    return lock_descriptor(descriptor, blocking=False)


def result_file(folder: Path, number: int) -> Path:
    """A finished command's output."""
    return folder / f"{number}.json"


def messages_file(folder: Path, number: int) -> Path:
    """The sentences in the output of a command, with their identifiers."""
    return folder / f"{number}.sentences.json"


def recover_result(folder: Path) -> None:
    """Complete output of a killed worker's command; the caller holds the lock.

    A command prints its result last, at once: output that parses is complete.
    """
    with suppress(OSError, ValueError, OutputError):
        status = json.loads((folder / STATUS_FILE).read_text(encoding="utf-8"))
        if status["state"] != "running":
            return
        printed = folder / f"{status['command']}.partial"
        json.loads(printed.read_text(encoding="utf-8"))
        printed.replace(result_file(folder, status["command"]))
        if status["command"] + 1 == len(
            json.loads((folder / PLAN_FILE).read_text(encoding="utf-8"))["commands"]
        ):
            _say(folder, "done")


def _say(folder: Path, state: str, **more: Any) -> None:
    write_private(folder / STATUS_FILE, json.dumps({"state": state, "at": time.time(), **more}))


class Worker:
    """Runs a folder's plan."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stopped = False
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = -1

    def run(self) -> None:
        """The remaining commands, unless another process does."""
        with hold_lock(self._folder / LOCK_FILE, tries=_TRIES) as lock:
            if lock is not None:
                self._lock = lock
                self._work()

    def stop(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        """End the command, and start no other."""
        self._stopped = True
        if self._child is not None:
            self._child.terminate()

    def run_command(self, number: int, arguments: list[str], out: BinaryIO, err: BinaryIO) -> int:
        """A command's exit code."""
        self._child = subprocess.Popen(  # noqa: S603  (this very Python and words of our own)
            [sys.executable, "-m", "shoal", *arguments, "--json"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=(self._lock,),  # as long as it works, the job is under way, whatever becomes of us
            env={
                **os.environ,
                timings.ENVIRONMENT: str(self._folder / PROGRESS_FILE),
                messages.ENVIRONMENT: str(messages_file(self._folder, number)),
            },
        )
        if self._stopped:  # told so while the command began
            self._child.terminate()
        code = self._child.wait()
        self._child = None
        return code

    def _work(self) -> None:
        plan = json.loads((self._folder / PLAN_FILE).read_text(encoding="utf-8"))
        for path, text in plan["files"].items():
            write_private(Path(path), text)
        for number, arguments in enumerate(plan["commands"]):
            if result_file(self._folder, number).exists():
                continue
            (self._folder / PROGRESS_FILE).unlink(missing_ok=True)
            _say(self._folder, "running", command=number, pid=os.getpid())
            if (self._folder / CANCEL_FILE).exists():  # left before this process could be told
                self._stopped = True
            message = self._one(number, arguments)
            last = number + 1 == len(plan["commands"])
            if self._stopped and not (last and message is None):  # whose last command ended well is done
                _say(self._folder, "canceled", command=number)
                return
            if message is not None:
                _say(self._folder, "failed", command=number, message=message)
                return
        _say(self._folder, "done")

    def _one(self, number: int, arguments: list[str]) -> str | None:
        """Its error message, or None with a result."""
        printed, complained = (self._folder / f"{number}.{name}" for name in ("partial", "messages"))
        with printed.open("wb") as out, complained.open("wb") as err:
            code = 1 if self._stopped else self.run_command(number, arguments, out, err)
        if code in _RESULT_CODES and printed.stat().st_size:
            printed.replace(result_file(self._folder, number))
            return None
        lines = complained.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return (
            lines[-1].removeprefix("shoal: ") if lines else f"the command ended with code {code} and no word"
        )


if __name__ == "__main__":
    worker = Worker(Path(sys.argv[1]))
    signal.signal(signal.SIGTERM, worker.stop)
    worker.run()
