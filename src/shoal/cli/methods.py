"""The options of each method, in one literal table: what `shoal anonymize --method NAME` understands.

Defaults are those of the methods themselves; an option that the chosen method does not know is a usage error,
never passed over.
"""

from typing import Any, Final

import click

from shoal.cli.options import DURATION, LENGTH, STREET_OPTIONS, Command, Quantity, take_streets
from shoal.units import length_m

GENERALIZE: Final = ("k-merge", "reshape-final", "reshape-each", "overlap-split", "none")
CLUSTERING: Final = ("greedy", "mdav")
PATHS: Final = ("disjoint", "all")
SIDES: Final = ("both", "leader")
STREETS: Final = ("streets_nodes", "streets_edges", "streets_crs")
HIDING: Final = ("neighbors", "clusters")
DISTANCE: Final = ("lst", "edr")
DELTA: Final = Quantity("length", lambda text: 0.0 if text in ("0", "0m") else length_m(text))

_OPTIONS: Final = {
    "k": click.option(
        "--k", type=int, metavar="K", help="The fewest records that fit one person. [default: 2]"
    ),
    "suppress_space_m": click.option(
        "--suppress-space",
        "suppress_space_m",
        type=LENGTH,
        metavar="LENGTH",
        help="Drop boxes wider than this (dx + dy). [default: keep all]",
    ),
    "suppress_time_s": click.option(
        "--suppress-time",
        "suppress_time_s",
        type=DURATION,
        metavar="DURATION",
        help="Drop boxes longer than this. [default: keep all]",
    ),
    "generalize": click.option(
        "--generalize",
        type=click.Choice(GENERALIZE),
        help="What becomes of boxes that overlap in time. [default: k-merge]",
    ),
    "leftover": click.option(
        "--leftover",
        type=click.Choice(("merge", "suppress")),
        help="What becomes of a last crowd below k. [default: merge]",
    ),
    "space_cap_m": click.option(
        "--space-cap",
        "space_cap_m",
        type=LENGTH,
        metavar="LENGTH",
        help="Stretch in space that counts as total loss. [default: 20km]",
    ),
    "time_cap_s": click.option(
        "--time-cap",
        "time_cap_s",
        type=DURATION,
        metavar="DURATION",
        help="Stretch in time that counts as total loss. [default: 8h]",
    ),
    "tau_s": click.option(
        "--tau",
        "tau_s",
        type=DURATION,
        metavar="DURATION",
        help="How long an attacker may have followed somebody. [default: 30min]",
    ),
    "epsilon_s": click.option(
        "--epsilon",
        "epsilon_s",
        type=DURATION,
        metavar="DURATION",
        help="How much more may be learnt; tau is a multiple. [default: 30min]",
    ),
    "hiding": click.option(
        "--hiding", type=click.Choice(HIDING), help="Among whom hiders are chosen. [default: neighbors]"
    ),
    "neighborhood": click.option(
        "--neighborhood",
        type=click.IntRange(min=4),
        metavar="N",
        help="People among whom hiders are looked for at first. [default: 64]",
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
        "--delta",
        "delta_m",
        type=DELTA,
        metavar="LENGTH",
        help="How near the others of a crowd are; 0m: in one place. [default: 1km]",
    ),
    "pi_s": click.option(
        "--pi",
        "pi_s",
        type=DURATION,
        metavar="DURATION",
        help="Records begin and end at multiples of this only. [default: 1h]",
    ),
    "step_s": click.option(
        "--step",
        "step_s",
        type=DURATION,
        metavar="DURATION",
        help="Everybody is published at multiples of this. [default: 10min]",
    ),
    "distance": click.option(
        "--distance", type=click.Choice(DISTANCE), help="Which trajectories count as similar. [default: lst]"
    ),
    "speed_m_s": click.option(
        "--speed",
        "speed_m_s",
        type=float,
        metavar="M_PER_S",
        help="A second off counts as so many meters off. [default: 1]",
    ),
    "trash": click.option(
        "--trash",
        type=float,
        metavar="SHARE",
        help="Share of the people that may be left out. [default: 0.1]",
    ),
    "chunk": click.option(
        "--chunk",
        type=click.IntRange(min=0),
        metavar="N",
        help="People clustered at once, 0 = all together. [default: 1000]",
    ),
    "time_threshold_s": click.option(
        "--time-threshold",
        "time_threshold_s",
        type=DURATION,
        metavar="DURATION",
        help="How far apart swapped points may be. [default: 100s]",
    ),
    "space_threshold_m": click.option(
        "--space-threshold",
        "space_threshold_m",
        type=LENGTH,
        metavar="LENGTH",
        help="How far apart swapped points may be; along the streets in reach-locations. [default: 1000km; "
        "reach-locations: 5km]",
    ),
    "clustering": click.option(
        "--clustering",
        type=click.Choice(CLUSTERING),
        help="How trajectories are brought together in groups of k. [default: greedy]",
    ),
    "paths": click.option(
        "--distance-paths",
        "paths",
        type=click.Choice(PATHS),
        help="Where a shortest path stands in for a distance: between trajectories that never meet in time, "
        "or all. [default: disjoint]",
    ),
    "both_sides": click.option(
        "--reach",
        "both_sides",
        type=click.Choice(SIDES),
        callback=lambda _ctx, _param, value: None if value is None else value == "both",
        help="Whose neighboring points must stay within reach: of both who trade places, or of the leading "
        "one. [default: both]",
    ),
    "most_off_street_m": click.option(
        "--most-off-street",
        "most_off_street_m",
        type=LENGTH,
        metavar="LENGTH",
        help="Points farther from every street are left out. [default: 100m]",
    ),
    "streets_nodes": STREET_OPTIONS[0],
    "streets_edges": STREET_OPTIONS[1],
    "streets_crs": STREET_OPTIONS[2],
}

