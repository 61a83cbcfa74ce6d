"""The attack with tau-knowledge against brute force, and what separates raw data, crowds and hiding sets."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from command_line import Shoal
from damages import rows_of
from kte_oracle import covers, is_candidate
from naive_release import naive_release, samples_of
from planted_people import bursts, hidden
from shoal.attacks import Rate, attack
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.kernels.tau_candidates import record_holds, tau_candidates
from shoal.runtime.randomness import Randomness
from small_data import populations

pytestmark = pytest.mark.kernels


@given(original=populations(least=3, longest=5), tau=st.integers(1, 60), seed=st.integers(0, 99))
def test_records_that_fit_are_those_of_brute_force(original: shoal.Trajectories, tau: int, seed: int) -> None:
    release, _ = naive_release(original, rng=Randomness.for_research(seed))
    target = BoxTarget.of_release(release)
    records, rows = target.book_of(np.ones(target.n_records, dtype=np.int64)), rows_of(release)
    assert len(rows) == target.n_records
    asked = np.random.default_rng(seed)
    found = np.empty(target.n_records, dtype=np.int64)
    everything = [
        sample for subject in range(original.n_subjects) for sample in samples_of(original, subject)
    ]
    subject_of = np.repeat(np.arange(original.n_subjects), original.lengths)
    assert len(everything) == len(subject_of) > 0
    for (start, _, _), subject in zip(everything, subject_of.tolist(), strict=True):
        seen = [s for s in samples_of(original, subject) if start <= s[0] < start + tau]
        count = tau_candidates(records, np.array(seen), start, start + tau, found)
        fitting = [place for place, row in enumerate(rows) if is_candidate(row, seen, start, tau)]
        assert sorted(found[:count].tolist()) == fitting
        other = everything[asked.integers(len(everything))]
        for place in fitting:
            assert record_holds(records, place, np.array(other)) == covers(rows[place], other)


def rates(
    original: shoal.Trajectories, release: shoal.Release, linkage: shoal.Linkage, knowledge: str
) -> dict[tuple[str, str], Rate]:
    found = attack(
        original, release, linkage, knowledge=[knowledge], rng=Randomness.for_research(1), tries=300
    )
    return {(rate.target, rate.name): rate for rate in found.rates}


@pytest.mark.jit_only
def test_raw_data_falls_crowds_hide_but_tell_all_and_hiding_sets_do_neither() -> None:
    original = bursts(7)
    outcomes = rates(original, *hidden(original), "tau:10min")
    assert outcomes["raw", "linkage"].rate == 1
    assert outcomes["raw", "unicity"].rate == 1
    assert outcomes["raw", "attribution"].rate == 1
    assert outcomes["release", "unicity"].rate == 0
    assert outcomes["release", "linkage"].rate <= 0.5
    beside = rates(original, *shoal.Glove(k=2).anonymize(original, Randomness.from_system()), "tau:10min")
    assert beside["release", "unicity"].rate == 0
    assert beside["release", "attribution"].low > outcomes["release", "attribution"].high


def test_a_window_may_begin_within_a_slot_and_shows_one_slot_more() -> None:
    """Pairs share a sample; 10 minutes later each is elsewhere, which 11 slots show and 10 do not."""
    rows = [
        (f"{pair:02d}{who}", start + minutes, pair, 0 if minutes == 0 else 1 + ord(who))
        for pair in range(5)
        for who in "ab"
        for start in (0, 100)
        for minutes in (0, 10)
    ]
    ids, t, x, y = zip(*rows, strict=True)
    original = shoal.Trajectories.from_rows(list(ids), list(t), list(x), list(y), grid=shoal.Grid())
    found = attack(original, None, None, knowledge=["tau:10min"], rng=Randomness.for_research(1)).rates
    assert {rate.name: rate.rate for rate in found}["unicity"] == 1
    found = attack(original, None, None, knowledge=["tau:9min"], rng=Randomness.for_research(1)).rates
    assert {rate.name: rate.rate for rate in found}["unicity"] < 1


def test_wrong_calls_say_what_to_do() -> None:
    original = bursts()
    release, linkage = hidden(original)
    with pytest.raises(MisuseError, match="shorter than a slot"):
        rates(original, release, linkage, "tau:30s")
    with pytest.raises(MisuseError, match="write for example tau:30min"):
        rates(original, release, linkage, "tau")
    brief = shoal.Trajectories.from_rows(["a", "b"], [0, 1], [0, 0], [0, 0], grid=shoal.Grid())
    with pytest.raises(MisuseError, match="nothing to find out"):
        rates(brief, *naive_release(brief), "tau:10min")


@pytest.mark.jit_only
def test_the_command_attacks_raw_and_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = Shoal(capsys)
    raw, release, links = tmp_path / "raw.parquet", tmp_path / "r", tmp_path / "l.parquet"
    assert call("synthesize", raw, "--subjects", 120, "--days", 1).code == 0
    options = (
        "--method",
        "kte-hide",
        "--tau",
        "2h",
        "--epsilon",
        "2h",
        "--output",
        release,
        "--linkage",
        links,
    )
    assert call("anonymize", raw, *options).code == 0
    outcome = call(
        "attack", raw, release, "--linkage", links, "--knowledge", "tau:2h", "--tries", 100, "--json"
    )
    assert outcome.code == 0
    entries = {(each["target"], each["name"]): each for each in json.loads(outcome.out)["attacks"]}
    assert {name for target, name in entries if target == "release"} == {"unicity", "linkage", "attribution"}
    assert entries["raw", "linkage"]["rate"] > entries["release", "linkage"]["rate"]
    assert all(
        {"tries", "successes", "rate", "low", "high", "baseline", "knowledge"} <= set(each)
        for each in entries.values()
    )
