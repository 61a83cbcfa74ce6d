"""The Dockerfiles, line by line: what they copy exists, extras are declared, the image runs as a user."""

import json
import re
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from shoal.cli.main import shoal as commands

ROOT = Path(__file__).parents[2]
CORE, COLLECT = ROOT / "deploy" / "Dockerfile", ROOT / "deploy" / "collect" / "Dockerfile"


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """Each instruction with its argument, continued lines joined and comments left out."""
    text = re.sub(r"^#.*\n", "", dockerfile.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def installed(dockerfile: Path) -> list[str]:
    """What pip installs under the constraints, for example ``.`` or ``./packages/collect[server]``."""
    lines = [
        argument for name, argument in instructions(dockerfile) if name == "RUN" and "install" in argument
    ]
    pinned = next(argument for argument in lines if "-c constraints.txt" in argument)
    words = pinned.partition("-c constraints.txt")[2].partition("&&")[0].split()
    return [word.strip('"') for word in words]


@pytest.mark.parametrize("dockerfile", [CORE, COLLECT])
def test_files_that_are_copied_exist(dockerfile: Path) -> None:
    copied = [argument.split()[:-1] for name, argument in instructions(dockerfile) if name == "COPY"]
    sources = [source for words in copied if not words[0].startswith("--") for source in words]
    assert {"pyproject.toml", "constraints.txt", "src"} <= set(sources)
    assert [source for source in sources if not (ROOT / source).exists()] == []


@pytest.mark.parametrize("dockerfile", [CORE, COLLECT])
def test_packages_that_are_installed_are_copied_and_their_extras_declared(dockerfile: Path) -> None:
    copied = dockerfile.read_text()
    for requirement in installed(dockerfile):
        folder, _, extras = requirement.replace("${EXTRAS:+[$EXTRAS]}", "").rstrip("]").partition("[")
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        assert set(extras.split(",")) - {""} <= set(project["optional-dependencies"])
        assert folder == "." or f"COPY {folder.removeprefix('./')} " in copied
    named = re.search(r"EXTRAS=([\w,]+)", copied)
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(named[1].split(",") if named else ()) <= set(core)


def test_the_image_of_collect_installs_the_core_and_the_package_with_its_server() -> None:
    assert installed(COLLECT) == [".", "./packages/collect[server]"]
    assert installed(CORE) == [".${EXTRAS:+[$EXTRAS]}"]


@pytest.mark.parametrize("dockerfile", [CORE, COLLECT])
def test_versions_are_pinned_and_the_base_is_named_once(dockerfile: Path) -> None:
    lines = instructions(dockerfile)
    assert [argument.split()[0] for name, argument in lines if name == "FROM"] == ["${BASE}"] * 2
    steps = [step for name, argument in lines if name == "RUN" for step in argument.split("&&")]
    installs = [step for step in steps if "pip" in step and " install " in step]
    assert len(installs) == 2
    assert [step for step in installs if "-c constraints.txt" not in step and "==" not in step] == []
    assert "--no-compile" in dockerfile.read_text()
    assert "cyclonedx-py environment --output-reproducible" in dockerfile.read_text()


@pytest.mark.parametrize("dockerfile", [CORE, COLLECT])
def test_the_image_runs_as_a_user_without_privileges(dockerfile: Path) -> None:
    lines = instructions(dockerfile)
    last = lines[max(at for at, (name, _) in enumerate(lines) if name == "FROM") :]
    names = [name for name, _ in last]
    assert ("USER", "10001") in last
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert "root" not in str(last)


@pytest.mark.parametrize("dockerfile", [CORE, COLLECT])
def test_the_command_of_the_image_exists(dockerfile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = dict(instructions(dockerfile))
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert json.loads(lines["ENTRYPOINT"]) == list(scripts)
    words = json.loads(lines["CMD"])
    assert all(word.startswith("-") or isinstance(commands.commands[word], click.Command) for word in words)
    with pytest.raises(SystemExit) as ended:
        commands.main(words, prog_name="shoal")
    assert ended.value.code == 0
    assert "Usage: shoal" in capsys.readouterr().out


def test_the_compose_file_builds_the_image_of_collect() -> None:
    build = yaml.safe_load((ROOT / "deploy" / "collect" / "compose.yaml").read_text())["x-shoal"]["build"]
    context = COLLECT.parent / build["context"]
    assert context.resolve() == ROOT
    assert (context / build["dockerfile"]).resolve() == COLLECT
    assert build.keys() == {"context", "dockerfile"}
