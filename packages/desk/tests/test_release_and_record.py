"""What the last steps show is what the commands printed; the record names what is signed."""

import json
import math
import re
import shlex
import stat
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from command_line import Shoal
from desk_visits import Visitor
from shoal.attacks.table import ATTACKS
from shoal.cli.release import anonymize
from shoal.errors import InputError
from shoal.io import read
from shoal.model.claims import KDeltaAnonymity, TrajectoryPrivacy
from shoal.model.trajectories import digest_of_data
from shoal.release_folder.manifest import SeriesJson, read_manifest
from shoal.runtime.files import sha256_of
from shoal_desk import pdf
from shoal_desk.commands import record_plan
from shoal_desk.desk import Work
from shoal_desk.recipients import RECIPIENTS
from shoal_desk.record import read_attacks
from shoal_desk.risk import risks_of, strongest_first
from shoal_desk.steps.release import classes_of
from shoal_desk.words import Words
from shoal_desk.work import result_file


@pytest.fixture(scope="module")
def work(released: Visitor) -> Work:
    return released.desk.work(released.desk.case.choices())


def test_the_settings_file_says_what_the_command_says(released: Visitor, work: Work, tmp_path: Path) -> None:
    assert work.release is not None
    command = work.release.plan.commands[0]
    file = tmp_path / "release.toml"
    file.write_text(released.get("kept/release.toml").html)
    by_flags = anonymize.make_context("anonymize", command.arguments()[1:]).params
    by_file = anonymize.make_context("anonymize", [*command.words, "--config", str(file)]).params
    assert by_flags == by_file
    assert by_flags["k"] == 4
    assert shlex.split(command.shell_line())[2] == str(work.choices.source)


def test_the_script_is_one_that_a_shell_takes_and_holds_every_command(
    released: Visitor, tmp_path: Path
) -> None:
    file = tmp_path / "steps.sh"
    file.write_text(released.get("kept/steps.sh").html)
    subprocess.run(["sh", "-n", str(file)], check=True)
    lines = file.read_text().splitlines()
    assert [line.split()[1] for line in lines if line.startswith("shoal ")] == [
        "inspect",
        "compare",
        "anonymize",
        "verify",
        "attack",
        "record",
    ]


def test_the_page_shows_the_strongest_first_and_every_recipient(released: Visitor, work: Work) -> None:
    html = released.get("release").html
    rates = work.result(work.release, 2)["attacks"]
    strongest = strongest_first(rates, "boxes")[0]
    assert (
        f"{100 * strongest['rate']:.1f}".rstrip("0").rstrip(".") in html.partition('id="strongest"')[2][:200]
    )
    assert [one.name for one in risks_of(work.choices.recipients, rates, "boxes")] == ["research"]
    assert {one["asked"] for one in rates} == {"points:4", "downcoding"}
    for drawing in (
        "<svg",
        "A research partner",
        "The promise holds.",
        "Every published record is identical",
    ):
        assert drawing in html


def test_a_release_that_is_gone_is_said_on_its_page(released: Visitor, work: Work) -> None:
    output = Path(work.choices.output)
    output.rename(away := output.with_name("away"))
    try:
        page = released.get("release")
    finally:
        away.rename(output)
    assert page.status == 200
    assert "no longer there, or was changed. Put it back" in page.html
    assert 'id="risk"' in page.html


def test_a_result_that_was_cut_is_said(released: Visitor, work: Work) -> None:
    assert work.release is not None
    file = result_file(work.release.folder, 2)
    whole = file.read_text()
    file.write_text(whole[:100])
    try:
        page = released.get("release")
    finally:
        file.write_text(whole)
    assert page.sentence.endswith("do that step again")


def test_recipients_count_the_adversaries_that_were_played(work: Work) -> None:
    rates = work.result(work.release, 2)["attacks"]
    (one,) = risks_of({"public": ("points:4", "downcoding", "insider", "triples:4")}, rates, "boxes")
    assert (one.played, one.adversaries, one.of_other_kind) == (2, 4, 1)
    assert (one.missing, one.missing_names, one.no_victims) == (("insider",), False, 0)


