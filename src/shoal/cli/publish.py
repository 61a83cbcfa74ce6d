"""The commands that export a release and its schemas."""

from pathlib import Path
from typing import Any, Final

import click

from shoal.cli.options import GIVEN, PATH, RELEASE, output_options
from shoal.cli.packages import FolderCommand
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result
from shoal.runtime.files import is_remote, without_credentials
from shoal.units import counted

# a test compares them with EXPORTS, and with the tables of a database
_FILES: Final = ("csv", "geojsonl", "parquet-by-day", "parquet-parts", "flatgeobuf", "delta")
_TABLES: Final = ("postgis", "mobilitydb")


@click.command(
    cls=FolderCommand,
    examples=(
        ("shoal publish release --to release-csv --format csv", "for a spreadsheet"),
        ("shoal publish release --to by-day --format parquet-by-day", "a file for each day, for a data lake"),
    ),
)
@click.argument("release", type=GIVEN, metavar="RELEASE")
@click.option(
    "--to",
    "target",
    required=True,
    metavar="DIR",
    help="The folder to write, which must not exist yet; a new one in an object store, s3://BUCKET/FOLDER; "
    "or a new table on a server, postgresql://USER@HOST/DATABASE#schema.table.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice((*_FILES, *_TABLES)),
    required=True,
    metavar="FORMAT",
    help=f"How to write the rows: {', '.join((*_FILES, *_TABLES))}. postgis and mobilitydb are tables on a "
    "server, and need the extra postgresql.",
)
@output_options
def publish(release: Path, target: str, form: str, as_json: bool, quiet: bool) -> int:
    """Write the folder RELEASE in another format, which shoal verify accepts as well.

    The manifest and the page are included. In a folder, datapackage.json lists every file with its digest and
    is written last; tables of a server are written in one transaction.
    """
    from shoal.io.sources.object_stores import is_address as is_store
    from shoal.io.sources.servers import is_address as is_server
    from shoal.publishing.exporting import export, export_to_store
    from shoal.publishing.in_database import export_to_database
    from shoal.release_folder.manifest import read_manifest

    on_server = is_server(target)
    if on_server != (form in _TABLES):
        raise click.UsageError(
            f"--format {form} is {'a table on a server' if form in _TABLES else 'written as files'}; give "
            + ("--to postgresql://USER@HOST/DATABASE#schema.table" if form in _TABLES else "--to DIR")
        )
    in_store = is_store(target)
    if is_remote(target) and not on_server and not in_store:
        raise click.UsageError(
            "--to takes a folder, s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, abfs://... or postgresql://..."
        )
    with Bars(quiet=quiet) as bars:
        bars(f"writing {form}", 0, 1)
        if on_server:
            done = export_to_database(release, target, form)
        elif in_store:
            done = export_to_store(release, target, form)
        else:
            done = export(release, Path(target), form)
    place = without_credentials(target) if in_store else str(done.folder)
    publishable = read_manifest(release).publishable
    research = [] if publishable else ["made with a research seed: NOT FOR PUBLICATION"]
    lines = [
        f"{counted(done.rows, 'row')} as {form} in {place}, {counted(len(done.files), 'file')}",
        *research,
    ]
    facts = {
        "output": place,
        "format": form,
        "rows": done.rows,
        "files": done.files,
        "publishable": publishable,
    }
    print_result(as_json, facts, lines)
    return 0


@click.command(
    cls=Command,
    examples=(
        ("shoal schema", "list all schemas"),
        ("shoal schema attack", "the schema of shoal attack --json"),
    ),
)
@click.argument("name", metavar="[NAME]", required=False)
def schema(name: str | None) -> int:
    """Print the JSON Schema of the --json document of command NAME, or of a release's manifest.

    Without NAME, list all names.
    """
    import json

    from shoal.cli.documents import documents, schema_of

    click.echo("\n".join(documents()) if name is None else json.dumps(schema_of(name), indent=2))
    return 0


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
@click.option("--to", "how", type=click.Choice(("gpx", "plt")), default="gpx", help="Format of the files.")
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
    from shoal.publishing.opening import open_release
    from shoal.publishing.point_files import write_points
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
