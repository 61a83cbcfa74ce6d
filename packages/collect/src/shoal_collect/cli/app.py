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
    examples=(
        ("shoal collect app --server URL --authority URL", "in your browser, on this machine"),
        ("shoal collect app --server URL --authority URL --house", "on a phone in your house"),
    ),
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
@click.option(
    "--house",
    is_flag=False,
    flag_value="",
    metavar="[ADDRESS]",
    help="For a phone in your house: listen at this machine's address in its network, over TLS, and let in "
    "who types the code that is shown here.",
)
@page_in_a_browser(8451)
def participant_app(**options: Any) -> int:
    """Take part on pages in a browser: pick a trip, see it blurred, agree, and follow the round."""
    leave_no_core()
    with needs_extra("shoal-collect[app]"):
        from shoal_collect.app.person import Addresses
        from shoal_collect.app.serving import PageSocket, serve_participant

        if options["house"] is not None:
            import cryptography  # noqa: F401  (named in the error when it is missing)

    def ready(address: str, digest: str | None) -> None:
        click.echo(f"app at {address}")
        if digest is not None:
            click.echo(
                "Your phone will warn of the certificate: nobody but this machine vouches for it. Go on only "
                f"if it has this SHA-256:\n{digest}",
                err=True,
            )
        sys.stdout.flush()  # whoever starts the app from a program waits for this line

    def show_code(code: str) -> None:
        click.echo(f"code for one device: {code}", err=True)

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
        show_code,
        PageSocket(options["house"], options["port"], open_browser=not options["no_browser"]),
        user=options["user"],
        profile_file=options["profile_file"],
    )
    return 0
