"""The commands on the state of a series of releases."""

from collections import Counter
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import GIVEN, OutputOptions, output_options
from shoal.cli.sections import Command, Group
from shoal.cli.terminal import print_result
from shoal.units import counted

_SHOW = ("shoal series show state", "who waits, and how soon crowds fall below k")
_ERASE = ("shoal series erase state people.txt", "after people asked to be erased")


@click.group(cls=Group, examples=(_SHOW, _ERASE))
def series() -> None:
    """Look after the secret state of a series of releases of the same people."""


@series.command(cls=Command, examples=(_SHOW,))
@click.argument("state", type=GIVEN, metavar="STATE")
@output_options
def show(state: Path, **options: Any) -> int:
    """Say how the series in folder STATE stands: its releases, who waits, and how its crowds age.

    Only numbers are printed; STATE itself is as secret as the raw data.
    """
    from shoal.series.state import SeriesState, standing_of

    opened = SeriesState.read(state)
    standing = standing_of(opened)
    before = Counter(release.series for release in opened.facts.releases if release.series != opened.number)
    lines = [
        *(f"series {number}, which ended: {counted(n, 'release')}" for number, n in before.items()),
        f"series {standing['series']} in {state}, k = {standing['k']}: "
        f"{counted(len(standing['releases']), 'release')} so far",
        *(
            f"  {number}: {entry['first']} to {entry['end']}, {entry['published']:,} of "
            f"{counted(entry['people'], 'person', 'people')} in {counted(entry['crowds'], 'crowd')}, "
            f"{entry['waiting']:,} waiting, {entry['newcomers']:,} new"
            + (", stopped at the end: it counts as published" if entry["uncertain"] else "")
            for number, entry in enumerate(standing["releases"], start=1)
        ),
        "crowds by how many of their people can still leave before some wait: "
        + ", ".join(f"{spare}: {crowds:,}" for spare, crowds in standing["crowds_by_spare"].items()),
        "--renew would choose crowds for all anew; the promise over several releases would begin again, "
        f"and not cover the {counted(standing['people'], 'person', 'people')} of this series in both",
    ]
    print_result(OutputOptions.take(options).as_json, {"state": str(state), **standing}, lines)
    return 0


@series.command(cls=Command, examples=(_ERASE,))
@click.argument("state", type=GIVEN, metavar="STATE")
@click.argument("people", type=GIVEN, metavar="PEOPLE.txt")
@output_options
def erase(state: Path, people: Path, **options: Any) -> int:
    """Erase people from the series in folder STATE: one id on each line of PEOPLE.txt, as in the data.

    No later release of the series holds a record of them, also not after --renew: STATE keeps a mark of each,
    from which nobody without STATE can tell the id. Releases that are published still hold their records.
    """
    from shoal.errors import InputError
    from shoal.series.state import SeriesState

    try:
        ids = [line for line in people.read_text(encoding="utf-8-sig").splitlines() if line]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{people} cannot be read as text; give a file with one id on each line") from error
    if not ids:
        raise InputError(f"{people} holds no id; give a file with one id on each line")
    with SeriesState.writing(state) as opened:
        erased = opened.erase(ids)
    missing = len(set(ids)) - erased
    lines = [
        f"{counted(erased, 'person', 'people')} erased from {state}; {missing:,} "
        f"{'was' if missing == 1 else 'were'} not in it; all stay out of later releases"
    ]
    print_result(
        OutputOptions.take(options).as_json,
        {"state": str(state), "erased": erased, "not_in_state": missing},
        lines,
    )
    return 0
