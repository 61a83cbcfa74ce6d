"""`--plan`: what a command would take, figured from counts of the input, without doing any of it."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import measure_costs
from command_line import Shoal
from shoal.methods import METHODS
from shoal.model.intake import Reading
from shoal.publishing import planning
from shoal.publishing.costs import COSTS, Growth
from shoal.publishing.planning import Counts, Task, count, plan
from shoal.runtime.run import Run
from shoal.scale import blocks as memory
from shoal.units import MIB

CALLS = "uid,t,lat,lon\n" + "".join(
    f"{who},{1714557600 + 600 * i},{48.85 + i / 1000},2.35\n" for who in "abc" for i in range(4)
)


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    (tmp_path / "calls.csv").write_text(CALLS + "a,none,48.85,2.35\n")
    return tmp_path / "calls.csv"


def test_each_command_says_what_it_takes_and_does_nothing(
    calls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Shoal(capsys)
    study = tmp_path / "study.toml"
    study.write_text('[[runs]]\nmethod = "glove"\nk = [2, 3]\n')
    out, linked = tmp_path / "out", ("--linkage", tmp_path / "links.parquet")
    jobs: dict[str, tuple[object, ...]] = {
        "anonymize": (calls, "--k", 3, "--output", out, "--suppress-space", "15km"),
        "assess": (calls, "--output", out),
        "attack": (calls, out, *linked, "--tries", 100),
        "measure": (calls, out, *linked),
        "compare": (calls, "--config", study, "--output", out),
    }
    told = {name: command(name, *words, "--plan", "--json") for name, words in jobs.items()}
    assert {name: each.code for name, each in told.items()} == dict.fromkeys(jobs, 0)
    documents = {name: json.loads(each.out) for name, each in told.items()}
    assert {name: each["command"] for name, each in documents.items()} == {name: name for name in jobs}
    assert [(each["rows"], each["samples"], each["people"]) for each in documents.values()] == [
        (13, 12, 3)
    ] * 5
    assert [step["task"] for step in documents["anonymize"]["steps"]] == [
        "glove", "200 tries for the record of boxes"]  # fmt: skip
    assert "suppress-space-m" in " ".join(documents["anonymize"]["notes"])
    assert [step["task"] for step in documents["compare"]["steps"]] == [
        "glove", "attack", "1000 tries of attack", "measure"] * 2  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls.csv", "study.toml"]
    words = command("anonymize", calls, "--k", 2, "--output", out, "--plan").out
    assert "13 rows, 12 samples of 3 people" in words
    assert "a day of taxis three times" in words


def test_what_was_not_measured_is_not_guessed(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = Shoal(capsys)
    given = ("anonymize", calls, "--k", 2, "--output", calls.with_name("out"), "--plan")
    told = command(*given, "--method", "reach-locations")
    assert (told.code, "nobody has measured what reach-locations takes" in told.err) == (2, True)
    told = command(*given, "--method", "w4m", "--blocks", 100)
    assert (told.code, "--blocks works with --method glove" in told.err) == (2, True)
    told = command(*given, "--engine", "local:2")
    assert (told.code, "say how large with --blocks" in told.err) == (2, True)


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """25 people with 10 to 34 usable rows."""
    rows = [
        f"p{who:02},{1714557600 + 600 * i},{48.85 + who / 100},2.35\n"
        for who in range(25)
        for i in range(10 + who)
    ]
    (tmp_path / "crowd.csv").write_text("uid,t,lat,lon\n" + "".join(rows))
    return tmp_path / "crowd.csv"


def test_work_in_blocks_is_planned(crowd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = Shoal(capsys)
    given = ("anonymize", crowd, "--output", crowd.with_name("out"), "--plan", "--blocks", 10)
    found = json.loads(command(*given, "--engine", "local:1", "--json").out)
    assert (found["people"], found["samples"]) == (25, 550)
    assert [step["task"] for step in found["steps"]] == [
        "glove in blocks", "around the blocks", "k-gaps of drawn people",
        "200 tries for the record of boxes", "start of a worker"]  # fmt: skip
    blocks = found["blocks"]
    assert (blocks["number"], blocks["people"], blocks["workers"]) == (3, 9, 1)
    assert found["memory_mb"] == pytest.approx(blocks["worker_memory_mb"] + blocks["memory_around_mb"], abs=2)
    assert found["disk_mb"] > 0
    assert found["seconds_at_least"] == pytest.approx(found["cpu_s"], abs=0.1)
    assert list(crowd.parent.iterdir()) == [crowd]
    words = command(*given, "--engine", "local:1").out
    assert "3 blocks of at most 9 people" in words
    assert "by the clock at least" in words


def test_blocks_are_planned_as_they_would_be_made(crowd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = Shoal(capsys)
    out = crowd.with_name("out")
    given = ("anonymize", crowd, "--output", out, "--blocks", 8, "--k", 2)
    how = ("--engine", "threads", "--risk-tries", 0)
    planned = json.loads(command(*given, *how, "--plan", "--json").out)["blocks"]
    assert f"in {planned['number']} blocks of 6 to {planned['people']} people" in command(*given, *how).err
    other = ("anonymize", crowd, "--output", out.with_name("other"), "--plan")
    for size, said in ((3, "is not in the range"), (30, None)):
        told = command(*other, "--k", 2, "--blocks", size)
        assert (said or "1 block of at most 25 people") in told.out + told.err
    told = command(*other, "--k", 5, "--blocks", 8)
    assert (told.code, "too small for k = 5" in told.err) == (2, True)


def test_a_bound_of_memory_chooses_the_blocks_of_a_plan(
    crowd: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = Shoal(capsys)
    one = ("--engine", "local:1", "--k", 2)
    given = ("anonymize", crowd, "--output", crowd.with_name("out"), "--plan", "--json", *one)
    assert json.loads(command(*given, "--memory", "4GiB").out)["blocks"] is None
    told = command(*given, "--memory", "100MiB")
    assert (told.code, "is too little" in told.err) == (2, True)
    at_once = replace(memory.PEAKS[memory.ALL_AT_ONCE], always_bytes=1 << 40)
    block = replace(memory.PEAKS[memory.A_BLOCK], person_bytes=MIB)
    huge = {**memory.PEAKS, memory.ALL_AT_ONCE: at_once, memory.A_BLOCK: block}
    monkeypatch.setattr(memory, "PEAKS", huge)
    monkeypatch.setattr(planning, "PEAKS", huge)
    around = memory.bytes_around(memory.most_samples(np.arange(10, 35)), 1000)
    bound = -(-(around + block.of(12, 350)) // MIB)
    found = json.loads(command(*given, "--memory", f"{bound}MiB").out)
    assert (found["blocks"]["number"], found["blocks"]["people"]) == (3, 9)  # of 12 at most
    assert found["memory_mb"] <= bound * MIB / 1e6
    told = command(*given, "--memory", "1GiB", "--exact-figures")
    assert (told.code, "--exact-figures needs everything at once" in told.err) == (2, True)


def test_nobody_knows_how_many_workers_a_cluster_has(crowd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = Shoal(capsys)
    given = ("anonymize", crowd, "--output", crowd.with_name("out"), "--plan", "--blocks", 10)
    found = json.loads(command(*given, "--engine", "dask:tcp://10.0.0.1:8786", "--json").out)
    assert (found["blocks"]["workers"], found["seconds_at_least"]) == (None, None)
    assert "start of a worker" not in [step["task"] for step in found["steps"]]
    assert "how many workers a cluster has" in command(*given, "--engine", "spark").out
    told = command(*given, "--engine", "nobody")
    assert (told.code, "'nobody' is no engine" in told.err) == (2, True)


def test_people_are_counted_over_batches_and_what_is_too_large_is_said(tmp_path: Path) -> None:
    for name, who in (("a", "xy"), ("b", "yz")):
        rows = "".join(f"{each},171455760{i},48.85,2.35\n" for each in who for i in range(3))
        (tmp_path / f"{name}.csv").write_text("uid,t,lat,lon\n" + rows)
    assert count(tmp_path, Reading(), Run()) == Counts(rows=12, samples=12, people=3)
    huge = plan(Counts(rows=10**14, samples=10**14, people=10**6), [Task(name="nwa")], tmp_path)
    assert [words.split(" than ")[0] for words in huge.too_large] == ["more memory", "more disk"]


def test_a_plan_refuses_what_the_command_refuses(
    crowd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From its parameters and how many people there are, in the same words; nothing is written."""
    command = Shoal(capsys)
    out, given = tmp_path / "out", (crowd, crowd, "--linkage", crowd)  # neither release nor linkage is read
    study = tmp_path / "study.toml"
    study.write_text('[budget]\nattack = "nonsense"\n[[runs]]\nmethod = "glove"\n')
    anonymize = ("anonymize", crowd, "--output", out)
    fine = tmp_path / "fine.toml"
    fine.write_text('[budget]\nattack = "points:4"\n[[runs]]\nmethod = "glove"\n')
    jobs: list[tuple[object, ...]] = [
        *((*anonymize, "--method", name, "--k", 26) for name in METHODS if name not in {"reach-locations"}),
        (*anonymize, "--k", 26, "--memory", "4GiB"),
        (*anonymize, "--k", 26, "--blocks", 100, "--engine", "threads"),
        (*anonymize, "--no-snap"),
        (*anonymize, "--no-snap", "--blocks", 10, "--engine", "threads"),
        (*anonymize, "--method", "static", "--grid", "150m"),
        (*anonymize, "--method", "kte-hide", "--k", 2, "--tau", "3min", "--epsilon", "90s"),
        (*anonymize, "--method", "w4m", "--private-report", tmp_path / "secret.html"),
        (*anonymize, "--linkage", out / "links.parquet"),
        ("anonymize", crowd, "--output", study),
        ("assess", crowd, "--k", 26),
        ("assess", crowd, "--no-snap"),
        ("attack", *given, "--knowledge", "series"),
        ("attack", *given, "--knowledge", "nonsense"),
        ("attack", *given, "--cell", "50m"),
        ("measure", *given, "--cell", "50m"),
        ("compare", crowd, "--config", study, "--output", out),
        ("compare", crowd, "--config", fine, "--output", out, "--no-snap"),
    ]  # fmt: skip
    for words in jobs:
        planned, done = (command(*words, *more, "--quiet") for more in (("--plan",), ()))
        assert (planned.code, planned.err) == (2, done.err), words
        assert done.code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crowd.csv", "fine.toml", "study.toml"]


