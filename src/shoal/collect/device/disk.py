"""A device's state on disk: written whole or not at all, before anything is sent, for its owner alone."""

import fcntl
import io
import json
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shoal.collect.roles.consent import date_of
from shoal.collect.roles.participant_round import Device, Ending, ParticipantRound
from shoal.errors import InputError, OutputError

# before the state itself; the number grows whenever the classes in it move or change
_HEADER: Final = b"shoal device state 3\n"
_FIRST_HEADER: Final = b"\x80"  # a bare pickle, as earlier versions wrote it


class OldStateError(InputError):
    """The state of a device was written by an earlier version of shoal, and this one cannot open it."""


@dataclass
class Kept:
    """A device, the round it is in, and how many rounds it has ended."""

    device: Device
    own_round: ParticipantRound | None = None
    rounds: int = 0


class _OwnTypes(pickle.Unpickler):
    """Reads only what this package wrote: its own classes, and integers of gmpy2."""

    def find_class(self, module: str, name: str) -> Any:
        """Find one of these; raise UnpicklingError for anything else."""
        if module == "gmpy2" or module.startswith("gmpy2."):
            return super().find_class("gmpy2", name) if name in ("from_binary", "mpz") else _refuse(module)
        if not module.startswith("shoal.collect.") or "." in name:
            _refuse(module)
        found = super().find_class(module, name)
        if not isinstance(found, type) or found.__module__ != module:
            _refuse(module)
        return found


def _refuse(module: str) -> Any:
    raise pickle.UnpicklingError(f"a class of {module}")


class StateFolder:
    """``state.bin``, and what became of each round.

    Parameters
    ----------
    folder
        Where they lie; made when absent, for its owner alone.

    Raises
    ------
    OutputError
        If the folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._file = folder, folder / "state.bin"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"the folder {folder} cannot be made ({error.strerror}); name another with --state"
            ) from error

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes out; raise InputError while another one uses the folder."""
        try:
            stream = (self.folder / "lock").open("w")
        except OSError as error:
            raise OutputError(
                f"{self.folder} cannot be used ({error.strerror}); mend it, or name another folder with "
                "--state"
            ) from error
        with stream as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError(
                    f"another process works with {self.folder}; let it end, or name another folder with "
                    "--state"
                ) from error
            yield

    def load(self) -> Kept | None:
        """Read what was kept.

        Returns
        -------
        Kept or None
            None for a new device.

        Raises
        ------
        OldStateError
            If an earlier version of shoal wrote it.
        InputError
            If it cannot be read.
        """
        try:
            content = self._file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(
                f"{self._file} cannot be read ({error.strerror}); restore it, or start anew with another "
                "--state"
            ) from error
        if content.startswith(_FIRST_HEADER):
            raise OldStateError(
                f"an earlier version of shoal wrote {self._file}, and this one cannot open it; finish the "
                "round under "
                "way with that version, or take part as a new person with another --state"
            )
        if not content.startswith(_HEADER):
            raise InputError(
                f"{self._file} is damaged or from another version; restore it, or start anew with another "
                "--state"
            )
        try:
            kept = _OwnTypes(io.BytesIO(content.removeprefix(_HEADER))).load()
        except Exception as error:  # damaged bytes make a pickle fail in any way there is
            raise InputError(
                f"{self._file} is damaged or from another version; restore it, or start anew with another "
                "--state"
            ) from error
        if not isinstance(kept, Kept):
            raise InputError(f"{self._file} holds no state of a device; start anew with another --state")
        return kept

    def keep(self, kept: Kept) -> None:
        """Replace what was kept; raises OutputError."""
        self._write(self._file, _HEADER + pickle.dumps(kept))

    def note(self, kept: Kept, ending: Ending) -> Path:
        """Write down for its owner what became of a round, with the count of each checked part.

        Returns
        -------
        Path
            The file.
        """
        file = self.folder / f"round-{kept.rounds + 1}.json"
        points = [[p.start_min, p.gap_min, p.lat_udeg, p.lon_udeg, p.radius_m] for p in ending.released]
        document = {
            "ending": ending.kind,
            "message": ending.message,
            "identifier": ending.identifier,
            "k": ending.k,
            "bootstrap": _bootstrap_of(ending),
            "snapshot_day": ending.snapshot_day,
            "checked": [
                {"places": list(places), "people": phi} for places, phi in sorted(ending.checked.items())
            ],
            "kept": list(ending.kept),
            "released": {
                "columns": ["start_min", "gap_min", "lat_udeg", "lon_udeg", "radius_m"],
                "points": points,
            },
        }
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


def _bootstrap_of(ending: Ending) -> dict[str, Any] | None:
    if ending.bootstrap_until is None:
        return None
    return {"until": date_of(ending.bootstrap_until), "records": ending.bootstrap_records}
