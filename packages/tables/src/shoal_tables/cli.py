"""The command ``shoal tabulate``."""

import click

from shoal.cli.sections import Command


@click.command(cls=Command)
def tabulate() -> int:
    """Publish counts of people or of trips, with a promise that a stranger can check."""
    raise click.ClickException("tables cannot be made yet")
