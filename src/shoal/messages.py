"""Sentences for people: English text with an identifier, so that a page can show them in another language."""

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

ENVIRONMENT: Final = "SHOAL_MESSAGES_FILE"


class Message(str):
    """An English sentence, equal to its text, with its identifier and the texts that were filled in.

    A message without an identifier is a text of several sentences, which are its values.
    """

    identifier: str
    values: Mapping[str, str]

    def __new__(cls, text: str, identifier: str = "", values: Mapping[str, str] | None = None) -> "Message":
        """Give a text an identifier."""
        message = super().__new__(cls, text)
        message.identifier, message.values = identifier, values or {}
        return message

    def __getnewargs__(self) -> tuple[str, str, Mapping[str, str]]:  # type: ignore[override]  # to copy all
        return str(self), self.identifier, self.values


def say(identifier: str, text: str, **values: object) -> Message:
    """Fill values into an English sentence, which files of translations have under its identifier.

    Values are numbers and texts as they are shown, or messages, which are translated with the sentence.

    >>> from shoal.messages import say
    >>> say("rows.dropped", "{rows} rows dropped", rows=3)
    '3 rows dropped'
    """
    texts = {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
    return Message(text.format(**texts), identifier, texts)


def say_number(identifier: str, number: int, one: str, more: str, **values: object) -> Message:
    """``say`` with {number}: ``one`` for 1, with an identifier that ends in ``_one``, otherwise ``more``."""
    if number == 1:
        return say(f"{identifier}_one", one, number=1, **values)
    return say(identifier, more, number=f"{number:,}", **values)


def join(*sentences: str) -> Message:
    """Several sentences with a space between them; empty ones are left out."""
    parts = [sentence for sentence in sentences if sentence]
    return Message(" ".join(parts), values={str(number): part for number, part in enumerate(parts)})


def name_text(identifier: str, text: str) -> Message:
    """The text of a row, with an identifier from the names of row and field; a message stays as it is."""
    return text if isinstance(text, Message) else Message(text, identifier)


def restore_messages(document: Any, messages: Iterable[Message]) -> Any:
    """The document with these messages in place of equal texts, as after JSON, which keeps text alone."""
    by_text = {str(message): message for message in messages}

    def restore(entry: Any) -> Any:
        if isinstance(entry, str):
            return by_text.get(entry, entry)
        if isinstance(entry, Mapping):
            return {restore(key): restore(value) for key, value in entry.items()}
        return [restore(value) for value in entry] if isinstance(entry, list | tuple) else entry

    return restore(document)


def write_requested_messages(document: Any) -> None:
    """Write all messages of a document to the file that the environment names, if it does."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        path = Path(named)
        partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
        with suppress(OSError):  # without them, the document is shown in English
            partial.write_text(json.dumps([_to_json(message) for message in messages_in(document)]), "utf-8")
            partial.replace(path)


def program() -> str:
    """The command line's name, as typed in a shell: ``./dev shoal`` where that script started it."""
    dev = os.environ.get("SHOAL_STARTED_BY")  # its reader has no shoal on the path
    return "shoal" if dev is None else f"{shlex.quote(dev)} shoal"


def read_messages(path: Path) -> list[Message]:
    """The messages of ``write_requested_messages``; none without a file, ValueError for another file."""
    try:
        return [_from_json(fields) for fields in json.loads(path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []


def messages_in(document: Any) -> Iterator[Message]:
    """All messages in nested dicts and sequences, keys included."""
    if isinstance(document, Message):
        yield document
    elif isinstance(document, Mapping):
        yield from messages_in([*document, *document.values()])
    elif isinstance(document, list | tuple):
        for entry in document:
            yield from messages_in(entry)


def _to_json(text: str) -> Any:
    if not isinstance(text, Message):
        return text
    return [text, text.identifier, {name: _to_json(value) for name, value in text.values.items()}]


def _from_json(entry: Any) -> Any:
    if isinstance(entry, str):
        return entry
    text, identifier, values = entry
    return Message(text, identifier, {name: _from_json(value) for name, value in values.items()})
