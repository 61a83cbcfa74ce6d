"""What an attack wins, said for readers who know no term of the field."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.attacks.table import ATTACKS
from shoal.report.words.numbers import percent


@dataclass(frozen=True, kw_only=True)
class Plainly:
    """Who attacks with what, a sentence; and what stands before and behind the figure in the next one."""

    somebody: str
    before: str
    after: str


def plainly(name: str, asked: str) -> Plainly:
    """The words of a rate, by its name and the knowledge that was asked for; from the table of attacks."""
    row = ATTACKS[asked.partition(":")[0]]
    before, _, after = row.wins[name].partition("{rate}")
    return Plainly(
        somebody=f"Somebody {row.sentence[0].lower()}{row.sentence[1:]}",
        before=f"They {before.strip()}",
        after=after.strip(),
    )


def strongest_in_words(found: Mapping[str, Any] | None, otherwise: str) -> str:
    """What the strongest attack wins, an entry of ``shoal attack --json``, with its terms in brackets.

    otherwise: what is said where there is none.
    """
    if found is None:
        return f"strongest attack: {otherwise}"
    said = plainly(found["name"], found["asked"])
    return (
        f"strongest attack of those tried: {said.somebody} {said.before} {percent(found['rate'])} "
        f"({percent(found['low'])} to {percent(found['high'])}) {said.after}; guessing would give "
        f"{percent(found['baseline'])} [{found['name']}, {found['knowledge']}]"
    )
