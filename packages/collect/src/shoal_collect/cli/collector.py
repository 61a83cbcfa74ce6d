"""The command that runs a collector."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from shoal.cli.options import DURATION, LENGTH, PATH, needs_extra, refuse_unused
from shoal.cli.sections import ExampleCommand
from shoal.errors import InputError, MisuseError
from shoal_collect.cli.listening import key_after, listening, require_listening, secret_of, serve_app

if TYPE_CHECKING:
    from shoal_collect.roles.terms import Terms


Command = TypeVar("Command", bound=Callable[..., Any])

STATEMENTS: Final = {
    "controller": "Who is responsible for the collection, with an address.",
    "purpose": "What it is for.",
    "recipients": "Who receives what is released.",
    "retention": "How long it is kept.",
    "contact": "Whom to ask, and to whom to object.",
}


def stating(command: Command) -> Command:
    """Add an option for each statement."""
    for name, words in reversed(STATEMENTS.items()):
        command = click.option(f"--{name}", default="", metavar="TEXT", help=f"For consent: {words}")(command)
    return command


@click.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal collect server --database sqlite:///collect.sqlite --places places.csv",
            "for a trial on this machine, at port 8440",
        ),
        (
            "shoal collect server --database postgresql://shoal@localhost/shoal --places places.csv "
            "--registrar URL KEY --round-size 30 --keep-days 90",
            "people with a token alone, in rounds of 30; kept for 90 days",
        ),
    ),
    epilog="Everything that lasts is in the database and the key file: stop and start the server at any "
    "time.",
)
@click.option(
    "--database",
    required=True,
    metavar="URL",
    help="sqlite:///FILE, or postgresql://USER@HOST/NAME (see docs/collect.md).",
)
@click.option(
    "--key", type=PATH, default=Path("collector.key"), metavar="FILE", help="Secret key; made when absent."
)
@click.option(
    "--places",
    required=True,
    type=PATH,
    metavar="CSV",
    help="Public places (lat,lon,weight) that fakes are drawn from.",
)
@click.option("--days", type=click.IntRange(min=1), default=365, help="Fakes lie in so many days before now.")
@click.option(
    "--round-size", type=click.IntRange(min=3), default=16, help="A roster freezes with so many people,"
)
@click.option(
    "--join-for", "join_s", type=DURATION, default="10min", help="or after this time with enough for a group."
)
@click.option("--group-size", type=click.IntRange(3, 24), default=4, help="Members of a group.")
@click.option(
    "--real",
    "n_real",
    type=click.IntRange(1, 1023),
    default=15,
    help="Real questions of each at most: all pairs of 6 points are 15.",
)
@click.option(
    "--fake",
    "n_fake",
    type=click.IntRange(1, 1023),
    default=46,
    help="Questions about decoys; so many more than real ones that several decoys fit.",
)
@click.option("--longest", type=click.IntRange(2, 8), default=4, help="Most points of a sub-trajectory.")
@click.option(
    "--pieces", "n_pieces", type=click.IntRange(1, 33), default=4, help="Records of a release, 8 points each."
)
@click.option("--theta-space", "theta_m", type=LENGTH, default="1km", help="Points this close are similar.")
@click.option("--theta-time", "theta_s", type=DURATION, default="60min", help="Times this close are similar.")
@click.option(
    "--phase-limit", "phase_limit_s", type=DURATION, default="2min", help="How long a phase may wait."
)
@click.option(
    "--proven-shuffle/--no-proven-shuffle",
    default=True,
    help="Every mixer proves her shuffle, for twice the work.",
)
@click.option(
    "--witness",
    "witnesses",
    nargs=2,
    multiple=True,
    metavar="URL KEY",
    help="A witness that must give the same answers; can be repeated.",
)
@click.option(
    "--registrar",
    nargs=2,
    metavar="URL KEY",
    help="Only people with this registrar's token take part; without it anybody can, under many names.",
)
@click.option(
    "--least-roster",
    type=click.IntRange(0, 10_000),
    default=0,
    help="Draw groups from at least so many people; by default from one group.",
)
@click.option(
    "--token-days",
    type=click.IntRange(1, 366),
    default=1,
    help="A person gets one token, for one round, in so many days; as the registrar has it.",
)
@click.option(
    "--least-k",
    type=click.IntRange(0, 15),
    default=0,
    help="The least k with which devices take part; with 1 or more nobody can be the first.",
)
@click.option(
    "--keep-days",
    "kept_days",
    type=click.IntRange(1, 36_500),
    help="Delete a release after so many days. [default: when its owner takes it back]",
)
@click.option(
    "--least-radius", "least_radius_m", type=LENGTH, default="75m", help="Circles of at least this radius,"
)
@click.option("--most-radius", "most_radius_m", type=LENGTH, default="2km", help="and at most this one.")
@click.option(
    "--least-gap", "least_gap_s", type=DURATION, default="6min", help="Intervals of at least this length,"
)
@click.option("--most-gap", "most_gap_s", type=DURATION, default="12h", help="and at most this one.")
@click.option(
    "--least-count", type=click.IntRange(1, 16), default=2, help="Fewer people are answered as nobody."
)
@click.option(
    "--resolution",
    "resolution_m",
    type=LENGTH,
    default="250m",
    help="No answer depends on places more finely than this,",
)
@click.option("--resolution-time", "resolution_s", type=DURATION, default="15min", help="nor times.")
@click.option(
    "--area-questions",
    type=click.IntRange(min=1),
    default=2000,
    help="Questions about one area and day that are answered in 30 days, by all groups together.",
)
@click.option(
    "--authority", default="", metavar="URL", help="The authority's address, for the page for people."
)
@stating
@listening(8440)
def server(**options: Any) -> int:
    """Run a collector: rosters, lotteries, sealed letters, signed answers, releases.

    It never sees raw data, nor who asks what.
    """
    with needs_extra("shoal-collect[server]"):
        from shoal_collect.crypto.signatures import verify_key
        from shoal_collect.roles.contributors import MOST_AREAS, areas_of
        from shoal_collect.server.http_collector import CollectorSettings, collector_application
        from shoal_collect.storage.database import Database
    from shoal_collect.device.http_client import RemoteServer

    if not options["registrar"]:
        refuse_unused("without --registrar", "token_days")
    terms = _terms_of(options)
    places = _public_places(options["places"], options["days"])
    areas = areas_of(places, terms.scoping)
    if terms.registrar is not None and len(areas) > MOST_AREAS:
        raise MisuseError(
            f"{options['places']} has places in more than {MOST_AREAS} areas of {terms.area_km} km, and with "
            "--registrar a device asks for a credential of each; leave out far places"
        )
    require_listening(options)
    with Database(options["database"]) as database:
        seed = secret_of(options["key"])
        app = collector_application(
            database,
            seed,
            terms,
            CollectorSettings(
                places,
                round_size=options["round_size"],
                join_s=options["join_s"],
                authority=options["authority"] and RemoteServer(options["authority"]).url,
            ),
            os.urandom,
            quiet=options["quiet"],
        )

        serve_app(app, options, "collector", verify_key(seed).hex())
    return 0


def _terms_of(options: dict[str, Any]) -> "Terms":
    from pydantic import ValidationError

    from shoal_collect.device.http_client import RemoteServer
    from shoal_collect.roles.terms import OtherCollector, RegistrarTerms, Terms

    names = (
        "group_size",
        "n_real",
        "n_fake",
        "longest",
        "n_pieces",
        "theta_m",
        "phase_limit_s",
        "proven_shuffle",
        "kept_days",
        "least_k",
        "resolution_m",
        "least_count",
        "area_questions",
        *STATEMENTS,
        "least_roster",
    )
    try:
        return Terms(
            **{name: options[name] for name in names},
            theta_min=options["theta_s"] / 60,
            least_radius_m=math.ceil(options["least_radius_m"]),
            most_radius_m=math.floor(options["most_radius_m"]),
            least_gap_min=math.ceil(options["least_gap_s"] / 60),
            most_gap_min=math.floor(options["most_gap_s"] / 60),
            resolution_min=math.ceil(options["resolution_s"] / 60),
            witnesses=tuple(
                OtherCollector(url=RemoteServer(url).url, key=key_after("--witness", key))
                for url, key in options["witnesses"]
            ),
            registrar=options["registrar"]
            and RegistrarTerms(
                url=RemoteServer(options["registrar"][0]).url,
                key=key_after("--registrar", options["registrar"][1]),
                days=options["token_days"],
            ),
        )
    except ValidationError as error:
        raise MisuseError(f"these settings do not go together: {error.errors()[0]['msg']}") from error


def _public_places(file: Path, days: int) -> Any:
    import csv
    import time

    from pydantic import ValidationError

    from shoal_collect.roles.terms import PublicPlaces
    from shoal_collect.roles.wire import DAY_S

    try:
        with file.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        columns = {name: [float(row[name]) for row in rows] for name in ("lat", "lon")}
        weights = [int(row.get("weight") or 1) for row in rows]
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}; check the path") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{file} does not hold places; give a CSV with the columns lat, lon and weight (a whole number)"
        ) from error
    end_min = int(time.time() // DAY_S) * DAY_S // 60
    try:
        places = PublicPlaces(
            lat_deg=tuple(columns["lat"]),
            lon_deg=tuple(columns["lon"]),
            weights=tuple(weights),
            first_min=end_min - days * DAY_S // 60,
            last_min=end_min,
        )
    except ValidationError as error:
        column, *row = error.errors()[0]["loc"] or ("",)
        why = (
            f"{column} in row {int(row[0]) + 1} is out of range"
            if row
            else "give 1 to 10,000, with weights that are not all 0"
        )
        raise InputError(f"{file} holds no usable places: {why}") from error
    return places
