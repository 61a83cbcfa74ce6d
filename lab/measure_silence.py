"""How many groups finish when devices fail: real sessions in one process, over a small group.

Usage: python lab/measure_silence.py [--groups 100] [--size 6] [--share 0.1] [--seed 1]

Each device fails with a chance, in one moment of the round, and is silent from then on. Moments are drawn
evenly over the messages that a device sends, and then over the phases that have a time limit, where each hop
of a mix is one. A group finishes when more than half of it holds the same releases, which the collector then
stores. "before": the same devices, when any silence before the releases are open ends the round for all.
"""

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/collect/tests/helpers"))

from mix_runs import ROOMY
from session_groups import MIX, SENT, SessionGroup
from shoal_collect.mix.messages import least_left
from shoal_collect.roles import group_session

AFTER = ("storing", "claiming")
MESSAGES = (*SENT, *AFTER)


def moment_of(slot: int, place: int, size: int, *, by_phase: bool) -> int:
    """How many messages a device sends that fails in a slot."""
    if not by_phase:
        return slot
    hop = MIX.index("hop")
    phases: list[int] = []
    for start in (0, SENT.index(f"second {MIX[0]}")):
        phases += range(start, start + hop)
        phases += [start + hop + (number > place) for number in range(size)]
        phases += range(start + hop + 1, start + len(MIX))
        phases += range(len(MIX), len(MIX) + 3) if not start else range(len(SENT), len(MESSAGES))
    return phases[slot]


def n_slots(size: int, *, by_phase: bool) -> int:
    return len(MESSAGES) + by_phase * 2 * (size - 1)


def draw(dice: random.Random, size: int, share: float, *, by_phase: bool) -> dict[int, int]:
    """The devices of a group that fail, and when."""
    slots = n_slots(size, by_phase=by_phase)
    return {
        place: moment_of(dice.randrange(slots), place, size, by_phase=by_phase)
        for place in range(size)
        if dice.random() < share
    }


def should_finish(silent: dict[int, int], size: int) -> bool:
    """Nobody is silent between the vote and the inner key, and more than half are left."""
    early = [SENT[moment] for moment in silent.values() if moment < len(SENT)]
    return size - len(early) >= least_left(size) and not any("opening" in kind for kind in early)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--size", type=int, default=6)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    size, share = options.size, options.share
    setattr(group_session, "FFDHE3072", ROOMY)  # noqa: B010  (quick, and its size changes nothing here)
    for by_phase in (False, True):
        dice = random.Random(options.seed)
        groups = [draw(dice, size, share, by_phase=by_phase) for _ in range(options.groups)]
        finished = before = as_expected = 0
        for number, silent in enumerate(groups):
            holders = SessionGroup(size, silent, name=(options.seed, by_phase, number)).run()
            is_done = 2 * len(holders) > size
            finished += is_done
            as_expected += is_done == should_finish(silent, size)
            before += all(moment >= len(SENT) for moment in silent.values())
        expected = sum(
            should_finish(draw(dice, size, share, by_phase=by_phase), size) for _ in range(100_000)
        )
        print(
            f"evenly over {'phases' if by_phase else 'messages'}: {finished} of {len(groups)} groups of "
            f"{size} finished, {as_expected} as the rule says; before: {before}; of 100,000 by the rule: "
            f"{expected / 1000:.1f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
