"""The commands that run an authority or a registrar, and print the public half of a key."""

import os
import re
from pathlib import Path
from typing import Any, Final

import click

from shoal.cli.options import PATH, needs_extra, refuse_unused
from shoal.cli.sections import ExampleCommand
from shoal_collect.cli.collect import (
    SERVING,
    TOKEN_DAYS,
    kept_in,
    listening,
    require_listening,
    secret_of,
    serve_app,
)
from shoal_collect.cli.collected import require_there

_COLLECTOR_KEYS: Final = click.option(
    "--collector-key",
    "collectors",
    multiple=True,
    metavar="HEX",
    help="Public key of a collector whose receipts hold, and whose tokens are issued; can be repeated.",
)


def _collector_keys(options: dict[str, Any], *, serving: bool) -> frozenset[bytes]:
    keys = options["collectors"]
    if not all(re.fullmatch("[0-9a-fA-F]{64}", key) for key in keys) or (serving and not keys):
        raise click.UsageError(
            "give each collector's key with --collector-key: 64 hexadecimal digits, printed when it starts"
        )
    return frozenset(map(bytes.fromhex, keys))


@click.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal collect authority --database sqlite:///authority.sqlite --collector-key KEY",
            "KEY is what the collector prints when it starts",
        ),
        (
            "shoal collect authority --database sqlite:///authority.sqlite --identifiers-of USER",
            "what a person has released, for a request of hers",
        ),
    ),
    epilog="Nobody can ask over the network who owns what; use --identifiers-of on the authority's machine.",
)
@kept_in("authority.key", "its own, not the collector's")
@_COLLECTOR_KEYS
@click.option(
    "--identifiers-of",
    "user",
    metavar="USER",
    help="Print the identifiers that a user has claimed, then exit.",
)
@click.option(
    "--admit",
    is_flag=True,
    help="Be the registrar, too, under the same key: admit people, issue tokens for these collectors.",
)
@TOKEN_DAYS
@listening(8441)
def authority(**options: Any) -> int:
    """Run an authority: who owns which identifier, each proven by the key of its release.

    It never sees a trajectory.
    """
    with needs_extra("shoal-collect[server]"):
        from shoal_collect.server.http_authority import ClaimBook, authority_application
        from shoal_collect.server.registrar import RegisterBook, Registrar
        from shoal_collect.storage.database import AUTHORITY, Database

    if not options["admit"]:
        refuse_unused("without --admit", "token_days")
    if options["user"] is not None:
        refuse_unused("beside --identifiers-of, with which no server runs", *SERVING)
        require_there(options["database"], "authority")
    keys = _collector_keys(options, serving=options["user"] is None)
    with Database(options["database"], AUTHORITY) as database:
        seed = secret_of(options["key"])
        book = ClaimBook(database, seed, keys)
        if options["user"] is not None:
            for identifier in book.identifiers_of(options["user"]):
                click.echo(identifier)
            return 0
        require_listening(options)
        admitting = None
        if options["admit"]:
            register = RegisterBook(database)
            admitting = Registrar(register, seed, keys, options["token_days"], book.signing_seed)
        app = authority_application(book, quiet=options["quiet"], registrar=admitting)
        serve_app(app, options, "authority", book.facts["signing_key"])
    return 0


@click.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal collect registrar --database sqlite:///registrar.sqlite --invite 20",
            "twenty invitations, each for one person",
        ),
        (
            "shoal collect registrar --database sqlite:///registrar.sqlite --collector-key KEY",
            "admit who has one; KEY is what the collector prints",
        ),
    ),
    epilog="Name it to the collector with --registrar URL KEY. It knows who takes part, and not which key, "
    "question or release is whose.",
)
@kept_in("registrar.key", "its own, or the authority's")
@_COLLECTOR_KEYS
@TOKEN_DAYS
@click.option(
    "--invite",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Print N new invitations, each good for one person, then exit.",
)
@listening(8443)
def registrar(**options: Any) -> int:
    """Run a registrar: it admits persons, and signs one key of each for a round without seeing it."""
    with needs_extra("shoal-collect[server]"):
        from shoal_collect.server.registrar import (
            CODE_BYTES,
            RegisterBook,
            Registrar,
            code_digest,
            registrar_application,
            write_code,
        )
        from shoal_collect.storage.database import AUTHORITY, Database

    if options["invite"] is not None:
        refuse_unused("beside --invite, with which no server runs", "collectors", "token_days", *SERVING)
    keys = _collector_keys(options, serving=options["invite"] is None)
    with Database(options["database"], AUTHORITY) as database:
        book = RegisterBook(database)
        if options["invite"] is not None:
            codes = [write_code(os.urandom(CODE_BYTES)) for _ in range(options["invite"])]
            book.invite(map(code_digest, codes))
            click.echo("\n".join(codes))
            return 0
        require_listening(options)
        seed = secret_of(options["key"])
        signer = Registrar(book, seed, keys, options["token_days"])
        app = registrar_application(signer, book, quiet=options["quiet"])
        serve_app(app, options, "registrar", signer.public_key.hex())
    return 0


@click.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal collect key --role collector --key collector.key",
            "make the key and print its public half, for the other servers",
        ),
    ),
    epilog="Servers that name each other's keys need them before any of them starts. A witness has a "
    "collector's kind of key; an authority that admits people has an authority's.",
)
@click.option(
    "--role",
    type=click.Choice(("collector", "authority", "registrar")),
    required=True,
    help="Whose key it is.",
)
@click.option("--key", "file", type=PATH, required=True, metavar="FILE", help="Secret key; made when absent.")
def key(role: Any, file: Path) -> int:
    """Print the public key that belongs to a server's key file."""
    with needs_extra("shoal-collect[server]"):
        from shoal_collect.crypto.signatures import verify_key
        from shoal_collect.server.http_authority import secrets_of
        from shoal_collect.server.registrar import signing_seed_of

    seed = secret_of(file)
    if role == "registrar":
        seed = signing_seed_of(seed)
    elif role == "authority":
        seed = secrets_of(seed)[1]
    click.echo(verify_key(seed).hex())
    return 0
