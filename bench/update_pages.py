"""Sections of the papers' pages from what `shoal reproduce` wrote; nothing is typed by hand.

    python bench/update_pages.py FOLDER [FOLDER ...] [--part many] [--docs docs]

FOLDER: what `shoal reproduce PAPER --figure F --output FOLDER` made. Each figure in it takes the place of
its section in docs/reproduction/PAPER.md and of its rows in docs/reproduction/PAPER.csv; with --part many, of
those in docs/reproduction/PAPER-many.md and docs/reproduction/PAPER-many.csv. Other figures, and the words
above the first one, stay as they are.
"""

import argparse
import csv
import io
import textwrap
from collections.abc import Sequence
from pathlib import Path

from shoal.errors import InputError
from shoal_papers.table import papers
from shoal_papers.writing import FIELDS

_BEGIN, _NAME, _WIDTH = "\n## ", "`--figure ", 120


def sections(page: str) -> tuple[str, dict[str, str]]:
    """What stands above the first figure of a page, and the text of each figure by its name."""
    above, *parts = page.rstrip("\n").split(_BEGIN)
    named: dict[str, str] = {}
    for part in parts:
        if _NAME in part:
            named[part.split(_NAME)[1].split("`")[0]] = part.rstrip("\n")
        elif named:
            raise InputError(f"'{part.splitlines()[0]}' stands among the figures and names none")
        else:
            above += _BEGIN + part
    return above.rstrip("\n"), named


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def update(paper: str, made: Path, docs: Path, part: str = "") -> list[str]:
    """Put the figures of one folder into a paper's page and table; returns their names."""
    name = f"{paper}-{part}" if part else paper
    page, kept = docs / "reproduction" / f"{name}.md", docs / "reproduction" / f"{name}.csv"
    above, old = sections(page.read_text(encoding="utf-8"))
    lines = (made / f"{paper}.md").read_text(encoding="utf-8").splitlines()
    wrapped = [line if line.startswith("|") else textwrap.fill(line, _WIDTH) for line in lines]
    new = sections("\n".join(wrapped))[1]
    found = old | new
    order = [one.figure for one in papers()[paper] if one.figure in found]
    text = "\n".join([above, *(_BEGIN + found[figure] for figure in order)])
    page.write_text(text.replace("\n\n\n", "\n\n") + "\n", encoding="utf-8")
    rows = _rows(kept.read_text(encoding="utf-8")) if kept.exists() else []
    rows = [row for row in rows if row["figure"] not in new]
    rows += _rows((made / f"{paper}.csv").read_text(encoding="utf-8"))
    file = io.StringIO()
    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=lambda row: order.index(row["figure"])))
    kept.write_text(file.getvalue(), encoding="utf-8")
    return list(new)


def main(arguments: Sequence[str] | None = None) -> None:
    """Every folder after the other; a figure that is in two of them is the later one's."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folders", type=Path, nargs="+")
    options.add_argument("--part", default="")
    options.add_argument("--docs", type=Path, default=Path("docs"))
    asked = options.parse_args(arguments)
    for folder in asked.folders:
        for paper in papers():
            if (folder / f"{paper}.md").exists():
                print(f"{paper}: {', '.join(update(paper, folder, asked.docs, asked.part))}")


if __name__ == "__main__":
    main()
