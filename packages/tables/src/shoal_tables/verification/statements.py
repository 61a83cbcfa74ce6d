"""Statements of a manifest, against each other, against its arithmetic, and against the ledger that paid."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from functools import lru_cache
from itertools import pairwise
from math import ceil, exp, isqrt, lcm, log, log1p, sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import optimize, special

from shoal.errors import InputError
from shoal.model.intake import Reading
from shoal.release_folder.files import require_plain_file
from shoal.runtime.arrays import Floats
from shoal_tables.definition import manifest as terms
from shoal_tables.definition.manifest import TableManifest
from shoal_tables.verification.contributions import dates_per_day
from shoal_tables.verification.finding_kinds import Finding, FindingKind

_NEAR: Final = 1e-3  # far more than a sum over whole numbers and its integral differ by


def rho_of(sensitivity: int, sigma: int) -> float:
    """The cost in zero-concentrated differential privacy (Bun and Steinke 2016; Canonne et al. 2020)."""
    return sensitivity**2 / (2 * sigma**2)


def epsilon_of(rho: float, delta: float) -> float:
    """The least epsilon that rho gives at delta (Canonne, Kamath and Steinke 2020, proposition 7)."""

    def epsilon(log_above: float) -> float:
        above = exp(log_above)  # the order less 1
        order = 1 + above
        return order * rho + (order * log1p(-1 / order) - log(above) - log(delta)) / above

    how: dict[str, Any] = {"method": "bounded", "options": {"xatol": 1e-10}}
    starts = np.arange(-20.0, 20.0, 2.0).tolist()
    best = min(optimize.minimize_scalar(epsilon, bounds=(low, low + 4), **how).fun for low in starts)
    return max(float(best), 0.0)


def delta_of_gaussian(epsilon: float, ratio: float) -> float:
    """The least delta of Gaussian noise whose sensitivity is ``ratio`` times sigma (Balle and Wang 2018)."""
    first = special.ndtr(ratio / 2 - epsilon / ratio)
    second = exp(epsilon + float(special.log_ndtr(-ratio / 2 - epsilon / ratio)))
    return float(first - second)


@lru_cache(maxsize=2)
def tails(sigma: int) -> tuple[Floats, Floats]:
    """P(N = n) and P(N >= n) of the discrete Gaussian for n = 0, 1, ... as far as doubles reach."""
    n = np.arange(min(39 * sigma + 2, 20_000_000), dtype=np.float64)
    mass = np.exp(-((n / sigma) ** 2) / 2)
    total = mass[0] + 2 * mass[1:].sum()
    mass /= total
    return mass, np.cumsum(mass[::-1])[::-1]


def least_half_width(sigma: int, coverage: float) -> tuple[int, int]:
    """The least h with P(|N| <= h) >= coverage, from below and from above by what rounding may change."""
    if sigma > 100_000:
        width = float(special.ndtri((1 + coverage) / 2)) * sigma - 0.5
        return ceil(width - _NEAR), ceil(width + _NEAR)
    mass, _ = tails(sigma)
    inside = mass[0] + 2 * np.concatenate([[0], np.cumsum(mass[1:])])
    return int(np.argmax(inside >= coverage - 1e-12)), int(np.argmax(inside >= coverage + 1e-12))


def guessing_share(epsilon: float, delta: float) -> float:
    """The largest share of right guesses about a coin's toss of membership (Kairouz et al. 2015)."""
    return min((exp(epsilon) + delta) / (1 + exp(epsilon)), 1.0)


Statement = tuple[Any, FindingKind, str]  # whether it is wrong, the kind of its finding, and the words
_FINEST: Final = 1 << 30
_OF_ALL_ZONES: Final = {"kind", "n_zones", "crs", "weights", "nested"}
_OF_ZONES: Final = {
    "grid": {"side_m", "x0", "y0", "columns", "rows"},
    "h3": {"resolution"},
    "polygons": {"source", "source_sha256"},
    "cells": {"source", "source_sha256"},
}
"""The fields of zones that each kind has, beside those of all kinds."""
_OF_TRIPS: Final = {terms.OF_ONE_TRIP: (1, ("flows",)), terms.OF_TWO_ENDS: (2, ("presence", "dwell"))}
"""By the source of a bound of trips: the most cells in which a trip counts, and in which tables."""
_OPENDP: Final = re.compile(r"opendp [0-9.]{1,20}")


def statement_findings(manifest: TableManifest) -> Iterator[Finding]:
    """Find statements that contradict each other, or that no promise can rest on."""
    for part in (_of_counting, _of_budget, _of_sources):
        yield from (Finding(kind, words) for is_wrong, kind, words in part(manifest) if is_wrong)


