"""Additions to the package as data, and copies of it to which they are added and that can be run."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

import shoal

SOURCE = Path(shoal.__file__).parent
CHECKOUT = SOURCE.parents[1]
COPIED = ("tests", "docs", "packages")  # the rest of the checkout is linked
LOOP = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from shoal.cli.main import main
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(json.loads(line))
        except SystemExit as left:
            code = left.code
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""  # a command on each line, and what it did


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row added to a table: a tuple, a list, a dictionary or a union of types at the top of a file."""

    table: str
    text: str
    imports: tuple[str, ...] = ()

    def added_to(self, code: str) -> str:
        tree = ast.parse(code)
        table = next(
            node.value
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign) and self._is_it(node) and node.value is not None
        )
        first_import = next(node for node in tree.body if isinstance(node, ast.ImportFrom))
        lines = code.splitlines(keepends=True)
        last: ast.expr
        if isinstance(table, ast.BinOp):
            last, text = table, f" | {self.text}"
        else:
            assert isinstance(table, ast.Tuple | ast.List | ast.Dict), f"{self.table} is no literal table"
            last, text = (table.values if isinstance(table, ast.Dict) else table.elts)[-1], f", {self.text}"
        at = (last.end_lineno or 0) - 1
        line = lines[at].encode()  # columns count bytes
        lines[at] = (line[: last.end_col_offset] + text.encode() + line[last.end_col_offset :]).decode()
        lines[first_import.lineno - 1 : first_import.lineno - 1] = [f"{line}\n" for line in self.imports]
        return "".join(lines)

    def _is_it(self, node: ast.stmt) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        return any(isinstance(target, ast.Name) and target.id == self.table for target in targets)


@dataclass(frozen=True)
class Line:
    """A line added below another one, which stands in its file once."""

    below: str
    text: str

    def added_to(self, code: str) -> str:
        assert code.count(self.below) == 1, f"'{self.below}' stands {code.count(self.below)} times"
        return code.replace(self.below, self.below + self.text)


@dataclass(frozen=True)
class LastItem:
    """An item added at the end of the list under a heading."""

    heading: str
    text: str

    def added_to(self, page: str) -> str:
        before, heading, rest = page.partition(f"\n{self.heading}\n\n")
        assert heading, f"'{self.heading}' is no heading"
        items, end, after = rest.partition("\n\n")
        return f"{before}{heading}{items}\n{self.text}{end}{after}"


@dataclass(frozen=True, kw_only=True)
class Addition:
    """What somebody does who adds a thing.

    new: files by their place in the package. changed: what is added to files that exist. pages: new pages and
    rows of pages, by their place in the checkout.
    """

    new: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, tuple[Row | Line, ...]] = field(default_factory=dict)
    pages: Mapping[str, str | Line | Row | tuple[Line | LastItem, ...]] = field(default_factory=dict)

    @property
    def places(self) -> tuple[str, ...]:
        """Every file that is new or touched."""
        return (*self.new, *self.changed)

    @property
    def files(self) -> tuple[int, int]:
        """How many source files are new, and how many others are touched."""
        return len(self.new), len(self.changed)

    def apply(self, package: Path) -> None:
        """Make the addition in a copy of the package."""
        for place, text in self.new.items():
            assert not (package / place).exists(), f"{place} is no new file"
            (package / place).write_text(dedent(text).lstrip())
        for place, changes in self.changed.items():
            code = (package / place).read_text()
            for change in changes:
                code = change.added_to(code)
            (package / place).write_text(code)

    def apply_to_pages(self, checkout: Path) -> None:
        """Write its pages, and their rows, in a copy of the checkout."""
        for place, text in self.pages.items():
            page = checkout / place
            if isinstance(text, str):
                assert not page.exists(), f"{place} is no new page"
                page.write_text(dedent(text).lstrip())
                continue
            for row in text if isinstance(text, tuple) else (text,):
                page.write_text(row.added_to(page.read_text()))


def run_on_a_copy(folder: Path, additions: Sequence[Addition], tests: Sequence[str]) -> str:
    """What pytest prints about these tests, run in a copy of the checkout with the additions."""
    touched = {parent for each in additions for place in each.places for parent in Path(place).parents}
    _copy(SOURCE, folder / "src" / "shoal", touched)
    for part in CHECKOUT.iterdir():
        if part.name in COPIED:
            shutil.copytree(part, folder / part.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif part.suffix in (".md", ".toml", ".py"):
            shutil.copy2(part, folder)
        elif part.name != "src" and not part.name.startswith("."):
            (folder / part.name).symlink_to(part)
    for addition in additions:
        addition.apply(folder / "src" / "shoal")
        addition.apply_to_pages(folder)
    sources = [folder / "src", *(folder / "packages").glob("*/src")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=short", *tests],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sources))},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@dataclass(frozen=True)
class Copy:
    """A copy of the package with something added.

    Folders in which nothing changes are links, so that kernels are compiled once for all copies; those of
    other folders come along as far as they are compiled. All commands run in one process of the copy's own.
    """

    folder: Path
    process: subprocess.Popen[str]

    @classmethod
    def with_added(cls, folder: Path, *additions: Addition, source: Path = SOURCE) -> "Copy":
        package = folder / "src" / "shoal"
        touched = {parent for each in additions for place in each.places for parent in Path(place).parents}
        _copy(source, package, touched)
        for addition in additions:
            addition.apply(package)
        process = subprocess.Popen(
            [sys.executable, "-c", LOOP],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "200"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return cls(folder, process)

    def __enter__(self) -> "Copy":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def run(self, *words: str, code: int = 0) -> str:
        """What a command prints; it must end with this exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(words), file=self.process.stdin, flush=True)
        said = self.process.stdout.readline()
        assert said, f"the process of the copy ended at {' '.join(words)}"
        ended, out, err = json.loads(said)
        assert ended == code, err
        return str(out)

    def json(self, *words: str) -> Any:
        """What a command prints as JSON."""
        return json.loads(self.run(*words, "--json", "--quiet"))

    def text(self, place: str) -> str:
        """A file that a command wrote."""
        return (self.folder / place).read_text()


def _copy(source: Path, target: Path, touched: set[Path], here: Path = Path()) -> None:
    """Copy the touched folders, and link those in them in which nothing is touched."""
    target.mkdir(parents=True)
    for part in source.iterdir():
        if part.is_file():
            shutil.copy2(part, target)
        elif here / part.name in touched:
            _copy(part, target / part.name, touched, here / part.name)
        elif part.name == "__pycache__":
            shutil.copytree(part, target / part.name, copy_function=_copied)
        else:
            (target / part.name).symlink_to(part)


def _copied(source: str, target: str) -> None:
    """Copy a file unless it is gone: other tests compile kernels, whose files come and go."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target)
