"""Parameters beyond the claim that the table shows again: a false one is found, and a true one holds."""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from folder_damages import edit_manifest
from naive_release import small_city
from shoal.methods import METHODS
from shoal.methods.parameters import declared_parameters
from shoal.model.claims import KAnonymity
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Boxes, Linkage, Losses, Payload, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.verification.files.visible import VISIBLE, count_beyond_parameters, parameter_findings
from small_points import crowd
from streamed_check import streamed_verdict

Case = tuple[Trajectories, Path, Linkage]
MADE: dict[str, Callable[[], tuple[Trajectories, Any]]] = {
    "glove": lambda: (
        small_city(24, 12),
        shoal.Glove(k=2, suppress_space_m=9_000.0, suppress_time_s=4 * 3600.0),
    ),
    "glove, fitted": lambda: (small_city(24, 12), shoal.Glove(k=2, extent_at_most="9km,4h")),
    "static, moved": lambda: (
        small_city(),
        shoal.StaticGeneralization(k=2, grid_m=20_000.0, grid_offset_m=1_300.0, slot_s=6e8),
    ),
    "static": lambda: (small_city(), shoal.StaticGeneralization(k=2, grid_m=20_000.0, slot_s=6e8)),
    "nwa": lambda: (crowd(), shoal.Nwa(k=2, delta_m=400.0, pi_s=60.0, step_s=20.0)),
}
# parameters that the release cannot have been made with
FALSE: dict[tuple[str, str], float | str] = {
    ("glove", "suppress_space_m"): 300.0,
    ("glove", "suppress_time_s"): 120.0,
    ("glove", "extent_at_most"): "9km,2min",
    ("static", "grid_m"): 200.0,
    ("static", "slot_s"): 120.0,
    ("nwa", "step_s"): 45.0,
    ("nwa", "pi_s"): 7_000.0,
}


@pytest.fixture(scope="module", params=MADE)
def published_case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Case]:
    original, method = MADE[request.param]()
    folder = tmp_path_factory.mktemp(request.param) / "release"
    published = shoal.publish(original, method, folder, rng=shoal.Randomness.for_research(4), tries=0)
    return method.about.name, (original, folder, published.linkage)


def false_statements_in(folder: Path, case: Case) -> list[str]:
    verdict = shoal.verify_folder(case[0], folder, case[2])
    return [finding.message for finding in verdict.findings if finding.kind == "false-statement"]


def test_every_row_names_a_parameter_and_has_a_false_value() -> None:
    assert VISIBLE.keys() == FALSE.keys()
    for (method, name), row in VISIBLE.items():
        assert name in declared_parameters(METHODS[method])
        assert METHODS[method].about.publishes == row.payload


def test_true_parameters_hold(published_case: tuple[str, Case]) -> None:
    _, case = published_case
    assert false_statements_in(case[1], case) == []


def test_false_parameters_are_found(published_case: tuple[str, Case], tmp_path: Path) -> None:
    method, case = published_case
    rows = {name: value for (of_method, name), value in FALSE.items() if of_method == method}
    assert rows
    for name, value in rows.items():
        folder = tmp_path / name
        shutil.copytree(case[1], folder)
        edit_manifest(folder, lambda m, name=name, value=value: m["parameters"].update({name: value}))  # type: ignore[misc]
        assert any(
            f"of the table cannot come of its {name}" in message
            for message in false_statements_in(folder, case)
        )
        if case[0].grid is not None:
            streamed = streamed_verdict(case[0], folder, case[2])
            assert any(f"cannot come of its {name}" in finding.message for finding in streamed.findings)


def test_thresholds_of_samples_bound_no_box(tmp_path: Path) -> None:
    """A sample that is too far from its own partner is left out; the rest of the box may stay larger."""
    original = small_city(24, 12)
    method = shoal.Glove(k=2, suppress_time_s=1800.0, suppress_by="samples", generalize="reshape-each")
    published = shoal.publish(original, method, tmp_path / "r", rng=shoal.Randomness.for_research(4), tries=0)
    boxes = published.release.boxes
    assert ((boxes.t_end - boxes.t_start) * 60 > 1800).any()
    assert false_statements_in(tmp_path / "r", (original, tmp_path / "r", published.linkage)) == []


def test_cells_that_begin_elsewhere_than_stated_are_found() -> None:
    original, method = MADE["static, moved"]()
    release, _ = method.anonymize(original, shoal.Randomness.for_research(4))
    assert count_beyond_parameters(release)["grid_m"] == 0
    (wide, *_) = (release.boxes.x_max - release.boxes.x_min > 1).nonzero()[0]
    inside_m = (release.boxes.x_min[wide] + 1) * 100 % 20_000
    parameters = {**release.parameters, "grid_offset_m": float(inside_m)}
    changed = type(release)(**{**vars(release), "parameters": parameters})
    assert count_beyond_parameters(changed)["grid_m"] > 0


