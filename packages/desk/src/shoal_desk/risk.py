"""Results of attacks: the strongest first, and by recipient."""

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
    """By advantage over guessing, secondary rates last, as in reports."""
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
    """The question that a rate answers."""
    return ATTACKS[str(attack["asked"]).partition(":")[0]].answers[attack["name"]]


def band_of(rate: float) -> str:
    """The strictest threshold met."""
    return next(name for most, name in BANDS if rate <= most)


@dataclass(frozen=True, kw_only=True)
class RecipientRisk:
    """A recipient's strongest adversary, if any."""

    name: str
    adversaries: int
    played: int
    strongest: AttackRate | None
    raw: float | None


def risks_of(
    recipients: Mapping[str, Sequence[str]], attacks: Sequence[AttackRate], kind: PayloadKind
) -> list[RecipientRisk]:
    """By the knowledge of adversaries."""
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
