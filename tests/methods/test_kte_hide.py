"""kte-hide against what it must keep.

Assignments, planted sparse data where every weakening shows, bad input, the special case.
"""

import re
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from damages import subject_positions, with_records
from example_counts import examples
from kte_oracle import leaked
from naive_release import hull, samples_of, stating
from oracles import brute_force_cost
from planted_people import EPOCH, bursts, hidden, planted
from shoal.errors import MisuseError, NothingLeftError
from shoal.kernels.assignment import least_assignment
from shoal.kernels.hiding import HidingHistory, Pieces, assign_hiders, pair_costs
from shoal.methods.kte_hide import hiding_sets
from shoal.methods.kte_hide.hiding_sets import UNPUBLISHED, Search, Window, choose_hiders, cut_into_epochs
from shoal.methods.kte_hide.kte_hide import KteHide, generalize
from shoal.methods.kte_hide.spectral import cluster_size, spectral_states
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import read_only
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.verification import verify


def published(
    original: Trajectories, windows: list[Window], states: np.ndarray, k: int = 2
) -> tuple[shoal.Release, shoal.Linkage]:
    """A release of hiding sets that somebody has tampered with, losses honestly counted."""
    from shoal.methods.assembly import assemble

    method = KteHide(k=k, tau_s=60.0 * EPOCH, epsilon_s=60.0 * EPOCH)
    epochs = cut_into_epochs(original, EPOCH, 2)
    crowds = list(generalize(epochs, states, windows, Run(threads=1)))
    return assemble(original, crowds, stating(method.claim(), "tampered"), Randomness.from_system())


def chosen(original: Trajectories, k: int = 2) -> tuple[list[Window], np.ndarray]:
    epochs = cut_into_epochs(original, EPOCH, 2)
    states = np.ones(len(epochs.subject), dtype=np.int64)
    return choose_hiders(epochs, states, k, Search(64, 0), Run(threads=1)), states


