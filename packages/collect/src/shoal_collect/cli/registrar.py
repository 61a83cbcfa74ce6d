"""The command that runs a registrar."""

import os
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import PATH, needs_extra, refuse_unused
from shoal.cli.sections import ExampleCommand
from shoal.errors import InputError
from shoal.units import counted
from shoal_collect.cli.listening import (
    SERVING,
    kept_in,
    key_after,
    listening,
    require_listening,
    secret_of,
    serve_app,
)


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
@click.option(
    "--collector-key",
    "collectors",
    multiple=True,
    metavar="HEX",
    help="Public key of a collector that tokens are issued for; can be repeated.",
)
@click.option(
    "--token-days",
    type=click.IntRange(1, 366),
    default=1,
    help="A person gets one token, for one round, in so many days.",
)
@click.option(
    "--invite",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Print N new invitations, each good for one person, then exit.",
)
@click.option(
    "--allow",
    type=PATH,
    metavar="FILE",
    help="Admit the accounts in this file, one a line, then exit. A refused device names its account.",
)
@listening(8443)
def registrar(**options: Any) -> int:
    """Run a registrar: it admits persons, and signs one key of each for a round without seeing it."""
    with needs_extra("shoal-collect[server]"):
        from shoal_collect.server.registrar import (
            CODE_BYTES,
            Registrar,
            code_digest,
            registrar_application,
            write_code,
        )
        from shoal_collect.storage.database import Database
        from shoal_collect.storage.register import RegisterBook
        from shoal_collect.storage.schema import AUTHORITY

    if options["invite"] is not None and options["allow"] is not None:
        raise click.UsageError("give --invite or --allow, not both at once")
    if options["invite"] is not None or options["allow"] is not None:
        unused = ("collectors", "token_days", *SERVING)
        refuse_unused("beside --invite and --allow, with which no server runs", *unused)
    accounts = [] if options["allow"] is None else _accounts(options["allow"])
    with Database(options["database"], AUTHORITY) as database:
        book = RegisterBook(database)
        if options["invite"] is not None:
            codes = [write_code(os.urandom(CODE_BYTES)) for _ in range(options["invite"])]
            book.invite(map(code_digest, codes))
            click.echo("\n".join(codes))
            return 0
        if options["allow"] is not None:
            click.echo(
                f"{book.allow(accounts)} of {counted(len(accounts), 'account is', 'accounts are')} new"
            )
            return 0
        keys = frozenset(bytes.fromhex(key_after("--collector-key", key)) for key in options["collectors"])
        if not keys:
            raise click.UsageError(
                "give each collector's key with --collector-key: 64 hexadecimal digits, printed when it "
                "starts"
            )
        require_listening(options)
        seed = secret_of(options["key"])
        signer = Registrar(book, seed, keys, options["token_days"])
        app = registrar_application(signer, book, quiet=options["quiet"])
        serve_app(app, options, "registrar", signer.public_key.hex())
    return 0


def _accounts(file: Path) -> list[bytes]:
    try:
        lines = [line.split("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read; give a text file with one account a line") from error
    accounts = []
    for number, line in enumerate(lines, 1):
        try:
            account = bytes.fromhex(line)
        except ValueError:
            account = b"?"
        if line and len(account) != 32:
            raise InputError(f"line {number} of {file} is not an account: 64 hexadecimal digits")
        if line:
            accounts.append(account)
    return accounts
