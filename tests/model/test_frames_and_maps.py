"""Data frames, maps and short HTML of data, releases, verdicts and rates.

The values are right, large data is thinned, nothing is unescaped, and nobody is named.
"""

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from shoal.attacks import attack
from shoal.attacks.rate import AttackResult, Rate
from shoal.comparison.compare import Comparison
from shoal.comparison.study import Setting, Study
from shoal.errors import MissingExtraError, MisuseError
from shoal.measures.description import describe
from shoal.measures.k_gap import k_gap, k_gaps
from shoal.methods.glove.glove import Glove
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.frames import data_frame
from shoal.model.grid import Grid
from shoal.model.intake import Intake, Reading
from shoal.model.projection import WGS84, transform
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.tables import write_table
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.utility import measure
from shoal.utility.frontier import Budget, Point, Recommendation
from small_points import crowd
from small_releases import naive_release, random_people

PLANE = "EPSG:2154"
NASTY = "<script>alert('x')</script>&"
SAFE = "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;"


def of_boxes(**changes: Any) -> Release:
    return replace(naive_release(random_people(12, 20, crs=PLANE))[0], **changes)


def of_points(**changes: Any) -> Release:
    method = SwapLocations(k=2, time_threshold_s=400.0, space_threshold_m=1000.0)
    return replace(method.anonymize(crowd(), Randomness.for_research(1), Run())[0], **changes)


def moments(t_s: Any) -> list[pd.Timestamp]:
    return [pd.Timestamp(float(one), unit="s", tz="UTC") for one in t_s]


def test_snapped_samples_stand_in_the_center_of_their_cell_at_the_start_of_their_slot() -> None:
    data = random_people(5, 9, crs=PLANE, grid=Grid(cell_m=250.0, slot_s=600.0))
    frame = data.to_dataframe()
    assert list(frame.columns) == ["uid", "t", "x", "y", "lat", "lon"]
    assert frame["uid"].tolist() == [
        uid for uid, n in zip(data.ids, data.lengths, strict=True) for _ in range(n)
    ]
    assert frame["t"].tolist() == moments(data.t * 600)
    assert str(frame["t"].dtype) == "datetime64[us, UTC]"
    assert np.array_equal(frame["x"], data.x * 250.0 + 125.0)
    assert np.array_equal(frame["y"], data.y * 250.0 + 125.0)
    lon, lat = transform(PLANE, WGS84, frame["x"].to_numpy(), frame["y"].to_numpy())
    assert np.array_equal(frame["lat"], lat)
    assert np.array_equal(frame["lon"], lon)


def test_points_as_given_come_out_as_they_were_given() -> None:
    t, lat, lon = [1.7e9, 1.7e9 + 0.25], np.array([45.1, 45.2]), np.array([5.1, 5.3])
    data = replace(
        Trajectories.from_rows(["a", "a"], t, [1.5, 2.5], [3.5, 4.25], crs=PLANE), lat=lat, lon=lon
    )
    frame = data.to_dataframe()
    assert frame["t"].tolist() == moments(t)
    assert frame[["x", "y", "lat", "lon"]].to_numpy().tolist() == [
        [1.5, 3.5, 45.1, 5.1],
        [2.5, 4.25, 45.2, 5.3],
    ]


def test_local_meters_have_no_degrees() -> None:
    assert list(random_people(3, 4).to_dataframe().columns) == ["uid", "t", "x", "y"]
    assert list(of_points().to_dataframe().columns) == ["trajectory_id", "t", "x", "y"]


def test_counted_steps_stay_numbers() -> None:
    few = Trajectories.from_rows(["a", "a"], [3, 700], [1, 1], [1, 1], grid=Grid(slot_s=60.0))
    assert few.to_dataframe()["t"].tolist() == [180, 42_000]
    many = Trajectories.from_rows(
        ["a"], [3_000_000], [1], [1], grid=Grid(), intake=Intake(reading=Reading(time_unit="1min"))
    )
    assert many.to_dataframe()["t"].tolist() == [180_000_000]
    assert of_points().to_dataframe()["t"].dtype == np.float64


def test_a_frame_can_be_read_again() -> None:
    import shoal

    data = shoal.read(shoal.synthesize(8, 1, 3))
    again = shoal.read(data.to_dataframe(), working_crs=data.crs)
    assert again.ids == data.ids
    assert all(
        np.array_equal(getattr(again, name), getattr(data, name)) for name in ("offsets", "t", "x", "y")
    )


