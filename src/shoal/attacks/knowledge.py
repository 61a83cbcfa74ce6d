"""Knowledge as people write it, such as ``points:4``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from shoal.attacks.adversary import Adversary
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate, gain
from shoal.attacks.series import NO_EARLIER
from shoal.attacks.table import ATTACKS
from shoal.errors import MisuseError
from shoal.model.claims import Claim, PayloadKind
from shoal.model.release import Release

THOROUGH_FROM: Final = 1000
_ALIKE: Final = 0.01  # of an advantage
Entry = TypeVar("Entry")


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """An adversary with its numbers."""

    text: str  # as it was written
    adversary: Adversary
    values: tuple[Any, ...]  # what the adversary's parameters read

    def rates_on(self, evaluation: Evaluation[Any], rng: np.random.Generator) -> list[Rate]:
        """The adversary's rates; raises MisuseError when the data does not allow the attack."""
        rates = self.adversary.evaluate(evaluation, *self.values, rng=rng)
        unknown = [rate.name for rate in rates if rate.name not in self.adversary.answers]
        if unknown:
            raise LookupError(
                f"'{unknown[0]}' answers no question; add it to the row of {self.adversary.name}"
            )
        return rates


def parse_knowledge(text: str) -> Knowledge:
    """The knowledge of a text such as ``points:4``."""
    name, *words = text.split(":")
    if name not in ATTACKS:
        raise _unknown(
            text, [f"{row.form}{'' if row.takes_boxes else ' (points)'}" for row in ATTACKS.values()]
        )
    return Knowledge(text=text, adversary=ATTACKS[name], values=ATTACKS[name].read(words))


def require_played(texts: Sequence[str], *, series: bool) -> None:
    """Raise MisuseError for knowledge that no data allows; series: an earlier release exists."""
    if any(parse_knowledge(text).adversary.series for text in texts) and not series:
        raise MisuseError(NO_EARLIER)


def require_boxes(texts: Sequence[str]) -> None:
    """Raise MisuseError for knowledge that takes points alone."""
    suited = [row for row in ATTACKS.values() if row.takes_boxes]
    for text in texts:
        if text.partition(":")[0] not in {row.name for row in suited}:
            raise _unknown(text, [row.form for row in suited])


def forms_in_words() -> str:
    """Every form with meaning and source, for a help text."""
    rows = sorted(ATTACKS.values(), key=lambda row: not row.takes_boxes)
    return "; ".join(
        f"{row.form} ({'' if row.takes_boxes else 'points only: '}{row.words}; source: {row.source})"
        for row in rows
    )


def default_knowledge(
    release: Release | None, *, series: bool = False, sensitive: bool = False
) -> tuple[str, ...]:
    """The default knowledge (None = raw data), attacks on points alone first."""
    rows = sorted(ATTACKS.values(), key=lambda row: row.takes_boxes)
    claim = None if release is None else release.claim
    return tuple(
        text
        for row in rows
        if row.suits(release, series=series, sensitive=sensitive)
        for text in row.texts(row.default, claim)
    )


def record_knowledge(release: Release, tries: int, *, sensitive: bool = False) -> tuple[str, ...]:
    """The knowledge of a report: a selection, or from 1,000 tries on also all defaults."""
    rows = [row for row in ATTACKS.values() if row.suits(release, sensitive=sensitive)]
    rows.sort(key=lambda row: (row.claims is not None, row.uses == "own record"))
    asked = tuple(text for row in rows for text in row.texts(row.record, release.claim))
    usual = default_knowledge(release, sensitive=sensitive)
    return tuple(dict.fromkeys([*usual, *asked])) if tries >= THOROUGH_FROM else asked


def also_on_points(text: str) -> tuple[str, ...]:
    """Knowledge as large, against a release of points."""
    name, _, setting = text.partition(":")
    rows = [row for row in ATTACKS.values() if row.same_knowledge_as == name]
    return tuple(one for row in rows for one in row.texts((setting,)))


def rates_alike(text: str, name: str) -> tuple[str, ...]:
    """Rates of this name, and others for the same question and knowledge."""
    row = parse_knowledge(text).adversary
    if name not in row.answers:
        return (name,)
    others = [other for other in ATTACKS.values() if other.same_knowledge_as == row.name]
    return (
        name,
        *(rate for other in others for rate, asked in other.answers.items() if asked == row.answers[name]),
    )


def require_rate(text: str, name: str, *, or_else: str) -> None:
    """Raise MisuseError when no adversary has such a rate."""
    row = parse_knowledge(text).adversary
    as_much = [other for other in ATTACKS.values() if other.same_knowledge_as == row.name]
    if all(name not in candidate.answers for candidate in (row, *as_much)):
        raise no_rate(text, name, row.answers, or_else=or_else)


def no_rate(text: str, name: str, rates: Iterable[str], *, or_else: str) -> MisuseError:
    """The error for a budget whose attack is no such rate."""
    named = ATTACKS.get(name.partition(":")[0])
    if named is not None and all(name not in row.answers for row in ATTACKS.values()):
        return MisuseError(
            f"'{name}' is what an adversary knows, and the budget's attack is what it tries; choose "
            f'{" or ".join(named.answers)}, with knowledge = "{name}" beside it, or {or_else}'
        )
    return MisuseError(
        f"the budget's attack '{name}' is nothing that is tried with {text}; choose "
        f"{' or '.join([*rates, or_else])}"
    )


def is_to_the_point(name: str, kind: PayloadKind) -> bool:
    """Whether a rate may be called the strongest on releases of this kind."""
    return all(row.apart_on.get(name) != kind for row in ATTACKS.values())


def strength(name: str, gain: float, worst: float | None, kind: PayloadKind) -> tuple[bool, float, float]:
    """By what attacks are ranked: rates that stand apart last, then by advantage, then by best chance."""
    return is_to_the_point(name, kind), gain, worst or 0.0


def strongest_first(
    entries: Iterable[Entry], kind: PayloadKind, rate_of: Callable[[Entry], Mapping[str, Any]]
) -> list[Entry]:
    """By ``strength``; of those within a percent of the strongest, naming comes first, then by ATTACKS.

    So other victims of the same release change no name. rate_of: as in ``shoal attack --json``.
    """

    def key(entry: Entry) -> tuple[bool, float, float]:
        rate = rate_of(entry)
        return strength(rate["name"], gain(rate["rate"], rate["baseline"]), rate["worst"], kind)

    def order(entry: Entry) -> tuple[Any, ...]:
        to_the_point, advantage, _ = key(entry)
        if (to_the_point, advantage + _ALIKE) < key(ranked[0])[:2]:
            return (True,)
        name, asked = rate_of(entry)["name"], rate_of(entry).get("asked") or ""
        rows = [row for row in ATTACKS.values() if name in row.answers]
        row = next((row for row in rows if row.name == asked.partition(":")[0]), rows[0])
        return False, row.answers[name] != "link", list(ATTACKS).index(row.name), asked

    ranked = sorted(entries, key=key, reverse=True)
    return sorted(ranked, key=order)


def of_its_claim(claim: Claim) -> tuple[Knowledge, ...]:
    """The report's adversaries that test this claim alone."""
    rows = [row for row in ATTACKS.values() if row.claims is not None and type(claim) in row.claims]
    return tuple(parse_knowledge(text) for row in rows for text in row.texts(row.record, claim))


def _unknown(text: str, forms: Iterable[str]) -> MisuseError:
    return MisuseError(f"'{text}' is not a knowledge that shoal can play; choose from {', '.join(forms)}")
