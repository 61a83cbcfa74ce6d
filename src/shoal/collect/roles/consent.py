"""What a person is told before she consents.

What is promised to her, and what stays open whatever she sets.
"""

from typing import Final

import numpy as np

from shoal.collect.matching.trimming import Trimming

OPEN: Final = (
    "The questions show your blurred points to the other members of your group and to the collector before "
    "anything is trimmed. What is "
    "hidden is which honest member they belong to, not that somebody was there.",
    "Your questions hold exactly the same circles and intervals again and again, so that they can be linked "
    "with each other, and with what "
    "you release.",
    "What you release bears the same tag every time, since people are counted and not records. The "
    "collector, and whoever is in a group "
    "with you more than once, can link your releases with each other.",
    "A place that you leave out leaves a hole. Whoever sees enough of your releases can tell that there is "
    "something in the hole.",
    "Whoever joins under many names can fill a group, or count as a crowd. Nothing here prevents that.",
    "The authority and the collector together can find out which releases are yours: that is what the "
    "authority is for.",
    "What has been released cannot be taken back by anything in this protocol.",
)

_PROMISES: Final[dict[Trimming, str]] = {
    "hitting-set": "Of what you release, every part that was asked about was shared by at least {k} other "
    "people the day before. "
    "Parts that were not asked about are not promised.",
    "strict": "Every point of every part that was asked about and that fewer than {k} other people shared "
    "is taken out. "
    "Parts that were not asked about are not promised.",
    "verified-only": "You release one part that was asked about, the longest that at least {k} other people "
    "shared the day before.",
}


def promise(k: int, trimming: Trimming) -> str:
    """What holds for everything that is released under these settings."""
    if k == 0:
        return "You share without a crowd (k = 0): everything shown here is released, whoever else was there."
    return _PROMISES[trimming].format(k=k)


def sharing(theta_m: float, theta_min: float, group_size: int) -> str:
    """What the collector's own settings mean for a promise: without them k says little."""
    return (
        "At this collector somebody shares a part when, point by point, her circles are at most "
        f"{theta_m / 1000:g} km from yours and her "
        f"intervals at most {theta_min:g} min: the larger these are, the less a crowd is one. "
        f"You will be one of a group of {group_size} or {group_size + 1}."
    )


def date_of(day: int) -> str:
    """A day since 1970 (UTC) as people write it."""
    return str(np.datetime64(day, "D"))


def bootstrapping(until_day: int, k: int) -> str:
    """What is different while a collector fills its database."""
    crowd = (
        f"Your k = {k} holds: with a database that is almost empty nearly everything will be too rare. "
        if k
        else ""
    )
    return (
        "The collector is in its bootstrapping phase. What you release is kept as a record of nobody, "
        "without an identifier and without "
        "your tag: it counts in nobody's crowd, you cannot claim it, and it is deleted on "
        f"{date_of(until_day)}. {crowd}".strip()
    )
