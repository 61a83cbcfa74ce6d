"""The command that converts a release for other tools: convert."""

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import PATH, RELEASE, output_options
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result
from shoal.units import counted


@click.command(
    cls=Command,
    examples=(
        (
            "shoal convert release tracks --box-as center",
            "a GPX file per record, with the center of each area as its point",
        ),
    ),
)
@click.argument("release", type=RELEASE, metavar="RELEASE")
@click.argument("output", type=PATH, metavar="DIR")
@click.option(
    "--to",
    "how",
    type=click.Choice(("gpx", "plt")),
    default="gpx",
    show_default=True,
    help="Format of the files.",
)
@click.option(
    "--box-as",
    type=click.Choice(("center", "first-corner")),
    help="The point for an area and interval; required for boxes.",
)
@output_options
def convert(release: Path | str, output: Path, how: Any, box_as: Any, as_json: bool, quiet: bool) -> int:
    """Write the folder RELEASE as point files, one for each record, into a new folder DIR.

    A release of areas and intervals needs --box-as, because points look more exact than boxes are. Points
    stay unchanged. Tools that read GeoParquet (QGIS, GeoPandas, DuckDB) open release.parquet directly.
    """
    from shoal.io.formats.point_files import write_points
    from shoal.publishing.opening import open_release
    from shoal.release_folder.folder import read_release

    with Bars(quiet=quiet) as bars, open_release(release) as opened:
        bars("reading the release", 0, 1)
        files = write_points(read_release(opened.folder), output, how, box_as=box_as)
    lines = [f"{counted(files, f'{how.upper()} file')} in {output}"]
    if box_as:
        lines.append(
            f"  note: each point stands for an area and an interval ({box_as}); say so wherever these files "
            "go"
        )
    print_result(as_json, {"output": str(output), "files": files, "to": how, "box_as": box_as}, lines)
    return 0
