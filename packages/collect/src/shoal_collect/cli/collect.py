"""The group of commands, and the options that several of them have."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from shoal.cli.options import DURATION, PATH
from shoal.cli.sections import Group
from shoal.errors import InputError, OutputError


def leave_no_core() -> None:
    """Disable core dumps: they would hold secret keys."""
    try:
        import resource
    except ImportError:  # Windows writes none unless asked to
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def require_points_as_given(reading: dict[str, Any]) -> None:
    """Raise a usage error for options that round points."""
    if any(name in reading for name in ("cell_m", "slot_s", "snap")):
        raise click.UsageError("collect works on the points as given; leave out --cell, --slot and --no-snap")


def together(*options: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Several options as one decorator."""
    return lambda command: reduce(lambda bare, option: option(bare), reversed(options), command)


servers_of_a_round: Final = together(
    click.option("--server", "server_url", required=True, metavar="URL", help="The collector."),
    click.option(
        "--authority",
        "authority_url",
        required=True,
        metavar="URL",
        help="The authority that knows whose a release is.",
    ),
    click.option("--user", default="me", metavar="NAME", help="Your name at the authority."),
    click.option("--poll", "poll_s", type=DURATION, default="1s", help="How often to look for news."),
    click.option(
        "--patience", "patience_s", type=DURATION, default="30min", help="How long a server may be away."
    ),
    click.option(
        "--ca", type=PATH, metavar="FILE", help="Certificates (PEM) to trust instead of the system's."
    ),
)
"""A participant's servers, user name, patience."""


@click.group(
    cls=Group,
    examples=(
        ("shoal collect plan --data calls.csv", "how much would people share, before anybody is asked?"),
    ),
)
def collect() -> None:
    """Let people protect themselves before they send anything (the user-centric protocol)."""


if TYPE_CHECKING:
    from fastapi import FastAPI

# the parameters that ``listening`` adds, but --quiet
SERVING: Final = ("host", "port", "tls_cert", "tls_key", "of_an_address", "at_once", "metrics")
TOKEN_DAYS: Final = click.option(
    "--token-days",
    type=click.IntRange(1, 366),
    default=1,
    help="A person gets one token, for one round, in so many days; the same at registrar and collector.",
)
_SAFE_HOSTS: Final = ("127.0.0.1", "localhost", "::1")


def kept_in(key_file: str, whose: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add database and secret key of a server; ``whose``: of the database."""
    return together(
        click.option(
            "--database",
            required=True,
            metavar="URL",
            help=f"sqlite:///FILE, or postgresql://USER@HOST/NAME; {whose}.",
        ),
        click.option(
            "--key", type=PATH, default=Path(key_file), metavar="FILE", help="Secret key; made when absent."
        ),
    )


def listening(port: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add address, certificate, --quiet."""
    return together(
        click.option("--host", default="127.0.0.1", help="Address to listen at; 0.0.0.0 for all."),
        click.option(
            "--port", type=click.IntRange(0, 65535), default=port, help="0 takes a free one and says which."
        ),
        click.option(
            "--tls-cert",
            type=PATH,
            metavar="FILE",
            help="Certificate (PEM). With --tls-key the server speaks HTTPS.",
        ),
        click.option("--tls-key", type=PATH, metavar="FILE", help="Its private key (PEM)."),
        click.option(
            "--connections",
            "of_an_address",
            type=click.IntRange(min=0),
            default=100,
            help="Connections that one address may have at once; 0 for any number, behind a proxy.",
        ),
        click.option(
            "--all-connections",
            "at_once",
            type=click.IntRange(min=10),
            default=1000,
            help="Connections at once; each device that waits has one, and takes memory.",
        ),
        click.option(
            "--metrics",
            metavar="HOST:PORT",
            help="Show /metrics there, for example 127.0.0.1:9440; without it nowhere.",
        ),
        click.option(
            "--quiet",
            is_flag=True,
            help="No log; otherwise one JSON line a request on standard error, without content.",
        ),
    )


def require_listening(options: Mapping[str, Any]) -> None:
    """Half a certificate is an error; warn about plain text on public addresses."""
    if (options["tls_cert"] is None) != (options["tls_key"] is None):
        raise click.UsageError("--tls-cert and --tls-key go together")
    for name in ("tls_cert", "tls_key"):
        if options[name] is not None and not options[name].is_file():
            raise InputError(
                f"{options[name]} is not a file; give the {name.replace('_', ' ')} in PEM format"
            )
    if options["tls_cert"] is None and options["host"] not in _SAFE_HOSTS:
        click.echo(
            "without --tls-cert the connection is not encrypted: put a TLS proxy in front of it", err=True
        )


def serve_app(app: "FastAPI", options: Mapping[str, Any], who: str, key: str) -> None:
    """Serve until stopped; when ready, print address and key."""
    from shoal.local_pages.serving import serve

    leave_no_core()

    def ready(url: str) -> None:
        click.echo(f"{who} at {url}, key {key}")
        sys.stdout.flush()

    tls = options["tls_cert"], options["tls_key"]
    if options["metrics"] is not None:
        _show_metrics(app, options["metrics"])
    serve(app, options["host"], options["port"], *tls, ready, options["of_an_address"], options["at_once"])


def _show_metrics(app: "FastAPI", where: str) -> None:
    from prometheus_client import start_http_server

    host, _, port = where.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise click.UsageError("--metrics is an address and a port, for example 127.0.0.1:9440")
    host = host.strip("[]")
    try:
        start_http_server(int(port), host, registry=app.state.watch.registry)
    except OSError as error:
        raise InputError(
            f"nothing can listen at {host}, port {port} ({error.strerror}); choose another with --metrics"
        ) from error


def secret_of(file: Path) -> bytes:
    """32 secret bytes from a private file, made when absent."""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(os.urandom(32).hex() + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise OutputError(
            f"the key file {file} cannot be made ({error.strerror}); name another with --key"
        ) from error
    try:
        seed = bytes.fromhex(file.read_text().strip())
    except (OSError, ValueError) as error:
        raise InputError(
            f"the key file {file} cannot be read; restore it, or name another with --key"
        ) from error
    if file.stat().st_mode & 0o007:
        click.echo(f"others on this machine can read the key file {file}: chmod 600 {file}", err=True)
    if len(seed) != 32:
        raise InputError(f"the key file {file} does not hold a key; restore it, or name another with --key")
    return seed


def key_after(option: str, key: str) -> str:
    """A key that an option gives."""
    if re.fullmatch("[0-9a-f]{64}", key) is None:
        raise click.UsageError(
            f"the key of {option} is not 64 hexadecimal digits; the server prints it, and so does "
            "'shoal collect key'"
        )
    return key
