"""The commands of the user-centric protocol."""

from collections.abc import Callable
from typing import Any

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


def servers_of_a_round(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a participant's servers, user name, patience."""
    options = (
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
    for option in reversed(options):
        command = option(command)
    return command


@click.group(
    cls=Group,
    examples=(("shoal collect plan", "how large groups should be, before anybody is asked to take part"),),
)
def collect() -> None:
    """Let people protect themselves before they send anything (the user-centric protocol)."""
