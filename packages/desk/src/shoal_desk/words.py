"""All sentences of the desk in every language, and translations of the library's sentences.

The files in ``messages/`` hold them. English is the reference: the others have the same keys, and a sentence
has the same values in braces. A sentence of the library has its identifier where it is said; without a
translation it stays English.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from shoal.local_pages.forms import form_messages, messages_of
from shoal.messages import Message

ENGLISH: Final = "en"
LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "de": "Deutsch", "fr": "Français"}

_NUMBER: Final = re.compile(r"([<>] )?[\d,]*\d(\.\d+)?( \S+)?")
_MARKS: Final = {"de": str.maketrans(",.", ".,"), "fr": str.maketrans(",.", "\N{NARROW NO-BREAK SPACE},")}


def number_in(text: str, language: str) -> str:
    """A printed number, with its unit if any, in the notation of a language; other text unchanged."""
    return text.translate(_MARKS.get(language, {})) if _NUMBER.fullmatch(text) else text


class Words:
    """The sentences of one of LANGUAGES."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._sentences = sentences(language)

    def __call__(self, key: str, **values: Any) -> str:
        """The sentence of a key with its values; LookupError for an unknown key."""
        return self._sentences[key].format(**values)

    def number(self, text: str) -> str:
        """A printed number in the notation of this language."""
        return number_in(text, self.language)

    def has(self, key: str) -> bool:
        """Whether there is such a sentence."""
        return key in self._sentences

    def several(self, prefix: str) -> list[str]:
        """All sentences whose keys begin with a prefix, in the order of the file."""
        return [text for key, text in self._sentences.items() if key.startswith(prefix)]


@cache
def sentences(language: str) -> Mapping[str, str]:
    """Every sentence by its key: a table and a name, joined by a dot."""
    return form_messages(language) | messages_of("shoal_desk", language)


def preferred(header: str) -> str:
    """The first supported language of ``Accept-Language``, or English."""
    for part in header.split(","):
        language = part.split(";")[0].strip().lower()[:2]
        if language in LANGUAGES:
            return language
    return "en"


def translate(text: str, language: str) -> str | None:
    """A sentence of the library in a language; None unless it and all sentences in it have a translation."""
    if language == ENGLISH:
        return text
    if not isinstance(text, Message):
        return None
    values = {
        name: translate(value, language) if isinstance(value, Message) else number_in(value, language)
        for name, value in text.values.items()
    }
    parts = [value for value in values.values() if value is not None]
    if len(parts) < len(values):
        return None
    if not text.identifier:
        return " ".join(parts)
    form = translations(language).get(text.identifier)
    return None if form is None else form.format(**values)


@cache
def translations(language: str) -> Mapping[str, str]:
    """The sentences of the library in a language, by identifier."""
    return messages_of("shoal_desk", f"library.{language}")