def test_windows_with_nobody_in_them_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Months between a few days cost nothing, and change nothing before them."""
    early, pause = planted(30, 5, seed=2, activity=0.9), 2000
    rows = [
        (uid, t + visit * pause * EPOCH, x, y)
        for uid, person in zip(early.ids, early, strict=True)
        for visit in (0, 1)
        for t, x, y in zip(*(column.tolist() for column in person), strict=True)
    ]
    ids, t, x, y = zip(*rows, strict=True)
    both = Trajectories.from_rows(ids, t, x, y, grid=Grid())
    searched: list[int] = []
    assign = hiding_sets._assign_window

    def seen(epochs: Any, states: Any, at: int, *others: Any) -> Any:
        searched.append(at)
        return assign(epochs, states, at, *others)

    monkeypatch.setattr(hiding_sets, "_assign_window", seen)
    windows, _ = chosen(both)
    before, _ = chosen(early)
    assert len(windows) > pause > len(set(searched)) * 100
    assert [window.hiders.tolist() for window in windows[: len(before) - 1]] == [
        window.hiders.tolist() for window in before[:-1]
    ]


@given(
    st.tuples(st.integers(1, 5), st.integers(0, 2)).flatmap(
        lambda size: st.lists(
            st.lists(st.integers(0, 9), min_size=sum(size), max_size=sum(size)),
            min_size=size[0],
            max_size=size[0],
        )
    )
)
def test_no_assignment_is_cheaper(cost: list[list[int]]) -> None:
    columns = least_assignment(np.array(cost, dtype=np.int64)).tolist()
    assert len(set(columns)) == len(cost)
    best = min(
        sum(cost[row][column] for row, column in enumerate(order))
        for order in permutations(range(len(cost[0])), len(cost))
    )
    assert sum(cost[row][column] for row, column in enumerate(columns)) == best


samples = st.lists(
    st.tuples(st.integers(0, 12), st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=5, unique=True
)


@given(a=samples, b=samples, space_weight=st.integers(0, 3))
def test_the_cost_of_a_pair_is_that_of_k_merge(
    a: list[tuple[int, int, int]], b: list[tuple[int, int, int]], space_weight: int
) -> None:
    together = np.array([*sorted(a), *sorted(b)], dtype=np.int64)
    pieces = Pieces(
        read_only(together[:, 0]),
        read_only(together[:, 1]),
        read_only(together[:, 2]),
        np.array([0, len(a)]),
        np.array([len(a), len(a) + len(b)]),
    )
    box = hull([*a, *b])
    assert pair_costs(pieces, np.array([0, 1]), space_weight)[0, 1] == brute_force_cost(
        [a, b]
    ) + space_weight * (box[4] - box[2] + box[5] - box[3])


@given(n=st.integers(2, 9), turns=st.integers(1, 3), seed=st.integers(0, 99), cycles=st.booleans())
def test_hiders_are_permutations_without_self_or_repeats_or_the_past(
    n: int, turns: int, seed: int, cycles: bool
) -> None:
    draw = np.random.default_rng(seed)
    place = draw.integers(0, 50, (3, n))
    pieces = Pieces(
        read_only(place[0]), read_only(place[1]), read_only(place[2]), np.arange(n), np.arange(1, n + 1)
    )
    past = HidingHistory(draw.integers(0, n, (n, 2)), draw.integers(0, 3, n))
    hiders = np.empty((n, turns), dtype=np.int64)
    missing = assign_hiders(pieces, np.arange(n).reshape(n, 1), np.arange(n), past, 0, turns, cycles, hiders)
    assert missing == (hiders == -1).sum()
    for row in range(n):
        own = [hider for hider in hiders[row].tolist() if hider >= 0]
        assert len(own) == len(set(own))
        assert row not in own
        assert not set(own) & set(past.hiders[row, : past.used[row]].tolist())
    for turn in range(turns):
        picked = [hider for hider in hiders[:, turn].tolist() if hider >= 0]
        assert len(picked) == len(set(picked))
        if cycles and picked:  # one cycle through everybody, or none
            at, seen = 0, set()
            while at not in seen:
                seen.add(at)
                at = picked[at]
            assert len(seen) == n


@pytest.mark.parametrize(("k", "width", "order"), [(2, 2, 5), (3, 2, 7), (2, 3, 5), (2, 4, 7)])
def test_on_sparse_data_nothing_leaks_beyond_epsilon(k: int, width: int, order: int) -> None:
    original = bursts(order)
    release, linkage = hidden(original, k, width)
    verdict = shoal.verify(original, release, linkage)
    assert verdict.holds, verdict.findings
    assert release.losses.samples_suppressed == 0
    far = leaked(original, release, linkage, EPOCH * (width - 1))
    assert len(far) == 2 * original.n_samples
    assert max(far) <= EPOCH


def test_a_reused_hider_leaks_beyond_epsilon_and_a_sound_release_does_not() -> None:
    original = bursts()
    windows, states = chosen(original)
    first = windows[0]
    sound = published(original, windows, states)
    reused = published(
        original, [replace(w, hiders=first.hiders) if len(w.subjects) else w for w in windows], states
    )
    assert max(leaked(original, *sound, EPOCH)) <= EPOCH
    assert max(leaked(original, *reused, EPOCH)) > 3 * EPOCH
    beyond = [note for note in shoal.verify(original, *reused).notes if note.startswith("leakage")]
    assert beyond
    assert "; 0 % of" not in beyond[0]
    explained = re.search(r"by accident in [\d.]+ %, (\d+) % of that", beyond[0])
    assert explained
    assert int(explained[1]) < 5  # neighbors do not
    assert any("; 0 % of" in note for note in shoal.verify(original, *sound).notes)


def test_without_the_cascade_those_who_were_covered_are_found() -> None:
    """Suppressing somebody after hiders were chosen takes the cover from those whom that record held."""
    original = bursts(7)
    windows, states = chosen(original)
    assert shoal.verify(original, *published(original, windows, states)).holds
    epochs = cut_into_epochs(original, EPOCH, 2)
    states[(epochs.subject % 7 % 2 == 1) & (epochs.epoch == 1)] = UNPUBLISHED
    verdict = shoal.verify(original, *published(original, windows, states))
    assert verdict.kinds & {"too-few-candidates", "too-few-covers"}


@examples(0.5)
@given(
    people=st.integers(9, 40), neighborhood=st.integers(4, 12), k=st.integers(2, 3), seed=st.integers(0, 9)
)
def test_everybody_is_picked_as_often_as_it_picks(people: int, neighborhood: int, k: int, seed: int) -> None:
    """Also where neighborhoods of unequal size run out of hiders at the same time, and are joined."""
    original = planted(people, 12, seed=seed, activity=1.0)
    epochs = cut_into_epochs(original, EPOCH, 2)
    states = np.ones(len(epochs.subject), dtype=np.int64)
    used: set[tuple[int, int]] = set()
    windows = choose_hiders(epochs, states, k, Search(neighborhood, 0), Run(threads=1))
    assert len(windows) == epochs.n_windows > 0
    for window in windows:
        assert window.hiders.shape[1] == k - 1
        for hider in window.hiders.T:
            assert sorted(hider.tolist()) == list(range(len(window.subjects)))
            pairs = set(zip(window.subjects.tolist(), window.subjects[hider].tolist(), strict=True))
            assert not pairs & used
            used |= pairs
        shown = np.where(window.table >= 0, states[window.table], UNPUBLISHED)
        assert all(np.array_equal(shown, shown[hider]) for hider in window.hiders.T)


def test_one_picker_dropped_is_found() -> None:
    original = bursts()
    windows, states = chosen(original)
    lonely = [replace(window, hiders=window.hiders.copy()) for window in windows]
    for window in lonely[:2]:
        window.hiders[0] = 0  # nobody's samples but its own join this record
    verdict = shoal.verify(original, *published(original, lonely, states))
    assert verdict.kinds == {"too-few-candidates", "same-hiders"}, "the next window's hider helps out"
    assert len({finding.trajectory_id for finding in verdict.findings}) <= 2  # those whom it should have held


def test_one_giant_box_for_each_epoch_is_found() -> None:
    """Everybody is always covered, but an attacker who follows somebody knows when that person was silent."""
    original = planted(14, 8)
    epochs = cut_into_epochs(original, EPOCH, 3)
    release, linkage = hidden(original, width=3)
    everybody = [s for person in range(original.n_subjects) for s in samples_of(original, person)]
    records: list[list[tuple[int, ...]]] = []
    for subject in subject_positions(original, release, linkage):
        active = sorted(set(epochs.epoch[epochs.subject == subject].tolist()))
        records.append([hull([s for s in everybody if s[0] // EPOCH == epoch]) for epoch in active])
    assert "too-few-candidates" in shoal.verify(original, with_records(release, records), linkage).kinds


def test_a_hider_with_other_silence_is_found() -> None:
    """Four pairs at four places at the end of epoch 0.

    One of each pair goes on and hides the other, who is silent in epoch 1.
    """
    names = "abcdefgh"
    rows = [(name, t, place % 4 * 500) for place, name in enumerate(names) for t in (0, EPOCH - 1)]
    rows += [(name, EPOCH, 9000) for name in names[4:]] + [(name, 50, 0) for name in names]
    ids, t, x = zip(*rows, strict=True)
    original = Trajectories.from_rows(ids, t, x, [0] * len(t), grid=Grid())
    windows, states = chosen(original)
    assert shoal.verify(original, *published(original, windows, states)).holds
    first = windows[0]
    assert first.subjects.tolist() == list(range(8))
    hiders = ((np.arange(8) + 4) % 8).reshape(8, 1)
    together = np.where((first.table >= 0) & (first.table[hiders[:, 0]] >= 0), first.table, -1)
    crossed = Window(first.subjects, together, hiders)
    verdict = shoal.verify(original, *published(original, [crossed, *windows[1:]], states))
    assert "too-few-candidates" in verdict.kinds


def test_a_window_that_begins_one_slot_late_is_found() -> None:
    """Epochs shifted against each other: what covers tau - 1 slots does not cover tau."""
    original = planted(20, 6, activity=1.0)
    release, linkage = hidden(original)
    longer = replace(
        release, claim=shoal.KteAnonymity(k=2, tau_s=60.0 * (EPOCH + 1) * 2, epsilon_s=60.0 * (EPOCH + 1))
    )
    assert "too-few-candidates" in shoal.verify(original, longer, linkage).kinds


def test_one_window_over_all_is_k_anonymity() -> None:
    original = planted(9, 4)
    release, linkage = hidden(original, k=3, width=12)
    assert shoal.verify(original, release, linkage).holds
    assert release.losses.samples_suppressed == 0
    assert cut_into_epochs(original, EPOCH, 12).count == 1


def test_the_order_of_the_input_changes_nothing() -> None:
    original = planted(14, 6)
    rows = [(uid, *s) for subject, uid in enumerate(original.ids) for s in samples_of(original, subject)]
    ids, t, x, y = zip(*rows[::-1], strict=True)
    turned = Trajectories.from_rows(ids, t, x, y, grid=Grid())
    windows, states = chosen(original)
    again, same = chosen(turned)
    assert np.array_equal(states, same)
    assert all(np.array_equal(one.hiders, other.hiders) for one, other in zip(windows, again, strict=True))


def test_threads_change_nothing() -> None:
    original = planted(40, 5)
    epochs = cut_into_epochs(original, EPOCH, 2)
    outcomes = []
    for threads in (1, 3):
        states = np.ones(len(epochs.subject), dtype=np.int64)
        windows = choose_hiders(epochs, states, 2, Search(8, 10), Run(threads=threads))
        crowds = list(generalize(epochs, states, windows, Run(threads=threads)))
        outcomes.append([np.stack(crowd.boxes.columns()).tolist() for crowd in crowds])
    assert outcomes[0] == outcomes[1]


def test_windows_that_are_done_again_are_as_if_nothing_were_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where hiders run out, windows are taken back; a neighborhood that is as before is not solved again."""
    original = planted(16, 17, seed=3, activity=0.9)
    epochs = cut_into_epochs(original, EPOCH, 3)
    solved: list[int] = []
    outcomes = []

    def counted(*words: Any) -> int:
        solved[-1] += 1
        return assign_hiders(*words)

    monkeypatch.setattr(hiding_sets, "assign_hiders", counted)
    for remembered in (0, 1, 48):
        monkeypatch.setattr(hiding_sets, "_WINDOWS_REMEMBERED", remembered)
        solved.append(0)
        states = np.ones(len(epochs.subject), dtype=np.int64)
        windows = choose_hiders(epochs, states, 3, Search(4, 10), Run(threads=1))
        outcomes.append([states.tolist(), *(window.hiders.tolist() for window in windows)])
    assert (np.array(outcomes[0][0]) == UNPUBLISHED).any()
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert solved[0] > solved[1] > solved[2]


