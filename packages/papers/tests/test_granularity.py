"""What remains for several tau.

Figures against a plain count over the release, a page that works offline, errors in words.
"""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import shoal
from browser import Browser
from command_line import Shoal
from damages import rows_of, subject_positions
from kte_oracle import lies_in
from naive_release import samples_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.synthetic import write_synthetic
from shoal_papers.granularity import _granularity, study_granularity


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "calls.parquet"
    write_synthetic(path, 60, 1, 4)
    return path


def test_figures_are_those_of_a_plain_count(calls: Path) -> None:
    original = shoal.read(str(calls))
    release, linkage = shoal.KteHide(tau_s=7200.0, epsilon_s=7200.0).anonymize(
        original, Randomness.from_system()
    )
    found = _granularity(original, release, linkage, 7200.0)
    space: dict[int, list[int]] = {hour: [] for hour in range(24)}
    time: list[int] = []
    lost = dict.fromkeys(range(24), 0)
    published = dict(zip(subject_positions(original, release, linkage), rows_of(release), strict=True))
    for subject in range(original.n_subjects):
        for sample in samples_of(original, subject):
            hour = sample[0] // 60 % 24
            box = next((box for box in published.get(subject, []) if lies_in(sample, box)), None)
            if box is None:
                lost[hour] += 1
            else:
                space[hour].append(box[4] - box[2] + box[5] - box[3])
                time.append(box[1] - box[0])
    everything = sorted(extent for extents in space.values() for extent in extents)
    assert sum(lost.values()) > 0
    assert found.suppressed == sum(lost.values()) / original.n_samples
    assert found.space_m.mean == pytest.approx(np.mean(everything) * 100)
    assert found.time_s.mean == pytest.approx(np.mean(time) * 60)
    assert found.space_m.median == everything[(len(everything) - 1) // 2] * 100
    assert sum(extent <= found.space_m.three_quarters / 100 for extent in everything) >= 0.75 * len(
        everything
    )
    assert sum(extent < found.space_m.three_quarters / 100 for extent in everything) < 0.75 * len(everything)
    for one in found.by_hour:
        assert one.samples == lost[one.hour] + len(space[one.hour])
        if len(space[one.hour]) >= 10:
            assert one.mean_space_m == pytest.approx(np.mean(space[one.hour]) * 100)
            assert one.suppressed == lost[one.hour] / one.samples
        else:
            assert np.isnan(one.mean_space_m)


def test_the_page_works_offline_at_desk_and_on_a_phone(calls: Path, tmp_path: Path, browser: Browser) -> None:
    page = tmp_path / "granularity.html"
    study_granularity(shoal.read(str(calls)), 2, [3600.0, 7200.0, 14400.0], Run(), page)
    seen = browser.visit(page)
    assert (seen.requests, seen.complaints, seen.overflowing, seen.clashes) == ((), (), (), ())
    assert seen.drawn == seen.plots == 6


def test_the_command_prints_one_document_and_writes_one_page(
    calls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Shoal(capsys)
    page = tmp_path / "page.html"
    outcome = command(
        "granularity",
        calls,
        "--tau",
        "2h",
        "--tau",
        "1h",
        "--tau",
        "90s",
        "--output",
        page,
        "--json",
        "--quiet",
    )
    assert outcome.code == 0
    shown = json.loads(outcome.out)
    assert all(a["tau_s"] < b["tau_s"] for a, b in pairwise(shown["settings"]))
    assert [one["tau_s"] for one in shown["settings"]] == [3600.0, 7200.0]
    assert list(shown["failed"]) == ["1.5 min"]
    assert shown["report"] == str(page)
    assert "no release" in page.read_text(encoding="utf-8")
    again = command("granularity", calls, "--tau", "1h", "--output", page)
    assert (again.code, again.out) == (2, "")
    assert "exists; choose another --output" in again.err
    many = command("granularity", calls, "--k", "99", "--quiet")
    assert (many.code, many.err) == (
        2, "shoal: k = 99 needs at least 99 people, and the data has 60; choose a smaller k or add people\n",
    )  # fmt: skip


def test_more_people_may_hide_each_other_than_are_looked_among_by_default(calls: Path) -> None:
    found = study_granularity(shoal.read(str(calls)), 40, [86400.0], Run())
    assert [one.tau_s for one in found.settings] == [86400.0]