NAMED: dict[str, Any] = {
    "name": "linkage",
    "asked": "points:4",
    "target": "release",
    "knowledge": "",
    "baseline": 0.01,
}


def judged(rate: float, worst: float) -> dict[str, tuple[float | None, bool]]:
    """Every recipient's figure, and whether it is above the threshold."""
    recipients = dict.fromkeys(RECIPIENTS, ("points:4", "downcoding"))
    corners = NAMED | {"name": "downcoding-place", "asked": "downcoding", "rate": 0.9, "worst": 1.0}
    risks = risks_of(recipients, [corners, NAMED | {"rate": rate, "worst": worst}], "boxes")
    assert {one.strongest["name"] for one in risks if one.strongest} == {"downcoding-place"}
    return {one.name: (one.judged, one.is_above) for one in risks}


def test_a_threshold_on_naming_judges_naming_alone() -> None:
    corners = NAMED | {"name": "downcoding-place", "asked": "downcoding", "rate": 0.9, "worst": 1.0}
    (alone,) = risks_of({"public": ("points:4", "downcoding")}, [corners], "boxes")
    assert (alone.strongest, alone.judged, alone.is_above) == (corners, None, False)
    assert judged(0.05, 1 / 11)["public"] == (1 / 11, False)


@pytest.mark.parametrize(
    ("rate", "others", "met_nobody", "verdict"),
    [
        (0.05, ("insider",), (), "kept"),
        (0.05, ("points:10",), (), "missing"),
        (0.05, ("points:10",), ("points:10",), "kept"),
        (0.25, ("points:10",), (), "exceeded"),
    ],
)
def test_nothing_is_kept_while_an_attack_on_names_is_missing(
    rate: float, others: tuple[str, ...], met_nobody: tuple[str, ...], verdict: str
) -> None:
    recipients = {"inside": ("points:4", "cluster", *others)}
    rates = [NAMED | {"rate": rate, "worst": 0.3}]
    (one,) = risks_of(recipients, rates, "boxes", no_victims=met_nobody)
    assert (one.verdict, one.of_other_kind, one.no_victims) == (verdict, 1, len(met_nobody))
    assert one.missing == tuple(text for text in others if text not in met_nobody)


@pytest.mark.parametrize(
    ("rate", "tries", "verdict"),
    [(0.0, 38, "few"), (0.0, 39, "kept"), (0.3, 1, "exceeded"), (0.0, None, "kept")],
)
def test_few_tries_cannot_show_that_a_threshold_is_kept(rate: float, tries: int | None, verdict: str) -> None:
    (one,) = risks_of(
        {"public": ("points:4",)}, [NAMED | {"rate": rate, "worst": rate}], "boxes", tries=tries
    )
    assert one.verdict == verdict
    assert one.to_json()["verdict"] == ("not judged" if verdict == "few" else verdict)
    if verdict == "few":
        assert one.answer(Words("en")) == "not judged: 38 tries; at least 39 are needed"
    assert {row.name: row.least_tries for row in RECIPIENTS.values()} == {
        "public": 39, "research": 16, "processor": 8, "inside": 16,
    }  # fmt: skip


def test_attacks_without_knowledge_are_those_of_every_recipient() -> None:
    for recipient in RECIPIENTS.values():
        rows = [ATTACKS[text.partition(":")[0]] for text in recipient.knowledge]
        assert set(recipient.knowledge) <= {text for row in rows for text in row.texts(row.default)}


def test_adversaries_of_another_claim_are_not_missing() -> None:
    recipients = {"public": ("points:4", "cluster")}
    rates = [NAMED | {"rate": 0.01, "worst": 0.02}]
    for claim, others in ((KDeltaAnonymity, 1), (TrajectoryPrivacy, 0)):
        (one,) = risks_of(recipients, rates, "points", claim=claim)
        assert (one.of_other_kind, len(one.missing)) == (others, 1 - others)


