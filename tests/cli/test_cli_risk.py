"""The commands that judge a release: JSON as pinned, exit codes, one-line errors."""

import json
import re
from html import unescape
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import Shoal
from shoal.attacks.questions import assess_release
from shoal.attacks.rate import Rate
from shoal.comparison.advice import Trials
from shoal.io import read
from shoal.release_folder.folder import read_linkage, read_release
from shoal.synthetic import write_synthetic
from shoal.utility import METRICS


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "city.parquet"
    write_synthetic(path, 40, 2, 5)
    return path


@pytest.fixture
def released(city: Path, tmp_path: Path, shoal: Shoal) -> tuple[Path, Path]:
    folder, linkage = tmp_path / "release", tmp_path / "linkage.parquet"
    assert shoal("anonymize", city, "--k", 4, "--output", folder, "--linkage", linkage, "--quiet").code == 0
    return folder, linkage


@pytest.mark.parametrize("how", [(), ("--blocks", 20, "--engine", "threads")], ids=["at once", "in blocks"])
def test_a_release_is_told_with_the_strongest_attack_of_its_report(
    how: tuple[object, ...], city: Path, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rate, "beats", lambda _, k: k == 4)
    told = shoal("anonymize", city, "--k", 4, "--output", tmp_path / "out", *how).out
    (line,) = [line for line in told.splitlines() if line.startswith("strongest attack")]
    page = unescape(re.sub(r"<[^>]*>", "", (tmp_path / "out/report.html").read_text()))
    first = " ".join(page[page.index("The strongest attack among those tested: ") :][:1000].split())
    said, _, terms = line.partition("tested: ")[2].partition(" [")
    assert said.startswith("Somebody ")
    assert "; guessing would give " in said
    assert first.startswith(
        f"The strongest attack among those tested: {said}. (In the terms of this page: {terms[:-1]}; "
    )
    alone = shoal("anonymize", city, "--k", 4, "--output", tmp_path / "alone", "--risk-tries", 0, *how).out
    assert "strongest attack: none was measured" in alone
    against = "it wins more often than 1 in 4, "
    assert (against in told, "  larger crowds: --k 11\n" in told, against in alone) == (True, True, False)
    words = ("anonymize", city, "--k", 4, *how, "--output")
    (caution,) = [
        caution
        for caution in json.loads(shoal(*words, tmp_path / "json", "--json").out)["cautions"]
        if caution.endswith("more often than 1 in 4, which k bounds for naming a record alone")
    ]
    assert caution.startswith("the strongest attack, ")
    assert caution.replace("json", "quiet") in shoal(*words, tmp_path / "quiet", "--quiet").err.splitlines()


def test_a_release_of_few_people_says_first_that_nothing_was_measured(
    city: Path, tmp_path: Path, shoal: Shoal
) -> None:
    few = tmp_path / "few.parquet"
    write_synthetic(few, 8, 2, 5)
    words = ("anonymize", few, "--k", 4, "--output")
    caution = "NOT MEASURED: of fewer than ten people, nothing shows"
    assert shoal(*words, tmp_path / "few").out.startswith(caution)
    assert shoal(*words, tmp_path / "quiet", "--quiet").err.startswith(caution)
    document = json.loads(shoal(*words, tmp_path / "json", "--json").out)
    assert (document["usefulness"], document["strongest_attack"]) == (None, None)
    assert document["cautions"][0].startswith(caution)
    assert caution not in shoal("anonymize", city, "--k", 4, "--output", tmp_path / "enough").out


def test_a_release_says_whether_it_is_for_anybody_and_what_its_strongest_attack_wins(
    city: Path, tmp_path: Path, shoal: Shoal
) -> None:
    """The report said both; a terminal had no word of the first, and a script none of the second."""
    precedents = "for anybody, precedents ask for k = 11, naming at most 1 in 11: "
    for k, answer in ((4, "exceeded, so for recipients who are known"), (11, "kept")):
        assert (
            f"{precedents}{answer}\n" in shoal("anonymize", city, "--k", k, "--output", tmp_path / f"{k}").out
        )
    points = shoal("anonymize", city, "--method", "swap-locations", "--k", 2, "--output", tmp_path / "points")
    assert precedents not in points.out
    document = json.loads(shoal("anonymize", city, "--k", 4, "--output", tmp_path / "json", "--json").out)
    strongest = document["strongest_attack"]
    assert strongest["target"] == "release"
    assert 0 <= strongest["low"] <= strongest["rate"] <= strongest["high"] <= 1


def test_where_positions_repeat_leaves_are_proposed_and_no_grid(
    city: Path, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rate, "beats", lambda _, k: k == 4)
    grid, leaves = "--hull grid:500m", "--places FILE --hull leaves:10"
    told = []
    for repeat in (True, False):
        monkeypatch.setattr("shoal.report.facts.evidence.positions_repeat", lambda _, repeat=repeat: repeat)
        told.append(shoal("anonymize", city, "--k", 4, "--output", tmp_path / f"{repeat}").out)
    assert [(grid in one, leaves in one) for one in told] == [(False, True), (True, False)]


def test_attack_prints_the_pinned_json(city: Path, released: tuple[Path, Path], shoal: Shoal) -> None:
    folder, linkage = released
    words = ("attack", city, folder, "--linkage", linkage, "--knowledge", "points:4", "--seed", 1, "--json")
    outcome = shoal(*words)
    assert outcome.code == 0
    shown = json.loads(outcome.out)["attacks"]
    pinned = {"name", "knowledge", "target", "tries", "successes", "rate", "low", "high", "baseline"}
    assert all(pinned <= entry.keys() for entry in shown)
    rates = {(entry["name"], entry["target"]): entry for entry in shown}
    assert rates["linkage", "release"]["rate"] <= 1 / 4
    assert rates["linkage", "release"]["knowledge"] == "4 exact points"
    assert rates["unicity", "raw"]["rate"] > 0.9
    assert shoal(*words).out == outcome.out
    unseeded = json.loads(shoal(*words[:7], "--json").out)["attacks"]
    reported = assess_release(read(city), read_release(folder), read_linkage(linkage)).strongest_first
    linked = next(answer.release for answer in reported if answer.release.asked == "points:4")
    assert linked.to_json() in unseeded


