"""Recipients, and the adversaries that each may be.

A new one needs a row here and words under ``recipient.NAME`` in each file of ``messages/``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final, Literal

from shoal.attacks.adversary import Adversary
from shoal.attacks.knowledge import parse_knowledge
from shoal.attacks.rate import Z_95
from shoal.attacks.table import ATTACKS
from shoal.errors import MisuseError
from shoal.model.claims import PayloadKind
from shoal.report.facts.evidence import PUBLIC_K

_OUTSIDE: Final = (
    "points:4",
    "top:2",
    "noisy:4:500m:30min",
    "home-work",
    "attribution:2",
    "downcoding",
    "triples:4",
    "times:4",
    "nearest:4",
    "track:4",
    "cluster",
)
_OF_MEMBERS: Final = ("insider", "insider:all", "partner", "partner:all")


# How often the right record of somebody may be named: one in the sizes of cells that custodians of health
# data use, 3 and 5, and in public data 11 and 20 (El Emam 2013, doi:10.1201/b14764, "Cell size precedents").
BANDS: Final = (
    (1 / 20, "low"),
    (1 / PUBLIC_K, "public"),
    (1 / 5, "partner"),
    (1 / 3, "contract"),
    (1.0, "above"),
)


@dataclass(frozen=True, kw_only=True)
class Recipient:
    """A kind of recipient, adversaries' knowledge, and how often a record may be named, a row of BANDS.

    judged_by: the maximum, the best chance on any one, where anybody may look for anybody.
    """

    name: str
    knowledge: tuple[str, ...]
    threshold: str
    judged_by: Literal["maximum", "average"] = "average"

    @property
    def at_most(self) -> float:
        """The threshold as a share."""
        return next(most for most, band in BANDS if band == self.threshold)

    @property
    def least_tries(self) -> int:
        """The fewest tries whose 95 % interval (Wilson's) ends at the threshold or below if none succeeds."""
        return ceil(Z_95**2 * (1 / self.at_most - 1))


_ROWS: Final = (
    Recipient(name="public", knowledge=(*_OUTSIDE, *_OF_MEMBERS), threshold="public", judged_by="maximum"),
    Recipient(
        name="research",
        knowledge=("points:4", "top:2", "home-work", "attribution:2", "downcoding", "triples:4", "nearest:4"),
        threshold="partner",
    ),
    Recipient(
        name="processor",
        knowledge=("points:4", "top:2", "period", "downcoding", "triples:4", "nearest:4"),
        threshold="contract",
    ),
    Recipient(
        name="inside",
        knowledge=("points:10", "period", "attribution:2", "track:4", *_OF_MEMBERS),
        threshold="partner",
    ),
)
RECIPIENTS: Final[Mapping[str, Recipient]] = {row.name: row for row in _ROWS}


def playable(adversary: Adversary) -> bool:
    """Whether one release suffices, and nobody outside."""
    return not adversary.series and adversary.name != "membership"


def knowledge_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Knowledge without duplicates; MisuseError for an unknown adversary, or one that needs more."""
    knowledge = tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
    for text in knowledge:
        row = parse_knowledge(text).adversary
        if not playable(row):
            raise MisuseError(
                f"'{text}' needs people who are not in the release, or an earlier release; play it with "
                "shoal attack"
            )
    return knowledge


def on_payload(texts: Iterable[str], kind: PayloadKind) -> tuple[str, ...]:
    """What applies to boxes or to points."""
    return tuple(text for text in texts if kind in ATTACKS[text.partition(":")[0]].payloads)


def for_studies(texts: Iterable[str]) -> tuple[str, ...]:
    """What applies to every release of a comparison."""
    return tuple(
        text for text in texts if set(ATTACKS[text.partition(":")[0]].payloads) == {"boxes", "points"}
    )
