"""What a collector states of itself to whoever is asked to take part: the options of its server."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

STATEMENTS: Final = {
    "controller": "Who is responsible for the collection, with an address.",
    "purpose": "What it is for.",
    "recipients": "Who receives what is released.",
    "retention": "How long it is kept.",
    "contact": "Whom to ask, and to whom to object.",
}


def stating(command: Command) -> Command:
    """Add an option for each statement; a device shows them before anybody consents."""
    for name, words in reversed(STATEMENTS.items()):
        command = click.option(f"--{name}", default="", metavar="TEXT", help=f"For consent: {words}")(command)
    return command
