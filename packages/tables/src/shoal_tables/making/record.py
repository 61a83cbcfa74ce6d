"""The record of a table: one page with promise, error, map, the ledger's state, and a place to sign."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
import shapely

from shoal.model.projection import transform
from shoal.report.figures import axes
from shoal.report.figures.drawing import Areas, Drawing, Layer, Streets
from shoal.report.figures.maps import density_cells
from shoal.report.pages.frame import page
from shoal.runtime.arrays import Floats
from shoal_tables.definition.manifest import Promise, TableManifest, counted_things
from shoal_tables.making import promise as promises
from shoal_tables.making.ledger import Balance
from shoal_tables.making.rules import Rules

MOST_LINES: Final = 150


def record_page(
    rules: Rules,
    manifest: TableManifest,
    table: pa.Table,
    balance: Balance | None,
    *,
    shows_little: bool,
) -> str:
    """The record as one HTML page that loads nothing. shows_little: whether it is mostly noise."""
    promise, who = manifest.promise, manifest.unit_of_protection
    error, things = promises.expected_error(promise), counted_things(rules.table, who)
    drawing = draw_map(rules, promise, table, things)
    return page(
        "table.html.j2",
        {} if drawing is None else {"map": drawing},
        public=True,
        package="shoal_tables.making",
        promise_in_words=promises.promise_in_words(error.epsilon, error.delta, rules.unit, who),
        shown=len(table) - table["shown"].null_count,
        shows_little=shows_little,
        rules=rules,
        manifest=manifest,
        error=error,
        by_size=list(zip(promises.SIZES, error.by_size, strict=True)),
        things=things,
        protected=promises.period_of(rules.unit),
        unit_in_words=promises.unit_in_words(who),
        scale=promises.scale_of(promise),
        balance=balance,
    )


def draw_map(rules: Rules, promise: Promise, table: pa.Table, things: str) -> Drawing | None:
    """The published counts by zone, and the largest flows; None where zones have no extent."""
    shapes = _in_km(rules, rules.zones.shapes)
    west, south, east, north = shapely.total_bounds(shapes).tolist()
    x_axis, y_axis, height = axes.of_a_map("east, km", "north, km", (west, east), (south, north))
    codes = rules.codes()
    count = table["estimate"].to_numpy()
    zone = codes["origin" if rules.table == "flows" else "zone"]
    layers: list[Layer] = []
    statement = rules.zones.statement
    if statement.kind == "grid":
        shape = (statement.rows or 1, statement.columns or 1)
        sums = np.bincount(zone, count, minlength=statement.n_zones).reshape(shape)
        square_km = ((statement.side_m or 1) / 1000) ** 2
        noise = promises.expected_error(promise).half_width * np.sqrt(len(count) / statement.n_zones)
        weights = np.reshape(rules.weights[:: len(count) // statement.n_zones], shape)
        certain = np.where(sums >= 2 * noise * weights, sums, 0)
        layers.append(density_cells(certain / square_km, (west, east), (south, north), things))
    elif statement.kind != "cells":
        layers.append(_outlines(shapes))
    if rules.table == "flows":
        shown = table["shown"].fill_null(0).to_numpy()
        largest = np.argsort(-shown, kind="stable")[:MOST_LINES]
        largest = largest[shown[largest] > 0]
        if len(largest):
            middles = shapely.get_coordinates(_in_km(rules, shapely.point_on_surface(rules.zones.shapes)))
            ends = np.hstack([middles[codes[name][largest]] for name in ("origin", "destination")])
            layers.append(Streets(lines=list(map(tuple, ends.tolist()))))
    return Drawing(x=x_axis, y=y_axis, in_km=True, layers=layers, height=height) if layers else None


def _in_km(rules: Rules, shapes: Any) -> Any:
    """Shapes on the plane, in km."""
    crs, plane = rules.zones.statement.crs, rules.zones.plane

    def moved(places: Floats) -> Floats:
        x, y = places.T
        if crs is not None and plane is not None and crs != plane:
            x, y = transform(crs, plane, x, y)
        return np.column_stack([x, y]) / 1000

    return shapely.transform(shapes, moved)


def _outlines(shapes: Any) -> Areas:
    x: list[float | None] = []
    y: list[float | None] = []
    for ring in shapely.get_exterior_ring(shapely.get_parts(shapes)):
        ring_x, ring_y = shapely.get_coordinates(ring).T.tolist()
        x += [*ring_x, None]
        y += [*ring_y, None]
    return Areas(name="zones", x=x, y=y, number=1, filled=False)
