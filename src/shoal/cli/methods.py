"""The options of the methods, derived from what each method declares about its parameters.

Methods that share an option share its spelling; each keeps its own default and meaning. An option that the
chosen method does not know is a usage error, never passed over. Methods are heavy to load, so their options
exist only once somebody asks for them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from shoal.cli.options import (
    DURATION,
    LENGTH,
    READING_FIELDS,
    Quantity,
    take_reading,
)
from shoal.cli.sections import Command, Option
from shoal.units import parse_share

if TYPE_CHECKING:
    from shoal.methods.parameters import Parameter

_CHOSEN: Final = "shoal.method"
_DEFAULT: Final = "glove"
_TYPES: Final = {"m": LENGTH, "s": DURATION, "share": Quantity("share", parse_share)}
_METAVARS: Final = {
    "m": "LENGTH",
    "s": "DURATION",
    "m/s": "M_PER_S",
    "share": "SHARE",
    "people": "N",
    "records": "K",
    "rounds": "N",
}


class MethodCommand(Command):
    """A command with --method and the options of all methods behind its own, where --config begins.

    Its help shows the parameters of the chosen method only.
    """

    _own: list[click.Parameter]
    _all: list[click.Parameter] | None

    @property
    def params(self) -> list[click.Parameter]:
        """The parameters of the command, with those of the methods."""
        if self._all is None:
            at = [own.name for own in self._own].index("config")
            self._all = [_method_option(), *self._own[:at], *_options_beside(self._own), *self._own[at:]]
        return self._all

    @params.setter
    def params(self, own: list[click.Parameter]) -> None:
        self._own, self._all = own, None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember the method, wherever it stands, for the help."""
        words = [part for word in args for part in word.split("=", 1)]
        if "--method" in words[:-1]:
            ctx.meta[_CHOSEN] = words[words.index("--method") + 1]
        return super().parse_args(ctx, args)


class _MethodOption(Option):
    """An option that some methods know, each with its own meaning and default."""

    def __init__(self, *arguments: Any, meanings: Mapping[str, str], **facts: Any) -> None:
        super().__init__(*arguments, section="", help=_agreed(meanings), **facts)
        self._meanings = meanings

    def row(self, ctx: click.Context) -> tuple[str, str] | None:
        """What it means for the chosen method; None where that does not know it."""
        chosen = _chosen(ctx)
        row = self.get_help_record(ctx)
        if chosen not in self._meanings or row is None:
            return None
        self.section = f"Parameters of {chosen} (of another method: --method NAME --help)"
        limits = row[1].removeprefix(self.help or "")
        return row[0], self._meanings[chosen] + limits


