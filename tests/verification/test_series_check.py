"""k-anonymity over a series, against plain sets, and what must be refused."""

from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from example_counts import examples
from shoal.cli.options import take_earlier
from shoal.errors import InputError
from shoal.model.names import TextNames
from shoal.model.release import Linkage, Release
from shoal.model.verdicts import Verdict
from shoal.publishing.series import EarlierRelease, verify_together
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.release_folder.tables import write_table
from shoal.runtime.run import Run
from shoal.verification.boxes.records import classify_records
from shoal.verification.composition.crowds import ReleaseCrowds, SeriesEntry, read_crowds
from shoal.verification.composition.series import examine_series, people_together
from written_folders import write_folder

pytestmark = pytest.mark.kernels


def crowds(week: int, crowd_of: dict[str, int], **changes: object) -> ReleaseCrowds:
    """A release of one week in which these people share these crowds."""
    facts = {
        "label": f"week {week}",
        "sha256": f"{week}",
        "k": 2,
        "unit_of_protection": "each person",
        "per_day": False,
        "span_s": (week * 10.0, week * 10.0 + 10),
    }
    return ReleaseCrowds(
        about=SeriesEntry(**(facts | changes)),  # type: ignore[arg-type]  # facts of each kind
        uids=TextNames(pa.array(list(crowd_of), pa.string())),
        crowd=np.array(list(crowd_of.values()), dtype=np.int64),
    )


def plain(table: list[list[int]]) -> list[tuple[int, int]]:
    """Who remains for each row, and how many rows are equal to it, by sets."""
    remaining = []
    for row in table:
        sets = [
            {other for other, one in enumerate(table) if one[release] == crowd}
            for release, crowd in enumerate(row)
            if crowd >= 0
        ]
        fits = set.intersection(*sets) if sets else set()
        remaining.append((len(fits), sum(one == row for one in table)))
    return remaining


@examples(0.15)
@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.integers(-1, 2), min_size=n, max_size=n), min_size=1)
    )
)
def test_who_remains_is_what_plain_sets_leave(table: list[list[int]]) -> None:
    remaining, alike = people_together(np.array(table, dtype=np.int32))
    assert list(zip(remaining.tolist(), alike.tolist(), strict=True)) == plain(table)


@examples(0.15)
@given(st.data())
def test_a_series_over_arrivals_and_leavers_is_that_of_plain_sets(data: st.DataObject) -> None:
    people = [f"p{i:02d}" for i in range(12)]
    weeks = []
    for week in range(data.draw(st.integers(2, 5))):
        present = ["p00", "p01", *data.draw(st.lists(st.sampled_from(people[2:]), unique=True))]
        order = data.draw(st.permutations(present))
        weeks.append(crowds(week, {uid: data.draw(st.integers(0, 2)) for uid in order}))
    series = examine_series(weeks, ids_as_they_are=True)
    crowd_of = [dict(zip(one.uids, one.crowd.tolist(), strict=True)) for one in weeks]
    everyone = dict.fromkeys(uid for week in crowd_of for uid in week)
    table = [[week.get(uid, -1) for week in crowd_of] for uid in everyone]
    assert series.remaining.tolist() == [fits for fits, _ in plain(table)]
    below = sum(fits < 2 for fits, _ in plain(table))
    assert series.to_json()["people_below_k"] == below
    assert [finding.kind for finding in series.findings()] == ["fewer-than-k-in-series"] * (below > 0)


def test_a_newcomer_who_joins_a_crowd_and_a_leaver_are_counted_in_their_own_releases() -> None:
    first = crowds(1, {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1, "f": 1})
    second = crowds(2, {"a": 0, "b": 0, "x": 0, "d": 1, "e": 1, "f": 1, "c": 2, "y": 2})
    series = examine_series([second, first])
    told = series.to_json()
    # c's crowds are {a, b, c} and {c, y}; the newcomers need their own release alone
    assert (told["people"], told["people_in_one_release"]) == (8, 2)
    assert told["people_alone"] == 1
    assert (told["least"], told["people_below_k"], told["mean"]) == (1, 1, (1 + 2 + 2 + 3 + 2 + 3 * 3) / 8)
    assert told["least_by_absence"] == 1
    assert "1 of 8 people" in next(series.findings()).message
    assert any("2 people are in one release alone" in note for note in series.notes())


def written(folder: Path, case: tuple[Release, Linkage]) -> Path:
    """A folder with the table and the manifest of a release."""
    return write_folder(folder, case[0], Verdict.of((), checked=1))


