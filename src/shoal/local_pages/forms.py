"""Forms: fields within limits, and refusals by key."""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs

from fastapi import Request, Response

from shoal.errors import ShoalError

Value = TypeVar("Value")

MOST_BYTES: Final = 65_536
FORM_TYPE: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 400
_LONGEST: Final = 4_000


class RefusedError(Exception):
    """An entry cannot be used.

    key: of the sentence; field_messages: by field; values: to fill in.
    """

    def __init__(self, key: str, *, field_messages: Mapping[str, str] | None = None, **values: Any) -> None:
        super().__init__(key)
        self.key, self.field_messages, self.values = key, field_messages or {}, values


class Form:
    """The fields of a form."""

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        self._fields = fields

    @classmethod
    def of(cls, body: bytes) -> "Form":
        """Parse a body as browsers send it; raises RefusedError otherwise."""
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
        """A field, stripped; empty when absent."""
        text = self._fields.get(name, [""])[-1].strip()
        if any(ord(char) < 32 and char not in "\r\n\t" for char in text):
            raise RefusedError("error.signs")
        return text.replace("\r\n", "\n")

    def printable(self, name: str) -> str:
        """A field, unchecked, for the page that shows it again."""
        return "".join(char for char in self._fields.get(name, [""])[-1].strip() if char.isprintable())

    def many(self, name: str) -> tuple[str, ...]:
        """Every value except empty ones."""
        return tuple(text.strip() for text in self._fields.get(name, []) if text.strip())

    def number(self, name: str, least: int, most: int) -> int:
        """A whole number within bounds, or RefusedError."""
        return whole_number(self.one(name), least, most)


def whole_number(text: str, least: int, most: int) -> int:
    """A whole number within bounds, or RefusedError."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and least <= int(text) <= most):
        raise RefusedError("error.number", text=text, least=least, most=most)
    return int(text)


def read_entry(read: Callable[[], Value]) -> Value:
    """Call shoal on an entry; its error becomes a refusal."""
    try:
        return read()
    except ShoalError as error:
        raise RefusedError("error.said", message=error.cli_message) from error


def absolute_path(text: str) -> Path:
    """A path; a relative one starts at the home folder."""
    try:
        path = Path(text).expanduser()
        return path if path.is_absolute() else Path.home() / path
    except RuntimeError as error:  # ~somebody who is not there
        raise RefusedError("error.no_home", path=text) from error


async def form_of(request: Request) -> Form:
    """The form; raises RefusedError for files and long bodies."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != FORM_TYPE:
        raise RefusedError("error.upload")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise RefusedError("error.long", most=MOST_BYTES)
    return Form.of(body)


def redirect(request: Request, page: str) -> Response:
    """The answer that leads to another page, with GET."""
    return Response(status_code=303, headers={"location": f"{request.scope['root_path']}/{page}"})


@cache
def form_messages(language: str = "en") -> dict[str, str]:
    """Sentences of refusals, by key."""
    return messages_of("shoal.local_pages", language)


def messages_of(package: str, language: str) -> dict[str, str]:
    """A package's sentences by key: a table and a name, joined by a dot."""
    text = files(package).joinpath("messages", f"{language}.toml").read_text(encoding="utf-8")
    return dict(_flat(tomllib.loads(text), ""))


def _flat(table: Mapping[str, Any], prefix: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in table.items():
        rows += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)]
    return rows
