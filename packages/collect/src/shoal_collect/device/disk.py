"""A device's state on disk: whole or not at all, before anything is sent.

It is JSON with shared references. Reading runs no code: objects are made without constructors, and only of
the protocol's classes in this package.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import gmpy2
from filelock import lock_descriptor
from pydantic import BaseModel

from shoal.errors import InputError, OutputError
from shoal.runtime.staging import write_private
from shoal.version import __version__
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.matching.cylinders import COLUMNS, Cylinder
from shoal_collect.roles.participant_round import Device, Ending, ParticipantRound

_PACKAGE: Final = "shoal_collect."
_PARTS: Final = ("crypto.", "matching.", "mix.", "roles.")
_MPZ: Final = type(gmpy2.mpz())


class NotAStateError(InputError):
    """No state of this version's classes."""


def encode(value: Any) -> Any:
    """Values and objects to JSON; TypeError for others (a caller's bug)."""
    return _Writer().write(value)


def decode(document: Any) -> Any:
    """Reverse ``encode``."""
    try:
        return _Reader().read(document)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise NotAStateError(f"no state of a device ({type(error).__name__})") from error


class _Writer:
    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._held: list[Any] = []  # so that no number of an object is given to another one

    def write(self, value: Any) -> Any:  # noqa: PLR0911  (one for each kind of value)
        if value is None or isinstance(value, bool | float) or type(value) in (int, str):
            return value
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if isinstance(value, _MPZ):
            return {"mpz": format(int(value), "x")}
        if isinstance(value, Enum):
            return {"enum": _name_of(type(value)), "of": value.name}
        if type(value) in (tuple, frozenset):
            return {type(value).__name__: [self.write(item) for item in value]}
        if isinstance(value, BaseModel):
            return {"model": _name_of(type(value)), "fields": value.model_dump(mode="json")}
        if id(value) in self._seen:
            return {"same": self._seen[id(value)]}
        self._seen[id(value)] = number = len(self._held)
        self._held.append(value)
        if type(value) in (list, set):
            return {type(value).__name__: [self.write(item) for item in value], "number": number}
        if type(value) is dict:
            pairs = [[self.write(key), self.write(item)] for key, item in value.items()]
            return {"dict": pairs, "number": number}
        fields = {name: self.write(item) for name, item in vars(value).items()}
        return {"object": _name_of(type(value)), "fields": fields, "number": number}


class _Reader:
    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}

    def read(self, document: Any) -> Any:
        if document is None or isinstance(document, bool | int | float | str):
            return document
        (kind, content), *_ = document.items()
        return self._kinds[kind](content, document)

    @property
    def _kinds(self) -> Mapping[str, Callable[[Any, Any], Any]]:
        return {
            "bytes": lambda content, _: bytes.fromhex(content),
            "mpz": lambda content, _: gmpy2.mpz(int(content, 16)),
            "enum": lambda content, document: _class_of(content, Enum)[document["of"]],
            "tuple": lambda content, _: tuple(map(self.read, content)),
            "frozenset": lambda content, _: frozenset(map(self.read, content)),
            "model": lambda content, document: _class_of(content, BaseModel).model_validate(
                document["fields"]
            ),
            "same": lambda content, _: self._objects[content],
            "list": lambda content, document: self._fill([], list.extend, map(self.read, content), document),
            "set": lambda content, document: self._fill(set(), set.update, map(self.read, content), document),
            "dict": lambda content, document: self._fill(
                {}, dict.update, ((self.read(key), self.read(item)) for key, item in content), document
            ),
            "object": self._object,
        }

    def _fill(self, empty: Any, add: Callable[[Any, Any], None], items: Any, document: Any) -> Any:
        """Known by its number before its items, which may refer to it."""
        self._objects[document["number"]] = empty
        add(empty, items)
        return empty

    def _object(self, content: Any, document: Any) -> Any:
        kind = _class_of(content, object)
        instance = kind.__new__(kind)
        self._objects[document["number"]] = instance
        for name, item in document["fields"].items():
            if hasattr(kind, name) and callable(getattr(kind, name)):
                raise NotAStateError("no state of a device (a field in the place of a method)")
            vars(instance)[str(name)] = self.read(item)
        return instance


