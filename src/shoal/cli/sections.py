"""Help in sections."""

import re
import sys
from collections.abc import Sequence
from glob import has_magic
from pathlib import Path
from typing import Any, Final

import click

from shoal.errors import InputError

OPTIONS: Final = "Options"
GROUND: Final = "Behind the map of the report"
READING: Final = "Reading INPUT"
ROUNDING: Final = "Rounding to cells and slots"
RUNNING: Final = "Settings and messages"
_LAST: Final = (GROUND, READING, ROUNDING, RUNNING)

_WORD: Final = re.compile(r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+")

Row = tuple[str, str]
Example = tuple[str, str]
"""A command line as somebody types it, and in half a line what it does."""


class Option(click.Option):
    """An option with its section."""

    def __init__(self, *arguments: Any, section: str = OPTIONS, **facts: Any) -> None:
        super().__init__(*arguments, **facts)
        self.section = section

    def row(self, ctx: click.Context) -> Row | None:
        """The option and its meaning here; None if it does not apply."""
        return self.get_help_record(ctx)


class Given:
    """The type of a parameter whose value is read: where it names a path, something must be there."""


class ExampleCommand(click.Command):
    """A command whose help shows examples; an absent path is told before other faults."""

    def __init__(self, *arguments: Any, examples: Sequence[Example], **facts: Any) -> None:
        super().__init__(*arguments, **facts)
        self.examples = examples

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write purpose and examples."""
        super().format_help_text(ctx, formatter)
        with formatter.section("Examples"):
            indent = " " * formatter.current_indent
            for line, does in self.examples:
                lines = (f"# {does}", *_break_line(line, formatter.width - formatter.current_indent))
                formatter.write("".join(f"{indent}{text}\n" for text in lines))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter:
            self._require_given(ctx)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        if not ctx.params.get("planned"):  # before there is a release
            self._require_given(ctx)
        return super().invoke(ctx)

    def _require_given(self, ctx: click.Context) -> None:
        """Raise InputError where nothing is at a path."""
        for param in self.params:
            place = str(ctx.params.get(param.name or "") or "-")
            elsewhere = place == "-" or ":" in place or has_magic(place)
            if isinstance(param.type, Given) and not elsewhere and not Path(place).exists():
                raise InputError(f"no file or folder {place}; check the path")


class Group(ExampleCommand, click.Group):
    """A group with examples."""


class Command(ExampleCommand):
    """A command on data, with options in sections."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        from shoal.runtime.memory import limit_idle_memory  # loads Arrow, which no help needs

        limit_idle_memory()
        _leave_pandas_out()
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One list per section; reading and running come last."""
        sections: dict[str, list[Row]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option):
                row = param.row(ctx) if isinstance(param, Option) else param.get_help_record(ctx)
                asks_for_help = param.opts == ctx.help_option_names
                section = RUNNING if asks_for_help else getattr(param, "section", OPTIONS)
                if row is not None:
                    sections.setdefault(section, []).append(row)
        for section in sorted(sections, key=lambda name: _LAST.index(name) + 1 if name in _LAST else 0):
            with formatter.section(section):
                formatter.write_dl(sections[section])


def _break_line(line: str, width: int) -> list[str]:
    """A command on several lines of a shell; options keep their values."""
    parts: list[str] = []
    for word in _WORD.findall(line):
        if not parts or word.startswith(("-", ">")):
            parts.append(word)
        else:
            parts[-1] += f" {word}"
    lines = parts[:1]
    for part in parts[1:]:
        if len(f"{lines[-1]} {part} \\") <= width:
            lines[-1] += f" {part}"
        else:
            lines[-1] += " \\"
            lines.append(f"    {part}")
    return lines


class _NoPandas:
    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        """Refuse pandas; other finders handle the rest."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _leave_pandas_out() -> None:
    """Let Arrow's one search for pandas find none.

    Loading pandas takes a tenth of a demo, and no command gives Arrow an object of it. Other imports of
    pandas still work.
    """
    import pyarrow as pa

    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)
        try:
            pa.scalar(0)
        finally:
            sys.meta_path.remove(_NoPandas)
