"""All states' releases of this account: her past must not count as her crowd.

Another state has other tags, and would count the first one's releases as another person's. So a file
outside all states holds them, private to the account, one per collector and user name; people who share an
account need different names.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from shoal.errors import InputError
from shoal.runtime.staging import staged_file
from shoal_collect.device.json_state import NotAStateError, decode, encode
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.roles.participant_round import Device

Sent = Sequence[tuple[tuple[Cylinder, ...], int]]
_VERSION: Final = 1


def folder_of_account() -> Path:
    """The folder shared by all states: XDG_STATE_HOME, by default ~/.local/state."""
    variable = os.environ.get("XDG_STATE_HOME", "")
    base = Path(variable) if variable.startswith("/") else Path.home() / ".local" / "state"
    return base / "shoal" / "collect"


class Past:
    """The releases of all states, in ``folder_of_account``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, device: Device) -> None:
        """Record releases before they are sent."""
        if not device.sent:
            return
        sent_by_state, name = self._read(device), _name_of(device)
        every = list(dict.fromkeys([*sent_by_state.get(name, []), *device.sent]))
        if every == sent_by_state.get(name):
            return
        document = {"shoal past": _VERSION, "states": encode({**sent_by_state, name: every})}
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with staged_file(self._file(device), lambda file: file.write(json.dumps(document).encode())):
            pass

    def of(self, device: Device) -> tuple[Sent, Sent]:
        """The releases of this state, and of the others."""
        sent_by_state, name = self._read(device), _name_of(device)
        others = [release for state, sent in sent_by_state.items() if state != name for release in sent]
        return sent_by_state.get(name, []), others

    def _file(self, device: Device) -> Path:
        person = hashlib.blake2b(device.user.encode(), digest_size=16, key=device.server_key)
        return self._folder / f"{person.hexdigest()}.json"

    def _read(self, device: Device) -> dict[str, list[Any]]:
        file = self._file(device)
        try:
            document = json.loads(file.read_bytes())
            if document["shoal past"] != _VERSION:
                raise InputError(f"{file} was written by another version of shoal; use that one")
            return dict(decode(document["states"]))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, NotAStateError) as error:
            raise InputError(
                f"{file} cannot be read, and without it what you released before could count as your crowd; "
                "restore it"
            ) from error


def _name_of(device: Device) -> str:
    """The same for every copy of a state; reveals nothing of the key."""
    return hashlib.blake2b(b"state", digest_size=16, key=device.device_key).hexdigest()
