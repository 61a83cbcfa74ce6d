"""The table of attacks; no other module names one."""

from typing import Final

from shoal.attacks.adversary import Adversary, count, offset_s, require_complete
from shoal.attacks.clusters import attack_cluster
from shoal.attacks.downcoding import attack_downcoding
from shoal.attacks.exact import attack_nearest, attack_times, attack_triples
from shoal.attacks.her_place import attack_her_place
from shoal.attacks.home_work import attack_home_work
from shoal.attacks.insider import attack_insider, colluding
from shoal.attacks.membership import attack_membership
from shoal.attacks.partner import attack_partner
from shoal.attacks.places import attack_period, attack_top
from shoal.attacks.points import attack_attribution, attack_noisy, attack_points
from shoal.attacks.series import attack_series
from shoal.attacks.shared_places import attack_shared_place
from shoal.attacks.tau_knowledge import attack_tau
from shoal.attacks.track import attack_track
from shoal.model.claims import KAnonymity, KDeltaAnonymity, KteAnonymity, LocationPrivacy, TrajectoryPrivacy
from shoal.runtime.registry import Registry, RowKind
from shoal.units import duration_s, length_m

# what several rates count, where Adversary.wins has no better than its own words
_ALONE: Final = "singles out {rate} of the people, whose record alone fits"
_BEST: Final = "singles out {rate} of the people, whose record fits better than any other"
_ELSEWHERE: Final = "says rightly where else {rate} of the people were"

