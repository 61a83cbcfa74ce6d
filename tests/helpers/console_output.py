"""Output as a page shows it, as an expression that fits what a command prints."""

import re

DRAWN = re.compile(r"\d+(?:\.\d+)? %")  # of victims that every run draws anew


def pattern_of(shown: str) -> str:
    """An expression for the output: ... stands for anything, and lines may be wrapped elsewhere."""
    text = " ".join(shown.split())
    text = re.sub("strongest attack.*guessing", lambda attack: DRAWN.sub("PERCENT", attack[0]), text)
    return re.escape(text).replace(r"\.\.\.", ".*").replace("PERCENT", r"\d+(\.\d+)?\ %")