@pytest.mark.parametrize("crs", [None, PLANE])
@pytest.mark.parametrize("make", [of_boxes, of_points])
def test_a_release_has_the_columns_of_its_written_table(make: Any, crs: str | None, tmp_path: Path) -> None:
    release = make(crs=crs)
    write_table(release, tmp_path / "release.parquet")
    written, frame = pq.read_table(tmp_path / "release.parquet"), release.to_dataframe()
    shared = [name for name in written.column_names if name != "geometry"]
    assert list(frame.columns)[: len(shared)] == shared
    assert len(frame) == release.n_samples > 0
    for name in shared:
        values = written[name].to_pylist()
        dated = isinstance(frame[name].dtype, pd.DatetimeTZDtype)
        assert frame[name].tolist() == (moments(values) if dated else values)
    assert isinstance(frame.dtypes.iloc[1], pd.DatetimeTZDtype) == (release.kind == "boxes")
    assert ("lat" in frame.columns) == (crs is not None and release.kind == "points")


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    for each in (random_people(2, 2), of_boxes(), of_points()):
        with pytest.raises(MissingExtraError, match="pip install pandas"):
            each.to_dataframe()


def test_without_plotly_a_map_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    for each in (random_people(2, 2), of_boxes(), of_points()):
        with pytest.raises(MissingExtraError, match=r"pip install 'shoal\[plot\]'"):
            each.plot()


def parts(line: Any) -> list[list[float]]:
    """The parts of a line that None breaks."""
    found: list[list[float]] = [[]]
    for value in line:
        if value is None:
            found.append([])
        else:
            found[-1].append(value)
    return [part for part in found if part]


@pytest.mark.parametrize("crs", [None, PLANE])
def test_a_map_of_trajectories_has_a_path_for_each_subject(crs: str | None) -> None:
    data = random_people(7, 5, crs=crs)
    figure = data.plot()
    (trace,) = figure.data
    assert [len(part) for part in parts(trace.x)] == data.lengths.tolist()
    assert np.allclose(np.concatenate(parts(trace.x)), (data.x + 0.5) / 10, rtol=0, atol=1e-4)
    assert np.allclose(np.concatenate(parts(trace.y)), (data.y + 0.5) / 10, rtol=0, atol=1e-4)
    assert figure.layout.xaxis.title.text == f"east, km ({'projected' if crs else 'local'})"
    assert figure.layout.title.text is None
    assert data.ids[0] not in figure.to_json()


def test_a_map_of_boxes_has_a_closed_rectangle_for_each() -> None:
    release = of_boxes()
    (trace,) = release.plot().data
    assert len(parts(trace.x)) == release.n_samples
    x, y = np.array(parts(trace.x)), np.array(parts(trace.y))
    boxes = release.boxes
    assert np.allclose(x.min(axis=1), boxes.x_min / 10, rtol=0, atol=1e-4)
    assert np.allclose(x.max(axis=1), boxes.x_max / 10, rtol=0, atol=1e-4)
    assert np.allclose(y.min(axis=1), boxes.y_min / 10, rtol=0, atol=1e-4)
    assert np.allclose(y.max(axis=1), boxes.y_max / 10, rtol=0, atol=1e-4)
    assert np.array_equal(x[:, 0], x[:, 4])
    assert np.array_equal(y[:, 0], y[:, 4])
    # one side at a time: four right angles, not a bow tie
    assert (((x[:, 1:] != x[:, :-1]).astype(int) + (y[:, 1:] != y[:, :-1])) == 1).all()


def test_a_map_of_points_has_a_path_for_each_record() -> None:
    release = of_points()
    (trace,) = release.plot().data
    assert [len(part) for part in parts(trace.x)] == np.diff(release.offsets).tolist()
    assert np.allclose(np.concatenate(parts(trace.y)), release.points.y / 1000, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("each", "owners", "rows"),
    [
        (random_people(200, 5), "subjects", "samples"),
        (naive_release(random_people(200, 5))[0], "records", "boxes"),
        (of_points(), "records", "points"),
    ],
    ids=["trajectories", "boxes", "points"],
)
@pytest.mark.parametrize("at_most", [1, 60, 10**6])
def test_large_data_is_thinned_and_says_so(
    each: Trajectories | Release, owners: str, rows: str, at_most: int
) -> None:
    figure = each.plot(at_most=at_most)
    (trace,) = figure.data
    drawn = len(parts(trace.x)) if rows == "boxes" else sum(map(len, parts(trace.x)))
    assert drawn == min(drawn, at_most) > 0
    total = len(each.offsets) - 1
    if at_most >= each.n_samples:
        assert (drawn, figure.layout.title.text) == (each.n_samples, None)
    else:
        assert figure.layout.title.text.endswith(
            f"of {total:,} {owners} with {drawn:,} of {each.n_samples:,} {rows}"
        )