def take_settings(
    method: str, options: dict[str, Any], streets: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The given settings of the reading and of the method; a usage error for an option that neither knows.

    streets: the street graph that was named, or None.
    """
    from shoal.methods import method_named
    from shoal.methods.parameters import declared_parameters

    own = declared_parameters(method_named(method))
    reading = take_reading(options, but=own)
    for name in READING_FIELDS:
        value = options.pop(f"reading_{name}", None)
        if value is not None and name in reading:
            option = name.removesuffix("_s").removesuffix("_m").replace("_", "-")
            raise click.UsageError(
                f"--{option} and --reading-{option} say the same with {method}; leave one of them out"
            )
        reading |= {} if value is None else {name: value}
    field_of = {_key(name, each): name for name, each in own.items() if not each.street_graph}
    graphs = [name for name, each in own.items() if each.street_graph and streets is not None]
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in field_of:
            raise click.UsageError(
                f"{method} knows no --{key.replace('_', '-')}; leave it out or choose another --method"
            )
    parameters = {
        field_of[key]: value if (words := own[field_of[key]].spelled) is None else words[value]
        for key, value in given.items()
    }
    return reading, parameters | dict.fromkeys(graphs, streets)


def _chosen(ctx: click.Context) -> str:
    """The method that the help is asked for."""
    chosen: str = ctx.meta.get(_CHOSEN, _DEFAULT)
    return chosen


def _method_option() -> click.Option:
    from shoal.methods import METHODS

    return click.Option(
        ["--method"],
        type=click.Choice(tuple(METHODS)),
        default=_DEFAULT,
        show_default=True,
        help="How to anonymize.",
    )


def _options_beside(own: list[click.Parameter]) -> list[click.Parameter]:
    """The options of all methods; one that the reading has already says there what else it means."""
    from shoal.methods import METHODS
    from shoal.methods.parameters import declared_parameters

    sharing: dict[str, dict[str, Parameter]] = {}
    names: dict[str, str] = {}
    for method, kind in METHODS.items():
        for name, each in declared_parameters(kind).items():
            sharing.setdefault(_key(name, each), {})[method] = each
            names[_key(name, each)] = each.option_of(name)
    reading = {each.name: each for each in own if each.name in READING_FIELDS}
    options: list[click.Parameter] = []
    for key, methods in sharing.items():
        if any(each.street_graph for each in methods.values()):
            continue  # every method has the files of streets, which lie behind the map
        if key in reading:
            options.append(_moved_aside(reading[key], methods, key))
        else:
            options.append(_option(names[key], key, methods))
    return options


def _key(name: str, parameter: "Parameter") -> str:
    """What click calls an option: the reading's name for its own, else the option with underscores."""
    return name if name in READING_FIELDS else parameter.option_of(name).replace("-", "_")


def _option(option: str, key: str, methods: Mapping[str, "Parameter"]) -> click.Option:
    """One option for all methods that share it."""
    first, *_ = methods.values()
    if first.switch:
        return _MethodOption([f"--{option}/--no-{option}", key], default=None, meanings=_meanings(methods))
    return _MethodOption(
        [f"--{option}", key],
        type=_type_of(methods),
        metavar=(first.written or None) if first.unit is None else _METAVARS[first.unit],
        meanings=_meanings(methods),
    )


def _moved_aside(reading: click.Parameter, methods: Mapping[str, "Parameter"], key: str) -> click.Option:
    """The option that stands in for the reading's own, which with these methods means something else."""
    assert isinstance(reading, click.Option)  # noqa: S101  (settings of the reading are never arguments)
    option = reading.opts[0].removeprefix("--")
    plain, default = (reading.help or "").split(" [", 1)
    reading.help = f"{plain} [{default} {_agreed(_meanings(methods))}"
    return _MethodOption(
        [f"--reading-{option}", f"reading_{key}"],
        type=reading.type,
        metavar=reading.metavar,
        meanings=dict.fromkeys(methods, f"{plain} Other methods know it as --{option}. [{default}"),
    )


def _type_of(methods: Mapping[str, "Parameter"]) -> Any:
    """What click makes of the text of an option."""
    from shoal.methods.written import parse_value

    first, *_ = methods.values()
    if first.spelled is not None:
        return click.Choice(tuple(first.spelled))
    match first.unit:
        case None:
            choices = tuple(dict.fromkeys(text for each in methods.values() for text in each.choices))
            return str if first.written else click.Choice(choices)
        case "m" | "s" | "share":
            kind = _TYPES[first.unit]
            zero = next((each for each in methods.values() if each.zero), None)
            return kind if zero is None else Quantity(kind.name, lambda text: parse_value(zero, str(text)))
        case "people" | "records" | "rounds":
            least = None if first.bound is None else first.bound.least
            return int if least is None else click.IntRange(min=least)
        case _:
            return float


def _meanings(methods: Mapping[str, "Parameter"]) -> dict[str, str]:
    """What the option means and its default, for each method."""
    from shoal.methods.written import default_text

    return {method: f"{each.help} [default: {default_text(each)}]" for method, each in methods.items()}


def _agreed(meanings: Mapping[str, str]) -> str:
    """The same in one text, said once for each group of methods that agree on it."""
    from shoal.methods import METHODS

    knowing: dict[str, list[str]] = {}
    for method, text in meanings.items():
        knowing.setdefault(text, []).append(method)
    if list(knowing.values()) == [list(METHODS)]:
        return next(iter(knowing))
    return " ".join(f"{', '.join(those)}: {text}" for text, those in knowing.items())
