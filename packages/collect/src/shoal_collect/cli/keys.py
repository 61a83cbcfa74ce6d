"""Commands for servers' keys, and the option that shows successors."""

import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shoal.cli.options import PATH, needs_extra
from shoal.cli.sections import ExampleCommand
from shoal.errors import InputError, MisuseError
from shoal_collect.cli.listening import secret_of

if TYPE_CHECKING:
    from shoal_collect.roles.succession import Successor

Command = TypeVar("Command", bound=Callable[..., Any])

_role = click.option(
    "--role",
    type=click.Choice(("collector", "authority", "registrar")),
    required=True,
    help="Whose key it is.",
)


def showing_successors(command: Command) -> Command:
    """Add --successors."""
    return click.option(
        "--successors",
        type=PATH,
        multiple=True,
        metavar="FILE",
        help="How keys followed earlier ones, from 'shoal collect successor'; shown to devices. Can be "
        "repeated.",
    )(command)


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
@_role
@click.option("--key", "file", type=PATH, required=True, metavar="FILE", help="Secret key; made when absent.")
def key(role: Any, file: Path) -> int:
    """Print the public key that belongs to a server's key file."""
    with needs_extra("shoal-collect[server]"):
        from shoal_collect.crypto.signatures import verify_key

    click.echo(verify_key(_keys_of(role, file)[0]).hex())
    return 0


@click.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal collect successor --role collector --key collector.key --new-key collector-2.key --to "
            "successors.json",
            "a new key that devices will accept, since the old one signed it",
        ),
    ),
    epilog="Keep FILE and show it for good: it is no secret, and devices that come later need all of it. "
    "Stop the server, start it with the new key and --successors FILE, then destroy the old key.",
)
@_role
@click.option("--key", "old_key", type=PATH, required=True, metavar="FILE", help="The key file until now.")
@click.option("--new-key", type=PATH, required=True, metavar="FILE", help="The next one; made when absent.")
@click.option(
    "--to",
    "file",
    type=PATH,
    required=True,
    metavar="FILE",
    help="Where the statement is added; made when absent.",
)
@click.option(
    "--days",
    type=click.IntRange(1, 3660),
    default=366,
    help="Devices that come later than that refuse the new key.",
)
def successor(role: Any, old_key: Path, new_key: Path, file: Path, days: int) -> int:
    """Sign a new key of a server with the old one, so that devices accept it."""
    with needs_extra("shoal-collect[server]"):
        from shoal.runtime.staging import staged_file
        from shoal_collect.crypto.signatures import verify_key
        from shoal_collect.roles.succession import Successors, sign_successor

    if not old_key.is_file():
        raise InputError(
            f"{old_key} is not there; name the key file that the {role} has used until now with --key"
        )
    earlier = list(read_file(file)) if file.exists() else []
    signing_seed, _ = _keys_of(role, old_key)
    new_seed, sealing = _keys_of(role, new_key)
    old, new = verify_key(signing_seed).hex(), verify_key(new_seed).hex()
    successor_of = {statement.old: statement.new for statement in earlier if statement.role == role}
    if old in successor_of:
        raise MisuseError(
            f"{file} names a successor of this key already; sign with that one, or devices refuse both"
        )
    if new == old or new in successor_of:
        raise MisuseError("the new key was used before; name another file with --new-key")
    signed = sign_successor(signing_seed, role, new, int(time.time()), days, sealing)
    document = Successors(successors=(*earlier, signed)).model_dump_json(indent=2)
    with staged_file(file, lambda stream: stream.write(document.encode()), mode=0o644):
        pass
    until = datetime.fromtimestamp(signed.until_s, UTC)
    click.echo(f"{role}: {old} is followed by {new}, for devices that come before {until:%Y-%m-%d}")
    return 0


def _keys_of(role: str, file: Path) -> tuple[bytes, str]:
    from shoal_collect.crypto import envelope
    from shoal_collect.roles.registrar import signing_seed_of
    from shoal_collect.server.http_authority import secrets_of

    seed = secret_of(file)
    if role == "collector":
        return seed, ""
    if role == "registrar":
        return signing_seed_of(seed), ""
    secret, signing_seed = secrets_of(seed)
    return signing_seed, envelope.public_key(secret).hex()


def read_file(file: Path) -> "Sequence[Successor]":
    """Successors of a file, at least one."""
    from shoal_collect.roles.succession import Successors

    try:
        content = file.read_bytes()
        version = json.loads(content)["version"]
        if version != 1:
            raise InputError(f"{file} was written by another version of shoal; use that one")
        return Successors.model_validate_json(content).successors
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{file} holds no successors of keys; restore it, or name the file that 'shoal collect "
            "successor' wrote"
        ) from error


def read_files(files: Sequence[Path]) -> "tuple[Successor, ...]":
    """Of all these files."""
    return tuple(statement for file in files for statement in read_file(file))