def test_clusters_are_kept_apart_and_of_the_size_that_the_rule_wants() -> None:
    original = planted(120, 4, activity=0.5)
    epochs = cut_into_epochs(original, EPOCH, 2)
    states = spectral_states(epochs, 2, Run(threads=1))
    size = cluster_size(epochs, 2)
    assert size >= 6
    assert states.min() == 1
    for epoch in range(epochs.count):
        assert len(set(states[epochs.epoch == epoch].tolist())) <= max(
            1, int((epochs.epoch == epoch).sum()) // size
        )
    assert len(set(states[epochs.epoch == 0].tolist())) > 1
    windows = choose_hiders(epochs, states, 2, Search(64, 0), Run(threads=1))
    for window in windows:
        shown = np.where(window.table >= 0, states[window.table], UNPUBLISHED)
        assert np.array_equal(shown, shown[window.hiders[:, 0]])
    release, linkage = KteHide(tau_s=600.0, epsilon_s=600.0, hiding="clusters").anonymize(
        original, Randomness.from_system()
    )
    assert shoal.verify(original, release, linkage).holds


def test_the_papers_own_way_holds_and_each_of_its_options_does_something() -> None:
    original = planted(90, 4, activity=0.6)
    given: dict[str, Any] = {"k": 2, "tau_s": 600.0, "epsilon_s": 600.0}
    plain = KteHide(**given, **KteHide.about.as_published)
    assert (plain.hiding, plain.assignment, plain.space_weight_s) == ("clusters", "cycles", 0)
    suppressed = {}
    for name, method in {
        "as published": plain,
        "all in one cluster": replace(plain, cluster_size=200),
        "k-means first": replace(plain, clustering_by="kasp", cluster_size=8),
    }.items():
        release, linkage = method.anonymize(original, Randomness.for_research(1))
        assert shoal.verify(original, release, linkage).holds
        suppressed[name] = release.losses.samples_suppressed
    assert suppressed["all in one cluster"] < suppressed["as published"]


