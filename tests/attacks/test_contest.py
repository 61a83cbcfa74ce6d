"""The standing contest: every method has its release, and no attacker breaks a bound unseen."""

import json
from pathlib import Path

import pytest

import contest
import shoal
from shoal.methods import METHODS

NUMBERS = {"people": 40, "days": 1, "victims": 25, "known": 3, "k": 3, "seed": 1}


def test_every_method_is_in_the_contest() -> None:
    given = shoal.read(shoal.synthesize(n_subjects=10, days=1, seed=1), snap=False)
    assert set(contest.methods(3, given)) == set(METHODS)


def test_the_labs_attackers_keep_within_what_claims_allow(tmp_path: Path) -> None:
    assert contest.make(tmp_path, **NUMBERS, only=("glove", "swap-locations")) == []
    scores = contest.play(tmp_path, sorted(contest.ATTACKERS.glob("*.py")))
    played = {(one.method, one.attacker, one.task) for one in scores}
    assert ("glove", "narrowest", "link") in played
    assert ("swap-locations", "tracker", "reveal") in played
    assert [one.line() for one in scores if one.breaks] == []
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
    link, reveal = contest.play(tmp_path, [thief])
    assert (link.rate, link.breaks, reveal.rate, reveal.breaks) == (1, True, 1, False)
    assert "BROKEN" in link.line()
    shown = json.loads((tmp_path / "open/glove/known.json").read_text())
    assert len(shown) == link.tries > 0
    sealed.write_text(sealed.read_text() + " ")
    with pytest.raises(ValueError, match="sealed truth"):
        contest.play(tmp_path, [thief])


@pytest.mark.parametrize(("hits", "tries", "bound"), [(0, 10, 0.2), (3, 10, 0.2), (10, 10, 0.2)])
def test_the_chance_of_so_many_hits_is_that_of_counting(hits: int, tries: int, bound: float) -> None:
    from math import comb

    counted = sum(comb(tries, n) * bound**n * (1 - bound) ** (tries - n) for n in range(hits, tries + 1))
    assert contest.chance_of(hits, tries, bound) == pytest.approx(counted)
