"""Results of attacks: the strongest first, and by recipient."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shoal.attacks.knowledge import is_to_the_point
from shoal.attacks.knowledge import strongest_first as attacks_by_strength
from shoal.attacks.table import ATTACKS
from shoal.model.claims import PayloadKind
from shoal_desk.recipients import BANDS, RECIPIENTS, Recipient, on_payload

AttackRate = Mapping[str, Any]  # one entry of `shoal attack --json`

_ROUNDING: Final = 1e-9  # a share of 1/11 may be the sum of others


def strongest_first(
    attacks: Sequence[AttackRate], kind: PayloadKind, target: str = "release"
) -> list[AttackRate]:
    """The rates on a target, as reports rank them."""
    return attacks_by_strength((one for one in attacks if one["target"] == target), kind, lambda one: one)


def question_of(attack: AttackRate) -> str:
    """The question that a rate answers."""
    return ATTACKS[str(attack["asked"]).partition(":")[0]].answers[attack["name"]]


def band_of(rate: float) -> str:
    """The strictest threshold met."""
    return next(name for most, name in BANDS if rate <= most + _ROUNDING)


@dataclass(frozen=True, kw_only=True)
class RecipientRisk:
    """What adversaries of a recipient win.

    Parameters
    ----------
    name
        The recipient.
    adversaries, played
        The number of its adversaries, and of those that were played.
    of_other_kind
        Adversaries of the other kind of release, boxes or points; the rest found no one to attack.
    strongest, raw
        The strongest attack, and its rate on raw data; None without one.
    naming
        How often attacks name the right record, by what is judged: the average of the strongest, and the
        maximum, the best chance of any on one of those attacked. None if no such attack was played.
    """

    name: str
    adversaries: int
    played: int
    of_other_kind: int
    strongest: AttackRate | None
    raw: float | None
    naming: Mapping[str, float] | None

    @property
    def recipient(self) -> Recipient:
        """The row of the recipient: its threshold, and whether the maximum or the average is judged."""
        return RECIPIENTS[self.name]

    @property
    def judged(self) -> float | None:
        """The figure that is held against the threshold."""
        return None if self.naming is None else self.naming[self.recipient.judged_by]

    @property
    def is_above(self) -> bool:
        """Whether records are named more often than the threshold of the recipient allows."""
        most = next(most for most, band in BANDS if band == self.recipient.threshold)
        return self.judged is not None and self.judged > most + _ROUNDING


def risks_of(
    recipients: Mapping[str, Sequence[str]], attacks: Sequence[AttackRate], kind: PayloadKind
) -> list[RecipientRisk]:
    """By the knowledge of adversaries."""
    raw_rates = {(one["name"], one["asked"]): one["rate"] for one in attacks if one["target"] == "raw"}
    rows = []
    for name, texts in recipients.items():
        rates = [attack for attack in strongest_first(attacks, kind) if attack["asked"] in texts]
        strongest = rates[0] if rates else None
        naming = [one for one in rates if question_of(one) == "link" and is_to_the_point(one["name"], kind)]
        rows.append(
            RecipientRisk(
                name=name,
                adversaries=len(texts),
                played=len({attack["asked"] for attack in rates}),
                of_other_kind=len(texts) - len(on_payload(texts, kind)),
                strongest=strongest,
                raw=None if strongest is None else raw_rates.get((strongest["name"], strongest["asked"])),
                naming={
                    "average": max(float(attack["rate"]) for attack in naming),
                    "maximum": max(float(attack["worst"]) for attack in naming),
                }
                if naming
                else None,
            )
        )
    return rows
