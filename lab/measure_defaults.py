"""Which settings of GLOVE give the most for a given risk: the table of decision 0254.

    .venv/bin/python lab/measure_defaults.py NAME=FILE ... [--k 5] [--people 1500] [--places NAME]

Each row is a release of nine tenths of the people: means and medians of the raw samples' extents, what is
left out, the five uses and their scores, and the strongest outsider, member and linkage, with the guess.
Those who are held out are the control group of `membership`. --places NAME: the places of these data are a
public list.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.attacks import AttackScope, Rate, attack
from shoal.attacks.rate import gain
from shoal.io import read
from shoal.methods.glove.glove import Glove
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.units import measured_m, measured_s
from shoal.utility import Facts
from shoal.utility.usefulness import usefulness_of

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"refine": True},
    {"refine": True, "omit_at_most": 0.02},
    {"refine": True, "omit_at_most": 0.05},
    {"hull": "grid:500m"},
    {"refine": True, "hull": "grid:500m"},
)
ON_LEAVES = {"refine": True, "hull": "leaves:10"}
NAMING = ("points:4", "points:10", "top:2", "home-work")
OUTSIDE = (*NAMING, "downcoding", "her-place:4")
MEMBERS = ("insider", "insider:all")


def strongest(rates: list[Rate]) -> str:
    if not rates:
        return "none"
    best = max(rates, key=lambda rate: gain(rate.rate, rate.baseline))
    return f"{best.rate:.1%} ({best.baseline:.1%}) `{best.name}`"


def row(data: str, people: Trajectories, control: Trajectories, settings: dict[str, Any], asked: Any) -> str:
    begin = process_time()
    released = Glove(k=asked.k, **settings).anonymize(people, Randomness.for_research(1))
    cpu_s = process_time() - begin
    facts = Facts(people, *released)
    useful, accuracy = usefulness_of(facts), facts.accuracy
    rates: dict[str, list[Rate]] = {}
    for knowledge in (*OUTSIDE, "membership:4", *MEMBERS):
        scope = AttackScope(targets=["release", "control"], control=control)
        found = attack(
            people,
            *released,
            knowledge=[knowledge],
            rng=Randomness.for_research(1),
            tries=asked.tries,
            scope=scope,
        )
        rates[knowledge] = [rate for rate in found.rates if rate.target == "release"]
    linkage = [rate for name in NAMING for rate in rates[name] if "linkage" in rate.name or rate.name == name]
    outside = [rate for name in OUTSIDE for rate in rates[name] if not rate.name.startswith("unicity")]
    extents = accuracy.raw
    uses = [
        verdict.use.name + ("" if verdict.answer == "yes" else " roughly")
        for verdict in useful.verdicts
        if verdict.answer in ("yes", "roughly")
    ]
    options = " ".join(
        f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}")
        for name, value in settings.items()
    )
    cells = [
        data,
        f"`{options}`" if options else "none",
        f"{cpu_s:.1f}",
        f"{measured_m(extents.mean_space_m)}, {measured_s(extents.mean_time_s)}",
        f"{measured_m(extents.median_space_m)}, {measured_s(extents.median_time_s)}",
        f"{accuracy.samples_suppressed / people.n_samples:.1%}",
        ", ".join(uses) or "nothing",
        " ".join(f"{verdict.score:.2f}" for verdict in useful.verdicts),
        strongest(outside),
        strongest(rates["membership:4"]),
        strongest([rate for name in MEMBERS for rate in rates[name]]),
        strongest(linkage),
    ]
    return f"| {' | '.join(cells)} |"


def list_of_places(file: str, target: Path) -> None:
    stations = pq.read_table(file).group_by(["lat", "lon"]).aggregate([([], "count_all")])
    pq.write_table(pa.table({name: stations[name] for name in ("lat", "lon")}), target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--people", type=int, default=1500)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--time-zone")
    parser.add_argument("--places", nargs="*", default=[])
    asked = parser.parse_args()
    print(
        "| data | options | CPU s | means | medians | left out | good for | scores | outsider | membership "
        "| member | linkage |"
    )
    print("|---" * 12 + "|")
    for text in asked.data:
        name, _, file = text.partition("=")
        with TemporaryDirectory() as folder:
            everyone, settings = read(file, time_zone=asked.time_zone), [*SETTINGS]
            variants = [(everyone, one) for one in settings]
            if name in asked.places:
                list_of_places(file, Path(folder) / "places.parquet")
                listed = read(file, places=f"{folder}/places.parquet", places_are_public=True)
                variants += [
                    (listed, {}),
                    (listed, ON_LEAVES),
                    (listed, {"refine": True, "hull": "grid:500m"}),
                ]
            for people, one in variants:
                drawn = people.sample(asked.people)
                order = set(people.sample(max(len(drawn) // 10, 1), seed=1).ids)
                inside = [n for n, who in enumerate(drawn.ids) if who not in order]
                outside = [n for n, who in enumerate(drawn.ids) if who in order]
                title = name if people is everyone else f"{name}, places known"
                print(row(title, drawn.keep(inside), drawn.keep(outside), one, asked), flush=True)


if __name__ == "__main__":
    main()
