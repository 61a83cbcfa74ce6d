"""Damaged release folders without end: what each damage does is drawn from a seed.

Each folder is verified in memory, some in a stream as well, and whatever is accepted goes to a judge that
shares no code with the verifier.
"""

import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

import fuzz_damages as random_ones
import fuzz_lies as lies
from folder_judge import objections
from fuzz_damages import PLANTED
from naive_release import PLANE, naive_release, small_city
from shoal.errors import ShoalError
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.verification import verify, verify_files
from shoal.verification.files.streamed import verify_streamed_folder
from stored import stored
from written_folders import PAGE, write_folder

__all__ = ["DAMAGES", "PLANTED", "Sound", "Tally", "examine"]

_HANGS_S: Final = 600.0
_STREAMED_TOO: Final = 0.1  # the share of refused folders that are verified in a stream, too
Damage = Callable[[random.Random, Path], lies.Renamed | None]
# each with how often it is drawn
DAMAGES: Final[Mapping[Damage, float]] = {
    random_ones.in_manifest: 10, random_ones.in_text_of_manifest: 6, random_ones.in_bytes_of_table: 10,
    random_ones.in_footer: 10, random_ones.in_pages: 10, random_ones.in_columns: 10, random_ones.in_page: 4,
    random_ones.in_files: 6, lies.of_a_class: 12, lies.in_the_claim: 4, lies.in_digits: 8, lies.in_storage: 8,
    lies.in_names: 5, lies.in_spelling: 4, lies.of_size: 0.1,
}  # fmt: skip


@dataclass
class Sound:
    """The folder that all others are made from."""

    original: Trajectories
    people: StoredPeople
    folder: Path
    linkage: Linkage

    @classmethod
    def made(cls, folder: Path) -> "Sound":
        original = small_city(crs=PLANE)
        release, linkage = naive_release(original, n_boxes=3, rng=Randomness.for_research(7))
        write_folder(folder, release, verify(original, release, linkage), PAGE)
        return cls(original, stored(original, folder.with_name("people")), folder, linkage)


@dataclass
class Tally:
    """What became of damaged folders; bad: seeds of those that broke a rule, with the rule."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    bad: list[tuple[int, str]] = field(default_factory=list)
    slowest_s: float = 0.0

    def add(self, other: "Tally") -> None:
        """Take in another tally."""
        self.outcomes += other.outcomes
        self.bad += other.bad
        self.slowest_s = max(self.slowest_s, other.slowest_s)


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def examine(sound: Sound, seed: int, room: Path, tally: Tally) -> None:
    """Damage a copy of the sound folder as a seed says, verify it, and let the judge look at what passed."""
    draw = random.Random(seed)
    folder = room / "release"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound.folder, folder)
    damage = draw.choices(list(DAMAGES), list(DAMAGES.values()))[0]
    try:
        linkage = _renamed(sound.linkage, damage(draw, folder))
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        OverflowError,
        AttributeError,
        pa.ArrowException,
        OSError,
        ShoalError,
    ):
        tally.outcomes[damage.__name__, "not made"] += 1
        return
    bad: list[str] = []
    notes: list[str] = []
    outcome, took_s = _outcome(lambda: verify_files(sound.original, folder, linkage), bad, notes)
    tally.slowest_s = max(tally.slowest_s, took_s)
    if outcome == "accepted" or draw.random() < _STREAMED_TOO:
        scratch = room / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        streamed, took_s = _outcome(
            lambda: verify_streamed_folder(sound.people, folder, linkage, scratch, Run()), bad, []
        )
        tally.slowest_s = max(tally.slowest_s, took_s)
        if (streamed == "accepted") != (outcome == "accepted"):
            bad.append(f"{outcome} in memory and {streamed} in a stream")
    if outcome == "accepted":
        try:
            against = objections(
                sound.original,
                folder,
                linkage,
                [PLANTED],
                noted=any("is packed otherwise" in note for note in notes),
            )
        except Exception as error:  # a judge that fails has not agreed
            against = [f"{type(error).__name__}: {error}"]
        if against:
            bad.append(f"accepted, and the judge says: {against[0]}")
            outcome = "accepted and wrong"
    tally.bad += [(seed, f"{damage.__name__}: {what}") for what in bad]
    tally.outcomes[damage.__name__, outcome] += 1


def _outcome(verified: Callable[[], Verdict], bad: list[str], notes: list[str]) -> tuple[str, float]:
    """(what became of a folder, seconds of CPU); rules that were broken go to ``bad``."""
    started = time.process_time()
    try:
        with _ended_after(_HANGS_S):  # of the clock, which other work may slow down
            verdict = verified()
        outcome = "accepted" if verdict.holds else "refused"
        notes += verdict.notes
        if any(PLANTED.decode() in finding.message for finding in verdict.findings):
            bad.append("an identifier in a finding")
    except ShoalError as error:
        outcome = "bad input"
        if "\n" in str(error):
            bad.append("more than a line")
    except TimeoutError:
        outcome = "hang"
        bad.append(f"no end after {_HANGS_S:.0f} s by the clock")
    except Exception as error:
        outcome = "crash"
        bad.append(f"{type(error).__name__}: {error}")
    return outcome, time.process_time() - started


def _renamed(linkage: Linkage, names: lies.Renamed | None) -> Linkage:
    """The linkage under the new names, without the records that are gone."""
    if names is None:
        return linkage
    pairs = [
        (uid, names[name])
        for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True)
        if names[name] is not None
    ]
    return Linkage(tuple(uid for uid, _ in pairs), tuple(str(name) for _, name in pairs))
