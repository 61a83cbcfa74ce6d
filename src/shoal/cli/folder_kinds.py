"""Commands of other packages in place of the core's, for what only these packages read.

A folder's ``manifest.json`` may name a ``kind``: the entry point of this name in the group ``shoal.folders``
has commands for it. ``check --kind NAME`` leads to the entry point NAME in the group ``shoal.checks``.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from shoal.cli.sections import Command

FOLDERS: Final = "shoal.folders"
CHECKS: Final = "shoal.checks"
_MANIFEST: Final = "manifest.json"
_LARGEST: Final = 1 << 24
_KIND: Final = re.compile(r"[a-z]{1,30}")


class FolderCommand(Command):
    """A command on a folder; a folder of another package's kind goes to that package's command."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments, for the command that reads this kind of folder."""
        kind = next((kind for word in args if (kind := _kind_of(word))), None)
        if kind is None:
            return super().make_context(info_name, args, parent, **extra)
        command: click.Command = _command_for(FOLDERS, kind, f"the folder holds {kind}")[self.name]
        return command.make_context(info_name, args, parent, **extra)


class CheckCommand(Command):
    """A check of records; with ``--kind``, the check of another package."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments, for the check of this kind."""
        kind = _value_of("--kind", args)
        if kind is None:
            return super().make_context(info_name, args, parent, **extra)
        command: click.Command = _command_for(CHECKS, kind, f"--kind {kind} is for tables of counts")
        return command.make_context(info_name, args, parent, **extra)


def _kind_of(word: str) -> str | None:
    path = Path(word) / _MANIFEST
    try:
        if word.startswith("-") or not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        entries = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None  # the command reports what is wrong with a folder of its own kind
    kind = entries.get("kind") if isinstance(entries, dict) else None
    return kind if isinstance(kind, str) and _KIND.fullmatch(kind) else None


def _value_of(option: str, args: Sequence[str]) -> str | None:
    for place, word in enumerate(args):
        name, equals, value = word.partition("=")
        if name == option:
            return value if equals else args[place + 1] if place + 1 < len(args) else ""
    return None


def _command_for(group: str, name: str, need: str) -> Any:
    from importlib.metadata import entry_points

    for entry in entry_points(group=group, name=name):
        return entry.load()
    known = sorted({entry.name for entry in entry_points(group=group)})
    choice = (
        f"choose from {', '.join(known)}" if known else "install the package for it: pip install shoal-tables"
    )
    raise click.UsageError(f"{need}, which is not known here; {choice}")
