"""What attacks found, as the desk and the record show it: the strongest first, and for each recipient."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shoal.attacks.knowledge import is_to_the_point
from shoal.attacks.table import ATTACKS
from shoal.comparison.result import gain_of
from shoal.model.claims import PayloadKind

Found = Mapping[str, Any]  # one entry of `shoal attack --json`

BANDS: Final = ((0.05, "low"), (0.09, "public"), (0.2, "partner"), (0.33, "contract"), (1.0, "above"))


def strongest_first(attacks: Sequence[Found], kind: PayloadKind, target: str = "release") -> list[Found]:
    """The rates on one target, by what they win of what guessing leaves; those that stand apart come last.

    kind: of the release. The report and comparisons name the same one first.
    """
    return sorted(
        (one for one in attacks if one["target"] == target),
        key=lambda one: (
            not is_to_the_point(one["name"], kind),
            -gain_of(one),
            one["name"],
            one["knowledge"],
        ),
    )


def question_of(one: Found) -> str:
    """Which question of data protection a rate answers."""
    return ATTACKS[str(one["asked"]).partition(":")[0]].answers[one["name"]]


def band_of(rate: float) -> str:
    """Which threshold a rate keeps."""
    return next(name for most, name in BANDS if rate <= most)


@dataclass(frozen=True, kw_only=True)
class RecipientRisk:
    """The strongest adversary that a recipient stands for; None where none of them could be played."""

    name: str
    adversaries: int
    played: int
    strongest: Found | None
    raw: float | None


def risks_of(
    recipients: Mapping[str, Sequence[str]], attacks: Sequence[Found], kind: PayloadKind
) -> list[RecipientRisk]:
    """For each recipient, by the knowledge of its adversaries."""
    rows = []
    for name, texts in recipients.items():
        own = [one for one in strongest_first(attacks, kind) if one["asked"] in texts]
        strongest = own[0] if own else None
        raw = None
        if strongest is not None:
            same = [
                one["rate"]
                for one in attacks
                if one["target"] == "raw"
                and (one["name"], one["asked"]) == (strongest["name"], strongest["asked"])
            ]
            raw = same[0] if same else None
        rows.append(
            RecipientRisk(
                name=name,
                adversaries=len(texts),
                played=len({one["asked"] for one in own}),
                strongest=strongest,
                raw=raw,
            )
        )
    return rows
