"""Street graphs from tables of nodes and edges (Parquet, CSV, GeoDataFrames), or OSMnx's GraphML.

Usual names: nodes ``node_id``, ``osmid`` or ``id`` with ``lat, lon`` or ``x, y``; edges ``u, v`` with
``length_m`` or ``length`` and a shape in ``geometry`` (well-known binary or text) or ``geom_lon,
geom_lat``.
"""

import json
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.io.formats.row_files import explain_damage
from shoal.io.formats.xml_files import Element, iterate_elements
from shoal.model.projection import WGS84
from shoal.model.streets import StreetGraph
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Floats, offsets_of

_IDS: Final = ("node_id", "osmid", "id")
_LENGTHS: Final = ("length_m", "length")
_NUMBER: Final = re.compile(r"[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")
_CRS: Final = b"streets_crs"  # among what a table says of itself
_LINE: Final = 2  # the code of a line in well-known binary
_FLAGS: Final = 0x20000000  # a reference system follows (extended form)


@typed
def read_streets(nodes: Any, edges: Any | None = None, *, crs: str | None = None) -> StreetGraph:
    """A street graph from a table of nodes and one of edges, or from one GraphML file.

    Parameters
    ----------
    nodes : path or frame
        A table with ``node_id``, ``osmid`` or ``id``, and ``lat, lon`` (WGS 84) or ``x, y``; or a GraphML
        file.
    edges : path, frame or None
        A table with ``u, v``, and if known ``length_m`` or ``length`` in meters and a shape in
        ``geometry`` or ``geom_lon, geom_lat``; None with GraphML.
    crs : str or None
        The system of x and y where the input does not say it; None = the plane of the trajectories.

    Returns
    -------
    StreetGraph
        Nodes and undirected edges.

    Raises
    ------
    InputError
        For a missing column or file, an edge to an unknown node, or a negative length.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> nodes = pa.table({"id": [1, 2], "x": [0.0, 100.0], "y": [0.0, 0.0]})
    >>> shoal.read_streets(nodes, pa.table({"u": [1], "v": [2]}))
    StreetGraph(2 nodes, 1 edges)
    """
    if edges is None:
        if not isinstance(nodes, str | Path) or Path(nodes).suffix.lower() != ".graphml":
            raise InputError(
                "a street graph needs its nodes and its edges (--streets-nodes and --streets-edges), or one "
                ".graphml file"
            )
        return _graph(*_graphml(Path(nodes)), crs)
    return _graph(_table(nodes, "nodes"), _table(edges, "edges"), crs)


def _graph(nodes: pa.Table, edges: pa.Table, crs: str | None) -> StreetGraph:
    ids = _column(nodes, _IDS, "nodes").to_pylist()
    in_degrees = {"lat", "lon"} <= set(nodes.column_names)
    axes = ("lon", "lat") if in_degrees else ("x", "y")
    x, y = (_numbers(_column(nodes, (axis,), "nodes"), axis) for axis in axes)
    length = next((_numbers(edges[name], "length") for name in _LENGTHS if name in edges.column_names), None)
    u, v = (_column(edges, (end,), "edges").to_pylist() for end in "uv")
    place = {str(name): i for i, name in enumerate(ids)}
    if len(place) != len(ids):
        raise InputError(f"{len(ids) - len(place)} nodes of the street graph have an id that another one has")
    unknown = sum(str(end) not in place for end in (*u, *v))
    if unknown:
        raise InputError(
            f"{unknown} ends of edges name a node that the street graph does not hold; give nodes and edges "
            "of one graph"
        )
    first, last = (np.array([place[str(end)] for end in ends], dtype=np.int64) for ends in (u, v))
    corners = np.stack([x, y], axis=1)
    unread = "an edge's shape is not whole, or has a corner without two coordinates"
    with explain_damage(unread, LookupError, TypeError, ValueError, struct.error):
        parts = [
            corners[[a, b]] if shape is None else _from_u(shape, corners[a])
            for shape, a, b in zip(_shapes(edges), first, last, strict=True)
        ]
        shape_x, shape_y = np.concatenate([corners[:0], *parts]).T
    return StreetGraph(
        x=x,
        y=y,
        u=first,
        v=last,
        length_m=np.full(len(first), np.nan) if length is None else length,
        shape_offsets=offsets_of(map(len, parts)),
        shape_x=np.ascontiguousarray(shape_x),
        shape_y=np.ascontiguousarray(shape_y),
        crs=WGS84 if in_degrees else crs or _crs_of(nodes),
    )


def _from_u(shape: Floats, start: Floats) -> Floats:
    """OSMnx keeps shapes of undirected graphs as drawn."""
    to_first, to_last = np.hypot(*(shape[[0, -1]] - start).T)
    return shape[::-1] if to_last < to_first else shape