def decided(html: str) -> list[str]:
    """What the first screen says of each recipient."""
    decides = html[html.index("What decides") : html.index('id="strongest"')]
    lines = re.findall(r"<li>(.*?)</li>", decides, re.DOTALL)
    return [" ".join(re.sub("<[^>]+>", "", line).split()) for line in lines]


def test_the_record_says_which_attacks_its_file_lacks(
    released: Visitor, work: Work, shoal: Shoal, tmp_path: Path
) -> None:
    assert work.record is not None
    arguments = work.record.plan.commands[0].arguments()
    found = json.loads(Path(arguments[arguments.index("--attacks") + 1]).read_text())

    def record(name: str, document: Any, *recipients: str) -> tuple[int, str, str]:
        attacks, page = tmp_path / f"{name}.json", tmp_path / f"{name}.html"
        attacks.write_text(json.dumps(document))
        words = arguments[:-1]
        words[words.index("--attacks") + 1] = str(attacks)
        at = words.index("--recipient")
        words[at : at + 2] = [word for one in recipients for word in ("--recipient", one)]
        taken = shoal(*words, str(page))
        return taken.code, taken.err, page.read_text() if taken.code == 0 else ""

    ten = "processor=points:4,points:10,downcoding"
    forged = found | {"notes": [*found["notes"], "points:10 was not played against raw, release: nobody has"]}
    for name, document in (("thin", found), ("forged", forged)):
        code, err, html = record(name, document, ten)
        assert code == 0, err
        (line,) = decided(html)
        assert line.endswith("not judged, as the file of attacks lacks points:10"), line
        assert "2 of 3 adversaries were played; 1 not in the file of attacks" in " ".join(html.split())
        assert "--knowledge points:10" in html
        assert ("know enough of" in html, ">kept<" in html) == (False, False)
    nobody = "period:900d"
    noted = found | {"notes": [*found["notes"], f"{nobody} was not played against raw, release: nobody has"]}
    code, err, html = record("noted", noted, f"processor=points:4,{nobody}")
    assert code == 0, err
    assert decided(html)[0].endswith(": kept")
    assert "1 met nobody whom they know enough of" in html
    thinned = [one for one in found["attacks"] if (one["name"], one["target"]) != ("linkage", "release")]
    code, err, _ = record("thinned", found | {"attacks": thinned}, "research=points:4")
    assert (code, "leaves out linkage of points:4" in err) == (2, True), err


@pytest.mark.parametrize(
    ("rate", "worst", "above"),
    [
        (0.062, 1 / 5, ["public"]),
        (0.062, math.nextafter(1 / 11, 1), []),
        (0.21, 1 / 3, ["public", "research", "inside"]),
        (0.34, 1 / 2, ["public", "research", "processor", "inside"]),
    ],
)
def test_each_recipient_has_a_threshold_that_the_result_does_not_choose(
    rate: float, worst: float, above: list[str]
) -> None:
    found = judged(rate, worst)
    assert [name for name, (_, is_above) in found.items() if is_above] == above
    assert {name: share for name, (share, _) in found.items()} == {
        "public": worst,
        "research": rate,
        "processor": rate,
        "inside": rate,
    }


