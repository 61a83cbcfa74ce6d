"""What else could be published: trial releases of a sample, and the choices that make one of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.comparison.advice import TRIALS
from shoal.local_pages.forms import RefusedError
from shoal.methods.glove.glove import RECOMMENDED
from shoal.report.words.numbers import meters, seconds
from shoal.units import percent
from shoal_desk.case import Choices
from shoal_desk.words import Words

_NAMES = {" ".join(settings.options): settings for settings in TRIALS}
_USEFUL = ("yes", "roughly")


def choices_of_trial(name: str, choices: Choices) -> dict[str, Any]:
    """The choices that make a trial's release for everybody, under names that are free."""
    if name not in _NAMES:
        raise RefusedError("error.pick")
    settings = _NAMES[name]
    places = {part: getattr(choices, part) for part in ("output", "linkage", "private_report")}
    return {
        "method": "glove",
        "k": settings.k,
        "per_day": choices.per_day or settings.per_day,
        "settings": {
            "refine": RECOMMENDED["refine"],
            **{option.replace("_", "-"): text for option, text in settings.further.items()},
        },
        "shown_class": "",
        **{part: str(free_path(Path(place))) for part, place in places.items() if place},
    }


def free_path(path: Path) -> Path:
    """This path, or with the first number that is free."""
    numbered = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in range(2, 1000))
    return next(candidate for candidate in (path, *numbered) if not candidate.exists())


def trial_rows(advised: Mapping[str, Any], words: Words) -> list[dict[str, Any]]:
    """Trial releases as rows of a table, in words."""
    best: dict[str, list[str]] = {}
    for advice in advised["advice"]:
        if advice["options"] is not None:
            best.setdefault(" ".join(advice["options"]), []).extend(advice["uses"])
    return [_row(trial, best.get(" ".join(trial["options"]), []), words) for trial in advised["trials"]]


def _row(trial: Mapping[str, Any], best: list[str], words: Words) -> dict[str, Any]:
    name, useful, strongest = " ".join(trial["options"]), trial["usefulness"], trial["strongest"]
    settings = _NAMES[name]
    parts = [
        *([words("ways.days")] if settings.per_day else []),
        words("ways.crowds", k=settings.k),
        *(words(f"ways.{parameter}") for parameter in settings.further),
    ]
    half = (meters(useful["median_space_m"]), seconds(useful["median_time_s"]))
    uses = [
        words(f"useful.{use}") + ("" if entry["answer"] == "yes" else f" ({words('ways.roughly')})")
        for use, entry in useful["uses"].items()
        if entry["answer"] in _USEFUL
    ]

    def shown(part: str) -> str:
        return words.number(percent(strongest[part]))

    return {
        "name": name,
        "pairs": settings.k == 2,
        "words": ", ".join(parts),
        "half": ", ".join(words.number(text) for text in half),
        "left_out": words.number(percent(trial["left_out"])),
        "strongest": "?" if strongest is None else f"{shown('rate')} ({shown('baseline')})",
        "uses": ", ".join(uses) or words("ways.nothing"),
        "best": words("ways.best", uses=", ".join(words(f"useful.{use}") for use in best)) if best else "",
    }
