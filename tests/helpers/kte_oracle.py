"""k^(tau,epsilon)-anonymity by brute force.

Every interval that begins at any slot, every record, in plain Python.
"""

from dataclasses import dataclass
from itertools import combinations

from damages import Box, rows_of, subject_positions
from naive_release import Sample, samples_of
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories


def lies_in(sample: Sample, box: Box) -> bool:
    t, x, y = sample
    return box[0] <= t < box[1] and box[2] <= x < box[4] and box[3] <= y < box[5]


def covers(record: list[Box], sample: Sample) -> bool:
    return any(lies_in(sample, box) for box in record)


def is_candidate(record: list[Box], known: list[Sample], start: int, tau: int) -> bool:
    """Whether a record holds all that is known, and no box inside the interval where nothing is known."""
    inside = [box for box in record if start <= box[0] and box[1] <= start + tau]
    return all(covers(record, sample) for sample in known) and all(
        any(lies_in(sample, box) for sample in known) for box in inside
    )


@dataclass(frozen=True)
class Shortfalls:
    """Sets of samples with too few candidates; with suppressed samples and too few covers.

    With them and too few strict candidates. first_start, first_cover: the first interval of each subject with
    too few candidates, or covers; fitting: how many candidates it has there.
    """

    candidates: set[tuple[int, tuple[Sample, ...]]]
    covers: set[tuple[int, tuple[Sample, ...]]]
    strict: set[tuple[int, tuple[Sample, ...]]]
    first_start: dict[int, int]
    first_cover: dict[int, int]
    fitting: dict[int, int]


def shortfalls(original: Trajectories, release: Release, linkage: Linkage, tau: int) -> Shortfalls:
    """Ask every interval of every linked subject."""
    records, k = rows_of(release), release.claim.k
    found = Shortfalls(set(), set(), set(), {}, {}, {})
    for own, subject in zip(records, subject_positions(original, release, linkage), strict=True):
        samples = samples_of(original, subject)
        for start in range(samples[0][0] - tau, samples[-1][0] + 2):
            known = [sample for sample in samples if start <= sample[0] < start + tau]
            kept = [sample for sample in known if covers(own, sample)]
            key = (subject, tuple(known))
            if not kept:
                continue
            fitting = sum(is_candidate(record, kept, start, tau) for record in records)
            if len(kept) == len(known) and fitting < k:
                found.candidates.add(key)
                found.first_start.setdefault(subject, start)
                found.fitting.setdefault(subject, fitting)
            if len(kept) < len(known) and fitting < k:
                found.strict.add(key)
                if sum(all(covers(record, sample) for sample in kept) for record in records) < k:
                    found.covers.add(key)
                    found.first_cover.setdefault(subject, start)
    return found


def leaked(original: Trajectories, release: Release, linkage: Linkage, tau: int) -> list[int]:
    """How far all candidates go on together, from every interval that begins and ends with a sample.

    Intervals with suppressed samples do not count.
    """
    records, far = rows_of(release), []
    for own, subject in zip(records, subject_positions(original, release, linkage), strict=True):
        samples = samples_of(original, subject)
        for t, _, _ in samples:
            for start, following in ((t, True), (t + 1 - tau, False)):
                known = [sample for sample in samples if start <= sample[0] < start + tau]
                crowd = [record for record in records if is_candidate(record, known, start, tau)]
                if not crowd or not all(covers(own, sample) for sample in known):
                    continue
                beyond = (
                    [s for s in samples if s[0] >= start + tau]
                    if following
                    else [s for s in samples if s[0] < start][::-1]
                )
                reached = 0
                for sample in beyond:
                    if not all(covers(record, sample) for record in crowd):
                        break
                    reached = sample[0] + 1 - start - tau if following else start - sample[0]
                far.append(reached)
    return far


def chances(
    original: Trajectories, release: Release, linkage: Linkage, tau: int, epsilon: int
) -> list[float]:
    """For the same intervals: how probably other records nearby hold the first sample past epsilon."""
    records, found = rows_of(release), []
    for own, subject in zip(records, subject_positions(original, release, linkage), strict=True):
        samples = samples_of(original, subject)
        for t, _, _ in samples:
            for start, following in ((t, True), (t + 1 - tau, False)):
                known = [sample for sample in samples if start <= sample[0] < start + tau]
                crowd = [record for record in records if is_candidate(record, known, start, tau)]
                if not crowd or not all(covers(own, sample) for sample in known):
                    continue
                near = [
                    record
                    for record in records
                    if covers(record, known[0]) and not is_candidate(record, known, start, tau)
                ]
                later, earlier = (
                    [s for s in samples if s[0] >= start + tau + epsilon],
                    [s for s in samples if s[0] < start - epsilon],
                )
                beyond = (later[:1] if following else earlier[-1:]) or None
                draws = [] if beyond is None else list(combinations(near, len(crowd) - 1))
                held = (
                    sum(all(covers(record, beyond[0]) for record in draw) for draw in draws) if beyond else 0
                )
                found.append(held / len(draws) if draws else 0.0)
    return found


def with_lasting_hiders(
    original: Trajectories, release: Release, linkage: Linkage, tau: int, epsilon: int
) -> set[str]:
    """Records whose subject has some intervals, epsilon apart, with fewer records than they need (Hall)."""
    records, k = rows_of(release), release.claim.k
    window, lasting = tau - 1 + epsilon, set()
    for row, subject in enumerate(subject_positions(original, release, linkage)):
        samples = samples_of(original, subject)
        known = [sample for sample in samples if covers(records[row], sample)]
        starts: list[int] = []
        for t, *_ in known:
            if not starts or (t >= starts[-1] + epsilon and starts[-1] + window <= samples[-1][0]):
                starts.append(t)
        fitting = []
        for start in starts:
            here = [sample for sample in known if start <= sample[0] < start + tau]
            is_whole = len(here) == sum(start <= sample[0] < start + tau for sample in samples)
            fitting.append(
                {
                    other
                    for other, record in enumerate(records)
                    if other != row
                    and all(covers(record, sample) for sample in here)
                    and (not is_whole or is_candidate(record, here, start, tau))
                }
            )
        if any(
            len(set.union(*some)) < sum(min(k - 1, len(one)) for one in some)
            for size in range(1, len(fitting) + 1)
            for some in combinations(fitting, size)
        ):
            lasting.add(release.trajectory_ids[row])
    return lasting