def test_crowds_of_a_folder_are_those_of_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = shoal.read(shoal.synthesize(n_subjects=30, days=1, seed=1))
    release, linkage = shoal.Glove(k=3).anonymize(people, shoal.Randomness.from_system())
    folder = written(tmp_path / "release", (release, linkage))
    monkeypatch.setattr(
        "shoal.verification.composition.crowds._ROWS_AT_ONCE", 7
    )  # records over several reads
    read = read_crowds(folder, linkage, "the release")
    record_of = {name: record for record, name in enumerate(release.trajectory_ids)}
    class_of = classify_records(release).class_of[[record_of[name] for name in linkage.trajectory_ids]]
    pairs = set(zip(read.crowd.tolist(), class_of.tolist(), strict=True))
    assert len(pairs) == len(set(class_of.tolist())) == len(set(read.crowd.tolist())) > 1
    assert read.about.span_s == (release.boxes.t_start.min() * 60, release.boxes.t_end.max() * 60)
    for wrong in (
        Linkage(linkage.uids[1:], linkage.trajectory_ids[1:]),
        Linkage((*linkage.uids[1:], linkage.uids[1]), linkage.trajectory_ids),
        Linkage(linkage.uids, ("0" * 16, *linkage.trajectory_ids[1:])),
        Linkage(linkage.uids, (linkage.trajectory_ids[1], *linkage.trajectory_ids[1:])),
    ):
        with pytest.raises(InputError, match="the linkage does not belong to it"):
            read_crowds(folder, wrong, "the release")
    write_table(shoal.Glove(k=2).anonymize(people, shoal.Randomness.from_system())[0], folder / RELEASE_FILE)
    with pytest.raises(InputError, match=r"release\.parquet was changed since"):
        read_crowds(folder, linkage, "the release")


def test_what_is_unusual_is_a_note_and_changes_no_figure() -> None:
    same = {"a": 0, "b": 0}
    late, early = crowds(2, same), crowds(1, same, span_s=(10.0, 25.0))
    notes = list(examine_series([early, late]).notes())
    assert any("of a later period" in note for note in notes)
    assert any("share 5 s" in note for note in notes)
    assert list(examine_series([late, crowds(1, same)]).notes()) == []


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"sha256": "2"}, "week 2 and week 1 are one release"),
        ({"unit_of_protection": "each vehicle"}, "same unit of protection"),
        ({"crowd_of": {"x": 0, "y": 0}}, "nobody of week 2 is in another release"),
        (
            {"crowd_of": {"a": 0, "h1": 0, "h2": 0, "h3": 0}},
            "1 of 4 people of week 2 .* would be new.*ids_as_they",
        ),
        ({"crowd_of": {"a": 0, "b": 0, "c": 0, "4.0": 0}}, "2 ids look like another one"),
    ],
)
def test_what_cannot_be_compared_is_refused_or_asked_about(others: dict[str, object], message: str) -> None:
    crowd_of = others.pop("crowd_of", dict.fromkeys(["a", "b", "c", "4"], 0))
    weeks = [crowds(2, dict.fromkeys(["a", "b", "c", "4"], 0)), crowds(1, crowd_of, **others)]  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        examine_series(weeks)
    if "ids_as" in message or "look like" in message:
        assert examine_series(weeks, ids_as_they_are=True).releases


def test_ids_that_all_changed_their_form_are_asked_about_before_nobody_is_in_both() -> None:
    weeks = [crowds(2, {"a": 0, "b": 0}), crowds(1, {"A": 0, "B": 0})]
    with pytest.raises(InputError, match="4 ids look like another one"):
        examine_series(weeks)
    with pytest.raises(InputError, match="nobody of week 2 is in another release"):
        examine_series(weeks, ids_as_they_are=True)


def test_releases_without_crowds_of_other_data_stay_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.publishing.series.is_in_crowds", lambda folder: folder != Path("kte"))
    newest = EarlierRelease(Path("newest"), Path("a"), None)
    for earlier, needs in (
        (EarlierRelease(Path("kte"), Path("b"), "week1"), "needs crowds"),
        (EarlierRelease(Path("kte"), None, None), "needs the linkage of each release"),
    ):
        together = verify_together("week2", newest, [earlier], Run())
        assert needs in str(together.unchecked)
        assert (together.series, together.composition, together.to_json()) == (None, None, {})


def test_an_earlier_release_is_split_where_its_paths_end(tmp_path: Path) -> None:
    folder, linkage = tmp_path / "week=1" / "release", tmp_path / "week=1" / "links=secret.parquet"
    folder.mkdir(parents=True)
    linkage.touch()
    for raw in (None, "s3://store/week=1.parquet"):
        text = f"{folder}={linkage}" + (f"={raw}" if raw else "")
        assert take_earlier([text]) == [(folder, linkage, raw)]
    assert take_earlier([str(folder)]) == [(folder, None, None)]
    assert take_earlier(["no=such=file"]) == [(Path("no"), Path("such"), "file")]
    for unnamed in ("", "=links.parquet"):
        with pytest.raises(click.UsageError, match="names no linkage"):
            take_earlier([unnamed], linked=True)