@pytest.mark.parametrize("value", [None, "wide", True, -5.0, 1e300, 0])
def test_what_is_no_length_bounds_nothing(value: Any, tmp_path: Path) -> None:
    original, method = MADE["glove"]()
    release, _ = method.anonymize(original, shoal.Randomness.for_research(4))
    changed = type(release)(
        **{**vars(release), "parameters": {**release.parameters, "suppress_space_m": value}}
    )
    assert count_beyond_parameters(changed)["suppress_space_m"] == 0


def test_points_under_the_name_of_a_method_of_boxes_are_not_looked_at() -> None:
    original, method = MADE["nwa"]()
    release, _ = method.anonymize(original, shoal.Randomness.for_research(4))
    changed = type(release)(**{**vars(release), "method": "glove", "parameters": {"suppress_space_m": 1.0}})
    assert not count_beyond_parameters(changed)


@pytest.mark.parametrize("step_s", [600.0, 0.1, 7.3])
def test_a_clock_of_today_is_kept_to_the_last_digits(step_s: float) -> None:
    """A quarter of a second is a message, however long ago 1970 was."""
    original, method = MADE["nwa"]()
    release, _ = method.anonymize(original, shoal.Randomness.for_research(4))
    first = int(1.7e9 / step_s)
    t = np.arange(first, first + release.n_samples).astype(np.float64) * step_s

    def off(moved_s: float) -> int:
        points = replace(release.points, t=t + moved_s)
        stated = {"step_s": step_s}
        return count_beyond_parameters(replace(release, payload=points, parameters=stated))["step_s"]

    assert off(0.0) == 0
    assert off(step_s / 100 if step_s < 1 else 0.25) == release.n_samples


# --- each bound met exactly, and passed by as little as can be ----------------------------------------------


def told_of(payload: Payload, method: str, offsets: tuple[int, ...], **parameters: Any) -> dict[str, int]:
    """What so small a release shows of its parameters; those of which nothing is beyond are left out."""
    hull = parameters.pop("hull", "tight")
    release = Release(
        trajectory_ids=tuple(f"{number:016x}" for number in range(len(offsets) - 1)),
        offsets=np.array(offsets),
        payload=payload,
        claim=KAnonymity(k=2, hull=hull),
        grid=Grid(cell_m=parameters.pop("cell_m", 100.0), slot_s=60.0) if payload.on_grid else None,
        method=method,
        parameters=parameters,
        losses=Losses(),
        crs=None,
        unit_of_protection="each subject",
        publishable=True,
    )
    return {name: n for name, n in count_beyond_parameters(release).items() if n}


def box(*bounds: int) -> Boxes:
    return Boxes(**{name: np.array([bound]) for name, bound in zip(BOX_COLUMNS, bounds, strict=True)})


# 3 minutes, 200 m by 300 m
BOX = (10, 13, 4, 6, 6, 9)
LARGE = (10, 13, 0, 0, 10**14, 1)


