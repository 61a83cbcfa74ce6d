"""How much people would share at one setting, also by other readings of the paper; no cryptography.

Usage: python lab/measure_shares.py DATA [--person track] [--participants 182] [--bootstrap 80] [--k 2]
       [--theta-m 1000] [--theta-min 60] [--count subtrajectories] [--reading self-included] [--literal]
       [--fold-dates] [--max-gap-s 1800] [--points 6] [--seed 1]

``shoal collect plan --data`` says this for the settings that a collection may choose, and ``shoal reproduce``
for those of the paper.
"""

import argparse
import json

from shoal.io import read
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.simulation.experiment import Setting, simulate, trips_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    for name, kind, default in (
        ("--participants", int, 182),
        ("--bootstrap", int, 80),
        ("--k", int, 2),
        ("--theta-m", float, 1000.0),
        ("--theta-min", float, 60.0),
        ("--max-gap-s", float, 1800.0),
        ("--points", float, 6.0),
        ("--seed", int, 1),
    ):
        parser.add_argument(name, type=kind, default=default)
    parser.add_argument("--person", help="the column of people; 'track' makes each file a trip")
    parser.add_argument("--count", choices=("people", "subtrajectories"), default="people")
    parser.add_argument("--reading", choices=("others", "self-included"), default="others")
    for switch in ("--literal", "--fold-dates"):
        parser.add_argument(switch, action="store_true")
    options = parser.parse_args()
    people = trips_of(
        read(options.data, snap=False, person=options.person),
        options.participants,
        max_gap_s=None if options.person == "track" else options.max_gap_s,
        n_points=options.points,
        fold_dates=options.fold_dates,
    )
    setting = Setting(
        bootstrap=options.bootstrap,
        thresholds=Thresholds(theta_m=options.theta_m, theta_min=options.theta_min),
        literal=options.literal,
        k=options.k - (options.reading == "self-included"),
        by_people=options.count == "people",
    )
    print(json.dumps(vars(simulate(people, setting, Chance(options.seed.to_bytes(32)))), indent=2))


if __name__ == "__main__":
    main()
