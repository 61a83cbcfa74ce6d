"""Incomplete outputs are locked while a command writes them, and by nothing afterward."""

from pathlib import Path

from shoal.runtime.staging import is_in_use, staged_file, staged_folder


def test_what_a_command_still_writes_is_in_use(tmp_path: Path) -> None:
    with staged_folder(tmp_path / "release") as folder, staged_file(tmp_path / "links", lambda _file: None):
        (parts,) = tmp_path.glob(".links.partial-*")
        assert (is_in_use(folder), is_in_use(parts)) == (True, True)
    assert [is_in_use(tmp_path / name) for name in ("release", "links", "absent")] == [False, False, False]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["links", "release"]
