"""The attacker who followed a person for tau without a gap.

Records fit that hold all observations in these windows and have no box inside one where the victim was
silent (Gramaglia et al. 2017, Sec. II-B); the likeliest is named. What all fitting records share is
certain.
"""

from typing import NamedTuple

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.likelihoods import CUES, rules_of
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.kernels.likelihood import LinkResults, count_holders
from shoal.kernels.tau_candidates import FollowedVictims, SampleAnswers, link_followed_victims
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, offsets_of
from shoal.units import show_s, slots_touched

_PART = 100


class DrawnWindows(NamedTuple):
    """Victims with windows and questions."""

    tried: Integers  # int64 [v], places among the victims
    begins: Integers  # int64 [v, windows], the first slot of each window, ascending
    asked: Integers  # int64 [v], a row of the raw data outside of all windows


def attack_tau(
    evaluation: Evaluation[BoxTarget], tau_s: float, windows: int = 1, *, rng: np.random.Generator
) -> list[Rate]:
    """Unicity (only the victim's record fits), linkage (the likeliest), and attribution.

    A window begins at a random observation and holds all slots that tau_s can touch; windows do not
    overlap. Attribution: another observation, outside the windows, lies where the records say. People
    without one are not tried.
    """
    original, target = evaluation.people, evaluation.target
    slot_s = original.snapped_grid().slot_s
    if tau_s < slot_s:
        raise MisuseError(
            f"tau = {show_s(tau_s)} is shorter than a slot of {show_s(slot_s)}; choose a longer one"
        )
    tau = slots_touched(tau_s, slot_s)
    often = "" if windows == 1 else f" in each of {windows} windows"
    drawn = _draw(original, evaluation.victims, tau, windows, rng)
    if not len(drawn.tried):
        intervals = "an interval" if windows == 1 else f"{windows} intervals"
        raise MisuseError(
            f"nobody has an observation outside {intervals} of {show_s(tau_s)}; there is nothing to find out"
        )
    followed = follow(evaluation, drawn, tau)
    weighed, holds_asked = weigh(evaluation, followed)
    counts = np.empty(len(drawn.asked), dtype=np.int64)
    count_holders(followed.asked, target.book, counts)
    knows = f"knows all observations of a person during {show_s(tau_s)} without a gap{often}"
    knowledge = f"all observations in {show_s(tau_s)}{'' if windows == 1 else f', {windows} times'}"
    clusters = evaluation.clusters[drawn.tried]
    linkage = rules_of(knows, "the records that fit them", weighed.chances)
    attribution = [
        Rule(
            name="all that fit",
            does=f"{knows}, and wins when all records that fit them hold another observation of the person",
            chances=holds_asked.by_all,
        ),
        *(
            Rule(
                name=rule.name,
                does=f"{rule.does}, and wins when that record holds another observation of the person",
                chances=holds_asked.by_named[:, number],
            )
            for number, rule in enumerate(linkage)
        ),
    ]
    return [
        evaluation.rate_of(
            (weighed.candidates == 1) & (weighed.own_fits == 1),
            name="unicity",
            knowledge=knowledge,
            attacker=f"Someone who {knows}, and wins when the person's record alone fits them.",
            clusters=clusters,
            max_chance=evaluation.max_chance,
        ),
        evaluation.best_rate(
            linkage, name="linkage", knowledge=knowledge, clusters=clusters, max_chance=evaluation.max_chance
        ),
        evaluation.best_rate(
            attribution,
            name="attribution",
            knowledge=knowledge,
            baseline=float(counts.mean()) / target.n_records,
            clusters=clusters,
        ),
    ]


def weigh(evaluation: Evaluation[BoxTarget], followed: FollowedVictims) -> tuple[LinkResults, SampleAnswers]:
    """Rank records, on all threads."""
    book, n, rules = evaluation.target.book, len(followed.own_class), len(CUES)
    none = np.zeros(n, dtype=np.int64)
    none_named = np.zeros((n, rules), dtype=np.int64)
    weighed = LinkResults(none, none.copy(), np.zeros((n, rules)), none_named)
    holds_asked = SampleAnswers(none.copy(), none_named.copy())

    def part(mine: slice) -> None:
        link_followed_victims(
            followed._replace(
                window_offsets=followed.window_offsets[mine.start : mine.stop + 1],
                asked=followed.asked[mine],
                own_class=followed.own_class[mine],
            ),
            book,
            CUES,
            LinkResults._make(column[mine] for column in weighed),
            SampleAnswers._make(column[mine] for column in holds_asked),
        )

    evaluation.run.each_part(part, n, _PART, label=f"following people ({evaluation.label})")
    return weighed, holds_asked


def follow(evaluation: Evaluation[BoxTarget], drawn: DrawnWindows, tau: int) -> FollowedVictims:
    """Each victim's observations in their windows."""
    original, (n, windows) = evaluation.people, drawn.begins.shape
    begins = drawn.begins.ravel()
    rows = []
    for victim, begin in zip(
        np.repeat(evaluation.victims[drawn.tried], windows).tolist(), begins.tolist(), strict=True
    ):
        first, t = original.offsets[victim], original.samples_of(victim)[0]
        rows.append(first + np.arange(*np.searchsorted(t, [begin, begin + tau])))
    seen = np.concatenate(rows)
    columns = (original.t, original.x, original.y)
    return FollowedVictims(
        window_offsets=np.arange(n + 1) * windows,
        begins=begins,
        ends=begins + tau,
        sample_offsets=offsets_of(map(len, rows)),
        samples=np.column_stack([column[seen] for column in columns]),
        asked=np.column_stack([column[drawn.asked] for column in columns]),
        own_class=evaluation.target.class_of[evaluation.records[drawn.tried]],
    )


def _draw(
    original: Trajectories, victims: Integers, tau: int, windows: int, rng: np.random.Generator
) -> DrawnWindows:
    tried, begins, asked = [], [], []
    for place, victim in enumerate(victims.tolist()):
        first, t = original.offsets[victim], original.samples_of(victim)[0]
        chosen = [int(t[rng.integers(len(t))])]
        free_rows = _outside(t, chosen, tau)
        while len(chosen) < windows:
            # a window that begins less than tau before another one would overlap it
            free = [at for at in t[free_rows].tolist() if all(at + tau <= one or at >= one for one in chosen)]
            if not free:
                break
            chosen.append(int(rng.choice(free)))
            free_rows = _outside(t, chosen, tau)
        if len(chosen) == windows and len(free_rows):
            tried.append(place)
            begins.append(sorted(chosen))
            asked.append(first + rng.choice(free_rows))
    return DrawnWindows(
        tried=np.array(tried, dtype=np.int64),
        begins=np.array(begins, dtype=np.int64).reshape(-1, windows),
        asked=np.array(asked, dtype=np.int64),
    )


def _outside(t: Integers, begins: list[int], tau: int) -> Integers:
    return np.flatnonzero(~np.logical_or.reduce([(t >= one) & (t < one + tau) for one in begins]))
