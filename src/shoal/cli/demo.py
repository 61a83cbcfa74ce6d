"""The command that does the whole job on people who do not exist; heavy libraries load when it runs."""

from pathlib import Path

import click

from shoal.cli.options import PATH, output_options
from shoal.cli.outcomes import print_publication
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars
from shoal.runtime.json_values import null_for_nan


@click.command(
    cls=Command,
    examples=(("shoal demo", "a made-up city, hidden, checked and attacked; all of it in ./shoal-demo"),),
)
@click.option(
    "--output",
    type=PATH,
    default=Path("shoal-demo"),
    show_default=True,
    metavar="DIR",
    help="A new folder for everything.",
)
@output_options
def demo(output: Path, as_json: bool, quiet: bool) -> int:
    """Do the whole job on a synthetic city of 1,000 phones over 7 days, at k = 5.

    Shows what k = 2 would keep and give away beside it, and takes less than a minute.
    """
    from shoal.methods.glove.glove import Glove
    from shoal.publishing.ahead import compile_ahead
    from shoal.publishing.demo import demonstrate, ending
    from shoal.report.facts.release import accuracy_rows
    from shoal.runtime.run import Run

    with Bars(quiet=quiet) as bars, compile_ahead(Glove.about.name):
        shown = demonstrate(output, Run(progress=bars))
    beside = {"city": shown.city, "assessment": shown.assessment, "linkage": shown.linkage}
    at_k = [
        {
            "k": each.k,
            "kept": {row.name: null_for_nan(row.raw) for row in accuracy_rows(each.accuracy)},
            "attacks": [rate.to_json() for rate in each.rates],
            "cautions": list(each.cautions),
        }
        for each in shown.at_k
    ]
    lines = [
        f"k = {each.k}: "
        + "; ".join(f"{row.words} {row.text(row.raw)}" for row in accuracy_rows(each.accuracy)[:5])
        + "; won by the "
        + ", ".join(f"attack {rate.name} {rate.rate:.1%} of {rate.tries}" for rate in each.rates)
        for each in shown.at_k
    ]
    lines += [f"with k = {each.k}: {caution}" for each in shown.at_k for caution in each.cautions]
    print_publication(
        shown.publication, as_json, beside, also={"at_k": at_k}, lines=lines, ending=ending(output)
    )
    return 0
