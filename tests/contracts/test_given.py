"""Whatever is handed to a public function is used, or refused in one sentence of Python's words."""

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.comparison.study import Setting
from shoal.errors import to_python_names
from shoal.model.intake import Reading
from shoal.publishing.ecosystem import to_movingpandas, to_positionfixes
from shoal.utility.frontier import Budget

PACKAGE = Path(shoal.__file__).parent
NOT_IN_PYTHON = ("cli", "local_pages", "sharing")  # rooms without public functions


@pytest.fixture(scope="module")
def case() -> dict[str, Any]:
    frame = shoal.synthesize(n_subjects=12, days=1, seed=1).to_pandas()
    calls = shoal.read(frame)
    rng = shoal.Randomness.for_research(1)
    release, linkage = shoal.Glove(k=2).anonymize(calls, rng)
    return {"frame": frame, "calls": calls, "release": release, "linkage": linkage, "rng": rng}


STUDY = shoal.Study(settings=(Setting(label="a", name="glove", method=shoal.Glove(k=2)),), budget=Budget())
TAKES_DATA: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "publish": lambda data, has: shoal.publish(data, shoal.Glove(k=2), "unwritten", rng=has["rng"]),
    "assess": lambda data, _: shoal.assess(data, [2]),
    "verify": lambda data, has: shoal.verify(data, has["release"], has["linkage"]),
    "verify_folder": lambda data, has: shoal.verify_folder(data, "unwritten", has["linkage"]),
    "attack": lambda data, has: shoal.attack(data, has["release"], has["linkage"], rng=has["rng"]),
    "measure": lambda data, has: shoal.measure(data, has["release"], has["linkage"]),
    "compare": lambda data, _: shoal.compare(data, STUDY, "unwritten"),
    "k_gap": lambda data, _: shoal.k_gap(data, 2),
    "k_gaps": lambda data, _: shoal.k_gaps(data, [2]),
    "describe": lambda data, _: shoal.describe(data),
    "trajectory_distances": lambda data, _: shoal.trajectory_distances(data),
}


def _anonymizing(kind: type[shoal.Method]) -> Callable[[Any, dict[str, Any]], Any]:
    return lambda data, has: kind().anonymize(data, has["rng"])


TAKES_DATA |= {name: _anonymizing(kind) for name, kind in shoal.METHODS.items()}
READS_A_PATH: dict[str, Callable[[Any], Any]] = {
    "read_release": shoal.read_release,
    "read_linkage": shoal.read_linkage,
    "read_study": shoal.read_study,
    "read_statement": shoal.read_statement,
    "read_stations": shoal.read_stations,
}


