"""Releases of a series: crowds stay, newcomers join, some wait, and a failed release changes nothing."""

import dataclasses
import errno
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import shoal
from command_line import Shoal
from shoal.errors import ClaimError, InputError, InUseError, MisuseError, NothingLeftError, OutputError
from shoal.model.intake import Intake, Reading
from shoal.model.release import Linkage, Release
from shoal.publishing.in_blocks import InBlocks
from shoal.publishing.in_series import SeriesOptions
from shoal.publishing.publish import Publication
from shoal.publishing.writing import PublishOptions
from shoal.release_folder.folder import read_linkage, read_release
from shoal.runtime.checkpoint import locked_folder
from shoal.runtime.run import Engine, Run
from shoal.scale.blocks import BlockTask, store_block
from shoal.scale.engines import engine_of
from shoal.series.state import SeriesState
from small_data import population

K = 3
WEEK = 7 * 24 * 60  # slots
EVERYBODY = tuple(range(12))


def week(number: int, people: tuple[int, ...] = EVERYBODY) -> shoal.Trajectories:
    """One week of people; each has the same number of samples in each week, at other times."""
    everybody = population([4] * 20, seed=number, slots=WEEK)
    return dataclasses.replace(everybody.keep(people), t=everybody.keep(people).t + number * WEEK)


def release(
    folder: Path, data: shoal.Trajectories, *, k: int = K, name: str = "", **options: object
) -> Publication:
    number = len([path for path in folder.glob("release*") if path.is_dir()])
    target = folder / (name or f"release{number}")
    return shoal.publish(
        data,
        shoal.Glove(k=k),
        target,
        rng=shoal.Randomness.from_system(),
        tries=0,
        linkage_file=target.with_suffix(".parquet"),
        options=PublishOptions(series=SeriesOptions(**({"state": folder / "state"} | options))),  # type: ignore[arg-type]
    )


def crowds(published: Publication) -> dict[str, frozenset[str]]:
    """Each person's crowd, from the files."""
    written: Release = read_release(published.folder)
    linkage: Linkage = read_linkage(published.folder.with_suffix(".parquet"))
    rows = {
        name: written.boxes.take(slice(*written.offsets[i : i + 2]))
        for i, name in enumerate(written.trajectory_ids)
    }
    content = {name: np.stack(boxes.columns()).tobytes() for name, boxes in rows.items()}
    who = dict(zip(linkage.uids, linkage.trajectory_ids, strict=True))
    return {
        person: frozenset(other for other, also in who.items() if content[also] == content[record])
        for person, record in who.items()
    }


def test_crowds_stay_while_people_come_leave_and_come_back(tmp_path: Path) -> None:
    weeks = [EVERYBODY, (*range(1, 12), 12, 13), (*range(4, 12), 12, 14), tuple(range(15))]
    published = [release(tmp_path, week(i, who), renew=i == 0, spare=1) for i, who in enumerate(weeks)]
    together = [crowds(one) for one in published]
    people = {person for one in together for person in one}
    for person in people:
        assert len(frozenset.intersection(*(one[person] for one in together if person in one))) >= K
    places = [one.manifest.series for one in published if one.manifest.series is not None]
    assert [(place.series, place.number) for place in places] == [(1, 1), (1, 2), (1, 3), (1, 4)]
    assert [place.newcomers for place in places] == [0, 2, 1, 0]
    for who, one, place in zip(weeks, together, places, strict=True):
        assert len(who) - len(one) == place.waiting
    assert places[2].waiting > 0  # else nothing was tested
    assert places[3].waiting == 0  # all are back
    assert published[2].manifest.losses.subjects_by_reason == {
        "too few people of their crowd are in this data": places[2].waiting
    }


