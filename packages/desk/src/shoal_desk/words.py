"""All sentences of the desk in every language, and translations of the library's sentences.

The files in ``messages/`` hold them. English is the reference: the others have the same keys, and a sentence
has the same values in braces. A sentence of the library without a translation stays English.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any, Final

from shoal.local_pages.forms import form_messages, messages_of

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


_BETWEEN = re.compile(r"(?<=[.!?]) (?=[A-Z])")
ENGLISH = "en"
SENTENCES = ("library", "settings", "reading", "attacks", "methods")
_SENTENCE_IN_IT = "said"


def translate(text: str, language: str) -> str | None:
    """A text of one or several sentences in a language; None unless all have a translation."""
    if language == ENGLISH:
        return text
    sentences = [_translate_sentence(sentence, language) for sentence in _BETWEEN.split(text)]
    translations = [sentence for sentence in sentences if sentence is not None]
    return " ".join(translations) if len(translations) == len(sentences) else None


def _translate_sentence(sentence: str, language: str) -> str | None:
    for pattern, form in _forms(language):
        match = pattern.fullmatch(sentence)
        if match is not None:
            values = {name: number_in(value, language) for name, value in match.groupdict().items()}
            inner = (
                _translate_sentence(values[_SENTENCE_IN_IT], language) if _SENTENCE_IN_IT in values else ""
            )
            return None if inner is None else form.format(**(values | {_SENTENCE_IN_IT: inner}))
    return None


@cache
def _forms(language: str) -> Sequence[tuple[re.Pattern[str], str]]:
    """Each English sentence as a pattern, and its form in a language."""
    return [(_pattern(row[ENGLISH]), row[language]) for row in library_sentences() if row.get(language)]


@cache
def library_sentences() -> Sequence[dict[str, str]]:
    """Every sentence of the files, by language."""
    rows: list[dict[str, str]] = []
    for name in SENTENCES:
        text = files("shoal_desk").joinpath("messages", f"{name}.toml").read_text(encoding="utf-8")
        rows += tomllib.loads(text)["said"]
    return rows


def _pattern(english: str) -> re.Pattern[str]:
    parts = [
        re.escape(plain) + ("" if name is None else f"(?P<{name}>[^;]+?)")
        for plain, name, _, _ in Formatter().parse(english)
    ]
    return re.compile("".join(parts))