@pytest.mark.parametrize("name", TAKES_DATA)
def test_a_frame_a_path_and_nothing_are_refused_where_trajectories_belong(
    name: str, case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for wrong in (case["frame"], "calls.csv", None, case["release"]):
        with pytest.raises(shoal.MisuseError, match=r"needed as Trajectories, not as .* shoal\.read"):
            TAKES_DATA[name](wrong, case)
    assert list(tmp_path.iterdir()) == []


def test_every_public_function_of_raw_data_is_tried() -> None:
    takes = {
        name
        for name in shoal.__all__
        if inspect.isfunction(function := getattr(shoal, name))
        and "Trajectories" in str(next(iter(inspect.signature(function).parameters.values()), ""))
    }
    assert takes
    assert takes - {"k_merge"} <= TAKES_DATA.keys()  # which takes plain arrays


@pytest.mark.parametrize("name", READS_A_PATH)
def test_a_path_may_be_text_and_what_is_not_there_is_said(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "note.txt").write_text("no release")
    for wrong in ("absent", "note.txt", "empty"):
        with pytest.raises(shoal.InputError, match=wrong):
            READS_A_PATH[name](str(tmp_path / wrong))
    for no_path in (None, 3, "s3://bucket/release"):
        with pytest.raises(shoal.MisuseError, match=r"needed as a path|on this machine"):
            READS_A_PATH[name](no_path)


def test_a_release_is_published_and_read_by_paths_of_text(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    method = shoal.Glove(k=2)
    published = shoal.publish(
        case["calls"], method, "out", rng=case["rng"], tries=0, linkage_file="linkage.parquet"
    )
    verdict = shoal.verify_folder(case["calls"], "out", shoal.read_linkage("linkage.parquet"))
    assert bool(verdict) is verdict.holds is True
    assert shoal.read_release("out").n_records == 12
    assert "<caption>Published</caption>" in published._repr_html_()
    measured = shoal.measure(case["calls"], case["release"], case["linkage"], ["samples-covered"])
    assert "<th>samples-covered</th><td>1 share</td>" in measured._repr_html_()
    with pytest.raises(shoal.OutputError, match="out exists; choose another output"):
        shoal.publish(case["calls"], method, "out", rng=case["rng"])
    for wrong in ("glove", shoal.Glove):
        with pytest.raises(shoal.MisuseError, match="a method is needed with its parameters"):
            shoal.publish(case["calls"], wrong, "other", rng=case["rng"])  # type: ignore[arg-type]
    with pytest.raises(shoal.MisuseError, match="on this machine"):
        shoal.publish(case["calls"], method, "s3://bucket/out", rng=case["rng"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["linkage.parquet", "out"]


def test_a_seed_is_no_randomness_and_is_not_repeated(case: dict[str, Any]) -> None:
    for wrong in (424242, np.random.default_rng(424242), None):
        with pytest.raises(shoal.MisuseError, match=r"Randomness\.from_system\(\)") as refused:
            shoal.Glove(k=2).anonymize(case["calls"], wrong)  # type: ignore[arg-type]
        assert "424242" not in str(refused.value)
    for wrong in (424242, np.random.default_rng(424242)):  # None: nothing is published
        with pytest.raises(shoal.MisuseError, match=r"Randomness\.from_system\(\)"):
            shoal.attack(case["calls"], case["release"], case["linkage"], rng=wrong)  # type: ignore[arg-type]


def test_releases_and_linkages_are_not_paths(case: dict[str, Any]) -> None:
    calls, release, linkage = case["calls"], case["release"], case["linkage"]
    with pytest.raises(shoal.MisuseError, match=r"a Release is needed, not a str; shoal\.read_release"):
        shoal.verify(calls, "out", linkage)  # type: ignore[arg-type]
    with pytest.raises(shoal.MisuseError, match=r"a Linkage is needed, not a str; shoal\.read_linkage"):
        shoal.measure(calls, release, "linkage.parquet")  # type: ignore[arg-type]
    with pytest.raises(shoal.MisuseError, match=r"write knowledge=\['points:4'\]"):
        shoal.attack(calls, release, linkage, knowledge="points:4", rng=case["rng"])


@pytest.mark.parametrize("name", shoal.METHODS)
def test_k_is_a_whole_number(name: str) -> None:
    for wrong in (2.5, 5.0, "5", True, None, float("nan"), -1, 1):
        with pytest.raises(
            shoal.MisuseError, match=r"k = .* (is not a whole number|hides nobody); choose k >= 2"
        ):
            shoal.METHODS[name](k=wrong)
    kept = shoal.METHODS[name](k=np.int64(5)).parameters()["k"]
    assert (type(kept), kept) == (int, 5)


@pytest.mark.parametrize("name", shoal.METHODS)
def test_numbers_are_no_texts(name: str) -> None:
    from shoal.methods.parameters import declared_parameters

    numbers = [each for each, about in declared_parameters(shoal.METHODS[name]).items() if about.unit]
    assert numbers
    for each in numbers:
        for wrong in ("15km", True, float("nan")):
            with pytest.raises(shoal.MisuseError, match=r"number|must be|would drop|hides nobody"):
                shoal.METHODS[name](**{each: wrong})


def test_years_of_synthetic_people_are_refused_at_once() -> None:
    for days in (99_999, 2.5, "7"):
        with pytest.raises(shoal.MisuseError, match="days = "):
            shoal.synthesize(n_subjects=2, days=days, seed=1)  # type: ignore[arg-type]


def test_errors_speak_python_and_the_command_line_speaks_its_own() -> None:
    error = shoal.InputError("times without a zone; give --time-zone, or read with --no-snap")
    assert str(error) == "times without a zone; give time_zone, or read with snap=False"
    assert error.cli_message == "times without a zone; give --time-zone, or read with --no-snap"


def test_what_errors_name_is_an_argument_of_a_public_function() -> None:
    known = set(Reading.__dataclass_fields__)
    # the second are imported from their own module, as docs/formats.md shows
    public = [getattr(shoal, name) for name in shoal.__all__] + [to_movingpandas, to_positionfixes]
    for thing in public:
        if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception)):
            known |= set(inspect.signature(thing).parameters)
    asked: dict[str, str] = {}
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] in NOT_IN_PYTHON:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                for text in (part.value for part in ast.walk(node.exc) if isinstance(part, ast.Constant)):
                    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", str(text)):
                        asked[to_python_names(option).partition("=")[0]] = str(path.name)
    assert len(asked) > 20
    only_commands = {
        "publish": {"to"},
        "blocks": {"blocks", "streamed", "engine", "memory"},
        "plans": {"plan"},
    }
    left = {name: where for name, where in asked.items() if name not in known.union(*only_commands.values())}
    assert left == {}
