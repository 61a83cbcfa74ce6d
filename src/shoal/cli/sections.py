"""Help in sections: commands in the order of work, options by what they are about."""

import sys
from collections.abc import Sequence
from typing import Any, Final

import click

OPTIONS: Final = "Options"
GROUND: Final = "Behind the map of the report"
READING: Final = "Reading INPUT"
ROUNDING: Final = "Rounding to cells and slots"
RUNNING: Final = "Settings and messages"
_LAST: Final = (GROUND, READING, ROUNDING, RUNNING)

Row = tuple[str, str]


class Option(click.Option):
    """An option with the section of the help that it stands in."""

    def __init__(self, *arguments: Any, section: str = OPTIONS, **facts: Any) -> None:
        super().__init__(*arguments, **facts)
        self.section = section

    def row(self, ctx: click.Context) -> Row | None:
        """How it is written, and what it means for this command; None where it does not concern it."""
        return self.get_help_record(ctx)


class Command(click.Command):
    """A command that works on data, with its options shown in sections."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        from shoal.runtime.freed import keep_little  # loads Arrow, which no help needs

        keep_little()
        _leave_pandas_out()
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list of options for each section; those of reading and running come last."""
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


class Program(click.Group):
    """A group whose commands stand in sections, in the order in which somebody needs them."""

    def __init__(self, *arguments: Any, **facts: Any) -> None:
        super().__init__(*arguments, **facts)
        self.sections: dict[str, Sequence[click.Command]] = {}

    def add_section(self, title: str, commands: Sequence[click.Command]) -> None:
        """Add commands under a title."""
        self.sections[title] = commands
        for command in commands:
            self.add_command(command)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one list of commands for each section."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(each.name or "", each.get_short_help_str(limit)) for each in commands])


class _NoPandas:
    """A finder of modules for which pandas is not there."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        """Nothing; other finders go on, but for pandas."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _leave_pandas_out() -> None:
    """Have Arrow find no pandas when it looks for it, once, at its first number or array.

    Where pandas is installed loading it takes a tenth of a demo, and no command hands Arrow an object of it.
    Whatever asks for pandas itself, Arrow's own conversions included, still gets it.
    """
    import pyarrow as pa

    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)
        try:
            pa.scalar(0)
        finally:
            sys.meta_path.remove(_NoPandas)
