"""What an assessment found, in plain words for people and as one document for programs."""

import math
from collections.abc import Sequence
from typing import Any

from shoal.measures.k_gap import KGap
from shoal.model.trajectories import Trajectories
from shoal.report.facts.exposure import ExposureFacts, exposure_facts
from shoal.report.facts.release import GapFacts
from shoal.report.words.numbers import meters, number, percent, seconds
from shoal.runtime.json_values import null_for_nan


def gaps_in_words(original: Trajectories, gaps: Sequence[KGap]) -> list[str]:
    """What each k would cost and who the tail is, in sentences.

    Raises MisuseError without a k-gap, or with one of other people.
    """
    return exposure_in_words(exposure_facts(original, gaps))


def gaps_in_numbers(original: Trajectories, gaps: Sequence[KGap]) -> dict[str, Any]:
    """The same for JSON: fractions, meters and seconds; null for what is unknown. Raises as gaps_in_words."""
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
    """What each k would cost and who the tail is, in sentences that speak of at least ten people each."""
    first = facts.gaps[0]
    hidden = "Nobody is" if first.hidden == 0 else f"{percent(first.hidden / first.people)} of the people are"
    sentences = [
        f"{hidden} hidden among {first.k} as the data stands.",
        *(cost_in_words(gap) for gap in facts.gaps),
    ]
    if not math.isnan(facts.mostly_time):
        sentences.append(
            f"Time costs more than place for {percent(facts.mostly_time)} of the people; "
            f"it makes up {percent(facts.median_time_share)} of the effort of a typical person."
        )
    if facts.tail:
        marks = [row.verdict for row in facts.tail if row.verdict]
        sentences.append(
            f"The {facts.tail_people} hardest people (5 %) have a {first.k}-gap over "
            f"{number(facts.tail_threshold)}. "
            + (
                f"Compared with everybody: {'; '.join(marks)}."
                if marks
                else "In the traits looked at they are much like everybody."
            )
        )
    return sentences


def cost_in_words(gap: GapFacts) -> str:
    """What a k would cost, in a sentence."""
    return (
        f"Hiding everybody among {gap.k} would cost a typical person about {meters(gap.cost_space_m)} of "
        "position "
        f"and {seconds(gap.cost_time_s)} of time per sample, on average (median {gap.k}-gap "
        f"{number(gap.median)})."
    )
