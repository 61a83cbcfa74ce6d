"""From raw data to a folder with a table: read, tally, spend, draw noise, write."""

import shutil
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
from pyarrow import Table
from pydantic import ValidationError

from shoal.errors import InputError, MisuseError, mistake_in_words
from shoal.io.disk.storing import store_people
from shoal.measures.query import batches_of_records
from shoal.model.intake import Intake, Reading
from shoal.model.people_on_disk import StoredPeople
from shoal.runtime.arrays import Integers
from shoal.runtime.checkpoint import locked_folder
from shoal.runtime.files import local_path
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Engine, Run, run_tasks
from shoal.runtime.staging import partial_name, report_partials, require_absent, staged_file, staged_folder
from shoal.units import percent, show_m, show_s
from shoal.version import __version__
from shoal_tables.definition.manifest import COLUMNS, Files, Kind, Promise, TableManifest
from shoal_tables.making import folder as files
from shoal_tables.making.calibration import Privacy, add_noise, cost_of, promise_of, sampler_name
from shoal_tables.making.contributions import Tally, tally
from shoal_tables.making.promise import drowned, ways_out
from shoal_tables.making.record import record_page
from shoal_tables.making.rules import Rules

SAMPLES_PER_TASK: Final = 2_000_000

_MUCH: Final = 0.2  # of what is counted, from which on the publisher is told that the bound takes it away
_MOST: Final = 0.5  # from which on no budget is spent with a bound that nobody chose
_LITTLE: Final = 0.5  # of what is counted: cells that show less of it make a table that says little


