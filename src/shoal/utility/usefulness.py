"""USES, the one table of what a release may be good for, and ``usefulness_of``, the verdict on each.

Agreement alone deceives: a release that tells nothing still agrees, since the middle of a city is busy.
So a use of places is judged by skill, as weather forecasts are: the share of a guess's error that the
release removes, where the guess knows the middle and the spread of the data and nothing else. The
thresholds were set once, on known data: docs/decisions/0245-usefulness-is-judged-by-five-uses.md.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from shoal.messages import Message, program, say
from shoal.runtime.files import null_for_nan
from shoal.units import measured_m, measured_s
from shoal.utility.facts import Facts, Value
from shoal.utility.measuring import people_behind
from shoal.utility.metrics import METRICS, measure_facts

Answer = Literal["yes", "roughly", "no", "unknown"]
Values = Mapping[str, Value]
NOT_USEFUL: Final = say(
    "usefulness.none",
    "OF NO USE: the release keeps its promise, and is good for none of the five uses that were measured",
)
UNMEASURED: Final = say(
    "usefulness.unmeasured",
    "NOT MEASURED: of fewer than ten people, nothing shows what the release is good for or gives away",
)
_ROUNDED_BY: Final = 0.005 + 1e-9  # at most, in JSON
_FEW: Final = say("usefulness.few", "too few people to say")


@dataclass(frozen=True, kw_only=True)
class Use:
    """A row of USES."""

    name: str  # on the command line and in JSON
    words: str  # for a reader
    metrics: tuple[str, ...]  # that the score is made of
    score: Callable[[Values], float]  # nan where it is unknown
    better: Literal["higher", "lower"]
    yes: float  # yes, roughly: the worst score for each answer
    roughly: float
    reason: Callable[[Values], Message]  # what was measured, in words

    def answer(self, score: float) -> Answer:
        """The answer of a score that is a number."""
        sign = 1 if self.better == "higher" else -1
        if sign * score >= sign * self.yes:
            return "yes"
        return "roughly" if sign * score >= sign * self.roughly else "no"

    def answers_near(self, rounded: float) -> set[Answer]:
        """The answers of all scores that are rounded to this one."""
        return {self.answer(rounded + error) for error in (-_ROUNDED_BY, 0.0, _ROUNDED_BY)}


def _skill_of(name: str) -> Callable[[Values], float]:
    """The share of a guess's error that the release removes: a skill score (Murphy 1988)."""

    def skill(values: Values) -> float:
        value, baseline = values[name].value, values[name].baseline
        if baseline is None or math.isnan(baseline):  # nothing varies that could be guessed
            return value
        return (value - baseline) / (1 - baseline) if baseline < 1 else math.nan

    return skill


def _movement_errors(values: Values) -> tuple[float, float, float]:
    """Relative errors of radius and trip lengths, and the share of samples in a wrong hour."""
    radius, length = (_relative(values[name]) for name in ("gyration-error", "trip-length-error"))
    return radius, length, values["time-profile-error"].value


def _relative(error: Value) -> float:
    return error.value / error.raw if error.raw else math.nan


def _errors_in_words(values: Values) -> Message:
    radius, length, hours = map(_percent, _movement_errors(values))
    return say(
        "usefulness.models",
        "off by: radius of movement {radius}, lengths of moves {length}, hours of the day {hours}",
        radius=radius,
        length=length,
        hours=hours,
    )


def _percent(share: float | None) -> str:
    return "?" if share is None or math.isnan(share) else f"{100 * share:,.0f} %"


def _use_of_places(name: str, words: str, metric: str, agreement: Callable[[str, str], Message]) -> Use:
    return Use(
        name=name,
        words=words,
        metrics=(metric,),
        score=_skill_of(metric),
        better="higher",
        yes=0.5,
        roughly=0.25,
        reason=lambda values: agreement(_percent(values[metric].value), _percent(values[metric].baseline)),
    )


