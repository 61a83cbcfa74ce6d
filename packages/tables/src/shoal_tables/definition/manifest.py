"""The manifest of a table (README.md, "Meaning"), and the list of files of an export with its columns."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from shoal.errors import InputError, MisuseError, mistake_in_words
from shoal.io.columns.owners import UNITS
from shoal.model.intake import Reading, require_types
from shoal.release_folder.files import require_plain_file
from shoal.release_folder.manifest import Version
from shoal.runtime.files import require_unique_keys, sha256_of


class Files:
    """The names of the files of a folder with a table."""

    MANIFEST: Final = "manifest.json"
    TABLE: Final = "table.parquet"
    OUTER: Final = "outer.parquet"
    ZONES: Final = "zones.parquet"
    REPORT: Final = "report.html"
    PACKAGE: Final = "datapackage.json"


EXPORTED: Final = {"csv": "table.csv", "omx": "table.omx", "geopackage": "table.gpkg"}  # by format
_MEANING: Final = {
    "count": "the bounded count with its noise",
    "estimate": "the number to work with",
    "low": "lower end of the interval that holds the bounded count, scaled, in 95 % of the cells",
    "high": "its upper end",
    "shown": "the estimate to whole ones; empty where it is too uncertain to show",
}
NUMBERS: Final = tuple(_MEANING)  # the columns of numbers
COVERAGE: Final = 0.95  # of the intervals ``low`` to ``high``
STAND_IN: Final = "seeded stand-in, not for publication"  # the sampler of tables with a research seed
MEASURED: Final = (
    "shoal's table of bounds: of the least error in tables of 100,000 synthetic people over 14 days "
    "(bench_tables.py bounds)"
)
CHOSEN: Final = "chosen by the publisher with --bound"  # where else a bound may come from
OF_ONE_TRIP: Final = "the layout of the data: each unit is one trip, which counts at most once in one cell"
OF_TWO_ENDS: Final = (
    "the layout of the data: each unit is one trip, which counts at most once at each of its two ends"
)
WORKDAY: Final = "workday"  # the day that may stand alone: other dates of the period count in no cell
EACH_TRIP: Final = str(UNITS["trip"])  # the unit of protection of data in which nobody's id is read
MOST_DELTA: Final = 1e-5
OUTER_NOISE: Final = 2  # the noise of outer zones has so many times the deviation of that of their zones
STAYS: Final = ("0-15", "15-60", "60-240", "240+")  # minutes of a visit, each with its lower end
STAY_STARTS_S: Final = (0, 900, 3600, 14400)
NIGHT_BEGINS_MIN: Final = 20 * 60
NIGHT_ENDS_MIN: Final = 6 * 60

Kind = Literal["presence", "flows", "dwell", "homes"]
Unit = Literal["person", "person-day"]
Hours = tuple[tuple[int, int], ...]  # begin and end in local minutes since midnight
Labels = dict[str, Sequence[str]]

COLUMNS: Final[dict[Kind, tuple[str, ...]]] = {
    "presence": ("zone", "hour", "day"),
    "flows": ("origin", "destination", "hour", "day"),
    "dwell": ("zone", "stay", "day"),
    "homes": ("zone",),
}
"""The columns that name the cells of each kind of table; the first changes slowest."""
ZONE_COLUMNS: Final = ("zone", "origin", "destination")

_LARGEST: Final = 1 << 24  # bytes of a readable manifest
_Text = Annotated[str, StringConstraints(max_length=4000)]
_Label = Annotated[str, StringConstraints(min_length=1, max_length=40)]
_Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_Whole = Annotated[int, Field(ge=0, le=1 << 53)]
_Positive = Annotated[int, Field(ge=1, le=1 << 53)]


class _Stated(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Nested(_Stated):
    """Outer zones. The count of a cell of theirs is the sum of the cells in it, with noise of its own."""

    source: _Text  # the file of the column ``parent`` in ``zones.parquet``
    n_zones: _Positive
    noise: Annotated[int, Field(ge=1, le=100)]  # in sigmas; the bound counts sums divided by it


class Zones(_Stated):
    """Where zones come from. Fields that a kind does not need are null."""

    kind: Literal["grid", "polygons", "h3", "cells"]
    n_zones: _Positive
    crs: _Text | None  # of the geometries in ``zones.parquet``; null for local meters
    side_m: _Positive | None = None
    x0: int | None = None
    y0: int | None = None
    columns: _Positive | None = None
    rows: _Positive | None = None  # squares of a grid; x0 and y0 are its southwest corner, in meters
    resolution: Annotated[int, Field(ge=0, le=15)] | None = None  # of H3 cells
    source: _Text | None = None
    source_sha256: _Digest | None = None  # the file of polygons or cells
    weights: _Text | None = None  # the file of the column ``weight`` in ``zones.parquet``
    nested: Nested | None = None  # absent without outer zones


class Trips(_Stated):
    """The definition of a trip; ``radius_m`` and ``least_s`` belong to the definition ``stays``."""

    definition: Literal["stays", "zones"]
    radius_m: _Positive | None = None
    least_s: _Positive | None = None


class Totals(_Stated):
    """All contributions together, before and after the bound, each with noise, in the same integers."""

    most: _Positive  # one unit adds at most so much to each
    sensitivity: _Positive  # in L2, of both numbers together
    sigma: _Positive
    before: int
    after: int


class Promise(_Stated):
    """User-level differential privacy, and the numbers that it follows from."""

    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    delta: Annotated[float, Field(gt=0, lt=1)]
    rho: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    granularity: _Positive
    sensitivity: _Positive  # the bound in L2 of one unit's integers
    bound_source: _Text
    sigma: _Positive
    half_width: _Whole  # of the intervals, in the secret file's integers
    least_shown: _Whole = 0  # ``shown`` is null below it times the spread: noise alone seldom reaches it
    mechanism: Literal["discrete Gaussian"]
    sampler: _Text  # the library and version that drew the noise
    totals: Totals | None  # null for homes, of which no unit has more than one

    @property
    def bound(self) -> float:
        """In L2, in people or trips a day."""
        return self.sensitivity / self.granularity


class LedgerEntry(_Stated):
    """The row of the ledger that paid for this table."""

    people: _Digest  # SHA-256 of the name that the publisher gave to the people
    entry: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class TableManifest(_Stated):
    """Everything that a table states."""

    kind: Literal["tables"]
    format_version: Literal[1]
    shoal_version: Version
    table: Kind
    unit: Unit
    unit_of_protection: Annotated[str, StringConstraints(min_length=1, max_length=1000)]  # as the reader says
    zones: Zones
    plane: _Text | None  # the plane of x and y in meters; null for local meters
    reading: dict[str, Any]
    first_day: date
    last_day: date
    day_of: dict[date, _Label]  # the day of the cells that each date of the period counts in; empty for homes
    hours: tuple[tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(le=1440)]], ...]  # local minutes
    trips: Trips | None  # for flows
    longest_gap_s: _Positive
    promise: Promise
    ledger: LedgerEntry | None
    publishable: bool
    counts_sha256: _Digest
    """Of noisy counts in the order of the cells, then noisy totals, as little-endian int64; in any format."""
    files: dict[Literal["table.parquet", "outer.parquet", "zones.parquet", "report.html"], _Digest]

    @field_validator("reading")
    @classmethod
    def _is_a_reading(cls, reading: dict[str, Any]) -> dict[str, Any]:
        require_types(Reading, reading)
        if reading.keys() != asdict(Reading()).keys():
            raise MisuseError("it does not state every setting")
        return reading

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that name the cells."""
        return COLUMNS[self.table]


