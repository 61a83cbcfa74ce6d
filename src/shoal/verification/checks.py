"""CHECKS, the check of each type of claim."""

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
from shoal.model.population import Population
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.runtime.argument_types import typed
from shoal.runtime.run import Run
from shoal.units import counted
from shoal.verification.boxes.blurred import examine_blurred
from shoal.verification.boxes.k_anonymity import (
    check_members,
    examine_k_anonymity,
    record_faults,
    too_much_missing,
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
from shoal.verification.leaks.derived_names import derived_names
from shoal.verification.leaks.forms import is_among
from shoal.verification.leaks.glued import find_glued
from shoal.verification.leaks.look_alikes import look_alikes
from shoal.verification.leaks.order import order_findings
from shoal.verification.leaks.raw_identifiers import RawIdentifiers
from shoal.verification.linking import Links
from shoal.verification.points.co_location import examine_co_location
from shoal.verification.points.swapped import examine_location_privacy, examine_trajectory_privacy


@dataclass(frozen=True, kw_only=True)
class StreamedCheck:
    """A check of records in parts; identical records share a part."""

    of_records: Callable[[Any, Records, Release], Iterable[Finding]]
    of_members: Callable[[Any, Trajectories, Records, Release, Links], tuple[list[Finding], int]]
    of_losses: Callable[[Any, Population, int, Links], Iterable[Finding]]


@dataclass(frozen=True, kw_only=True)
class Check:
    """How one type of claim is checked."""

    parts: tuple[str, ...]  # what the claim consists of, keys of PARTS
    examine: Callable[[Any, Examination[Trajectories], Run], None]  # marks each part that it checked
    candidates: Candidates  # who could be whom
    streamed: StreamedCheck | None = None  # the check in parts, None where it needs all records

    def parts_of(self, claim: Claim) -> tuple[str, ...]:
        """The parts of this claim; boxes that need not be truthful, or diverse, are not checked for that."""
        unsaid = {"own-samples": not claim.truthful, "diverse-places": claim.diverse_places == 1}
        return tuple(part for part in self.parts if not unsaid.get(part))


CHECKS: Final[dict[type[Claim], Check]] = {
    KAnonymity: Check(
        parts=("account", "subjects", "order", "classes", "own-samples", "lost-samples", "diverse-places"),
        examine=examine_k_anonymity,
        candidates=OF_CLASSES,
        streamed=StreamedCheck(
            of_records=record_faults, of_members=check_members, of_losses=too_much_missing
        ),
    ),
    KteAnonymity: Check(
        parts=("account", "subjects", "order", "own-samples", "lost-samples", "candidates", "hiders"),
        examine=examine_kte_anonymity,
        candidates=OF_INTERVALS,
    ),
    KDeltaAnonymity: Check(
        parts=("account", "subjects", "order", "near", "counts"),
        examine=examine_co_location,
        candidates=OF_CO_LOCATION,
    ),
    TrajectoryPrivacy: Check(
        parts=("account", "subjects", "order", "true-points", "swap-sets", "shuffle"),
        examine=examine_trajectory_privacy,
        candidates=OF_SWAP_SETS,
    ),
    LocationPrivacy: Check(
        parts=("account", "subjects", "order", "true-points", "own-times", "swap-sets", "shuffle", "paths"),
        examine=examine_location_privacy,
        candidates=NONE_OF_PLACES,
    ),
    Blurred: Check(
        parts=("account", "subjects", "order", "sizes", "own-samples", "lost-samples"),
        examine=examine_blurred,
        candidates=NONE_OF_BLUR,
    ),
}


def find_check(claim: Claim) -> Check:
    """The row of a claim; raises MisuseError without one."""
    if type(claim) not in CHECKS:
        raise MisuseError(f"no check is known for a claim of {claim.type}; give it a row in CHECKS")
    return CHECKS[type(claim)]


def require_payload(release: Release) -> None:
    """Raise MisuseError unless the release has its claim's kind of payload."""
    if release.claim.payload != release.kind:
        raise MisuseError(
            f"a claim of {release.claim.type} is about {release.claim.payload}, and this release holds "
            f"{release.kind}"
        )


@typed
def verify(
    original: Trajectories, release: Release, linkage: Linkage | None = None, *, run: Run | None = None
) -> Verdict:
    """Check a release against its claim, and whether names, order or parameters identify people.

    Parameters
    ----------
    original
        The raw data, read as the release says: snapped for boxes, as given for points.
    release
        The release to check. No parameter of it bounds a check.
    linkage
        Who became which record. Without it, parts of every claim are unchecked, and the claim does not hold.
    run
        How to carry out the work; local and silent by default.

    Returns
    -------
    Verdict
        It holds when every part of the claim was checked and there are no findings.

    Raises
    ------
    MisuseError
        When the raw data is not snapped and the release holds boxes, or the other way round; or when the
        claim is about another kind of payload.

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
    raw_identifiers: RawIdentifiers | None = None,
) -> Verdict:
    """The verdict of ``verify``; raw_identifiers: where the caller searches too."""
    require_trajectories(original)
    require_release(release)
    require_linkage(linkage)
    require_payload(release)
    check = find_check(release.claim)
    case = Examination(original, release, linkage, check.parts_of(release.claim))
    raw_identifiers = raw_identifiers or RawIdentifiers.of(original)
    with run.alongside(partial(raw_identifiers.hashes_in, Pseudonyms.of(release.trajectory_ids))):
        check.examine(release.claim, case, run)
    check_names(case, raw_identifiers)
    return case.verdict()


def check_names(case: Examination[Any], raw_identifiers: RawIdentifiers | None = None) -> None:
    """Add findings on names, order and parameters."""
    original, release = case.original, case.release
    raw_identifiers = raw_identifiers or RawIdentifiers.of(original)
    pseudonyms = Pseudonyms.of(release.trajectory_ids)
    hashes = raw_identifiers.hashes_in(pseudonyms)
    case.notes.extend(hashes.notes())
    names_to_hide = _identifying_pseudonyms(raw_identifiers, pseudonyms) | hashes.names
    case.findings[:] = [
        replace(finding, trajectory_id=None) if finding.trajectory_id in names_to_hide else finding
        for finding in case.findings
    ]
    if names_to_hide:
        subject = counted(len(names_to_hide), "pseudonym is or holds", "pseudonyms are or hold")
        message = f"{subject} a raw identifier, or a plain hash of one"
        case.add([Finding("raw-identifier", message)])
    findings, notes = look_alikes(original, release.reading)
    case.add(findings)
    case.notes.extend(notes)
    if case.links is not None:
        case.add(order_findings(original, case.links.subject_of, release.trajectory_ids))
        case.add(derived_names(original.ids, case.links.subject_of, pseudonyms))
        case.mark_checked("order")
    case.add(
        Finding("seed", "a parameter names a seed; leave it out")  # its name may be a person's, too
        for _ in seed_names(release.parameters)
    )


def seed_names(settings: Mapping[str, Any]) -> Iterator[str]:
    """Names of settings, at any depth, with "seed"."""
    for name, value in settings.items():
        if "seed" in name.casefold():
            yield name
        for inner in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(inner, Mapping):
                yield from seed_names(inner)


def _identifying_pseudonyms(raw_identifiers: RawIdentifiers, pseudonyms: Pseudonyms) -> frozenset[str]:
    """They must not be shown."""
    strange = frozenset(pseudonyms.irregular.values())
    names = raw_identifiers.relevant_names(strange, strange)
    read_alike = np.flatnonzero(is_among(pseudonyms.regular, raw_identifiers.numbers))
    return frozenset(
        [
            *(name for name in strange if name in names.whole or names.in_text(name)),
            *Pseudonyms(pseudonyms.regular[read_alike]),
            *(pseudonyms[place] for place in find_glued(raw_identifiers.kinds, pseudonyms)),
        ]
    )
