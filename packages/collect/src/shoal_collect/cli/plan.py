"""The command that explains group sizes."""

import json
from typing import Any

import click

from shoal.cli.options import needs_extra
from shoal.cli.sections import ExampleCommand
from shoal.errors import MisuseError
from shoal.units import counted

_SIZES = (3, 4, 6, 8, 10, 12, 15, 18, 21, 24)


@click.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal collect plan --people 200 --dishonest 0.1",
            "how safe is a group when one in ten plays foul?",
        ),
        ("shoal collect plan --people 200 --group-size 8 --group-size 12", "two sizes beside each other"),
    ),
    epilog="Without a registrar anybody can join under many names, and the dishonest share is what somebody "
    "wants it to be. See docs/collect-admission.md.",
)
@click.option("--people", type=click.IntRange(3, 10**9), default=100, help="People on a roster.")
@click.option(
    "--dishonest",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.1,
    help="The share of them that play together.",
)
@click.option(
    "--shots",
    type=click.IntRange(1, 10**6),
    help="Lotteries that they can choose among.  [default: 3, a round with its two restarts]",
)
@click.option(
    "--group-size",
    "sizes",
    type=click.IntRange(3, 24),
    multiple=True,
    help="A size of groups; can be repeated.  [default: ten sizes from 3 to 24]",
)
@click.option("--questions", type=click.IntRange(1, 1024), default=50, help="Questions that each brings.")
@click.option("--pieces", type=click.IntRange(1, 33), default=4, help="Records of a release.")
@click.option(
    "--proven-shuffle/--no-proven-shuffle", "proven", default=True, help="Every mixer proves her shuffle."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document; `shoal schema collect-plan`.")
def plan(**options: Any) -> int:
    """Compute the safety and cost of groups of each size: the paper's Sec. 4 as a calculator."""
    with needs_extra("shoal-collect"):
        from shoal_collect.roles.plan import (
            SHOTS,
            any_isolation_bound,
            bad_grouping_as_printed,
            cost_of,
            isolation_probability,
        )

    people, shots = options["people"], options["shots"] or SHOTS
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
        cost = cost_of(size, options["questions"], options["pieces"], proven=options["proven"])
        rows.append(
            {
                "group_size": size,
                "isolated": isolation_probability(people, dishonest, size, shots),
                "somebody_isolated": any_isolation_bound(people, dishonest, size, shots),
                "bad_grouping_as_printed": bad_grouping_as_printed(people, dishonest, size),
                "messages": cost.messages,
                "cpu_s": cost.cpu_s,
                "sent_mb": cost.sent_mb,
            }
        )
    document = {
        "people": people,
        "dishonest": dishonest,
        "shots": shots,
        "questions": options["questions"],
        "pieces": options["pieces"],
        "proven_shuffle": options["proven"],
        "sizes": rows,
    }
    click.echo(json.dumps(document, indent=2) if options["as_json"] else "\n".join(_lines(document)))
    return 0


def _lines(document: dict[str, Any]) -> list[str]:
    return [
        f"{document['people']:,} people on a roster, {document['dishonest']:,} of them play together, and "
        f"can choose among {document['shots']:,} lotteries",
        f"Each asks {counted(document['questions'], 'question')} and releases "
        f"{counted(document['pieces'], 'record')}"
        + (", and proves her shuffles" if document["proven_shuffle"] else ""),
        "",
        "size   an honest person   anybody in     paper's      letters   seconds    MB sent",
        "       is isolated        the round      Sec. 4       a member  of a core  a member",
        *(
            f"{row['group_size']:4}   {row['isolated']:<16.2e}   {row['somebody_isolated']:<12.2e}   "
            f"{row['bad_grouping_as_printed']:<10.2e}   {row['messages']:<7}   {row['cpu_s']:<8}   "
            f"{row['sent_mb']}"
            for row in document["sizes"]
        ),
        "",
        "Isolated: everybody else in the group plays together, and reads all her questions and releases.",
        "The bounds hold for fair lotteries, which every device checks.",
        "Seconds are fitted to what was measured on one core; yours may differ.",
    ]
