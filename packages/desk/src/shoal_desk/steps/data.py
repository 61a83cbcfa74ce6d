"""Step 1: the data, how it is read, what is left out, and warnings to confirm."""

from typing import Any, Final

from shoal.errors import ShoalError
from shoal.io.cleaning import NAIVE
from shoal.io.columns.times import TAKEN_AS_UTC
from shoal.local_pages.forms import Form, RefusedError, absolute_path, read_entry
from shoal.messages import Message, say_number
from shoal.report.facts.ground import MapGround
from shoal.report.words.numbers import seconds
from shoal.units import duration_s, length_m
from shoal.utility.usefulness import USES
from shoal_desk.case import Choices
from shoal_desk.commands import SWITCHES
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
ZONE: Final = "time-zone"  # asked of everyone: hours of the day are counted in it
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


def warnings_of(inspection: dict[str, Any]) -> list[str]:
    """Dropped and repaired rows, and assumptions."""
    repaired = dict(inspection["rows_repaired"])
    if TAKEN_AS_UTC in inspection["notes"]:
        repaired.pop(NAIVE, None)
    return [
        *(_dropped(rows, reason) for reason, rows in inspection["rows_dropped"].items()),
        *(_repaired(rows, reason) for reason, rows in repaired.items()),
        *inspection["notes"],
    ]


def _dropped(rows: int, reason: str) -> Message:
    one, more = "{number} row dropped: {reason}", "{number} rows dropped: {reason}"
    return say_number("row.dropped", rows, one, more, reason=reason)


def _repaired(rows: int, reason: str) -> Message:
    one, more = "{number} row repaired: {reason}", "{number} rows repaired: {reason}"
    return say_number("row.repaired", rows, one, more, reason=reason)


def _take(choices: Choices, form: Form) -> dict[str, Any]:
    if "confirm" in form:
        return {"confirmed": form.many("confirmed")}
    source = checked_source(form.one("source"))
    reading = {name: form.one(name) for name in (*OPTIONS, *SWITCHES) if form.one(name)}
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
    uses = form.many("uses")
    if not set(uses) <= {use.name for use in USES}:
        raise RefusedError("error.pick")
    same = (source, reading) == (choices.source, choices.reading)
    return {"source": source, "reading": reading, "streets": streets, "uses": uses} | (
        {} if same else {"confirmed": ()}
    )


def _content(desk: Desk, work: Work, words: Words) -> dict[str, Any]:
    inspection = work.result(work.data)
    content: dict[str, Any] = {
        "options": [name for name in OPTIONS if name != ZONE],
        "zone": ZONE,
        "uses": [use.name for use in USES],
        "switches": SWITCHES,
        "examples": EXAMPLES,
        "streets": GROUND,
        "found": inspection,
        "goes_on": desk.source_before == work.choices.source != "",
    }
    if inspection is not None:
        ground = desk.ground(work.choices)
        content |= {
            "warnings": warnings_of(inspection),
            "few": inspection["subjects"] < FEW_PEOPLE,
            "map": letters_map(inspection, words("data.map_label"), ground),
            "no_ground": _why_not_drawn(ground, inspection),
            "clock": clock(inspection["samples_by_hour"], words("data.clock_label")),
            "gap": None
            if inspection["median_gap_s"] is None
            else words.number(seconds(inspection["median_gap_s"])),
            "gaps": [words.number(seconds(gap_s)) for gap_s in inspection["gap_quantiles_s"] or ()],
        }
    return content


def _why_not_drawn(ground: MapGround, inspection: dict[str, Any]) -> str:
    """Streets or tiles that do not cover the data."""
    west_m, south_m, east_m, north_m = inspection["map_bounds_m"]
    try:
        ground.require_over((west_m, south_m, east_m, north_m), inspection["crs"])
    except ShoalError as error:
        message: str = error.args[0]
        return message
    return ""


def _done(work: Work) -> bool:
    inspection = work.result(work.data)
    return inspection is not None and set(warnings_of(inspection)) <= set(work.choices.confirmed)


def _summary(work: Work, words: Words) -> list[str]:
    inspection = work.result(work.data)
    if not work.choices.source:
        return []
    lines = [work.choices.source]
    if inspection is not None:
        people, samples = (words.number(f"{inspection[name]:,}") for name in ("subjects", "samples"))
        lines.append(words("data.counts", people=people, samples=samples))
    return lines


DATA: Final = Step(name="data", jobs=("data",), take=_take, content=_content, done=_done, summary=_summary)
