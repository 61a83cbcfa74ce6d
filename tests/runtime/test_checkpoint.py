"""A stopped job continues from its finished parts, never from another job's or from a broken file."""

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal.errors import InUseError, MisuseError, OtherJobError, OutputError
from shoal.runtime.checkpoint import Checkpoint, digest_of
from shoal.runtime.run import Run


def refuse() -> dict[str, np.ndarray]:
    raise AssertionError("this part was finished; it must not be made again")


def test_a_finished_part_is_read_back_and_not_made_again(tmp_path: Path) -> None:
    made = {"t": np.arange(5), "share": np.array([0.5, np.nan])}
    first = Run(checkpoint=Checkpoint.open(tmp_path / "job", {"k": 2})).load_or_make("block-1", lambda: made)
    again = Run(checkpoint=Checkpoint.open(tmp_path / "job", {"k": 2})).load_or_make("block-1", refuse)
    for name, column in made.items():
        np.testing.assert_array_equal(again[name], column)
        np.testing.assert_array_equal(first[name], column)


def test_without_a_checkpoint_every_part_is_made() -> None:
    assert Run().load_or_make("block-1", lambda: {"t": np.arange(2)})["t"].tolist() == [0, 1]


def test_parts_of_another_job_are_refused(tmp_path: Path) -> None:
    Checkpoint.open(tmp_path / "job", {"k": 2})
    with pytest.raises(OtherJobError, match="other data, parameters or version"):
        Checkpoint.open(tmp_path / "job", {"k": 3})
    (tmp_path / "job" / "job.json").write_bytes(b"\xff")
    with pytest.raises(OtherJobError, match="other data, parameters or version"):
        Checkpoint.open(tmp_path / "job", {"k": 2})


def test_two_jobs_do_not_work_in_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "job"

    def stopped() -> None:
        with Checkpoint.until_done(folder, {"k": 2}) as first:
            first.load_or_make("part", lambda: {"t": np.arange(3)})
            for job in ({"k": 2}, {"k": 3}):
                with pytest.raises(InUseError, match=r"another command works in .*job; wait until"):
                    Checkpoint.until_done(folder, job).__enter__()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    with Checkpoint.until_done(folder, {"k": 2}) as again:
        assert again.load_or_make("part", refuse)["t"].tolist() == [0, 1, 2]
    assert not folder.exists()


@pytest.mark.parametrize("error", [MisuseError("k is too large"), KeyboardInterrupt()])
def test_who_is_refused_before_the_first_part_leaves_no_folder(tmp_path: Path, error: BaseException) -> None:
    def refused() -> None:
        with Checkpoint.until_done(tmp_path / "job", {"k": 2}):
            raise error

    with pytest.raises(type(error)):
        refused()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("length", [0, 1, 60])
def test_a_truncated_part_is_made_again(tmp_path: Path, length: int) -> None:
    checkpoint = Checkpoint.open(tmp_path / "job", {})
    checkpoint.load_or_make("part", lambda: {"t": np.arange(100)})
    path = tmp_path / "job" / "part.npz"
    path.write_bytes(path.read_bytes()[:length])
    assert checkpoint.load_or_make("part", lambda: {"t": np.arange(7)})["t"].tolist() == list(range(7))
    assert checkpoint.load_or_make("part", refuse)["t"].tolist() == list(range(7))


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def one_bit_other(path: Path) -> None:
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])


@pytest.mark.parametrize("damage", [Path.unlink, cut_short, one_bit_other])
@pytest.mark.parametrize("name", ["part.npz", "part.bin"])
def test_a_part_is_made_again_when_a_file_of_it_is_damaged(tmp_path: Path, damage: Any, name: str) -> None:
    made = []

    def make() -> dict[str, np.ndarray]:
        made.append(1)
        return {"t": np.arange(3), "rows": np.arange(12).reshape(6, 2)}

    checkpoint = Checkpoint.open(tmp_path / "job", {})
    for _ in range(2):
        assert checkpoint.load_or_make("part", make, apart="rows")["t"].tolist() == [0, 1, 2]
    assert made == [1]
    damage(tmp_path / "job" / name)
    assert "rows" not in checkpoint.load_or_make("part", make, apart="rows")
    assert made == [1, 1]
    assert np.fromfile(checkpoint.rows_path("part"), dtype=np.int64).tolist() == list(range(12))
    assert checkpoint.load("part", ["t"])["t"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("apart", ["rows", None])
@pytest.mark.parametrize("change", [1, 12, 99, 255])
def test_a_part_of_which_any_byte_is_another_one_is_made_again(
    tmp_path: Path, change: int, apart: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.runtime.checkpoint.os.fsync", lambda _file: None)  # hundreds of parts
    checkpoint = Checkpoint.open(tmp_path / "job", {})
    made = []

    def make() -> dict[str, np.ndarray]:
        made.append(1)
        return {"t": np.arange(3), "rows": np.arange(4)}

    checkpoint.load_or_make("part", make, apart)
    path = tmp_path / "job" / "part.npz"
    sound = path.read_bytes()
    found = []
    for at in range(len(sound)):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ change]) + sound[at + 1 :])
        found.append(checkpoint.load_or_make("part", make, apart))
    assert len(made) == 1 + len(sound)
    assert all(one["t"].tolist() == [0, 1, 2] for one in found)


def test_an_interrupted_part_leaves_nothing_that_could_be_taken_for_finished(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(tmp_path / "job", {})
    with pytest.raises(KeyboardInterrupt):
        checkpoint.load_or_make("part", interrupted)
    assert [path.name for path in (tmp_path / "job").iterdir()] == ["job.json"]


def interrupted() -> dict[str, np.ndarray]:
    raise KeyboardInterrupt


def test_a_full_disk_is_not_filled_with_what_each_try_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    checkpoint = Checkpoint.open(tmp_path / "job", {})
    monkeypatch.setattr("shoal.runtime.checkpoint.os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        checkpoint.load_or_make("part", lambda: {"t": np.arange(7)})
    assert [path.name for path in (tmp_path / "job").iterdir()] == ["job.json"]


def test_only_the_owner_may_read_the_parts(tmp_path: Path) -> None:
    Checkpoint.open(tmp_path / "job", {})
    assert (tmp_path / "job").stat().st_mode & 0o077 == 0


def test_a_folder_that_others_may_read_becomes_the_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir(mode=0o755)
    with Checkpoint.until_done(tmp_path / "job", {}):
        assert (tmp_path / "job").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("owner", [0, 1])
def test_a_folder_whose_rights_cannot_be_set_serves_its_owner_alone(
    owner: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems know no rights; and somebody else may have made the folder, to read what comes."""

    def refused(_path: Path, _mode: int) -> None:
        raise PermissionError(errno.EPERM, "not permitted")

    (tmp_path / "job").mkdir(mode=0o755)
    monkeypatch.setattr(Path, "chmod", refused)
    mine = (tmp_path / "job").stat().st_uid
    monkeypatch.setattr("os.geteuid", lambda: mine + owner)

    def work() -> None:
        with Checkpoint.until_done(tmp_path / "job", {}) as kept:
            assert kept.folder == tmp_path / "job"

    if owner:
        with pytest.raises(OutputError, match="no permission to write there"):
            work()
    else:
        work()


def test_digest_ofs_tell_data_apart() -> None:
    column = np.arange(6)
    assert digest_of(column) == digest_of(column.copy())
    others: list[np.ndarray] = [column[::-1], column.astype(np.int32), column.reshape(2, 3), column[:5]]
    assert len({digest_of(column), *(digest_of(other) for other in others)}) == 5
