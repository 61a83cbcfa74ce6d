"""A publisher's statement on a release, from a TOML file."""

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from shoal.errors import InputError, MisuseError
from shoal.runtime.argument_types import typed
from shoal.runtime.files import read_settings

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]


class EarlierRelease(BaseModel):
    """An earlier release of the same people. overlap: in the publisher's words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text
    published_on: date | None = None
    overlap: Text | None = None


class Statement(BaseModel):
    """All entries are optional.

    unit: what one id stands for. earlier_releases: None = not stated, empty = none are known.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_set: Text | None = None
    version: Text | None = None
    publisher: Text | None = None
    purpose: Text | None = None
    recipients: Text | None = None
    conditions: Text | None = None
    data_source: Text | None = None
    unit: Text | None = None
    adversary: Text | None = None
    earlier_releases: tuple[EarlierRelease, ...] | None = None
    reassess_on: date | None = None
    contact: Text | None = None

    def __init__(self, **entries: Any) -> None:
        try:
            super().__init__(**entries)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            unknown = first["type"] == "extra_forbidden"
            hint = f"; known: {', '.join(type(self).model_fields)}" if unknown else ""
            raise MisuseError(f"{where}: {first['msg']}{hint}") from error

    def to_json(self) -> dict[str, Any]:
        """The stated entries, dates as text."""
        return self.model_dump(mode="json", exclude_none=True)


NOTHING_STATED: Final = Statement()


@typed
def read_statement(path: Path | str) -> Statement:
    """Read a statement from a TOML file."""
    entries = read_settings(path)
    try:
        return Statement(**entries)
    except MisuseError as error:
        raise InputError(f"{path}: {error.cli_message}") from error
