"""Step 1: which data, how it was read, what was left out, and what has to be looked at before going on."""

from typing import Any, Final

from shoal.errors import ShoalError
from shoal.io.cleaning import NAIVE
from shoal.io.columns.times import TAKEN_AS_UTC
from shoal.local_pages.forms import Form, RefusedError, absolute_path, read_entry
from shoal.report.facts.ground import MapGround
from shoal.report.words.numbers import seconds
from shoal.units import counted, duration_s, length_m
from shoal_desk.case import Choices
from shoal_desk.desk import GROUND, Desk, Work, ground_of
from shoal_desk.entries import checked_source
from shoal_desk.figures import clock
from shoal_desk.maps import letters_map
from shoal_desk.steps.step import Step
from shoal_desk.words import Words

OPTIONS: Final = (
    "id",
    "time",
    "lat",
    "lon",
    "x",
    "y",
    "crs",
    "date",
    "time-zone",
    "time-format",
    "time-unit",
    "columns",
    "preset",
    "table",
    "cells",
    "cell-id",
    "cell",
    "slot",
    "min-samples-per-day",
)
EXAMPLES: Final = {  # how a field is filled in, the same in every language
    "crs": "EPSG:2154",
    "time-zone": "Europe/Paris",
    "time-format": "%d/%m/%Y %H:%M",
    "time-unit": "s",
    "columns": "uid,t,lat,lon",
    "cell": "100m",
    "slot": "1min",
}
FEW_PEOPLE: Final = 20


def warnings_of(found: dict[str, Any]) -> list[str]:
    """What somebody has to look at: rows that are left out or mended, and everything that was assumed.

    What one sentence says of all rows is not asked a second time with their number.
    """
    repaired = dict(found["rows_repaired"])
    if TAKEN_AS_UTC in found["notes"]:
        repaired.pop(NAIVE, None)
    return [
        *(f"{counted(rows, 'row')} dropped: {reason}" for reason, rows in found["rows_dropped"].items()),
        *(f"{counted(rows, 'row')} repaired: {reason}" for reason, rows in repaired.items()),
        *found["notes"],
    ]


def _take(choices: Choices, form: Form) -> dict[str, Any]:
    if "confirm" in form:
        return {"confirmed": form.many("confirmed")}
    source = checked_source(form.one("source"))
    reading = {name: form.one(name) for name in OPTIONS if form.one(name)}
    if "cell" in reading:
        read_entry(lambda: length_m(reading["cell"]))
    if "slot" in reading:
        read_entry(lambda: duration_s(reading["slot"]))
    if "min-samples-per-day" in reading:
        try:
            good = 0 <= float(reading["min-samples-per-day"]) < float("inf")
        except ValueError:
            good = False
        if not good:
            raise RefusedError("error.samples_per_day", text=reading["min-samples-per-day"])
    streets = {name: form.one(name) for name in GROUND if form.one(name)}
    if streets:
        for name in set(streets) - {"streets-crs"}:
            streets[name] = str(absolute_path(streets[name]))
        read_entry(lambda: ground_of(streets))
    same = (source, reading) == (choices.source, choices.reading)
    return {"source": source, "reading": reading, "streets": streets} | ({} if same else {"confirmed": ()})


def _content(desk: Desk, work: Work, words: Words) -> dict[str, Any]:
    found = work.found(work.data)
    shown: dict[str, Any] = {"options": OPTIONS, "examples": EXAMPLES, "streets": GROUND, "found": found}
    if found is not None:
        ground = desk.ground(work.choices)
        shown |= {
            "warnings": warnings_of(found),
            "few": found["subjects"] < FEW_PEOPLE,
            "map": letters_map(found, words("data.map_label"), ground),
            "no_ground": _why_not_drawn(ground, found),
            "clock": clock(found["samples_by_hour"], words("data.clock_label")),
            "gap": None if found["median_gap_s"] is None else words.number(seconds(found["median_gap_s"])),
            "gaps": [words.number(seconds(one)) for one in found["gap_quantiles_s"] or ()],
        }
    return shown


def _why_not_drawn(ground: MapGround, found: dict[str, Any]) -> str:
    """Why the user's own streets or tiles show nothing of this data; empty where they do."""
    west_m, south_m, east_m, north_m = found["map_bounds_m"]
    try:
        ground.require_over((west_m, south_m, east_m, north_m), found["crs"])
    except ShoalError as error:
        return str(error)
    return ""


def _done(work: Work) -> bool:
    found = work.found(work.data)
    return found is not None and set(warnings_of(found)) <= set(work.choices.confirmed)


def _summary(work: Work, words: Words) -> list[str]:
    found = work.found(work.data)
    if not work.choices.source:
        return []
    lines = [work.choices.source]
    if found is not None:
        people, samples = (words.number(f"{found[name]:,}") for name in ("subjects", "samples"))
        lines.append(words("data.counts", people=people, samples=samples))
    return lines


DATA: Final = Step(name="data", jobs=("data",), take=_take, content=_content, done=_done, summary=_summary)
