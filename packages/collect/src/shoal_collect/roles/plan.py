"""What a group size means: the risk that all others collude, and the cost of a round.

Romero-Tris and Megías 2018, Sec. 4 (dishonest server), after Lindell and Waisbard 2010.
"""

import math
from dataclasses import dataclass
from typing import Final

from shoal.errors import MisuseError
from shoal_collect.crypto.group import FFDHE3072
from shoal_collect.crypto.shuffle_proof import proof_bytes
from shoal_collect.mix.messages import least_left
from shoal_collect.roles.lottery import MOST_RESTARTS

SHOTS: Final = 1 + MOST_RESTARTS  # lotteries of a round that an attacker can see while waiting for a bad one
MIX_BROADCASTS: Final = 7
MIXES: Final = 2  # the questions, and the releases

# Seconds of one core, fitted to mixes of 3 to 24 members, who asked 3 to 1,000 questions each: within 6 %
# (bench/bench_mix.py; docs/collect.md has the measurements)
_FIXED_S: Final = 0.745
_EXPONENTIATION_S: Final = 0.000_836
_CHECK_S: Final = 0.002_07  # one ciphertext of one hop
_PROVE_S, _VERIFY_S = 0.0105, 0.004  # a proof of a shuffle, for one ciphertext
_BESIDE: Final = 2  # broadcasts in addition to the mixes: vouchers for the questions, and their answers
_INPUT_BYTES: Final = 2 * FFDHE3072.element_bytes
_HOP_BYTES: Final = 3 * FFDHE3072.element_bytes


@dataclass(frozen=True)
class Cost:
    """One round's cost for a member, on average, without the lottery.

    ``messages``: a broadcast counted per receiver. ``cpu_s``: of one core, fitted to measurements.
    """

    messages: int
    cpu_s: float
    sent_mb: float


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


def cost_of(size: int, questions: int, pieces: int, *, proven: bool = False) -> Cost:
    """A member's cost: ``questions`` records in the first mix, ``pieces`` in the second."""
    cpu_s = sent = 0.0
    for records in (questions, pieces):
        passed_on = size * records
        cpu_s += _FIXED_S + _EXPONENTIATION_S * (1 + 2 * records + 3 * passed_on)
        cpu_s += _CHECK_S * size * passed_on
        if proven:
            cpu_s += (_PROVE_S + _VERIFY_S * (size - 2)) * passed_on
            sent += (size - 1) * proof_bytes(FFDHE3072, passed_on)
        sent += (size - 1) * (_INPUT_BYTES * records + _HOP_BYTES * passed_on)
    return Cost((MIXES * MIX_BROADCASTS + _BESIDE) * (size - 1), round(cpu_s, 1), round(sent / 1e6, 2))


def _require_roster(people: int, dishonest: int, size: int) -> None:
    if not 3 <= size <= people or not 0 <= dishonest < people:
        raise MisuseError(
            f"{people} people with {dishonest} dishonest ones and groups of {size}: give at least as many "
            "people as a group has, and one honest one"
        )
