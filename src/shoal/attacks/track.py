"""The tracker: join points by speed and heading, whatever record they stand in.

Gruteser and Hoh (2005) assign points to predictions (last step, Kalman filter) at least cost. That undoes
exchanges: a body has one place at a time and a limited speed.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.attacks.clusters import smoothest_tracks
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import PointTarget, RowsByCode
from shoal.model.claims import LocationPrivacy
from shoal.runtime.arrays import Integers, offsets_of

_WALK_M_S: Final = 1.0  # how fast a person may have gone on before a track begins or after it ends


def attack_track(evaluation: Evaluation[PointTarget], p: int = 1, *, rng: np.random.Generator) -> list[Rate]:
    """Restore a person's path, and infer another point of it, from p triples.

    The track that holds most of them is named. Where people kept their times, points are those at their
    places.
    """
    target, people = evaluation.target, evaluation.people
    claim = evaluation.context.claim
    if claim is None:
        tracks = target.record_of_point
    else:
        tracks = smoothest_tracks(target, claim.k, evaluation.run, evaluation.label)
    if isinstance(claim, LocationPrivacy):
        codes, raw_codes = target.by_place.codes, target.by_place.codes_of(people.x, people.y)
        meaning = "there"
    else:
        codes, raw_codes = target.by_triple.codes, target.by_triple.codes_of(people.t, people.x, people.y)
        meaning = "there and then"
    return _rates(evaluation, tracks, (codes, raw_codes, meaning), p, rng)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tracks:
    """Rows [p] of the target by track, from starts[i] to starts[i + 1], by time."""

    rows: Integers
    starts: Integers

    @classmethod
    def of_points(cls, target: PointTarget, track: Integers) -> "Tracks":
        """Tracks from the track [p] of each point."""
        rows = np.lexsort((target.t, track))
        return cls(rows=rows, starts=np.searchsorted(track[rows], np.arange(int(track.max()) + 2)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def of(self, number: int) -> Integers:
        """The rows of one track."""
        return self.rows[self.starts[number] : self.starts[number + 1]]


def _rates(
    evaluation: Evaluation[PointTarget],
    track: Integers,
    numbers: tuple[Integers, Integers, str],
    p: int,
    rng: np.random.Generator,
) -> list[Rate]:
    codes, raw_codes, meaning = numbers
    target, people = evaluation.target, evaluation.people
    tracks = Tracks.of_points(target, track)
    drawn = [evaluation.draw_rows(victim, p, rng) for victim in evaluation.victims.tolist()]
    named = _named(evaluation, tracks, track, codes, raw_codes, drawn)
    strangers = rng.integers(len(tracks), size=len(drawn))
    outcomes = np.zeros((5, len(drawn)))
    for place, victim in enumerate(evaluation.victims.tolist()):
        victim_codes = np.unique(raw_codes[people.offsets[victim] : people.offsets[victim + 1]])
        victim_codes = victim_codes[victim_codes >= 0]
        track_codes, other_codes = (codes[tracks.of(int(one))] for one in (named[place], strangers[place]))
        outcomes[:, place] = (
            _share_held(victim_codes, track_codes),
            _share_held(victim_codes, other_codes),
            _share_of_new(track_codes, raw_codes[drawn[place]], victim_codes),
            _share_of_new(other_codes, raw_codes[drawn[place]], victim_codes),
            len(victim_codes) > 0 and np.array_equal(victim_codes, np.unique(track_codes)),
        )
    rejoined, lucky_share, disclosed, lucky_point, whole = outcomes
    points = f"{p} exact triple{'s' * (p > 1)}"
    who = (
        "Someone who joins published points by speed and heading, takes the track that holds most of "
        f"{points} known of a person, or passes nearest, and"
    )
    measures = {
        "track-rejoined": (
            rejoined,
            f"{who} has the share of the person's points that it holds.",
            lucky_share,
        ),
        "track-disclosure": (
            disclosed,
            f"{who} says of another point of it, drawn at random, that the person was {meaning}.",
            lucky_point,
        ),
        "track-whole": (
            whole,
            f"{who} wins when it is all that was published of the person, and nothing else.",
            np.array([evaluation.guess_rate]),
        ),
    }
    return [
        evaluation.rate_of(
            won,
            name=name,
            knowledge=f"{points}, and how bodies move",
            attacker=attacker,
            baseline=float(lucky.mean()),
        )
        for name, (won, attacker, lucky) in measures.items()
    ]


def _named(
    evaluation: Evaluation[PointTarget],
    tracks: Tracks,
    track: Integers,
    point_codes: Integers,
    raw_codes: Integers,
    drawn: list[Integers],
) -> Integers:
    """The track named for each victim; without a published point every track is possible."""
    target, people = evaluation.target, evaluation.people
    by_code = RowsByCode(point_codes)
    possible = np.ones((len(drawn), len(tracks)), dtype=np.bool_)
    for place, rows in enumerate(drawn):
        seen = [np.unique(track[at]) for at in by_code.of(raw_codes[rows])]
        votes = np.bincount(np.concatenate(seen), minlength=len(tracks))
        possible[place] = votes == votes.max()
    named: Integers = np.argmax(possible, axis=1).astype(np.int64)
    least_m = np.full(len(drawn), np.inf)
    open_ = np.flatnonzero(possible.sum(axis=1) > 1)
    firsts = offsets_of(len(drawn[place]) for place in open_.tolist())[:-1]
    if not len(open_):
        return named
    rows = np.concatenate([drawn[place] for place in open_.tolist()])
    for number in range(len(tracks)):
        track_rows = tracks.of(number)
        t, x, y = target.t[track_rows], target.x[track_rows], target.y[track_rows]
        away_m = np.hypot(
            np.interp(people.t[rows], t, x) - people.x[rows], np.interp(people.t[rows], t, y) - people.y[rows]
        )
        beyond_s = np.maximum(t[0] - people.t[rows], 0) + np.maximum(people.t[rows] - t[-1], 0)
        total_m = np.add.reduceat(away_m + beyond_s * _WALK_M_S, firsts)
        better = possible[open_, number] & (total_m < least_m[open_])
        least_m[open_[better]], named[open_[better]] = total_m[better], number
    return named


def _share_held(victim_codes: Integers, track: Integers) -> float:
    return float(np.isin(victim_codes, track).mean()) if len(victim_codes) else 0.0


def _share_of_new(track: Integers, known_codes: Integers, victim_codes: Integers) -> float:
    new = track[~np.isin(track, known_codes)]
    return float(np.isin(new, victim_codes).mean()) if len(new) else 0.0
