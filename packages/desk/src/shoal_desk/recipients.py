"""Who may receive a release, and which adversaries of the lab each stands for: one table.

A recipient is a set of adversaries with what they know. To add one, add a row here and its words, under
``recipient.NAME``, to each file of ``messages/``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shoal.attacks.adversary import Adversary
from shoal.attacks.knowledge import parse_knowledge
from shoal.attacks.table import ATTACKS
from shoal.errors import MisuseError
from shoal.model.claims import PayloadKind

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


@dataclass(frozen=True, kw_only=True)
class Recipient:
    """A kind of recipient, and what those who can come by the release then may know."""

    name: str
    knowledge: tuple[str, ...]


_ROWS: Final = (
    Recipient(name="public", knowledge=(*_OUTSIDE, *_OF_MEMBERS)),
    Recipient(
        name="research",
        knowledge=("points:4", "top:2", "home-work", "attribution:2", "downcoding", "triples:4", "nearest:4"),
    ),
    Recipient(
        name="processor", knowledge=("points:4", "top:2", "period", "downcoding", "triples:4", "nearest:4")
    ),
    Recipient(name="inside", knowledge=("points:10", "period", "attribution:2", "track:4", *_OF_MEMBERS)),
)
RECIPIENTS: Final[Mapping[str, Recipient]] = {row.name: row for row in _ROWS}


def playable(adversary: Adversary) -> bool:
    """Whether an adversary can be played on one release alone, without people who are not in it."""
    return not adversary.series and adversary.name != "membership"


def knowledge_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Knowledge as people write it, checked, once each in the order given.

    Raises MisuseError for a text that names no adversary, or one that needs more than a release.
    """
    found = tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
    for text in found:
        row = parse_knowledge(text).adversary
        if not playable(row):
            raise MisuseError(
                f"'{text}' needs people who are not in the release, or an earlier release; play it with "
                "shoal attack"
            )
    return found


def on_payload(texts: Iterable[str], kind: PayloadKind) -> tuple[str, ...]:
    """Of this knowledge, what can be played on a release of boxes or of points."""
    return tuple(text for text in texts if kind in ATTACKS[text.partition(":")[0]].payloads)


def for_studies(texts: Iterable[str]) -> tuple[str, ...]:
    """Of this knowledge, what a comparison can ask of every release."""
    return tuple(
        text for text in texts if set(ATTACKS[text.partition(":")[0]].payloads) == {"boxes", "points"}
    )
