"""The commands ``shoal tabulate`` and ``shoal ledger``."""

from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import click

from shoal.cli import options as common
from shoal.cli.options import DURATION, LENGTH, PATH
from shoal.cli.sections import Command, Option
from shoal.cli.terminal import print_result

_zone: Final = partial(click.option, cls=Option, section="Zones")
_when: Final = partial(click.option, cls=Option, section="Days and hours")
_what: Final = partial(click.option, cls=Option, section="Trips and stays")
_promise: Final = partial(click.option, cls=Option, section="The promise")


def _several(parse: Callable[[str], Any], example: str) -> Callable[[Any], tuple[Any, ...]]:
    """Reads as many values with commas between them as an example has."""

    def values_of(text: Any) -> tuple[Any, ...]:
        try:
            values = tuple(parse(part.strip()) for part in str(text).split(","))
        except ValueError:
            values = ()
        if len(values) != example.count(",") + 1:
            raise click.BadParameter(f"'{text}' is not understood; write {example}")
        return values

    return values_of


PERIOD: Final = _several(date.fromisoformat, "the first and the last day: 2024-01-01,2024-01-14")
AREA: Final = _several(float, "for example 2.2,48.8,2.5,49")


@click.command(
    cls=Command,
    examples=(
        (
            "shoal tabulate calls.parquet --kind homes --grid 20km --area=-5.2,6.8,-4.8,7.2 "
            "--period 2024-01-01,2024-01-14 --epsilon 1 --ledger ledger.sqlite --people city --budget 2 "
            "--output homes --secret counts.parquet",
            "people by the square of 20 km where they live",
        ),
        (
            "shoal tabulate calls.parquet --kind flows --grid 2km --area=-5.2,6.8,-4.8,7.2 "
            "--period 2024-01-01,2024-01-14 --plan",
            "the error of trips between squares of 2 km, before anything is spent",
        ),
    ),
    epilog=common.UNITS,
)
@common.input_argument
@click.option(
    "--kind",
    type=click.Choice(("presence", "flows", "dwell", "homes")),
    required=True,
    help="presence: people by zone and hour; flows: trips between zones; dwell: people by length of their "
    "longest visit; homes: people by zone of home.",
)
@click.option("--output", type=PATH, metavar="DIR", help="The folder to publish.")
@click.option(
    "--secret", type=PATH, metavar="FILE", help="The counts before noise, as secret as INPUT; outside DIR."
)
@click.option(
    "--plan", "planned", is_flag=True, help="Print the expected error; read, write and spend nothing."
)
@_zone("--grid", type=LENGTH, help="Squares with this side, in --area.")
@_zone("--h3", type=click.IntRange(0, 15), metavar="N", help="H3 cells of this resolution, in --area.")
@_zone("--zones", type=PATH, metavar="FILE", help="Polygons: GeoJSON, GeoPackage, Shapefile, FlatGeobuf.")
@_zone("--zone-name", metavar="COLUMN", help="Column of --zones with names. [default: recognized]")
@_zone(
    "--weights",
    type=PATH,
    metavar="FILE",
    help="CSV (zone,weight): how many people stand for each one who is counted in a zone, from outside the "
    "data; after the noise, estimates are multiplied by it.",
)
@_zone(
    "--nested",
    type=PATH,
    metavar="FILE",
    help="CSV or Parquet (zone,parent): the outer zone of each zone. Their counts get noise of their own; "
    "estimates of both agree.",
)
@_zone("--area", type=AREA, metavar="W,S,E,N", help="Where zones lie, in degrees.")
@_zone(
    "--plane",
    metavar="CRS",
    help="The plane of squares, e.g. EPSG:3035; 'local' for positions and an --area in plain meters. "
    "[default: equal-area, around --area]",
)
@_when("--period", type=PERIOD, required=True, metavar="FIRST,LAST", help="Days, e.g. 2024-01-01,2024-01-14.")
@_when(
    "--days",
    type=click.Choice(("typical", "workday", "kinds", "each")),
    default="typical",
    help="typical: the mean of all days; workday: of workdays alone; kinds: of workdays, Saturdays, "
    "Sundays and what --calendar names, with more noise; each: every day by itself, with the most noise.",
)
@_when("--calendar", type=PATH, metavar="FILE", help="Kinds of dates: CSV with date,kind, e.g. holiday.")
@_when("--slot", type=DURATION, help="Equal slots of a day. [default: presence 1h, else 24h]")
@_when("--hours", metavar="LIST", help="Hours of the day, e.g. 6-10,10-16,16-20.")
@_what(
    "--trips",
    type=click.Choice(("zones", "stays")),
    default="zones",
    help="zones: from a sample's zone to the next sample's (call records); stays: from stay to stay (GPS).",
)
@_what("--stay-radius", type=LENGTH, default="200m", help="How far a stay reaches.")
@_what("--least-stay", type=DURATION, default="15min", help="How long a stay lasts at least.")
@_what(
    "--longest-gap",
    type=DURATION,
    default="4h",
    help="No trip and no stay goes over a longer time without samples.",
)
@_promise(
    "--epsilon", type=float, metavar="E", help="How much the table may tell about one unit; 1 is usual."
)
@_promise("--delta", type=float, default=1e-8, metavar="D", help="The chance that the promise fails.")
@_promise(
    "--unit",
    type=click.Choice(("person", "person-day")),
    default="person",
    help="What is protected: all that one person, or what counts as one, contributes over the whole period, "
    "or each local day of it by itself.",
)
@_promise(
    "--bound",
    type=float,
    metavar="B",
    help="The longest contribution of a unit, in people or trips a day: the root of the sum of the squares "
    "of its counts (L2), so one trip in each of 9 cells is 3. Never read it off the data. [default: from the "
    "table of bounds]",
)
@_promise("--ledger", type=PATH, metavar="FILE", help="Counts what all tables of these people cost (SQLite).")
@_promise("--people", metavar="NAME", help="Names the people of the ledger, e.g. 'subscribers 2024'.")
@_promise("--budget", type=float, metavar="E", help="Epsilon for all tables together; for a new ledger.")
@_promise(
    "--releases",
    type=click.IntRange(min=1),
    metavar="N",
    help="Spend an equal part of --budget, for N tables, in place of --epsilon.",
)
@_promise(
    "--research-seed",
    type=click.IntRange(min=0),
    metavar="S",
    help="Draw the same noise again; marks the table as not for publication.",
)
@click.option(
    "--engine", metavar="NAME", help="Workers: local, local:N, dask, spark, threads. [default: threads]"
)
@common.column_options
@common.config_option
@common.output_options
def tabulate(source: str, **options: Any) -> int:
    """Publish counts of people or trips, with a promise that a stranger can check.

    The table is differentially private for all that one person contributes; with INPUT it can be checked.
    """
    from shoal_tables.commands.tabulating import make, plan

    shown, reading = common.OutputOptions.take(options), common.take_reading(options)
    chosen = SimpleNamespace(**options)
    if chosen.planned:
        return plan(chosen, reading, shown)
    return make(source, chosen, reading, shown)


@click.command(
    cls=Command,
    examples=(
        ("shoal ledger ledger.sqlite --json", "each table as a row for the registry of DP deployments"),
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@common.output_options
def ledger(path: Path, **options: Any) -> int:
    """Print the epsilon that tables of a ledger spent.

    With --json, each table is a row for the registry of deployments of differential privacy.
    """
    from shoal_tables.making.ledger import Ledger, registry_rows
    from shoal_tables.making.promise import period_of

    shown = common.OutputOptions.take(options)
    rows, balance = registry_rows(path), Ledger(path, "").balance()
    lines = [
        f"epsilon {balance.spent:.3g} of {balance.budget:.3g} is spent for {period_of(balance.unit)} (delta "
        f"{balance.delta:g})",
        *(
            f"{row['deployment_date']}: {row['name']}, epsilon {row['privacy_loss']['epsilon']:.3g} for "
            f"{row['privacy_unit']}"
            for row in rows
        ),
    ]
    document = {"unit": balance.unit, "budget": balance.budget, "spent": balance.spent, "deployments": rows}
    print_result(shown.as_json, document, lines)
    return 0