_ROWS: Final = (
    Adversary(
        name="points",
        form="points:P",
        example="points:4",
        sentence="Knows some exact times and places of a person, and looks for the record that fits.",
        words="P exact random samples, 1 to 10",
        source="de Montjoye et al. 2013",
        answers={"unicity": "single out", "linkage": "link"},
        wins={"unicity": _ALONE},
        evaluate=attack_points,
        parameters=(count(10),),
        default=("1", "2", "4", "10"),
        record=("4",),
        joins_releases=True,
    ),
    Adversary(
        name="top",
        form="top:N",
        example="top:2",
        sentence="Knows the places where a person is most often, such as home and work, and looks for the "
        "record that fits.",
        words="the N most visited cells, 1 to 5",
        source="Zang and Bolot 2011",
        answers={"top-locations": "link", "top-anonymity-set": "link"},
        evaluate=attack_top,
        parameters=(count(5),),
        default=("2",),
        record=("2",),
        asks_places=True,
        joins_releases=True,
    ),
    Adversary(
        name="noisy",
        form="noisy:P:500m:30min",
        example="noisy:4:500m:30min",
        sentence="Knows some times and places of a person roughly, from memory or photos, and looks for the "
        "record that fits.",
        words="P samples with Gaussian errors of 500 m and 30 min",
        source="shoal: points:P with errors of measurement",
        answers={"noisy-linkage": "link"},
        evaluate=attack_noisy,
        parameters=(count(10), length_m, duration_s),
        default=("4:500m:30min",),
        joins_releases=True,
    ),
    Adversary(
        name="period",
        form="period[:3d]",
        example="period:3d",
        sentence="Has earlier data of the same people under their names, and compares habits.",
        words="everything before 3 days after the start, or before the middle",
        source="shoal: linkage of two periods by the places visited",
        answers={"period-linkage": "link"},
        evaluate=attack_period,
        parameters=(duration_s,),
        optional=1,
        default=("",),
        asks_places=True,
    ),
    Adversary(
        name="home-work",
        form="home-work[:+8h]",
        example="home-work:+8h",
        sentence="Knows which record is whose, and reads off where that person lives and works.",
        words="which record it is, to find home and work at UTC + 8 h, or by the zone of the data, else UTC",
        source="shoal: home and work by their hours",
        uses="own record",
        answers={"home": "infer", "work": "infer"},
        wins={
            "home": "finds the home of {rate} of the people",
            "work": "finds the workplace of {rate} of the people",
        },
        evaluate=attack_home_work,
        parameters=(offset_s,),
        optional=1,
        default=("",),
        record=("",),
        joins_releases=True,
    ),
    Adversary(
        name="attribution",
        form="attribution:P",
        example="attribution:2",
        sentence="Knows some exact times and places of a person, finds the record, and learns where else the "
        "person was.",
        words="P exact samples, to learn another one",
        source="shoal: attribute inference after linkage by points:P",
        answers={"attribution": "infer"},
        wins={"attribution": _ELSEWHERE},
        apart_on={"attribution": "boxes"},
        evaluate=attack_attribution,
        parameters=(count(10),),
        default=("2",),
        record=("2",),
    ),
    Adversary(
        name="her-place",
        form="her-place:P[:500m:30min]",
        example="her-place:4:500m:30min",
        sentence="Knows some times and places of a person, finds the record, and reads off its areas "
        "exactly where else the person was.",
        words="P samples, exact or with Gaussian errors of 500 m and 30 min, to name places to the cell",
        source="shoal: places by the sides of all boxes, after linkage by points:P",
        answers={"her-place": "infer", "noisy-place": "infer"},
        wins={
            "her-place": "says exactly where the person was for {rate} of the areas",
            "noisy-place": "says exactly where the person was at {rate} of the times that are known roughly",
        },
        evaluate=attack_her_place,
        parameters=(count(10), length_m, duration_s),
        optional=2,
        payloads=("boxes",),
        default=("4",),
        record=("4",),
        claims=(KAnonymity, KteAnonymity),
    ),
    Adversary(
        name="tau",
        form="tau:30min[:W]",
        example="tau:30min:2",
        sentence="Followed a person without a gap for some time, and looks for the record that fits.",
        words="everything during 30 min without a gap, in one or W windows of time",
        source="Gramaglia et al. 2017, Sec. II-B",
        answers={"unicity": "single out", "linkage": "link", "attribution": "infer"},
        wins={"unicity": _ALONE, "attribution": _ELSEWHERE},
        apart_on={"attribution": "boxes"},
        evaluate=attack_tau,
        parameters=(duration_s, count(10)),
        optional=1,
        default=("{claim.tau_s:g}s", "{claim.tau_s:g}s:2"),
        record=("{claim.tau_s:g}s",),
        claims=(KteAnonymity,),
    ),
    Adversary(
        name="triples",
        form="triples:P",
        example="triples:4",
        sentence="Knows some times and places of a person to the last digit, and looks for the record that "
        "shows them.",
        words="P times and places to the last digit",
        source="Domingo-Ferrer and Trujillo-Rasua 2012, Sec. 3.3",
        answers={"triples-unicity": "single out", "triples-linkage": "link", "triples-disclosure": "infer"},
        wins={"triples-unicity": _BEST, "triples-disclosure": _ELSEWHERE},
        evaluate=attack_triples,
        parameters=(count(10),),
        payloads=("points",),
        default=("1", "2", "4"),
        record=("4",),
        same_knowledge_as="points",
    ),
    Adversary(
        name="times",
        form="times:P",
        example="times:4",
        sentence="Knows some times of a person to the last digit, as from a bill, and looks for the record "
        "that shows them.",
        words="P times to the last digit",
        source="Domingo-Ferrer and Trujillo-Rasua 2012, Example 3",
        answers={"times-unicity": "single out", "times-linkage": "link", "times-disclosure": "infer"},
        wins={"times-unicity": _BEST, "times-disclosure": _ELSEWHERE},
        evaluate=attack_times,
        parameters=(count(10),),
        payloads=("points",),
        default=("1", "2", "4"),
        record=("4",),
    ),
    Adversary(
        name="nearest",
        form="nearest:P",
        example="nearest:4",
        sentence="Knows some exact times and places of a person, and picks the record that passes nearest.",
        words="P true points, to name the record that passes nearest",
        source="Trujillo-Rasua and Domingo-Ferrer 2013",
        answers={"nearest-linkage": "link"},
        evaluate=attack_nearest,
        parameters=(count(10),),
        payloads=("points",),
        default=("1", "2", "4"),
        record=("4",),
        claims=(KDeltaAnonymity, TrajectoryPrivacy, LocationPrivacy),
        same_knowledge_as="points",
    ),
    Adversary(
        name="track",
        form="track[:P]",
        example="track:4",
        sentence="Follows points by how people move, and joins exchanged paths again.",
        words="1 or P times and places to the last digit, and how bodies move",
        source="Gruteser and Hoh 2005; Hoh and Gruteser 2005",
        answers={"track-whole": "single out", "track-rejoined": "link", "track-disclosure": "infer"},
        wins={
            "track-whole": "puts the whole path of {rate} of the people together",
            "track-rejoined": "puts {rate} of a person's points together again",
            "track-disclosure": _ELSEWHERE,
        },
        evaluate=attack_track,
        parameters=(count(10),),
        optional=1,
        payloads=("points",),
        default=("", "4"),
        record=("4",),
        claims=(TrajectoryPrivacy, LocationPrivacy),
    ),
    Adversary(
        name="cluster",
        form="cluster[:N]",
        example="cluster:2",
        sentence="Finds records that were mixed with each other, and in them points of a person whose usual "
        "places it knows.",
        words="nothing, to find records that were mixed, or the N most visited places, 1 to 5",
        source="shoal: records that share swap sets are alike in length, times and places",
        uses="release alone",
        answers={"cluster-pairs": "link", "cluster-points": "infer", "cluster-away": "infer"},
        wins={
            "cluster-pairs": "names another that was mixed with it for {rate} of the records",
            "cluster-points": "is right about {rate} of the points at known places that it calls a person's",
            "cluster-away": _ELSEWHERE,
        },
        apart_on={"cluster-pairs": "points"},
        evaluate=attack_cluster,
        parameters=(count(5),),
        optional=1,
        payloads=("points",),
        default=("", "2"),
        record=("", "2"),
        claims=(TrajectoryPrivacy,),
    ),
    Adversary(
        name="insider",
        form="insider[:COLLUDING]",
        example="insider:4",
        sentence="Is in the data too, alone or with accomplices, and takes away what they know of themselves "
        "from the record that they share with others.",
        words="the raw samples of one who shares the boxes, of COLLUDING or of all others",
        source="shoal: subtraction of the own samples from the hulls of a class",
        uses="own record",
        answers={"insider-exact": "infer", "insider-place": "infer", "insider-samples": "infer"},
        wins={
            "insider-exact": "says exactly where and when another person was for {rate} of the areas",
            "insider-place": "says exactly where another person was for {rate} of the areas",
            "insider-samples": "finds {rate} of another person's places and times exactly",
        },
        evaluate=attack_insider,
        parameters=(colluding,),
        optional=1,
        payloads=("boxes",),
        default=("", "all"),
        record=("", "all"),
        claims=(KAnonymity, KteAnonymity),
    ),
    Adversary(
        name="partner",
        form="partner[:COLLUDING]",
        example="partner:2",
        sentence="Is in the data too and was mixed with the person, alone or with accomplices, and takes "
        "their own points away from what the records show.",
        words="the raw points of one who was mixed with the person, of COLLUDING or of all others",
        source="shoal: subtraction of the own points from those that were mixed",
        uses="own record",
        answers={"partner-exact": "infer", "partner-points": "infer"},
        wins={
            "partner-exact": "is right in {rate} of what it says of the person's places and times",
            "partner-points": "finds {rate} of the person's places and times exactly",
        },
        evaluate=attack_partner,
        parameters=(colluding,),
        optional=1,
        payloads=("points",),
        default=("", "all"),
        record=("", "all"),
        claims=(KDeltaAnonymity, TrajectoryPrivacy, LocationPrivacy),
        same_knowledge_as="insider",
    ),
    Adversary(
        name="downcoding",
        sentence="Has nothing but the release, and reads true places off the edges of its areas.",
        words="nothing, to find samples by the sides of boxes",
        source="Cohen 2021",
        uses="release alone",
        answers={"downcoding-exact": "infer", "downcoding-place": "infer"},
        wins={
            "downcoding-exact": "says exactly where and when somebody was for {rate} of the areas",
            "downcoding-place": "says exactly where somebody was for {rate} of the areas",
        },
        evaluate=attack_downcoding,
        payloads=("boxes",),
        default=("",),
        record=("",),
        claims=(KAnonymity, KteAnonymity),
    ),
    Adversary(
        name="series",
        sentence="Has an earlier release of the same people, and looks for the same person in both.",
        words="nothing but an earlier release of the same people, given with --earlier",
        source="series of releases, arXiv 2510.24807",
        uses="release alone",
        answers={"series-linkage": "link", "series-class": "link"},
        wins={
            "series-linkage": "finds the other record of {rate} of the people",
            "series-class": "finds the other crowd of {rate} of the people",
        },
        evaluate=attack_series,
        default=("",),
        record=("",),
        series=True,
    ),
    Adversary(
        name="membership",
        form="membership:P",
        example="membership:4",
        sentence="Knows some exact times and places of a person, and wants to know whether that person is in "
        "the data at all.",
        words="P exact random samples of somebody who may not be in the data",
        source="table linkage, survey of Fiore et al. (arXiv 1903.12211)",
        answers={"membership": "infer"},
        wins={"membership": "is right about {rate} of the people"},
        evaluate=attack_membership,
        parameters=(count(10),),
        default=("4",),
        record=("4",),
    ),
    Adversary(
        name="shared-place",
        sentence="Knows which record is whose, and names a sensitive place that all people with such a "
        "record were near.",
        words="a list of sensitive places, given with --sensitive",
        source="homogeneity, Machanavajjhala et al. 2006",
        uses="own record",
        answers={"shared-place": "infer"},
        wins={"shared-place": "says rightly which sensitive place {rate} of the people were near"},
        evaluate=attack_shared_place,
        payloads=("boxes",),
        default=("",),
        record=("",),
        claims=(KAnonymity,),
        sensitive=True,
    ),
)

ATTACKS: Final[Registry[Adversary]] = Registry(
    RowKind(word="attack", name_of=lambda row: row.name, check=require_complete), _ROWS
)


def register_attack(row: Adversary, *, replace: bool = False) -> Adversary:
    """Add an attack, for ``--knowledge``, ``attack``, the reports of releases and comparisons.

    Parameters
    ----------
    row
        The attack with its words.
    replace
        Take the place of an attack that was registered before under this name.

    Returns
    -------
    Adversary
        The same row.

    Raises
    ------
    MisuseError
        When the row is incomplete, or its name is taken.
    """
    ATTACKS.register(row, replace=replace)
    return row
