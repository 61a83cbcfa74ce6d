"""The row of the ledger that paid for a table, and what all its rows cost together."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.model.verdicts import Finding
from shoal.release_folder.files import require_plain_file
from shoal_tables.definition.manifest import TableManifest
from shoal_tables.verification.promise import epsilon_of, rho_of

_PAID = "SELECT kind, unit, sigma, sensitivity, granularity, counts_sha256, rho FROM tables WHERE entry = ?"


def ledger_findings(path: Path, manifest: TableManifest) -> Iterator[Finding]:
    """Find a table that the ledger does not know, and a ledger that spent more than its budget.

    Raises
    ------
    InputError
        When the file is no ledger.
    """
    if manifest.ledger is None:
        yield Finding("not-in-ledger", "the manifest names no entry of a ledger")
        return
    require_plain_file(path)
    try:
        with closing(sqlite3.connect(f"file:{path.resolve().as_posix()}?mode=ro", uri=True)) as connection:
            people = connection.execute("SELECT digest, unit, budget, delta FROM people").fetchall()
            paid = connection.execute(_PAID, (manifest.ledger.entry,)).fetchall()
            costs = connection.execute("SELECT rho, sigma, sensitivity FROM tables").fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be read as a ledger of tables") from error
    if len(people) != 1 or people[0][0] != manifest.ledger.people:
        yield Finding("other-people", "the ledger belongs to other people than the table")
        return
    yield from _entry_findings(paid, manifest, people[0][1])
    yield from _total_findings(people[0], costs)


def _entry_findings(paid: list[Any], manifest: TableManifest, unit: str) -> Iterator[Finding]:
    promise = manifest.promise
    expected = (
        manifest.table,
        manifest.unit,
        promise.sigma,
        promise.sensitivity,
        promise.granularity,
        manifest.counts_sha256,
    )
    if not paid:
        yield Finding("not-in-ledger", "the ledger has no entry for this table")
    elif tuple(paid[0][:6]) != expected or paid[0][6] < _cost(manifest, unit) * (1 - 1e-9):
        yield Finding("ledger-differs", "the ledger's entry paid for another draw, noise, unit or bound")


def _cost(manifest: TableManifest, unit: str) -> float:
    """Rho for the ledger's unit: a person has all dates of the table, which share cells or do not."""
    counts, totals = rho_of(manifest.promise.sensitivity, manifest.promise.sigma), manifest.promise.totals
    both = 0.0 if totals is None else rho_of(totals.sensitivity, totals.sigma)
    if (unit, manifest.unit) != ("person", "person-day"):
        return counts + both
    dates = len(manifest.day_of)
    apart = len(set(manifest.day_of.values())) == dates
    return counts * dates ** (1 if apart else 2) + both * dates**2


def _total_findings(people: Any, costs: list[Any]) -> Iterator[Finding]:
    _, _, budget, delta = people
    if any(rho < rho_of(sensitivity, sigma) * (1 - 1e-9) for rho, sigma, sensitivity in costs):
        yield Finding(
            "ledger-differs", "an entry of the ledger costs less than its own sigma and sensitivity"
        )
    total = sum(rho for rho, _, _ in costs)
    epsilon = epsilon_of(total, delta) if total else 0.0
    if epsilon > budget * (1 + 1e-6):
        yield Finding(
            "over-budget", f"all tables in the ledger cost epsilon {epsilon:.4g}; the budget is {budget:.4g}"
        )
