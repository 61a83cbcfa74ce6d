"""The commands on a collection's data."""

import secrets
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import PATH, needs_extra, output_options, refuse_unused
from shoal.cli.sections import Command
from shoal.cli.terminal import print_result
from shoal.errors import InputError
from shoal.units import counted

if TYPE_CHECKING:
    from shoal_collect.device.disk import DeviceState, StateFolder
    from shoal_collect.device.http_client import RemoteServer
    from shoal_collect.roles.participant_round import Device


@click.command(
    cls=Command,
    examples=(
        (
            "shoal collect export --database sqlite:///collect.sqlite --output collected",
            "everything that is stored, as tables for analysts",
        ),
        (
            "shoal collect export --database sqlite:///collect.sqlite --day 2026-03-02 --output day",
            "what was stored on one day",
        ),
    ),
    epilog="The folder holds circles as GeoParquet, boxes with a manifest for attack and measure, and the "
    "terms. Tags, keys and identifiers stay in the database.",
)
@click.option(
    "--database", required=True, metavar="URL", help="The collector's: sqlite:///FILE or postgresql://..."
)
@click.option("--output", required=True, type=PATH, metavar="DIR", help="A new folder.")
@click.option(
    "--day",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Only what was stored on this day (UTC). [default: everything]",
)
@click.option(
    "--identifiers",
    type=PATH,
    metavar="FILE",
    help="Only the releases whose identifiers stand in FILE, one a line, as the authority prints them.",
)
@output_options
def export(**options: Any) -> int:
    """Export a collector's releases: circles for maps, boxes for analysts, attacks and metrics."""
    as_json, _ = options.pop("as_json"), options.pop("quiet")
    with needs_extra("shoal-collect"):
        from shoal_collect.collected.folder import export as write
        from shoal_collect.roles.wire import DAY_S
        from shoal_collect.storage.database import Database
        from shoal_collect.storage.days import StoredReleases

    require_there(options["database"], "collector")
    identifiers = None if options["identifiers"] is None else _lines(options["identifiers"])
    day = options["day"] and int(options["day"].replace(tzinfo=UTC).timestamp() // DAY_S)
    with Database(options["database"]) as database:
        stored_releases = StoredReleases(database)
        stored, terms = stored_releases.all(day=day, identifiers=identifiers), stored_releases.terms()
        questions = stored_releases.questions()
    facts = write(stored, terms, questions, options["output"], lambda: secrets.token_hex(8))
    n_missing = max(0, len(identifiers or ()) - len(stored))
    missing = [counted(n_missing, "identifier is not stored", "identifiers are not stored")]
    lines = [
        f"{counted(facts['releases'], 'release')} with {counted(facts['circles'], 'circle')}, stored "
        f"{facts['first_day']} to {facts['last_day']}, under {len(terms)} sets of terms",
        *(missing if n_missing else []),
        f"{counted(questions[0], 'question')} of all groups, {questions[1]:,} of them not answered",
        f"boxes: {facts['verdict']}",
        f"in {options['output']}",
    ]
    print_result(as_json, {"output": str(options["output"]), **facts}, lines)
    return 0


@click.command(
    cls=Command,
    examples=(
        ("shoal collect mine --state my-state", "which releases are yours"),
        ("shoal collect mine --state my-state --server URL --delete IDENTIFIER", "have one of them deleted"),
    ),
    epilog="What others have copied stays with them. A deleted release counts until the day ends.",
)
@click.option("--state", required=True, type=PATH, metavar="DIR", help="Your state, as for join.")
@click.option("--server", "server_url", metavar="URL", help="The collector; for --fetch and --delete.")
@click.option("--fetch", metavar="IDENTIFIER", help="Show what the collector stores of this release.")
@click.option("--delete", metavar="IDENTIFIER", help="Have this release deleted; the receipt is kept in DIR.")
@click.option("--ca", type=PATH, metavar="FILE", help="Certificates (PEM) to trust instead of the system's.")
@output_options
def mine(**options: Any) -> int:
    """List your own releases, fetch one, or have one deleted. Each has its own key."""
    as_json, _ = options.pop("as_json"), options.pop("quiet")
    with needs_extra("shoal-collect"):
        from shoal_collect.device.disk import StateFolder
        from shoal_collect.device.http_client import RemoteServer

    if options["fetch"] and options["delete"]:
        raise click.UsageError("choose --fetch or --delete")
    identifier = options["fetch"] or options["delete"]
    if (identifier is None) != (options["server_url"] is None):
        raise click.UsageError("--server goes with --fetch or --delete, and they with it")
    if identifier is None:
        refuse_unused("without --server", "ca")
    if not options["state"].is_dir():
        raise InputError(f"{options['state']} does not exist; name the folder that join uses with --state")
    folder = StateFolder(options["state"])
    with folder.lock():
        device_state = folder.load()
        if device_state is None:
            raise InputError(f"{options['state']} holds no state of a device")
        if identifier is None:
            document, lines = _list_releases(device_state.device)
        else:
            server = RemoteServer(options["server_url"], options["ca"])
            document, lines = (_fetch_release if options["fetch"] else _withdraw_release)(
                server, folder, device_state, identifier
            )
    print_result(as_json, document, lines)
    return 0


def _list_releases(device: "Device") -> tuple[dict[str, Any], list[str]]:
    from shoal_collect.roles.consent import date_of

    rows = [
        {
            "identifier": release.identifier,
            "day": date_of(release.day),
            "deleted": release.withdrawn is not None,
        }
        for release in device.owned
    ]
    lines = [f"{row['identifier']}  {row['day']}{'  deleted' if row['deleted'] else ''}" for row in rows]
    return {"releases": rows}, lines or ["no release yet"]


def _fetch_release(
    server: "RemoteServer", _folder: "StateFolder", device_state: "DeviceState", identifier: str
) -> tuple[dict[str, Any], list[str]]:
    from shoal_collect.device import participation as own_releases
    from shoal_collect.matching.cylinders import COLUMNS
    from shoal_collect.roles.consent import date_of

    day, points, state = own_releases.fetch(server, device_state.device, identifier)
    document = {
        "identifier": identifier,
        "day": date_of(day),
        "columns": COLUMNS,
        "points": [point.row for point in points],
        "state": None if state is None else state.hex(),
    }
    sealed = "its day is still open"
    if state is not None:
        sealed = f"it stands under the root of its day; the state after that day: {state.hex()}"
    in_words = (f"from {when} (UTC): {where}" for when, where in own_releases.points_in_words(points))
    return document, [f"stored on {document['day']}: {counted(len(points), 'circle')}", *in_words, sealed]


def _withdraw_release(
    server: "RemoteServer", folder: "StateFolder", device_state: "DeviceState", identifier: str
) -> tuple[dict[str, Any], list[str]]:
    from shoal_collect.device import participation as own_releases
    from shoal_collect.roles.consent import date_of

    back = own_releases.take_back(server, device_state.device, identifier)
    folder.save(device_state)
    document = {
        "identifier": identifier,
        "deleted_on": date_of(back.day),
        "counts_until": date_of(back.due),
        "proof": (back.release.withdrawn or b"").hex(),
    }
    return document, [
        f"deleted on {document['deleted_on']}: no longer exported or handed out, and in nobody's crowd "
        f"from {document['counts_until']} on; the collector's signed receipt is kept"
    ]


def require_there(url: str, whose: str) -> None:
    """Raise InputError for a missing SQLite file; opening it would make an empty one."""
    file = Path(url.removeprefix("sqlite:///"))
    if "://" not in str(url).replace("sqlite:///", "") and not file.is_file():
        raise InputError(f"{file} does not exist; name the {whose}'s database with --database")


def _lines(file: Path) -> frozenset[str]:
    try:
        return frozenset(file.read_text().split())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read; give a text file with one identifier a line") from error
