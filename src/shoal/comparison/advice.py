"""Which release to make for a use: trial releases of a sample, their usefulness, the strongest attack."""

import math
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from shoal.attacks.questions import assess_release
from shoal.attacks.rate import Rate
from shoal.errors import MisuseError, NothingLeftError
from shoal.io.columns.owners import UNITS
from shoal.messages import program
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.glove import RECOMMENDED, Glove
from shoal.methods.parameters import declared_parameters, parse_value
from shoal.model.clocks import Clock
from shoal.model.projection import transform
from shoal.model.trajectories import Trajectories
from shoal.publishing.estimate import draw_people, size_of_sample
from shoal.report.facts.evidence import PUBLIC_K, publishable_rate
from shoal.report.facts.release import span_of
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.files import null_for_nan
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import DAY_S, HOUR_S, in_digits, measured_m, percent, show_m, show_share
from shoal.utility import Facts
from shoal.utility.usefulness import USES, Usefulness, usefulness_of

KS: Final = (2, 5, PUBLIC_K)
PURPOSES: Final = tuple(use.name for use in USES)
_LEAST_K: Final = 3
_PAIRS: Final = "  crowds of 2 hardly protect: each of the two reads the other; for named recipients only"
_ORDER: Final = {"yes": 2, "roughly": 1}
SEED: Final = 44
DAYS_APIECE: Final = 1.1  # with no more for a person, releases of days are much the same as those of people
TRYING: Final = "trial releases"  # the label of the progress


@dataclass(frozen=True, kw_only=True)
class TrialSettings:
    """Refined crowds of k of people or of their days; further: other parameters of GLOVE, as typed."""

    per_day: bool
    k: int
    further: Mapping[str, str]

    @property
    def options(self) -> tuple[str, ...]:
        """The options of ``shoal anonymize``."""
        unit = ("--per-day",) if self.per_day else ()
        further = (f"--{name.replace('_', '-')} {text}" for name, text in self.further.items())
        return (*unit, f"--k {self.k}", "--refine", *further)

    def method(self) -> Glove:
        """The method with these parameters."""
        declared = declared_parameters(Glove)
        further: dict[str, Any] = {
            name: parse_value(declared[name], text) for name, text in self.further.items()
        }
        return Glove(k=self.k, refine=True, **further)


