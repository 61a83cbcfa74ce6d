"""The command for a participant's pages."""

import sys
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import PATH, needs_extra, page_in_a_browser
from shoal.cli.sections import ExampleCommand
from shoal_collect.cli.collect import leave_no_core, servers_of_a_round


@click.command(
    name="app",
    cls=ExampleCommand,
    examples=(("shoal collect app --server URL --authority URL", "in your browser, on this machine"),),
    epilog="Nothing is sent before you agree on the page. End the app with Ctrl-C; started again, it goes on "
    "with a round that is not over.",
)
@servers_of_a_round
@click.option(
    "--state",
    type=PATH,
    default=Path("my-state"),
    show_default=True,
    metavar="DIR",
    help="Your keys and the round under way; keep this folder secret and complete.",
)
@click.option(
    "--profile", "profile_file", type=PATH, metavar="FILE.toml", help="Settings to begin with, as for join."
)
@page_in_a_browser(8451)
def participant_app(**options: Any) -> int:
    """Take part on pages in a browser: pick a trip, see it blurred, agree, and follow the round."""
    leave_no_core()
    with needs_extra("shoal-collect[app]"):
        from shoal_collect.app.person import Addresses
        from shoal_collect.app.serving import serve_participant

    def ready(address: str) -> None:
        click.echo(f"app at {address}")
        sys.stdout.flush()  # whoever starts the app from a program waits for this line

    addresses = Addresses(
        options["server_url"],
        options["authority_url"],
        options["ca"],
        options["poll_s"],
        options["patience_s"],
    )
    serve_participant(
        options["state"],
        addresses,
        ready,
        options["port"],
        open_browser=not options["no_browser"],
        user=options["user"],
        profile_file=options["profile_file"],
    )
    return 0
