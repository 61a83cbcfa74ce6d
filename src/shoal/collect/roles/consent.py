"""What a person is told before she consents: the promise, and what stays open whatever she sets."""

from typing import Final

import numpy as np

from shoal.collect.matching.trimming import Trimming
from shoal.collect.roles.lottery import OwnGroup
from shoal.collect.roles.terms import RegistrarTerms, Terms

OPEN: Final = (
    "Your questions show your blurred points to the other members of your group and to the collector before "
    "anything is"
    " trimmed. They hide which honest member was there, not that somebody was.",
    "Your questions repeat exactly the same circles and intervals, for at least a year. They can be linked "
    "with each other, with those of your other rounds, and with what you release.",
    "Members of your group can put your whole blurred trip together from your questions, and each of its "
    "decoys, which look like it.",
    "Whoever sees your network address can follow you from round to round.",
    "A place that you leave out leaves a hole. Whoever sees enough of your releases can tell that the hole "
    "hides "
    "something.",
    "The authority and the collector together can find out which releases are yours: that is what the "
    "authority is for.",
    "You can have a release deleted at the collector (shoal collect mine). What others have read or "
    "copied of it by then stays with them.",
)

_PROMISES: Final[dict[Trimming, str]] = {
    "verified-pairs": "At least {others} shared, the day before, every two points of your release, "
    "and every part of it that was asked about. Nobody needs to share the whole of it.",
    "hitting-set": "Warning: not everything that you release was checked. At least {others} shared, "
    "the day before, every part that was asked about. Of all other parts nothing is known, and nobody else "
    "may share them.",
    "strict": "Every point of every part that was asked about and that fewer than {others} shared "
    "is taken out. Warning: of parts that were not asked about nothing is known, and nobody else may share "
    "them.",
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


def linking(area_km: int, period_days: int) -> str:
    """Say which of her releases the collector can tell to be one person's."""
    return (
        f"What you release of trips that begin in one area (of {area_km} km) within one period of "
        f"{period_days} days bears one tag, because people are counted and not records. The collector, and "
        "whoever is in a group with you more than once, can link these releases with each other."
    )


def keeping(kept_days: int | None) -> str:
    """Say how long a collector keeps a release; None for as long as its owner does not delete it."""
    how_long = "for as long as you do not delete it" if kept_days is None else f"for {kept_days} days"
    return (
        f"The collector keeps your release {how_long}, and may hand it to others, or publish it, at any time."
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


def who_takes_part(registrar: RegistrarTerms | None, least: int) -> str:
    """Say who can be in a group with her, by the terms of a round: groups are drawn from ``least`` people."""
    if registrar is None:
        return (
            "Anybody can join this collector, under as many names as she likes. Somebody who does can be "
            "everybody else in your group, and all of your crowd. Nothing here prevents that."
        )
    each = "a day" if registrar.days == 1 else f"in {registrar.days} days"
    return (
        f"Only people whom the registrar at {registrar.url}, key {registrar.key}, has admitted take part: "
        f"one token a person {each}. The registrar knows that you ask for a token, not what you do with "
        "it, unless it and the collector compare times or addresses. Groups are drawn from at "
        f"least {least} people. You rely on it to admit nobody twice."
    )


def roster_in_words(group: OwnGroup) -> str:
    """Say what stands behind the roster that a group was drawn from."""
    drawn = f"your group of {len(group.identities)} was drawn from a roster of {group.n_roster}"
    if group.terms.registrar is None:
        return f"{drawn} names; nobody knows how many people they are"
    return f"{drawn} people, with {group.n_tokens} different tokens of the registrar"
