"""The result of an attack in plain words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shoal.attacks.table import ATTACKS
from shoal.units import percent

STRONGEST: Final = "strongest attack among those tested"


@dataclass(frozen=True, kw_only=True)
class PlainWords:
    """A sentence on the attacker. And the words around the figure in the next one."""

    somebody: str
    before: str
    after: str


def attack_in_words(name: str, asked: str) -> PlainWords:
    """The words of a rate, by its name and its knowledge."""
    row = ATTACKS[asked.partition(":")[0]]
    before, _, after = row.wins[name].partition("{rate}")
    return PlainWords(
        somebody=f"Somebody {row.sentence[0].lower()}{row.sentence[1:]}",
        before=f"This attack {before.strip()}",
        after=after.strip(),
    )


def strongest_in_words(entry: Mapping[str, Any] | None, otherwise: str) -> str:
    """The strongest attack (``shoal attack --json``), with its terms in brackets."""
    if entry is None:
        return f"strongest attack: {otherwise}"
    words = attack_in_words(entry["name"], entry["asked"])
    chance = entry.get("chance", entry["baseline"])
    by_chance = "" if chance == entry["baseline"] else f", chance {percent(chance)}"
    return (
        f"{STRONGEST}: {words.somebody} {words.before} {percent(entry['rate'])} "
        f"({percent(entry['low'])} to {percent(entry['high'])}) {words.after}; guessing would give "
        f"{percent(entry['baseline'])}{by_chance} [{entry['name']}, {entry['knowledge']}]"
    )
