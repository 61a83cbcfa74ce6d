"""The command that says what to expect of a collection before it is built."""

import json
from typing import Any, Final

import click

from shoal.cli.options import input_options, needs_extra, take_reading
from shoal.cli.sections import ExampleCommand
from shoal.units import counted, percent
from shoal_collect.cli.collect import require_points_as_given

_THETAS: Final = ((500.0, 30.0), (1_000.0, 60.0), (2_000.0, 120.0), (5_000.0, 180.0))  # meters and minutes
_KS: Final = (1, 2, 3)
_ENOUGH: Final = 0.1  # of the pairs of points: below it, too little comes out to study


@click.command(
    cls=ExampleCommand,
    examples=(("shoal collect plan --data calls.csv", "how much would people like these share?"),),
    epilog="Nothing is protected or sent: pairs of points are counted as the collector would.",
)
@click.option(
    "--data",
    required=True,
    metavar="FILE",
    help="Movement data of people like those who would take part.",
)
@click.option(
    "--first",
    type=click.IntRange(min=0),
    metavar="N",
    help="How many share everything (k = 0) before the others.  [default: a fifth]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document; `shoal schema collect-plan`.")
@input_options
def plan(**options: Any) -> int:
    """Say how much people would share, before a collection is built."""
    reading = take_reading(options)
    require_points_as_given(reading)
    from shoal.cli.terminal import Bars
    from shoal.io import read
    from shoal.runtime.run import Run

    with needs_extra("shoal-collect"):
        from shoal_collect.crypto.chance import Chance
        from shoal_collect.matching.similarity import Thresholds
        from shoal_collect.simulation.experiment import Setting, people_of, simulate, trips_of

    with Bars(quiet=options["as_json"]) as bars:
        run = Run(progress=bars)
        data = read(options["data"], run=run, snap=False, **reading)
        n = len(people_of(data))
        people = trips_of(data, n, max_gap_s=1800.0, n_points=6, fold_dates=False)
        first = max(1, n // 5) if options["first"] is None else options["first"]
        yields = []
        for theta_m, theta_min in _THETAS:
            for k in _KS:
                thresholds = Thresholds(theta_m=theta_m, theta_min=theta_min)
                setting = Setting(bootstrap=first, thresholds=thresholds, k=k, by_people=True)
                result = vars(simulate(people, setting, Chance(bytes(32)), run))
                yields.append({"theta_m": theta_m, "theta_min": theta_min, "k": k, "first": first, **result})
    worth = [row for row in yields if row["share_submitted"] >= _ENOUGH]
    proposal = max(worth, key=lambda row: (-row["theta_m"], row["k"])) if worth else None
    document = {"yields": yields, "proposal": proposal}
    click.echo(json.dumps(document, indent=2) if options["as_json"] else "\n".join(_lines(document)))
    return 0


def _lines(document: dict[str, Any]) -> list[str]:
    some = document["yields"][0]
    lines = [
        f"Of {counted(some['people'] + some['first'], 'person', 'people')}, {some['first']} share everything "
        "first. The others could share so many of their pairs of points:",
        "within             k = 1     k = 2     k = 3",
    ]
    for theta_m, theta_min in _THETAS:
        shares = [row["share_submitted"] for row in document["yields"] if row["theta_m"] == theta_m]
        lines.append(
            f"{theta_m / 1000:g} km, {theta_min:g} min".ljust(19)
            + "".join(f"{percent(share, 2):<10}" for share in shares)
        )
    return [*lines, _advice(document)]


def _advice(document: dict[str, Any]) -> str:
    row = document["proposal"]
    if row is None:
        best = max(document["yields"], key=lambda each: each["share_submitted"])
        return (
            f"This study cannot work like this: at most {percent(best['share_submitted'], 2)} of the pairs "
            f"would come out, and {percent(_ENOUGH, 0)} is little. More people in a smaller area and time "
            "are needed."
        )
    return (
        f"Proposed: theta_m = {row['theta_m']:g} and theta_min = {row['theta_min']:g} in the terms, k = "
        f"{row['k']}, at which {row['users_with_at_least_one']:.0f} of {row['people']:.0f} people share "
        "something: the finest of these settings at which a tenth of the pairs come out."
    )
