"""The options of each method, in one literal table: what `shoal anonymize --method NAME` understands.

Defaults are those of the methods themselves; an option that the chosen method does not know is a usage error, never passed over.
"""

from typing import Any, Final

import click

from shoal.cli_options import DURATION, LENGTH, Command, Quantity
from shoal.units import length_m

GENERALIZE: Final = ("k-merge", "reshape-final", "reshape-each", "overlap-split", "none")
HIDING: Final = ("neighbours", "clusters")
DISTANCE: Final = ("lst", "edr")
DELTA: Final = Quantity("length", lambda text: 0.0 if text in ("0", "0m") else length_m(text))

_OPTIONS: Final = {
    "k": click.option("--k", type=int, metavar="K", help="The fewest records that fit one person. [default: 2]"),
    "suppress_space_m": click.option(
        "--suppress-space",
        "suppress_space_m",
        type=LENGTH,
        metavar="LENGTH",
        help="Drop boxes wider than this (dx + dy). [default: keep all]",
    ),
    "suppress_time_s": click.option(
        "--suppress-time", "suppress_time_s", type=DURATION, metavar="DURATION", help="Drop boxes longer than this. [default: keep all]"
    ),
    "generalize": click.option(
        "--generalize", type=click.Choice(GENERALIZE), help="What becomes of boxes that overlap in time. [default: k-merge]"
    ),
    "leftover": click.option(
        "--leftover", type=click.Choice(("merge", "suppress")), help="What becomes of a last crowd below k. [default: merge]"
    ),
    "space_cap_m": click.option(
        "--space-cap", "space_cap_m", type=LENGTH, metavar="LENGTH", help="Stretch in space that counts as total loss. [default: 20km]"
    ),
    "time_cap_s": click.option(
        "--time-cap", "time_cap_s", type=DURATION, metavar="DURATION", help="Stretch in time that counts as total loss. [default: 8h]"
    ),
    "tau_s": click.option(
        "--tau", "tau_s", type=DURATION, metavar="DURATION", help="How long an attacker may have followed somebody. [default: 30min]"
    ),
    "epsilon_s": click.option(
        "--epsilon", "epsilon_s", type=DURATION, metavar="DURATION", help="How much more may be learnt; tau is a multiple. [default: 30min]"
    ),
    "hiding": click.option("--hiding", type=click.Choice(HIDING), help="Among whom hiders are chosen. [default: neighbours]"),
    "neighbourhood": click.option(
        "--neighbourhood", type=click.IntRange(min=4), metavar="N", help="People among whom hiders are looked for at first. [default: 64]"
    ),
    "space_weight_s": click.option(
        "--space-weight",
        "space_weight_s",
        type=DURATION,
        metavar="DURATION",
        help="Wide pairs cost as if they lasted so long. [default: 4h]",
    ),
    "grid_m": click.option(
        "--grid",
        "grid_m",
        type=LENGTH,
        metavar="LENGTH",
        help="Side of the coarse cells; --slot is then the length of the coarse slots. [default: 4km and 2h]",
    ),
    "delta_m": click.option(
        "--delta", "delta_m", type=DELTA, metavar="LENGTH", help="How near the others of a crowd are; 0m: in one place. [default: 1km]"
    ),
    "pi_s": click.option(
        "--pi", "pi_s", type=DURATION, metavar="DURATION", help="Records begin and end at multiples of this only. [default: 1h]"
    ),
    "step_s": click.option(
        "--step", "step_s", type=DURATION, metavar="DURATION", help="Everybody is published at multiples of this. [default: 10min]"
    ),
    "distance": click.option("--distance", type=click.Choice(DISTANCE), help="Which trajectories count as similar. [default: lst]"),
    "speed_m_s": click.option(
        "--speed", "speed_m_s", type=float, metavar="M_PER_S", help="A second off counts as so many metres off. [default: 1]"
    ),
    "trash": click.option("--trash", type=float, metavar="SHARE", help="Share of the people that may be left out. [default: 0.1]"),
    "chunk": click.option(
        "--chunk", type=click.IntRange(min=0), metavar="N", help="People clustered at once, 0 = all together. [default: 1000]"
    ),
}

METHOD_OPTIONS: Final = {
    "glove": ("k", "suppress_space_m", "suppress_time_s", "generalize", "leftover", "space_cap_m", "time_cap_s"),
    "kte-hide": ("k", "tau_s", "epsilon_s", "hiding", "neighbourhood", "space_weight_s"),
    "nwa": ("k", "delta_m", "pi_s", "step_s", "trash"),
    "static": ("k", "grid_m", "slot_s"),
    "w4m": ("k", "delta_m", "distance", "speed_m_s", "trash", "chunk"),
}


def method_options(command: Command) -> Command:
    """Add the options of all methods; each one's help says which methods know it."""
    for name, option in reversed(_OPTIONS.items()):
        command = option(command)
        knowing = [method for method, names in METHOD_OPTIONS.items() if name in names]
        if len(knowing) < len(METHOD_OPTIONS):
            added = command.__click_params__[-1]  # type: ignore[attr-defined]  # where click keeps the options of a command in the making
            added.help = f"{', '.join(knowing)}: {added.help}"
    return command


def take_parameters(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, for one method; a usage error for one that it does not know."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in METHOD_OPTIONS[method]:
            spelled = "--" + name.removesuffix("_m").removesuffix("_s").replace("_", "-")
            raise click.UsageError(f"{method} knows no {spelled}; leave it out or choose another --method")
    return given
