"""The record of every method shows the strongest of the attacks that were measured before anything else."""

import re

import numpy as np
import pytest

import shoal
from contest import methods
from record_marks import Marks, in_order
from shoal.attacks import ATTACKS, Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.knowledge import record_knowledge
from shoal.attacks.questions import DRAW
from shoal.methods import METHODS
from shoal.runtime.randomness import Randomness
from shoal.units import percent
from small_releases import record_of

TRIES = 25


@pytest.mark.parametrize("name", METHODS)
def test_the_strongest_attack_stands_before_the_verdict(name: str) -> None:
    table = shoal.synthesize(n_subjects=40, days=1, seed=1, layout="city")
    given = shoal.read(table, snap=False)
    boxes = METHODS[name].about.publishes == "boxes"
    original = shoal.read(table, working_crs=given.crs) if boxes else given
    method = methods(3, given)[name]
    release, linkage = method.anonymize(original, Randomness.for_research(1))
    rates: list[Rate] = []
    everybody = len(linkage.uids) == original.n_subjects  # then nobody is outside, to be told from members
    for text in record_knowledge(release, TRIES):
        if text.startswith("membership") and everybody:
            continue
        rates += attack(
            original,
            release,
            linkage,
            knowledge=[text],
            rng=Randomness.for_research(DRAW),
            tries=TRIES,
            scope=AttackScope(targets=["release"]),
        ).rates
    verdict = shoal.verify(original, release, linkage)
    html = record_of(original, release, linkage, verdict, (), tries=TRIES)
    page = Marks(html)
    shown = [(str(rate.asked), rate) for rate in rates if rate.tries >= 10]
    first = in_order(shown, release.kind)[0][1]
    assert len(rates) > 5
    assert float(page.facts["strongest-rate"][0]) == pytest.approx(first.rate, rel=6e-4)
    assert float(page.facts["strongest-guess"][0]) == pytest.approx(first.baseline, rel=6e-4, abs=1e-9)
    text = re.sub(r"\s+", " ", page.text)
    row = ATTACKS[str(first.asked).partition(":")[0]]
    before, after = row.wins[first.name].split("{rate}")
    chance = "" if first.chance is None else f", chance {percent(first.chance)}"
    told = text.index(
        "The strongest attack among those tested: "
        f"Somebody {row.sentence[0].lower()}{row.sentence[1:]} This attack {before}{percent(first.rate)} "
        f"({percent(first.low)} to {percent(first.high)}){after}; guessing would give "
        f"{percent(first.baseline)}{chance}. (In the terms of this page: {first.name}, {first.knowledge}; "
        "see all attacks.)"
    )
    assert told < text.index("The claim holds") < text.index("Limits of the promise")
    assert first.attacker in page.quotes["attacker[]"]
    assert np.isfinite(first.gain)
