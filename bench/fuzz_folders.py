"""Damaged release folders against the verifier, with an independent judge of all that it accepts.

    python bench/fuzz_folders.py --folders 100000 --seed 1

No folder may crash the verifier, keep it busy for more than 10 s, or be accepted where the judge rejects it.
Exit 1 with the seeds of those that do. ``--only SEED`` repeats one.
"""

import argparse
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from folder_fuzz import Sound, Tally, examine

_MOST_MEMORY = 8 << 30


def main() -> int:
    """Run a campaign and print what became of the folders."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--folders", type=int, default=1000)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--only", type=int)
    words.add_argument("--minutes", type=float, default=1e9)
    asked = words.parse_args()
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    tally, started = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as room:
        sound = Sound.made(Path(room) / "sound")
        first = asked.seed * 10**9
        seeds = range(first, first + asked.folders) if asked.only is None else [asked.only]
        for done, seed in enumerate(seeds, start=1):
            examine(sound, seed, Path(room), tally)
            if done % 1000 == 0:
                _print(tally, done, time.monotonic() - started)
            if time.monotonic() - started > 60 * asked.minutes:
                break
    _print(tally, done, time.monotonic() - started)
    return 1 if tally.bad else 0


def _print(tally: Tally, done: int, seconds: float) -> None:
    print(
        f"{done:,} folders, {done / seconds:.1f} a second, the slowest {tally.slowest_s:.2f} s of CPU",
        flush=True,
    )
    for (damage, outcome), number in sorted(tally.outcomes.items()):
        print(f"  {damage:22} {outcome:20} {number:8,}")
    for seed, what in tally.bad[:20]:
        print(f"  SEED {seed}: {what}")
    print(flush=True)


if __name__ == "__main__":
    sys.exit(main())
