"""The long campaigns of the user-centric protocol with their counts.

Random bytes to parsers, cheaters, bad networks, whole rounds.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/collect/tests/helpers"))

from collect_campaigns import cheat, fuzz, parsers, schedule, whole_round


def campaign(name: str, run: Callable[[int], str], first: int, runs: int) -> bool:
    """All runs, with their verdicts counted.

    Whether none of them is a fault (faults are written in capitals).
    """
    began = time.process_time()
    verdicts = Counter(run(number) for number in range(first, first + runs))
    print(f"{name}: {runs} runs, {time.process_time() - began:.0f} s of CPU", flush=True)
    for verdict, times in verdicts.most_common():
        print(f"    {times} {verdict}", flush=True)
    return not any(verdict[:4].isupper() for verdict in verdicts)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--runs",
        type=int,
        default=500,
        help="cheaters; twice as many schedules, a tenth as many whole rounds",
    )
    options.add_argument("--messages", type=int, default=100_000, help="to each parser")
    options.add_argument(
        "--first", type=int, default=0, help="the number of the first run; each number is another run"
    )
    given = options.parse_args()
    for name, (parse, good) in parsers().items():
        began = time.process_time()
        counts = fuzz(parse, good, given.messages)
        print(
            f"parser {name}: {counts.total():,} messages, {time.process_time() - began:.0f} s of CPU, "
            f"{dict(counts)}",
            flush=True,
        )
    sound = [
        campaign("cheaters", cheat, given.first, given.runs),
        campaign("schedules", schedule, given.first, 2 * given.runs),
        campaign("whole rounds", whole_round, given.first, max(1, given.runs // 10)),
    ]
    sys.exit(not all(sound))


if __name__ == "__main__":
    main()
