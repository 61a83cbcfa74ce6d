"""The texts of the second verdict on a report, from the public function."""

from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.report.words.numbers import meters
from shoal.utility import Facts
from shoal.utility.usefulness import usefulness_of


def usefulness_texts(original: Trajectories, release: Release, linkage: Linkage) -> dict[str, list[str]]:
    """Every text of the section by its mark."""
    useful = usefulness_of(Facts(original, release, linkage), least_people=10)
    return {
        "usefulness": [useful.summary],
        "usefulness-precision": [useful.precision],
        "usefulness-reason[]": [verdict.reason for verdict in useful.verdicts],
        "way[]": [way.words for way in useful.ways_out],
        "way-option[]": [way.option for way in useful.ways_out],
        "usefulness-zone": [meters(useful.zone_m)],
    }
