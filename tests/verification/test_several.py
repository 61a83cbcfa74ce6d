"""Several releases together, against the intersection of plain sets, and what must be refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from command_line import Shoal
from damages import rows_of
from kte_oracle import is_candidate
from planted_people import bursts, hidden
from shoal.attacks.together import attack_together
from shoal.errors import InputError
from shoal.model.grid import Grid
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.verification.composition.candidates import IssuedRelease
from shoal.verification.composition.several import reveal_together
from small_data import populations
from small_releases import in_classes

pytestmark = pytest.mark.kernels


def issued(people: Trajectories, case: tuple[Release, Linkage], label: str = "the release") -> IssuedRelease:
    return IssuedRelease(label=label, original=people, release=case[0], linkage=case[1])


def twelve() -> Trajectories:
    """People who are nowhere near each other, so that no two hulls are alike."""
    rows = [(f"p{i:02d}", j, 100 * i + j, 7 * i) for i in range(12) for j in range(3)]
    ids, t, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t, x, y, grid=Grid())


def test_planted_crowds_have_the_intersections_that_were_planted() -> None:
    people = twelve()
    first = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    second = [[0, 1, 4, 5], [2, 3, 8, 9], [6, 10, 7, 11]]  # twos are left everywhere
    third = [
        [0, 2, 4],
        [1, 3, 5],
        [6, 7, 8],
        [9, 10, 11],
    ]  # of those only 6 and 7, and 10 and 11, stay together
    cases = [in_classes(people, classes, k=3) for classes in (first, second, third)]
    two = reveal_together(issued(people, cases[0]), [issued(people, cases[1])])
    assert set(two.remaining.tolist()) == {2}
    assert two.to_json() | {"people_below_k": 12, "least": 2, "mean_chance": 0.5, "k": 3} == two.to_json()
    three = reveal_together(issued(people, cases[0]), [issued(people, case) for case in cases[1:]])
    assert sorted(three.remaining.tolist()) == [1] * 8 + [2] * 4
    found = list(three.findings())
    assert len(found) == 12
    assert found[0].kind == "fewer-than-k-together"
    assert "1 people fit in all 3 releases" in found[0].message
    assert {one.trajectory_id for one in found} == set(cases[0][0].trajectory_ids)
    rates = attack_together([(people, *case) for case in cases])
    assert [rate.successes for rate in rates] == pytest.approx([3, 8 + 4 / 2])
    assert rates[1].worst == 1
    assert not list(reveal_together(issued(people, cases[0]), [issued(people, cases[0])]).findings())


@pytest.mark.jit_only
@given(st.data())
def test_people_left_are_those_of_plain_sets(data: st.DataObject) -> None:
    people = twelve()
    cases, classes_of = [], []
    for _ in range(data.draw(st.integers(2, 3))):
        order = data.draw(st.permutations(range(12)))
        cuts = sorted(data.draw(st.sets(st.sampled_from([2, 4, 6, 8, 10]), max_size=4)))
        classes = [sorted(order[a:b]) for a, b in zip([0, *cuts], [*cuts, 12], strict=True)]
        published = classes[: data.draw(st.integers(1, len(classes)))]  # the others are suppressed
        classes_of.append(published)
        cases.append(in_classes(people, published))
    together = reveal_together(issued(people, cases[0]), [issued(people, case) for case in cases[1:]])
    uid_of = dict(zip(cases[0][1].trajectory_ids, cases[0][1].uids, strict=True))
    assert len(together.record) == cases[0][0].n_records > 0
    for row, record in enumerate(together.record.tolist()):
        person = people.ids.index(uid_of[cases[0][0].trajectory_ids[record]])
        uids_linked = [
            next((set(members) for members in classes if person in members), None) for classes in classes_of
        ]
        assert together.remaining[row] == len(
            set.intersection(*(members for members in uids_linked if members is not None))
        )
        assert together.alone[row].tolist() == [
            -1 if members is None else len(members) for members in uids_linked
        ]


@pytest.mark.jit_only
def test_followers_of_hidden_people_are_those_of_brute_force() -> None:
    people = bursts(3)
    cases = [hidden(people), hidden(people), shoal.Glove(k=2).anonymize(people, Randomness.from_system())]
    together = reveal_together(
        issued(people, cases[0]), [issued(people, case) for case in cases[1:]], most=60
    )
    tau = int(together.tau_s or 0) // 60 + 1  # slots that such an interval can touch
    links = [dict(zip(case[1].uids, case[1].trajectory_ids, strict=True)) for case in cases]
    uid_of = [{name: uid for uid, name in item.items()} for item in links]
    rows = [dict(zip(case[0].trajectory_ids, rows_of(case[0]), strict=True)) for case in cases]
    subject_of = np.repeat(np.arange(people.n_subjects), people.lengths)
    published = np.array([people.ids[s] in links[0] for s in subject_of])
    every = np.flatnonzero(published)
    asked = every[np.unique(np.linspace(0, len(every) - 1, 60).astype(int))]
    expected = []
    for i in asked.tolist():
        uid, start, sets = people.ids[subject_of[i]], int(people.t[i]), []
        for item in range(3):
            person_samples = rows[item].get(links[item].get(uid, ""), [])
            samples = list(
                zip(*(column.tolist() for column in people.samples_of(int(subject_of[i]))), strict=True)
            )
            seen = [
                s
                for s in samples
                if start <= s[0] < start + tau
                and any(
                    b[0] <= s[0] < b[1] and b[2] <= s[1] < b[4] and b[3] <= s[2] < b[5]
                    for b in person_samples
                )
            ]
            if item == 2:
                sets.append({uid_of[2][name] for name, boxes in rows[2].items() if boxes == person_samples})
            elif seen:
                sets.append(
                    {
                        uid_of[item][name]
                        for name, boxes in rows[item].items()
                        if is_candidate(boxes, seen, start, tau)
                    }
                )
            elif item == 0:
                break
        if sets:
            n_left = set.intersection(*sets)
            expected.append((len(n_left), uid in n_left))
    assert list(zip(together.remaining.tolist(), together.right.tolist(), strict=True)) == expected
    assert min(together.remaining) < 2 <= min(together.alone[together.alone >= 0])


@given(populations(least=4, most=8))
def test_the_same_release_twice_reveals_nothing_more(people: Trajectories) -> None:
    case = shoal.Glove(k=2).anonymize(people, Randomness.from_system())
    together = reveal_together(issued(people, case), [issued(people, case)])
    assert (together.remaining == together.alone[:, 0]).all()


def test_what_does_not_belong_together_is_refused() -> None:
    people = twelve()
    sound = in_classes(people, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
    moved = Trajectories.from_rows(
        [uid for uid, n in zip(people.ids, people.lengths.tolist(), strict=True) for _ in range(n)],
        people.t,
        people.x + np.arange(people.n_samples) % 5,
        people.y,
        grid=Grid(),
    )
    others = Trajectories.from_rows(["q1", "q2"], [0, 1], [0, 1], [0, 1], grid=Grid())
    cases = [
        (
            issued(people, in_classes(moved, [[0, 1, 2], list(range(3, 12))]), "the earlier"),
            "the earlier was made from other data",
        ),
        (
            issued(people, (replace(sound[0], unit_of_protection="each vehicle"), sound[1]), "the earlier"),
            "same unit of protection",
        ),
        (
            issued(people, in_classes(others, [[0, 1]]), "the earlier"),
            "the earlier: the release does not belong",
        ),
        (
            issued(
                people, (sound[0], Linkage(sound[1].uids[1:], sound[1].trajectory_ids[1:])), "the earlier"
            ),
            "the earlier: .* no subject",
        ),
    ]
    for earlier, message in cases:
        with pytest.raises(InputError, match=message):
            reveal_together(issued(people, sound), [earlier])


@pytest.mark.jit_only
def test_the_commands_take_earlier_releases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = Shoal(capsys)
    city = tmp_path / "city.parquet"
    assert call("synthesize", city, "--subjects", 60, "--days", 1).code == 0
    for name, words in {"a": ("--k", 3), "b": ("--k", 4, "--cell", "500m")}.items():
        case = call(
            "anonymize",
            city,
            *words,
            "--output",
            tmp_path / name,
            "--linkage",
            tmp_path / f"{name}.parquet",
            "--risk-tries",
            0,
        )
        assert case.code == 0
    linkage, earlier = (
        ("--linkage", tmp_path / "b.parquet"),
        ("--earlier", f"{tmp_path / 'a'}={tmp_path / 'a.parquet'}"),
    )
    alone = call("verify", city, tmp_path / "b", *linkage)
    assert alone.code == 0
    both = call("verify", city, tmp_path / "b", *linkage, *earlier, "--json")
    output = json.loads(both.out)
    assert (output["together"]["k"], output["together"]["releases"]) == (3, 2)
    assert both.code == (1 if output["together"]["people_below_k"] else 0)
    assert not any(f'"{uid}"' in both.out for uid in shoal.read(city).ids)
    assert "together, 2 releases" in call("verify", city, tmp_path / "b", *linkage, *earlier).out
    rates = json.loads(
        call("attack", city, tmp_path / "b", *linkage, *earlier, "--knowledge", "points:1", "--json").out
    )["attacks"]
    joint = [rate for rate in rates if rate["name"] == "intersection"]
    assert [rate["knowledge"] for rate in joint] == ["this release alone", "2 releases together"]
    assert joint[0]["rate"] <= 1 / 4 < joint[1]["rate"]
    assert joint[1]["rate"] == pytest.approx(output["together"]["mean_chance"])
    for unlinked in ((*linkage, "--earlier", tmp_path / "a"), earlier):
        unchecked = call("verify", city, tmp_path / "b", *unlinked)
        assert (unchecked.code, "needs the linkage of each release" in unchecked.out) == (3, True)
    refusals: list[tuple[tuple[object, ...], str]] = [
        ((*linkage, "--earlier", f"{tmp_path}={tmp_path / 'a.parquet'}"), "is not a release folder"),
        ((*linkage, "--earlier", f"{tmp_path / 'a'}={tmp_path / 'b.parquet'}"), "does not belong"),
    ]
    for given_words, message in refusals:
        refused = call("verify", city, tmp_path / "b", *given_words)
        assert (refused.code, message in refused.err) == (2, True), refused.err
