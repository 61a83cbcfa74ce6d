"""The command that runs an authority."""

from typing import Any

import click

from shoal.cli.options import needs_extra, refuse_unused
from shoal.cli.sections import ExampleCommand
from shoal_collect.cli.collected import require_there
from shoal_collect.cli.listening import SERVING, kept_in, listening, require_listening, secret_of, serve_app


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
@click.option(
    "--collector-key",
    "collectors",
    multiple=True,
    metavar="HEX",
    help="Public key of a collector whose receipts hold; can be repeated.",
)
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
@click.option(
    "--token-days",
    type=click.IntRange(1, 366),
    default=1,
    help="With --admit: a person gets one token in so many days.",
)
@listening(8441)
def authority(**options: Any) -> int:
    """Run an authority: who owns which identifier, each proven by the key of its release.

    It never sees a trajectory.
    """
    with needs_extra("shoal-collect[server]"):
        from shoal_collect.server.http_authority import ClaimBook, authority_application
        from shoal_collect.server.registrar import Registrar
        from shoal_collect.storage.database import Database
        from shoal_collect.storage.register import RegisterBook
        from shoal_collect.storage.schema import AUTHORITY

    try:
        keys = frozenset(bytes.fromhex(key) for key in options["collectors"])
    except ValueError as error:
        raise click.UsageError(
            "a --collector-key is not 64 hexadecimal digits; the collector prints its key when it starts"
        ) from error
    if not options["admit"]:
        refuse_unused("without --admit", "token_days")
    if options["user"] is not None:
        refuse_unused("beside --identifiers-of, with which no server runs", *SERVING)
        require_there(options["database"], "authority")
    with Database(options["database"], AUTHORITY) as database:
        seed = secret_of(options["key"])
        book = ClaimBook(database, seed, keys)
        if options["user"] is not None:
            for identifier in book.identifiers_of(options["user"]):
                click.echo(identifier)
            return 0
        if not keys or any(len(key) != 32 for key in keys):
            raise click.UsageError(
                "give each collector's key with --collector-key: 64 hexadecimal digits, printed when it "
                "starts"
            )
        require_listening(options)
        admitting = None
        if options["admit"]:
            register = RegisterBook(database)
            admitting = Registrar(register, seed, keys, options["token_days"], book.signing_seed)
        app = authority_application(book, quiet=options["quiet"], registrar=admitting)
        serve_app(app, options, "authority", book.facts["signing_key"])
    return 0
