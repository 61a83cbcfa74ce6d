"""The command for an example on synthetic data."""

from pathlib import Path

import click

from shoal.cli.options import PATH, output_options
from shoal.cli.outcomes import print_publication
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars
from shoal.runtime.json_values import null_for_nan


@click.command(
    cls=Command,
    examples=(("shoal demo", "a synthetic city, anonymized, verified and attacked; all in ./shoal-demo"),),
)
@click.option(
    "--output",
    type=PATH,
    metavar="DIR",
    help="A new folder for all results; without it shoal-demo, or shoal-demo-2 where that exists.",
)
@output_options
def demo(output: Path | None, as_json: bool, quiet: bool) -> int:
    """Anonymize, verify and attack a synthetic city of 1,000 phones over 7 days, at k = 5.

    Compares precision and risk with k = 2, and takes less than a minute.
    """
    from shoal.methods.glove.glove import Glove
    from shoal.publishing.ahead import compile_ahead
    from shoal.publishing.demo import demonstrate, ending
    from shoal.report.facts.release import accuracy_rows
    from shoal.runtime.run import Run

    if output is None:
        names = ("shoal-demo", *(f"shoal-demo-{number}" for number in range(2, 1000)))
        output = next((path for path in map(Path, names) if not path.exists()), Path("shoal-demo"))
    with Bars(quiet=quiet) as bars, compile_ahead(Glove.about.name):
        demonstration = demonstrate(output, Run(progress=bars))
    files = {
        "city": demonstration.city,
        "assessment": demonstration.assessment,
        "linkage": demonstration.linkage,
    }
    at_k = [
        {
            "k": outcome.k,
            "kept": {row.name: null_for_nan(row.raw) for row in accuracy_rows(outcome.accuracy)},
            "attacks": [rate.to_json() for rate in outcome.rates],
            "cautions": list(outcome.cautions),
        }
        for outcome in demonstration.at_k
    ]
    lines = [
        f"k = {outcome.k}: raw samples whose "
        + "; ".join(f"{row.words}: {row.text(row.raw)}" for row in accuracy_rows(outcome.accuracy)[:5])
        + "; won by the "
        + ", ".join(f"attack {rate.name} {rate.rate:.1%} of {rate.tries}" for rate in outcome.rates)
        for outcome in demonstration.at_k
    ]
    lines += [
        f"with k = {outcome.k}: {caution}" for outcome in demonstration.at_k for caution in outcome.cautions
    ]
    print_publication(
        demonstration.publication, as_json, files, also={"at_k": at_k}, lines=lines, ending=ending(output)
    )
    return 0
