"""A release in memory against its claim: one row for each type of claim, and the leaks that need no file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.argument_checks import require_linkage, require_release, require_trajectories
from shoal.model.claims import (
    Blurred,
    Claim,
    KAnonymity,
    KDeltaAnonymity,
    KteAnonymity,
    LocationPrivacy,
    TrajectoryPrivacy,
)
from shoal.model.names import Pseudonyms
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Population, Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.runtime.run import Run
from shoal.units import counted
from shoal.verification.boxes.blurred import examine_blurred
from shoal.verification.boxes.k_anonymity import (
    beyond_shares,
    examine_k_anonymity,
    faults_of_records,
    members_against_boxes,
)
from shoal.verification.boxes.kte import examine_kte_anonymity
from shoal.verification.boxes.records import Records
from shoal.verification.composition.candidates import (
    NONE_OF_BLUR,
    NONE_OF_PLACES,
    OF_CLASSES,
    OF_CO_LOCATION,
    OF_INTERVALS,
    OF_SWAP_SETS,
    Candidates,
)
from shoal.verification.examination import Examination
from shoal.verification.leaks.forms import among
from shoal.verification.leaks.glued import inside
from shoal.verification.leaks.known import RawIdentifiers
from shoal.verification.leaks.order import order_findings
from shoal.verification.linking import Links
from shoal.verification.points.co_location import examine_co_location
from shoal.verification.points.swapped import examine_location_privacy, examine_trajectory_privacy


@dataclass(frozen=True, kw_only=True)
class StreamedCheck:
    """What a check asks when records come in parts, all that are identical in one part.

    of_records: findings on (claim, records, release) alone. of_members: on (claim, raw data, records,
    release, links), and how many raw samples a box of their own subject's record covers. of_losses: on
    (claim, people, how many such samples of all, links).
    """

    of_records: Callable[[Any, Records, Release], Iterable[Finding]]
    of_members: Callable[[Any, Trajectories, Records, Release, Links], tuple[list[Finding], int]]
    of_losses: Callable[[Any, Population, int, Links], Iterable[Finding]]


@dataclass(frozen=True, kw_only=True)
class Check:
    """What the verifier knows of one type of claim; the functions take this type as their first argument.

    parts: what the claim consists of, keys of PARTS. examine: the check, of (claim, examination, run), which
    marks each part that it looked at; one that it did not mark is unchecked. candidates: who could be whom.
    streamed: the same check in little memory, None where it needs all records at once.
    """

    parts: tuple[str, ...]
    examine: Callable[[Any, Examination[Trajectories], Run], None]
    candidates: Candidates
    streamed: StreamedCheck | None


CHECKS: Final[dict[type[Claim], Check]] = {
    KAnonymity: Check(
        parts=("account", "subjects", "order", "classes", "own-samples", "lost-samples"),
        examine=examine_k_anonymity,
        candidates=OF_CLASSES,
        streamed=StreamedCheck(
            of_records=faults_of_records, of_members=members_against_boxes, of_losses=beyond_shares
        ),
    ),
    KteAnonymity: Check(
        parts=("account", "subjects", "order", "own-samples", "lost-samples", "candidates"),
        examine=examine_kte_anonymity,
        candidates=OF_INTERVALS,
        streamed=None,
    ),
    KDeltaAnonymity: Check(
        parts=("account", "subjects", "order", "near", "counts"),
        examine=examine_co_location,
        candidates=OF_CO_LOCATION,
        streamed=None,
    ),
    TrajectoryPrivacy: Check(
        parts=("account", "subjects", "order", "true-points", "swap-sets", "shuffle"),
        examine=examine_trajectory_privacy,
        candidates=OF_SWAP_SETS,
        streamed=None,
    ),
    LocationPrivacy: Check(
        parts=("account", "subjects", "order", "true-points", "own-times", "swap-sets", "shuffle", "paths"),
        examine=examine_location_privacy,
        candidates=NONE_OF_PLACES,
        streamed=None,
    ),
    Blurred: Check(
        parts=("account", "subjects", "order", "sizes", "own-samples", "lost-samples"),
        examine=examine_blurred,
        candidates=NONE_OF_BLUR,
        streamed=None,
    ),
}


def check_of(claim: Claim) -> Check:
    """The row of a claim; raises MisuseError where there is none, for no claim is checked by default."""
    if type(claim) not in CHECKS:
        raise MisuseError(f"no check is known for a claim of {claim.type}; give it a row in CHECKS")
    return CHECKS[type(claim)]


def require_payload(release: Release) -> None:
    """Raise MisuseError unless the release holds what its claim is about."""
    if release.claim.payload != release.kind:
        raise MisuseError(
            f"a claim of {release.claim.type} is about {release.claim.payload}, and this release holds "
            f"{release.kind}"
        )


def verify(
    original: Trajectories, release: Release, linkage: Linkage | None = None, *, run: Run | None = None
) -> Verdict:
    """Check a release against its claim, and for what its names, their order and its parameters give away.

    Parameters
    ----------
    original
        The raw data, read as the release says: snapped for boxes, as given for points.
    release
        What is to be checked. Nothing in its parameters bounds a check.
    linkage
        Who became which record. Without it, parts of every claim are unchecked, and the claim does not hold.
    run
        How to carry out the work; local and silent by default.

    Returns
    -------
    Verdict
        It holds when every part of the claim was checked and nothing was found. Parts that were not checked
        stand in its ``unchecked``.

    Raises
    ------
    MisuseError
        When the raw data is not snapped and the release holds boxes, or the other way round; or when the
        claim is about another kind of payload than the release holds.

    Examples
    --------
    >>> import shoal
    >>> rows = [("ann", 0, 3, 5), ("ben", 1, 4, 5), ("cho", 90, 0, 9), ("dee", 91, 0, 8)]
    >>> people = shoal.Trajectories.from_rows(*zip(*rows), grid=shoal.Grid())
    >>> release, linkage = shoal.Glove(k=2).anonymize(people, shoal.Randomness.from_system())
    >>> shoal.verify(people, release, linkage).holds
    True
    """
    return verdict_on(original, release, linkage, run=run or Run())


def verdict_on(
    original: Trajectories,
    release: Release,
    linkage: Linkage | None,
    *,
    run: Run,
    known: RawIdentifiers | None = None,
) -> Verdict:
    """The verdict of ``verify``; known: the raw identifiers, where others search for them, too."""
    require_trajectories(original)
    require_release(release)
    require_linkage(linkage)
    require_payload(release)
    check = check_of(release.claim)
    case = Examination(original, release, linkage, check.parts)
    known = known or RawIdentifiers.of(original)
    with run.alongside(partial(known.hashes_in, Pseudonyms.of(release.trajectory_ids))):
        check.examine(release.claim, case, run)
    find_telling_names(case, known)
    return case.verdict()


def find_telling_names(case: Examination[Any], known: RawIdentifiers | None = None) -> None:
    """Add what the records' names, their order and the parameters give away.

    The boxes or points of the release are not looked at. known: the raw identifiers; made where there are
    none.
    """
    original, release = case.original, case.release
    known = known or RawIdentifiers.of(original)
    pseudonyms = Pseudonyms.of(release.trajectory_ids)
    hashes = known.hashes_in(pseudonyms)
    case.notes.extend(hashes.notes())
    told = _telling_pseudonyms(known, pseudonyms) | hashes.names
    case.findings[:] = [
        replace(each, trajectory_id=None) if each.trajectory_id in told else each for each in case.findings
    ]
    if told:
        message = (
            f"{counted(len(told), 'pseudonym is or holds', 'pseudonyms are or hold')} a raw identifier, or "
            "a plain hash of one"
        )
        case.find([Finding("raw-identifier", message)])
    if case.links is not None:
        case.find(order_findings(original, case.links.subject_of, release.trajectory_ids))
        case.looked_at("order")
    case.find(
        Finding("seed", "a parameter names a seed; leave it out")  # its name may be a person's, too
        for _ in seeds_in(release.parameters)
    )


def seeds_in(settings: Mapping[str, Any]) -> Iterator[str]:
    """The names, at any depth, that speak of a seed."""
    for name, value in settings.items():
        if "seed" in name.casefold():
            yield name
        for inner in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(inner, Mapping):
                yield from seeds_in(inner)


def _telling_pseudonyms(known: RawIdentifiers, pseudonyms: Pseudonyms) -> frozenset[str]:
    """The pseudonyms that are or hold an identifier. They must not be shown."""
    strange = frozenset(pseudonyms.irregular.values())
    names = known.among(strange, strange)
    read_alike = np.flatnonzero(among(pseudonyms.regular, known.numbers))
    return frozenset(
        [
            *(name for name in strange if name in names.whole or names.in_text(name)),
            *Pseudonyms(pseudonyms.regular[read_alike]),
            *(pseudonyms[place] for place in inside(known.kinds, pseudonyms)),
        ]
    )
