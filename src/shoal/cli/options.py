"""Shared options, types of their values, and the settings file."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import click

from shoal.cli.sections import GROUND, READING, ROUNDING, RUNNING, Given, Option
from shoal.cli.terminal import LOG, QUIET
from shoal.errors import InputError, MissingExtraError, MisuseError
from shoal.model.intake import Reading
from shoal.runtime.files import is_remote, not_local, read_settings
from shoal.units import duration_s, length_m, size_bytes

if TYPE_CHECKING:
    from shoal.publishing.series import EarlierRelease

Command = TypeVar("Command", bound=Callable[..., Any])

_QUERY: Final = "shoal.query"
_READABLE: Final = re.compile(r"(?:s3|gs|gcs|abfss?|postgres(?:ql)?)://", re.IGNORECASE)  # checked by a test
_STORE: Final = re.compile(r"(?:s3|gc?s|abfss?)://")  # checked by a test
OF_READING: Final = "reading_"  # before the name of a reading's option where a method has one of that name
READING_FIELDS: Final = tuple(field.name for field in fields(Reading))


class Quantity(click.ParamType[float]):
    """A number with a unit, such as 2km or 4GiB; kind: of a number that is parsed already."""

    def __init__(self, name: str, parse: Callable[[str], float], kind: type[float] = float) -> None:
        self.name, self._parse, self._kind = name, parse, kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Meters, seconds or bytes; a usage error with an example for other text."""
        try:
            return value if isinstance(value, self._kind) else self._parse(str(value))
        except MisuseError as error:
            self.fail(error.cli_message, param, ctx)


class ActiveDays(click.ParamType[int]):
    """A number of days, or all of them."""

    name = "days"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of days, -1 for all."""
        if value == "all":
            return -1
        if not ((isinstance(value, int) and value >= -1) or (isinstance(value, str) and value.isdecimal())):
            self.fail(f"'{value}' is no number of days; write for example 10, or all", param, ctx)
        return int(value)


LENGTH: Final = Quantity("length", length_m)
DURATION: Final = Quantity("duration", duration_s)
MEMORY: Final = Quantity("size", size_bytes, int)


class Source(click.types.StringParamType, Given):
    """Raw data: a path, a pattern, an address, or - for standard input."""


class LocalPath(click.Path):
    """A path here, or an address of these kinds; other addresses are refused early."""

    def __init__(self, addresses: re.Pattern[str] | None = None) -> None:
        super().__init__(path_type=Path)
        self._addresses = addresses

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A path, or an address as text."""
        if self._addresses is not None and isinstance(value, str) and self._addresses.match(value):
            return value
        if is_remote(value):
            self.fail(not_local("this" if param is None else param.human_readable_name), param, ctx)
        return super().convert(value, param, ctx)


class GivenPath(LocalPath, Given):
    """A path that must be there, or an address of these kinds."""


SOURCE: Final = Source()
PATH: Final = LocalPath()
GIVEN: Final = GivenPath()
NEW_RELEASE: Final = LocalPath(_STORE)
RELEASE: Final = GivenPath(_READABLE)
UNITS: Final = "Lengths and durations take units: 500m, 2km, 30min, 1h, 100s."

_reading: Final = partial(click.option, cls=Option, section=READING)
_rounding: Final = partial(click.option, cls=Option, section=ROUNDING)
_running: Final = partial(click.option, cls=Option, section=RUNNING)


