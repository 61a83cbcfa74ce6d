"""The table of attacks in words: the tables of the docs, and the strongest attack on each method."""

import csv
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
CELLS: Final = 5  # of a row of the README's table of methods; one of them is of the strongest attack
STRONGEST_CELL: Final = 3
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


def strength_of(row: Row) -> tuple[bool, float]:
    """By which attacks are compared: what one wins of what guessing leaves; last, those that stand apart."""
    to_the_point = is_to_the_point(row["attack"], METHODS[row["method"]].about.publishes)
    return to_the_point, gain(float(row["rate"]), float(row["baseline"]))


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
                "| release | a record may be named in | is named in | strongest of all | wins | by guessing "
                "| what was strongest before wins | attribution |\n|---|---|---|---|---|---|---|---|\n"
                + "\n".join(lines)
            )
    return "\n\n".join(parts)


def strongest_in_words(rows: Iterable[Row], method: str) -> str:
    """The strongest attack on a method without hardening at each k, on whatever data it wins most.

    Of those that were tried on fifty people at least.
    """
    worst: dict[int, Row] = {}
    for key, found in _cells(rows).items():
        played = [row for row in found if row["adversary"] and int(row["tries"]) >= ENOUGH]
        if key[1] == method and not key[3] and played:
            most = max(played, key=strength_of)
            k = int(key[2])
            worst[k] = max(most, worst.get(k, most), key=strength_of)
    return "; ".join(f"k = {k}: {_in_words(row)}" for k, row in sorted(worst.items()))


def _in_words(row: Row) -> str:
    """An attack, its rate, what guessing wins if that is something, and the data, in whole percent."""
    rate, guessing = (round(float(row[of]) * 100) for of in ("rate", "baseline"))
    told = f"`{row['attack']}` ({row['knowledge']}) {rate} %"
    return f"{told}{f', guessing {guessing} %' if guessing else ''} ({DATA[row['data']].title})"


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
        f"| {what} | {allowed} | {_rate(named)}, {named['knowledge']} | `{worst['attack']}`, "
        f"{worst['knowledge']} | {_rate(worst)} | {_percent(worst['baseline'])} | {same} | {boxes} |"
    )


def _rate(row: Row) -> str:
    return f"{_percent(row['rate'])} ({float(row['low']) * 100:.1f} to {float(row['high']) * 100:.1f})"


def _percent(text: str) -> str:
    share = float(text) * 100
    return f"{share:.1f} %" if share >= 0.1 or share == 0 else f"{share:.2f} %"


def write(file: Path, page: Path, readme: Path) -> None:
    """Put the tables between the marks of a page, and the strongest attacks into the README's table."""
    rows = read_rows(file)
    head, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    page.write_text(f"{head}{BEGIN}\n\n{tables(rows)}\n\n{END}{tail}", encoding="utf-8")
    lines = readme.read_text(encoding="utf-8").splitlines()
    for place, line in enumerate(lines):
        method = method_of(line)
        if method is not None:
            cells = line.split(" | ")
            cells[STRONGEST_CELL] = strongest_in_words(rows, method)
            lines[place] = " | ".join(cells)
    readme.write_text("\n".join(lines) + "\n", encoding="utf-8")


def method_of(line: str) -> str | None:
    """The method that a line of the README's table is about, None for any other line."""
    first, *others = line.split(" | ")
    named = [name for name in METHODS if first.startswith(f"| `{name}`")]
    return named[0] if named and len(others) == CELLS - 1 else None
