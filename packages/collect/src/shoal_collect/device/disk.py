"""A device's state on disk: whole or not at all, before anything is sent."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from filelock import lock_descriptor

from shoal.errors import InputError, OutputError
from shoal.version import __version__
from shoal_collect.device.json_state import NotAStateError, decode, encode
from shoal_collect.device.past import Past
from shoal_collect.matching.cylinders import COLUMNS
from shoal_collect.roles.participant_round import Device, Ending, ParticipantRound

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
