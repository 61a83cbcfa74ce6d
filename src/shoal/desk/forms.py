"""What a form may say: its fields as text, within limits, and refusals that name a sentence."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, parse_qsl, urlsplit

from shoal.errors import ShoalError
from shoal.io.named_files import STANDARD_INPUT, files
from shoal.io.servers import is_address

Value = TypeVar("Value")

MOST_BYTES: Final = 65_536
_MOST_FIELDS: Final = 400
_LONGEST: Final = 4_000


class RefusedError(Exception):
    """What somebody entered cannot be used.

    key: of the sentence that says why; beside: sentences that stand at fields, by their names; values: what
    is filled into the sentence.
    """

    def __init__(self, key: str, *, beside: Mapping[str, str] | None = None, **values: Any) -> None:
        super().__init__(key)
        self.key, self.beside, self.values = key, beside or {}, values


class Form:
    """The fields of one form.

    Parameters
    ----------
    fields
        Texts by name.
    """

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        self._fields = fields

    @classmethod
    def of(cls, body: bytes) -> "Form":
        """A body as browsers send it; raises RefusedError for one that no form of the desk sends."""
        try:
            fields = parse_qs(
                body.decode("utf-8"),
                keep_blank_values=True,
                strict_parsing=bool(body),
                max_num_fields=_MOST_FIELDS,
                errors="strict",
            )
        except (UnicodeDecodeError, ValueError) as error:
            raise RefusedError("error.form") from error
        if any(len(text) > _LONGEST for texts in fields.values() for text in texts):
            raise RefusedError("error.long", most=_LONGEST)
        return cls(fields)

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def one(self, name: str) -> str:
        """A field without blanks around it; empty when it is not there."""
        text = self._fields.get(name, [""])[-1].strip()
        if any(ord(char) < 32 and char not in "\r\n\t" for char in text):
            raise RefusedError("error.signs")
        return text.replace("\r\n", "\n")

    def shown(self, name: str) -> str:
        """The same for the page that is shown again, whatever it holds."""
        return "".join(char for char in self._fields.get(name, [""])[-1].strip() if char.isprintable())

    def many(self, name: str) -> tuple[str, ...]:
        """Every value of a field that may be there several times, without those that are empty."""
        return tuple(text.strip() for text in self._fields.get(name, []) if text.strip())

    def number(self, name: str, least: int, most: int) -> int:
        """A whole number within bounds; raises RefusedError for anything else."""
        return whole(self.one(name), least, most)


def whole(text: str, least: int, most: int) -> int:
    """The whole number that a text is; raises RefusedError for another one."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and least <= int(text) <= most):
        raise RefusedError("error.number", text=text, least=least, most=most)
    return int(text)


def accepted(read: Callable[[], Value]) -> Value:
    """What a function of shoal makes of an entry; its complaint becomes a refusal."""
    try:
        return read()
    except ShoalError as error:
        raise RefusedError("error.said", message=str(error)) from error


def checked_source(text: str) -> str:
    """The data that somebody named: a path that exists, made absolute, or the address of a database.

    Raises RefusedError for anything else, and for an address that holds a password.
    """
    if not text:
        raise RefusedError("error.no_source")
    if "\n" in text or "\0" in text:
        raise RefusedError("error.signs")
    if is_address(text):
        try:
            address = urlsplit(text.split(maxsplit=1)[0])
            named = [name for name, _ in parse_qsl(address.query, keep_blank_values=True)]
            secret = address.password is not None or any("password" in name.lower() for name in named)
        except ValueError as error:
            raise RefusedError("error.address") from error
        if secret:
            raise RefusedError("error.password")
        if len(text.split()) < 2:
            raise RefusedError("error.no_query")
        return text
    if "://" in text:
        raise RefusedError("error.address")
    if text == STANDARD_INPUT:
        raise RefusedError("error.standard_input")
    path = absolute(text)
    try:
        found = accepted(lambda: next(iter(files(path)), None))
        if found is not None:
            with found.open("rb"):
                pass
    except OSError as error:
        raise RefusedError("error.unreadable", path=text, why=error.strerror or "") from error
    return str(path)


def absolute(text: str) -> Path:
    """A path as people write it, from the home folder on."""
    try:
        path = Path(text).expanduser()
        return path if path.is_absolute() else Path.home() / path
    except RuntimeError as error:  # ~somebody who is not there
        raise RefusedError("error.no_home", path=text) from error


def new_path(text: str, key: str) -> Path:
    """Where something new shall be written; raises RefusedError for a place that cannot be used."""
    if not text or "\n" in text or "\0" in text:
        raise RefusedError(key)
    path = absolute(text)
    try:
        taken = path.exists() or path.is_symlink()
        parent = next(one for one in path.parents if one.exists())
    except OSError as error:
        raise RefusedError("error.unwritable", path=text, why=error.strerror or "") from error
    if taken:
        raise RefusedError("error.taken", path=path)
    if not parent.is_dir():
        raise RefusedError("error.not_a_folder", path=parent)
    return path