def test_the_page_says_first_what_decides(
    released: Visitor, work: Work, shoal: Shoal, tmp_path: Path
) -> None:
    assert work.record is not None
    arguments = work.record.plan.commands[0].arguments()
    page, statement = tmp_path / "public.html", tmp_path / "statement.toml"
    statement.write_text("earlier_releases = []")
    arguments[arguments.index("--statement") + 1] = str(statement)
    printed = shoal(*arguments[:-1], str(page), "--recipient", "public")
    assert printed.code == 0
    html = page.read_text()
    assert "The publisher states that none is known." in html
    assert "If there is one" not in html
    assert "attacks with a control group" in html
    assert "(attribution)" in html[html.index('id="attacks"') :]
    decides = html.index("What decides")
    unstated = html.index("Not stated: Purpose, Recipients. A release is judged for a purpose")
    assert 0 < unstated < decides, "nothing else on the page is worth reading without them"
    assert "not stated: purpose and recipients (--statement)" in printed.out.splitlines()
    assert 0 < decides < html.index('id="strongest"') < html.index('id="verdict"')
    said = decided(html)
    assert set(said) <= set(printed.out.splitlines())
    assert (
        said[-1] == "The public: 25 % (maximum); at most 9 % (1 in 11): exceeded"
    )  # though some are missing
    assert re.fullmatch(r"A research partner: [\d.]+ % \(average\); at most 20 % \(1 in 5\): \w+", said[0])


def test_what_a_release_states_need_not_be_given_again(desk_city: Path, shoal: Shoal, tmp_path: Path) -> None:
    made, statement, attacks = (tmp_path / name for name in ("made", "statement.toml", "attacks.json"))
    statement.write_text('purpose = "Plan the night buses."\nrecipients = "Two universities."\n')
    linkage = ("--linkage", tmp_path / "linkage.parquet")
    public = ("--risk-tries", 0, "--record", statement, "--output", made, *linkage)
    assert shoal("anonymize", desk_city, "--k", 4, *public).code == 0
    played = shoal("attack", desk_city, made, *linkage, "--knowledge", "points:4", "--tries", 20, "--json")
    attacks.write_text(played.out)
    page = tmp_path / "record.html"
    done = shoal("record", desk_city, made, *linkage, "--attacks", attacks, "--output", page)
    assert (done.code, "not stated" in done.out) == (0, False), done.err
    html = page.read_text()
    assert ("Plan the night buses." in html, "Two universities." in html) == (True, True)
    assert "Not stated: " not in html


def test_what_a_true_box_says_is_not_called_the_strongest_attack() -> None:
    rates = [
        {"name": name, "knowledge": "", "target": "release", "rate": rate, "baseline": 0.01, "worst": rate}
        for name, rate in (("attribution", 0.9), ("linkage", 0.1), ("home", 0.2))
    ]
    assert [one["name"] for one in strongest_first(rates, "boxes")] == ["home", "linkage", "attribution"]
    assert [one["name"] for one in strongest_first(rates, "points")] == ["attribution", "home", "linkage"]


def test_secrets_lie_where_they_were_put_and_nowhere_else(released: Visitor, work: Work) -> None:
    choices = work.choices
    assert sorted(path.name for path in Path(choices.output).iterdir()) == [
        "manifest.json",
        "release.parquet",
        "report.html",
    ]
    secret = [Path(choices.linkage), Path(choices.private_report), Path(choices.record)]
    assert [stat.S_IMODE(path.stat().st_mode) for path in secret] == [0o600] * 3
    page = released.get("kept/private-report.html")
    assert "PRIVATE" in page.html
    assert page.headers["content-security-policy"].startswith("sandbox")


def test_one_class_is_asked_alone(released: Visitor) -> None:
    smallest = classes_of(released.desk.release(released.desk.case.choices()))[0]
    page = released.post("release", "start:shown_class", like=smallest["record"])
    assert 'id="beliefs"' in page.html
    found = released.desk.work(released.desk.case.choices()).shown_class
    assert found is not None
    assert {one["tries"] for one in found.result()["attacks"] if one["target"] == "release"} == {
        smallest["size"]
    }
    refused = released.post("release", "start:shown_class", like="0123456789abcdef")
    released.desk.case.change(
        released.desk.case.choices().version, shown_class=""
    )  # others look at this case
    assert "no such record" in refused.sentence