def _of_counting(manifest: TableManifest) -> Iterator[Statement]:
    """The reading, the days, the hours, and the granularity."""
    reading = Reading(**manifest.reading)
    words = (
        "people were left out by the number of their samples or days beside those of the data; one person's "
        "samples then decide about others"
    )
    yield reading.min_samples_per_day or reading.min_active_days, "reading-depends-on-others", words
    words = "days were read as people of their own, but the stated unit is the person"
    yield reading.per_day and manifest.unit == "person", "unit-differs", words
    is_fine = (reading.cell_m, reading.slot_s, reading.snap) == (1.0, 1.0, True)
    yield not is_fine, "reading-differs", "the data were not read in whole meters and seconds"
    n_days = (manifest.last_day - manifest.first_day).days + 1
    yield n_days < 1, "days-differ", "the period ends before it begins"
    expected = {manifest.first_day + timedelta(days=day) for day in range(n_days)}
    ends, stated = {manifest.first_day, manifest.last_day}, set(manifest.day_of)
    only_workdays = set(manifest.day_of.values()) == {terms.WORKDAY} and ends <= stated <= expected
    words = "the days of the cells are not those of the dates of the period"
    yield manifest.table != "homes" and not only_workdays and stated != expected, "days-differ", words
    hours = sorted(manifest.hours)
    overlap = any(begin >= end for begin, end in hours) or any(a[1] > b[0] for a, b in pairwise(hours))
    yield overlap, "hours-overlap", "hours overlap or end before they begin; a person would count twice"
    yield "hour" in manifest.columns and not hours, "hours-overlap", "the table has no hours"
    granularity = manifest.promise.granularity
    wrong = granularity % lcm(*dates_per_day(manifest)) or granularity > _FINEST
    words = "the granularity is no multiple of the numbers of dates of the days, or too fine to count in"
    yield wrong, "granularity-differs", words


def _of_budget(manifest: TableManifest) -> Iterator[Statement]:
    promise, totals = manifest.promise, manifest.promise.totals
    rho = _cost(manifest, manifest.unit)
    wrong_totals = totals is not None and totals.sensitivity != isqrt(2 * totals.most**2) + 1
    yield wrong_totals, "budget-differs", "the sensitivity of the totals is not what one unit can change"
    words = f"sensitivities and sigmas cost rho {rho:.6g}; stated is {promise.rho:.6g}"
    yield abs(promise.rho - rho) > 1e-9 * rho, "budget-differs", words
    words = f"delta {promise.delta:.3g} allows the promise to fail altogether"
    yield promise.delta > terms.MOST_DELTA, "budget-differs", words
    epsilon = epsilon_of(rho, promise.delta)
    words = f"this noise gives epsilon {epsilon:.4g} at the stated delta; stated is {promise.epsilon:.4g}"
    yield abs(promise.epsilon - epsilon) > 1e-6 * epsilon, "budget-differs", words
    delta = delta_of_gaussian(promise.epsilon, sqrt(2 * rho))
    words = "the stated epsilon needs a larger delta with this noise"
    yield delta > promise.delta * (1 + 1e-6), "budget-differs", words
    low, high = least_half_width(promise.sigma, terms.COVERAGE)
    words = f"intervals of {100 * terms.COVERAGE:g} % need another half_width than stated"
    yield not low <= promise.half_width <= high, "interval-differs", words


def _of_sources(manifest: TableManifest) -> Iterator[Statement]:
    """Where noise, bound and zones are from; what decides nothing in such a table, or cannot count."""
    sampler, from_opendp = manifest.promise.sampler, bool(_OPENDP.fullmatch(manifest.promise.sampler))
    wrong = manifest.publishable != from_opendp or not (manifest.publishable or sampler == terms.STAND_IN)
    yield wrong, "sampler-differs", "a table for publication has noise of OpenDP, and no other one has"
    words = "the bound comes from elsewhere than from the publisher or from shoal"
    source = manifest.promise.bound_source
    yield source not in (terms.CHOSEN, terms.MEASURED, *_OF_TRIPS), "bound-differs", words
    words = "the bound is not what one trip adds at most, or a unit is something else than one trip"
    yield source in _OF_TRIPS and not _is_of_one_trip(manifest), "bound-differs", words
    words = "zones and samples are not both on the earth or both in local meters"
    yield (manifest.plane is None) != (manifest.zones.crs is None), "zones-differ", words
    stated = manifest.zones.model_dump(exclude=_OF_ALL_ZONES, exclude_none=True)
    words = f"zones of the kind {manifest.zones.kind} state something else"
    yield stated.keys() != _OF_ZONES[manifest.zones.kind], "zones-differ", words
    trips, homes, flows = manifest.trips, manifest.table == "homes", manifest.table == "flows"
    for_stays = trips is not None and trips.definition == "zones" and (trips.radius_m or trips.least_s)
    words = "a trip is defined in flows alone, its stays where it goes between them"
    yield (trips is not None) != flows or for_stays, "trips-differ", words
    words = "hours, days or totals are stated that such a table has none of"
    yield manifest.hours and "hour" not in manifest.columns, "days-differ", words
    yield homes and (manifest.day_of or manifest.promise.totals), "days-differ", words
    words = "a table of homes counts people, and its unit is not the person"
    yield homes and manifest.unit != "person", "unit-differs", words


