"""The command ``shoal tabulate``."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import date
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import click

from shoal.cli.options import (
    DURATION,
    LENGTH,
    PATH,
    UNITS,
    OutputOptions,
    column_options,
    config_option,
    input_argument,
    output_options,
    refuse_unused,
    take_reading,
)
from shoal.cli.sections import Command, Option
from shoal.cli.terminal import Bars, print_result

if TYPE_CHECKING:
    from shoal_tables.making.promise import ExpectedError
    from shoal_tables.making.rules import Rules
    from shoal_tables.making.zones import ZoneSet

_KINDS: Final = ("presence", "flows", "dwell", "homes")
_zone: Final = partial(click.option, cls=Option, section="Zones")
_when: Final = partial(click.option, cls=Option, section="Days and hours")
_what: Final = partial(click.option, cls=Option, section="Trips and stays")
_promise: Final = partial(click.option, cls=Option, section="The promise")


class Several(click.ParamType[tuple[Any, ...]]):
    """As many values with commas between them as an example has."""

    def __init__(self, name: str, parse: Callable[[str], Any], example: str) -> None:
        self.name, self._parse, self._example = name, parse, example

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        """The values; a usage error for other text."""
        try:
            values = tuple(self._parse(part.strip()) for part in str(value).split(","))
        except ValueError:
            values = ()
        if len(values) != self._example.count(",") + 1:
            self.fail(f"'{value}' is not understood; write {self._example}", param, ctx)
        return values


PERIOD: Final = Several("period", date.fromisoformat, "the first and the last day: 2024-01-01,2024-01-14")


def _with_equal_part(chosen: Any) -> None:
    """Take the epsilon of one of n tables."""
    from shoal_tables.making.promise import epsilon_of_each

    if chosen.budget is None or chosen.epsilon is not None:
        raise click.UsageError("--releases spends equal parts of --budget; give it, and no --epsilon")
    chosen.epsilon = epsilon_of_each(chosen.budget, chosen.releases, chosen.delta)


def _zones_of(chosen: Any, cells: str | None) -> "ZoneSet":
    """The zones of --grid, --h3, --zones or --cells."""
    from shoal_tables.making.zones import cell_zones, grid_zones, h3_zones, polygon_zones

    named = [name for name in ("grid", "h3", "zones") if getattr(chosen, name) is not None]
    if len(named) > 1:
        raise click.UsageError(f"--{named[0]} and --{named[1]} both make zones; give one of them")
    if chosen.zones is not None:
        return polygon_zones(chosen.zones, chosen.zone_name)
    if not named:
        if cells is None:
            raise click.UsageError(
                "say which zones to count in: --grid 2km, --h3 8, --zones FILE, or --cells FILE for "
                "records that name a cell"
            )
        return cell_zones(Path(cells))
    if chosen.area is None:
        raise click.UsageError(
            f"--{named[0]} needs --area W,S,E,N: zones are public, so the data must not decide where they end"
        )
    west, south, east, north = chosen.area
    if chosen.grid is not None:
        return grid_zones(chosen.grid, (west, south, east, north), chosen.plane)
    return h3_zones(int(chosen.h3 or 0), (west, south, east, north))


def _rules_of(chosen: Any, cells: str | None, time_zone: str | None) -> "Rules":
    """What is counted."""
    from shoal_tables.definition.manifest import Trips
    from shoal_tables.making.rules import (
        BY_ZONES,
        WHOLE_DAY,
        Rules,
        days_of,
        hours_of,
        read_calendar,
        slots_of,
    )

    if chosen.calendar is not None and chosen.days not in {"workday", "kinds"}:
        raise click.UsageError(
            f"--calendar says kinds of days, and --days {chosen.days} has none; choose workday or kinds"
        )
    if chosen.slot is not None and chosen.hours is not None:
        raise click.UsageError("--slot and --hours both divide the day; give one of them")
    hours = WHOLE_DAY
    if chosen.hours is not None:
        hours = hours_of(chosen.hours)
    elif chosen.slot is not None or chosen.kind == "presence":
        hours = slots_of(chosen.slot or 3600.0)
    calendar = None if chosen.calendar is None else read_calendar(chosen.calendar)
    first, last = chosen.period
    stays = Trips(
        definition="stays",
        radius_m=_whole("--stay-radius", chosen.stay_radius, "meters"),
        least_s=_whole("--least-stay", chosen.least_stay, "seconds"),
    )
    return Rules(
        table=chosen.kind,
        zones=_zones_of(chosen, cells),
        day_of=days_of(chosen.days, first, last, calendar),
        hours=hours,
        trips=stays if chosen.trips == "stays" else BY_ZONES,
        longest_gap_s=_whole("--longest-gap", chosen.longest_gap, "seconds"),
        unit=chosen.unit,
        time_zone=time_zone or "UTC",
    )


def _whole(option: str, value: float, unit: str) -> int:
    if value < 1 or value != int(value):
        raise click.UsageError(f"{option} {value:g} must be a whole number of {unit}, at least 1")
    return int(value)


def _require_use(chosen: Any) -> None:
    """Raise UsageError for an option without effect next to the others."""
    if chosen.grid is None and chosen.h3 is None:
        refuse_unused("without --grid or --h3", "area")
    if chosen.grid is None:
        refuse_unused("without --grid", "plane")
    if chosen.zones is None:
        refuse_unused("without --zones", "zone_name")
    if chosen.kind != "flows":
        refuse_unused(f"on {chosen.kind}", "trips")
    if chosen.kind != "flows" or chosen.trips != "stays":
        refuse_unused("without --kind flows --trips stays", "stay_radius", "least_stay")
    if chosen.kind not in {"presence", "flows"}:
        refuse_unused(f"on {chosen.kind}", "slot", "hours")
    if chosen.kind == "homes":
        refuse_unused("on homes", "days")


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
    epilog=UNITS,
)
@input_argument
@click.option(
    "--kind",
    type=click.Choice(_KINDS),
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
@_zone("--grid", type=LENGTH, metavar="LENGTH", help="Squares with this side, in --area.")
@_zone("--h3", type=click.IntRange(0, 15), metavar="N", help="H3 cells of this resolution, in --area.")
@_zone("--zones", type=PATH, metavar="FILE", help="Polygons: GeoJSON, GeoPackage, Shapefile, FlatGeobuf.")
@_zone("--zone-name", metavar="COLUMN", help="Column of --zones with names. [default: recognized]")
@_zone(
    "--area",
    type=Several("numbers", float, "for example 2.2,48.8,2.5,49"),
    metavar="W,S,E,N",
    help="Where zones lie, in degrees.",
)
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
@_when(
    "--slot", type=DURATION, metavar="DURATION", help="Equal slots of a day. [default: presence 1h, else 24h]"
)
@_when("--hours", metavar="LIST", help="Hours of the day, e.g. 6-10,10-16,16-20.")
@_what(
    "--trips",
    type=click.Choice(("zones", "stays")),
    default="zones",
    help="zones: from a sample's zone to the next sample's (call records); stays: from stay to stay (GPS).",
)
@_what("--stay-radius", type=LENGTH, default="200m", metavar="LENGTH", help="How far a stay reaches.")
@_what(
    "--least-stay", type=DURATION, default="15min", metavar="DURATION", help="How long a stay lasts at least."
)
@_what(
    "--longest-gap",
    type=DURATION,
    default="4h",
    metavar="DURATION",
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
    help="Who is protected: a person over the whole period, or each local day of a person by itself.",
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
@column_options
@config_option
@output_options
def tabulate(source: str, **options: Any) -> int:
    """Publish counts of people or trips, with a promise that a stranger can check.

    The table is differentially private for all that one person contributes; with INPUT it can be checked.
    """
    shown, reading = OutputOptions.take(options), take_reading(options)
    chosen = SimpleNamespace(**options)
    if chosen.releases is not None:
        _with_equal_part(chosen)
    _require_use(chosen)
    rules = _rules_of(chosen, reading.get("cells"), reading.get("time_zone"))
    if chosen.planned:
        return _plan(rules, chosen, shown)
    return _make(source, rules, chosen, reading, shown)


def _plan(rules: "Rules", chosen: Any, shown: OutputOptions) -> int:
    from shoal_tables.making.calibration import Calibration, Privacy
    from shoal_tables.making.promise import EPSILONS, error_in_words, expected_error

    asked = EPSILONS if chosen.epsilon is None else (chosen.epsilon,)
    plans = [
        Calibration(rules=rules, privacy=Privacy(epsilon=epsilon, delta=chosen.delta, bound=chosen.bound))
        for epsilon in asked
    ]
    errors = [expected_error(plan.promise("")) for plan in plans]
    bound = plans[0].sensitivity / plans[0].granularity
    lines = [
        f"{rules.n_cells:,} cells of {rules.table}; nothing was read or spent",
        f"bound: {bound:g} in L2 for one unit, as of one count in each of {bound**2:.1f} cells; what it "
        "takes away is put back in all, not in each cell",
        *map(error_in_words, errors),
    ]
    document = _document(rules, errors)
    print_result(shown.as_json, document, lines)
    return 0


def _document(rules: "Rules", errors: "list[ExpectedError]") -> dict[str, Any]:
    """A plan, which has no folder and spends nothing."""
    return {
        "folder": None,
        "table": rules.table,
        "cells": rules.n_cells,
        "cells_shown": None,
        "promises": list(map(asdict, errors)),
        "spent": None,
        "budget": None,
        "publishable": None,
    }


def _make(source: str, rules: "Rules", chosen: Any, reading: dict[str, Any], shown: OutputOptions) -> int:
    from shoal.model.intake import Reading
    from shoal.runtime.randomness import Randomness
    from shoal.runtime.run import Run
    from shoal.scale.engines import engine_of
    from shoal_tables.making.calibration import Privacy
    from shoal_tables.making.ledger import Ledger
    from shoal_tables.making.promise import error_in_words, expected_error, promise_in_words
    from shoal_tables.making.tabulate import tabulate

    if chosen.epsilon is None or chosen.output is None or chosen.secret is None:
        missing = [name for name in ("epsilon", "output", "secret") if getattr(chosen, name) is None]
        raise click.UsageError(f"--{missing[0]} is needed (or --plan)")
    if (chosen.ledger is None) != (chosen.people is None):
        raise click.UsageError(
            "--ledger and --people belong together: the ledger counts what one group of people spends"
        )
    if chosen.budget is not None and chosen.ledger is None:
        raise click.UsageError("--budget is the budget of a --ledger; name its file")
    seed, ledger = chosen.research_seed, None
    if chosen.ledger is not None:
        ledger = Ledger(chosen.ledger, chosen.people or "", chosen.budget)
    privacy = Privacy(
        epsilon=chosen.epsilon,
        delta=chosen.delta,
        bound=chosen.bound,
        ledger=ledger,
        rng=None if seed is None else Randomness.for_research(seed),
    )
    with Bars(quiet=shown.quiet) as bars:
        made = tabulate(
            source,
            rules,
            privacy,
            chosen.output,
            secret=chosen.secret,
            reading=Reading(**reading),
            run=Run(progress=bars),
            engine=None if chosen.engine is None else engine_of(chosen.engine),
        )
        for note in made.notes:
            bars.say(f"note: {note}")
        if ledger is None:
            bars.say("note: no --ledger, so nothing counts what further tables of these people cost")
    promise = made.manifest.promise
    error = expected_error(promise)
    balance = None if ledger is None else ledger.balance()
    lines = [
        f"{chosen.output}: {rules.n_cells:,} cells of {rules.table}; {made.shown_cells:,} are certain "
        "enough to show",
        promise_in_words(promise.epsilon, promise.delta, rules.unit),
        error_in_words(error),
        *(
            []
            if balance is None
            else [f"ledger: epsilon {balance.spent:.3g} of {balance.budget:.3g} is spent"]
        ),
        f"{chosen.secret}: the counts before noise; keep it as safe as the raw data",
        *(["not for publication: made with a research seed"] if not made.manifest.publishable else []),
    ]
    document = _document(rules, [error]) | {
        "folder": str(chosen.output),
        "cells_shown": made.shown_cells,
        "spent": None if balance is None else balance.spent,
        "budget": None if balance is None else balance.budget,
        "publishable": made.manifest.publishable,
    }
    print_result(shown.as_json, document, lines)
    return 0


@click.command(
    cls=Command,
    examples=(
        ("shoal ledger ledger.sqlite --json", "each table as a row for the registry of DP deployments"),
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@output_options
def ledger(path: Path, **options: Any) -> int:
    """Print the epsilon that tables of a ledger spent.

    With --json, each table is a row for the registry of deployments of differential privacy.
    """
    from shoal_tables.making.ledger import Ledger, registry_rows

    shown = OutputOptions.take(options)
    rows, balance = registry_rows(path), Ledger(path, "").balance()
    lines = [
        f"epsilon {balance.spent:.3g} of {balance.budget:.3g} is spent (delta {balance.delta:g}, unit "
        f"{balance.unit})",
        *(
            f"{row['deployment_date']}: {row['name']}, epsilon {row['privacy_loss']['epsilon']:.3g}"
            for row in rows
        ),
    ]
    document = {"unit": balance.unit, "budget": balance.budget, "spent": balance.spent, "deployments": rows}
    print_result(shown.as_json, document, lines)
    return 0
