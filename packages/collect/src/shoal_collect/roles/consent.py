"""What a person reads before consenting.

For readers of 14 (``test_collect_consent.py``).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from shoal.units import counted
from shoal_collect.matching.subtrajectories import Trimming
from shoal_collect.mix.messages import least_left
from shoal_collect.roles.lottery import MemberGroup
from shoal_collect.roles.terms import OtherCollector, RegistrarTerms, Terms

SHARED: Final = (
    "Your raw points stay on your own device. It turns each place into a circle, and each time into a span "
    "of time.",
    "It then asks how many other people share parts of your blurred trip. Your group mixes its questions. So "
    "the collector sees what the group asks, but not which honest member asks it.",
    "Then your device releases a part of your blurred trip. Your settings say which, and how many others "
    "must share it. Your group mixes these parts, too. The collector stores them under a random number, "
    "without your name.",
)

OPEN: Final = (
    "The other members of your group and the collector see the circles in your questions before anything is "
    "cut. They can tell that one of the honest members was there, but not which one. If you are the only "
    "honest one, they know that it was you.",
    "Your questions use the same circles and times again for at least a year. So they can be linked with "
    "each other, with your other rounds, and with what you share.",
    "Members of your group can put all the circles of your trip together from your questions. They see "
    "invented trips that look like yours beside it.",
    "Whoever sees your network address can follow you from round to round.",
    "A place that you leave out leaves a hole. Whoever sees enough of what you share can tell that the hole "
    "hides something.",
    "The authority and the collector together can find out what you have shared. That is what the authority "
    "is for.",
    "You can have a release deleted at the collector (shoal collect mine). But others may have read or "
    "copied it by then.",
)

_PROMISES: Final[dict[Trimming, str]] = {
    "verified-pairs": "At least {others} shared every two points that you release, the day before. They also "
    "shared every part of it that was asked about. Nobody needs to share all of it.",
    "strict": "Some of your parts are asked about. If fewer than {others} shared one, all its points are "
    "taken out. Warning: nothing is known of the other parts. It may be that nobody else shares them.",
}


def describe_promise(k: int, trimming: Trimming) -> str:
    """The guarantee for all releases."""
    if k == 0:
        return "You share without a crowd (k = 0). Everything shown here is released, whoever else was there."
    others = "1 other person" if k == 1 else f"{k} other people"
    return _PROMISES[trimming].format(others=others)


_STATED: Final = (
    ("controller", "Responsible"),
    ("purpose", "Purpose"),
    ("recipients", "Who receives what is released"),
    ("retention", "How long it is kept"),
    ("contact", "Whom to ask, and to whom to object"),
)


def describe_collector(terms: Terms) -> list[str]:
    """The collector's statements about itself, and the missing ones."""
    statements = [(words, getattr(terms, name)) for name, words in _STATED]
    missing = [words.lower() for words, text in statements if not text]
    lines = [f"{words}: {text}" for words, text in statements if text]
    if missing:
        lines.append(f"This collector does not say: {'; '.join(missing)}. Ask before you agree.")
    if len(missing) < len(statements):
        lines.append("These are the collector's own words; nothing here checks them.")
    return lines


def days_and_hours(first_min: float, last_min: float) -> str:
    """Days and hours of a trip, in minutes since 1970."""
    first, last = (np.datetime64(int(minute), "m") for minute in (first_min, last_min))
    first_text, last_text = (str(moment).replace("T", " ") for moment in (first, last))
    until = last_text[11:] if first_text[:10] == last_text[:10] else last_text
    return f"This trip goes from {first_text} to {until} (UTC)."


def describe_sharing(theta_m: float, theta_min: float, group_size: int) -> str:
    """Thresholds and group size behind the promise."""
    return (
        "Here somebody shares a part of your trip if each of her circles is at most "
        f"{theta_m / 1000:g} km from yours. Each of her times must be at most {theta_min:g} min from yours. "
        "The larger these limits are, the less a crowd hides you. "
        f"You will be in a group of {group_size} or {group_size + 1} people. If some of them fall silent, it "
        f"goes on with {least_left(group_size)} or more. A collector that holds back letters can make them "
        "silent."
    )


def describe_linking(area_km: int, period_days: int) -> str:
    """Which releases the collector can link to one person."""
    return (
        f"What you share gets a tag. Trips that start in one area (of {area_km} km) within {period_days} "
        "days get the same tag, so that you count once. The collector can see by the tag that they are from "
        "one person. So can whoever is in a group with you more than once."
    )


def describe_retention(kept_days: int | None) -> str:
    """How long a collector keeps a release; None until its owner deletes it."""
    how_long = "until you delete it" if kept_days is None else f"for {counted(kept_days, 'day')}"
    return f"The collector keeps what you share {how_long}. It may hand it on, or publish it, at any time."


def date_of(day: int) -> str:
    """A day since 1970 (UTC) for people."""
    return str(np.datetime64(day, "D"))


def describe_membership(registrar: RegistrarTerms | None, least: int) -> str:
    """Who can be in one's group, drawn from ``least`` people."""
    if registrar is None:
        return (
            "Anybody can join here, under as many names as she likes. Somebody who does can be everybody "
            "else in your group, and all of your crowd. Nothing here stops that."
        )
    rate = "a day" if registrar.days == 1 else f"in {registrar.days} days"
    return (
        f"Only people whom the registrar at {registrar.url} lets in take part: one token a person {rate}. "
        "The registrar knows that you ask for a token. It does not know what you do with it, unless it and "
        "the collector compare times or addresses. You rely on it to let in nobody twice. Groups are drawn "
        f"from at least {least} people. The registrar's key is {registrar.key}."
    )


def describe_counting(witnesses: Sequence[OtherCollector], *, admitted: bool) -> list[str]:
    """Who counts the crowd, and who would notice a false count."""
    several = (
        "Each person counts once in your crowd, as far as the registrar lets in nobody twice."
        if admitted
        else "Somebody who changes her device can count as several people in your crowd."
    )
    if not witnesses:
        return [
            "The collector alone counts how many people share a part. No witness checks its answers here. "
            "If it lies, your crowd may be smaller than you are told, or nobody at all.",
            several,
        ]
    return [
        *(
            f"A witness checks the answers, and sees the questions, too: {witness.url}, key {witness.key}."
            for witness in witnesses
        ),
        "If the collector and all witnesses tell the same lie, nobody finds out.",
        several,
    ]


def describe_decoys(n_real: int, n_fake: int) -> list[str]:
    """A warning when terms leave no room for a decoy of the trip."""
    if n_fake >= n_real:
        return []
    return [
        "Your device may ask too few invented questions here to hide your trip. Then there is no invented "
        "trip beside yours."
    ]


def describe_terms(terms: Terms) -> list[str]:
    """The terms of a round."""
    return [
        describe_sharing(terms.theta_m, terms.theta_min, terms.group_size),
        describe_membership(terms.registrar, terms.enough),
        describe_linking(terms.area_km, terms.period_days),
        describe_retention(terms.kept_days),
        *describe_counting(terms.witnesses, admitted=terms.registrar is not None),
        *describe_decoys(terms.n_real, terms.n_fake),
    ]


def describe_roster(group: MemberGroup) -> str:
    """The roster of a group."""
    drawn = f"your group of {len(group.identities)} was drawn from a roster of {group.n_roster}"
    if group.terms.registrar is None:
        return f"{drawn} names; nobody knows how many people they are"
    # every identity has a token of its own, and a token has one identity
    return f"{drawn} people, with {counted(group.n_roster, 'different token')} of the registrar"
