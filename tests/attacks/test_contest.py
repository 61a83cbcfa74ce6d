"""The standing contest: every method has its release, and no attacker breaks a bound unseen."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import contest
import library_attackers
import shoal
from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.rate import Rule
from shoal.attacks.table import ATTACKS
from shoal.methods import METHODS
from shoal.model.linkage_checks import match_records
from shoal.runtime.randomness import Randomness
from small_releases import naive_release, random_people

NUMBERS = {"people": 40, "days": 1, "victims": 25, "known": 3, "k": 3, "seed": 1}


def test_every_method_is_in_the_contest() -> None:
    given = shoal.read(shoal.synthesize(n_subjects=10, days=1, seed=1), snap=False)
    assert set(contest.methods(3, given)) == set(METHODS)


def played_anew(folder: Path) -> list[contest.Score]:
    """The scores of one contest: each has its own releases, victims and known points, drawn anew."""
    assert contest.make(folder, **NUMBERS, only=("glove", "swap-locations")) == []
    return contest.play(folder, sorted(contest.ATTACKERS.glob("*.py")))


def broken(scores: list[contest.Score]) -> set[tuple[str, str, str]]:
    return {(one.method, one.attacker, one.task) for one in scores if one.breaks}


def test_the_labs_attackers_keep_within_what_claims_allow(tmp_path: Path) -> None:
    """Luck breaks a bound once in some ten thousand contests, and not twice; a true break comes again."""
    scores = played_anew(tmp_path / "first")
    played = {(one.method, one.attacker, one.task) for one in scores}
    assert ("glove", "narrowest", "link") in played
    assert ("swap-locations", "tracker", "reveal") in played
    entered = {(method, attacker.partition(",")[0]) for method, attacker, task in played if task == "link"}
    linking = [row for row in ATTACKS.values() if library_attackers.enters(row)]
    assert len(linking) >= 6
    assert {("glove", row.name) for row in linking if row.takes_boxes} <= entered
    on_points = [row for row in linking if row.claims is None and "points" in row.payloads]
    assert {("swap-locations", row.name) for row in on_points} <= entered
    again = broken(scores) and broken(played_anew(tmp_path / "second"))
    assert broken(scores) & again == set()
    (bound,) = {one.bound for one in scores if (one.method, one.task) == ("glove", "link")}
    assert bound == pytest.approx(1 / 3)


def test_who_knows_the_truth_breaks_the_bound_and_a_broken_seal_is_refused(tmp_path: Path) -> None:
    assert contest.make(tmp_path, **NUMBERS, only=("glove",)) == []
    sealed = tmp_path / "sealed/glove.json"
    thief = tmp_path / "thief.py"
    thief.write_text(
        "import json\nfrom pathlib import Path\n"
        f"truth = json.loads(Path({str(sealed)!r}).read_text())\n"
        "def link(folder, known):\n    return truth['records']\n"
        "def reveal(folder, known):\n    return [own[0] for own in truth['points']]\n"
    )
    link, reveal = contest.play(tmp_path, [thief], library=False)
    assert (link.rate, link.breaks, reveal.rate, reveal.breaks) == (1, True, 1, False)
    assert "BROKEN" in link.line()
    shown = json.loads((tmp_path / "open/glove/known.json").read_text())
    assert len(shown) == link.tries > 0
    sealed.write_text(sealed.read_text() + " ")
    with pytest.raises(ValueError, match="sealed truth"):
        contest.play(tmp_path, [thief], library=False)


def test_every_adversary_that_links_enters_or_says_why_not() -> None:
    linking = {
        name for name, row in ATTACKS.items() if "link" in row.answers.values() and row.uses == "raw data"
    }
    assert linking == {name for name in ATTACKS if library_attackers.enters(ATTACKS[name])} | set(
        library_attackers.NO_RECORD
    )


def test_an_adversary_names_in_the_contest_whom_it_names_in_the_lab() -> None:
    """All points of everybody are known, so that nothing is drawn: each rule wins as often here as there."""
    people = random_people(30, 6, seed=3)
    release, linkage = naive_release(people, k=3)
    kept: dict[str, float] = {}
    best = Rate.best_of

    def shown(rules: list[Rule], **words: Any) -> Rate:
        kept.update({rule.name: float(np.mean(np.asarray(rule.chances))) for rule in rules})
        return best(rules, **words)

    with patch.object(Rate, "best_of", shown):
        attack(
            people,
            release,
            linkage,
            knowledge=["points:10"],
            rng=Randomness.for_research(1),
            scope=AttackScope(targets=["release"]),
        )
    own = match_records(people, release, linkage)
    found = library_attackers._chances(ATTACKS["points"], (10,), release, people)
    assert len(kept) == 5
    for rule, rate in kept.items():
        right = found[f"linkage: {rule}"][np.arange(people.n_subjects), own]
        assert float(right.mean()) == pytest.approx(rate)


@pytest.mark.parametrize(("hits", "tries", "bound"), [(0, 10, 0.2), (3, 10, 0.2), (10, 10, 0.2)])
def test_the_chance_of_so_many_hits_is_that_of_counting(hits: int, tries: int, bound: float) -> None:
    from math import comb

    counted = sum(comb(tries, n) * bound**n * (1 - bound) ** (tries - n) for n in range(hits, tries + 1))
    assert contest.chance_of(hits, tries, bound) == pytest.approx(counted)
