"""How large groups should be: the risk that everybody else in one plays together.

Romero-Tris and Megías 2018, Sec. 4 (dishonest server), after Lindell and Waisbard 2010. Usage: python
lab/group_sizes.py [--people 100] [--dishonest 10]
"""

import argparse
import math
from typing import Final

from shoal.errors import MisuseError
from shoal_collect.mix.messages import least_left
from shoal_collect.roles.lottery import MOST_RESTARTS

SHOTS: Final = 1 + MOST_RESTARTS  # lotteries of a round that an attacker can see while waiting for a bad one
SIZES: Final = (3, 4, 6, 8, 10, 12, 15, 18, 21, 24)


def isolation_probability(
    people: int, dishonest: int, size: int, shots: int = SHOTS, *, with_collector: bool = False
) -> float:
    """The probability that all others in an honest person's group collude.

    An upper bound over all strategies of ``dishonest`` colluders among ``people``, who can choose among
    ``shots`` lotteries: in each the group is a fair draw of ``size`` people, or of one more.
    ``with_collector``: it withholds the letters of honest members, so that the group goes on without them;
    all but one of the fewest who may go on are then enough.
    """
    _require_roster(people, dishonest, size)
    sizes = (size, min(size + 1, people))
    once = max(
        _share_of_draws(people, dishonest, n, (least_left(n) if with_collector else n) - 1) for n in sizes
    )
    return -math.expm1(shots * math.log1p(-once)) if once < 1 else 1.0


def _share_of_draws(people: int, dishonest: int, n: int, enough: int) -> float:
    """Of an honest person's groups of n, those with ``enough`` colluders or more."""
    bad = sum(
        math.comb(dishonest, colluders) * math.comb(people - 1 - dishonest, n - 1 - colluders)
        for colluders in range(enough, n)
    )
    return bad / math.comb(people - 1, n - 1)


def any_isolation_bound(people: int, dishonest: int, size: int, shots: int = SHOTS) -> float:
    """A bound on the probability that any honest person is isolated, the collector helping."""
    one = isolation_probability(people, dishonest, size, shots, with_collector=True)
    return min(1.0, (people - dishonest) * one)


def _require_roster(people: int, dishonest: int, size: int) -> None:
    if not 3 <= size <= people or not 0 <= dishonest < people:
        raise MisuseError(
            f"{people} people with {dishonest} dishonest ones and groups of {size}: give at least as many "
            "people as a group has, and one honest one"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=100, help="on a roster")
    parser.add_argument("--dishonest", type=int, default=10, help="how many of them play together")
    options = parser.parse_args()
    people, dishonest = options.people, options.dishonest
    print("size   isolated     with the    anybody in")
    print("       by members   collector   the round")
    for size in SIZES:
        alone = isolation_probability(people, dishonest, size)
        helped = isolation_probability(people, dishonest, size, with_collector=True)
        anybody = any_isolation_bound(people, dishonest, size)
        print(f"{size:4}   {alone:<10.2e}   {helped:<9.2e}   {anybody:<10.2e}")


if __name__ == "__main__":
    main()
