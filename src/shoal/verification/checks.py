"""A release in memory against its claim.

Which check belongs to which claim, and the leaks that need no file.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from shoal.model.claims import (
    Claim,
    KAnonymity,
    KDeltaAnonymity,
    KteAnonymity,
    LocationPrivacy,
    TrajectoryPrivacy,
)
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Population, Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.verification.boxes.k_anonymity import check_k_anonymity
from shoal.verification.boxes.kte import check_kte_anonymity
from shoal.verification.leaks.identifiers import Names, hashes_among, raw_identifiers
from shoal.verification.leaks.order import order_findings
from shoal.verification.linking import links_of
from shoal.verification.points.co_location import check_company
from shoal.verification.points.swapped import check_location_privacy, check_trajectory_privacy

Check = Callable[
    [Trajectories, Any, Linkage | None], Verdict
]  # Any: boxes or points, as the claim's type says

CHECKS: Final[dict[type[Claim], Check]] = {
    KAnonymity: check_k_anonymity,
    KteAnonymity: check_kte_anonymity,
    KDeltaAnonymity: check_company,
    TrajectoryPrivacy: check_trajectory_privacy,
    LocationPrivacy: check_location_privacy,
}


def verify(original: Trajectories, release: Release, linkage: Linkage | None = None) -> Verdict:
    """The verdict on a release's claim, and on what its names, their order and its parameters give away.

    Without a linkage, what cannot be checked stands in the verdict's notes. Raises MisuseError when the raw
    data is not snapped and the release holds boxes, or the other way round.
    """
    return with_telling_names(
        CHECKS[type(release.claim)](original, release, linkage), original, release, linkage
    )


def with_telling_names(
    verdict: Verdict, original: Population, release: Release, linkage: Linkage | None
) -> Verdict:
    """The verdict on a claim, and what the names of the records, their order and the parameters give away.

    Boxes do not matter.
    """
    told = _telling_pseudonyms(original, release)
    findings = [
        replace(each, trajectory_id=None) if each.trajectory_id in told else each for each in verdict.findings
    ]
    if told:
        findings.append(
            Finding(
                "raw-identifier",
                f"{len(told)} pseudonyms are or hold a raw identifier, or a plain hash of one",
            )
        )
    if linkage is not None:
        findings += order_findings(
            original, links_of(original, release, linkage).subject_of, release.trajectory_ids
        )
    findings += [
        Finding("seed", f"the parameter '{name}' names a seed; leave it out")
        for name in seeds_in(release.parameters)
    ]
    return Verdict(tuple(findings), verdict.checked, verdict.notes)


def seeds_in(settings: Mapping[str, Any]) -> Iterator[str]:
    """The names, at any depth, that speak of a seed."""
    for name, value in settings.items():
        if "seed" in name.casefold():
            yield name
        for inner in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(inner, Mapping):
                yield from seeds_in(inner)


def _telling_pseudonyms(original: Population, release: Release) -> frozenset[str]:
    """The pseudonyms that give away an identifier. They must not be shown."""
    ids = raw_identifiers(original)
    names = Names.of(ids)
    hashed = hashes_among(ids, release.trajectory_ids)
    return frozenset(
        name
        for name in release.trajectory_ids
        if name in names.whole or name in hashed or names.in_text(name)
    )
