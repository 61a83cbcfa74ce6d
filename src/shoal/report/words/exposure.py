"""The result of an assessment, in sentences and as JSON."""

import math
from collections.abc import Sequence
from typing import Any, Final

from shoal.measures.k_gap import KGap
from shoal.model.trajectories import Trajectories
from shoal.report.facts.curves import GapFacts, Range
from shoal.report.facts.exposure import ExposureFacts, exposure_facts
from shoal.report.words.numbers import count, meters, number, seconds
from shoal.runtime.files import null_for_nan
from shoal.units import percent

_IN_JSON: Final = {
    "upper": "p95",
    "cost_space_m": "typical_cost_space_m",
    "cost_time_s": "typical_cost_time_s",
}


def gaps_in_words(original: Trajectories, gaps: Sequence[KGap]) -> list[str]:
    """The cost of each k and the traits of the tail."""
    return exposure_in_words(exposure_facts(original, gaps))


def gaps_in_numbers(original: Trajectories, gaps: Sequence[KGap]) -> dict[str, Any]:
    """The same for JSON; null for unknown values.

    ranges: 95 % intervals; null if everybody was measured.
    """
    facts = exposure_facts(original, gaps)
    return {
        "subjects": facts.subjects,
        "samples": facts.samples,
        "gaps": [
            {
                "k": gap.k,
                "median": gap.median,
                "mean": gap.mean,
                "p95": gap.upper,
                "share_hidden": gap.hidden / gap.people,
                "typical_cost_space_m": gap.cost_space_m,
                "typical_cost_time_s": gap.cost_time_s,
                "people": gap.people,
                "ranges": {_IN_JSON.get(name, name): list(ends) for name, ends in gap.ranges.items()} or None,
            }
            for gap in facts.gaps
        ],
        "median_time_share": null_for_nan(facts.median_time_share),
        "share_mostly_time": null_for_nan(facts.mostly_time),
        "share_heavy_tailed": {
            "space": null_for_nan(facts.heavy_in_space),
            "time": null_for_nan(facts.heavy_in_time),
        },
        "tail": {
            "subjects": facts.tail_people,
            "gap_over": facts.tail_threshold,
            "medians": {row.name: {"tail": row.tail, "everybody": row.everybody} for row in facts.tail},
        },
    }


def exposure_in_words(facts: ExposureFacts) -> list[str]:
    """The cost of each k and the traits of the tail, of at least ten people."""
    first = facts.gaps[0]
    sentences = [
        *_how_many(first),
        f"{_hidden_in_words(first)} hidden among {first.k} as the data stands.",
        *(cost_in_words(gap) for gap in facts.gaps),
    ]
    if not math.isnan(facts.mostly_time):
        sentences.append(
            f"Time costs more than place for {percent(facts.mostly_time)} of the people; "
            f"it makes up {percent(facts.median_time_share)} of the effort of a typical person."
        )
    if facts.tail:
        marks = [row.verdict for row in facts.tail if row.verdict]
        who = "of the drawn people" if first.ranges else "people"
        sentences.append(
            f"The {facts.tail_people} hardest {who} (5 %) have a {first.k}-gap over "
            f"{number(facts.tail_threshold)}. "
            + (
                f"Compared with everybody: {'; '.join(marks)}."
                if marks
                else "In the traits looked at they are much like everybody."
            )
        )
    return sentences


def _how_many(gap: GapFacts) -> list[str]:
    if not gap.ranges:
        return []
    return [
        f"All figures of the k-gap are of {count(gap.people)} people, drawn at random from {count(gap.of)}, "
        "each compared with everybody. Ranges beside them are 95 % intervals of the figures of everybody."
    ]


def _hidden_in_words(gap: GapFacts) -> str:
    if gap.ranges:
        low, high = gap.ranges["share_hidden"]
        who = "None" if gap.hidden == 0 else percent(gap.hidden / gap.people)
        return f"{who} of the drawn people (of everybody {percent(low)} to {percent(high)}) are"
    return "Nobody is" if gap.hidden == 0 else f"{percent(gap.hidden / gap.people)} of the people are"


def cost_in_words(gap: GapFacts) -> str:
    """The distance to the nearest others at one k, in a sentence."""
    return (
        f"Each sample of a typical person is about {meters(gap.cost_space_m)} and "
        f"{seconds(gap.cost_time_s)} away from the {_others(gap.k - 1)} (median {gap.k}-gap "
        f"{number(gap.median)}{_between(gap.ranges.get('median'))}). Hiding among {gap.k} takes at least "
        "this in all, of place or of time, and more in crowds; distances above 20 km and 8 h count as these."
    )


def _others(count: int) -> str:
    return "most similar person" if count == 1 else f"{count} most similar people"


def _between(ends: Range | None) -> str:
    return "" if ends is None else f", {number(ends[0])} to {number(ends[1])}"
