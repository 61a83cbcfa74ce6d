"""What releases of every method are good for: the releases of the table of attacks, by the five uses.

    python lab/contest/usefulness_by_method.py [--data NAME ...] [--input NAME=FILE ...]
        [--streets NAME=NODES,EDGES ...]

Prints a row for each release as it is measured.
"""

import argparse
import sys

from shoal.errors import ShoalError
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.utility import Facts
from shoal.utility.usefulness import usefulness_of
from table_data import DATA, Prepared, prepared, street_files
from table_of_attacks import CELLS, Cell


def line_of(name: str, cell: Cell, data: Prepared) -> str:
    """The row of one release."""
    method = cell.make(DATA[name], data, cell.k)
    people = data.snapped if method.about.publishes == "boxes" else data.given
    head = f"| {name} | `{cell.method}` | {cell.k} | "
    try:
        release, linkage = method.anonymize(people, Randomness.for_research(1), Run(threads=2))
    except ShoalError as error:
        print(f"{name} {cell.method}: {error}", file=sys.stderr)
        return head + "no release | | |"
    facts = Facts(people, release, linkage)
    useful = usefulness_of(facts)
    within, left_out = "", ""  # points have no extents
    if release.kind == "boxes":
        within = useful.within
        left_out = f"{100 * facts.accuracy.samples_suppressed / people.n_samples:.1f} %"
    return head + f"{within} | {left_out} | {useful.good_for} |"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", nargs="+", choices=DATA, default=[*DATA])
    options.add_argument("--input", action="append", default=[], metavar="NAME=FILE")
    options.add_argument("--streets", action="append", default=[], metavar="NAME=NODES,EDGES")
    asked = options.parse_args()
    inputs = dict(text.split("=", 1) for text in asked.input)
    for name in asked.data:
        data = prepared(DATA[name], inputs.get(name), street_files(asked.streets, name))
        for cell in CELLS:
            if not cell.hardening:
                print(line_of(name, cell, data), flush=True)


if __name__ == "__main__":
    main()
