"""The command that says what to expect of a collection before it is built."""

import json
from typing import Any, Final

import click

from shoal.cli.options import input_options, needs_extra, refuse_unused, take_reading
from shoal.cli.sections import ExampleCommand
from shoal.errors import MisuseError
from shoal.units import counted
from shoal_collect.cli.collect import require_points_as_given

_SIZES: Final = (3, 4, 6, 8, 10, 12, 15, 18, 21, 24)
_THETAS: Final = ((500.0, 30.0), (1_000.0, 60.0), (2_000.0, 120.0), (5_000.0, 180.0))  # meters and minutes
_KS: Final = (1, 2, 3)
_ENOUGH: Final = 0.1  # of the pairs of points: below it, too little comes out to study


@click.command(
    cls=ExampleCommand,
    examples=(
        ("shoal collect plan --data calls.csv", "how much would people like these share?"),
        (
            "shoal collect plan --people 200 --dishonest 0.1",
            "how safe is a group when one in ten plays foul?",
        ),
        ("shoal collect plan --people 200 --group-size 8 --group-size 12", "two sizes beside each other"),
    ),
    epilog="With --data nothing is protected or sent: pairs of points are counted as the collector would. "
    "Without a registrar anybody can join under many names, and the dishonest share is what somebody "
    "wants it to be. See docs/collect-review.md.",
)
@click.option(
    "--data",
    metavar="FILE",
    help="Movement data of people like those who would take part: how much comes out.",
)
@click.option(
    "--first",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --data: how many share everything (k = 0) before the others.  [default: a fifth]",
)
@click.option("--people", type=click.IntRange(3, 10**9), default=100, help="People on a roster.")
@click.option(
    "--dishonest",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.1,
    help="The share of them that play together.",
)
@click.option(
    "--group-size",
    "sizes",
    type=click.IntRange(3, 24),
    multiple=True,
    help="A size of groups; can be repeated.  [default: ten sizes from 3 to 24]",
)
@click.option(
    "--proven-shuffle/--no-proven-shuffle", "proven", default=True, help="Every mixer proves her shuffle."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document; `shoal schema collect-plan`.")
@input_options
def plan(**options: Any) -> int:
    """Say how much people would share, and how safe groups of each size are, before a collection is built."""
    with needs_extra("shoal-collect"):
        from shoal_collect.roles.plan import (
            SHOTS,
            any_isolation_bound,
            cost_of,
            isolation_probability,
        )
        from shoal_collect.roles.terms import Terms

    people, terms = options["people"], Terms()
    if options["dishonest"] != options["dishonest"]:  # not a number
        raise click.BadParameter("nan is no share; give 0.1 for a tenth", param_hint="--dishonest")
    dishonest = round(people * options["dishonest"])
    sizes = sorted(set(options["sizes"])) or [size for size in _SIZES if size <= people]
    if sizes[-1] > people:
        raise MisuseError(
            f"groups of {sizes[-1]} among {people} people; give more --people or smaller groups"
        )
    if dishonest >= people:
        raise MisuseError(f"all of {people} people would be dishonest; give more --people or a smaller share")
    rows = []
    for size in sizes:
        cost = cost_of(size, terms.n_questions, terms.n_pieces, proven=options["proven"])
        rows.append(
            {
                "group_size": size,
                "isolated": isolation_probability(people, dishonest, size),
                "isolated_with_collector": isolation_probability(
                    people, dishonest, size, with_collector=True
                ),
                "somebody_isolated": any_isolation_bound(people, dishonest, size),
                "messages": cost.messages,
                "cpu_s": cost.cpu_s,
                "sent_mb": cost.sent_mb,
            }
        )
    document = {
        "people": people,
        "dishonest": dishonest,
        "shots": SHOTS,
        "questions": terms.n_questions,
        "pieces": terms.n_pieces,
        "proven_shuffle": options["proven"],
        "sizes": rows,
        **_yields(options),
    }
    click.echo(json.dumps(document, indent=2) if options["as_json"] else "\n".join(_lines(document)))
    return 0


def _yields(options: dict[str, Any]) -> dict[str, Any]:
    """What people of --data would share at each setting, and the finest setting that is worth it."""
    reading = take_reading(options)
    if options["data"] is None:
        if reading:
            raise click.UsageError("options for reading have no effect without --data")
        refuse_unused("without --data", "first")
        return {"yields": [], "proposal": None}
    require_points_as_given(reading)
    from shoal.cli.terminal import Bars
    from shoal.io import read
    from shoal.runtime.run import Run
    from shoal_collect.crypto.chance import Chance
    from shoal_collect.matching.similarity import Thresholds
    from shoal_collect.simulation.experiment import Setting, people_of, simulate, trips_of

    with Bars(quiet=options["as_json"]) as bars:
        run = Run(progress=bars)
        data = read(options["data"], run=run, snap=False, **reading)
        n = len(people_of(data))
        people = trips_of(data, n, max_gap_s=1800.0, n_points=6, fold_dates=False)
        first = max(1, n // 5) if options["first"] is None else options["first"]
        yields = []
        for theta_m, theta_min in _THETAS:
            for k in _KS:
                thresholds = Thresholds(theta_m=theta_m, theta_min=theta_min)
                setting = Setting(bootstrap=first, thresholds=thresholds, k=k, by_people=True)
                result = simulate(people, setting, Chance(bytes(32)), run).to_json()
                yields.append({"theta_m": theta_m, "theta_min": theta_min, "k": k, "first": first, **result})
    worth = [row for row in yields if row["share_submitted"] >= _ENOUGH]
    proposal = max(worth, key=lambda row: (-row["theta_m"], row["k"])) if worth else None
    return {"yields": yields, "proposal": proposal}


def _lines(document: dict[str, Any]) -> list[str]:
    lines = [
        f"{document['people']:,} people on a roster, {document['dishonest']:,} of them play together, and "
        f"can choose among {document['shots']:,} lotteries",
        f"Each asks {counted(document['questions'], 'question')} and releases "
        f"{counted(document['pieces'], 'record')}"
        + (", and proves her shuffles" if document["proven_shuffle"] else ""),
        "",
        "size   isolated     with the    anybody in   letters   seconds    MB sent",
        "       by members   collector   the round    a member  of a core  a member",
        *(
            f"{row['group_size']:4}   {row['isolated']:<10.2e}   {row['isolated_with_collector']:<9.2e}   "
            f"{row['somebody_isolated']:<10.2e}   {row['messages']:<7}   {row['cpu_s']:<8}   "
            f"{row['sent_mb']}"
            for row in document["sizes"]
        ),
        "",
        "Isolated: everybody else whom an honest person mixes with plays together, and reads all her "
        "questions and releases.",
        "A collector that plays with them can hold back what other honest members send, and the group goes "
        "on without these, while more than half of it is left: so count on the second figure where you do "
        "not trust the collector. The third has its help, too.",
        "The bounds hold for fair lotteries, which every device checks.",
        "Seconds are fitted to what was measured on one core; yours may differ.",
    ]
    if not document["yields"]:
        return lines
    some = document["yields"][0]
    lines += [
        "",
        f"Of {counted(some['people'] + some['first'], 'person', 'people')}, {some['first']} share everything "
        "first. The others could share so many of their pairs of points:",
        "within             k = 1     k = 2     k = 3",
    ]
    for theta_m, theta_min in _THETAS:
        shares = [row["share_submitted"] for row in document["yields"] if row["theta_m"] == theta_m]
        lines.append(
            f"{theta_m / 1000:g} km, {theta_min:g} min".ljust(19)
            + "".join(f"{share:<10.2%}" for share in shares)
        )
    return [*lines, _advice(document)]


def _advice(document: dict[str, Any]) -> str:
    row = document["proposal"]
    if row is None:
        best = max(document["yields"], key=lambda each: each["share_submitted"])
        return (
            f"This study cannot work like this: at most {best['share_submitted']:.2%} of the pairs would "
            f"come out, and {_ENOUGH:.0%} is little. More people in a smaller area and time are needed."
        )
    return (
        f"Proposed: theta_m = {row['theta_m']:g} and theta_min = {row['theta_min']:g} in the terms, k = "
        f"{row['k']}, at which {row['users_with_at_least_one']:.0f} of {row['people']:.0f} people share "
        "something: the finest of these settings at which a tenth of the pairs come out."
    )