@pytest.mark.parametrize(
    ("method", "bounds", "parameters", "beyond"),
    [
        ("glove", BOX, {"suppress_space_m": 500.0, "suppress_time_s": 180}, set()),
        ("glove", BOX, {"suppress_space_m": 499.9}, {"suppress_space_m"}),
        ("glove", BOX, {"suppress_time_s": 179.9}, {"suppress_time_s"}),
        ("glove", BOX, {"suppress_time_s": 1.0, "suppress_space_m": 1, "suppress_by": "samples"}, set()),
        ("glove", BOX, {"suppress_space_m": 499.9, "suppress_by": "boxes"}, {"suppress_space_m"}),
        ("glove", BOX, {"suppress_space_m": 499.9, "hull": "outward:1"}, set()),
        ("glove", BOX, {"extent_at_most": "500m,3min"}, set()),
        ("glove", BOX, {"extent_at_most": "499m,3min"}, {"extent_at_most"}),
        ("glove", BOX, {"extent_at_most": "500m,179s"}, {"extent_at_most"}),
        ("glove", BOX, {"extent_at_most": "500 m of something"}, set()),
        ("glove", LARGE, {"suppress_space_m": 1e15}, set()),
        ("glove", LARGE, {"suppress_space_m": 1e15 - 1}, {"suppress_space_m"}),
        ("glove", BOX, {"suppress_space_m": 0.0, "suppress_time_s": 0}, set()),  # switched off
        ("static", BOX, {"suppress_space_m": 1.0}, set()),
        ("static", (10, 13, 4, 6, 6, 8), {"grid_m": 200.0, "slot_s": 900.0}, set()),
        ("static", (10, 13, 3, 6, 5, 8), {"grid_m": 200.0}, {"grid_m"}),
        ("static", (10, 13, 4, 7, 6, 9), {"grid_m": 200.0}, {"grid_m"}),
        ("static", (10, 13, 4, 6, 6, 9), {"grid_m": 200.0}, {"grid_m"}),
        ("static", (10, 13, 3, 5, 5, 7), {"grid_m": 200.0, "grid_offset_m": 100.0}, set()),
        ("static", (10, 13, 4, 5, 6, 7), {"grid_m": 200.0, "grid_offset_m": 100.0}, {"grid_m"}),
        ("static", (10, 13, 3, 6, 5, 8), {"grid_m": 200.0, "grid_offset_m": 100.0}, {"grid_m"}),
        ("static", (10, 13, 4, 6, 6, 8), {"grid_m": 2.0, "cell_m": 1.0}, set()),
        ("static", (10, 13, 4, 6, 6, 7), {"grid_m": 100.0}, {"grid_m"}),
        ("static", (10, 13, 4, 6, 6, 7), {"grid_m": 10.0}, {"grid_m"}),
        ("static", (10, 13, 4, 6, 5, 7), {"grid_m": 10.0}, set()),
        ("static", (15, 30, 4, 6, 6, 8), {"slot_s": 900.0}, set()),
        ("static", (14, 15, 4, 6, 6, 8), {"slot_s": 900.0}, set()),
        ("static", (14, 16, 4, 6, 6, 8), {"slot_s": 900.0}, {"slot_s"}),
    ],
)
def test_boxes_at_a_bound_and_beyond_it(
    method: str, bounds: tuple[int, ...], parameters: dict[str, Any], beyond: set[str]
) -> None:
    assert told_of(box(*bounds), method, (0, 1), **parameters) == dict.fromkeys(beyond, 1)


def ulps(t: float, n: int) -> float:
    return float(t + n * np.spacing(t))


@pytest.mark.parametrize(
    ("t", "parameters", "beyond"),
    [
        ((600.0, 1200.0, 1800.0, 0.0, 600.0), {"pi_s": 600.0, "step_s": 600.0}, {}),
        ((600.0, 700.0, 1800.0, 0.0, 600.0), {"pi_s": 600.0}, {}),  # only where records begin and end
        ((600.0, 700.0, 1800.0, 0.0, 600.0), {"step_s": 600.0}, {"step_s": 1}),
        ((601.0, 1200.0, 1800.0, 0.0, 600.0), {"pi_s": 600.0}, {"pi_s": 1}),
        ((600.0, 1200.0, 1801.0, 0.0, 600.0), {"pi_s": 600.0}, {"pi_s": 1}),
        ((600.0, 1200.0, 1800.0, 1.0, 600.0), {"pi_s": 600.0}, {"pi_s": 1}),
        ((600.0, 1200.0, 1800.0, 0.0, 601.0), {"pi_s": 600.0}, {"pi_s": 1}),
        ((ulps(6e8, 4), 6e8, 6e8, 6e8, ulps(6e8, -4)), {"step_s": 600.0, "pi_s": 600.0}, {}),
        ((ulps(6e8, 5), 6e8, 6e8, 6e8, ulps(6e8, -5)), {"step_s": 600.0}, {"step_s": 2}),
    ],
)
def test_points_on_the_clock_and_off_it(
    t: tuple[float, ...], parameters: dict[str, float], beyond: dict[str, int]
) -> None:
    points = Points(t=np.array(t), x=np.zeros(5), y=np.zeros(5))
    assert told_of(points, "nwa", (0, 3, 5), **parameters) == beyond


def test_a_release_of_nothing_shows_nothing() -> None:
    none = np.empty(0)
    assert told_of(Points(t=none, x=none, y=none), "nwa", (0,), pi_s=60.0, step_s=60.0) == {}


def test_what_cannot_come_of_a_parameter_is_said_with_its_count_and_name() -> None:
    points = Points(t=np.arange(2500.0) + 0.5, x=np.zeros(2500), y=np.zeros(2500))
    beyond = told_of(points, "nwa", (0, 2500), step_s=1.0)
    (finding,) = parameter_findings(Counter(beyond), "points")
    assert finding.kind == "false-statement"
    assert finding.message == "manifest.json: 2,500 points of the table cannot come of its step_s"
    assert list(parameter_findings(Counter({"step_s": 0}), "points")) == []