def _name_of(kind: type) -> str:
    if not kind.__module__.startswith(_PACKAGE):
        raise TypeError(f"{kind.__module__}.{kind.__qualname__} is nothing that a device keeps")
    return f"{kind.__module__.removeprefix(_PACKAGE)}:{kind.__qualname__}"


def _class_of(name: str, base: Any) -> Any:
    module, _, class_name = name.partition(":")
    if not module.startswith(_PARTS) or not module.replace(".", "").replace("_", "").isalnum():
        raise NotAStateError("no state of a device (a class of another package)")
    try:
        kind = getattr(import_module(_PACKAGE + module), class_name)
    except (ImportError, AttributeError) as error:
        raise NotAStateError("a state of another version of shoal (a class that this one lacks)") from error
    if not isinstance(kind, type) or kind.__module__ != _PACKAGE + module or not issubclass(kind, base):
        raise NotAStateError("no state of a device (not a class of the protocol)")
    return kind


STATE_FILE: Final = "state.json"
_FORMAT: Final = "shoal device state"
_VERSION: Final = 4  # grows when what lasts between rounds changes so that an older shoal would misread it


@dataclass
class DeviceState:
    """A device, its current round, and how many it has ended."""

    device: Device
    own_round: ParticipantRound | None = None
    rounds: int = 0


def state_text(state: DeviceState) -> bytes:
    """As JSON; data that outlast a round are apart."""
    lasting = encode({"device": vars(state.device), "rounds": state.rounds})
    # the round shares objects with the device, so that both are written together
    under_way = None if state.own_round is None else encode([state.device, state.own_round])
    document = {
        "format": _FORMAT,
        "version": _VERSION,
        "shoal_version": __version__,
        "lasting": lasting,
        "round": under_way,
    }
    # without an indent, which only the slow encoder knows: a device writes its state at each step
    return json.dumps(document).encode()


def read_state(content: bytes, where: str) -> DeviceState:
    """Parse the output of ``state_text``; InputError for other bytes, and for another version of shoal."""
    damaged = InputError(f"{where} is damaged or no state of a device; restore it")
    try:
        document = json.loads(content)
        is_current = document["format"] == _FORMAT
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged from error
    if not is_current:
        raise damaged
    if document.get("version") != _VERSION:
        raise InputError(f"{where} was written by another version of shoal; use that one")
    try:
        lasting = decode(document["lasting"])
        state = DeviceState(Device(**lasting["device"]), None, lasting["rounds"])
    except (NotAStateError, KeyError, TypeError) as error:
        raise damaged from error
    if document["round"] is not None:
        try:
            state.device, state.own_round = decode(document["round"])
        except (NotAStateError, TypeError, ValueError) as error:
            raise InputError(
                f"the round under way in {where} was begun by shoal {document.get('shoal_version')}, and "
                'this one cannot go on with it; finish it with that version, or give it up: set "round" in '
                "that file to null"
            ) from error
        if not isinstance(state.device, Device) or not isinstance(state.own_round, ParticipantRound):
            raise damaged
    return state


Sent = Sequence[tuple[tuple[Cylinder, ...], int]]
_PAST_VERSION: Final = 1


def folder_of_account() -> Path:
    """The folder shared by all states: XDG_STATE_HOME, by default ~/.local/state."""
    variable = os.environ.get("XDG_STATE_HOME", "")
    base = Path(variable) if variable.startswith("/") else Path.home() / ".local" / "state"
    return base / "shoal" / "collect"


