"""The check of a release's claim alone, without what its names and their order give away."""

from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.runtime.run import Run
from shoal.verification.checks import find_check
from shoal.verification.examination import Examination


def verdict_on_claim(original: Trajectories, release: Release, linkage: Linkage | None) -> Verdict:
    """The verdict of the claim's check; the order of the records counts as looked at with a linkage."""
    check = find_check(release.claim)
    case = Examination(original, release, linkage, check.parts_of(release.claim))
    check.examine(release.claim, case, Run())
    if linkage is not None:
        case.mark_checked("order")
    return case.verdict()