BAD_INPUT = {
    "silent for days": [("a", 0), ("b", 0), ("a", 5000), ("b", 5000), ("c", 5000)],
    "everybody, then nobody, then one": [("a", 0), ("b", 1), ("c", 2), ("d", 3), ("a", 45)],
    "all identical": [(name, t) for name in "abcdef" for t in (0, 12, 25)],
    "one sample each": [(name, i * 3) for i, name in enumerate("abcdefgh")],
    "fewer people than the reuse constraint needs": [(name, t) for name in "abc" for t in range(0, 100, 5)],
}


@pytest.mark.parametrize("name", BAD_INPUT)
@pytest.mark.parametrize("k", [2, 3])
def test_awkward_data_is_suppressed_and_counted_or_refused_in_words(name: str, k: int) -> None:
    ids, t = zip(*BAD_INPUT[name], strict=True)
    original = Trajectories.from_rows(ids, t, [0] * len(t), [0] * len(t), grid=Grid())
    try:
        release, linkage = hidden(original, k)
    except NothingLeftError:
        with pytest.raises(NothingLeftError, match="nobody can be hidden"):
            hidden(original, k)
        return
    verdict = shoal.verify(original, release, linkage)
    assert verdict.holds, verdict.findings
    for column in BOX_COLUMNS:
        assert len(getattr(release.boxes, column)) == release.n_samples


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 1}, "choose k >= 2"),
        ({"tau_s": 2700.0}, "use tau = 30 min or 1 h"),
        ({"tau_s": 600.0}, "use tau = 30 min"),
        ({"epsilon_s": float("nan")}, "must be finite"),
        ({"neighborhood": 3}, "at least 4"),
        ({"hiding": "luck"}, "choose one of neighbors, clusters"),
        ({"space_weight_s": -1.0}, "at least 0"),
    ],
)
def test_parameters_that_cannot_work_say_what_to_do(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(MisuseError, match=message):
        KteHide(**parameters)


def test_the_neighborhood_grows_with_k_unless_it_is_said() -> None:
    stated = [KteHide(k=k).parameters()["neighborhood"] for k in (2, 32, 33, 100)]
    assert stated == [64, 64, 66, 200]
    assert KteHide(k=33, neighborhood=90).parameters()["neighborhood"] == 90
    assert replace(KteHide(k=2), k=33).parameters()["neighborhood"] == 66
    for said in (64, 65):
        with pytest.raises(MisuseError, match=f"neighborhood = {said} leaves no choice among 33 people"):
            KteHide(k=33, neighborhood=said)
    people = planted(40, 2)
    release, linkage = KteHide(k=33).anonymize(people, Randomness.for_research(1))
    assert verify(people, release, linkage).holds


def test_when_nobody_can_be_hidden_it_is_said() -> None:
    original = Trajectories.from_rows(["a", "b", "a"], [0, 25, 45], [0, 0, 0], [0, 0, 0], grid=Grid())
    with pytest.raises(NothingLeftError, match="nobody can be hidden among 2"):
        hidden(original)


def test_data_that_cannot_work_says_what_to_do() -> None:
    with pytest.raises(MisuseError, match="k = 5 needs at least 5 people"):
        KteHide(k=5).anonymize(planted(3, 2), Randomness.from_system())
    with pytest.raises(MisuseError, match="no multiple of the slot of 1 min; use 1 min"):
        KteHide(tau_s=90.0, epsilon_s=90.0).anonymize(planted(3, 2), Randomness.from_system())
