"""Adding a thing touches as many files as CONTRIBUTING.md says, and then the thing is everywhere.

Each toy is added to a copy of the source by the steps of that page; shoal is then run from the copy.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

SOURCE = Path(__file__).parents[2] / "src" / "shoal"


@dataclass(frozen=True, kw_only=True)
class Addition:
    """What somebody does who adds a thing.

    new: files by their place in the package. changed: of files that exist, what is replaced by what, in turn; each
    text to replace stands in its file once.
    """

    new: Mapping[str, str]
    changed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def apply(self, package: Path) -> None:
        """Make the addition in a copy of the package."""
        for place, text in self.new.items():
            assert not (package / place).exists(), f"{place} is no new file"
            (package / place).write_text(dedent(text).lstrip())
        for place, replaced in self.changed.items():
            code = (package / place).read_text()
            for old, new in replaced.items():
                assert code.count(old) == 1, f"'{old}' stands {code.count(old)} times in {place}"
                code = code.replace(old, new)
            (package / place).write_text(code)


@dataclass(frozen=True)
class Copy:
    """A copy of the package that can be changed and run. Compiled kernels come along, so that it starts quickly."""

    folder: Path

    @classmethod
    def with_added(cls, folder: Path, addition: Addition) -> "Copy":
        shutil.copytree(SOURCE, folder / "src" / "shoal", copy_function=copied)
        addition.apply(folder / "src" / "shoal")
        return cls(folder)

    def run(self, *words: str, code: int = 0) -> str:
        """What a command prints, with the exit code that it should have."""
        outcome = subprocess.run(
            [sys.executable, "-m", "shoal", *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "src"), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert outcome.returncode == code, outcome.stderr
        return outcome.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json", "--quiet"))


def copied(source: str, target: str) -> None:
    """Copy a file unless it is gone: other tests compile kernels, whose files come and go."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target)


FORMAT = Addition(
    new={
        "io/pipe_files.py": '''
            """Files with one sample a line: who|seconds|latitude|longitude."""

            from collections.abc import Iterator, Sequence
            from pathlib import Path

            import pyarrow as pa

            from shoal.io.tables import Table

            COLUMNS = ("uid", "t", "lat", "lon")


            def open_table(path: Path) -> Table:
                """The samples of one file."""

                def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
                    rows = [line.split("|") for line in path.read_text().splitlines()]
                    held = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
                    yield 1.0, pa.record_batch({name: pa.array(held[name], pa.string()) for name in columns})

                return Table(name=path.name, columns=COLUMNS, batches=batches)
        '''
    },
    changed={
        "io/sources.py": {
            "plt_files\n": "pipe_files, plt_files\n",
            '    ".plt": plt_files.open_table,\n': (
                '    ".plt": plt_files.open_table,\n    ".pipe": pipe_files.open_table,\n'
            ),
        }
    },
)


def test_a_format_is_one_file_and_one_row(tmp_path: Path) -> None:
    assert (len(FORMAT.new), len(FORMAT.changed)) == (1, 1)
    copy = Copy.with_added(tmp_path, FORMAT)
    (tmp_path / "calls.pipe").write_text("amy|1700000000|45.1|5.1\nbob|1700000060|45.2|5.2\n")
    assert copy.json("inspect", "calls.pipe")["subjects"] == 2
    (tmp_path / "folder").mkdir()
    (tmp_path / "calls.pipe").rename(tmp_path / "folder" / "calls.pipe")
    assert copy.json("inspect", "folder")["samples"] == 2
