"""The attack with tau-knowledge against brute force, its intervals, and what separates raw data, crowds and hiding sets."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from command_line import Shoal
from damages import rows_of, subject_positions
from kte_oracle import covers, is_candidate
from naive_release import naive_release, samples_of
from shoal.attacks import Rate, attack_with_tau
from shoal.attacks.tau_knowledge import follow
from shoal.errors import MisuseError
from shoal.randomness import Randomness
from shoal.verification.classes import records_of
from shoal.verification.kte import published_of
from shoal.verification.kte_loops import Raw
from small_data import populations
from test_kte_hide import bursts, hidden

pytestmark = pytest.mark.kernels


@given(original=populations(least=3, longest=5), tau=st.integers(1, 60), seed=st.integers(0, 99))
def test_records_that_fit_are_those_of_brute_force(original: shoal.Trajectories, tau: int, seed: int) -> None:
    release, linkage = naive_release(original, rng=Randomness.for_research(seed))
    records = records_of(release)
    known = np.arange(original.n_samples)
    asked = np.random.default_rng(seed).integers(0, original.n_samples, original.n_samples)
    subject_of = np.repeat(np.arange(original.n_subjects), original.lengths)
    own = np.empty(original.n_subjects, dtype=np.int64)
    own[subject_positions(original, release, linkage)] = np.arange(release.n_records)
    raw = Raw(original.t, original.x, original.y, original.offsets, np.ones(original.n_samples, dtype=np.bool_))
    fits = np.zeros((len(known), 3), dtype=np.int64)
    follow(raw, published_of(records.boxes, records.offsets), subject_of, own, known, asked, tau, fits)
    everything = [sample for subject in range(original.n_subjects) for sample in samples_of(original, subject)]
    rows = rows_of(release)
    for i, (count, mine, told) in enumerate(fits.tolist()):
        start = everything[i][0]
        seen = [s for s in samples_of(original, int(subject_of[i])) if start <= s[0] < start + tau]
        crowd = [place for place, row in enumerate(rows) if is_candidate(row, seen, start, tau)]
        assert count == len(crowd)
        assert mine == (int(own[subject_of[i]]) in crowd)
        assert told == (bool(crowd) and all(covers(rows[place], everything[asked[i]]) for place in crowd))


def test_raw_data_falls_crowds_hide_but_tell_all_and_hiding_sets_do_neither() -> None:
    original = bursts(7)
    known_s = 600.0
    release, linkage = hidden(original)
    outcomes = attack_with_tau(original, release, linkage, known_s, Randomness.for_research(1), tries=300)
    assert outcomes["raw"].linkage.rate == 1
    assert outcomes["raw"].attributed.rate == 1
    assert outcomes["release"].linkage.rate == 0
    assert outcomes["release"].candidates >= 2
    crowds, links = shoal.Glove(k=2).anonymize(original, Randomness.from_system())
    beside = attack_with_tau(original, crowds, links, known_s, Randomness.for_research(1), tries=300)["release"]
    assert beside.linkage.rate == 0
    assert beside.attributed.interval[0] > outcomes["release"].attributed.interval[1]


@given(tries=st.integers(1, 5000), share=st.floats(0, 1))
def test_the_interval_is_wilsons(tries: int, share: float) -> None:
    rate = Rate(name="linkage", knowledge="", target="raw", tries=tries, successes=int(share * tries), baseline=0.0)
    low, high = rate.interval
    assert 0 <= low <= rate.rate <= high <= 1
    for bound in (low, high):  # both solve |rate - p| = z sqrt(p (1 - p) / n), unless cut off at 0 or 1
        if 1e-9 < bound < 1 - 1e-9:
            assert abs(rate.rate - bound) == pytest.approx(1.959963984540054 * (bound * (1 - bound) / tries) ** 0.5, abs=1e-9)


def test_wrong_calls_say_what_to_do() -> None:
    original = bursts()
    release, linkage = hidden(original)
    with pytest.raises(MisuseError, match="at least a slot"):
        attack_with_tau(original, release, linkage, 30.0, Randomness.from_system())
    brief = shoal.Trajectories.from_rows(["a", "b"], [0, 1], [0, 0], [0, 0], grid=shoal.Grid())
    with pytest.raises(MisuseError, match="nothing to find out"):
        attack_with_tau(brief, *naive_release(brief), 600.0, Randomness.from_system())
    with pytest.raises(MisuseError, match="cannot be"):
        Rate(name="linkage", knowledge="", target="raw", tries=0, successes=0, baseline=0.0)


def test_the_command_attacks_raw_and_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = Shoal(capsys)
    raw, release, links = tmp_path / "raw.parquet", tmp_path / "r", tmp_path / "l.parquet"
    assert call("synthesize", raw, "--subjects", 120, "--days", 1).code == 0
    assert (
        call("anonymize", raw, "--method", "kte-hide", "--tau", "2h", "--epsilon", "2h", "--output", release, "--linkage", links).code == 0
    )
    outcome = call("attack", raw, release, "--linkage", links, "--knowledge", "tau:2h", "--tries", 100, "--json")
    assert outcome.code == 0
    entries = json.loads(outcome.out)["attacks"]
    assert [(each["target"], each["name"]) for each in entries] == [
        ("raw", "linkage"),
        ("raw", "attribution"),
        ("release", "linkage"),
        ("release", "attribution"),
    ]
    assert entries[0]["rate"] > entries[2]["rate"]
    assert all({"tries", "successes", "rate", "low", "high", "baseline", "knowledge"} <= set(each) for each in entries)
    assert call("attack", raw, release, "--linkage", links, "--knowledge", "points:4").code == 2
