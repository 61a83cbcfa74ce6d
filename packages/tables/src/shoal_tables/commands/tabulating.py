"""What ``shoal tabulate`` does with its options."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from shoal.cli.options import OutputOptions, refuse_unused
from shoal.cli.terminal import Bars, print_result
from shoal.model.intake import Reading
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.scale.engines import engine_of
from shoal.units import DAY_S, HOUR_S
from shoal_tables.definition.manifest import EACH_TRIP, MEASURED, Trips
from shoal_tables.making import promise as promises
from shoal_tables.making.calibration import Privacy, promise_of
from shoal_tables.making.ledger import Ledger
from shoal_tables.making.rules import BY_ZONES, Rules, days_of, hours_of, slots_of
from shoal_tables.making.tabulate import tabulate
from shoal_tables.making.zones import ZoneSet, cell_zones, grid_zones, h3_zones, polygon_zones

OF_PEOPLE: Final = (
    "note: this bound was measured on people with phones; vehicles make more trips a day, of which it takes "
    "most away: give a --bound from what is publicly known of them"
)

OF_CALLS: Final = (
    "note: a trip goes from the zone of one sample to that of the next, as suits call records; of GPS, each "
    "zone on the way would end a trip: take --trips stays"
)


def plan(chosen: Any, reading: dict[str, Any], shown: OutputOptions) -> int:
    """Print the expected error; read and spend nothing."""
    rules = _rules_of(chosen, reading)
    plans = [
        Privacy(epsilon=epsilon, delta=chosen.delta, bound=chosen.bound)
        for epsilon in (promises.EPSILONS if chosen.epsilon is None else (chosen.epsilon,))
    ]
    errors = [promises.expected_error(promise_of(rules, privacy)) for privacy in plans]
    usual = min(plans, key=lambda one: abs(one.epsilon - 1))
    first = promise_of(rules, usual)
    bound = first.bound
    as_of = (
        f"one count in each of {bound**2:.1f} cells" if bound > 1 else f"{bound:.3g} of a count in one cell"
    )
    lines = [
        f"{rules.n_cells:,} cells of {rules.table}; nothing was read or spent",
        f"bound: {bound:g} in L2 for one unit, as of {as_of}; what it takes away is put back in all, not in "
        "each cell, and makes the errors larger than these",
        *(promises.error_in_words(error, rules.table) for error in errors),
        f"with epsilon {usual.epsilon:.3g}, {promises.needs_in_words(first, rules.n_cells, rules.table)}",
    ]
    one_trip = promise_of(rules, plans[0], unit_of_protection=EACH_TRIP).bound
    if one_trip != bound and reading.get("id") is None:
        lines.append(
            f"of trips whose people nobody knows, each counts as one person: the bound is {one_trip:.3g} "
            f"instead, and the errors are {bound / one_trip:.3g} times smaller"
        )
    if first.bound_source == MEASURED and rules.table != "homes":
        lines.append(OF_PEOPLE)
    if rules.table == "flows" and rules.trips == BY_ZONES:
        lines.append(OF_CALLS)
    cautions = _drowned(rules, usual, reading)
    lines += [f"caution: {caution}" for caution in cautions]
    print_result(shown.as_json, _document(rules, errors, cautions), lines, cautions=cautions)
    return 0


def make(source: str, chosen: Any, reading: dict[str, Any], shown: OutputOptions) -> int:
    """Write a table, and print what it promises."""
    rules = _rules_of(chosen, reading)
    for name in ("epsilon", "output", "secret"):
        if getattr(chosen, name) is None:
            raise click.UsageError(f"--{name} is needed (or --plan)")
    if (chosen.ledger is None) != (chosen.people is None):
        raise click.UsageError(
            "--ledger and --people belong together: the ledger counts what one group of people spends"
        )
    if chosen.budget is not None and chosen.ledger is None:
        raise click.UsageError("--budget is the budget of a --ledger; name its file")
    seed = chosen.research_seed
    ledger = None if chosen.ledger is None else Ledger(chosen.ledger, chosen.people, chosen.budget)
    rng = None if seed is None else Randomness.for_research(seed)
    privacy = Privacy(epsilon=chosen.epsilon, delta=chosen.delta, bound=chosen.bound, ledger=ledger, rng=rng)
    cautions = _drowned(rules, privacy, reading)
    with Bars(quiet=shown.quiet) as bars:
        if (cautions or ledger is not None) and bars.can_ask and not (shown.as_json or shown.quiet):
            planned = promise_of(rules, privacy)
            needs = promises.needs_in_words(planned, rules.n_cells, rules.table)
            for line in (
                *cautions,
                promises.error_in_words(promises.expected_error(planned), rules.table),
                needs,
            ):
                bars.say(line)
            if not bars.ask(f"spend epsilon {planned.epsilon:.3g} on this table?"):
                raise click.Abort
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
    manifest, promise = made.manifest, made.manifest.promise
    error = promises.expected_error(promise)
    lines = [
        *(f"caution: {caution}" for caution in made.cautions),
        f"{chosen.output}: {rules.n_cells:,} cells of {rules.table}; {made.shown_cells:,} are certain "
        "enough to show",
        promises.promise_in_words(promise.epsilon, promise.delta, rules.unit, manifest.unit_of_protection),
        promises.error_in_words(error, rules.table),
    ]
    about: dict[str, Any] = {"folder": str(chosen.output), "cells_shown": made.shown_cells}
    if ledger is not None:
        balance = ledger.balance()
        about |= {"spent": balance.spent, "budget": balance.budget}
        lines.append(f"ledger: epsilon {balance.spent:.3g} of {balance.budget:.3g} is spent")
    lines.append(f"{chosen.secret}: the counts before noise; keep it as safe as the raw data")
    if not manifest.publishable:
        lines.append("not for publication: made with a research seed")
    document = _document(rules, [error], made.cautions, publishable=manifest.publishable, **about)
    print_result(shown.as_json, document, lines, cautions=made.cautions)
    return 0


def _drowned(rules: Rules, privacy: Privacy, reading: dict[str, Any]) -> tuple[str, ...]:
    """The caution of a plan whose noise drowns the counts, whatever one unit turns out to be."""
    unit = EACH_TRIP if reading.get("id") is None else ""
    return promises.drowned(promise_of(rules, privacy, unit_of_protection=unit), rules.table)


def _document(
    rules: Rules, errors: list[promises.ExpectedError], cautions: tuple[str, ...], **made: Any
) -> dict[str, Any]:
    """A plan has no folder and spends nothing; made: what else a table has."""
    order = ("folder", "table", "cells", "cells_shown", "promises", "spent", "budget", "publishable")
    stated = {"table": rules.table, "cells": rules.n_cells, "promises": list(map(asdict, errors))}
    return dict.fromkeys(order) | stated | made | {"cautions": list(cautions)}


def _rules_of(chosen: Any, reading: dict[str, Any]) -> Rules:
    """What is counted; the epsilon of one of several tables becomes the chosen one."""
    if chosen.releases is not None:
        if chosen.budget is None or chosen.epsilon is not None:
            raise click.UsageError("--releases spends equal parts of --budget; give it, and no --epsilon")
        chosen.epsilon = promises.epsilon_of_each(chosen.budget, chosen.releases, chosen.delta)
    _require_use(chosen)
    if chosen.calendar is not None and chosen.days not in {"workday", "kinds"}:
        raise click.UsageError(
            f"--calendar says kinds of days, and --days {chosen.days} has none; choose workday or kinds"
        )
    if chosen.slot is not None and chosen.hours is not None:
        raise click.UsageError("--slot and --hours both divide the day; give one of them")
    slot = chosen.slot or (HOUR_S if chosen.kind == "presence" else DAY_S)
    hours = slots_of(slot) if chosen.hours is None else hours_of(chosen.hours)
    first, last = chosen.period
    stays = Trips(
        definition="stays",
        radius_m=_whole("--stay-radius", chosen.stay_radius, "meters"),
        least_s=_whole("--least-stay", chosen.least_stay, "seconds"),
    )
    zones = _zones_of(chosen, reading.get("cells"))
    if chosen.weights is not None:
        zones = zones.weighted_by(chosen.weights)
    if chosen.nested is not None:
        zones = zones.nested_by(chosen.nested)
    return Rules(
        table=chosen.kind,
        zones=zones,
        day_of=days_of(chosen.days, first, last, chosen.calendar),
        hours=hours,
        trips=stays if chosen.trips == "stays" else BY_ZONES,
        longest_gap_s=_whole("--longest-gap", chosen.longest_gap, "seconds"),
        unit=chosen.unit,
        time_zone=reading.get("time_zone") or "UTC",
    )


def _require_use(chosen: Any) -> None:
    """Raise UsageError for an option without effect next to the others."""
    between_stays = chosen.kind == "flows" and chosen.trips == "stays"
    for has_effect, why, *names in (
        (chosen.grid is not None or chosen.h3 is not None, "without --grid or --h3", "area"),
        (chosen.grid is not None, "without --grid", "plane"),
        (chosen.zones is not None, "without --zones", "zone_name"),
        (chosen.kind == "flows", f"on {chosen.kind}", "trips"),
        (between_stays, "without --kind flows --trips stays", "stay_radius", "least_stay"),
        (chosen.kind in {"presence", "flows"}, f"on {chosen.kind}", "slot", "hours"),
        (chosen.kind != "homes", "on homes", "days"),
    ):
        if not has_effect:
            refuse_unused(why, *names)


def _whole(option: str, value: float, unit: str) -> int:
    if value < 1 or value != int(value):
        raise click.UsageError(f"{option} {value:g} must be a whole number of {unit}, at least 1")
    return int(value)


def _zones_of(chosen: Any, cells: str | None) -> ZoneSet:
    """The zones of --grid, --h3, --zones or --cells."""
    named = [name for name in ("grid", "h3", "zones") if getattr(chosen, name) is not None]
    if len(named) > 1:
        raise click.UsageError(f"--{named[0]} and --{named[1]} both make zones; give one of them")
    if chosen.zones is not None:
        return polygon_zones(chosen.zones, chosen.zone_name)
    if not named:
        if cells is None:
            raise click.UsageError(
                "say which zones to count in: --grid 2km, --h3 8, --zones FILE, or --cells FILE for "
                "rows that name a cell"
            )
        return cell_zones(Path(cells))
    if chosen.area is None:
        raise click.UsageError(
            f"--{named[0]} needs --area W,S,E,N: zones are public, so the data must not decide where they end"
        )
    if chosen.grid is not None:
        return grid_zones(chosen.grid, chosen.area, chosen.plane)
    return h3_zones(chosen.h3, chosen.area)