def _adding(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Adds these options, in this order."""

    def added(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return added


def _remember(key: str, ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
    ctx.meta[key] = value
    return value


def _remember_query(ctx: click.Context, _param: click.Parameter, query: str | None) -> None:
    if query is not None and "://" not in query:
        raise click.UsageError("--from names a server, postgresql://...; a file or folder is INPUT")
    ctx.meta[_QUERY] = query


def _input_or_query(ctx: click.Context, param: click.Parameter, source: str | None) -> str | None:
    query: str | None = ctx.meta.get(_QUERY)
    if source is not None and query is not None:
        raise click.UsageError("give either INPUT or --from, not both")
    if source is None and query is None and not ctx.resilient_parsing:
        raise click.MissingParameter(ctx=ctx, param=param)
    return source if query is None else query


def _use_config(ctx: click.Context, _param: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    try:
        entries = read_settings(path)
    except InputError as error:
        raise click.UsageError(error.cli_message) from error
    options = {
        option.lstrip("-"): parameter
        for parameter in ctx.command.params
        if isinstance(parameter, click.Option) and parameter.name not in ("config", "help")
        for option in parameter.opts
        if option.startswith("--")
    }
    settings: dict[str, Any] = {}
    for key, value in entries.items():
        option = options.get(key.replace("_", "-"))
        if option is None or option.name is None:
            near = get_close_matches(key.replace("_", "-"), options, n=3)
            meant = f"; did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"{path} sets '{key}', which is no option of this command{meant}")
        if isinstance(value, bool) and not option.is_flag:
            raise click.UsageError(
                f"{path} sets '{key}' to {str(value).lower()}, but it needs a value, not a yes or no"
            )
        several = value if isinstance(value, list) and (option.multiple or option.nargs > 1) else [value]
        if not all(isinstance(one, (str, int, float)) for one in several):
            raise click.UsageError(
                f"{path} sets '{key}' to a table, list, date or time; expected one text, number, yes or no"
            )
        flag_set = isinstance(value, bool) and option.flag_value is False  # as in no-snap = true
        settings[option.name] = not value if flag_set else value
    ctx.default_map = {**(ctx.default_map or {}), **settings}


_INPUT_OPTIONS: Final = (
    _reading(
        "--id", metavar="COLUMN", help="Column of subject ids. [default: recognized, e.g. uid, user_id, id]"
    ),
    _reading(
        "--time", metavar="COLUMN", help="Column of times. [default: recognized, e.g. t, datetime, timestamp]"
    ),
    _reading("--lat", metavar="COLUMN", help="Column of latitudes, degrees. [default: recognized]"),
    _reading("--lon", metavar="COLUMN", help="Column of longitudes, degrees. [default: recognized]"),
    _reading("--x", metavar="COLUMN", help="Column of planar x (see --crs). [default: recognized]"),
    _reading("--y", metavar="COLUMN", help="Column of planar y. [default: recognized]"),
    _reading(
        "--crs", metavar="CRS", help="Reference system of x and y, e.g. EPSG:2154; 'local' for plain meters."
    ),
    _reading(
        "--person",
        metavar="COLUMN",
        help="Column that names the unit of protection. [default: the id column]",
    ),
    _reading(
        "--per-day",
        is_flag=True,
        help="Protect each UTC day of a person separately instead of the whole movement.",
    ),
    _reading(
        "--time-unit",
        metavar="UNIT",
        help="Unit of numeric times: s, ms, us, ns, serial-days (Excel), or a step such as 1min. "
        "[default: recognized]",
    ),
    _reading(
        "--time-format",
        metavar="FORMAT",
        help="Format of times, e.g. '%d/%m/%Y %H:%M' or '%m/%d/%y %I:%M %p'. [default: recognized]",
    ),
    _reading(
        "--time-zone",
        metavar="ZONE",
        help="Zone of times without one, and of the hours of home, work and profiles, e.g. Europe/Paris. "
        "[default: UTC]",
    ),
    _reading("--date", metavar="COLUMN", help="Column of dates, if --time holds only clock times."),
    _reading(
        "--columns",
        metavar="NAMES",
        help="Names of the columns of a file without a header, e.g. uid,t,lat,lon; _ for one not needed.",
    ),
    _reading(
        "--preset",
        metavar="NAME",
        help="Layout of a known data set, e.g. t-drive, d4d-3, porto. [default: recognized]",
    ),
    _reading("--table", metavar="NAME", help="Table, sheet or layer, if INPUT holds several."),
    _reading(
        "--cells",
        metavar="FILE",
        help="Positions of cells (id, lat, lon) or their footprints (polygons, bounds, a radius), for "
        "rows that name a cell.",
    ),
    _reading(
        "--cell-id", metavar="COLUMN", help="Column that names the cell. [default: recognized, e.g. cell_id]"
    ),
    _reading(
        "--ids-as-they-are",
        is_flag=True,
        help="Ids that look alike (100 and 100.0, Anna and anna) are different people, and one such as guest "
        "or -1 is one person; the release says so.",
    ),
    _reading(
        "--lose-people", is_flag=True, help="Go on although more than 1 % of the people have no usable row."
    ),
    _reading(
        "--min-samples-per-day",
        type=click.FloatRange(min=0),
        metavar="N",
        help="Leave out people with fewer samples a day on average, and report them. [default: none]",
    ),
    _reading(
        "--min-active-days",
        type=ActiveDays(),
        metavar="N|all",
        help="Leave out people with samples on fewer days (UTC), and report them; all: require every day "
        "of the data. [default: none]",
    ),
)
_GRID_OPTIONS: Final = (
    _rounding(
        "--cell", "cell_m", type=LENGTH, metavar="LENGTH", help="Side of the square cells. [default: 100m]"
    ),
    _rounding(
        "--slot", "slot_s", type=DURATION, metavar="DURATION", help="Length of the time slots. [default: 60s]"
    ),
    _rounding(
        "--no-snap",
        "snap",
        is_flag=True,
        flag_value=False,
        default=None,
        help="Leave points unrounded (not for boxes).",
    ),
)

STREET_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "--streets-nodes": {
        "type": PATH,
        "metavar": "FILE",
        "help": "Street graph: its nodes (Parquet, CSV), or the whole graph (.graphml, as OSMnx writes it); "
        "reach-locations works on it, and readers of boxes know it.",
    },
    "--streets-edges": {"type": PATH, "metavar": "FILE", "help": "Street graph: its edges (Parquet, CSV)."},
    "--streets-crs": {
        "metavar": "CRS",
        "help": "System of the streets' x and y. [default: as the file says, else the data's own]",
    },
}


def take_streets(options: dict[str, Any]) -> Any:
    """The street graph, if named."""
    nodes, edges, crs = (
        options.pop(name, None) for name in ("streets_nodes", "streets_edges", "streets_crs")
    )
    if nodes is None:
        if edges is not None or crs is not None:
            raise click.UsageError("--streets-edges and --streets-crs need --streets-nodes")
        return None
    from shoal.io.formats.street_files import read_streets

    return read_streets(nodes, edges, crs=crs)


_TILES: Final[dict[str, Any]] = {
    "type": PATH,
    "metavar": "FILE.mbtiles",
    "help": "Your own raster tiles (PNG or JPEG); no network is used.",
}


def take_ground(options: dict[str, Any]) -> Any:
    """The map's ground: streets and tiles."""
    from shoal.report.facts.ground import NO_GROUND, MapGround

    streets, tiles = take_streets(options), options.pop("tiles")
    if streets is None and tiles is None:
        return NO_GROUND
    from shoal.report.tile_files import read_tiles

    return MapGround(streets=streets, tiles=None if tiles is None else read_tiles(tiles))


street_options = _adding(*(click.option(option, **facts) for option, facts in STREET_OPTIONS.items()))
ground_options = _adding(
    *(
        click.option(option, cls=Option, section=GROUND, **facts)
        for option, facts in (STREET_OPTIONS | {"--tiles": _TILES}).items()
    )
)
column_options = _adding(*_INPUT_OPTIONS)
place_options = _adding(
    _reading(
        "--places",
        metavar="FILE",
        help="Public list of places (lat, lon or x, y; maybe busyness), e.g. base stations; rows elsewhere "
        "are dropped.",
    ),
    _reading(
        "--places-are-public",
        is_flag=True,
        help="The list has exactly the places of the data, and is public all the same.",
    ),
    _reading(
        "--sensitive",
        metavar="FILE",
        help="List of sensitive places (kind, lat, lon or x, y; maybe radius in meters), e.g. hospitals.",
    ),
)
input_options = _adding(*_INPUT_OPTIONS, *_GRID_OPTIONS)
input_argument = _adding(
    _reading(
        "--from",
        "query",
        is_eager=True,
        expose_value=False,
        callback=_remember_query,
        metavar="'ADDRESS QUERY'",
        help="Instead of INPUT: a query on a server, e.g. 'postgresql://USER@HOST/DB SELECT ...'.",
    ),
    click.argument("source", type=SOURCE, metavar="INPUT", required=False, callback=_input_or_query),
)
output_options = _adding(
    _running("--json", "as_json", is_flag=True, help="Print only one JSON document on standard output."),
    _running(
        "--quiet",
        is_flag=True,
        is_eager=True,
        callback=partial(_remember, QUIET),
        help="Print only failures and cautions, and the document of --json.",
    ),
    _running(
        "--log",
        type=click.Choice(("text", "json")),
        default="text",
        is_eager=True,
        expose_value=False,
        callback=partial(_remember, LOG),
        help="Format of messages and progress on standard error: text, or one JSON object per line.",
    ),
)
config_option = _running(
    "--config",
    type=PATH,
    is_eager=True,
    expose_value=False,
    callback=_use_config,
    metavar="FILE.toml",
    help='Read options from a file, e.g. k = 5, suppress-space = "15km"; the command line wins.',
)
earlier_option = click.option(
    "--earlier",
    multiple=True,
    metavar="FOLDER=LINKAGE[=RAW]",
    help="An earlier release of the same people, its linkage, and its raw data if that is not RAW. May be "
    "repeated.",
)


class CommandOptions:
    """Options of one command alone, as fields of a dataclass."""

    @classmethod
    def take(cls, options: dict[str, Any]) -> Self:
        """Take these options from all others."""
        return cls(**{field.name: options.pop(field.name) for field in fields(cls)})  # type: ignore[arg-type]  # a dataclass


@dataclass(frozen=True, kw_only=True)
class OutputOptions(CommandOptions):
    """The values of --json and --quiet."""

    as_json: bool
    quiet: bool


def take_earlier(texts: Sequence[str], *, linked: bool = False) -> "list[EarlierRelease]":
    """Folders with linkage and raw data; linked: refuse one without linkage."""
    from shoal.publishing.series import EarlierRelease

    releases = []
    for text in texts:
        folder, rest = _split_at_path(text)
        linkage, raw = _split_at_path(rest)
        if not folder or (linked and not linkage):
            raise click.UsageError(
                f"--earlier {text} names no linkage, which tells who shares a record; write "
                "FOLDER=LINKAGE.parquet"
            )
        releases.append(EarlierRelease(Path(folder), Path(linkage) if linkage else None, raw or None))
    return releases


def _split_at_path(text: str) -> tuple[str, str]:
    """What stands before and after the first = that ends a path that exists, else the first."""
    places = [place for place, letter in enumerate(f"{text}=") if letter == "="]
    at = next((place for place in places if Path(text[:place]).exists()), places[0])
    return text[:at], text[at + 1 :]


def take_reading(options: dict[str, Any]) -> dict[str, Any]:
    """Take the reading's options, by the names of its fields."""
    reading: dict[str, Any] = {}
    for key in list(options):
        name = key.removeprefix(OF_READING)
        if name in READING_FIELDS:
            value = options.pop(key)
            if value is not None and (value is not False or name == "snap"):
                reading[name] = value
    return reading


def take_reading_of_release(options: dict[str, Any]) -> dict[str, Any]:
    """As ``take_reading``; a grid is refused, since the manifest gives it."""
    reading = take_reading(options)
    if not {"cell_m", "slot_s", "snap"}.isdisjoint(reading):
        raise click.UsageError(
            "the release's manifest gives the cell and the slot; leave out --cell, --slot and --no-snap"
        )
    return reading


def refuse_unused(why: str, *names: str) -> None:
    """Raise UsageError for options without effect.

    why: follows "has no effect".
    """
    ctx = click.get_current_context()
    options_set = [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name in names
        and ctx.get_parameter_source(parameter.name) is not click.core.ParameterSource.DEFAULT
    ]
    if options_set:
        verb, rest = ("have", "them") if len(options_set) > 1 else ("has", "it")
        raise click.UsageError(f"{' and '.join(options_set)} {verb} no effect {why}; leave {rest} out")


@contextmanager
def needs_extra(package: str) -> Iterator[None]:
    """Say what to install, such as ``shoal-collect[server]``."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"this command needs {error.name}; install it with: pip install '{package}'"
        ) from error


def page_in_a_browser(port: int) -> Callable[[Command], Command]:
    """Add --port and --no-browser."""
    return _adding(
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            help="0 for any free port, which is printed.",
        ),
        click.option("--no-browser", is_flag=True, help="Only print the address."),
    )
