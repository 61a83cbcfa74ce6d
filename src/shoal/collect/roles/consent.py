"""What a person is told before she consents: the promise, and what stays open whatever she sets."""

from typing import Final

import numpy as np

from shoal.collect.matching.trimming import Trimming
from shoal.collect.roles.terms import Terms

OPEN: Final = (
    "Your questions show your blurred points to the other members of your group and to the collector before "
    "anything is"
    " trimmed. They hide which honest member was there, not that somebody was.",
    "Your questions repeat exactly the same circles and intervals. They can be linked with each other, and "
    "with what "
    "you release.",
    "Everything you release bears the same tag, because people are counted and not records. The collector, "
    "and whoever "
    "is in a group with you more than once, can link your releases with each other.",
    "A place that you leave out leaves a hole. Whoever sees enough of your releases can tell that the hole "
    "hides "
    "something.",
    "Somebody who joins under many names can fill a group, or count as a crowd. Nothing here prevents that.",
    "The authority and the collector together can find out which releases are yours: that is what the "
    "authority is for.",
    "Nothing in this protocol can take back what has been released.",
)

_PROMISES: Final[dict[Trimming, str]] = {
    "hitting-set": "At least {others} shared, the day before, every part of your release that was "
    "asked about. "
    "Nothing is promised about parts that were not asked about.",
    "strict": "Every point of every part that was asked about and that fewer than {others} shared "
    "is taken out. "
    "Nothing is promised about parts that were not asked about.",
    "verified-only": "You release one part that was asked about: the longest that at least {others} "
    "shared the "
    "day before.",
}


def promise(k: int, trimming: Trimming) -> str:
    """Say what holds for everything that is released under these settings."""
    if k == 0:
        return "You share without a crowd (k = 0): everything shown here is released, whoever else was there."
    others = "1 other person" if k == 1 else f"{k} other people"
    return _PROMISES[trimming].format(others=others)


_STATED: Final = (
    ("controller", "Responsible"),
    ("purpose", "Purpose"),
    ("recipients", "Who receives what is released"),
    ("retention", "How long it is kept"),
    ("contact", "Whom to ask, and to whom to object"),
)


def stated(terms: Terms) -> list[str]:
    """Say what the collector states of itself, and what it leaves out."""
    said = [(words, getattr(terms, name)) for name, words in _STATED]
    missing = [words.lower() for words, text in said if not text]
    lines = [f"{words}: {text}" for words, text in said if text]
    if missing:
        lines.append(f"This collector does not say: {'; '.join(missing)}. Ask before you agree.")
    if len(missing) < len(said):
        lines.append("These are the collector's own words; nothing here checks them.")
    return lines


def days_and_hours(first_min: float, last_min: float) -> str:
    """Say which days and hours a trip covers, in minutes since 1970."""
    first, last = (np.datetime64(int(minute), "m") for minute in (first_min, last_min))
    first_text, last_text = (str(moment).replace("T", " ") for moment in (first, last))
    until = last_text[11:] if first_text[:10] == last_text[:10] else last_text
    return f"This trip goes from {first_text} to {until} (UTC)."


def sharing(theta_m: float, theta_min: float, group_size: int) -> str:
    """Say what the collector's own settings mean for a promise; without them k says little.

    Parameters
    ----------
    theta_m, theta_min
        How far apart, in meters and minutes, two uncertain points may be and still be similar.
    group_size
        How many people meet in a group.
    """
    return (
        "At this collector, somebody shares a part when each of her circles is at most "
        f"{theta_m / 1000:g} km from yours, and each of her intervals at most {theta_min:g} min. "
        "The larger these are, the less a crowd hides you. "
        f"You will be one of a group of {group_size} or {group_size + 1}."
    )


def date_of(day: int) -> str:
    """Write a day since 1970 (UTC) as people do."""
    return str(np.datetime64(day, "D"))


def bootstrapping(until_day: int, k: int) -> str:
    """Say what is different while a collector fills its database, until a day since 1970."""
    crowd = (
        f" Your k = {k} holds: while the database is almost empty, nearly everything is too rare."
        if k
        else ""
    )
    return (
        "The collector is in its bootstrapping phase. It keeps what you release as a record of nobody, "
        "without an "
        "identifier and without your tag: the record counts in nobody's crowd, you cannot claim it, and it "
        "is deleted "
        f"on {date_of(until_day)}.{crowd}"
    )