def test_releases_that_cannot_be_are_not_in_the_plan_of_a_comparison(
    crowd: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, study = Shoal(capsys), crowd.with_name("study.toml")
    given = ("compare", crowd, "--config", study, "--output", crowd.with_name("out"), "--plan")
    study.write_text('[[runs]]\nmethod = "glove"\nk = [2, 24]\n')  # of 25 people two are held out
    found = json.loads(command(*given, "--json").out)
    assert [step["task"] for step in found["steps"]] == ["glove", "attack", "1000 tries of attack", "measure"]
    assert [note for note in found["notes"] if "no release" in note] == [
        "glove k=24: no release: k = 24 needs at least 24 people, and the data has 23; choose a smaller k or "
        "add people"
    ]
    study.write_text('[[runs]]\nmethod = "glove"\nk = [25]\n')
    assert json.loads(command(*given, "--json").out)["steps"] == []


def test_the_constants_are_those_of_the_measurement() -> None:
    """Nothing is set by hand: COSTS is what the bench makes of the table of its runs."""
    assert measure_costs.fitted() == dict(COSTS)
    assert set(METHODS) - set(COSTS) <= {*measure_costs.UNKNOWN, "static"}


def test_a_fit_finds_the_growth_that_made_the_figures() -> None:
    true = Growth(
        fixed_s=2.0, s_per_million=8.0, by_people=0.5, by_k=0.3, fixed_mb=300, mb_per_million=100,
        disk_mb=1.0, disk_mb_per_million=4.0,
    )  # fmt: skip
    rows = [
        {"task": "any", "people": people, "samples": 250 * people, "k": k,
         "cpu_s": true.cpu_s(people, 250 * people, k),
         "peak_mb": true.memory_mb(250 * people), "disk_mb": true.written_mb(250 * people)}
        for people in (200, 1000, 5000) for k in (2, 5)
    ]  # fmt: skip
    found = measure_costs.fit([*rows, {**rows[0], "cpu_s": math.nan}])
    space = {"fixed_mb": 300, "mb_per_million": 100, "disk_mb": 1.0, "disk_mb_per_million": 4.0}
    assert replace(found, **space) == true
    assert {name: getattr(found, name) / each for name, each in space.items()} == dict.fromkeys(
        space, pytest.approx(measure_costs.ROOM)
    )


def test_no_peak_exceeds_what_is_fitted_to_it() -> None:
    """However peaks grow, the line is above all of them, and no higher than it must be."""
    size, peaks = np.array([1.0, 2.0, 4.0, 8.0]), np.array([50.0, 90.0, 100.0, 140.0])
    fixed, slope = measure_costs.line_above(size, peaks)
    excess = fixed + slope * size - peaks
    assert np.all(excess >= -1e-9)
    assert np.sum(excess < 1e-9) == 2


def test_the_page_shows_what_the_prediction_was_worth() -> None:
    """Sizes that no constant was fitted to are on the page that the bench writes."""
    assert len(measure_costs.check()) > 20
    assert measure_costs.PAGE.read_text() == measure_costs.page()