def _table(source: Any, what: str) -> pa.Table:
    if isinstance(source, str | Path):
        path = Path(source)
        missing = f"{path} does not exist; give the table of the street graph's {what}"
        unread = (
            f"{path} cannot be read as a table of the street graph's {what} (Parquet, or CSV with a header)"
        )
        damage = explain_damage(unread, pa.ArrowException, OSError)
        with damage, explain_damage(missing, FileNotFoundError):
            return pa_csv.read_csv(path) if path.suffix.lower() == ".csv" else pq.read_table(path)
    if hasattr(source, "geometry") and hasattr(source, "reset_index"):
        crs = None if source.crs is None else source.crs.to_wkt()
        frame = source.reset_index()
        known = {*_IDS, *_LENGTHS, "u", "v", "x", "y", "lat", "lon"}
        table = pa.table({name: pa.array(frame[name]) for name in frame.columns if name in known})
        table = table.append_column("geometry", pa.array(frame.geometry.to_wkb()))
        return table.replace_schema_metadata({} if crs is None else {_CRS: crs})
    unread = f"the {what} of the street graph are neither a file nor a frame that can be read"
    with explain_damage(unread, pa.ArrowException, TypeError, ValueError):
        return pa.table(source)


def _crs_of(table: pa.Table) -> str | None:
    """GeoParquet's default is longitude and latitude."""
    metadata = table.schema.metadata or {}
    if _CRS in metadata:
        return str(metadata[_CRS].decode())
    if b"geo" not in metadata:
        return None
    about = json.loads(metadata[b"geo"])
    crs = about["columns"][about["primary_column"]].get("crs", WGS84)
    return None if crs is None else crs if isinstance(crs, str) else json.dumps(crs)


def _column(table: pa.Table, names: Sequence[str], what: str) -> pa.ChunkedArray:
    if name := next((name for name in names if name in table.column_names), None):
        return table[name]
    available = ", ".join(table.column_names)
    raise InputError(
        f"the {what} of the street graph have no column {' or '.join(names)} (found: {available})"
    )


def _numbers(column: pa.ChunkedArray, name: str) -> Floats:
    """Only a length may be nan."""
    unread = f"the column {name} of the street graph holds something that is no number"
    with explain_damage(unread, pa.ArrowException, ValueError):
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _shapes(table: pa.Table) -> list[Floats | None]:
    """[n, 2] corners of each edge."""
    if {"geom_lon", "geom_lat"} <= set(table.column_names):
        pairs = zip(table["geom_lon"].to_pylist(), table["geom_lat"].to_pylist(), strict=True)
        return [np.array(pair, dtype=np.float64).T if all(pair) else None for pair in pairs]
    if "geometry" in table.column_names:
        return [_shape(value) for value in table["geometry"].to_pylist()]
    return [None] * table.num_rows


def _shape(value: Any) -> Floats | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        if not value.lstrip().upper().startswith("LINESTRING"):
            raise InputError(f"an edge's shape is {value.split('(')[0].strip()}, expected a LINESTRING")
        corners = value[value.index("(") :].split(",")
        return np.array([_NUMBER.findall(corner)[:2] for corner in corners], dtype=np.float64)
    order = "<" if value[0] == 1 else ">"
    kind = struct.unpack_from(f"{order}I", value, 1)[0]
    at = 9 if kind & _FLAGS else 5
    if (kind & 0xFFFF) % 1000 != _LINE:
        raise InputError("an edge's shape in well-known binary is no line")
    count = struct.unpack_from(f"{order}I", value, at)[0]
    width = (len(value) - at - 4) // (8 * max(count, 1))
    numbers = np.frombuffer(value, dtype=f"{order}f8", count=count * width, offset=at + 4)
    return numbers.reshape(count, width)[:, :2].astype(np.float64)


def _graphml(path: Path) -> tuple[pa.Table, pa.Table]:
    keys: dict[str | None, str | None] = {}
    graph: Element | None = None
    try:
        for tag, element in iterate_elements(path, "graphml", "GraphML"):
            if tag == "key":
                keys[element.get("id")] = element.get("attr.name")
            graph = element if tag == "graph" else graph
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give the street graph") from error
    if graph is None:
        raise InputError(f"{path.name} holds no graph")

    def data(element: Element) -> dict[str | None, str]:
        return {keys.get(child.get("key")): child.text or "" for child in element.iterfind("{*}data")}

    nodes, edges = ([*graph.iterfind(f"{{*}}{kind}")] for kind in ("node", "edge"))
    of_nodes, of_edges = ([*map(data, elements)] for elements in (nodes, edges))
    unread = f"{path.name}: a node lacks x or y, or one of them or a length is no number"
    with explain_damage(unread, KeyError, ValueError):
        x, y = ([float(about[axis]) for about in of_nodes] for axis in ("x", "y"))
        length = [float(about.get("length") or "nan") for about in of_edges]
    crs = data(graph).get("crs")
    u, v = ([edge.get(end, "") for edge in edges] for end in ("source", "target"))
    shapes = [about.get("geometry") for about in of_edges]
    ids = [node.get("id", "") for node in nodes]
    return (
        pa.table({"id": ids, "x": x, "y": y}, metadata={_CRS: crs} if crs else None),
        pa.table({"u": u, "v": v, "length": length, "geometry": shapes}),
    )
