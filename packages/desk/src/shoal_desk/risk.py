"""Results of attacks: the strongest first, and by recipient."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from shoal.attacks.knowledge import is_to_the_point
from shoal.attacks.knowledge import strongest_first as attacks_by_strength
from shoal.attacks.table import ATTACKS
from shoal.model.claims import Claim, PayloadKind
from shoal.units import percent
from shoal_desk.recipients import BANDS, RECIPIENTS, Recipient
from shoal_desk.words import Words

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
        Adversaries of other releases: of boxes or points, or with another claim.
    no_victims
        The number of those who know enough of nobody.
    missing
        The knowledge of those that were not played at all.
    missing_names
        Whether one of them names records.
    strongest, raw
        The strongest attack, and its rate on raw data; None without one.
    naming
        How often attacks name the right record, by what is judged: the average of the strongest, and the
        maximum, the best chance of any on one of those attacked. None if no such attack was played.
    tries
        The number of people whom each attack was asked to try; None if that is not known.
    """

    name: str
    adversaries: int
    played: int
    of_other_kind: int
    no_victims: int
    missing: tuple[str, ...]
    missing_names: bool
    strongest: AttackRate | None
    raw: float | None
    naming: Mapping[str, float] | None
    tries: int | None

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
        return self.judged is not None and self.judged > self.recipient.at_most + _ROUNDING

    @property
    def verdict(self) -> Literal["exceeded", "missing", "no_naming", "few", "kept"]:
        """More attacks only raise a figure: with some missing it is above the threshold, or not judged.

        Too few tries cannot show that a threshold is kept, whatever they find.
        """
        if self.is_above:
            return "exceeded"
        if self.missing_names:
            return "missing"
        if self.naming is None:
            return "no_naming"
        return "kept" if self.tries is None or self.tries >= self.recipient.least_tries else "few"

    def figure(self, words: Words) -> str:
        """What is judged, and the threshold; empty without an attack on names."""
        if self.judged is None:
            return ""
        measure = words(f"measure.{self.recipient.judged_by}")
        most = words(f"band.{self.recipient.threshold}")
        return f"{words.number(percent(self.judged))} ({measure}); {most}"

    def answer(self, words: Words) -> str:
        """The verdict in words."""
        if self.verdict == "few":
            return words("signed.few", n=self.tries, least=self.recipient.least_tries)
        said = words(f"signed.{self.verdict}")
        return f"{said} {', '.join(self.missing)}" if self.verdict == "missing" else said

    def line(self, words: Words) -> str:
        """Recipient, figure and verdict."""
        name = words(f"recipient.{self.name}.name")
        return ": ".join(part for part in (name, self.figure(words), self.answer(words)) if part)

    def to_json(self) -> dict[str, Any]:
        """An entry of ``recipients``, in the document of ``shoal record --json``."""
        return {
            "verdict": self.verdict if self.verdict in ("exceeded", "kept") else "not judged",
            "judged_by": self.recipient.judged_by,
            "rate": self.judged,
            "at_most": self.recipient.at_most,
            "missing": list(self.missing),
        }


def risks_of(
    recipients: Mapping[str, Sequence[str]],
    attacks: Sequence[AttackRate],
    kind: PayloadKind,
    *,
    claim: type[Claim] | None = None,
    no_victims: Collection[str] = (),
    tries: int | None = None,
) -> list[RecipientRisk]:
    """By the knowledge of adversaries. no_victims: of those who know enough of nobody.

    tries: the number of people whom each attack was asked to try.
    """
    raw_rates = {(one["name"], one["asked"]): one["rate"] for one in attacks if one["target"] == "raw"}
    rows = []
    for name, texts in recipients.items():
        rates = [attack for attack in strongest_first(attacks, kind) if attack["asked"] in texts]
        strongest = rates[0] if rates else None
        played = {attack["asked"] for attack in rates}
        suited = [text for text in texts if text in played or _suits(text, kind, claim)]
        missing = tuple(text for text in suited if text not in played and text not in no_victims)
        naming = [one for one in rates if question_of(one) == "link" and is_to_the_point(one["name"], kind)]
        rows.append(
            RecipientRisk(
                name=name,
                adversaries=len(texts),
                played=len(played),
                of_other_kind=len(texts) - len(suited),
                no_victims=len(suited) - len(played) - len(missing),
                missing=missing,
                missing_names=any(_names(text, kind) for text in missing),
                strongest=strongest,
                raw=None if strongest is None else raw_rates.get((strongest["name"], strongest["asked"])),
                naming={
                    "average": max(float(attack["rate"]) for attack in naming),
                    "maximum": max(float(attack["worst"]) for attack in naming),
                }
                if naming
                else None,
                tries=tries,
            )
        )
    return rows


def _suits(text: str, kind: PayloadKind, claim: type[Claim] | None) -> bool:
    row = ATTACKS[text.partition(":")[0]]
    return kind in row.payloads and (claim is None or row.claims is None or claim in row.claims)


def _names(text: str, kind: PayloadKind) -> bool:
    answers = ATTACKS[text.partition(":")[0]].answers
    return any(question == "link" and is_to_the_point(rate, kind) for rate, question in answers.items())
