"""Step 2: the unit of protection."""

from typing import Any, Final, get_args

from shoal.local_pages.forms import Form, RefusedError
from shoal_desk.case import Choices, Unit
from shoal_desk.desk import Desk, Work
from shoal_desk.steps.step import Step
from shoal_desk.words import Words

UNITS: Final = tuple(unit for unit in get_args(Unit) if unit)


def _take(_choices: Choices, form: Form) -> dict[str, Any]:
    unit = form.one("unit")
    if unit not in UNITS:
        raise RefusedError("error.no_unit")
    return {"unit": unit, "person": form.one("person"), "per_day": "per_day" in form}


def _content(_desk: Desk, work: Work, _words: Words) -> dict[str, Any]:
    return {"units": UNITS, "found": work.result(work.unit), "before": work.result(work.data)}


def _summary(work: Work, words: Words) -> list[str]:
    if not work.choices.unit:
        return []
    inspection = work.result(work.unit)
    lines = [words(f"people.{work.choices.unit}")]
    if work.choices.per_day:
        lines.append(words("people.per_day"))
    if inspection is not None:
        lines.append(words("people.count", people=words.number(f"{inspection['subjects']:,}")))
    return lines


PEOPLE: Final = Step(
    name="people",
    jobs=("unit",),
    take=_take,
    content=_content,
    done=lambda work: work.result(work.unit) is not None,
    summary=_summary,
)
