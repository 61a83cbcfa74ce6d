"""The commands that take part in a round: in words, and on pages in a browser."""

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    DURATION,
    PATH,
    input_options,
    needs_extra,
    output_options,
    page_in_a_browser,
    take_reading,
)
from shoal.cli.sections import Command, ExampleCommand
from shoal.units import show_s
from shoal_collect.cli.collect import leave_no_core, require_points_as_given, servers_of_a_round

if TYPE_CHECKING:
    from shoal_collect.device.profile import Profile
    from shoal_collect.device.proposal import Movement


@click.command(
    cls=Command,
    examples=(
        (
            "shoal collect join --server URL --authority URL --data my.gpx --profile profile.toml --state "
            "my-state",
            "your newest trip, on your terms; you are asked before anything is sent",
        ),
        (
            "shoal collect join --server URL --authority URL --data my.gpx --profile profile.toml --state "
            "my-state --invitation CODE --trip 2",
            "the first time with an invitation, and with the trip before the newest",
        ),
    ),
    epilog="Interrupted? Run the same command again, and it goes on. See docs/collect.md for profile.toml.",
)
@servers_of_a_round
@click.option(
    "--data",
    required=True,
    metavar="FILE",
    help="Your own movement: GPX, CSV, Parquet, GeoLife, Google Timeline, OwnTracks and others.",
)
@click.option(
    "--profile",
    "profile_file",
    required=True,
    type=PATH,
    metavar="FILE.toml",
    help="Your crowd, your blur, your rules for places.",
)
@click.option(
    "--state",
    required=True,
    type=PATH,
    metavar="DIR",
    help="Your keys and the round under way; keep this folder secret and complete.",
)
@click.option("--subject", metavar="ID", help="Who you are in FILE, when it holds several people.")
@click.option(
    "--trip", type=click.IntRange(min=1), default=1, help="Which trip to share, counted from the newest."
)
@click.option("--max-gap", "max_gap_s", type=DURATION, default="30min", help="A longer pause ends a trip.")
@click.option(
    "--invitation",
    metavar="CODE",
    envvar="SHOAL_INVITATION",
    help="Your invitation, the first time at a collector with a registrar. Where others use the machine, set "
    "the variable SHOAL_INVITATION instead: they can read command lines.",
)
@click.option("--yes", is_flag=True, help="Consent without being asked.")
@input_options
@output_options
def join(**options: Any) -> int:
    """Take part in a round: blur your movement here, and send only the parts that enough others share."""
    with needs_extra("shoal-collect"):
        from shoal_collect.device import participation
        from shoal_collect.device.disk import Past, StateFolder, folder_of_account
        from shoal_collect.device.http_client import connect
        from shoal_collect.device.profile import read_profile
        from shoal_collect.device.proposal import movement_of, prepare

    leave_no_core()
    reading = take_reading(options)
    require_points_as_given(reading)
    as_json, quiet = options.pop("as_json"), options.pop("quiet")

    def say(message: str) -> None:
        if not quiet:
            click.echo(message, err=True)

    def consent(text: str) -> bool:
        click.echo(text, err=True)
        return bool(options["yes"] or click.confirm("Take part on these terms?", err=True))

    def look() -> "tuple[Movement, Profile]":
        """It needs no server."""
        from shoal.io import read

        profile = read_profile(options["profile_file"])
        data = read(options["data"], snap=False, **reading)
        return movement_of(data, options["subject"], options["trip"], options["max_gap_s"]), profile

    folder = StateFolder(options["state"], Past(folder_of_account()))
    with folder.lock(), ExitStack() as connections:
        device_state = folder.load()
        seen = look() if device_state is None or device_state.own_round is None else None
        connected = connect(
            folder,
            options["server_url"],
            options["authority_url"],
            options["ca"],
            options["user"],
            os.urandom,
            options["patience_s"],
            say,
        )
        for server in connected.servers.values():
            connections.callback(server.close)
        if connected.state.own_round is None:
            plan = prepare(connected, *(seen or look()))
            if not consent("\n".join(plan.lines())):
                _say_declined(as_json=as_json)
                return 0
            participation.begin(
                connected,
                plan,
                os.urandom,
                options["invitation"],
                lambda text: click.echo(text, err=True),
                patience_s=options["patience_s"],
            )
        else:
            say(
                "going on with the round under way; data and profile that have changed since then count for "
                "the next one"
            )
        try:
            ending, file = participation.finish(
                folder, connected, say, options["poll_s"], options["patience_s"]
            )
        except KeyboardInterrupt as stopped:
            raise KeyboardInterrupt(
                "interrupted; the round is kept: run the same command again soon, and it goes on. Your group "
                f"waits for you {show_s(connected.terms.phase_limit_s)} in each step"
            ) from stopped
    well = ending.kind in ("shared", "nothing-left")
    if as_json:
        click.echo(file.read_text())
    elif not (quiet and well):
        kind = "" if ending.message.startswith(ending.kind) else f"{ending.kind}: "
        click.echo(f"{kind}{ending.message}; details for you alone in {file}")
    return 0 if well else 1


def _say_declined(*, as_json: bool) -> None:
    from shoal_collect.device.disk import document_of
    from shoal_collect.roles.participant_round import Ending

    message = "nothing was sent"
    click.echo(json.dumps(document_of(Ending("declined", message))) if as_json else message)


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
        from shoal_collect.app.app import serve_participant
        from shoal_collect.app.person import Addresses

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