def test_a_false_place_in_the_series_is_a_finding(tmp_path: Path) -> None:
    published = release(tmp_path, week(0), renew=True)
    linkage = read_linkage(published.folder.with_suffix(".parquet"))
    assert shoal.verify_folder(week(0), published.folder, linkage).holds
    manifest = published.folder / "manifest.json"
    entries = json.loads(manifest.read_text())
    for change in ({"waiting": 1}, {"crowds": 0}, {"crowds": 5}, {"newcomers": 13}):
        manifest.write_text(json.dumps(entries | {"series": entries["series"] | change}))
        verdict = shoal.verify_folder(week(0), published.folder, linkage)
        assert "manifest.json: its place in a series counts other people than the release" in {
            finding.message for finding in verdict.findings
        }


def test_the_state_names_nobody_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    release(tmp_path, week(0), renew=True)
    state = tmp_path / "state"
    assert state.stat().st_mode & 0o777 == 0o700
    for path in state.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        assert b"p00" not in path.read_bytes()
    facts = json.loads((state / "series.json").read_text())
    for folder in tmp_path.glob("release*"):
        for path in folder.glob("*"):
            assert facts["salt"].encode() not in path.read_bytes()


def test_a_release_that_was_not_written_leaves_the_state_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(tmp_path, week(0, (0, 1, 2, 3)), renew=True)
    with pytest.raises(MisuseError, match="k = 3 needs at least 3 people"):
        release(tmp_path, week(1, (0, 1)))
    with pytest.raises(NothingLeftError, match="of no crowd of the series are enough"):
        release(tmp_path, week(1, (0, 1, 12)))
    before = {path.name: path.read_bytes() for path in (tmp_path / "state").iterdir()}
    folders = sorted(path.name for path in tmp_path.iterdir())

    def full(*_: object, **__: object) -> None:
        raise OutputError("the disk is full")

    for place in ("shoal.series.state.write_private", "shoal.publishing.publish.staged_secrets"):
        with monkeypatch.context() as patched:
            patched.setattr(place, full)
            with pytest.raises(OutputError, match="full"):
                release(tmp_path, week(1, (0, 1, 2, 3)))
        assert {path.name: path.read_bytes() for path in (tmp_path / "state").iterdir()} == before
        assert sorted(path.name for path in tmp_path.iterdir()) == folders
    with monkeypatch.context() as patched:
        patched.setattr("shoal.series.state.write_private", full)
        with pytest.raises(OutputError, match="full"):
            release(tmp_path, week(1), renew=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "state").iterdir()} == before


def test_a_first_release_that_was_not_written_leaves_no_state(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="k = 30"):
        release(tmp_path, week(0), renew=True, k=30)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("is_there", [True, False])
def test_a_command_killed_at_the_end_counts_as_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    release(tmp_path, week(0), renew=True)
    state = tmp_path / "state"
    real = Path.replace
    with monkeypatch.context() as patched:
        patched.setattr(
            Path, "replace", lambda path, to: real(path, to) if path.name != "next.json" else 1 / 0
        )
        patched.setattr(Path, "unlink", lambda path, **_: None)
        with pytest.raises(ZeroDivisionError):
            release(tmp_path, week(1, EVERYBODY[1:]))
    assert (state / "next.json").exists()
    if not is_there:
        (tmp_path / "release1").rename(tmp_path / "moved")
        again = release(tmp_path, week(1, EVERYBODY[1:]), name="release2")
        assert again.manifest.series is not None
        assert again.manifest.series.number == 3
    else:
        with pytest.raises(InputError, match="overlaps release 2 of the series"):
            release(tmp_path, week(1))
    last = SeriesState.read(state).releases[1]
    assert last.uncertain is not is_there
    assert len(list(state.glob("people-*"))) == 1


def renamed(data: shoal.Trajectories, names: dict[str, str], *, as_they_are: bool) -> shoal.Trajectories:
    ids = np.repeat([names.get(name, name) for name in data.ids], np.diff(data.offsets))
    return shoal.Trajectories.from_rows(
        ids.tolist(),
        data.t,
        data.x,
        data.y,
        grid=data.grid,
        intake=Intake(rows_read=len(ids), reading=Reading(ids_as_they_are=as_they_are)),
    )


