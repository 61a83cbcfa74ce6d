"""Results of attacks for the desk and the record: the strongest first, and for each recipient."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shoal.attacks.knowledge import is_to_the_point
from shoal.attacks.table import ATTACKS
from shoal.comparison.result import gain_of
from shoal.model.claims import PayloadKind

AttackRate = Mapping[str, Any]  # one entry of `shoal attack --json`

BANDS: Final = ((0.05, "low"), (0.09, "public"), (0.2, "partner"), (0.33, "contract"), (1.0, "above"))


def strongest_first(
    attacks: Sequence[AttackRate], kind: PayloadKind, target: str = "release"
) -> list[AttackRate]:
    """The rates on one target by their advantage over guessing, secondary rates last.

    kind: of the release. The report and comparisons use the same order.
    """
    return sorted(
        (attack for attack in attacks if attack["target"] == target),
        key=lambda attack: (
            not is_to_the_point(attack["name"], kind),
            -gain_of(attack),
            attack["name"],
            attack["knowledge"],
        ),
    )


def question_of(attack: AttackRate) -> str:
    """The question of data protection that a rate answers."""
    return ATTACKS[str(attack["asked"]).partition(":")[0]].answers[attack["name"]]


def band_of(rate: float) -> str:
    """The strictest threshold that a rate meets."""
    return next(name for most, name in BANDS if rate <= most)


@dataclass(frozen=True, kw_only=True)
class RecipientRisk:
    """The strongest adversary of a recipient; None if none could be played."""

    name: str
    adversaries: int
    played: int
    strongest: AttackRate | None
    raw: float | None


def risks_of(
    recipients: Mapping[str, Sequence[str]], attacks: Sequence[AttackRate], kind: PayloadKind
) -> list[RecipientRisk]:
    """The risk of each recipient, by the knowledge of its adversaries."""
    rows = []
    for name, texts in recipients.items():
        rates = [attack for attack in strongest_first(attacks, kind) if attack["asked"] in texts]
        strongest = rates[0] if rates else None
        raw = None
        if strongest is not None:
            same = [
                attack["rate"]
                for attack in attacks
                if attack["target"] == "raw"
                and (attack["name"], attack["asked"]) == (strongest["name"], strongest["asked"])
            ]
            raw = same[0] if same else None
        rows.append(
            RecipientRisk(
                name=name,
                adversaries=len(texts),
                played=len({attack["asked"] for attack in rates}),
                strongest=strongest,
                raw=raw,
            )
        )
    return rows