_FURTHER: Final[tuple[dict[str, str], ...]] = ({}, {"omit_at_most": "5%"}, {"hull": RECOMMENDED["hull"]})
TRIALS: Final = tuple(
    TrialSettings(per_day=per_day, k=k, further=further)
    for per_day in (False, True)
    for k in KS
    for further in _FURTHER
)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One trial release: the options that make it, and the number of people or days in its sample.

    left_out: the share of the raw samples that it does not hold. strongest: None where fewer than ten people
    could be asked, or none were, since it is good for nothing that is wanted.
    """

    options: tuple[str, ...]
    k: int
    people: int
    left_out: float
    usefulness: Usefulness
    strongest: Rate | None

    @property
    def risk(self) -> float:
        """The advantage of the strongest attack over guessing, from 0 to 1; nan if unknown."""
        if self.strongest is None:
            return math.nan
        return max(0.0, self.strongest.gain)

    @property
    def beaten(self) -> bool:
        """Whether an attack wins more often than 1 in k, beyond chance."""
        return self.strongest is not None and self.strongest.beats(self.k)

    def answer_for(self, purposes: Sequence[str]) -> int:
        """2 if it is good for all purposes, 1 if roughly, else 0."""
        answers = {verdict.use.name: _ORDER.get(verdict.answer, 0) for verdict in self.usefulness.verdicts}
        return min(answers[purpose] for purpose in purposes)

    @property
    def name(self) -> str:
        """The options as typed."""
        return " ".join(self.options)

    def __str__(self) -> str:
        useful = self.usefulness
        return f"{self.name}: half of the samples within {useful.within}, good for {useful.good_for}"

    def line(self, width: int) -> str:
        """The row of a table for a terminal, the name as wide as this."""
        attack = "not attacked"
        if (strongest := self.strongest) is not None:
            attack = f"{percent(strongest.rate, 0)} ({percent(strongest.baseline, 0)})"
        left_out, useful = percent(self.left_out), self.usefulness
        return f"{self.name:{width}}  {useful.within:>20}  {left_out:>8}  {attack:>27}  {useful.good_for}"

    def to_json(self) -> dict[str, Any]:
        """Plain values; null for unknown ones."""
        strongest = self.strongest
        return dict(
            null_for_nan(
                {
                    "options": list(self.options),
                    "k": self.k,
                    "people": self.people,
                    "left_out": self.left_out,
                    "usefulness": self.usefulness.to_json(),
                    "strongest": None if strongest is None else strongest.to_json(),
                    "risk": self.risk,
                }
            )
        )


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Trial releases, and the options that gave none, with the reason.

    people, days: the number of people and of their days; days is 0 where they were not tried.
    """

    trials: tuple[Trial, ...]
    failed: tuple[tuple[str, str], ...]
    people: int
    days: int

    def lines(self) -> list[str]:
        """A table for a terminal."""
        width = max((len(trial.name) for trial in self.trials), default=0)
        title = (
            f"{'trial release':{width}}  {'half within':>20}  left out  strongest attack (guessing)  good for"
        )
        rows = [title, *(trial.line(width) for trial in self.trials)]
        by_reason = dict[str, list[str]]()
        for options, reason in self.failed:
            by_reason.setdefault(reason, []).append(options)
        return [*rows, *(f"no release: {why}: {', '.join(them)}" for why, them in by_reason.items())]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "people": self.people,
            "days": self.days,
            "trials": [trial.to_json() for trial in self.trials],
            "failed": dict(self.failed),
        }


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The trial release to make for some uses; None if none is good for them."""

    uses: tuple[str, ...]
    trial: Trial | None
    public: Trial | None = None  # the best with k = 11, for anybody

    def lines(self, given: str, table: str | None = None, no_table: str = "") -> list[str]:
        """What to do, for a terminal. given: the input and how it is read, as typed in a shell.

        table: the command that publishes counts instead. no_table: why there is none.
        """
        words = " and ".join(use.words for use in USES if use.name in self.uses)
        instead = []
        if table is not None:
            instead = [
                "  as a table (area and days: those that are public anyway; --plan says its errors, then "
                "leave it out; vehicles need their own --bound):",
                f"  {table} --plan",
            ]
        elif no_table:
            instead = [f"  no table of counts instead: {no_table}"]
        if self.trial is None:
            remedy = "publish counts" if table else "share no records for it"
            return [
                f"for {words}: no trial release is good enough; {remedy}, or bring more people or a smaller "
                "area",
                *instead,
            ]
        public = self.public and f"{self._answer(self.public)} with {self.public.name}"
        anybody = (
            f"  for anybody (precedents ask for k = {KS[-1]}): {public or 'no trial release is good enough'}"
        )
        return [
            f"for {words}: {self._answer(self.trial)} with",
            f"  {program()} anonymize {given} {self.trial.name} --output release --linkage linkage.parquet",
            *([_PAIRS] if self.trial.k < _LEAST_K else []),
            *([anybody] if self.trial.k < KS[-1] else []),
            *instead,
        ]

    def _answer(self, trial: Trial) -> str:
        return "good" if trial.answer_for(self.uses) == _ORDER["yes"] else "roughly good"

    def to_json(self) -> dict[str, Any]:
        """Plain values; options: null if no trial is good enough."""
        return {"uses": list(self.uses), "options": None if self.trial is None else list(self.trial.options)}


def try_releases(
    people: Trajectories,
    days: Trajectories | None,
    run: Run | None = None,
    *,
    wanted: Sequence[Sequence[str]] | None = None,
    tell: Callable[[Trial], None] | None = None,
) -> Trials:
    """Make, measure and attack trial releases of a sample of people, and of their days.

    Each is made by GLOVE with refined crowds of 2, 5 and 11: plain, with a twentieth of the samples left out,
    and with enlarged boxes. Of everyone instead of a sample, boxes are smaller, and more useful. days: the
    same data with each day of a person as its own subject; None = days are not tried. wanted: uses; a trial
    that is good for all of none of these is not attacked, since it is not proposed. None = attack every one.
    tell: called with each trial as it is done.

    >>> import shoal
    >>> from shoal.comparison.advice import try_releases
    >>> calls = shoal.read(shoal.synthesize(n_subjects=40, days=1, seed=1))
    >>> len(try_releases(calls, None).trials)
    9
    """
    run = run or Run()
    trials, failed = list[Trial](), list[tuple[str, str]]()
    chosen = [settings for settings in TRIALS if not (settings.per_day and days is None)]
    steps = len(chosen) + len(chosen) // len(_FURTHER)

    @cache
    def crowds_of(per_day: bool, k: int) -> tuple[Trajectories, list[EquivalenceClass]]:
        sample = draw_sample(days if per_day and days is not None else people, k)
        return sample, Glove(k=k, refine=True).crowds(sample, run)

    def attempt(settings: TrialSettings) -> Trial:
        sample, crowds = crowds_of(settings.per_day, settings.k)
        report()
        released = settings.method().release_of(sample, crowds, Randomness.for_research(SEED), run)
        facts = Facts(sample, *released, run=run)
        trial = Trial(
            options=settings.options,
            k=settings.k,
            people=sample.n_subjects,
            left_out=facts.accuracy.samples_suppressed / sample.n_samples,
            usefulness=usefulness_of(facts),
            strongest=None,
        )
        if wanted is not None and not any(map(trial.answer_for, wanted)):
            return trial
        attacked = assess_release(sample, *released, run=run, raw=False)
        return replace(trial, strongest=publishable_rate(attacked))

    def report() -> None:
        done = len(trials) + len(failed) + crowds_of.cache_info().currsize
        run.progress(TRYING, done, steps)

    for settings in chosen:
        report()
        try:
            trials.append(attempt(settings))
        except (MisuseError, NothingLeftError) as error:
            failed.append((" ".join(settings.options), error.cli_message))
        else:
            if tell is not None:
                tell(trials[-1])
    run.progress(TRYING, steps, steps)
    return Trials(
        trials=tuple(trials),
        failed=tuple(failed),
        people=people.n_subjects,
        days=0 if days is None else days.n_subjects,
    )


def advice_for(trials: Trials, uses: Sequence[str]) -> Advice:
    """The trial with the best answer for all uses; of several, one of whole people, with the weakest attack.

    A trial of days promises less, so it is advised only where it answers better. A trial that an attack
    beats, of whatever kind, is never advised. MisuseError for an unknown use, or none.
    """
    unknown = [use for use in uses if use not in PURPOSES]
    if unknown or not uses:
        raise MisuseError(f"'{(*unknown, '')[0]}' is no use; choose from {', '.join(PURPOSES)}")
    safe = [trial for trial in trials.trials if not trial.beaten]
    public = [trial for trial in safe if trial.k >= KS[-1]]
    return Advice(uses=tuple(uses), trial=_best(safe, uses), public=_best(public, uses))


def _best(trials: Sequence[Trial], uses: Sequence[str]) -> Trial | None:
    best = max((trial.answer_for(uses) for trial in trials), default=0)
    fitting = [trial for trial in trials if trial.answer_for(uses) == best > 0]

    def rank(trial: Trial) -> tuple[bool, bool, float, int]:
        return "--per-day" in trial.options, math.isnan(trial.risk), trial.risk, -trial.k

    return min(fitting, key=rank, default=None)


def draw_sample(data: Trajectories, k: int) -> Trajectories:
    """The people on whom methods are tried: always the same."""
    n, size = data.n_subjects, size_of_sample(data, k)
    if size >= n:
        return data
    return data.keep(np.sort(draw_people(data, size, SEED)))


KINDS: Final = {"areas": "presence", "presence": "presence", "flows": "flows"}
_STEP_DEG, _STEP_M = 0.1, 10_000.0
_GPS: Final = 6  # samples in an hour that has any, from which on stays show; calls jump between stations
_MOST: Final = (0.01, 0.99)  # of positions lie inside the area
_FEWEST: Final = 50  # people in a cell on an average day; at epsilon 1, a table shows about such cells
_IN_SHOWN: Final = 0.5  # of all counts, at least
_DAYS: Final = 3  # that are looked at
_WIDEST_M: Final = 50_000.0


def table_command(
    people: Trajectories, given: str, uses: Collection[str], zone_m: float
) -> tuple[str | None, str]:
    """A command that runs as printed, or None and why not; without a reason for uses that no table answers.

    given: the input and how it is read, as typed in a shell. zone_m: the side of its squares, doubled until
    half of what is counted is in cells with enough people to be shown beside the noise. Area and days are
    rounded outward from the data: a publisher names public ones.
    """
    if not set(uses) <= set(KINDS):
        return None, ""
    if span_of(people.t, people.t + 1, people.snapped_grid().slot_s).first_day is None:
        return None, "the times have no dates"
    kind = "flows" if "flows" in uses else "presence"
    t, x, y = people.seconds_and_meters()
    subjects = np.repeat(np.arange(people.n_subjects), people.lengths)
    zone = ZoneInfo(people.intake.reading.time_zone or "UTC")
    rows = _rows_of_some_days(subjects, t, x, y, Clock(zone.key))
    first, last = (datetime.fromtimestamp(int(moment), zone).date() for moment in (t.min(), t.max()))
    # a trip that counts as one person adds to one date alone of those whose mean is published
    is_trip = people.intake.unit_of_protection == UNITS["trip"]
    fewest = _FEWEST / ((last - first).days + 1) if is_trip else _FEWEST
    shares = dict[float, float]()
    while (share := _share_in_busy_cells(rows, kind, zone_m, fewest)) < _IN_SHOWN:
        shares[zone_m] = share
        zone_m *= 2
        if zone_m > _WIDEST_M:
            side_m = max(shares, key=lambda side: (shares[side], -side))
            return None, (
                f"it would be noise: at best {show_share(round(shares[side_m], 2))} of what is counted is in "
                f"cells of {in_digits(fewest, 2)} or more a day (squares of {measured_m(side_m)}), and half "
                "should be"
            )
    step, plane = (_STEP_M, " --plane local") if people.crs is None else (_STEP_DEG, "")
    if people.crs is not None:
        x, y = transform(people.crs, "EPSG:4326", x.astype(np.float64), y.astype(np.float64))
    low, high = (np.quantile(np.column_stack([x, y]), share, axis=0) for share in _MOST)
    area = [*(np.floor(low / step) * step), *(np.ceil(high / step) * step)]
    trips = ""
    if kind == "flows":
        hours = len(np.unique(np.column_stack([subjects, t // HOUR_S]), axis=0))
        often = people.n_samples >= _GPS * hours
        trips = " --trips stays" if often else " --trips zones --longest-gap 12h"
    name = Path(shlex.split(given)[0]).stem
    command = (
        f"{program()} tabulate {given} --kind {kind}{trips} "
        f"--grid {show_m(float(f'{zone_m:.1g}')).replace(' ', '')} "
        f"--area={','.join(f'{side:g}' for side in area)}{plane} --period {first},{last} "
        f"--epsilon 1 --ledger ledger.sqlite --people {shlex.quote(name)} --budget 2 "
        f"--output {kind} --secret counts.parquet"
    )
    return command, ""


def _rows_of_some_days(subjects: Integers, t: Floats, x: Floats, y: Floats, clock: Clock) -> pa.Table:
    local_s = t + clock.utc_offset_s(t)
    day, hour = (np.floor(local_s / unit_s).astype(np.int64) for unit_s in (DAY_S, HOUR_S))
    days = np.unique(day)
    rows = np.isin(day, days[:: max(len(days) // _DAYS, 1)])
    columns = {"subject": subjects, "day": day, "hour": hour % 24, "x": x, "y": y}
    return pa.table({name: column[rows] for name, column in columns.items()})


def _share_in_busy_cells(rows: pa.Table, kind: str, side_m: float, fewest: float) -> float:
    """The share of people in squares and hours, or of trips between them, where enough are on a day."""
    cells = {name: rows[name].to_numpy() for name in ("subject", "day", "hour")}
    column, row = (np.floor(rows[axis].to_numpy() / side_m).astype(np.int64) for axis in ("x", "y"))
    n_days = len(np.unique(cells["day"]))
    cells |= {"column": column, "row": row}
    if kind == "flows":
        of_one = np.diff(cells["subject"]) == 0
        left = np.flatnonzero(of_one & ((np.diff(column) != 0) | (np.diff(row) != 0)))
        cells = {name: values[left + 1] for name, values in cells.items()}
        cells |= {"from_column": column[left], "from_row": row[left]}
    different = pa.table(cells).group_by(list(cells)).aggregate([])
    counts = different.group_by(list(cells)[2:]).aggregate([([], "count_all")])["count_all"].to_numpy()
    return float(counts[counts >= fewest * n_days].sum() / max(counts.sum(), 1))