def test_a_few_ids_that_changed_their_form_are_asked_about(tmp_path: Path) -> None:
    release(tmp_path, week(0), renew=True)
    with SeriesState.writing(tmp_path / "state") as state:
        state.erase(["p003"])
    before = {path.name: path.read_bytes() for path in (tmp_path / "state").iterdir()}
    names = {"p003": "P003", "p005": "P005", "p007": "p007.0", "p008": " p008"}
    changed = renamed(week(1, (*EVERYBODY, 12)), names, as_they_are=False)
    known = "knows 2 in lower case, 1 without '.0' at the end, 1 without blanks or quotes around: a person"
    with pytest.raises(InputError, match=f"of 5 ids that the series in .* does not know, it {known}"):
        release(tmp_path, changed)
    with pytest.raises(InputError, match="it knows 2 in lower case"):
        release(tmp_path, changed, accept_newcomers=True)
    with pytest.raises(InputError, match="it knows 1 in lower case: a person"):  # the mark of the erased
        release(tmp_path, changed, renew=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "state").iterdir()} == before
    others = release(tmp_path, renamed(week(1, (*EVERYBODY, 12)), names, as_they_are=True))
    assert others.manifest.series is not None
    assert others.manifest.series.newcomers == 5


def test_an_id_in_another_form_is_not_erased_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release(tmp_path, week(0), renew=True)
    state, people = tmp_path / "state", tmp_path / "people.txt"
    before = {path.name: path.read_bytes() for path in state.iterdir()}
    for text, fault in {
        "P003": "nobody was erased: of these ids, the series in .* knows 1 in lower case; write each as in",
        '"p003"\r\np999': "knows 1 without blanks or quotes around; write each as in the data",
        "\n": "holds no id; give a file with one id on each line",
    }.items():
        people.write_text(text)
        refused = Shoal(capsys)("series", "erase", state, people)
        assert refused.code == 2
        assert re.search(fault, refused.err)
    assert {path.name: path.read_bytes() for path in state.iterdir()} == before
    people.write_bytes("p003\r\n".encode("utf-8-sig"))  # as some editors save text
    assert Shoal(capsys)("series", "erase", state, people).out.startswith("1 person erased")


def test_a_release_after_an_unusual_gap_asks_whether_the_state_is_an_old_copy(tmp_path: Path) -> None:
    release(tmp_path, week(0), renew=True)
    shutil.copytree(tmp_path / "state", tmp_path / "old")
    assert release(tmp_path, week(1)).of_series == ()
    (caution,) = release(tmp_path, week(2), state=tmp_path / "old").of_series
    assert caution.startswith("no release of the series covers 1970-01-")
    assert f"if data of that time was published, {tmp_path / 'old'} is an old copy" in caution
    assert "UTC" in caution
    assert release(tmp_path, week(4), state=tmp_path / "old").of_series == ()  # a gap as before


def test_a_state_of_which_releases_were_removed_is_refused(tmp_path: Path) -> None:
    for number in range(2):
        release(tmp_path, week(number), renew=number == 0)
    path = tmp_path / "state" / "series.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"releases": facts["releases"][:1]}))
    with pytest.raises(InputError, match=r"lacks releases that are in .*; restore the folder from a copy"):
        release(tmp_path, week(2))
    del facts["releases"]
    path.write_text(json.dumps(facts))
    with pytest.raises(InputError, match="cannot be read"):
        release(tmp_path, week(2))


def test_a_state_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(tmp_path, week(0), renew=True)

    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr("shoal.series.state.os.access", lambda *_: False)
        patched.setattr("shoal.series.state.pq.read_table", read_only)
        with pytest.raises(OutputError, match=r"cannot write in .*state, which this command changes"):
            release(tmp_path, week(1))
    with monkeypatch.context() as patched, SeriesState.writing(tmp_path / "state") as state:
        patched.setattr("shoal.runtime.staging.os.open", read_only)
        patched.setattr("pathlib.Path.unlink", read_only)
        with pytest.raises(OutputError, match="the file system is read-only"):
            state.erase(["p003"])


