"""The commands that take a folder with a table in place of a release, by name."""

from collections.abc import Mapping
from typing import Final

import click

from shoal_tables.commands.attacks import attack
from shoal_tables.commands.publish import publish
from shoal_tables.commands.utility import measure
from shoal_tables.commands.verification import verify

COMMANDS: Final[Mapping[str, click.Command]] = {
    "verify": verify,
    "attack": attack,
    "measure": measure,
    "publish": publish,
}
