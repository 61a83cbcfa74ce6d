"""All distributions, built and installed: the core alone does its job, and packages bring their commands."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

import build_wheel
from shoal.version import __version__

PACKAGES = {
    "collect": "shoal-collect",
    "desk": "shoal-desk",
    "reproduce": "shoal-papers",
    "tabulate": "shoal-tables",
}
"""Which distribution each command comes with."""


@dataclass(frozen=True)
class Environment:
    """A fresh virtual environment that sees the libraries of this one, but no package of shoal."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> "Environment":
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        libraries = folder.with_name("libraries")
        libraries.mkdir()
        for path in Path(sysconfig.get_path("purelib")).iterdir():
            if "shoal" not in path.name and path.suffix != ".pth":
                (libraries / path.name).symlink_to(path)
        (site,) = folder.glob("lib/python*/site-packages")
        (site / "libraries.pth").write_text(f"{libraries}\n")
        return cls(folder)

    def install(self, *wheels: Path) -> None:
        words = [
            "-m",
            "pip",
            "--python",
            str(self.folder / "bin" / "python"),
            "install",
            "--quiet",
            "--no-deps",
        ]
        options = ["--no-index", "--no-compile", "--disable-pip-version-check", *map(str, wheels)]
        subprocess.run([sys.executable, *words, *options], check=True)

    def shoal(self, *words: str) -> "subprocess.CompletedProcess[str]":
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        command = [str(self.folder / "bin" / "shoal"), *words]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def origin(self, module: str) -> Path:
        """Where a module is imported from."""
        code = f"import {module}; print({module}.__file__)"
        command = [str(self.folder / "bin" / "python"), "-I", "-c", code]
        return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("distributions")
    build_wheel.main(["--plain", "--output", str(folder)])
    return folder


def wheel(distributions: Path, name: str) -> Path:
    (path,) = distributions.glob(f"{name.replace('-', '_')}-{__version__}-*.whl")
    return path


def test_each_package_has_a_wheel_and_a_source_distribution_of_one_version(distributions: Path) -> None:
    names = {"shoal", *(name.replace("-", "_") for name in PACKAGES.values())}
    assert {path.name for path in distributions.iterdir()} == {
        f"{name}-{__version__}{ending}" for name in names for ending in ("-py3-none-any.whl", ".tar.gz")
    }
    for name in names:
        with zipfile.ZipFile(distributions / f"{name}-{__version__}-py3-none-any.whl") as files:
            inside = files.namelist()
        assert {path.partition("/")[0] for path in inside} == {name, f"{name}-{__version__}.dist-info"}
        project = next(path for path in build_wheel.packages() if (path / "src" / name).exists())
        files_of = {str(path.relative_to(project / "src")) for path in (project / "src" / name).rglob("*.*")}
        assert {path for path in files_of if "__pycache__" not in path} <= set(inside)
        with tarfile.open(distributions / f"{name}-{__version__}.tar.gz") as files:
            source = {path.partition("/src/")[2] for path in files.getnames()}
        assert {path for path in inside if path.startswith(f"{name}/")} <= source


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((build_wheel.ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (__version__, "Apache-2.0")
    for folder in build_wheel.packages()[1:]:
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        assert project["version"] == __version__
        assert f"shoal=={__version__}" in project["dependencies"]
        assert set(project["entry-points"]["shoal.commands"]) & set(PACKAGES)


def test_the_core_alone_and_then_each_package(distributions: Path, tmp_path: Path) -> None:
    environment = Environment.create(tmp_path / "environment")
    environment.install(wheel(distributions, "shoal"))
    assert environment.origin("shoal").is_relative_to(environment.folder)
    shown = environment.shoal("demo", "--json", "--quiet")
    assert shown.returncode == 0, shown.stderr
    facts = json.loads(shown.stdout)
    words = [facts["city"], facts["output"], "--linkage", facts["linkage"], "--json", "--quiet"]
    verdict = environment.shoal("verify", *words)
    assert verdict.returncode == 0, verdict.stderr
    assert json.loads(verdict.stdout)["holds"]
    for command, distribution in PACKAGES.items():
        missing = environment.shoal(command)
        assert missing.returncode == 2
        (line,) = missing.stderr.splitlines()
        assert f"pip install {distribution}" in line.replace("'", "").replace("`", "")
    environment.install(*(wheel(distributions, name) for name in PACKAGES.values()))
    for command, distribution in PACKAGES.items():
        assert environment.origin(distribution.replace("-", "_")).is_relative_to(environment.folder)
        there = environment.shoal(command, "--help")
        assert (there.returncode, there.stderr) == (0, "")
        assert f"Usage: shoal {command}" in there.stdout