def test_the_record_names_data_and_release(released: Visitor, work: Work, desk_city: Path) -> None:
    html = Path(work.choices.record).read_text()
    original = read(desk_city)
    for text in (
        sha256_of(desk_city),
        digest_of_data(original),
        sha256_of(Path(work.choices.output) / "release.parquet"),
        sha256_of(Path(work.choices.output) / "manifest.json"),
        sha256_of(Path(work.choices.output) / "report.html"),
        "Calls &lt;of&gt; Northport, 2027-1",
        "ISO/IEC 27559:2022, 8.2.3",
        "Opinion 05/2014",
        "ISO/IEC 20889:2018",
        "attacked together with no earlier release",
        "A person: each person has one id",
    ):
        assert text in html
    first_screen = html[: html.index('id="what"')]
    assert 'id="verdict"' in first_screen
    assert (
        "The release is good for none of these uses." in first_screen
    )  # so the promise does not stand alone
    assert first_screen.count("<strong>no</strong>") == 5
    text = re.sub(r"(?s)<head>.*?</head>|<svg.*?</svg>|<[^>]+>", " ", html)
    assert len(re.findall(r"\S*[^\W\d_]\S*", text)) < 1_700
    assert "<script" not in html
    assert len(html) < 1_000_000
    names = {uid for uid in original.ids if uid in html}
    assert names == set()


def test_the_record_is_a_command_like_every_other(
    released: Visitor, work: Work, shoal: Shoal, tmp_path: Path
) -> None:
    assert work.record is not None
    arguments = work.record.plan.commands[0].arguments()
    taken = shoal(*arguments)
    assert taken.code == 2
    assert "exists" in taken.err
    found = json.loads(Path(arguments[arguments.index("--attacks") + 1]).read_text())
    earlier, joined = "ab" * 32, won(found) | {"target": "release", "rate": 1.0, "high": 1.0}
    joined["successes"] = joined["tries"]
    series = found | {"together": {"releases": [found["release_sha256"], earlier], "attacks": [joined]}}
    series["attacks"] = [*found["attacks"], joined | {"name": "intersection", "asked": None}]
    (tmp_path / "series.json").write_text(json.dumps(series))
    french = [*arguments[:-1], str(tmp_path / "registre.html"), "--language", "fr"]
    french[french.index("--attacks") + 1] = str(tmp_path / "series.json")
    done = shoal(*french, "--json")
    assert done.code == 0
    document = json.loads(done.out)
    assert document["holds"] is True
    (judged_here,) = document["recipients"].values()
    assert (judged_here["judged_by"], judged_here["at_most"], judged_here["missing"]) == ("average", 0.2, [])
    assert judged_here["verdict"] == ("exceeded" if judged_here["rate"] > 0.2 else "kept")
    assert document["usefulness"]["uses"]["routes"]["answer"] == "no"
    assert (
        "À signer" in (tmp_path / "registre.html").read_text()
        or "à signer" in (tmp_path / "registre.html").read_text()
    )
    page = (tmp_path / "registre.html").read_text()
    assert (earlier in page, "100 % de ses essais" in page) == (True, True)
    lowered = {"successes": 0.0, "rate": 0.0, "low": 0.0, "high": 0.05}
    found["attacks"] = [one | lowered if one["target"] == "raw" else one for one in found["attacks"]]
    (tmp_path / "lowered.json").write_text(json.dumps(found))
    false = [*arguments[:-1], str(tmp_path / "false.html"), "--attacks", str(tmp_path / "lowered.json")]
    replayed = shoal(*false)
    assert (replayed.code, "of 10 victims of this release" in replayed.err) == (2, True), replayed.err
    found = json.loads(Path(arguments[arguments.index("--attacks") + 1]).read_text())
    found["attacks"] = [one | {"worst": one["rate"]} for one in found["attacks"]]
    (tmp_path / "averages.json").write_text(json.dumps(found))
    again = [*arguments[:-1], str(tmp_path / "again.html"), "--attacks", str(tmp_path / "averages.json")]
    assert shoal(*again).code == 0
    assert "25 % (maximum)" in (tmp_path / "again.html").read_text()
    inside = shoal(*arguments[:-1], str(Path(work.choices.output) / "record.html"))
    assert inside.code == 2
    assert "outside the release folder" in inside.err
    unknown = shoal(*arguments, "--recipient", "moon")
    assert (unknown.code, "is no recipient" in unknown.err) == (2, True)


