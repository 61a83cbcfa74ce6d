"""A round of laptops that wake up once a day: real processes, on a clock that this script moves.

Usage: python lab/wake_daily.py [--devices 20] [--days 3] [--evening 300] [--seed 1]

Every process reads the time from a file. Each evening the devices start within twenty minutes, stay awake for
twenty, and are killed; then it is the next evening. A phase may last a day. ``--evening``: seconds that these
forty minutes take here, where all devices share the machine.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

for folder in ("packages/collect/tests/helpers", "tests/helpers"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))

from service_processes import Site  # noqa: E402  (its folder is known by now)

DAY_S, AWAKE_S, WITHIN_S, EVENING_S = 86_400.0, 1_200.0, 1_200.0, 2_400.0
CLOCK = """import os, time
def now():
    with open(os.environ["ROUND_CLOCK"]) as file:
        return float(file.read())
time.time = now
"""


class SlowSite(Site):
    """Phases of a day."""

    def start_server(self) -> subprocess.Popen[str]:
        terms = self.folder / "terms.toml"
        terms.write_text(terms.read_text().replace("phase_limit_s = 600", f"phase_limit_s = {DAY_S}"))
        return super().start_server()


def evening(site: Site, dice: random.Random, began_s: float, real_s: float, clock: Path) -> set[int]:
    """Let all devices that have not finished be awake; who finished this evening."""
    left = [number for number in range(len(site.ks)) if not (site.state(number) / "round-1.json").exists()]
    from_s = {number: dice.uniform(0, WITHIN_S) for number in left}
    awake: dict[int, subprocess.Popen[str]] = {}
    finished, real_began_s = set[int](), time.monotonic()
    while (at_s := (time.monotonic() - real_began_s) / real_s * EVENING_S) < EVENING_S:
        if finished == set(left):
            break
        set_clock(clock, began_s + at_s)
        for number in set(left) - finished:
            if number not in awake and at_s >= from_s[number]:
                awake[number] = site.join(number)
            elif number in awake and at_s > from_s[number] + AWAKE_S:
                awake[number].send_signal(signal.SIGKILL)
            if number in awake and awake[number].poll() == 0:
                finished.add(number)
        time.sleep(0.1)
    for process in awake.values():
        process.kill()
        process.wait()
    return finished


def set_clock(clock: Path, now_s: float) -> None:
    clock.with_suffix(".new").write_text(repr(now_s))
    clock.with_suffix(".new").replace(clock)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=20)
    parser.add_argument("--days", type=int, default=3)
    parser.add_argument("--evening", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice, start_s = random.Random(options.seed), (time.time() // DAY_S) * DAY_S + 20 * 3600
    with tempfile.TemporaryDirectory() as name:
        folder, clock = Path(name), Path(name) / "clock"
        (folder / "sitecustomize.py").write_text(CLOCK)
        os.environ |= {"PYTHONPATH": str(folder), "ROUND_CLOCK": str(clock)}
        set_clock(clock, start_s)
        more = ("--round-size", str(options.devices), "--join-for", "1d")
        minutes, ks = int(start_s // DAY_S) * 1440 - 2_000, (0,) * options.devices
        with SlowSite(folder, f"sqlite:///{folder / 'collect.sqlite'}", ks, minutes, more=more) as site:
            done = set[int]()
            for day in range(options.days):
                done |= evening(site, dice, start_s + day * DAY_S, options.evening, clock)
                print(f"evening {day + 1}: {len(done)} of {options.devices} have finished", flush=True)
                if len(done) == options.devices:
                    break
            print("endings:", dict(Counter(site.noted(number)["ending"] for number in sorted(done))))


if __name__ == "__main__":
    main()
