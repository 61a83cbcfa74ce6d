"""``shoal publish DIR --to OTHER --format ...`` where DIR holds a table."""

from pathlib import Path

import click

from shoal.cli.options import PATH, output_options
from shoal.cli.sections import Command
from shoal.cli.terminal import print_result
from shoal_tables.definition.manifest import EXPORTED


@click.command(
    "publish",
    cls=Command,
    examples=(("shoal publish flows --to flows-omx --format omx", "for a model of transport"),),
)
@click.argument("folder", type=PATH, metavar="DIR")
@click.option("--to", "target", type=PATH, required=True, metavar="DIR", help="The folder to write.")
@click.option(
    "--format",
    "form",
    type=click.Choice(tuple(EXPORTED)),
    required=True,
    help="csv: the columns, which a data package explains; omx: flows as matrices; geopackage: with zones.",
)
@output_options
def publish(folder: Path, target: Path, form: str, as_json: bool, quiet: bool) -> int:  # noqa: ARG001
    """Write the table in the folder DIR in another format, which shoal verify accepts as well."""
    from shoal.runtime.files import sha256_of
    from shoal_tables.definition.manifest import read_table_manifest
    from shoal_tables.making.exports import export_table

    rows = export_table(folder, target, form)
    files = {path.name: sha256_of(path) for path in sorted(target.iterdir())}
    facts = {
        "output": str(target),
        "format": form,
        "rows": rows,
        "files": files,
        "publishable": read_table_manifest(folder).publishable,
    }
    print_result(as_json, facts, [f"{rows:,} cells as {form} in {target}, {len(files)} files"])
    return 0