USES: Final = (
    _use_of_places(
        "areas",
        "busy areas",
        "visits-correlation",
        lambda value, guess: say(
            "usefulness.areas",
            "rank correlation of the zones' visitors {value}; a guess: {guess}",
            value=value,
            guess=guess,
        ),
    ),
    _use_of_places(
        "presence",
        "people in a place by hour",
        "presence-similarity",
        lambda value, guess: say(
            "usefulness.presence",
            "people by zone and hour that agree {value}; a guess: {guess}",
            value=value,
            guess=guess,
        ),
    ),
    _use_of_places(
        "flows",
        "trips from zone to zone",
        "od-similarity",
        lambda value, guess: say(
            "usefulness.flows", "trips that agree {value}; a guess: {guess}", value=value, guess=guess
        ),
    ),
    Use(
        name="routes",
        words="routes",
        metrics=("within-1km-30min",),
        score=lambda values: values["within-1km-30min"].value,
        better="higher",
        yes=0.8,
        roughly=0.5,
        reason=lambda values: say(
            "usefulness.routes",
            "samples known to 1 km and 30 min {value}",
            value=_percent(values["within-1km-30min"].value),
        ),
    ),
    Use(
        name="models",
        words="models of movement",
        metrics=("gyration-error", "trip-length-error", "time-profile-error"),
        score=lambda values: float(np.max(_movement_errors(values))),
        better="lower",
        yes=0.1,
        roughly=0.25,
        reason=_errors_in_words,
    ),
)


@dataclass(frozen=True)
class WayOut:
    """What to publish instead."""

    words: Message
    option: str = ""  # the same for ``shoal anonymize``, or another command; empty for what no command does
    for_use: bool = field(default=False, kw_only=True)  # whether it helps a release that is good for nothing
    for_risk: bool = field(default=False, kw_only=True)  # whether it helps one that gives too much away


WAYS_OUT: Final = (
    WayOut(say("way.days", "each day of a person by itself"), "--per-day", for_use=True),
    WayOut(say("way.crowds", "better crowds"), "--refine", for_use=True),
    WayOut(say("way.larger", "larger crowds"), "--k 11", for_risk=True),
    WayOut(
        say("way.hull", "larger boxes, whose edges give no place away"), "--hull grid:500m", for_risk=True
    ),
    WayOut(
        say("way.leaves", "boxes of whole groups of places of a public list"),
        "--places FILE --hull leaves:10",
        for_risk=True,
    ),
    WayOut(
        say("way.tables", "tables of counts or trips, and no records"),
        "shoal tabulate",
        for_use=True,
        for_risk=True,
    ),
    WayOut(say("way.contract", "a contract with named recipients, who are not everybody"), for_risk=True),
)


def ways_out(
    *,
    for_use: bool = False,
    for_risk: bool = False,
    made_with: Mapping[str, Any] | None = None,
    stations: bool = False,
) -> tuple[WayOut, ...]:
    """What to publish instead of a release that is good for nothing, gives too much away, or both.

    made_with: the parameters of the method, ``per_day``, and whether it is in a ``series``, whose crowds are
    refined and whose people stay people; what the release has already is no way out. stations: whether people
    are at few places that the public knows, which larger boxes do not hide.
    """
    made_with = made_with or {}
    hull, in_series = made_with.get("hull", "tight"), made_with.get("series")
    no_way = {
        "way.days": made_with.get("per_day") or in_series,
        "way.crowds": made_with.get("refine") or in_series,
        "way.larger": made_with.get("k", 0) >= 11 or in_series,
        "way.hull": hull != "tight" or stations,
        "way.leaves": hull.startswith("leaves") or not stations,
    }
    return tuple(
        way
        for way in WAYS_OUT
        if ((way.for_use and for_use) or (way.for_risk and for_risk)) and not no_way.get(way.words.identifier)
    )


@dataclass(frozen=True, kw_only=True)
class UseVerdict:
    """What a release is worth for one use; score: nan where it is unknown; reason: the figures in words."""

    use: Use
    score: float
    answer: Answer
    reason: Message