def test_a_state_is_read_without_a_file_object_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For threads of Arrow that still hold one may abort a process that ends at once."""
    release(tmp_path, week(0), renew=True)
    sources: list[object] = []
    original = pq.read_table

    def recorded(source: object, *arguments: object, **options: object) -> pa.Table:
        sources.append(source)
        return original(source, *arguments, **options)

    monkeypatch.setattr("shoal.series.state.pq.read_table", recorded)
    SeriesState.read(tmp_path / "state")
    assert [type(source) for source in sources] == [pa.BufferReader]


def test_a_person_who_was_erased_stays_out_of_all_later_releases(tmp_path: Path) -> None:
    releases = [release(tmp_path, week(0), renew=True)]
    before = SeriesState.read(tmp_path / "state").members
    with SeriesState.writing(tmp_path / "state") as state:
        assert state.erase(["p003", "p012"]) == 1  # the other would come as new
    after = SeriesState.read(tmp_path / "state")
    assert len(after.members.names) == len(before.names) - 1
    assert len(list((tmp_path / "state").iterdir())) == 2
    people = (*EVERYBODY, 12, 13)
    releases += [release(tmp_path, week(number, people), renew=number == 3) for number in (1, 2, 3)]
    together = [crowds(one) for one in releases]
    assert "p003" in together[0]
    assert [{"p003", "p012"} & one.keys() for one in together[1:]] == [set()] * 3
    assert ["p013" in one for one in together] == [False, True, True, True]
    least = [
        len(frozenset.intersection(*(one[person] for one in together[:3] if person in one)))
        for person in {person for one in together[:3] for person in one}
    ]
    assert min(least) >= K
    places = [one.manifest.series for one in releases if one.manifest.series is not None]
    assert [(place.series, place.number) for place in places] == [(1, 1), (1, 2), (1, 3), (2, 1)]
    assert [(place.newcomers, place.waiting) for place in places] == [(0, 0), (1, 0), (0, 0), (0, 0)]
    assert [one.manifest.losses.subjects_by_reason for one in releases[1:]] == [
        {"erased from the series": 2}
    ] * 3
    linkage = read_linkage(releases[1].folder.with_suffix(".parquet"))
    assert shoal.verify_folder(week(1, people), releases[1].folder, linkage).holds
    erased = "left out because they were erased: 2 people of this data; take them out of the feed"
    renewed = (
        "a new series begins: the promise does not cover its releases together with 3 releases before it, "
        "and people can be joined between them"
    )
    assert [one.of_series for one in releases] == [(), (erased,), (erased,), (renewed, erased)]
    assert set(releases[3].of_series) <= set(releases[3].cautions)
    assert [one.published for one in SeriesState.read(tmp_path / "state").facts.releases] == [12, 12, 12, 12]


def test_people_who_lost_an_erased_companion_wait(tmp_path: Path) -> None:
    first = release(tmp_path, week(0), renew=True, spare=0)
    lost = {person for person in crowds(first)["p003"] if len(crowds(first)["p003"]) == K} - {"p003"}
    assert lost
    with SeriesState.writing(tmp_path / "state") as state:
        state.erase(["p003"])
    second = release(tmp_path, week(1))
    assert crowds(first).keys() - crowds(second).keys() == {"p003", *lost}
    assert second.manifest.losses.subjects_by_reason == {
        "too few people of their crowd are in this data": len(lost),
        "erased from the series": 1,
    }


def test_the_mark_of_an_erased_person_needs_the_secret_of_the_state(tmp_path: Path) -> None:
    marks = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        folder.mkdir()
        release(folder, week(0), renew=True)
        with SeriesState.writing(folder / "state") as state:
            state.erase(["p003"])
        facts = json.loads((folder / "state" / "series.json").read_text())
        assert len(facts["erased"]) == 1
        marks += facts["erased"]
    assert marks[0] != marks[1]


def test_a_state_without_marks_is_read_and_one_of_a_later_version_is_refused(tmp_path: Path) -> None:
    release(tmp_path, week(0), renew=True)
    path = tmp_path / "state" / "series.json"
    facts = json.loads(path.read_text())
    del facts["erased"]
    path.write_text(json.dumps(facts | {"version": 1}))
    assert release(tmp_path, week(1)).manifest.n_records == 12
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 3}))
    with pytest.raises(InputError, match="is of a later version of shoal"):
        release(tmp_path, week(2))


def test_a_release_that_breaks_the_promise_over_the_series_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(tmp_path, week(0), renew=True, spare=0)
    before = (tmp_path / "state" / "series.json").read_bytes()
    monkeypatch.setattr(
        "shoal.publishing.in_series.may_appear", lambda crowd, *_: np.ones(len(crowd), dtype=np.bool_)
    )
    with pytest.raises(ClaimError, match="for 2 people fewer than 3 people fit in all of their releases"):
        release(tmp_path, week(1, (*EVERYBODY[1:], 12)))
    assert not (tmp_path / "release1").exists()
    assert (tmp_path / "state" / "series.json").read_bytes() == before


def test_a_command_stopped_after_the_release_has_its_name_is_in_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.rename

    def stopped(path: Path, target: Path) -> Path:
        done = real(path, target)
        if Path(target).name == "release1":
            raise KeyboardInterrupt
        return done

    release(tmp_path, week(0), renew=True)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", stopped)
        with pytest.raises(KeyboardInterrupt):
            release(tmp_path, week(1))
    assert (tmp_path / "release1").is_dir()
    assert len(SeriesState.read(tmp_path / "state").releases) == 2
    assert len(list((tmp_path / "state").iterdir())) == 2  # without the table of before


def test_two_commands_do_not_work_in_one_state(tmp_path: Path) -> None:
    release(tmp_path, week(0), renew=True)
    with locked_folder(tmp_path / "state", ""), pytest.raises(InUseError, match="another command works in"):
        release(tmp_path, week(1))


def test_a_state_that_moved_to_another_machine_goes_on(tmp_path: Path) -> None:
    release(tmp_path, week(0), renew=True)
    (tmp_path / "there").mkdir()
    (tmp_path / "state").rename(tmp_path / "there" / "state")
    again = release(tmp_path / "there", week(1))
    assert again.manifest.series is not None
    assert again.manifest.series.number == 2


def test_renewed_crowds_are_a_series_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        release(tmp_path, week(number), renew=number != 1)
    state = SeriesState.read(tmp_path / "state")
    assert [one.series for one in state.facts.releases] == [1, 1, 2]
    assert state.number == 2
    assert [one.first_s for one in state.releases] == [int(week(2).t.min()) * 60]
    shown = Shoal(capsys)("series", "show", tmp_path / "state").out
    assert shown.startswith("series 1, which ended: 2 releases\nseries 2 in ")


def test_what_cannot_go_on_is_refused_and_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no series; check the path\. renew begins"):
        release(tmp_path, week(0))
    release(tmp_path, week(2), renew=True)
    state = tmp_path / "state"
    before = (state / "series.json").read_bytes()
    with pytest.raises(InputError, match="is before release 1 of the series"):
        release(tmp_path, week(1))
    with pytest.raises(InputError, match="overlaps release 1"):
        release(tmp_path, week(2))
    with pytest.raises(MisuseError, match=r"has k = 3, and this release k = 4; use k 3"):
        release(tmp_path, week(3), k=4)
    with pytest.raises(MisuseError, match="only 2 of 8 people are in the series"):
        release(tmp_path, week(3, (10, 11, 13, 14, 15, 16, 17, 18)))
    capitals = dataclasses.replace(week(3), ids=tuple(name.upper() for name in week(3).ids))
    with pytest.raises(MisuseError, match=r"Of the others, it knows 12 in lower case\. If ids changed"):
        release(tmp_path, capitals)
    for method in (shoal.StaticGeneralization(k=3), shoal.Glove(k=3, omit_at_most=0.1)):
        with pytest.raises(MisuseError, match="keeps crowds of method glove together"):
            shoal.publish(
                week(3),
                method,
                tmp_path / "other",
                rng=shoal.Randomness.from_system(),
                options=PublishOptions(series=SeriesOptions(state=state)),
            )
    assert (state / "series.json").read_bytes() == before
    for inside in (tmp_path / "release1" / "state", tmp_path / "release1.parts"):
        with pytest.raises(MisuseError, match="would lie inside the release folder or its parts"):
            release(tmp_path, week(3), state=inside)
    newcomers = release(tmp_path, week(3, (10, 11, 13, 14, 15, 16, 17, 18)), accept_newcomers=True)
    assert newcomers.manifest.n_records == 6
    table = next(state.glob("people-*"))
    table.write_bytes(table.read_bytes()[:-1])
    with pytest.raises(InputError, match="missing or damaged; restore the folder"):
        release(tmp_path, week(4))
    (state / "series.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read, or is of a later version"):
        release(tmp_path, week(4))


def test_in_blocks_crowds_stay_whole_and_a_killed_command_goes_on_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = shoal.synthesize(n_subjects=45, days=2, seed=4, layout="city")
    people = pc.cast(pc.utf8_slice_codeunits(calls["uid"], 1), pa.int64())
    middle = int(np.datetime64("2024-01-02", "s").astype(np.int64))
    pq.write_table(
        calls.filter(pc.and_(pc.less(calls["t"], middle), pc.less(people, 40))), tmp_path / "1.parquet"
    )
    pq.write_table(
        calls.filter(pc.and_(pc.greater_equal(calls["t"], middle), pc.greater(people, 4))),
        tmp_path / "2.parquet",
    )

    def blocks(number: int, folder: Path, engine: Engine) -> Publication:
        return shoal.publish(
            InBlocks(source=tmp_path / f"{number}.parquet", reading=Reading(), size=30, engine=engine),
            shoal.Glove(k=K),
            folder / f"release{number}",
            rng=shoal.Randomness.for_research(number),
            tries=0,
            linkage_file=folder / f"release{number}.parquet",
            options=PublishOptions(series=SeriesOptions(state=folder / "state", renew=number == 1, spare=1)),
        )

    first = blocks(1, tmp_path, Run(threads=1))
    erased = sorted(crowds(first))[20]
    with SeriesState.writing(tmp_path / "state") as state:
        state.erase([erased])
    shutil.copytree(tmp_path / "state", tmp_path / "copy" / "state")
    second = blocks(2, tmp_path, engine_of("local:2"))
    assert len(second.block_sizes) > 1
    assert max(second.block_sizes) <= 30
    one, other = crowds(first), crowds(second)
    assert {len(one[person] & other[person]) >= K for person in one.keys() & other.keys()} == {True}
    place = second.manifest.series
    assert place is not None
    assert place.newcomers == len(other.keys() - one.keys()) >= 5
    assert erased not in other
    assert place.waiting == second.manifest.losses.subjects_suppressed - 1

    done: list[BlockTask] = []

    def killed(task: BlockTask) -> None:
        if done:
            raise KeyboardInterrupt
        done.append(task)
        store_block(task)

    with monkeypatch.context() as patched:
        patched.setattr("shoal.publishing.in_blocks.store_block", killed)
        with pytest.raises(KeyboardInterrupt):
            blocks(2, tmp_path / "copy", Run(threads=1))
    again = blocks(2, tmp_path / "copy", Run(threads=1))
    for path in second.folder.iterdir():
        assert path.read_bytes() == (again.folder / path.name).read_bytes()
