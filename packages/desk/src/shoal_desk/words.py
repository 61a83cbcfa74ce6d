"""All sentences of the desk, in every language, from the files in ``messages/``.

English is the measure: the other files have the same keys, and a sentence has the same values in braces.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from shoal.local_pages.forms import form_messages, messages_of

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "de": "Deutsch", "fr": "Français"}

_NUMBER: Final = re.compile(r"([<>] )?[\d,]*\d(\.\d+)?( \S+)?")
_MARKS: Final = {"de": str.maketrans(",.", ".,"), "fr": str.maketrans(",.", "\N{NARROW NO-BREAK SPACE},")}


def number_in(text: str, language: str) -> str:
    """A number that shoal printed, with its unit if any, as people of a language write it; else the text."""
    return text.translate(_MARKS.get(language, {})) if _NUMBER.fullmatch(text) else text


class Words:
    """The sentences of one language.

    Parameters
    ----------
    language
        One of LANGUAGES.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self._sentences = sentences(language)

    def __call__(self, key: str, **values: Any) -> str:
        """The sentence of a key with its values filled in; LookupError for a key that no file has."""
        return self._sentences[key].format(**values)

    def number(self, text: str) -> str:
        """A number as shoal prints it, as people of this language write it."""
        return number_in(text, self.language)

    def has(self, key: str) -> bool:
        """Whether there is such a sentence."""
        return key in self._sentences

    def several(self, prefix: str) -> list[str]:
        """All sentences whose keys begin so, in the order of the file."""
        return [text for key, text in self._sentences.items() if key.startswith(prefix)]


@cache
def sentences(language: str) -> Mapping[str, str]:
    """Every sentence by its key: a table and a name in it, joined by a dot."""
    return form_messages(language) | messages_of("shoal_desk", language)


def preferred(header: str) -> str:
    """The first language of ``Accept-Language`` that the desk speaks; English where it has none."""
    for part in header.split(","):
        language = part.split(";")[0].strip().lower()[:2]
        if language in LANGUAGES:
            return language
    return "en"
