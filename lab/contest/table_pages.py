"""The table of attacks as the tables of docs/strongest-attacks.md."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from shoal.attacks.knowledge import is_to_the_point
from shoal.attacks.rate import gain
from shoal.attacks.table import ATTACKS
from shoal.methods import METHODS
from table_data import DATA

BEGIN, END = "<!-- the tables begin -->", "<!-- the tables end -->"
ENOUGH: Final = 50  # tries
MEMBERS: Final = ("insider", "partner")  # adversaries who share a record, or were mixed with a person
Row = Mapping[str, str]
Key = tuple[str, str, str, str]


def read_rows(file: Path) -> list[Row]:
    """What was measured so far."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def key_of(row: Row) -> Key:
    """Which cell a row belongs to."""
    return row["data"], row["method"], row["k"], row["hardening"]


def strength_of(row: Row) -> tuple[bool, float, bool]:
    """By which attacks are compared: what one wins of what guessing leaves; last, those that stand apart.

    Of equals, those that name a record come first.
    """
    to_the_point = is_to_the_point(row["attack"], METHODS[row["method"]].about.publishes)
    return to_the_point, gain(float(row["rate"]), float(row["baseline"])), row["question"] == "link"


def names_a_record(row: Row) -> bool:
    """Whether an attack names whose record it is from facts about the person, which is what 1/k speaks of."""
    adversary = ATTACKS[row["adversary"]]
    return row["question"] == "link" and adversary.uses == "raw data" and row["adversary"] != "track"


def tables(rows: Iterable[Row]) -> str:
    """The tables in Markdown, one for each data set of `DATA`: each release, and then the same hardened."""
    cells = _cells(rows)
    parts = []
    for name, data in DATA.items():
        own = sorted((key for key in cells if key[0] == name), key=_place)
        if own:
            lines = [_line(key, cells[key], cells.get((*key[:3], ""), [])) for key in own]
            parts.append(
                f"## {data.title}\n\n{data.words}\n\n"
                "| release | allowed | a record is named | strongest attack | success | by guessing "
                "| strongest before hardening | attribution |\n|---|---|---|---|---|---|---|---|\n"
                + "\n".join(lines)
            )
    return "\n\n".join(parts)


def page_text(rows: Sequence[Row]) -> str:
    """Everything between the marks of the page: the strongest attack on each method, and the tables."""
    return f"{summary(rows)}\n\n{tables(rows)}"


def summary(rows: Sequence[Row]) -> str:
    """One row for each method and k: the strongest attacks on it without hardening, on any of the data."""
    lines = [
        f"| {method} | {k} | {_strongest(outside.get(k))} | {_strongest(inside.get(k))} |"
        for method in METHODS
        for outside, inside in [
            [strongest_by_k(rows, method, by_members=members) for members in (False, True)]
        ]
        for k in sorted({*outside, *inside})
    ]
    return (
        "## The strongest attack on each method\n\n"
        f"On the data where its advantage over guessing is largest, with at least {ENOUGH} people tried. In "
        "the tables below,\nsome attacks succeed more often on fewer people. "
        "An *outsider* is no part of the data. *Members* share the person's\nrecord, or were mixed with the "
        "person; the last words of their cell say whether one of them suffices.\n\n"
        "| method | k | by an outsider | by members |\n|---|---|---|---|\n" + "\n".join(lines)
    )


def _strongest(row: Row | None) -> str:
    """A cell: the success, by guessing, and which attack on which data."""
    if row is None:
        return "not tried"
    success = f"**{_percent(row['rate'])}** (guessing {_percent(row['baseline'])})"
    return f"{success}: `{row['attack']}`, {DATA[row['data']].title}; {_knowledge(row)}"


def strongest_by_k(rows: Iterable[Row], method: str, *, by_members: bool) -> dict[int, Row]:
    """The strongest attack on a method without hardening for each k, tried on at least fifty people."""
    strongest: dict[int, Row] = {}
    for key, cell_rows in _cells(rows).items():
        played = [
            row
            for row in cell_rows
            if row["adversary"]
            and (row["adversary"] in MEMBERS) == by_members
            and int(row["tries"]) >= ENOUGH
        ]
        if key[1] == method and not key[3] and played:
            best = max(played, key=strength_of)
            k = int(key[2])
            strongest[k] = max(best, strongest.get(k, best), key=strength_of)
    return dict(sorted(strongest.items()))


def _knowledge(row: Row) -> str:
    """What the attacker knows, as a noun."""
    return re.sub(r"^what (.+) knows?$", r"knowledge of \1", row["knowledge"])


def _cells(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    """The rows of each release."""
    cells: dict[Key, list[Row]] = {}
    for row in rows:
        cells.setdefault(key_of(row), []).append(row)
    return cells


def _place(key: Key) -> tuple[int, int, str]:
    """Where a release stands in its table."""
    return list(METHODS).index(key[1]), int(key[2]), key[3]


def _line(key: Key, found: Sequence[Row], before: Sequence[Row]) -> str:
    """A row of a table."""
    _, method, k, hardening = key
    what = f"{method}, k = {k}{f', `{hardening}`' if hardening else ''}"
    played = [row for row in found if row["adversary"]]
    note, _, lacking = found[0]["note"].partition(": ")
    if not played:
        told = f"{note}: {lacking}" if lacking and not note.startswith("no release") else note
        return f"| {what} | {told} | | | | | | |"
    if lacking:
        what += f" (not tried in time: {lacking})"
    named = max((row for row in played if names_a_record(row)), key=lambda row: float(row["rate"]))
    worst = max(played, key=strength_of)
    allowed = _percent(worst["may_name"]) if worst["may_name"] else "nothing promised"
    boxes = next((_rate(row) for row in played if row["attack"] == row["adversary"] == "attribution"), "")
    same = ""
    first = max((row for row in before if row["adversary"]), key=strength_of, default=None)
    if hardening and first is not None:
        attacked = (first["adversary"], first["attack"])
        again = [row for row in played if (row["adversary"], row["attack"]) == attacked]
        same = f"`{first['attack']}`: {_rate(again[0])}" if again else ""
    return (
        f"| {what} | {allowed} | {_rate(named)}, {_knowledge(named)} | `{worst['attack']}`, "
        f"{_knowledge(worst)} | {_rate(worst)} | {_percent(worst['baseline'])} | {same} | {boxes} |"
    )


def _rate(row: Row) -> str:
    return f"{_percent(row['rate'])} ({float(row['low']) * 100:.1f} to {float(row['high']) * 100:.1f})"


def _percent(text: str) -> str:
    share = float(text) * 100
    return f"{share:.1f} %" if share >= 0.1 or share == 0 else f"{share:.2f} %"


def write(file: Path, page: Path) -> None:
    """Put the tables between the marks of a page."""
    head, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    page.write_text(f"{head}{BEGIN}\n\n{page_text(read_rows(file))}\n\n{END}{tail}", encoding="utf-8")
