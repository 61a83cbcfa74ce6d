"""The commands of the user-centric protocol."""

from collections.abc import Callable
from typing import Any, Final

import click

from shoal.cli.options import (
    DURATION,
    LENGTH,
    PATH,
    input_options,
    needs_extra,
    output_options,
    refuse_unused,
    take_reading,
)
from shoal.cli.sections import ExampleCommand, Group
from shoal.units import counted

_BOOTSTRAPPERS: Final = 80  # of the paper, which has 182 participants
_NOTE: Final = (
    "without cryptography: questions went straight to the store; the counts are the same, but nobody would "
    "be protected"
)


def leave_no_core() -> None:
    """Disable core dumps: they would hold secret keys."""
    try:
        import resource
    except ImportError:  # Windows writes none unless asked to
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def require_points_as_given(reading: dict[str, Any]) -> None:
    """Raise a usage error for options that round points."""
    if any(name in reading for name in ("cell_m", "slot_s", "snap")):
        raise click.UsageError("collect works on the points as given; leave out --cell, --slot and --no-snap")


def servers_of_a_round(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a participant's servers, user name, patience."""
    options = (
        click.option("--server", "server_url", required=True, metavar="URL", help="The collector."),
        click.option(
            "--authority",
            "authority_url",
            required=True,
            metavar="URL",
            help="The authority that knows whose a release is.",
        ),
        click.option("--user", default="me", metavar="NAME", help="Your name at the authority."),
        click.option("--poll", "poll_s", type=DURATION, default="1s", help="How often to look for news."),
        click.option(
            "--patience", "patience_s", type=DURATION, default="30min", help="How long a server may be away."
        ),
        click.option(
            "--ca", type=PATH, metavar="FILE", help="Certificates (PEM) to trust instead of the system's."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(
    cls=Group,
    examples=(("shoal collect plan", "how large groups should be, before anybody is asked to take part"),),
)
def collect() -> None:
    """Let people protect themselves before they send anything (the user-centric protocol)."""


@collect.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal collect simulate --data calls.csv --participants 100",
            "how much people would share; the counts alone, quickly",
        ),
    ),
    epilog="Lengths and durations take units: 1km, 60min.",
)
@click.option(
    "--data",
    required=True,
    metavar="FILE",
    help="Movement data that stands in for the participants' devices.",
)
@click.option(
    "--participants",
    type=click.IntRange(min=2),
    required=True,
    metavar="N",
    help="How many of its people take part.",
)
@click.option(
    "--subtrajectories",
    type=click.IntRange(1, 1024),
    default=50,
    help="Questions for each trip.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(min=0),
    help="How many people share everything first (k = 0).  [default: 80; of fewer than 160 participants, "
    "half]",
)
@click.option("--theta-space", "theta_m", type=LENGTH, default="1km", help="Points this close are similar.")
@click.option("--theta-time", "theta_s", type=DURATION, default="60min", help="Times this close are similar.")
@click.option("--k", type=click.IntRange(0, 15), default=2, help="The smallest crowd.")
@click.option(
    "--count", type=click.Choice(("people", "subtrajectories")), default="people", help="What phi counts."
)
@click.option(
    "--paper",
    is_flag=True,
    help="All configurations of the paper's tables, read as the paper does, beside its numbers. On GeoLife's "
    "own folder with --person track: its trips are the paper's, and have as many pairs.",
)
@click.option(
    "--reading",
    type=click.Choice(("others", "self-included")),
    help="Whether k counts only others (phi >= k) or also the asker (phi >= k - 1).  [default: others; "
    "self-included with --count subtrajectories]",
)
@click.option(
    "--repeat", type=click.IntRange(1, 100), help="Simulations to average.  [default: 1; with --paper, 10]"
)
@click.option("--literal", is_flag=True, help="Similarity of times as the paper prints it.")
@click.option("--fold-dates", is_flag=True, help="Compare only times of day, not dates.")
@click.option(
    "--max-gap",
    "max_gap_s",
    type=DURATION,
    help="A longer pause ends a trip.  [default: 30min; with --paper, 166min; with --person track, none]",
)
@click.option(
    "--points",
    type=click.FloatRange(2, 28),
    help="Points kept of each trip, on average.  [default: 6; with --paper, by the paper's pairs]",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, help="The same seed gives the same simulation."
)
@input_options
@output_options
def simulate(**options: Any) -> int:
    """Simulate a collection: how much people would share, if each sent only what enough others share."""
    from shoal.cli.terminal import Bars, print_result
    from shoal.io import read
    from shoal.runtime.run import Run

    with needs_extra("shoal-collect"):
        from shoal_collect.matching.similarity import Thresholds
        from shoal_collect.matching.trimming import Reading
        from shoal_collect.simulation.experiment import Setting
        from shoal_collect.simulation.trips import TRACK, points_for, trips_of
    from shoal_collect.simulation.paper import GAP_S, PAIRS_A_TRIP, PAPER, POINTS

    as_json, quiet = options["as_json"], options["quiet"]
    reading = take_reading(options)
    if options["bootstrap"] is None:
        options["bootstrap"] = min(_BOOTSTRAPPERS, options["participants"] // 2)
    _refuse_what_does_not_fit(options, reading)
    configurations = (
        PAPER
        if options["paper"]
        else [(options["bootstrap"], options["theta_m"], options["theta_s"] / 60, options["k"])]
    )
    paper = options["paper"]
    literal = options["literal"] or paper
    by_people = options["count"] == "people" and not paper
    reading_of_k: Reading = options["reading"] or ("others" if by_people or paper else "self-included")
    repeat = options["repeat"] or (10 if paper else 1)
    in_tracks = reading.get("person") == TRACK
    if in_tracks and options["max_gap_s"] is not None:
        raise click.UsageError("with --person track a trip is what the data say; leave out --max-gap")
    max_gap_s = None if in_tracks else options["max_gap_s"] or (GAP_S if paper else 1800.0)
    n_points = options["points"] or (POINTS if paper else 6)
    with Bars(quiet=quiet) as bars:
        run = Run(progress=bars)
        trajectories = read(options["data"], run=run, snap=False, **reading)
        if paper and in_tracks and options["points"] is None:
            n_points = points_for(trajectories, PAIRS_A_TRIP)
        people = trips_of(
            trajectories,
            options["participants"],
            max_gap_s=max_gap_s,
            n_points=n_points,
            fold_dates=options["fold_dates"],
        )
        rows: list[dict[str, Any]] = []
        for bootstrap, theta_m, theta_min, k in configurations:
            setting = Setting(
                bootstrap=bootstrap,
                thresholds=Thresholds(theta_m=theta_m, theta_min=theta_min, literal=literal),
                k=k,
                by_people=by_people,
                reading=reading_of_k,
                subtrajectories=options["subtrajectories"],
            )
            of_these = {"bootstrap": bootstrap, "theta_m": theta_m, "theta_min": theta_min, "k": k}
            paper_row = PAPER.get((bootstrap, theta_m, theta_min, k)) if paper else None
            printed = {} if paper_row is None else {"paper": _paper_values(*paper_row)}
            rows.append({**of_these, **_simulate_row(people, setting, options, repeat, run), **printed})
            bars("configurations", len(rows), len(configurations))
    trips = sum(map(len, people))
    document = {
        "note": _NOTE,
        "phi_counts": "people" if by_people else "subtrajectories",
        "k_counts": reading_of_k,
        "similar_times": "as printed" if literal else "at most theta apart",
        "times": "of the day" if options["fold_dates"] else "absolute",
        "simulations": repeat,
        "participants": len(people),
        "trips": trips,
        "pairs": sum(len(trip) * (len(trip) - 1) // 2 for person_trips in people for trip in person_trips),
        "configurations": rows,
    }
    print_result(as_json, document, _lines(document))
    return 0


def _refuse_what_does_not_fit(options: dict[str, Any], reading: dict[str, Any]) -> None:
    if options["paper"]:
        refuse_unused(
            "beside --paper, which has configurations of its own",
            "bootstrap",
            "theta_m",
            "theta_s",
            "k",
            "count",
        )
    require_points_as_given(reading)


def _paper_values(submitted_percent: float, users: int, theirs_percent: float) -> dict[str, float]:
    return {
        "share_submitted": submitted_percent / 100,
        "users_with_at_least_one": users,
        "their_average_share": theirs_percent / 100,
    }


def _simulate_row(
    people: Any, setting: Any, options: dict[str, Any], repeat: int, run: Any
) -> dict[str, Any]:
    from shoal_collect.crypto.chance import Chance
    from shoal_collect.simulation.experiment import simulate

    results = [
        simulate(people, setting, Chance((options["seed"] + number).to_bytes(32)), run).to_json()
        for number in range(repeat)
    ]
    return _average(results)


def _average(results: list[dict[str, Any]]) -> dict[str, Any]:
    if len(results) == 1:
        return results[0]
    mean = {name: sum(result[name] for result in results) / len(results) for name in results[0]}
    shares = [result["share_submitted"] for result in results]
    return {**mean, "share_submitted_range": [min(shares), max(shares)]}


def _lines(document: dict[str, Any]) -> list[str]:
    lines = [
        document["note"],
        f"{document['participants']:,} participants, {counted(document['trips'], 'trip')}, "
        f"{counted(document['pairs'], 'pair')}; "
        f"phi counts {document['phi_counts']}, k counts {document['k_counts']}; "
        f"similar times: {document['similar_times']}; times: {document['times']}; "
        f"simulations averaged: {document['simulations']}",
    ]
    for row in document["configurations"]:
        low_high = row.get("share_submitted_range")
        between = f" ({low_high[0]:.2%} to {low_high[1]:.2%})" if low_high else ""
        lines.append(
            f"bootstrap {row['bootstrap']}, theta {row['theta_m'] / 1000:g} km / {row['theta_min']:g} min, "
            f"k = {row['k']}: {row['share_submitted']:.2%}{between} of {row['subtrajectories_asked']:,.0f} "
            "submitted; "
            f"{row['users_with_at_least_one']:.0f} of {row['people']:.0f} people with at least one, "
            f"{row['their_average_share']:.2%} of theirs on average; "
            f"phi = 0 for {row['phi_share_of_zeros']:.2%}, else {row['phi_mean_of_others']:.1f} on average"
        )
        if "paper" in row:
            paper = row["paper"]
            lines.append(
                f"    the paper: {paper['share_submitted']:.2%} submitted; "
                f"{counted(paper['users_with_at_least_one'], 'person', 'people')}; "
                f"{paper['their_average_share']:.2%}"
            )
    return lines
