"""Long work: started once, watched, canceled, continued.

A job is identified by its commands and the state of their file: a result belongs to its choices.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from shoal.errors import InputError, OutputError, ShoalError
from shoal.io.sources.named_files import states
from shoal.messages import read_messages, restore_messages
from shoal.runtime.staging import write_private
from shoal.runtime.timings import ProgressReport, read_progress
from shoal.version import __version__
from shoal_desk.commands import Plan
from shoal_desk.work import (
    CANCEL_FILE,
    LOCK_FILE,
    PLAN_FILE,
    PROGRESS_FILE,
    STATUS_FILE,
    hold_lock,
    messages_file,
    recover_result,
    result_file,
)

State = Literal["absent", "starting", "running", "done", "failed", "canceled", "interrupted"]
JOBS_FOLDER: Final = "jobs"
_DIGITS: Final = 16
_START_S: Final = 30.0  # that a process may take to begin


def start_process(folder: Path) -> None:
    """Start a command in a process that outlives this one."""
    process = subprocess.Popen(  # noqa: S603  (this very Python and a folder of our own)
        [sys.executable, "-m", "shoal_desk.work", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=process.wait, daemon=True).start()  # so that no dead process is left


class Jobs:
    """A case's jobs. launch: starts a job's process."""

    def __init__(self, folder: Path, launch: Callable[[Path], None] = start_process) -> None:
        self._folder = folder / JOBS_FOLDER
        self._launch = launch
        self._lock = threading.Lock()

    def place(self, kind: str, source: str, identity: object) -> Path:
        """The same for the same work on the same file."""
        marks = json.dumps([identity, _state_of(source), __version__], sort_keys=True, default=str)
        return self._folder / f"{kind}-{hashlib.sha256(marks.encode()).hexdigest()[:_DIGITS]}"

    def at(self, place: Path, plan: Plan) -> "Job":
        """A folder's job."""
        return Job(place, plan, self._launch, self._lock)


@dataclass(frozen=True)
class Job:
    """A long task, by its files."""

    folder: Path
    plan: Plan
    launch: Callable[[Path], None]
    lock: threading.Lock

    @property
    def state(self) -> State:
        """The state of the job."""
        alive, status = self._alive(), self._status()  # in this order: who has ended has said so before
        if status is None:
            return "absent"
        state: State = status["state"]
        if state == "starting":
            fresh = abs(time.time() - status["at"]) < _START_S  # a clock may be set back, too
            return "running" if alive else state if fresh else "interrupted"
        return "interrupted" if state == "running" and not alive else state

    @property
    def busy(self) -> bool:
        """Whether it is running or about to."""
        return self.state in ("starting", "running")

    @property
    def message(self) -> str:
        """A command's error."""
        return str((self._status() or {}).get("message", ""))

    @property
    def command(self) -> int:
        """Of the current or last command."""
        return int((self._status() or {}).get("command", 0))

    @property
    def progress(self) -> ProgressReport | None:
        """Of the current command."""
        return read_progress(self.folder / PROGRESS_FILE)

    def result(self, number: int = 0) -> Any:
        """A command's output; None before its end."""
        file = result_file(self.folder, number)
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            return restore_messages(document, read_messages(messages_file(self.folder, number)))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise InputError(
                f"{file} was changed; remove the folder {self.folder} and do that step again"
            ) from error

    def start(self) -> None:
        """Start or continue."""
        with self.lock:
            if self.state in ("starting", "running", "done"):
                return
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            plan = {
                "commands": [command.arguments() for command in self.plan.commands],
                "files": {str(path): text for path, text in self.plan.files.items()},
            }
            (self.folder / CANCEL_FILE).unlink(missing_ok=True)
            write_private(self.folder / PLAN_FILE, json.dumps(plan))
            write_private(self.folder / STATUS_FILE, json.dumps({"state": "starting", "at": time.time()}))
            try:
                self.launch(self.folder)
            except OSError as error:
                (self.folder / STATUS_FILE).unlink()
                raise OutputError(
                    f"no process can be started ({error.strerror}): end other programs, and try once more"
                ) from error

    def cancel(self) -> None:
        """End it; finished commands keep results, and ``start`` continues."""
        if not self.busy:
            return
        write_private(self.folder / CANCEL_FILE, "")  # first: a process on its way looks once it can be told
        status = self._status()
        if status is not None and "pid" in status:
            try:
                os.kill(int(status["pid"]), signal.SIGTERM)
            except ProcessLookupError:  # the worker is gone, and its command still holds the lock
                with suppress(ProcessLookupError):
                    os.killpg(int(status["pid"]), signal.SIGTERM)

    def _status(self) -> dict[str, Any] | None:
        with suppress(FileNotFoundError):
            status: dict[str, Any] = json.loads((self.folder / STATUS_FILE).read_text(encoding="utf-8"))
            return status
        return None

    def _alive(self) -> bool:
        if not (self.folder / LOCK_FILE).exists():
            return False
        with hold_lock(self.folder / LOCK_FILE) as free:
            if free is not None:
                recover_result(self.folder)
            return free is None


def _state_of(source: str) -> list[tuple[str, int, int]] | None:
    """Size and time; None without files."""
    try:
        return [(str(state.path), state.size, state.changed_ns) for state in states(source)]
    except (ShoalError, OSError, ValueError):
        return None
