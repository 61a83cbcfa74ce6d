"""One participant on the app's pages: file, trip, blur, round, releases.

Uploaded files are in a private folder only while they are read.
"""

import hashlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import InputError, MisuseError, ShoalError, to_python_names
from shoal.io import read
from shoal.io.formats.table import ARCHIVE, FORMATS
from shoal.model.trajectories import Trajectories
from shoal.runtime.files import read_settings
from shoal_collect.device import participation
from shoal_collect.device.disk import DeviceState, StateFolder
from shoal_collect.device.http_client import Connection, RemoteServer, connect
from shoal_collect.device.participation import Withdrawal
from shoal_collect.device.profile import profile_of
from shoal_collect.device.proposal import Movement, Plan, movement_of, prepare, trips_of
from shoal_collect.matching.cylinders import Cylinder, Point
from shoal_collect.roles.days import StoredRelease
from shoal_collect.roles.participant_round import Ending
from shoal_collect.roles.wire import Call, Reply

MOST_BYTES: Final = 64 << 20
_MOST_FILES: Final = 500
_LONGEST: Final = 60
_READING: Final = "reading-"
_OTHERS: Final = re.compile(r"[^\w-]+")


def files_in(content_type: str, body: bytes) -> list[tuple[str, bytes]]:
    """A form's files with names."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    if message.get_content_type() != "multipart/form-data" or not message.is_multipart():
        raise InputError("this form brings no file; choose one")
    files = []
    for part in message.iter_parts():
        name = part.get_filename()
        content = part.get_payload(decode=True)
        if name and isinstance(content, bytes) and content:
            files.append((name, content))
    if not files:
        raise InputError("choose a file that holds something")
    if len(files) > _MOST_FILES:
        raise InputError(f"{len(files)} files at once; {_MOST_FILES} at most, or a .zip of them")
    return files


def ending_of(name: str) -> str:
    """The ending, of a known format."""
    small = name.lower()
    ending = max((suffix for suffix in (*FORMATS, ARCHIVE) if small.endswith(suffix)), key=len, default=None)
    if ending is None:
        raise InputError(
            "a file of a kind that shoal does not read; take GPX, GeoLife (.plt), Google Timeline (.json) or "
            "OwnTracks (.rec)"
        )
    return ending


def _stem(name: str, ending: str) -> str:
    """Only letters and digits: it may name a person."""
    return _OTHERS.sub("_", name[: -len(ending)])[-_LONGEST:].lstrip("_") or "file"


def clear_away(folder: Path) -> None:
    """Delete raw points of a killed app."""
    for remnant in folder.glob(f"{_READING}*"):
        shutil.rmtree(remnant, ignore_errors=True)


@contextmanager
def on_disk(files: list[tuple[str, bytes]], folder: Path) -> Iterator[Path]:
    """Yield one file, or a folder with all; deleted at the end."""
    endings = [ending_of(name) for name, _ in files]
    with tempfile.TemporaryDirectory(prefix=_READING, dir=folder) as place:
        paths = []
        for ending, (name, content) in zip(endings, files, strict=True):
            path = Path(place) / f"{_stem(name, ending)}{ending}"
            while path in paths:
                path = path.with_name(f"again-{path.name}")
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(content)
            paths.append(path)
        yield paths[0] if len(paths) == 1 else Path(place)


MAX_GAP_S: Final = 1800.0
_MOST_TRIPS: Final = 200
_OPTION: Final = re.compile(r" \((?:--|in the profile)[^)]*\)|\(bounds\.\w+\)")
_ON_PAGES: Final = {
    "run the same command again": "go on with the round",
    " with --invitation": "",
    " of --server and --authority": "",
    "name the certificates to trust with --ca": "end the app and start it with the option ca and a file of "
    "certificates to trust",
}
DEFAULTS: Final[Mapping[str, Any]] = {"k": 2, "blur": {"radius": "500m", "gap": "30min"}}


class _LeaveError(Exception):
    """Raised before the next request is sent."""


class _LeavableServer(RemoteServer):
    wish: threading.Event

    def send(self, call: Call, *args: Any, **kwargs: Any) -> Reply:
        if self.wish.is_set():
            raise _LeaveError
        return super().send(call, *args, **kwargs)


@dataclass(frozen=True)
class Trip:
    """A trip; number: from the newest, from 1."""

    number: int
    first: str
    last: str
    points: int


@dataclass(frozen=True)
class Addresses:
    """The servers' addresses and settings."""

    server: str
    authority: str
    ca: Path | None = None
    poll_s: float = 1.0
    patience_s: float = 1800.0