def test_attack_in_words_with_a_control_group(
    city: Path, released: tuple[Path, Path], tmp_path: Path, shoal: Shoal
) -> None:
    folder, linkage = released
    write_synthetic(tmp_path / "others.parquet", 30, 2, 9)
    others = pq.read_table(tmp_path / "others.parquet")
    renamed = others.set_column(0, "uid", [[f"other {name}" for name in others["uid"].to_pylist()]])
    pq.write_table(renamed, tmp_path / "others.parquet")
    without = shoal("attack", city, folder, "--linkage", linkage, "--knowledge", "top:1")
    assert "no control group" in without.out
    with_one = shoal("attack", city, folder, "--linkage", linkage, "--control", tmp_path / "others.parquet")
    assert with_one.code == 0
    assert "control" in with_one.out
    assert "no control group" not in with_one.out


def test_measure_prints_every_metric(city: Path, released: tuple[Path, Path], shoal: Shoal) -> None:
    folder, linkage = released
    shown = json.loads(shoal("measure", city, folder, "--linkage", linkage, "--json").out)["measurements"]
    of_boxes = [name for name, metric in METRICS.items() if "boxes" in metric.takes]
    assert [entry["name"] for entry in shown] == of_boxes
    assert {entry["better"] for entry in shown} == {"higher", "lower"}
    lines = shoal("measure", city, folder, "--linkage", linkage).out.splitlines()
    assert lines[0].startswith("usefulness: ")
    assert [line.split()[0] for line in lines[-len(of_boxes) :]] == of_boxes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("attack", "{city}", "{release}", "--linkage", "{linkage}", "--knowledge", "magic"),
            "choose from points:P",
        ),
        (("attack", "{city}", "{release}", "--linkage", "{linkage}", "--cell", "1km"), "leave out --cell"),
        (("attack", "{city}", "{release}"), "Missing option '--linkage'"),
        (("attack", "{city}", "{tmp}", "--linkage", "{linkage}"), "is not a release folder"),
        (("measure", "{other}", "{release}", "--linkage", "{linkage}"), "does not belong to this raw data"),
        (("attack", "{other}", "{release}", "--linkage", "{linkage}"), "does not belong to this raw data"),
    ],
)
def test_misuse_is_one_line_and_exit_2(
    words: tuple[str, ...],
    message: str,
    city: Path,
    released: tuple[Path, Path],
    tmp_path: Path,
    shoal: Shoal,
) -> None:
    write_synthetic(tmp_path / "other.parquet", 10, 2, 5)
    places = {
        "city": city,
        "release": released[0],
        "linkage": released[1],
        "tmp": tmp_path,
        "other": tmp_path / "other.parquet",
    }
    outcome = shoal(*(word.format(**places) for word in words))
    assert outcome.code == 2
    assert message in outcome.err
    assert len([line for line in outcome.err.splitlines() if line.startswith("shoal: ")]) == 1
    assert outcome.out == ""


def test_years_of_few_people_are_led_to_single_days_at_once(tmp_path: Path, shoal: Shoal) -> None:
    rows = [(f"p{who}", 86_400 * (who * 7 + day * 60) + hour * 3_600)
            for who in range(24) for day in range(4) for hour in range(6)]  # fmt: skip
    who, t = zip(*rows, strict=True)
    at = [1_600_000_000 + moment for moment in t]
    table = pa.table({"id": who, "t": at, "lat": [48.8] * len(t), "lon": [2.3] * len(t)})
    file = tmp_path / "years.parquet"
    pq.write_table(table, file)
    note = "24 people over 342 days, and on the day of a typical sample 1 of them"
    told = shoal("inspect", file)
    assert note in told.out
    assert told.out.rstrip().endswith(f"assess {file} --per-day --output exposure.html")
    for command in (("assess", file, "--k", 2), ("advise", file, "--for", "routes")):
        assert note in shoal(*command).err, "before the work"


def test_days_are_not_tried_where_nearly_everyone_has_one(
    tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def note_days(people: object, days: object, *_: object, **__: object) -> Trials:
        tried.append(days)
        return Trials(trials=(), failed=(), people=20, days=0)

    monkeypatch.setattr("shoal.comparison.advice.try_releases", note_days)
    for days in (1, 2):
        write_synthetic(tmp_path / f"{days}.parquet", 20, days, 5)
        assert shoal("advise", tmp_path / f"{days}.parquet", "--for", "areas").code == 0
    assert [days is None for days in tried] == [True, False]


def test_an_attack_that_the_data_does_not_allow_is_told_beside_the_others(
    city: Path, released: tuple[Path, Path], shoal: Shoal
) -> None:
    words = ("attack", city, released[0], "--linkage", released[1], "--tries", 20)
    done = shoal(*words, "--knowledge", "points:4", "--knowledge", "period:400d", "--json")
    document = json.loads(done.out)
    assert (done.code, {rate["asked"] for rate in document["attacks"]}) == (3, {"points:4"})
    assert "period:400d was not played against raw, release: " in " ".join(document["notes"])
    assert shoal(*words, "--knowledge", "points:4").code == 0
    assert shoal(*words, "--knowledge", "period:400d").code == 2