METHOD_OPTIONS: Final = {
    "swap-locations": ("k", "time_threshold_s", "space_threshold_m", "clustering", "paths"),
    "reach-locations": (
        "k",
        "time_threshold_s",
        "space_threshold_m",
        "both_sides",
        "most_off_street_m",
        "streets",
    ),
    "glove": (
        "k",
        "suppress_space_m",
        "suppress_time_s",
        "generalize",
        "leftover",
        "space_cap_m",
        "time_cap_s",
    ),
    "kte-hide": ("k", "tau_s", "epsilon_s", "hiding", "neighborhood", "space_weight_s"),
    "nwa": ("k", "delta_m", "pi_s", "step_s", "trash"),
    "static": ("k", "grid_m", "slot_s"),
    "w4m": ("k", "delta_m", "distance", "speed_m_s", "trash", "chunk"),
}


def method_options(command: Command) -> Command:
    """Add the options of all methods; each one's help says which methods know it."""
    for name, option in reversed(_OPTIONS.items()):
        command = option(command)
        knowing = [method for method, names in METHOD_OPTIONS.items() if _parameter(name) in names]
        if len(knowing) < len(METHOD_OPTIONS):
            # where click keeps the options of a command in the making
            added = command.__click_params__[-1]  # type: ignore[attr-defined]
            added.help = f"{', '.join(knowing)}: {added.help}"
    return command


def take_parameters(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, for one method; a usage error for one that it does not know."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if _parameter(name) not in METHOD_OPTIONS[method]:
            spelled = "--" + name.removesuffix("_m").removesuffix("_s").replace("_", "-")
            raise click.UsageError(f"{method} knows no {spelled}; leave it out or choose another --method")
    return _with_streets(given)


def _parameter(name: str) -> str:
    """The method's parameter that an option belongs to."""
    return "streets" if name in STREETS else name


def _with_streets(given: dict[str, Any]) -> dict[str, Any]:
    """The files of a street graph as the graph that they hold."""
    files: dict[str, Any] = {name: given.pop(name) for name in STREETS if name in given}
    return {**given, "streets": take_streets(files)} if files else given
