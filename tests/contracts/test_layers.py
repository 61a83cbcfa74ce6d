"""The import rules hold for files that do not exist yet: no list has to name a new file."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The source and its rules, to be changed."""
    for package in (ROOT / "src" / "shoal", *ROOT.glob("packages/*/src/shoal_*")):
        if package.suffix != ".egg-info":
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(package, tmp_path / "src" / package.name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(copy: Path) -> subprocess.CompletedProcess[str]:
    """What the linter says of a copy, in lines that are not broken."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as run; run()",
            "--no-cache",
        ],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "src"), "COLUMNS": "1000", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def packages_in(copy: Path, module: str) -> list[Path]:
    """The folders of a package, itself first; none for a room that is a single file."""
    home = copy.joinpath("src", *module.split("."))
    return sorted(path.parent for path in home.rglob("__init__.py"))


def newcomer(folder: Path, name: str, imported: str) -> str:
    """A new file with one import, as the linter writes that import."""
    (folder / f"{name}.py").write_text(f"import {imported}\n")
    parts = folder.parts[folder.parts.index("src") + 1 :]
    return f"{'.'.join((*parts, name))} -> {imported} (l.1)"


def upward_imports(copy: Path) -> list[str]:
    """A new file in every folder of every room, and in a new one, that imports from the layer above."""
    refused = []
    for contract in CONTRACTS:
        for container in contract.get("containers", ()):
            layers = [re.findall(r"\w+", layer) for layer in contract["layers"]]
            for above, layer in pairwise(layers):
                for room in layer:
                    folders = packages_in(copy, f"{container}.{room}")
                    if folders:
                        fresh = folders[0] / "annex"
                        fresh.mkdir(exist_ok=True)
                        (fresh / "__init__.py").touch()
                        folders.append(fresh)
                    name = f"newcomer_of_{container.rpartition('.')[2]}"
                    refused += [newcomer(folder, name, f"{container}.{above[0]}") for folder in folders]
    return refused


def forbidden_imports(copy: Path) -> list[str]:
    """For every rule beside the layers, a new file in every folder under it that imports what it forbids."""
    return [
        newcomer(folder, f"outsider_{number}", contract["forbidden_modules"][0])
        for number, contract in enumerate(CONTRACTS)
        for source in contract.get("source_modules", ())
        for folder in packages_in(copy, source)
        if contract["type"] == "forbidden"
    ]


def test_a_new_file_anywhere_is_under_the_rules(copy: Path) -> None:
    forbidden, upward = forbidden_imports(copy), upward_imports(copy)
    assert len(upward) > 30
    assert {line.split(".")[0] for line in (*upward, *forbidden)} == {
        "shoal",
        "shoal_collect",
        "shoal_tables",
    }
    assert len(forbidden) > 30
    outcome = lint(copy)
    assert outcome.returncode == 1
    assert [line for line in (*upward, *forbidden) if line not in outcome.stdout] == []


def test_a_room_on_no_list_is_refused(copy: Path) -> None:
    (copy / "src" / "shoal" / "stray.py").touch()
    (copy / "src" / "shoal" / "attic").mkdir()
    (copy / "src" / "shoal" / "attic" / "__init__.py").touch()
    outcome = lint(copy)
    assert outcome.returncode == 1
    assert "shoal.stray" in outcome.stdout
    assert "shoal.attic" in outcome.stdout


def test_the_copy_itself_keeps_the_rules(copy: Path) -> None:
    outcome = lint(copy)
    assert outcome.returncode == 0
    assert f"{len(CONTRACTS)} kept, 0 broken" in outcome.stdout


def test_a_module_of_the_core_loads_with_the_dependencies_alone() -> None:
    """Of extras, imports stand where they are used. Pages have the servers of the desk and of collect."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    known = {"shoal", "llvmlite", "markupsafe", "pydantic_core", "typing_extensions"}  # theirs
    known |= {re.split("[><=]", entry)[0] for entry in declared} | sys.stdlib_module_names
    sources = [path for path in (ROOT / "src" / "shoal").rglob("*.py") if path.parent.name != "local_pages"]
    loaded = {
        (name.split(".")[0], path.name)
        for path in sources
        for each in ast.parse(path.read_text()).body
        for name in (
            [alias.name for alias in each.names]
            if isinstance(each, ast.Import)
            else [each.module or ""]
            if isinstance(each, ast.ImportFrom)
            else []
        )
    }
    assert len(sources) > 100
    assert {(name, file) for name, file in loaded if name not in known} == set()
