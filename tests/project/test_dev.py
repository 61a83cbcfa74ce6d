"""``./dev`` with an interpreter that only notes what it is asked to install: nothing is downloaded."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TO_RUN = (
    ".[excel,fit] packages/collect[server] packages/desk packages/papers packages/tables[noise,zones,omx]"
)
TO_TEST = ".[dev] packages/collect[server,app] packages/desk packages/papers packages/tables[noise,zones,omx]"
INTERPRETER = """#!/bin/sh
case "$*" in
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    *" uv")
        printf '#!/bin/sh\\n[ -z "$NO_UV" ] && echo uv $* >> "$NOTED" && %s\\n' "$MADE" > "$BIN/uv"
        chmod +x "$BIN/uv"
        ;;
    *"pip install"*) echo "pip $*" >> "$NOTED"; sh -c "$MADE" ;;
esac
"""


class Clone:
    """A copy of ``dev`` in a folder with a space in its name."""

    def __init__(self, folder: Path) -> None:
        self.root, self.elsewhere = folder / "a clone", folder / "elsewhere"
        self.root.mkdir()
        self.elsewhere.mkdir()
        for name in ("dev", "pyproject.toml", "constraints.txt"):
            shutil.copy(ROOT / name, self.root / name)
        for package in ("collect", "desk", "papers", "tables"):
            (self.root / "packages" / package).mkdir(parents=True)
            shutil.copy(ROOT / "packages" / package / "pyproject.toml", self.root / "packages" / package)
        self.python = folder / "python"
        self.python.write_text(INTERPRETER)
        self.python.chmod(0o755)
        self.noted = folder / "noted"

    def run(self, *arguments: str, **environment: str) -> str:
        """What it prints; what it installed is in ``installed``."""
        self.noted.write_text("")
        bin_folder = self.root / ".venv" / "bin"
        made = f"printf '#!/bin/sh\\npwd\\n' > '{bin_folder}/shoal'; chmod +x '{bin_folder}/shoal'"
        ended = subprocess.run(
            [str(self.root / "dev"), *arguments],
            cwd=self.elsewhere,
            env={
                "PATH": os.environ["PATH"],
                "PYTHON": str(self.python),
                "NOTED": str(self.noted),
                "BIN": str(bin_folder),
                "MADE": made,
                "NO_UV": "",
                **environment,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return ended.stdout.strip()

    @property
    def installed(self) -> list[str]:
        """Each installation of the last run: by what, and which packages with which extras."""
        lines = self.noted.read_text().splitlines()
        return [" ".join([line.split()[0], *re.findall(r"-e (\S+)", line)]) for line in lines]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_a_command_runs_where_the_user_is(clone: Clone) -> None:
    assert clone.run("shoal", "inspect", "calls.csv") == str(clone.elsewhere)
    assert clone.installed == [f"uv {TO_RUN}"]
    clone.run("demo")
    assert clone.installed == [], "set up once"


def test_tests_need_more_and_keep_it(clone: Clone) -> None:
    clone.run("demo")
    clone.run("python")
    assert clone.installed == [f"uv {TO_TEST}"]
    clone.run("demo")
    assert clone.installed == []
    (clone.root / "constraints.txt").write_text("")
    clone.run("demo")
    assert clone.installed == [f"uv {TO_TEST}"], "what was there is brought up to date whole"


def test_without_uv_pip_installs(clone: Clone) -> None:
    assert clone.run("shoal", NO_UV="1") == str(clone.elsewhere)
    assert clone.installed == [f"pip {TO_RUN}"]


@pytest.mark.parametrize("harm", ["moved", "python is gone", "command is gone"])
def test_a_broken_environment_is_made_anew(clone: Clone, harm: str) -> None:
    clone.run("shoal")
    bin_folder = clone.root / ".venv" / "bin"
    if harm == "moved":
        clone.root = clone.root.rename(clone.root.with_name("moved"))
    else:
        (bin_folder / ("python" if harm == "python is gone" else "shoal")).unlink()
    assert clone.run("shoal") == str(clone.elsewhere)
    assert clone.installed == [f"uv {TO_RUN}"]
