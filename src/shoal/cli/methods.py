"""The options of the methods, from their declarations.

An option that the chosen method does not have is a usage error. Methods are heavy to load: on first use.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from shoal.cli.options import DURATION, LENGTH, OF_READING, READING_FIELDS, Quantity
from shoal.cli.sections import Command, Option
from shoal.errors import MisuseError
from shoal.units import parse_share

if TYPE_CHECKING:
    from shoal.methods import Method
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
    "kinds": "N",
}


class MethodCommand(Command):
    """A command with --method and all methods' options; its help shows the chosen one's."""

    _own: list[click.Parameter]
    _all: list[click.Parameter] | None

    @property
    def params(self) -> list[click.Parameter]:
        """The parameters of command and methods."""
        if self._all is None:
            at = [parameters.name for parameters in self._own].index("config")
            self._all = [_method_option(), *self._own[:at], *_method_options(self._own), *self._own[at:]]
        return self._all

    @params.setter
    def params(self, parameters: list[click.Parameter]) -> None:
        self._own, self._all = parameters, None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember the method for the help."""
        words = [part for word in args for part in word.split("=", 1)]
        if "--method" in words[:-1]:
            ctx.meta[_CHOSEN] = words[words.index("--method") + 1]
        return super().parse_args(ctx, args)


class _MethodOption(Option):
    def __init__(self, *arguments: Any, meanings: Mapping[str, str], **facts: Any) -> None:
        super().__init__(*arguments, section="", help=_merged_meanings(meanings), **facts)
        self._meanings = meanings

    def row(self, ctx: click.Context) -> tuple[str, str] | None:
        """The row of the help; None for a method without this option."""
        chosen = ctx.meta.get(_CHOSEN, _DEFAULT)
        row = self.get_help_record(ctx)
        if chosen not in self._meanings or row is None:
            return None
        self.section = f"Parameters of {chosen} (of another method: --method NAME --help)"
        limits = row[1].removeprefix(self.help or "")
        return row[0], self._meanings[chosen] + limits


def take_settings(
    method: str, options: dict[str, Any], streets: Any = None, *, as_published: bool = False
) -> dict[str, Any]:
    """Take the method's settings, as published also its paper's; refuse options that do not fit the method.

    The reading's options are left for ``take_reading``: --reading-NAME where the method itself has --NAME.
    """
    from shoal.methods import method_named
    from shoal.methods.parameters import declared_parameters

    kind = method_named(method)
    parameters = declared_parameters(kind)
    name_of = {
        _key(name, parameter): name for name, parameter in parameters.items() if not parameter.street_graph
    }
    _leaves_to_hull(method, options, has_hull="hull" in name_of)
    named = {key: value for key, value in options.items() if value is not None}
    settings: dict[str, Any] = {}
    for key, value in named.items():
        name = key.removeprefix(OF_READING)
        if key in name_of:
            words = parameters[name_of[key]].spelled
            settings[name_of[key]] = value if words is None else words[value]
        elif name not in READING_FIELDS:
            raise click.UsageError(
                f"{method} knows no --{key.replace('_', '-')}; leave it out or choose another --method"
            )
        elif name != key and name in named and name not in name_of:
            option = name.removesuffix("_s").removesuffix("_m").replace("_", "-")
            raise click.UsageError(
                f"--{option} and --reading-{option} say the same with {method}; leave one of them out"
            )
    for key in name_of:
        options.pop(key, None)
    if kind.about.publishes == "points" and not {"cell_m", "slot_s"}.isdisjoint(
        key.removeprefix(OF_READING) for key in named.keys() - name_of.keys()
    ):
        raise click.UsageError(f"{method} publishes points as they are given; leave out --cell and --slot")
    if streets is not None:
        settings |= {name: streets for name, parameter in parameters.items() if parameter.street_graph}
    if as_published:
        if not kind.about.as_published:
            raise click.UsageError(f"the defaults of {method} are its paper's; leave out --as-published")
        settings = {**kind.about.as_published, **settings}
    return settings


def _leaves_to_hull(method: str, options: dict[str, Any], *, has_hull: bool) -> None:
    leaves = options.pop("leaves", None)
    if options.get("places") is None and (leaves or str(options.get("hull")).startswith("leaves")):
        options["places"] = options.get("cells")
    if leaves is None:
        return
    if not has_hull:
        raise click.UsageError(f"{method} knows no --leaves; leave it out or choose another --method")
    if options.get("hull") is not None:
        raise click.UsageError("--leaves and --hull say different things; leave one of them out")
    if options.get("places") is None:
        raise click.UsageError("--leaves needs a public list of places; give it with --places or --cells")
    from shoal.io.columns.public_places import read_public_places
    from shoal.measures.leaves import hull_of_leaves

    places, _, share = leaves.partition(":")
    if share or not places.isdecimal():
        options["hull"] = f"leaves:{places}" + (f":{parse_share(share)}" if share else "")
    else:
        options["hull"] = hull_of_leaves(int(places), read_public_places(options["places"]))


