"""The command that runs a witness."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import PATH, needs_extra, refuse_unused
from shoal.cli.sections import ExampleCommand
from shoal_collect.cli.collected import require_there
from shoal_collect.cli.listening import kept_in, key_after, listening, require_listening, secret_of, serve_app


@click.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal collect witness --database postgresql://shoal@localhost/shoal",
            "beside the collector, on its own database",
        ),
        (
            "shoal collect witness --database sqlite:///witness.sqlite --follow URL KEY",
            "elsewhere: a copy of what the collector has closed, with KEY its key",
        ),
    ),
    epilog="Name it to the collector with --witness URL KEY. It answers only what the collector has "
    "answered, and "
    "stores nothing.",
)
@kept_in("witness.key", "the collector's own, with --follow one of the witness")
@click.option(
    "--follow",
    nargs=2,
    metavar="URL KEY",
    help="Keep a copy: take over closed days from the collector at this address, and check their roots. "
    "KEY: its key, or an earlier one that leads to it.",
)
@click.option(
    "--registrar",
    metavar="KEY",
    help="With --follow: refuse a day with a release of somebody whom this registrar has not admitted.",
)
@click.option(
    "--ca", type=PATH, metavar="FILE", help="Certificates (PEM) to trust for it instead of the system's."
)
@listening(8442)
def witness(**options: Any) -> int:
    """Run a witness: it answers members' questions a second time, so that a lying collector is found out."""
    with needs_extra("shoal-collect[server]"):
        from shoal_collect.crypto.signatures import verify_key
        from shoal_collect.device.http_client import make_asker
        from shoal_collect.server.following import DayFollower
        from shoal_collect.server.http_witness import witness_application
        from shoal_collect.storage.database import Database
    if not options["follow"]:
        refuse_unused("without --follow", "registrar", "ca")
        require_there(options["database"], "collector")
    require_listening(options)
    with Database(options["database"]) as database:
        seed = secret_of(options["key"])
        following = None
        if options["follow"]:
            url, key = options["follow"]
            ask = make_asker(*_collector_at(url, key, options["ca"]), seed)
            require = _require_admitted(key, options["registrar"])
            following = DayFollower(database, ask, require)
            _say_what_it_lacks(ask, verify_key(seed).hex())
        app = witness_application(database, seed, following, quiet=options["quiet"])
        serve_app(app, options, "witness", verify_key(seed).hex())
    return 0


def _require_admitted(collector_key: str, registrar_key: str | None) -> Callable[[Any, bytes], None]:
    from functools import partial

    from shoal_collect.roles.contributors import require_scope

    if registrar_key is None:
        return lambda *_: None
    keys = bytes.fromhex(collector_key), bytes.fromhex(key_after("--registrar", registrar_key))
    return partial(require_scope, collector_key=keys[0], registrar_key=keys[1])


def _say_what_it_lacks(ask: Callable[[str], Any], key: str) -> None:
    """It may start before the collector, but answers nothing without it."""
    import time

    from shoal_collect.faults import PeerError, UnavailableError
    from shoal_collect.roles.requests import SKEW_S
    from shoal_collect.roles.terms import read_terms

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


def _collector_at(url: str, key: str, ca: Path | None) -> tuple[Any, bytes]:
    from shoal_collect.device.http_client import RemoteServer

    return RemoteServer(url, ca), bytes.fromhex(key_after("--follow", key))
