"""The choices of a case, in its folder, for its owner alone.

Each form names the version that it was filled in from; an outdated one is refused.
"""

import json
import threading
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from shoal.errors import InputError
from shoal.runtime.staging import explain_write_errors, write_private

CHOICES_FILE: Final = "choices.json"
Unit = Literal["", "person", "device", "vehicle", "other"]


class Choices(BaseModel):
    """All choices so far; empty means not chosen.

    reading, streets, settings: options of the command line by name, as typed: for reading the data, for the
    street graph, and for the parameters of the method that differ from their defaults. recipients: the
    knowledge of each one's adversaries. uses: what the data is for, by names of USES. sample: most people of
    the study.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int = 0
    language: str = ""
    source: str = ""
    reading: dict[str, str] = {}
    streets: dict[str, str] = {}
    confirmed: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    unit: Unit = ""
    person: str = ""
    per_day: bool = False
    purpose: str = ""
    recipients_words: str = ""
    recipients: dict[str, tuple[str, ...]] = {}
    methods: tuple[str, ...] = ("glove", "static", "kte-hide")
    ks: tuple[int, ...] = (2, 5, 11)
    sample: int = 200
    tries: int = 200
    method: str = ""
    k: int = 0
    settings: dict[str, str] = {}
    output: str = ""
    linkage: str = ""
    private_report: str = ""
    shown_class: str = ""
    statement: dict[str, str] = {}
    record: str = ""

    @property
    def knowledge(self) -> tuple[str, ...]:
        """Of all recipients' adversaries, without duplicates."""
        return tuple(dict.fromkeys(text for texts in self.recipients.values() for text in texts))


class OvertakenError(Exception):
    """Another window changed the case meanwhile."""


class Case:
    """The choices in a folder, made when absent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / CHOICES_FILE
        self._lock = threading.Lock()
        with explain_write_errors(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def choices(self) -> Choices:
        """The choices so far; raises InputError for a damaged file."""
        try:
            return Choices.model_validate_json(self._file.read_bytes())
        except FileNotFoundError:
            if not self.folder.is_dir():
                raise InputError(
                    f"the folder of this case is gone: put {self.folder} back, or end the desk and start "
                    "it again"
                ) from None
            return Choices()
        except OSError as error:
            raise InputError(
                f"cannot read {self._file}: {error.strerror}; allow yourself to read it"
            ) from error
        except ValidationError as error:
            raise InputError(
                f"{self._file} does not hold the choices of a desk; name another --folder, or remove "
                "that file"
            ) from error

    def change(self, seen: int, **changes: Any) -> Choices:
        """Change the version ``seen``; OvertakenError on conflict."""
        with self._lock:
            before = self.choices()
            updated = Choices.model_validate(before.model_dump() | changes)
            if updated == before:  # also when the same form comes twice, as of a double click
                return before
            if before.version != seen:
                raise OvertakenError
            after = updated.model_copy(update={"version": before.version + 1})
            write_private(self._file, json.dumps(after.model_dump(mode="json"), indent=2) + "\n")
            return after
