"""``shoal attack RAW DIR`` where DIR holds a table."""

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import PATH, OutputOptions, input_options, output_options
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result
from shoal_tables.commands.verification import take_table_reading


@click.command(
    "attack",
    cls=Command,
    examples=(
        ("shoal attack calls.csv flows", "is somebody in the table? beside guessing and beside the promise"),
    ),
    epilog="Exit 0: no adversary is right more often than promised; 1: one is; 2: bad input.",
)
@click.argument("raw", metavar="RAW")
@click.argument("folder", type=PATH, metavar="DIR")
@click.option(
    "--earlier",
    type=PATH,
    metavar="DIR",
    help="An earlier table of the same cells: was somebody erased in between?",
)
@click.option(
    "--tries",
    type=click.IntRange(min=8),
    default=1000,
    show_default=True,
    metavar="N",
    help="Victims of each game.",
)
@click.option(
    "--threshold",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="K",
    help="Compare with exact counts whose cells below K are hidden.",
)
@click.option("--seed", type=click.IntRange(min=0), metavar="S", help="Draw the same victims again.")
@input_options
@output_options
def attack(
    raw: str, folder: Path, earlier: Path | None, tries: int, threshold: int, seed: int | None, **options: Any
) -> int:
    """Ask of the table in the folder DIR who is in it, with knowledge from RAW.

    Each adversary stands beside guessing, the promise, and exact counts with small cells hidden.
    """
    from shoal.runtime.randomness import Randomness
    from shoal.runtime.run import Run
    from shoal_tables.attacks.attacking import attack_table

    output = OutputOptions.take(options)
    reading = take_table_reading(options)
    with Bars(quiet=output.quiet) as bars:
        found = attack_table(
            raw,
            folder,
            earlier=earlier,
            tries=tries,
            threshold=threshold,
            rng=Randomness.from_system() if seed is None else Randomness.for_research(seed),
            run=Run(progress=bars),
            **reading,
        )
    lines = []
    for game in found.games:
        bound = "nothing is promised" if game.bound is None else f"promised at most {game.bound:.1%}"
        lines += [
            f"{game.name}: {game.words}",
            f"  right {game.success:.1%} ({game.low:.1%} to {game.high:.1%}); guessing 50 %; {bound}; shows "
            f"epsilon {game.epsilon:.3g} or more",
        ]
    lines.append(
        f"with cells below {threshold} hidden, an erasure tells a count of {found.told_by_threshold:.1%} of "
        "people"
    )
    print_result(
        output.as_json,
        found.to_json(),
        [*lines, *(f"  note: {note}" for note in found.notes)],
        well=not found.breaks_promise,
    )
    return int(found.breaks_promise)
