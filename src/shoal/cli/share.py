"""The command for one's own tracks."""

from pathlib import Path

import click

from shoal.cli.options import GIVEN, PATH, output_options
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result
from shoal.units import counted


@click.command(
    cls=Command,
    examples=(
        (
            "shoal share ride.gpx --hide 48.8566,2.3522:300m --output shared.gpx",
            "a ride without the surroundings of your home",
        ),
        (
            "shoal share ride.gpx --detect --no-times --output shared.geojson",
            "find the places automatically, and leave out the times",
        ),
    ),
    epilog="The state (a key, and the places so far) is as secret as the places. Keep it: with a new one the "
    "same place gets another zone, and two zones of one place reveal it.",
)
@click.argument("track", type=GIVEN, metavar="TRACK")
@click.option(
    "--hide",
    multiple=True,
    metavar="LAT,LON[:DISTANCE]",
    help="A place and the distance to hide around it, e.g. 48.8566,2.3522:300m. May be repeated; places "
    "hidden before stay hidden. [default: 300m]",
)
@click.option(
    "--detect", is_flag=True, help="Also hide both ends of the track, and where it stays ten minutes."
)
@click.option(
    "--output",
    type=PATH,
    required=True,
    metavar="FILE",
    help="The track to share, .gpx or .geojson; a new file.",
)
@click.option(
    "--no-times",
    "with_times",
    is_flag=True,
    flag_value=False,
    default=True,
    show_default=False,
    help="Write no times. [default: write them]",
)
@click.option(
    "--state",
    type=PATH,
    metavar="FILE",
    help="The secret key and the places so far. [default: shoal/share.json in the user's state folder]",
)
@output_options
def share(
    track: Path,
    hide: tuple[str, ...],
    detect: bool,
    output: Path,
    with_times: bool,
    state: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Write TRACK (GPX, FIT, GeoJSON ...) without the surroundings of your places, and list remaining risks.

    Only places and times are written: no name, no device, no heart rate.
    """
    from shoal.runtime.randomness import Randomness
    from shoal.runtime.run import Run
    from shoal.sharing.share import share as write
    from shoal.sharing.zones import state_file

    with Bars(quiet=quiet) as bars:
        shared = write(
            track,
            output,
            hide=hide,
            detect=detect,
            with_times=with_times,
            state_file=state or state_file(),
            rng=Randomness.from_system(),
            run=Run(progress=bars),
        )
    lines = [
        f"{output}: {shared.points - shared.hidden:,} of {counted(shared.points, 'point')}, in "
        f"{counted(shared.pieces, 'piece')}; {counted(len(shared.zones), 'zone is', 'zones are')} hidden",
        *(f"  a stranger could learn: {sentence}" for sentence in shared.learned),
        *(f"  note: {note}" for note in shared.notes),
    ]
    print_result(as_json, {"output": str(output), **shared.to_json()}, lines)
    return 0