class Person:
    """One person at one collector; one thing happens at a time.

    ``folder``: her state, locked by the caller; ``profile_file``: her first settings.
    """

    def __init__(
        self, folder: StateFolder, at: Addresses, user: str = "me", profile_file: Path | None = None
    ) -> None:
        self.folder, self.at, self.user = folder, at, user
        self.entries: dict[str, Any] = dict(DEFAULTS if profile_file is None else read_settings(profile_file))
        self._lock = threading.RLock()
        self._data: Trajectories | None = None
        self._trips: list[Trip] | None = None
        self.subject: str | None = None
        self.trip: int | None = None
        self.plan: Plan | None = None
        self._connection: Connection | None = None
        self._thread: threading.Thread | None = None
        self._wish = threading.Event()
        self.said: list[str] = []
        self.ending: Ending | None = None
        self.trouble = ""
        profile_of(self.entries)
        for url in (at.server, at.authority):
            RemoteServer(url, at.ca)  # raises for what is no address

    # her file

    def take_files(self, files: list[tuple[str, bytes]]) -> None:
        """Read uploaded files."""
        with on_disk(files, self.folder.folder) as path:
            self._take(path, "the file")

    def take_path(self, path: Path) -> None:
        """Read a file or folder here."""
        self._take(path, str(path))

    def _take(self, path: Path, name: str) -> None:
        try:
            data = read(str(path), snap=False)
        except ShoalError as error:
            raise InputError(str(error).replace(str(path), name)) from error
        with self._lock:
            self._data, self.subject, self.trip, self.plan = data, None, None, None
            self._trips = None
            if len(data.ids) == 1:
                self.subject = str(next(iter(data.ids)))

    @property
    def people(self) -> list[str]:
        """The people in her file."""
        return [] if self._data is None else [str(name) for name in self._data.ids]

    def choose(self, subject: str) -> None:
        """Choose her name in the file."""
        if subject not in self.people:
            raise InputError("nobody in the file has this name; choose one from the list")
        with self._lock:
            self.subject, self.trip, self.plan, self._trips = subject, None, None, None

    def trips(self) -> list[Trip]:
        """Her trips, the newest first; none before her name."""
        if self._data is None or self.subject is None:
            return []
        if self._trips is None:
            points, trips = trips_of(self._data, self.subject, MAX_GAP_S)
            self._trips = [
                Trip(number, _clock(points[rows[0]]), _clock(points[rows[-1]]), len(rows))
                for number, rows in enumerate(reversed(trips[-_MOST_TRIPS:]), 1)
            ]
        return self._trips

    def pick(self, trip: int) -> None:
        """Choose a trip."""
        self._movement(trip)
        with self._lock:
            self.trip, self.plan = trip, None

    def _movement(self, trip: int) -> Movement:
        if self._data is None or self.subject is None:
            raise InputError("choose a file first")
        return movement_of(self._data, self.subject, trip, MAX_GAP_S)

    # her blur

    def look(self, entries: Mapping[str, Any] | None = None) -> Plan:
        """Blur the trip and prepare the plan; nothing is sent."""
        with self._lock:
            self._require_free()
            if self.trip is None:
                raise InputError("choose a trip first")
            if entries is not None:
                profile_of(entries)
                self.entries = dict(entries)
            connection = self._connect()
            self.plan = None
            self.plan = prepare(connection, self._movement(self.trip), profile_of(self.entries))
            self._connection = connection
            return self.plan

    def seen(self) -> str:
        """A digest of the plan: consent to another is none to this."""
        if self.plan is None:
            return ""
        marks = repr((self.plan.cylinders, self.plan.profile, self.plan.terms, self.plan.special))
        return hashlib.sha256(marks.encode()).hexdigest()

    # the round

    @property
    def running(self) -> bool:
        """Whether a round is under way here."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def phase(self) -> str:
        """The round's phase, if any."""
        own_round = None if self._connection is None else self._connection.state.own_round
        return own_round.phase if own_round is not None else ""

    @property
    def may_leave(self) -> bool:
        """Whether none of her data is on its way."""
        return self.running and self.phase in participation.BEFORE_RELEASE

    def waiting(self) -> bool:
        """Whether a round was begun, is not over, and is not running here."""
        if self.running:
            return False
        state = self.state()
        return state is not None and state.own_round is not None

    def agree(self, seen: str, invitation: str) -> None:
        """Take part on the shown terms; InputError if they changed."""
        with self._lock:
            self._require_free()
            if self.plan is None or self._connection is None or seen != self.seen():
                raise InputError("what would be shared has changed meanwhile; look at it again")
            participation.begin(self._connection, self.plan, os.urandom, invitation or None)
            self.folder.save(self._connection.state)
            self.plan = None
            self._start(self._connection)

    def go_on(self) -> None:
        """Continue a round that was begun before."""
        with self._lock:
            if self.running:
                return
            connection = self._connect()
            if connection.state.own_round is None:
                raise InputError("no round is under way")
            self._connection = connection
            self._start(connection)

    def leave(self) -> None:
        """Leave before anything is released; MisuseError when too late."""
        with self._lock:
            if self.waiting():
                state = self.state()
                if state is not None:
                    self.ending = participation.leave(self.folder, state)
                return
            if not self.may_leave:
                raise MisuseError("it is too late to leave; have the release deleted when it is stored")
            self._wish.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _start(self, connection: Connection) -> None:
        self._wish.clear()
        self.said, self.ending, self.trouble = [], None, ""
        for name, server in connection.servers.items():
            connection.servers[name] = _LeavableServer(server.url, self.at.ca)
            connection.servers[name].wish = self._wish  # type: ignore[attr-defined]  # set where it is made
        self._thread = threading.Thread(target=self._run, args=(connection,), daemon=True)
        self._thread.start()

    def _run(self, connection: Connection) -> None:
        try:
            while self.ending is None:
                with suppress(_LeaveError):
                    self.ending, _ = participation.finish(
                        self.folder, connection, self.said.append, self.at.poll_s, self.at.patience_s
                    )
                    break
                self._wish.clear()
                try:
                    self.ending = participation.leave(self.folder, connection.state)
                except MisuseError as error:  # too late by now: then the round goes on
                    self.said.append(str(error))
        except ShoalError as error:
            self.trouble = plain(error)
        except Exception as error:  # a thread has nobody else to tell
            self.trouble = (
                f"a fault of the app ({type(error).__name__}); nothing is lost, go on with the round"
            )
        finally:
            for server in connection.servers.values():
                server.close()

    # what she has shared

    def state(self) -> DeviceState | None:
        """Her device's state, if any."""
        if self.running and self._connection is not None:
            return self._connection.state
        return self.folder.load()

    def shared(self) -> list[StoredRelease]:
        """Her releases, the newest first."""
        state = self.state()
        return [] if state is None else list(reversed(state.device.owned))

    def fetch(self, identifier: str) -> tuple[int, tuple[Cylinder, ...]]:
        """A stored release: day and circles."""
        state = self._require_state()
        server = RemoteServer(self.at.server, self.at.ca)
        day, points, _ = participation.fetch(server, state.device, identifier)
        return day, points

    def take_back(self, identifier: str) -> Withdrawal:
        """Withdraw a release, and save the receipt."""
        with self._lock:
            self._require_free()
            state = self._require_state()
            back = participation.take_back(RemoteServer(self.at.server, self.at.ca), state.device, identifier)
            self.folder.save(state)
            return back

    def _require_state(self) -> DeviceState:
        state = self.state()
        if state is None:
            raise InputError("nothing was shared from here yet")
        return state

    def _connect(self) -> Connection:
        at = self.at
        connection = connect(self.folder, at.server, at.authority, at.ca, self.user, os.urandom)
        for server in connection.servers.values():
            server.close()
        return connection

    def _require_free(self) -> None:
        if self.running or self.waiting():
            raise InputError("a round is under way; let it end first, or leave it")


def plain(complaint: str | ShoalError) -> str:
    """Without hints for the command line."""
    text = complaint.cli_message if isinstance(complaint, ShoalError) else complaint
    text = _OPTION.sub("", text)
    for command_line, page in _ON_PAGES.items():
        text = text.replace(command_line, page)
    return to_python_names(text)


def _clock(point: Point) -> str:
    return str(np.datetime64(int(point.t_min), "m")).replace("T", " ")
