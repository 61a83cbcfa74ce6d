"""Commands and documents of other packages, by their entry points."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import click

COMMANDS: Final = "shoal.commands"
DOCUMENTS: Final = "shoal.documents"

_PACKAGE_OF: Final = {
    "desk": "shoal-desk",
    "record": "shoal-desk",
    "find": "shoal-desk",
    "reproduce": "shoal-papers",
    "collect": "shoal-collect",
    "tabulate": "shoal-tables",
    "ledger": "shoal-tables",
}


@cache
def package_commands() -> Mapping[str, click.Command]:
    """Other packages' commands; an absent one says what to install."""
    from importlib.metadata import entry_points  # a tenth of what a command takes to start

    commands = {entry.name: entry.load() for entry in entry_points(group=COMMANDS)}
    absent = {name: _absent(name, package) for name, package in _PACKAGE_OF.items() if name not in commands}
    return absent | commands


@cache
def package_documents() -> Mapping[str, Any]:
    """Other packages' documents."""
    from importlib.metadata import entry_points

    documents: dict[str, Any] = {}
    for entry in entry_points(group=DOCUMENTS):
        documents |= entry.load()
    return documents


def _absent(name: str, package: str) -> click.Command:
    remedy = f"it comes with the package {package}: pip install {package}"

    @click.command(
        name,
        help=f"Not installed: {remedy}",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    def command() -> None:
        raise click.ClickException(f"'shoal {name}' is not installed; {remedy}")

    return command