class Past:
    """The releases of all states of an account: her past must not count as her crowd.

    Another state has other tags, and would count the first one's releases as another person's. So a file
    outside all states holds them, private to the account, one per collector and user name; people who share
    an account need different names.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, device: Device) -> None:
        """Record releases before they are sent."""
        if not device.sent:
            return
        sent_by_state, name = self._read(device), _name_of_state(device)
        every = list(dict.fromkeys([*sent_by_state.get(name, []), *device.sent]))
        if every == sent_by_state.get(name):
            return
        document = {"shoal past": _PAST_VERSION, "states": encode({**sent_by_state, name: every})}
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._file(device), json.dumps(document))

    def of(self, device: Device) -> tuple[Sent, Sent]:
        """The releases of this state, and of the others."""
        sent_by_state, name = self._read(device), _name_of_state(device)
        others = [release for state, sent in sent_by_state.items() if state != name for release in sent]
        return sent_by_state.get(name, []), others

    def _file(self, device: Device) -> Path:
        person = hash_of(b"", device.user.encode(), size=16, key=device.server_key)
        return self._folder / f"{person.hex()}.json"

    def _read(self, device: Device) -> dict[str, list[Any]]:
        file = self._file(device)
        try:
            document = json.loads(file.read_bytes())
            if document["shoal past"] != _PAST_VERSION:
                raise InputError(f"{file} was written by another version of shoal; use that one")
            return dict(decode(document["states"]))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, NotAStateError) as error:
            raise InputError(
                f"{file} cannot be read, and without it what you released before could count as your crowd; "
                "restore it"
            ) from error


def _name_of_state(device: Device) -> str:
    """The same for every copy of a state; reveals nothing of the key."""
    return hash_of(b"", b"state", size=16, key=device.device_key).hex()


class StateFolder:
    """``state.json``, and the outcome of each round.

    ``folder``: made when absent; ``past``: releases of all states of the account, None to record none.
    """

    def __init__(self, folder: Path, past: Past | None = None) -> None:
        self.past = past
        self.folder, self._file = folder, folder / STATE_FILE
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"the folder {folder} cannot be made ({error.strerror}); name another with --state"
            ) from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Exclude other processes, or InputError."""
        try:
            stream = (self.folder / "lock").open("w")
        except OSError as error:
            raise OutputError(f"{self.folder} cannot be used ({error.strerror}); mend it") from error
        with stream as lock:
            try:
                is_free = lock_descriptor(lock.fileno(), blocking=False)
            except OSError:  # a file system without locks
                is_free = False
            if not is_free:
                raise InputError(f"another process works with {self.folder}; let it end")
            yield

    def load(self) -> DeviceState | None:
        """The state, None for a new device."""
        try:
            content = self._file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{self._file} cannot be read ({error.strerror}); restore it") from error
        return read_state(content, str(self._file))

    def save(self, state: DeviceState) -> None:
        """Replace the state."""
        if self.past is not None:
            self.past.keep(state.device)
        self._write(self._file, state_text(state))

    def write_ending(self, state: DeviceState, ending: Ending) -> Path:
        """Write the outcome of a round; return the file."""
        file = self.folder / f"round-{state.rounds + 1}.json"
        document = document_of(ending)
        self._write(file, json.dumps(document, indent=2).encode())
        return file

    def _write(self, file: Path, content: bytes) -> None:
        new = file.with_suffix(".new")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            new.replace(file)
            folder = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise OutputError(
                f"{file} cannot be written ({error.strerror}); make room, and run the same command again"
            ) from error


def document_of(ending: Ending) -> dict[str, Any]:
    """The outcome as JSON, with each checked part's count."""
    return {
        "ending": ending.kind,
        "message": ending.message,
        "identifier": ending.identifier,
        "k": ending.k,
        "snapshot_day": ending.snapshot_day,
        "checked": [
            {"places": list(places), "people": phi} for places, phi in sorted(ending.checked.items())
        ],
        "kept": list(ending.places_kept),
        "released": {"columns": COLUMNS, "points": [point.row for point in ending.released]},
    }