def test_the_record_of_a_series_asks_for_attacks_with_all_earlier_releases(
    released: Visitor, work: Work, shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert work.record is not None
    arguments = work.record.plan.commands[0].arguments()
    found = json.loads(Path(arguments[arguments.index("--attacks") + 1]).read_text())
    place = SeriesJson(series=1, number=3, waiting=0, newcomers=0, crowds=1)
    monkeypatch.setattr(
        "shoal_desk.record.read_manifest",
        lambda folder: read_manifest(folder).model_copy(update={"series": place}),
    )
    asked = {}
    for n in (0, 1, 2):
        releases = [found["release_sha256"], *(f"{other:064x}" for other in range(n))]
        attacks, page = tmp_path / f"attacks{n}.json", tmp_path / f"record{n}.html"
        attacks.write_text(json.dumps(found | {"together": {"releases": releases, "attacks": []}}))
        made = shoal(*arguments[:-1], page, "--attacks", attacks)
        assert made.code == 0, made.err
        asked[n] = "this is release 3 of a series: attack it together with all" in page.read_text()
    assert asked == {0: True, 1: True, 2: False}


def won(found: Any) -> dict[str, Any]:
    return next(one for one in found["attacks"] if one["rate"] > 0)


WRONG: dict[str, Callable[[Any], Any]] = {
    "another release": lambda found: found | {"release_sha256": "0" * 64},
    "no release": lambda found: {name: found[name] for name in ("attacks", "notes")},
    "no rates": lambda found: {"notes": []},
    "a rate that is none": lambda found: found | {"attacks": [{"name": "linkage"}]},
    "rates in words": lambda found: found | {"attacks": [found["attacks"][0] | {"rate": "high"}]},
    "a rate above all": lambda found: found | {"attacks": [found["attacks"][0] | {"rate": 5.0}]},
    "a rate that is made lower": lambda found: found | {"attacks": [{**won(found), "rate": 0.0, "low": 0.0}]},
    "a rate beyond its interval": lambda found: found | {"attacks": [won(found) | {"high": 0.0}]},
    "an average above its maximum": lambda found: (
        found | {"attacks": [won(found) | {"worst": won(found)["rate"] / 2}]}
    ),
    "no maximum": lambda found: found | {"attacks": [won(found) | {"worst": None}]},
    "a guess above all": lambda found: found | {"attacks": [won(found) | {"baseline": 1.5}]},
    "a rate of another adversary": lambda found: found | {"attacks": [won(found) | {"name": "tracked"}]},
    "an adversary that is none": lambda found: found | {"attacks": [won(found) | {"asked": "oracle:4"}]},
    "no tries": lambda found: found | {"attacks": [won(found) | {"tries": 0}]},
    "no seed": lambda found: found | {"command": {**found["command"], "seed": None}},
    "one crowd alone": lambda found: found | {"command": {**found["command"], "like": "0" * 16}},
    "other releases together": lambda found: found | {"together": {"releases": ["0" * 64], "attacks": []}},
    "no digest together": lambda found: (
        found | {"together": {"releases": [found["release_sha256"], "week 1"], "attacks": []}}
    ),
    "a false rate together": lambda found: (
        found | {"together": {"releases": [found["release_sha256"]], "attacks": [won(found) | {"rate": 5.0}]}}
    ),
    "a list": lambda _found: [],
}


@pytest.mark.parametrize("name", WRONG)
def test_attacks_on_something_else_are_refused(name: str, work: Work, tmp_path: Path) -> None:
    found = work.result(work.release, 2)
    file = tmp_path / "attacks.json"
    file.write_text(json.dumps(WRONG[name](found)))
    with pytest.raises(InputError, match=r"attacks\.json"):
        read_attacks(file, found["release_sha256"])


def test_finding_oneself_counts_whole_crowds(released: Visitor, shoal: Shoal) -> None:
    release = released.desk.release(released.desk.case.choices())
    boxes, grid = release.record(0), release.snapped_grid()
    t_s = int(boxes.t_start[0] * grid.slot_s)
    x_m, y_m = boxes.x_min[0] * grid.cell_m, boxes.y_min[0] * grid.cell_m
    folder = released.desk.case.choices().output
    found = shoal("find", folder, "--planar", "--at", f"{t_s},{x_m},{y_m}", "--json")
    assert found.code == 0
    fit = json.loads(found.out)
    assert fit["together"] >= 4
    assert fit["records"] == 40
    assert fit["each"] == [fit["together"]]
    bad = shoal("find", folder, "--at", "yesterday,48,2")
    assert (bad.code, "write for example" in bad.err) == (2, True)


def test_what_is_chosen_is_kept_as_settings(released: Visitor) -> None:
    stated = tomllib.loads((released.folder / "record.toml").read_text())
    assert stated.pop("unit").startswith("A person: ")
    assert stated == {"data_set": "Calls <of> Northport", "version": "2027-1"}


def test_the_styles_of_the_record_are_not_escaped(work: Work) -> None:
    style = Path(work.choices.record).read_text().partition("<style>")[2].partition("</style>")[0]
    assert '"Segoe UI"' in style
    assert "&#" not in style


class Printer:
    """In the place of WeasyPrint: prints what it is given, and asks for an address."""

    def __init__(self, string: str, url_fetcher: Callable[[str], object]) -> None:
        self.string, self.fetch = string, url_fetcher

    def write_pdf(self) -> bytes:
        with pytest.raises(InputError, match="refers to nothing"):
            self.fetch("https://example.org/font.woff")
        return b"%PDF-1.7 " + self.string.encode()


def test_the_record_as_a_pdf(
    released: Visitor, work: Work, shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert work.record is not None
    words = work.record.plan.commands[0].arguments()
    words[words.index("--output") + 1] = str(tmp_path / "record.html")
    if "--pdf" in words:
        del words[words.index("--pdf") : words.index("--pdf") + 2]
    monkeypatch.setattr(pdf, "_weasyprint", lambda: None)
    missing = shoal(*words, "--pdf", str(tmp_path / "record.pdf"))
    assert (missing.code, "pip install 'shoal-desk[pdf]'" in missing.err) == (2, True)
    assert not (tmp_path / "record.html").exists()
    assert "Save as PDF" in released.get("record").html
    monkeypatch.setattr(pdf, "_weasyprint", lambda: SimpleNamespace(HTML=Printer))
    same = shoal(*words, "--pdf", str(tmp_path / "record.html"))
    assert (same.code, "choose another --pdf" in same.err) == (2, True)
    inside = shoal(*words, "--pdf", f"{work.choices.output}/record.pdf")
    assert (inside.code, "outside the release folder" in inside.err) == (2, True)
    done = shoal(*words, "--pdf", str(tmp_path / "record.pdf"), "--json")
    assert done.err == ""
    assert json.loads(done.out)["pdf"] == str(tmp_path / "record.pdf")
    printed = tmp_path / "record.pdf"
    assert printed.read_bytes() == b"%PDF-1.7 " + (tmp_path / "record.html").read_bytes()
    assert stat.S_IMODE(printed.stat().st_mode) == 0o600
    assert "--pdf" in record_plan(work.choices, tmp_path, tmp_path / "a.json", "en").commands[0].arguments()


def test_the_library_itself_prints_it(work: Work) -> None:
    pytest.importorskip("weasyprint", reason="the extra `pdf` is not installed")
    assert pdf.pdf_of(Path(work.choices.record).read_text()).startswith(b"%PDF-")