def _is_of_one_trip(manifest: TableManifest) -> bool:
    """Whether units are trips, and the bound is the least that cuts none on the day of fewest dates."""
    cells, tables = _OF_TRIPS[manifest.promise.bound_source]
    if manifest.table not in tables or manifest.unit_of_protection != terms.EACH_TRIP or not manifest.day_of:
        return False
    fewest, bound = min(dates_per_day(manifest)), manifest.promise.sensitivity
    granularity, nested = manifest.promise.granularity, manifest.zones.nested
    noise = nested.noise if nested else 1
    longest = (cells * noise**2 + (cells**2 if nested else 0)) * granularity**2
    return ((bound - 1) * fewest * noise) ** 2 < longest <= (bound * fewest * noise) ** 2


def ledger_findings(path: Path, manifest: TableManifest) -> Iterator[Finding]:
    """Find a table that the ledger does not know, and a ledger that spent more than its budget."""
    if manifest.ledger is None:
        yield Finding("not-in-ledger", "the manifest names no entry of a ledger")
        return
    require_plain_file(path)
    try:
        with closing(sqlite3.connect(f"file:{path.resolve().as_posix()}?mode=ro", uri=True)) as connection:
            people = connection.execute("SELECT digest, unit, budget, delta FROM people").fetchall()
            connection.row_factory = sqlite3.Row
            costs = [dict(row) for row in connection.execute("SELECT * FROM tables")]
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be read as a ledger of tables") from error
    if len(people) != 1 or people[0][0] != manifest.ledger.people:
        yield Finding("other-people", "the ledger belongs to other people than the table")
        return
    units = {row.get("unit_of_protection") for row in costs}
    if units - {None, manifest.unit_of_protection}:  # tables of older versions did not say theirs
        yield Finding("unit-differs", "the ledger adds up tables of other units than this one")
    paid = [row for row in costs if row["entry"] == manifest.ledger.entry]
    _, unit, budget, delta = people[0]
    stated = manifest.promise.model_dump(include={"sigma", "sensitivity", "granularity"})
    stated |= {"kind": manifest.table, "unit": manifest.unit, "counts_sha256": manifest.counts_sha256}
    if not paid:
        yield Finding("not-in-ledger", "the ledger has no entry for this table")
    elif not stated.items() <= paid[0].items() or paid[0]["rho"] < _cost(manifest, unit) * (1 - 1e-9):
        yield Finding("ledger-differs", "the ledger's entry paid for another draw, noise, unit or bound")
    if any(row["rho"] < rho_of(row["sensitivity"], row["sigma"]) * (1 - 1e-9) for row in costs):
        words = "an entry of the ledger costs less than its own sigma and sensitivity"
        yield Finding("ledger-differs", words)
    total = sum(row["rho"] for row in costs)
    epsilon = epsilon_of(total, delta) if total else 0.0
    if epsilon > budget * (1 + 1e-6):
        words = f"all tables in the ledger cost epsilon {epsilon:.4g}; the budget is {budget:.4g}"
        yield Finding("over-budget", words)


def _cost(manifest: TableManifest, unit: str) -> float:
    """Rho for the ledger's unit: a person has all dates of the table, which share cells or do not."""
    counts, totals = rho_of(manifest.promise.sensitivity, manifest.promise.sigma), manifest.promise.totals
    both = 0.0 if totals is None else rho_of(totals.sensitivity, totals.sigma)
    if (unit, manifest.unit) != ("person", "person-day"):
        return counts + both
    dates = len(manifest.day_of)
    apart = len(set(manifest.day_of.values())) == dates
    return counts * dates ** (1 if apart else 2) + both * dates**2