def counted_things(table: Kind, unit_of_protection: str) -> str:
    """What the numbers of a table count: people or trips."""
    return "trips" if table == "flows" or unit_of_protection == EACH_TRIP else "people"


def hour_label(begin_min: int, end_min: int) -> str:
    """The text of an interval in the column ``hour``."""
    begin, end = (f"{minutes // 60:02}:{minutes % 60:02}" for minutes in (begin_min, end_min))
    return f"{begin}-{end}"


def days_in_order(day_of: dict[date, str]) -> tuple[str, ...]:
    """The distinct days of the cells, in the order of their first dates."""
    return tuple(dict.fromkeys(day_of[one] for one in sorted(day_of)))


def labels_of(table: Kind, zones: Sequence[str], hours: Hours, days: Sequence[str]) -> Labels:
    """The values of each column of cells, in order; of flows also the origin itself as a destination."""
    every = dict.fromkeys(ZONE_COLUMNS, zones)
    every |= {"hour": tuple(hour_label(*hour) for hour in hours), "stay": STAYS, "day": days}
    return {column: every[column] for column in COLUMNS[table]}


def read_table_manifest(folder: Path) -> TableManifest:
    """The manifest of a folder with a table; InputError when it is absent or is none."""
    path = folder / Files.MANIFEST
    require_plain_file(path, _LARGEST)
    try:
        entries = json.loads(path.read_bytes(), object_pairs_hook=require_unique_keys)
        return TableManifest.model_validate(entries)
    except (OSError, RecursionError) as error:
        raise InputError(f"{path} cannot be read; check the file") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"] if part in TableManifest.model_fields)
        raise InputError(
            f"{path} is no manifest of a table: {where or 'the document'}: {mistake_in_words(first)}"
        ) from error
    except ValueError as error:
        raise InputError(f"{path} is no manifest of a table: it is no JSON") from error


def package_of(folder: Path, manifest: TableManifest, form: str) -> dict[str, Any]:
    """The files of an export and the columns of a CSV file (https://specs.frictionlessdata.io/data-package/)."""
    unit = counted_things(manifest.table, manifest.unit_of_protection)
    unit = unit if manifest.table == "homes" else f"{unit} a day"
    fields = [{"name": name, "type": "string"} for name in manifest.columns]
    for name, meaning in _MEANING.items():
        kind = "integer" if name == "shown" else "number"
        fields.append({"name": name, "type": kind, "description": meaning, "unit": unit})
    described = {"profile": "tabular-data-resource", "encoding": "utf-8", "schema": {"fields": fields}}
    resources = []
    for name in sorted({Files.MANIFEST, EXPORTED[form], *manifest.files} - {Files.TABLE}):
        path = folder / name
        require_plain_file(path)
        resource = {"name": path.stem.lower(), "path": name, "hash": f"sha256:{sha256_of(path)}"}
        resources.append(resource | (described if name == EXPORTED["csv"] else {}))
    return {
        "profile": "data-package",
        "name": f"table-of-{manifest.table}",
        "description": "manifest.json says what is promised; shoal verify checks it.",
        "format": form,
        "resources": resources,
    }
