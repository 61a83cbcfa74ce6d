"""What shoal prints in English, said in the desk's other languages; what nobody translated stays English.

The sentences stand in files of ``messages/`` beside their English, so that the library knows no language.
"""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Formatter

from shoal_desk.words import number_in

_BETWEEN = re.compile(r"(?<=[.!?]) (?=[A-Z])")
ENGLISH = "en"
SENTENCES = ("library", "settings", "reading", "attacks", "methods")
_SENTENCE_IN_IT = "said"


def translated(text: str, language: str) -> str | None:
    """A text of one or several sentences in a language; None unless all of them are known in it."""
    if language == ENGLISH:
        return text
    said = [_one(sentence, language) for sentence in _BETWEEN.split(text)]
    known = [sentence for sentence in said if sentence is not None]
    return " ".join(known) if len(known) == len(said) else None


def _one(sentence: str, language: str) -> str | None:
    for pattern, form in _forms(language):
        found = pattern.fullmatch(sentence)
        if found is not None:
            values = {name: number_in(value, language) for name, value in found.groupdict().items()}
            inner = _one(values[_SENTENCE_IN_IT], language) if _SENTENCE_IN_IT in values else ""
            return None if inner is None else form.format(**(values | {_SENTENCE_IN_IT: inner}))
    return None


@cache
def _forms(language: str) -> Sequence[tuple[re.Pattern[str], str]]:
    """Each English sentence as a pattern, and how it is said in a language."""
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
