"""Commands, documents and kinds of folders of other packages, by their entry points; all commands together.

A folder's ``manifest.json`` may name a ``kind``: the entry point of this name in the group ``shoal.folders``
has commands for it. ``check --kind NAME`` leads to the entry point NAME in the group ``shoal.checks``.
"""

import json
import re
from collections.abc import Mapping, MutableMapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import click

from shoal.cli.sections import Command

COMMANDS: Final = "shoal.commands"
DOCUMENTS: Final = "shoal.documents"

_PACKAGE_OF: Final = {
    "desk": "shoal-desk",
    "record": "shoal-desk",
    "find": "shoal-desk",
    "reproduce": "shoal-papers",
    "granularity": "shoal-papers",
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


class Program(click.Group):
    """A group with commands in sections; others' are loaded on use."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._commands: dict[str, click.Command] = {}
        self._is_complete = False
        self.sections: dict[str, list[str]] = {}
        super().__init__(*arguments, **settings)

    def add_section(self, title: str, *commands: click.Command | str) -> None:
        """Add commands under a title; other packages' by name."""
        self.sections[title] = [name if isinstance(name, str) else str(name.name) for name in commands]
        self._commands |= {str(command.name): command for command in commands if not isinstance(command, str)}

    @property
    def commands(self) -> MutableMapping[str, click.Command]:
        """Every command by its name."""
        if not self._is_complete:
            self._is_complete = True
            self._commands |= package_commands()
            listed = {name for names in self.sections.values() for name in names}
            further = [name for name in self._commands if name not in listed]
            if further:
                self.sections["Further packages"] = further
        return self._commands

    @commands.setter
    def commands(self, commands: MutableMapping[str, click.Command]) -> None:
        self._commands |= commands

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command, if known."""
        return self._commands.get(cmd_name) or super().get_command(ctx, cmd_name)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One list for each section."""
        commands = self.commands
        limit = formatter.width - 6 - max(map(len, commands))
        for title, names in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, commands[name].get_short_help_str(limit)) for name in names])


FOLDERS: Final = "shoal.folders"
CHECKS: Final = "shoal.checks"
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
    path = Path(word) / "manifest.json"
    try:
        if word.startswith("-") or not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        entries = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None  # the command reports what is wrong with a folder of its own kind
    kind = entries.get("kind") if isinstance(entries, dict) else None
    return kind if isinstance(kind, str) and _KIND.fullmatch(kind) else None


def _value_of(option: str, args: Sequence[str]) -> str | None:
    for position, word in enumerate(args):
        name, equals, value = word.partition("=")
        if name == option:
            return value if equals else args[position + 1] if position + 1 < len(args) else ""
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
