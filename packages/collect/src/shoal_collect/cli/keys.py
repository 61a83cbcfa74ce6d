"""The command that prints the public half of a server's key."""

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import PATH, needs_extra
from shoal.cli.sections import ExampleCommand
from shoal_collect.cli.listening import secret_of


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
