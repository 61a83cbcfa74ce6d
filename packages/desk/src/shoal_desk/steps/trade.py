"""Step 4: precision and risk on a sample, and the choice."""

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from shoal.local_pages.forms import Form, RefusedError, read_entry, whole_number
from shoal.methods import METHODS, method_named
from shoal.report.facts.evidence import PUBLIC_K
from shoal.report.words.numbers import show
from shoal.units import percent
from shoal.utility import METRICS
from shoal_desk.case import Choices
from shoal_desk.desk import Desk, Work
from shoal_desk.figures import frontier
from shoal_desk.settings import needs_streets, recommended_settings
from shoal_desk.steps.step import Step
from shoal_desk.steps.ways import choices_of_trial, trial_rows
from shoal_desk.steps.whom import adversary_words
from shoal_desk.words import Words, translate

_USUAL_K: Final = 5
_LARGEST_K: Final = 1_000
_PEOPLE: Final = (10, 100_000)
_TRIES: Final = (10, 10_000)
_MOST_KS: Final = 6
_LEFT: Final = ("samples-covered", "people-suppressed")


def methods_compared() -> list[str]:
    """Methods that need no street graph."""
    return [name for name in METHODS if not needs_streets(name)]


def methods_offered(choices: Choices) -> list[str]:
    """For these choices: all with streets."""
    return [name for name in METHODS if "streets-nodes" in choices.streets or not needs_streets(name)]


def _take(choices: Choices, form: Form) -> dict[str, Any]:
    if "pick" in form:
        method, _, settings = form.one("pick").partition(" k=")
        return _choose_method(choices, method, settings.partition(" ")[0])
    if "ways" in form:
        return {}
    if "trial" in form:
        return choices_of_trial(form.one("trial"), choices)
    if "direct" in form:
        return _choose_method(choices, form.one("method"), form.one("k"))
    methods = form.many("methods")
    if not methods or not set(methods) <= set(methods_compared()):
        raise RefusedError("error.no_method")
    texts = form.one("ks").replace(",", " ").split()
    ks = tuple(sorted({whole_number(text, 2, _LARGEST_K) for text in texts}))
    if not 1 <= len(ks) <= _MOST_KS:
        raise RefusedError("error.ks", most=_MOST_KS)
    return {
        "methods": methods,
        "ks": ks,
        "sample": form.number("sample", *_PEOPLE),
        "tries": form.number("tries", *_TRIES),
    }


def _choose_method(choices: Choices, method: str, k: str) -> dict[str, Any]:
    if method not in methods_offered(choices):
        raise RefusedError("error.pick")
    size = whole_number(k, 2, _LARGEST_K)
    read_entry(lambda: method_named(method)(k=size))
    settings = recommended_settings(method, choices.reading.get("cell", ""))
    return {
        "method": method,
        "k": size,
        "settings": choices.settings if method == choices.method else settings,
    }


def _content(_desk: Desk, work: Work, words: Words) -> dict[str, Any]:
    comparison = work.result(work.study)
    content: dict[str, Any] = {
        "methods": methods_compared(),
        "described": {name: _in_words(METHODS[name].about.summary, words) for name in methods_compared()},
        "offered": methods_offered(work.choices),
        "usual_k": PUBLIC_K if "public" in work.choices.recipients else _USUAL_K,
        "found": comparison,
        "points": [],
        "ways": (),
        "advised": (advised := work.result(work.advice)),
        "trials": [] if advised is None else trial_rows(advised, words),
    }
    if comparison is not None:
        metric = METRICS[comparison["budget"]["utility"]]
        points = sorted(comparison["points"], key=lambda point: (point["worst_gain"], point["label"]))
        content |= {
            "points": [
                point
                | _cells(point, comparison, words)
                | {"on_frontier": point["label"] in comparison["frontier"]}
                for point in points
            ],
            "up": words(
                "trade.up_lower" if metric.better == "lower" else "trade.up_higher",
                metric=_in_words(metric.question, words),
            ),
            "drawing": frontier(
                points,
                metric.better,
                words("trade.figure_label"),
                words("trade.risk_axis"),
                lambda value: words.number(show(value, metric.unit)),
            ),
            "claims": {release["label"]: release["claim"] for release in comparison["releases"]},
        }
    return content


def _cells(point: Mapping[str, Any], comparison: Mapping[str, Any], words: Words) -> dict[str, Any]:
    """The cells of a row. Points that were moved are not left out: their samples have no figure."""
    metric = METRICS[comparison["budget"]["utility"]]
    result = next(entry for entry in comparison["releases"] if entry["label"] == point["label"])
    played = [*chain.from_iterable(result["attacks"].values()), *result["attacks_of_its_claim"]]
    worst = next(
        entry
        for entry in played
        if entry["target"] == "release" and f"{entry['name']}, {entry['knowledge']}" == point["worst_by"]
    )
    measured = {entry["name"]: entry["value"] for entry in result["measurements"]}
    covered, people_out = (measured.get(name) for name in _LEFT)
    of_points = METHODS[result["method"]].about.publishes == "points"

    def share(value: float | None) -> str:
        return "?" if value is None else words.number(percent(value))

    return {
        "guess": worst["baseline"],
        "adversary": _in_words(adversary_words(worst["asked"]), words) if worst.get("asked") else "",
        "value": words.number(show(point["utility"], metric.unit)),
        "samples_out": share(None if covered is None or of_points else 1 - covered),
        "people_out": share(people_out),
    }


def _in_words(english: str, words: Words) -> str:
    """Else English."""
    return translate(english, words.language) or english


def _summary(work: Work, words: Words) -> list[str]:
    choices = work.choices
    return [words("trade.line", method=choices.method, k=choices.k)] if choices.method else []


TRADE: Final = Step(
    name="trade",
    jobs=("study", "advice"),
    take=_take,
    content=_content,
    done=lambda work: bool(work.choices.method),
    summary=_summary,
)
