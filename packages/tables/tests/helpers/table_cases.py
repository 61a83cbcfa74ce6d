"""A small synthetic city and rules for it."""

import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Final

import shapely

import shoal
from shoal_tables import (
    Privacy,
    Rules,
    Tabulation,
    days_of,
    grid_zones,
    hours_of,
    polygon_zones,
    tabulate,
)
from shoal_tables.definition.manifest import Kind

AREA: Final = (-5.13, 6.87, -4.85, 7.14)
FIRST, LAST = date(2024, 1, 1), date(2024, 1, 3)


@cache
def city(people: int = 60, seed: int = 1) -> Any:
    """Call records of three days."""
    return shoal.synthesize(n_subjects=people, days=3, seed=seed)


def rules_of(table: Kind = "flows", side_m: float = 10_000, **changes: Any) -> Rules:
    """Rules for the city."""
    hours = {"hours": hours_of("6h")} if table == "presence" else {}
    settings = {
        "zones": grid_zones(side_m, AREA),
        "day_of": days_of("kinds", FIRST, LAST),
        **hours,
        **changes,
    }
    return Rules(table=table, **settings)


def make(folder: Path, rules: Rules | None = None, seed: int | None = 1, **changes: Any) -> Tabulation:
    """A table of the city in ``folder``/table, its secret beside it."""
    rng = None if seed is None else shoal.Randomness.for_research(seed)
    privacy = changes.pop("privacy", None) or Privacy(epsilon=1.0, rng=rng)
    return tabulate(
        changes.pop("source", None) or city(),
        rules or rules_of(),
        privacy,
        folder / "table",
        secret=folder / "counts.parquet",
        **changes,
    )


def polygons_of(folder: Path, area: tuple[float, float, float, float]) -> Any:
    """Four triangles that share borders and vertices."""
    west, south, east, north = area
    middle = ((west + east) / 2, (south + north) / 2)
    corners = [(west, south), (east, south), (east, north), (west, north)]
    features = [
        {"type": "Feature", "properties": {"name": f"side {side}"}, "geometry": shapely.geometry.mapping(one)}
        for side in range(4)
        for one in [shapely.Polygon([corners[side], corners[(side + 1) % 4], middle])]
    ]  # fmt: skip
    file = folder / "zones.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return polygon_zones(file)


def weighted(folder: Path, side_m: float) -> Any:
    """Squares of the city, with weights 0.5, 1, 1.5, ... by a file of the user's."""
    zones, file = grid_zones(side_m, AREA), folder / "weights.csv"
    rows = [f"{name},{number / 2}" for number, name in enumerate(zones.names, 1)]
    file.write_text("\n".join(["zone,weight", *rows]))
    return zones.weighted_by(file)


def nested(folder: Path, side_m: float, squares: int = 3) -> Any:
    """Squares of the city in outer zones of so many squares in a row, by a file of the user's."""
    return nested_in(folder, grid_zones(side_m, AREA), squares)


def nested_in(folder: Path, zones: Any, squares: int = 3) -> Any:
    """Squares in outer zones, by a file of the user's."""
    columns, file = zones.statement.columns, folder / "nested.csv"
    places = (divmod(number, columns) for number in range(len(zones.names)))
    parents = (f"outer {row // squares} {column // squares}" for row, column in places)
    rows = [f"{name},{parent}" for name, parent in zip(zones.names, parents, strict=True)]
    file.write_text("\n".join(["zone,parent", *rows]))
    return zones.nested_by(file)