def test_one_long_path_is_cut() -> None:
    data = Trajectories.from_rows(["a"] * 90 + ["b"] * 2, [*range(90), 0, 1], [0] * 92, [0] * 92, grid=Grid())
    assert data.plot(at_most=10).layout.title.text == "drawn: 1 of 2 subjects with 10 of 92 samples"


def test_people_and_records_are_counted_and_taken_by_position() -> None:
    data, release = random_people(6, 5), of_boxes()
    assert (len(data), len(release)) == (6, release.n_records)
    for mine, theirs in zip(data[-1], data.samples_of(5), strict=True):
        assert np.array_equal(mine, theirs)
    assert data[1:3].ids == data.ids[1:3]
    assert len(release[-1]) == np.diff(release.offsets)[-1]
    for beyond in (6, -7):
        with pytest.raises(IndexError):
            data[beyond]


def test_a_sample_is_some_people_with_all_that_they_have() -> None:
    data = random_people(30, 5)
    few = data.sample(4)
    assert few.ids == data.sample(4).ids
    assert few.ids == tuple(sorted(few.ids))
    assert few.lengths.tolist() == [int(data.lengths[data.ids.index(uid)]) for uid in few.ids]
    assert len({data.sample(4, seed=seed).ids for seed in range(5)}) > 1
    assert data.sample(99).ids == data.ids
    with pytest.raises(MisuseError, match="n = 0 draws no one"):
        data.sample(0)


def test_points_become_points_of_geopandas() -> None:
    pytest.importorskip("geopandas")
    release, data = of_points(crs=PLANE), random_people(4, 5, crs=PLANE)
    frame = release.to_geopandas()
    assert (list(frame.columns), frame.crs) == (["trajectory_id", "t", "geometry"], PLANE)
    assert np.array_equal(frame.geometry.x, release.points.x)
    there = data.to_geopandas()
    assert list(there.columns) == ["uid", "t", "geometry"]
    assert np.array_equal(there.geometry.y, data.to_dataframe()["y"])


def test_a_map_to_explore_says_what_it_leaves_out_and_asks_no_server_about_raw_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("folium")
    release, data = of_boxes(), random_people(4, 5, crs=PLANE)
    page = release.explore(at_most=20).get_root().render()
    assert "openstreetmap.org" in page
    drawn = page.count('"Polygon"')
    assert 0 < drawn <= 20 < release.n_samples
    assert f"of 12 records with {drawn} of {release.n_samples} boxes" in page
    lengths: set[int] = set()

    def counted_frame(columns: dict[str, Any]) -> pd.DataFrame:
        lengths.update(map(len, columns.values()))
        return data_frame(columns)

    monkeypatch.setattr("shoal.model.release.data_frame", counted_frame)
    release.explore(at_most=20)
    assert lengths == {drawn}
    raw = data.explore().get_root().render()
    assert "tileLayer" not in raw
    assert raw.count('"Point"') == data.n_samples
    with pytest.raises(MisuseError, match="lie nowhere on a map"):
        random_people(4, 5).explore()