def make_method(name: str, settings: Mapping[str, Any]) -> "Method":
    """The method; errors name options."""
    from shoal.methods import method_named
    from shoal.methods.parameters import declared_parameters, with_option_names

    kind = method_named(name)
    try:
        return kind(**settings)
    except MisuseError as error:
        raise MisuseError(with_option_names(error.cli_message, declared_parameters(kind))) from error


def _method_option() -> click.Option:
    from shoal.methods import METHODS

    return click.Option(
        ["--method"],
        type=click.Choice(tuple(METHODS)),
        default=_DEFAULT,
        show_default=True,
        help="How to anonymize.",
    )


def _method_options(command_options: list[click.Parameter]) -> list[click.Parameter]:
    from shoal.methods import METHODS
    from shoal.methods.parameters import declared_parameters

    sharing: dict[str, dict[str, Parameter]] = {}
    names: dict[str, str] = {}
    for method, kind in METHODS.items():
        for name, parameter in declared_parameters(kind).items():
            sharing.setdefault(_key(name, parameter), {})[method] = parameter
            names[_key(name, parameter)] = parameter.option_of(name)
    reading = {parameter.name: parameter for parameter in command_options if parameter.name in READING_FIELDS}
    options: list[click.Parameter] = []
    for key, methods in sharing.items():
        if any(parameter.street_graph for parameter in methods.values()):
            continue  # all methods share the options of streets, which also show behind the map
        if key in reading:
            options.append(_reading_option(reading[key], methods, key))
        else:
            options.append(_option(names[key], key, methods))
    return options


def _key(name: str, parameter: "Parameter") -> str:
    return name if name in READING_FIELDS else parameter.option_of(name).replace("-", "_")


def _option(option: str, key: str, methods: Mapping[str, "Parameter"]) -> click.Option:
    first, *_ = methods.values()
    if first.switch:
        return _MethodOption([f"--{option}/--no-{option}", key], default=None, meanings=_meanings(methods))
    return _MethodOption(
        [f"--{option}", key],
        type=_type_of(methods),
        metavar=(first.written or None) if first.unit is None else _METAVARS[first.unit],
        meanings=_meanings(methods),
    )


def _reading_option(reading: click.Parameter, methods: Mapping[str, "Parameter"], key: str) -> click.Option:
    """The option --reading-NAME, where --NAME means something else."""
    assert isinstance(reading, click.Option)  # noqa: S101  (settings of the reading are never arguments)
    option = reading.opts[0].removeprefix("--")
    plain, default = (reading.help or "").split(" [", 1)
    reading.help = f"{plain} [{default} {_merged_meanings(_meanings(methods))}"
    return _MethodOption(
        [f"--reading-{option}", f"{OF_READING}{key}"],
        type=reading.type,
        metavar=reading.metavar,
        meanings=dict.fromkeys(methods, f"{plain} Other methods know it as --{option}. [{default}"),
    )


def _type_of(methods: Mapping[str, "Parameter"]) -> Any:
    from shoal.methods.parameters import parse_value

    first, *_ = methods.values()
    if first.spelled is not None:
        return click.Choice(tuple(first.spelled))
    match first.unit:
        case None:
            choices = tuple(
                dict.fromkeys(text for parameter in methods.values() for text in parameter.choices)
            )
            return str if first.written else click.Choice(choices)
        case "m" | "s" | "share":
            kind = _TYPES[first.unit]
            zero = next((parameter for parameter in methods.values() if parameter.zero), None)
            return kind if zero is None else Quantity(kind.name, lambda text: parse_value(zero, str(text)))
        case "people" | "records" | "rounds" | "kinds":
            least = None if first.bound is None else first.bound.least
            return int if least is None else click.IntRange(min=least)
        case _:
            return float


def _meanings(methods: Mapping[str, "Parameter"]) -> dict[str, str]:
    from shoal.methods.parameters import default_text

    return {
        method: f"{parameter.help} [default: {default_text(parameter)}]"
        for method, parameter in methods.items()
    }


def _merged_meanings(meanings: Mapping[str, str]) -> str:
    """Each meaning once, with the methods that share it."""
    from shoal.methods import METHODS

    knowing: dict[str, list[str]] = {}
    for method, text in meanings.items():
        knowing.setdefault(text, []).append(method)
    if list(knowing.values()) == [list(METHODS)]:
        return next(iter(knowing))
    return " ".join(f"{', '.join(those)}: {text}" for text, those in knowing.items())
