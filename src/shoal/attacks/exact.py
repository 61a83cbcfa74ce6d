"""Adversaries who know exact triples, or exact times alone, against releases of points (swap-reach-locations.txt, Sec. 3.3 and Example 3).

``triples:P``: P random triples of a person; the record that shows most of them is named (linkage), and of another of its points it is said
that the person was there and then (disclosure). ``times:P``: the same with the times of these triples alone, which ReachLocations keeps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from shoal.attacks.rate import Rate, TargetName
from shoal.errors import MisuseError
from shoal.linked import records_of
from shoal.release import Linkage, PointRelease
from shoal.run import Run
from shoal.trajectories import Integers, Trajectories

Exact = Literal["triples", "times"]
EXACT: Final = ("triples", "times")
EXACT_KNOWLEDGE: Final = ("triples:1", "triples:2", "triples:4", "times:1", "times:2", "times:4")
_MOST: Final = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class _Shown:
    """What is searched. record: int64 [p] whose each point is. triple, time: int64 [p], the same number for the same values everywhere."""

    n_records: int
    record: Integers
    triple: Integers
    time: Integers
    label: TargetName


def parse_exact(text: str) -> tuple[Exact, int]:
    """``triples:4`` or ``times:2``; raises MisuseError for anything else."""
    name, _, number = text.partition(":")
    if name not in EXACT or not number.isdecimal() or not 1 <= int(number) <= _MOST:
        raise MisuseError(f"'{text}' is not a knowledge of exact points; write for example triples:4 or times:2 (1 to {_MOST})")
    return ("triples" if name == "triples" else "times"), int(number)


def attack_exact(
    original: Trajectories,
    release: PointRelease,
    linkage: Linkage,
    knowledge: Sequence[str],
    rng: np.random.Generator,
    *,
    tries: int = 1000,
    run: Run | None = None,
) -> list[Rate]:
    """Play each knowledge against the raw points and against the release; the victims are people who are in it.

    A try counts the chance to be right when ties are decided at random. Raises MisuseError for an unknown knowledge.
    """
    asked, run = [parse_exact(text) for text in knowledge], run or Run()
    original.points_as_given()
    own = records_of(original, release, linkage)
    inside = np.flatnonzero(own >= 0)
    victims = inside if len(inside) <= tries else np.sort(rng.choice(inside, size=tries, replace=False))
    triple, time = (_codes(original, release, names) for names in (("t", "x", "y"), ("t",)))
    m = original.n_samples
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    raw = _Shown(n_records=original.n_subjects, record=owner, triple=triple[:m], time=time[:m], label="raw")
    record = np.repeat(np.arange(release.n_records), np.diff(release.offsets))
    published = _Shown(n_records=release.n_records, record=record, triple=triple[m:], time=time[m:], label="release")
    seed = int(rng.integers(0, 2**63))
    rates = []
    for kind, p in asked:
        for shown, records in ((raw, victims), (published, own[victims])):
            rates += _play(original, raw, shown, victims, records, kind, p, np.random.default_rng(seed), run)
    return rates


def _play(
    original: Trajectories,
    raw: _Shown,
    shown: _Shown,
    victims: Integers,
    own: Integers,
    kind: Exact,
    p: int,
    rng: np.random.Generator,
    run: Run,
) -> list[Rate]:
    """Linkage and disclosure with p known triples, or their times."""
    known, searched = (raw.triple, shown.triple) if kind == "triples" else (raw.time, shown.time)
    by_code = np.argsort(searched, kind="stable")
    codes = searched[by_code]
    by_record = np.argsort(shown.record, kind="stable")
    ends = np.searchsorted(shown.record[by_record], np.arange(shown.n_records + 1))
    linked, told, lucky = [], [], 0.0
    run.progress(f"searching exact {kind} ({shown.label})", 0, len(victims))
    for victim, record in zip(victims.tolist(), own.tolist(), strict=True):
        first, length = int(original.offsets[victim]), int(original.lengths[victim])
        rows = first + rng.choice(length, size=min(p, length), replace=False)
        begin, end = np.searchsorted(codes, known[rows]), np.searchsorted(codes, known[rows], side="right")
        seen = [np.unique(shown.record[by_code[b:e]]) for b, e in zip(begin.tolist(), end.tolist(), strict=True)]
        names, counts = np.unique(np.concatenate(seen), return_counts=True)
        best = names[counts == counts.max()] if len(names) else np.empty(0, dtype=np.int64)
        linked.append(float(record in best) / len(best) if len(best) else 1 / shown.n_records)
        mine = np.unique(raw.triple[first : first + length])
        chosen = int(rng.choice(best)) if len(best) else int(rng.integers(shown.n_records))
        told.append(_share_true(shown.triple[by_record[ends[chosen] : ends[chosen + 1]]], raw.triple[rows], mine))
        stranger = int(rng.integers(shown.n_records))
        lucky += _share_true(shown.triple[by_record[ends[stranger] : ends[stranger + 1]]], raw.triple[rows], mine)
    run.progress(f"searching exact {kind} ({shown.label})", len(victims), len(victims))
    what = f"{p} exact {'triple' if kind == 'triples' else 'time'}{'s' * (p > 1)}"
    who = f"Someone who knows {what} of a person and names the record that shows most of them"
    shared: dict[str, Any] = {"knowledge": what, "target": shown.label, "tries": len(victims)}
    return [
        Rate(name=f"{kind}-linkage", attacker=f"{who}.", successes=math.fsum(linked), baseline=1 / shown.n_records, **shared),
        Rate(
            name=f"{kind}-disclosure",
            attacker=f"{who}, and says of another point of that record, drawn at random, that the person was there and then.",
            successes=math.fsum(told),
            baseline=lucky / len(victims),
            **shared,
        ),
    ]


def _share_true(points: Integers, known: Integers, mine: Integers) -> float:
    """Of the points of a record that were not known before, the share that are the victim's own triples; 0 when there are none."""
    fresh = points[~np.isin(points, known)]
    return float(np.isin(fresh, mine).mean()) if len(fresh) else 0.0


def _codes(original: Trajectories, release: PointRelease, names: Sequence[str]) -> Integers:
    """int64 [raw + published]: equal numbers for equal values in these columns."""
    columns = [np.concatenate([getattr(original, name), getattr(release.points, name)]) for name in names]
    return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].ravel().astype(np.int64)
