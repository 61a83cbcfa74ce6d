"""Damaged release folders against the verifier, with an independent judge of all that it accepts.

    python bench/fuzz_folders.py --folders 100000 --seed 1

No folder may crash the verifier, keep it busy for more than 10 s, or be accepted where the judge rejects it.
Exit 1 with the seeds of those that do. ``--only SEED`` repeats one. Folders are examined in blocks, each in a
process of its own: one that dies is told, too, and the next begins behind the folder that ended it.
"""

import argparse
import os
import pickle
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from folder_fuzz import Sound, Tally, examine

_MOST_MEMORY = 8 << 30
_AT_ONCE = 500


def main() -> int:
    """Run a campaign and print what became of the folders."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--folders", type=int, default=1000)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--skip", type=int, default=0, help="folders that an earlier run has examined")
    words.add_argument("--only", type=int)
    words.add_argument("--minutes", type=float, default=1e9)
    asked = words.parse_args()
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    tally, started = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as room:
        sound = Sound.made(Path(room) / "sound")
        first = asked.seed * 10**9
        seed, end = first + asked.skip, first + asked.folders
        if asked.only is not None:
            seed, end = asked.only, asked.only + 1
        begun = seed
        while seed < end and time.monotonic() - started < 60 * asked.minutes:
            seed = _block(sound, seed, min(seed + _AT_ONCE, end), Path(room), tally)
            if (seed - begun) % 1000 < _AT_ONCE:
                _print(tally, seed - begun, time.monotonic() - started)
    _print(tally, seed - begun, time.monotonic() - started)
    return 1 if tally.bad else 0


def _block(sound: Sound, seed: int, end: int, room: Path, tally: Tally) -> int:
    """Examine the folders of these seeds in a process of their own; returns the seed to go on with."""
    at, outcome = room / "at", room / "tally"
    outcome.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        own = Tally()
        for each in range(seed, end):
            at.write_text(str(each))
            examine(sound, each, room, own)
            if each % 50 == 49 or each == end - 1:
                outcome.write_bytes(pickle.dumps(own))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if outcome.exists():
        tally.add(pickle.loads(outcome.read_bytes()))
    if status == 0:
        return end
    died_at = int(at.read_text())
    tally.bad.append((died_at, f"the process ended with {os.waitstatus_to_exitcode(status)}"))
    return died_at + 1


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
