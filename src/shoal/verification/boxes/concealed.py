"""Whether each of k records could be a person's own: k-concealment, from raw data, release and linkage.

A record holds a person when its boxes cover all published samples of the person and each has one of them. An
adversary who knows all raw data pairs everybody with one record that holds them. A record that stands in no
such pairing for a person is ruled out, so it does not count (Tassa, Mazza and Gionis 2012). The linkage is
one pairing. Another record is in some pairing with a person exactly when a circle leads back from its owner:
each takes over the record of the next who holds them. So both lie in one strong component.
"""

from collections.abc import Iterator

import numpy as np

from shoal.model.claims import KteAnonymity
from shoal.model.release import Release
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled
from shoal.units import counted
from shoal.verification.boxes.classes import Records
from shoal.verification.boxes.kte_loops import Raw
from shoal.verification.linking import Links


def not_concealed(
    claim: KteAnonymity, raw: Raw, records: Records, release: Release, links: Links
) -> Iterator[Finding]:
    """Linked records whose person fewer than k records could be of."""
    linked = np.flatnonzero(links.subject_of >= 0)
    people = links.subject_of[linked]
    starts = np.zeros(len(linked) + 1, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int64)
    find_holders(raw, records.boxes, records.offsets, linked, people, starts, nothing)
    starts = np.concatenate([[0], np.cumsum(starts[:-1])]).astype(np.int64)
    holders = np.empty(starts[-1], dtype=np.int64)
    find_holders(raw, records.boxes, records.offsets, linked, people, starts, holders)
    person = np.repeat(np.arange(len(linked)), np.diff(starts))
    circle = np.full(len(linked), -1, dtype=np.int64)
    find_circles(starts, holders, circle)
    could_be = np.bincount(person[circle[person] == circle[holders]], minlength=len(linked))
    for row in np.flatnonzero(could_be < claim.k).tolist():
        message = (
            f"{counted(could_be[row], 'record')} could be the own one of this record's person, to whoever "
            f"knows all raw data; expected at least {claim.k}"
        )
        yield Finding("too-few-owners", message, release.trajectory_ids[linked[row]])


@compiled
def find_holders(
    raw: Raw,
    boxes: Numbers,
    offsets: Integers,
    linked: Integers,
    people: Integers,
    starts: Integers,
    holders: Integers,
) -> None:
    """For each person the positions in ``linked`` of the records that hold it.

    Without room in ``holders`` their numbers are counted into ``starts``; else those of person i are written
    from starts[i] on.
    """
    for i in range(len(people)):
        found = 0
        for j in range(len(linked)):
            if _holds(raw, people[i], boxes, offsets[linked[j]], offsets[linked[j] + 1]):
                if len(holders):
                    holders[starts[i] + found] = j
                found += 1
        if not len(holders):
            starts[i] = found


@compiled
def find_circles(starts: Integers, holders: Integers, circle: Integers) -> None:
    """Number the strong components of ties that lead from i to holders[starts[i]:starts[i + 1]].

    Tarjan 1972. circle: [n], -1 at first.
    """
    n = len(circle)
    reached = np.full(n, -1, dtype=np.int64)  # when a place was reached first
    lowest = np.zeros(n, dtype=np.int64)  # the first place, of those without a circle, that it leads to
    turn = starts[:-1].copy()
    waiting = np.empty(n, dtype=np.int64)
    path = np.empty(n, dtype=np.int64)
    n_waiting = 0
    clock = 0
    circles = 0
    for root in range(n):
        if circle[root] >= 0:
            continue
        path[0] = root
        depth = 1
        while depth:
            at = path[depth - 1]
            if reached[at] < 0:
                reached[at] = lowest[at] = clock
                clock += 1
                waiting[n_waiting] = at
                n_waiting += 1
            deeper = False
            while turn[at] < starts[at + 1]:
                onto = holders[turn[at]]
                if reached[onto] < 0:
                    path[depth] = onto
                    depth += 1
                    deeper = True
                    break
                if circle[onto] < 0:
                    lowest[at] = min(lowest[at], lowest[onto])
                turn[at] += 1
            if deeper:
                continue
            depth -= 1
            if lowest[at] < reached[at]:
                continue
            while True:
                n_waiting -= 1
                circle[waiting[n_waiting]] = circles
                if waiting[n_waiting] == at:
                    break
            circles += 1


@compiled
def _holds(raw: Raw, person: int, boxes: Numbers, first: int, end: int) -> bool:
    """Whether the boxes, in the order of time, hold all published samples of a person, and one in each."""
    b = first
    met = False
    any_published = False
    for i in range(raw.offsets[person], raw.offsets[person + 1]):
        if not raw.covered[i]:
            continue
        any_published = True
        while b < end and boxes[b, 1] <= raw.t[i]:
            if not met:
                return False
            b += 1
            met = False
        if b == end or raw.t[i] < boxes[b, 0]:
            return False
        inside = boxes[b, 2] <= raw.x[i] < boxes[b, 4] and boxes[b, 3] <= raw.y[i] < boxes[b, 5]
        if not inside:
            return False
        met = True
    return any_published and met and b == end - 1
