"""How much of the raw data is missing in a release, held against the shares that its claim allows."""

from collections.abc import Iterator

import numpy as np

from shoal.model.claims import KAnonymity
from shoal.model.omission import most_of
from shoal.model.release import Release
from shoal.model.trajectories import Population, Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags
from shoal.units import show_share
from shoal.verification.linking import Links


def beyond_shares(claim: KAnonymity, original: Population, covered: int, links: Links) -> Iterator[Finding]:
    """A finding when more samples, or more people, are missing than the claim allows.

    covered: the raw samples that a box of their own person's record holds.
    """
    for what, total, found in (
        ("raw samples", original.n_samples, covered),
        ("people", original.n_subjects, links.n_subjects_with_record),
    ):
        most = most_of(claim.missing_at_most, total)
        if total - found > most:
            message = f"{total - found} of {total} {what} are missing; the claim allows {most}"
            yield Finding("too-much-missing", message)


def beyond_own_share(
    claim: KAnonymity, original: Trajectories, covered: Flags, links: Links, release: Release
) -> Iterator[Finding]:
    """A finding for each record whose person misses more samples than the claim allows.

    covered: [samples] whether a box of the own record holds each.
    """
    if covered.all():
        return
    not_held = np.concatenate([[0], np.cumsum(~covered)])
    missing = np.diff(not_held[original.offsets])
    of_record = np.append(missing, 0)[links.subject_of]  # -1, nobody, misses nothing
    for record in np.flatnonzero(of_record).tolist():
        samples = int(original.lengths[links.subject_of[record]])
        if of_record[record] > most_of(claim.missing_of_one_at_most, samples):
            message = (
                f"more of this record's person is missing than {show_share(claim.missing_of_one_at_most)} of "
                "the samples, which the claim allows"
            )
            yield Finding("too-much-of-one-missing", message, release.trajectory_ids[record])