@dataclass(frozen=True, kw_only=True)
class Tabulation:
    """The result of ``tabulate``.

    Parameters
    ----------
    folder : Path
        The folder to publish.
    manifest : TableManifest
        What it states.
    shown_cells : int
        How many cells are certain enough to show.
    notes : tuple of str
        What the publisher should know; as secret as the raw data.
    cautions : tuple of str
        Why the table is of little use; they follow from the plan and the table, so they cost nothing.
    """

    folder: Path
    manifest: TableManifest
    shown_cells: int
    notes: tuple[str, ...]
    cautions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Exact sums before noise, int64 [cells], and the totals [2], with facts about the raw data: secret."""

    counts: Integers
    totals: Integers
    promise: Promise  # for the unit that the reader found
    intake: Intake
    notes: tuple[str, ...]


def tabulate(
    source: object,
    rules: Rules,
    privacy: Privacy,
    output: Path | str,
    *,
    secret: Path | str,
    reading: Reading | None = None,
    run: Run | None = None,
    engine: Engine | None = None,
) -> Tabulation:
    """Write a folder with a table of counts or flows, complete or not at all.

    Parameters
    ----------
    source : path, text or frame
        The raw data, as ``shoal.read`` takes it.
    rules : Rules
        What is counted: zones, days, hours, trips, unit.
    privacy : Privacy
        How much the table may tell about one unit, the ledger, and the source of the noise.
    output : Path
        The folder to write; it must not exist yet.
    secret : Path
        The file for the counts before noise, outside ``output``: as secret as the raw data.
    reading : Reading or None
        How to read the source: columns and formats; the plane and the grid are those of the rules.
    run : Run or None
        Where progress is reported, and how many threads may work.
    engine : Engine or None
        Carries out the tasks; None = this process.

    Returns
    -------
    Tabulation
        The folder with its manifest.

    Raises
    ------
    MisuseError
        For rules, a bound or a ledger that cannot work, or a budget that is used up; no noise was drawn.
    InputError
        When the source cannot be read; or with a ledger, when all would be noise. Nothing was spent.
    OutputError
        When a target exists or cannot be written.
    MissingExtraError
        Without OpenDP, unless the noise has a research seed.

    Examples
    --------
    >>> import shoal, tempfile
    >>> from datetime import date
    >>> from shoal_tables import Privacy, Rules, days_of, grid_zones, tabulate
    >>> calls = shoal.synthesize(n_subjects=50, days=2, seed=1)
    >>> rules = Rules(table="homes", zones=grid_zones(10_000, (-5.2, 6.8, -4.8, 7.2)),
    ...               day_of=days_of("typical", date(2024, 1, 1), date(2024, 1, 2)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = tabulate(calls, rules, Privacy(epsilon=1.0, rng=shoal.Randomness.for_research(1)),
    ...                     Path(folder) / "homes", secret=Path(folder) / "counts.parquet")
    ...     sorted(path.name for path in made.folder.iterdir())
    ['manifest.json', 'report.html', 'table.parquet', 'zones.parquet']
    """
    rng, run, ledger = privacy.rng or Randomness.from_system(), run or Run(), privacy.ledger
    output, secret = local_path(output, "the folder of the table"), local_path(secret, "the secret counts")
    require_absent(output)
    require_absent(secret)
    report_partials(output, secret)
    files.require_apart(output, secret, *([] if ledger is None else [ledger.path]))
    promise = promise_of(rules, privacy, sampler=sampler_name(rng))
    if ledger is not None:
        if ledger.path.resolve() == secret.resolve():
            raise MisuseError(f"--ledger and --secret are both {secret}; give each a file")
        ledger.require(cost_of(rules, promise))
    reading = require_reading(reading or Reading(), rules)
    with locked_folder(scratch := partial_name(secret), "or choose another --secret"):
        exact = count(source, rules, privacy, promise.sampler, scratch, reading, run, engine)
    promise, notes = exact.promise, exact.notes
    cost = cost_of(rules, promise, exact.intake.unit_of_protection)
    counts = rules.with_sums(exact.counts)
    if all(counts[level.cells].max() < level.noise * promise.least_shown for level in rules.levels):
        least = promise.least_shown / promise.granularity
        words = f"no cell has the {least:.3g} from which on it is shown by itself: the table is noise alone"
        if ledger is not None:
            raise InputError(f"{words}. Nothing was spent; choose {ways_out(rules.table)}")
        notes = (*notes, words)
    manifest = manifest_of(rules, promise, exact.intake, publishable=rng.publishable)
    with (
        staged_file(secret, lambda file: files.write_parquet(files.secret_of(rules, exact.counts), file)),
        staged_folder(output) as folder,  # first to get its name: of two commands, one leaves no secret
    ):
        entry = balance = None
        if ledger is not None:
            entry = ledger.spend(cost)  # from here on it is spent, whatever happens
        parts = [  # one bound and one rho hold for zones and outer zones together
            add_noise(counts[one.cells], one.noise * promise.sigma, one.noise * promise.sensitivity, rng)
            for one in rules.levels
        ]
        noisy, promise = np.concatenate(parts), with_totals(promise, exact.totals, rng)
        totals = [] if promise.totals is None else [promise.totals.before, promise.totals.after]
        digest = sha256(np.append(noisy, totals).astype("<i8").tobytes()).hexdigest()
        if entry is not None and ledger is not None:
            ledger.bind(entry, digest)
            balance = ledger.balance()
        table, *outer = files.tables_of(rules, noisy, promise)
        little = little_shown(table, promise, rules.table)
        stated = manifest.model_copy(update={"promise": promise})
        page = record_page(rules, stated, table, balance, shows_little=bool(little))
        for name, one in zip((Files.TABLE, Files.OUTER), (table, *outer), strict=False):
            files.write_parquet(one, folder / name)
        (folder / Files.REPORT).write_text(page, encoding="utf-8")
        files.write_zones(rules.zones, folder / Files.ZONES)
        facts = {"promise": promise, "ledger": entry, "counts_sha256": digest}
        manifest = manifest.model_copy(update=facts | {"files": files.digests_of(folder)})
        absent = {"zones": {"nested"}} if rules.outer is None else None
        files.write_json(manifest.model_dump(mode="json", exclude=absent), folder / Files.MANIFEST)
    shown_cells = len(table) - table["shown"].null_count
    return Tabulation(
        folder=output,
        manifest=manifest,
        shown_cells=shown_cells,
        notes=notes,
        cautions=(*little, *drowned(promise, rules.table)),
    )


def little_shown(table: Table, promise: Promise, kind: Kind) -> tuple[str, ...]:
    """A caution where the cells that are certain enough to show hold less than half of what is counted."""
    counts, is_shown = table["count"].to_numpy(), table["shown"].is_valid().to_numpy()
    total = counts.sum() if promise.totals is None else promise.totals.after / promise.granularity
    shown = counts[is_shown].sum()
    if shown >= _LITTLE * total > 0:
        return ()
    if not is_shown.any():
        return (
            f"OF NO USE: none of {len(table):,} cells is certain enough to show, the table is mostly noise. "
            f"Epsilon is spent; {ways_out(kind)} would show more",
        )
    share = f", with {percent(shown / total, 0)} of what is counted" if total > shown else ""
    return (
        f"only {is_shown.sum():,} of {len(table):,} cells are certain enough to show{share}; the rest is "
        f"mostly noise. Epsilon is spent; {ways_out(kind)} would show more",
    )


def count(
    source: object,
    rules: Rules,
    privacy: Privacy,
    sampler: str,
    scratch: Path,
    reading: Reading,
    run: Run,
    engine: Engine | None,
) -> Counts:
    """The clipped counts of all units, the same on every engine; people lie in ``scratch`` meanwhile."""
    stored = scratch / "people"
    try:
        people = store_people(source, reading, stored, run, engine=engine)
        if people.crs != rules.zones.plane:
            given = "local meters" if people.crs is None else "degrees"
            raise MisuseError(
                f"the positions are in {given}, and the zones are not; for local meters give --area in "
                "meters and --plane local, else --crs"
            )
        if people.intake.reading.counts_steps(people.middles[:, 0]):
            raise InputError("the times count steps, and a table needs times of a clock; give --time-unit")
        counts, totals, sums = (np.zeros(size, dtype=np.int64) for size in (rules.n_cells, 2, 2))
        unit = people.intake.unit_of_protection
        promise = promise_of(rules, privacy, unit_of_protection=unit, sampler=sampler)
        tally_some = partial(tally_people, stored, rules, promise)
        spans = list(batches_of_records(np.cumsum([0, *people.lengths]), SAMPLES_PER_TASK))
        for part in run_tasks(tally_some, spans, engine or run, run, "counting"):
            counts[part.cells] += part.counts
            totals += part.totals
            sums += part.sums
    except InputError as error:
        if "working_crs" not in str(error):
            raise
        raise InputError(
            "the zones lie far from most positions, or distances on their plane are wrong there; --area is "
            "west,south,east,north in degrees"
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if not counts.any():
        raise InputError(
            "nobody counts in any cell: check --period, --area and --time-zone against the data "
            f"(shoal inspect){_unless_stays(rules)}"
        )
    cut = 1 - float(sums[1]) / float(sums[0])
    words = (
        f"the bound takes away {percent(cut, 0)} of what is counted, and the errors that the table states "
        "are of the rest; take a --bound from what is publicly known of such people or vehicles, never from "
        "this data"
    )
    if privacy.ledger is not None and privacy.bound is None and cut > _MOST:
        raise InputError(f"{words}. Nothing was spent")
    notes = (*rules.zones.notes, *([words] if cut > _MUCH else []), *people.intake.notes)
    return Counts(counts=counts, totals=totals, promise=promise, intake=people.intake, notes=notes)


def _unless_stays(rules: Rules) -> str:
    """Of trips from stay to stay: what else leaves no trip."""
    trips = rules.trips
    if rules.table != "flows" or trips.definition != "stays":
        return ""
    return (
        f"; or nobody has two stays of {show_s(trips.least_s or 0)} within {show_m(trips.radius_m or 0)}, "
        "as in data of single rides: shorten --least-stay, or choose other --trips"
    )


def tally_people(stored: Path, rules: Rules, promise: Promise, span: slice) -> Tally:
    """The sums over some of the people; safe to repeat."""
    return tally(StoredPeople.open(stored).load(np.arange(span.start, span.stop)), rules, promise)


def with_totals(promise: Promise, totals: Integers, rng: Randomness) -> Promise:
    """The promise with noisy totals."""
    if promise.totals is None:
        return promise
    before, after = add_noise(totals, promise.totals.sigma, promise.totals.sensitivity, rng).tolist()
    noisy = promise.totals.model_copy(update={"before": before, "after": after})
    return promise.model_copy(update={"totals": noisy})


def require_reading(reading: Reading, rules: Rules) -> Reading:
    """The reading on the plane of the zones; MisuseError where one person decides on another."""
    if reading.per_day:
        raise MisuseError("--per-day is for releases of records; a table takes --unit person-day")
    if reading.min_samples_per_day or reading.min_active_days:
        raise MisuseError(
            "--min-samples-per-day and --min-active-days decide by the data who counts, which the promise "
            "does not cover; leave them out"
        )
    plane, zone = rules.zones.plane, reading.time_zone or rules.time_zone
    return replace(reading, working_crs=plane, cell_m=1.0, slot_s=1.0, snap=True, time_zone=zone)


def manifest_of(rules: Rules, promise: Promise, intake: Intake, *, publishable: bool) -> TableManifest:
    """The manifest of a table, except for its draw; MisuseError for values that no manifest can state."""
    try:
        return TableManifest(
            kind="tables",
            format_version=1,
            shoal_version=__version__,
            table=rules.table,
            unit=rules.unit,
            unit_of_protection=str(intake.unit_of_protection),
            zones=rules.zones.statement,
            plane=rules.zones.plane,
            reading=asdict(intake.reading),
            first_day=rules.first_day,
            last_day=rules.last_day,
            day_of={} if rules.table == "homes" else rules.day_of,
            hours=rules.hours if "hour" in COLUMNS[rules.table] else (),
            trips=rules.trips if rules.table == "flows" else None,
            longest_gap_s=rules.longest_gap_s,
            promise=promise,
            ledger=None,
            publishable=publishable,
            counts_sha256="0" * 64,
            files={},
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise MisuseError(f"a table cannot state its {where}: {mistake_in_words(first)}") from error