@dataclass(frozen=True, kw_only=True)
class Usefulness:
    """The verdict on what a release is good for, for each use.

    median_space_m, median_time_s: half of the covered raw samples are known to these extents or better; nan
    of none.
    """

    verdicts: tuple[UseVerdict, ...]
    median_space_m: float
    median_time_s: float
    zone_m: float  # the side of the zones
    made_with: Mapping[str, Any] = field(default_factory=dict)  # as of ``ways_out``

    @property
    def is_good(self) -> bool:
        """Whether every use is answered with "yes"; pages mark only such a release green."""
        return all(verdict.answer == "yes" for verdict in self.verdicts)

    @property
    def is_useful(self) -> bool:
        """Whether any use is answered with "yes" or "roughly"."""
        return any(verdict.answer in ("yes", "roughly") for verdict in self.verdicts)

    @property
    def cautions(self) -> tuple[str, ...]:
        """One sentence if the release is good for nothing."""
        return () if self.is_useful else (NOT_USEFUL,)

    @property
    def ways_out(self) -> tuple[WayOut, ...]:
        """What to publish instead if the release is good for nothing."""
        return ways_out(for_use=not self.is_useful, made_with=self.made_with)

    @property
    def summary(self) -> str:
        """The verdict in one sentence."""
        return uses_in_words({verdict.use.name: verdict.answer for verdict in self.verdicts})

    @property
    def good_for(self) -> str:
        """The names of its uses, for a table."""
        uses = (
            verdict.use.name + ("" if verdict.answer == "yes" else " roughly")
            for verdict in self.verdicts
            if verdict.answer in ("yes", "roughly")
        )
        return ", ".join(uses) or "nothing"

    @property
    def within(self) -> str:
        """The extents to which half of the samples are known, for a table."""
        return f"{measured_m(self.median_space_m)}, {measured_s(self.median_time_s)}"

    @property
    def precision(self) -> Message:
        """The typical precision in one sentence."""
        if math.isnan(self.median_space_m):
            return say("usefulness.nothing", "no raw sample is covered")
        return say(
            "usefulness.precision",
            "half of the samples are known to {space} and {time} or better",
            space=measured_m(self.median_space_m),
            time=measured_s(self.median_time_s),
        )

    def lines(self) -> list[str]:
        """The verdict for a terminal: the sentence, one line for each use, and ways out if it has none."""
        width = max(len(use.words) for use in USES)
        return [
            f"usefulness: {self.summary} ({self.precision})",
            *(
                f"  {verdict.use.words:{width}}  {verdict.answer:8} {verdict.reason}"
                for verdict in self.verdicts
            ),
            *([f"instead ({program()} advise INPUT gives figures of a sample):"] if self.ways_out else ()),
            *(f"  {way.words}: {way.option}" for way in self.ways_out),
        ]

    def to_json(self) -> dict[str, Any]:
        """The same with plain values, as manifest and ``--json`` have it."""
        return dict(
            null_for_nan(
                {
                    "uses": {
                        verdict.use.name: {"answer": verdict.answer, "score": round(verdict.score, 2)}
                        for verdict in self.verdicts
                    },
                    "median_space_m": self.median_space_m,
                    "median_time_s": self.median_time_s,
                    "zone_m": self.zone_m,
                }
            )
        )


def uses_in_words(answers: Mapping[str, str]) -> str:
    """What a release is good for in one sentence. answers: yes, roughly or no, by the name of the use."""
    parts = [
        f"{word}: {', '.join(use.words for use in USES if answers.get(use.name) == answer)}"
        for answer, word in (("yes", "good for"), ("roughly", "roughly for"), ("no", "not for"))
        if answer in answers.values()
    ]
    return "; ".join(parts) or "nothing could be measured"


def usefulness_of(facts: Facts, *, least_people: int = 0) -> Usefulness:
    """Judge what a release is good for, by the five uses.

    least_people: a use is unknown if fewer are behind one of its metrics; ten for a page that is published.

    >>> import shoal
    >>> from shoal.utility import Facts
    >>> from shoal.utility.usefulness import usefulness_of
    >>> calls = shoal.read(shoal.synthesize(n_subjects=40, days=1, seed=1))
    >>> released = shoal.Glove(k=2).anonymize(calls, shoal.Randomness.for_research(1))
    >>> [verdict.use.name for verdict in usefulness_of(Facts(calls, *released)).verdicts]
    ['areas', 'presence', 'flows', 'routes', 'models']
    """
    names = [name for use in USES for name in use.metrics]
    names = [name for name in names if people_behind(facts, METRICS[name]) >= least_people]
    values = {measurement.name: measurement.result for measurement in measure_facts(facts, names)}
    on_grid = facts.on_grid
    extents, zones = on_grid.accuracy.raw, on_grid.zones
    return Usefulness(
        verdicts=tuple(_judge(use, values) for use in USES),
        median_space_m=extents.median_space_m,
        median_time_s=extents.median_time_s,
        zone_m=float(zones.x_m[1] - zones.x_m[0]),
        made_with={
            **facts.release.parameters,
            "per_day": facts.release.reading.per_day,
            "series": facts.release.series is not None,
        },
    )


def _judge(use: Use, values: Values) -> UseVerdict:
    if not set(use.metrics) <= set(values):
        return UseVerdict(use=use, score=math.nan, answer="unknown", reason=_FEW)
    score = use.score(values)
    if math.isnan(score):  # of raw data that can tell, a release that cannot has lost it
        of_raw = (number for name in use.metrics for number in (values[name].raw, values[name].baseline))
        answer: Answer = "no" if any(number is not None and number > 0 for number in of_raw) else "unknown"
    else:
        answer = use.answer(score)
    return UseVerdict(use=use, score=score, answer=answer, reason=use.reason(values))
