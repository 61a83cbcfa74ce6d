"""How old somebody has to be to read a text with ease, by the formula of Flesch and Kincaid.

Kincaid, Fishburne, Rogers and Chissom 1975, "Derivation of new readability formulas": the grade is
0.39 words / sentences + 11.8 syllables / words - 15.59. A pupil is five years older than her grade.
"""

import re

_NO_WORDS = re.compile(r"https?://[^\s,]+|\b[0-9a-f]{16,}\b")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d[\d.,:-]*")
_SENTENCE = re.compile(r"[.!?:](?=\s|$)")


def syllables(word: str) -> int:
    """Groups of vowels, without a silent e at the end; at least one."""
    word = word.lower()
    if word[0].isdigit():
        return 1
    word = re.sub(r"(?:[^laeiouy]|(?<=[aeiouy])l)(?:es|ed|e)$", lambda end: _ending(end[0]), word)
    return max(1, len(re.findall(r"[aeiouy]+", word)))


def _ending(end: str) -> str:
    """An ending as it is spoken: silent in "shared" and "place", heard in "wanted" and "boxes"."""
    first, rest = end[0], end[1:]
    spoken = (rest == "ed" and first in "td") or (rest == "es" and first in "sxzcg")
    return end if spoken else first


def reading_age(text: str) -> float:
    """The age, in years, at which a text is easy."""
    text = _NO_WORDS.sub("it", text)
    words = _WORD.findall(text)
    sentences = max(1, len(_SENTENCE.findall(text)))
    n_syllables = sum(map(syllables, words))
    return 0.39 * len(words) / sentences + 11.8 * n_syllables / len(words) - 15.59 + 5