@pytest.mark.parametrize("library", ["geopandas", "folium"])
def test_without_a_library_the_error_says_what_to_install(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shoal\[geo\]'"):
        of_boxes().explore()


def test_rates_metrics_and_gaps_are_frames() -> None:
    data = random_people(12, 20)
    release, linkage = naive_release(data)
    rates = attack(data, release, linkage, knowledge=["points:2"], tries=5)
    frame = rates.to_dataframe()
    assert frame["rate"].tolist() == [rate.rate for rate in rates.rates]
    assert {"name", "target", "low", "high", "baseline"} <= {*frame.columns}
    assert list(AttackResult(rates=(), notes=()).to_dataframe().columns) == list(frame.columns)
    assert {*measure(data, release, linkage, []).to_dataframe().columns} >= {"name", "value", "unit"}
    measured = measure(data, release, linkage, ["samples-covered", "extent-space"])
    assert measured.to_dataframe()["name"].tolist() == ["samples-covered", "extent-space"]
    gaps = k_gap(data, 2)
    assert np.array_equal(gaps.to_dataframe()["gap"], gaps.gap)
    drawn = k_gaps(data, [2], subjects=np.array([3, 7]))[0].to_dataframe()
    assert drawn["subject"].tolist() == [3, 7]


@pytest.mark.parametrize("at_most", [0, -3])
def test_drawing_nothing_is_refused(at_most: int) -> None:
    with pytest.raises(MisuseError, match=f"at_most = {at_most} draws nothing; choose at least 1"):
        random_people(2, 2).plot(at_most=at_most)


def test_nothing_to_draw_is_an_empty_map() -> None:
    nobody = random_people(2, 2).keep([])
    assert parts(nobody.plot().data[0].x) == []
    assert len(nobody.to_dataframe()) == 0
    assert "<td>0 (each subject)</td>" in nobody._repr_html_()


def a_rate(name: str = "linkage") -> Rate:
    return Rate(
        name=name,
        knowledge="4 points",
        attacker="",
        target="release",
        tries=400,
        successes=61,
        baseline=0.0021,
    )


def test_everything_shown_is_escaped() -> None:
    intake = Intake(dropped={NASTY: 3}, repaired={NASTY: 1}, unit_of_protection=NASTY)
    data = replace(random_people(3, 4), crs=NASTY, intake=intake)
    losses = replace(of_boxes().losses, rows={NASTY: 2})
    boxes = of_boxes(method=NASTY, crs=NASTY, unit_of_protection=NASTY, losses=losses)
    verdict = Verdict.of([Finding(NASTY, NASTY, NASTY)], checked=1, notes=[NASTY])
    attacked = AttackResult(rates=(a_rate(),), notes=(NASTY,))
    shown = [each._repr_html_() for each in (data, boxes, verdict, a_rate(NASTY), attacked)]
    assert [SAFE in page for page in shown] == [True] * 5
    assert [page for page in shown if "<script" in page] == []


def test_a_description_and_a_comparison_are_shown() -> None:
    data = replace(random_people(6, 5), intake=Intake(dropped={NASTY: 3}, notes=(NASTY,)))
    shown = describe(data)._repr_html_()
    assert f"<tr><th>samples</th><td>{data.n_samples}, from" in shown
    assert f"<p>{SAFE}</p>" in shown
    assert [uid for uid in data.ids if uid in shown] == []
    setting = Setting(label=NASTY, name="glove", method=Glove(k=2))
    study = Study(settings=(setting,), budget=Budget(), knowledge=("points:4",))
    risks: Any = {"method": "glove", "risk": 0.2, "risk_low": 0.1, "risk_high": 0.3}
    points = (
        Point(label=NASTY, utility=0.41, worst=0.4321, worst_by="insider", worst_gain=0.4, **risks),
        Point(label="glove k=3", utility=math.nan, **risks),
    )
    found = Comparison(
        results=(),
        failed={"static k=9": NASTY},
        points=points,
        better="lower",
        recommendation=Recommendation(label=NASTY, reasons=(f"Take {NASTY}.",)),
        study=study,
    )._repr_html_()
    assert f"<tr><th>{SAFE}</th><td>43.2 % (insider)</td>" in found
    assert "<tr><th>glove k=3</th><td></td><td></td>" in found
    assert f"<tr><th>static k=9</th><td>no release</td><td></td><td>{SAFE}</td>" in found
    assert f"<p>Take {SAFE}.</p>" in found
    assert "<script" not in shown + found


def test_nobody_is_named_and_no_seed_is_shown() -> None:
    data = random_people(6, 5)
    release, linkage = naive_release(data, publishable=False)
    kept = replace(release, parameters={**release.parameters, "seed": 424242})
    verdict = Verdict.of([Finding("bad", f"{data.ids[0]} is seen", release.trajectory_ids[0])], checked=6)
    shown = "".join(each._repr_html_() for each in (data, kept, verdict, a_rate()))
    assert [name for name in (*data.ids, *release.trajectory_ids, "424242") if name in shown] == []
    assert not hasattr(linkage, "_repr_html_")
    assert isinstance(linkage, Linkage)


def test_what_is_shown_is_true() -> None:
    data = random_people(6, 5)
    assert f"<tr><th>samples</th><td>{data.n_samples}</td></tr>" in data._repr_html_()
    assert "<td>2023-11-14 to 2023-11-2" in data._repr_html_()
    release = of_points()
    assert f"<tr><th>points</th><td>{release.n_samples}</td></tr>" in release._repr_html_()
    assert "<td>trajectory-p-privacy: k = 2, time_threshold_s = 400.0" in release._repr_html_()
    assert "the claim holds" in Verdict.of([], checked=2)._repr_html_()
    assert "the claim does not hold" in Verdict.of([], checked=0)._repr_html_()
    both = AttackResult(rates=(a_rate("one"), a_rate("other")), notes=("no control group",))._repr_html_()
    assert (
        both.count("<td>15.2 %</td><td>12.1 % to 19.1 %</td><td>0.21 %</td><td>0.21 %</td><td>400</td>") == 2
    )
    assert "<th>other</th>" in both
    assert both.endswith("<p>no control group</p>")


def test_showing_loads_no_library() -> None:
    code = (
        "import sys, shoal\n"
        "from shoal.model.trajectories import Grid\n"
        "data = shoal.Trajectories.from_rows(['a'], [1], [2], [3], grid=Grid())\n"
        "data._repr_html_(), repr(data)\n"
        "print([name for name in ('pandas', 'plotly', 'pyarrow', 'numba') if name in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
