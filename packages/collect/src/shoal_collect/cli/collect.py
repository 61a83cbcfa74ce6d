"""The commands of the user-centric protocol."""

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

import click

from shoal.cli.options import DURATION, PATH
from shoal.cli.sections import Group


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
    examples=(("shoal collect plan", "how large groups should be, before anybody is asked to take part"),),
)
def collect() -> None:
    """Let people protect themselves before they send anything (the user-centric protocol)."""
