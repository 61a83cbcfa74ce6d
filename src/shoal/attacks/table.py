"""The table of attacks: one row each, and nothing else in the project has to know one by name.

From these rows follow what ``--knowledge`` accepts and its help, what is evaluated by default, what the
record of a release asks, and what comparisons ask of releases of points. To add an attack, write its function
in a file of this package and add a row here. The order of rows is that of defaults and of help texts.
"""

from typing import Final

from shoal.attacks.adversary import Adversary, count, offset_s
from shoal.attacks.exact import attack_times, attack_triples
from shoal.attacks.home_work import attack_home_work
from shoal.attacks.nearest import attack_nearest
from shoal.attacks.noisy import attack_noisy
from shoal.attacks.places import attack_period, attack_top
from shoal.attacks.points import attack_attribution, attack_points
from shoal.attacks.tau_knowledge import attack_tau
from shoal.model.claims import KDeltaAnonymity, KteAnonymity
from shoal.units import duration_s, length_m

_ROWS: Final = (
    Adversary(
        name="points",
        form="points:P",
        example="points:4",
        words="P exact random samples, 1 to 10",
        source="de Montjoye et al. 2013",
        uses="raw data",
        answers={"unicity": "single out", "linkage": "link"},
        evaluate=attack_points,
        parameters=(count(10),),
        default=("1", "2", "4"),
        record=("4",),
    ),
    Adversary(
        name="top",
        form="top:N",
        example="top:2",
        words="the N most visited cells, 1 to 5",
        source="Zang and Bolot 2011",
        uses="raw data",
        answers={"top-locations": "link", "top-anonymity-set": "link"},
        evaluate=attack_top,
        parameters=(count(5),),
        default=("2",),
        record=("2",),
    ),
    Adversary(
        name="noisy",
        form="noisy:P:500m:30min",
        example="noisy:4:500m:30min",
        words="P samples with Gaussian errors of 500 m and 30 min",
        source="shoal: points:P with errors of measurement",
        uses="raw data",
        answers={"noisy-linkage": "link"},
        evaluate=attack_noisy,
        parameters=(count(10), length_m, duration_s),
        default=("4:500m:30min",),
    ),
    Adversary(
        name="period",
        form="period[:3d]",
        example="period:3d",
        words="everything before 3 days after the start, or before the middle",
        source="shoal: linkage of two periods by the places visited",
        uses="raw data",
        answers={"period-linkage": "link"},
        evaluate=attack_period,
        parameters=(duration_s,),
        optional=1,
        default=("",),
    ),
    Adversary(
        name="home-work",
        form="home-work[:+8h]",
        example="home-work:+8h",
        words="which record it is, to find home and work at UTC + 8 h, or at UTC",
        source="shoal: home and work by their hours",
        uses="own record",
        answers={"home": "infer", "work": "infer"},
        evaluate=attack_home_work,
        parameters=(offset_s,),
        optional=1,
        default=("",),
        record=("",),
    ),
    Adversary(
        name="attribution",
        form="attribution:P",
        example="attribution:2",
        words="P exact samples, to learn another one",
        source="shoal: attribute inference after linkage by points:P",
        uses="raw data",
        answers={"attribution": "infer"},
        evaluate=attack_attribution,
        parameters=(count(10),),
        default=("2",),
        record=("2",),
    ),
    Adversary(
        name="tau",
        form="tau:30min",
        example="tau:30min",
        words="everything during 30 min without a gap",
        source="Gramaglia et al. 2017, Sec. II-B",
        uses="raw data",
        answers={"unicity": "single out", "linkage": "link", "attribution": "infer"},
        evaluate=attack_tau,
        parameters=(duration_s,),
        record=("{claim.tau_s:g}s",),
        claims=(KteAnonymity,),
    ),
    Adversary(
        name="triples",
        form="triples:P",
        example="triples:4",
        words="P times and places to the last digit",
        source="Domingo-Ferrer and Trujillo-Rasua 2012, Sec. 3.3",
        uses="raw data",
        answers={"triples-unicity": "single out", "triples-linkage": "link", "triples-disclosure": "infer"},
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
        words="P times to the last digit",
        source="Domingo-Ferrer and Trujillo-Rasua 2012, Example 3",
        uses="raw data",
        answers={"times-unicity": "single out", "times-linkage": "link", "times-disclosure": "infer"},
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
        words="P true points, to name the record that passes nearest",
        source="Trujillo-Rasua and Domingo-Ferrer 2013",
        uses="raw data",
        answers={"nearest-linkage": "link"},
        evaluate=attack_nearest,
        parameters=(count(10),),
        payloads=("points",),
        default=("1", "2", "4"),
        record=("4",),
        claims=(KDeltaAnonymity,),
        same_knowledge_as="points",
    ),
)

ATTACKS: Final[dict[str, Adversary]] = {row.name: row for row in _ROWS}
