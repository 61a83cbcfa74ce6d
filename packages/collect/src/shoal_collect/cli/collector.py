"""The commands that run a collector, or a witness of one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import DURATION, PATH, needs_extra, refuse_unused
from shoal.cli.sections import ExampleCommand
from shoal.errors import InputError, MisuseError, mistake_in_words
from shoal_collect.cli.collect import (
    TOKEN_DAYS,
    kept_in,
    key_after,
    listening,
    require_listening,
    secret_of,
    serve_app,
)

if TYPE_CHECKING:
    from shoal_collect.roles.terms import Terms


@click.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal collect server --database sqlite:///collect.sqlite --places places.csv",
            "for a trial on this machine, at port 8440",
        ),
        (
            "shoal collect server --database postgresql://shoal@localhost/shoal --places places.csv "
            "--registrar URL KEY --round-size 30 --terms terms.toml",
            "people with a token alone, in rounds of 30, on terms of your own",
        ),
    ),
    epilog="Everything that lasts is in the database and the key file: stop and start the server at any "
    "time.",
)
@kept_in("collector.key", "see docs/collect-operate.md")
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
@click.option(
    "--terms",
    type=PATH,
    metavar="FILE.toml",
    help="Terms of a round other than the defaults, and your statements, one a line: group_size = "
    '6, purpose = "...". See docs/collect-operate.md.',
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
@TOKEN_DAYS
@click.option(
    "--authority", default="", metavar="URL", help="The authority's address, for the page for people."
)
@listening(8440)
def server(**options: Any) -> int:
    """Run a collector: rosters, lotteries, sealed letters, signed answers, releases.

    It never sees raw data, nor who asks what.
    """
    with needs_extra("shoal-collect[server]"):
        from shoal_collect.crypto.signatures import verify_key
        from shoal_collect.roles.admission import MOST_AREAS, areas_of
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

    from shoal.runtime.files import read_settings
    from shoal_collect.device.http_client import RemoteServer
    from shoal_collect.roles.terms import OtherCollector, RegistrarTerms, Terms

    file = options["terms"]
    given = {} if file is None else read_settings(file)
    for name in ("witnesses", "registrar"):
        if name in given:
            raise InputError(f"{file}: {name} is not a setting of this file; use the option of that name")
    try:
        return Terms(
            **{"proven_shuffle": True, **given},
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
        mistake = error.errors()[0]
        where = ".".join(map(str, mistake["loc"]))
        message = "is no term" if mistake["type"] == "extra_forbidden" else mistake_in_words(mistake)
        raise InputError(f"{file or 'the terms'}: {where} {message}".replace("  ", " ")) from error


def _public_places(file: Path, days: int) -> Any:
    import csv
    import time

    from pydantic import ValidationError

    from shoal_collect.matching.subtrajectories import PublicPlaces
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


@click.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal collect witness --database sqlite:///witness.sqlite --follow URL KEY",
            "elsewhere: a copy of what the collector has closed, with KEY its key",
        ),
    ),
    epilog="Name it to the collector with --witness URL KEY. It answers only what the collector has "
    "answered, and stores nothing but its copy.",
)
@kept_in("witness.key", "its own, not the collector's")
@click.option(
    "--follow",
    nargs=2,
    required=True,
    metavar="URL KEY",
    help="Take over closed days from the collector at this address, and check their roots. KEY: its key.",
)
@click.option(
    "--registrar",
    metavar="KEY",
    help="Refuse a day with a release of somebody whom this registrar has not admitted.",
)
@click.option(
    "--ca", type=PATH, metavar="FILE", help="Certificates (PEM) to trust for it instead of the system's."
)
@listening(8442)
def witness(**options: Any) -> int:
    """Run a witness: it answers members' questions a second time, so that a lying collector is found out."""
    with needs_extra("shoal-collect[server]"):
        from shoal_collect.crypto.signatures import verify_key
        from shoal_collect.device.http_client import RemoteServer, make_asker
        from shoal_collect.server.http_witness import DayFollower, witness_application
        from shoal_collect.storage.database import Database
    require_listening(options)
    with Database(options["database"]) as database:
        seed = secret_of(options["key"])
        url, key = options["follow"]
        ask = make_asker(RemoteServer(url, options["ca"]), bytes.fromhex(key_after("--follow", key)), seed)
        following = DayFollower(database, ask, _require_admitted(key, options["registrar"]))
        _say_what_it_lacks(ask, verify_key(seed).hex())
        app = witness_application(database, seed, following, quiet=options["quiet"])
        serve_app(app, options, "witness", verify_key(seed).hex())
    return 0


def _require_admitted(collector_key: str, registrar_key: str | None) -> Callable[[Any, bytes], None]:
    from functools import partial

    from shoal_collect.roles.admission import require_scope

    if registrar_key is None:
        return lambda *_: None
    keys = bytes.fromhex(collector_key), bytes.fromhex(key_after("--registrar", registrar_key))
    return partial(require_scope, collector_key=keys[0], registrar_key=keys[1])


def _say_what_it_lacks(ask: Callable[[str], Any], key: str) -> None:
    """It may start before the collector, but answers nothing without it."""
    import time

    from shoal_collect.faults import PeerError, UnavailableError
    from shoal_collect.roles.terms import read_terms
    from shoal_collect.roles.wire import SKEW_S

    try:
        facts = ask("/v1/about")
        ahead_s, terms = time.time() - float(facts["time_s"]), read_terms(facts["terms"])
    except (PeerError, UnavailableError) as error:
        lacks = [f"{error.cli_message}; until it answers"]
    except (KeyError, TypeError, ValueError):
        lacks = ["the collector does not describe itself; until it does"]
    else:
        lacks = []
        if not abs(ahead_s) <= SKEW_S:
            lacks.append(f"the clock here is {ahead_s:+.0f} s from the collector's; until it is set")
        if key not in {item.key for item in terms.witnesses}:
            lacks.append("the collector does not name this witness (--witness URL KEY); until it does")
    for item in lacks:
        click.echo(f"{item}, this witness answers nothing, and rounds wait", err=True)
