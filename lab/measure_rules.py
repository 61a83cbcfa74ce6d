"""What each rule of the adversaries wins against one release, everybody tried.

    python lab/measure_rules.py [--method glove|kte-hide] [--k 5] [--subjects 2000] [--days 14]
                                  [--knowledge points:1 ...]

Prints the rate of every rule, and then the rate that the lab reports: that of the rule which wins most
against other victims, with its interval.
"""

import argparse
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np

import shoal
from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.rate import Rule
from shoal.methods.kte_hide.kte_hide import KteHide

KNOWLEDGE = {
    "glove": (
        "points:1",
        "points:2",
        "points:4",
        "top:2",
        "noisy:4:500m:30min",
        "home-work",
        "attribution:2",
    ),
    "kte-hide": ("tau:30min", "tau:30min:2", "points:1", "points:4", "home-work"),
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--method", choices=KNOWLEDGE, default="glove")
    options.add_argument("--k", type=int, default=5)
    options.add_argument("--subjects", type=int, default=2000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--knowledge", nargs="+")
    asked = options.parse_args()
    people = shoal.read(shoal.synthesize(asked.subjects, asked.days, 1))
    method = shoal.Glove(k=asked.k) if asked.method == "glove" else KteHide(k=asked.k)
    release, linkage = method.anonymize(people, shoal.Randomness.for_research(7))
    best = Rate.best_of

    def shown(rules: Sequence[Rule], **words: object) -> Rate:
        for rule in rules:
            print(f"    {rule.name:32} {np.mean(np.asarray(rule.chances)):7.2%}")
        return best(rules, **words)  # type: ignore[arg-type]  # the words are those of the attack's own call

    for text in asked.knowledge or KNOWLEDGE[asked.method]:
        print(text)
        with patch.object(Rate, "best_of", shown):
            found = attack(
                people,
                release,
                linkage,
                rng=shoal.Randomness.for_research(3),
                knowledge=[text],
                tries=asked.subjects,
                scope=AttackScope(targets=["release"]),
            )
        for rate in found.rates:
            print(f"  {rate.name:14} {rate.rate:7.2%} ({rate.low:.2%} to {rate.high:.2%}) {rate.rule or ''}")


if __name__ == "__main__":
    main()
