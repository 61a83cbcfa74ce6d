"""The page of a study: a comparison of releases."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shoal.methods import method_named
from shoal.model.grid import Grid
from shoal.model.release import Boxes
from shoal.report.facts.ground import Density, towns_in
from shoal.report.facts.omission import OmissionFrontier
from shoal.report.figures import axes
from shoal.report.figures.curves import omission
from shoal.report.figures.drawing import SYMBOLS, Drawing, Layer, Line, Marks
from shoal.report.figures.maps import release_map
from shoal.report.pages.frame import page
from shoal.report.words.numbers import show
from shoal.units import percent
from shoal.utility import Metric
from shoal.utility.frontier import Point, frontier
from shoal.utility.measuring import Better

RAW_DATA: Final = "the raw data"


def comparison_page(
    document: Mapping[str, Any],
    points: Sequence[Point],
    *,
    metric: Metric,
    people: tuple[int, int],
    maps: Mapping[str, Density],
    grid: Grid,
    crs: str | None,
) -> str:
    """The page of a comparison.

    document: as JSON. metric: of the budget. people: in the releases, and held out. maps: of the raw data
    (`RAW_DATA`) and of some releases, over one window of the plane `crs`, in cells of `grid`.
    """
    releases = document["releases"]
    drawings = (
        {"frontier": frontier_figure(points, metric.better, document["budget"]["utility"], metric.unit)}
        if points
        else {}
    )
    omissions = {
        result["label"]: OmissionFrontier.from_json(result["omission"])
        for result in releases
        if result.get("omission")
    }
    drawings |= {
        f"omission-{position}": omission(omission_facts)
        for position, omission_facts in enumerate(omissions.values(), start=1)
    }
    kinds = {result["label"]: method_named(result["method"]).about.publishes for result in releases}
    drawings |= {
        f"map-{position}": _map(kinds.get(name, "samples"), density, grid, crs)
        for position, (name, density) in enumerate(maps.items(), start=1)
    }
    return page(
        "comparison.html.j2",
        drawings,
        found=document,
        labels=[result["label"] for result in releases],
        claims={result["label"]: result["claim"] for result in releases},
        bare={point.label for point in points if not is_anonymity(point.method)},
        omissions=omissions,
        maps=maps,
        raw_data=RAW_DATA,
        points={point.label: point for point in points},
        attacks=_attack_rows(releases),
        metrics=_metric_rows(releases),
        words=metric.question,
        unit=metric.unit,
        better=metric.better,
        people=people,
        notes=list(dict.fromkeys(note for result in releases for note in result["notes"])),
        show=show,
    )


def _attack_rows(releases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    rates = {
        (knowledge, entry["name"]): None
        for result in releases
        for knowledge, entries in result["attacks"].items()
        for entry in entries
    }
    return [
        {
            "knowledge": next(_entries(releases, knowledge, name))["knowledge"],
            "name": name,
            "attacker": next(_entries(releases, knowledge, name))["attacker"],
            "baseline": percent(next(_entries(releases, knowledge, name))["baseline"]),
            "raw": next((rate for rate in _rates_of(releases, knowledge, name, "raw") if rate[1]), ("-", "")),
            "release": _rates_of(releases, knowledge, name, "release"),
            "control": _rates_of(releases, knowledge, name, "control"),
        }
        for knowledge, name in rates
    ]


def _metric_rows(releases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "name": first["name"],
            "words": first["words"],
            "better": first["better"],
            "values": [show(result["measurements"][position]["value"], first["unit"]) for result in releases],
        }
        for position, first in enumerate(releases[0]["measurements"] if releases else [])
    ]


def frontier_figure(points: Sequence[Point], better: Better, y_title: str, unit: str) -> Drawing:
    """Measured risk with its interval against utility, and the line of the best."""
    best = frontier(points, better)
    layers: list[Layer] = [
        Line(
            name="best trade-offs",
            x=[point.risk for point in best],
            y=[point.utility for point in best],
            number=0,
        )
    ]
    for number, method in enumerate(sorted({point.method for point in points}), start=1):
        method_points = [
            point for point in points if point.method == method and not math.isnan(point.utility)
        ]
        layers.append(
            Marks(
                name=method if is_anonymity(method) else f"{method} (no anonymity)",
                x=[point.risk for point in method_points],
                y=[point.utility for point in method_points],
                number=number,
                symbol=SYMBOLS[number % (len(SYMBOLS) - 1)],
                hollow=not is_anonymity(method),
                words=[
                    f"{point.label}: risk {percent(point.risk)}, utility {show(point.utility, unit)}"
                    for point in method_points
                ],
                ranges=[(point.risk_low, point.risk_high) for point in method_points],
            )
        )
    return Drawing(
        x=axes.from_zero(
            "measured risk (less is better)", [point.risk_high for point in points], unit="share"
        ),
        y=axes.from_zero(f"{y_title} ({better} is better)", [point.utility for point in points], unit=unit),
        layers=layers,
        legend=True,
    )


def _map(of: str, density: Density, grid: Grid, crs: str | None) -> Drawing:
    return release_map(
        density,
        Boxes.concatenate([]),
        grid,
        towns_in(*density.window.bounds_m(grid.cell_m), crs=crs),
        projected=crs is not None,
        of=of,
    )


def is_anonymity(method: str) -> bool:
    """Whether a method claims anonymity."""
    return not method_named(method).about.claim.no_anonymity


def _entries(releases: Sequence[Mapping[str, Any]], knowledge: str, name: str) -> Any:
    return (
        entry
        for result in releases
        for entry in result["attacks"].get(knowledge, [])
        if entry["name"] == name
    )


def _rates_of(
    releases: Sequence[Mapping[str, Any]], knowledge: str, name: str, target: str
) -> list[tuple[str, str]]:
    """(rate, its interval), a dash if not measured."""
    rates: list[tuple[str, str]] = []
    for result in releases:
        matching = [
            entry
            for entry in result["attacks"].get(knowledge, [])
            if (entry["name"], entry["target"]) == (name, target)
        ]
        rates.append(
            (percent(matching[0]["rate"]), f"{percent(matching[0]['low'])} to {percent(matching[0]['high'])}")
            if matching
            else ("-", "")
        )
    return rates
