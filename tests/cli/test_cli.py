"""The command line: the main job from file to verified release, exit codes, JSON alone, one-line errors."""

import errno
import hashlib
import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from command_line import Shoal
from shoal.cli import main as cli
from shoal.publishing.demo import FILES, ending
from shoal.runtime.checkpoint import Checkpoint, locked_folder
from shoal.runtime.staging import find_partials, staged_folder
from shoal.synthetic import write_synthetic


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "city.parquet"
    write_synthetic(path, 40, 2, 5)
    return path


@pytest.fixture
def released(city: Path, tmp_path: Path, shoal: Shoal) -> tuple[Path, Path]:
    folder, linkage = tmp_path / "release", tmp_path / "linkage.parquet"
    assert (
        shoal(
            "anonymize",
            city,
            "--method",
            "glove",
            "--k",
            2,
            "--output",
            folder,
            "--linkage",
            linkage,
            "--quiet",
        ).code
        == 0
    )
    return folder, linkage


def test_from_file_to_verified_release(city: Path, released: tuple[Path, Path], shoal: Shoal) -> None:
    folder, linkage = released
    assert sorted(path.name for path in folder.iterdir()) == [
        "manifest.json",
        "release.parquet",
        "report.html",
    ]
    assert stat.S_IMODE(linkage.stat().st_mode) == 0o600
    assert pq.read_table(linkage).column_names == ["uid", "trajectory_id"]
    assert pq.read_table(folder / "release.parquet").column_names == [
        "trajectory_id", "t_start", "t_end", "x_min", "y_min", "x_max", "y_max", "geometry",
    ]  # fmt: skip
    outcome = shoal("verify", city, folder, "--linkage", linkage, "--json")
    assert outcome.code == 0
    verdict = json.loads(outcome.out)
    assert verdict["holds"] is True
    assert verdict["verified"]["sha256"] == {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("release.parquet", "manifest.json")
    }


@pytest.mark.parametrize(
    "words",
    [
        ("synthesize", "{tmp}/made.parquet", "--subjects", "5"),
        ("assess", "{city}", "--k", "2", "--output", "{tmp}/page.html"),
        ("verify", "{city}", "{tmp}/release", "--linkage", "{tmp}/linkage.parquet"),
    ],
)
def test_quiet_prints_nothing_where_all_went_well(
    words: tuple[str, ...], city: Path, released: tuple[Path, Path], tmp_path: Path, shoal: Shoal
) -> None:
    assert released[0].exists()
    outcome = shoal(*(word.format(city=city, tmp=tmp_path) for word in words), "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_quiet_prints_what_to_know_of_a_release_that_is_of_no_use(
    city: Path, tmp_path: Path, shoal: Shoal
) -> None:
    words = ("anonymize", city, "--k", 10, "--risk-tries", 0, "--output")
    document = json.loads(shoal(*words, tmp_path / "one", "--json").out)
    quiet = shoal(*words, tmp_path / "other", "--quiet")
    assert (quiet.code, quiet.out) == (0, "")
    assert quiet.err.splitlines() == document["cautions"]
    assert quiet.err.startswith("OF NO USE")
    logged = shoal(*words, tmp_path / "third", "--quiet", "--log", "json")
    entries = [json.loads(line) for line in logged.err.splitlines()]
    assert [(one["level"], one["message"]) for one in entries] == [
        ("info", caution) for caution in document["cautions"]
    ]


@pytest.mark.parametrize("engine", ["threads", "local:2"])
def test_blocks_from_file_to_verified_release(engine: str, city: Path, tmp_path: Path, shoal: Shoal) -> None:
    folder, linkage = tmp_path / "release", tmp_path / "linkage.parquet"
    people = len(pq.read_table(city, columns=["uid"]).column("uid").unique())
    size = -(-people // 3)
    outcome = shoal(
        "anonymize",
        city,
        "--k",
        2,
        "--blocks",
        size,
        "--engine",
        engine,
        "--output",
        folder,
        "--linkage",
        linkage,
        "--json",
    )
    assert outcome.code == 0, outcome.err
    said = json.loads(outcome.out)
    assert said["verdict"]["holds"]
    assert (said["output"], said["linkage"]) == (str(folder), str(linkage))
    assert sorted(path.name for path in folder.iterdir()) == [
        "manifest.json",
        "release.parquet",
        "report.html",
    ]
    for words in ((), ("--streamed",), ("--streamed", "--engine", engine)):
        checked = shoal("verify", city, folder, "--linkage", linkage, "--json", *words)
        assert checked.code == 0, checked.err
        assert json.loads(checked.out)["holds"] is True
    boxes = pq.read_table(folder / "release.parquet")
    broken = boxes.set_column(boxes.column_names.index("x_max"), "x_max", pc.subtract(boxes["x_max"], 100))
    pq.write_table(broken, folder / "release.parquet")
    assert shoal("verify", city, folder, "--linkage", linkage, "--streamed", "--quiet").code in (1, 2)
    alone = shoal("verify", city, folder, "--linkage", linkage, "--engine", "local:2")
    assert (alone.code, "--engine works on the parts of a check with --streamed" in alone.err) == (2, True)


def test_manifest_has_every_pinned_name(released: tuple[Path, Path]) -> None:
    manifest = json.loads((released[0] / "manifest.json").read_text())
    assert {
        "format_version", "shoal_version", "method", "parameters", "claim", "crs", "cell_m", "slot_s",
        "unit_of_protection", "verdict", "losses", "n_records", "n_samples", "publishable", "release_sha256",
    } <= manifest.keys()  # fmt: skip
    assert manifest["claim"]["type"] == "k-anonymity"
    assert {"holds", "checked", "findings"} <= manifest["verdict"].keys()
    assert {"rows", "samples_suppressed", "subjects_suppressed"} <= manifest["losses"].keys()


def test_a_changed_release_is_refused_with_exit_1(
    city: Path, released: tuple[Path, Path], shoal: Shoal
) -> None:
    folder, linkage = released
    table = pq.read_table(folder / "release.parquet")
    pq.write_table(table.slice(1), folder / "release.parquet")
    outcome = shoal("verify", city, folder, "--linkage", linkage)
    assert outcome.code == 1
    assert "DOES NOT HOLD" in outcome.out
    assert re.search(r"  box-not-tight: .* \(record [0-9a-f]{16}\)\n", outcome.out)
    assert not any(uid in outcome.out + outcome.err for uid in pq.read_table(linkage)["uid"].to_pylist())


def test_verify_works_on_rows_in_another_order(
    city: Path, released: tuple[Path, Path], tmp_path: Path, shoal: Shoal
) -> None:
    folder, linkage = released
    table = pq.read_table(city)
    pq.write_table(table.take(list(range(table.num_rows - 1, -1, -1))), tmp_path / "reversed.parquet")
    assert shoal("verify", tmp_path / "reversed.parquet", folder, "--linkage", linkage).code == 0


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (("inspect", "{city}"), {"subjects", "samples"}),
        (("assess", "{city}", "--k", "2", "--k", "3"), {"subjects", "gaps", "tail"}),
        (("synthesize", "{tmp}/new.parquet", "--subjects", "5", "--days", "1"), {"rows", "subjects"}),
        (
            ("anonymize", "{city}", "--output", "{tmp}/r"),
            {"verdict", "losses", "n_records", "output", "accuracy"},
        ),
    ],
)
def test_json_stands_alone_on_standard_output(
    words: tuple[str, ...], keys: set[str], city: Path, tmp_path: Path, shoal: Shoal
) -> None:
    outcome = shoal(*(word.format(city=city, tmp=tmp_path) for word in words), "--json")
    assert outcome.code == 0
    assert keys <= json.loads(outcome.out).keys()


def test_demo_writes_everything(tmp_path: Path, shoal: Shoal) -> None:
    outcome = shoal("demo", "--output", tmp_path / "demo", "--json")
    assert outcome.code == 0
    folder = tmp_path / "demo"
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert written == {name for name, _, _ in FILES}
    pages = {name: (folder / name).read_text() for name, _, _ in FILES if name.endswith(".html")}
    assert len(pages) == 3
    assert [name for name, page in pages.items() if "<script" in page or len(page) > 500_000] == []
    assert min(page.count('role="img"') for page in pages.values()) >= 2
    told = ending(folder)
    listed = [line.split()[:2] for line in told[1 : 1 + len(FILES)]]
    assert listed == [[name, "secret" if secret else "public"] for name, secret, _ in FILES]
    assert all(secret != name.startswith("release/") for name, secret, _ in FILES)
    assert told[-1] == "  shoal inspect YOUR-FILE.csv"
    told = json.loads(outcome.out)
    assert (told["n_records"], told["claim"]["k"]) == (1000, 5)
    five, two = told["at_k"]
    assert (five["k"], two["k"]) == (5, 2)
    assert five["kept"]["mean-space"] > two["kept"]["mean-space"]
    assert (five["cautions"], len(two["cautions"])) == ([], 1)
    assert (
        shoal(
            "verify", folder / "city.parquet", folder / "release", "--linkage", folder / "linkage.parquet"
        ).code
        == 0
    )


def test_a_demo_names_the_command_as_it_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_STARTED_BY", "./my copy/dev")
    assert ending(Path("demo"))[-1] == "  './my copy/dev' shoal inspect YOUR-FILE.csv"


def test_a_wrong_number_is_told_in_plain_words(monkeypatch: pytest.MonkeyPatch, shoal: Shoal) -> None:
    monkeypatch.setenv("SHOAL_STARTED_BY", "./dev")
    done = shoal("synthesize", "city.parquet", "--subjects", "20k")
    assert done.code == 2
    assert "'--subjects': '20k' is not a whole number (try './dev shoal synthesize --help')" in done.err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("anonymize", "city.parquet", "--k", "2.5"), "'2.5' is not a whole number"),
        (("tabulate", "city.parquet", "--epsilon", "much"), "'much' is not a number"),
    ],
)
def test_what_is_no_number_is_told_in_plain_words(words: tuple[str, ...], what: str, shoal: Shoal) -> None:
    assert what in shoal(*words).err


def test_one_is_not_told_as_many(tmp_path: Path, shoal: Shoal) -> None:
    lone = tmp_path / "lone.parquet"
    told = shoal("synthesize", lone, "--subjects", 1, "--days", 1).out
    assert " of 1 person over 1 day at " in told
    (tmp_path / "one.csv").write_text("uid,t,lat,lon\nann,2024-01-01 08:00,7.0,-5.0\n")
    assert "read 1 sample of 1 subject from 1 row;" in shoal("assess", tmp_path / "one.csv").err


def test_settings_file_stands_in_for_options(city: Path, tmp_path: Path, shoal: Shoal) -> None:
    config = tmp_path / "study.toml"
    config.write_text('k = 3\nsuppress-space = "15km"\nmethod = "glove"\ncell = "200m"\n')
    outcome = shoal("anonymize", city, "--config", config, "--output", tmp_path / "r", "--json")
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert (outcome.code, manifest["claim"]["k"], manifest["cell_m"]) == (0, 3, 200)
    assert manifest["parameters"]["suppress_space_m"] == 15_000
    assert shoal("anonymize", city, "--config", config, "--k", 2, "--output", tmp_path / "r2").code == 0
    assert json.loads((tmp_path / "r2" / "manifest.json").read_text())["claim"]["k"] == 2


@pytest.mark.parametrize(
    "how", [("--risk-tries", 20), ("--blocks", 20, "--engine", "threads")], ids=["at once", "in blocks"]
)
def test_what_each_stage_took_is_told_when_asked(
    how: tuple[object, ...], city: Path, tmp_path: Path, shoal: Shoal
) -> None:
    words = ("anonymize", city, "--k", 2, *how)
    asked = shoal(*words, "--output", tmp_path / "json", "--timings", "--json")
    told = json.loads(asked.out)["timings"]
    assert [set(one) for one in told] == [{"stage", "seconds", "cpu_s", "peak_bytes"}] * len(told)
    stages = [one["stage"] for one in told]
    assert {"reading", "method", "writing", "page", "check of the files"} <= set(stages)
    assert len(set(stages)) == len(stages)
    lines = shoal(*words, "--output", tmp_path / "lines", "--timings").out.splitlines()
    shown = lines[lines.index(next(line for line in lines if line.startswith("stage "))) + 1 :]
    assert [line[:28].strip() for line in shown] == [*stages, "all"]
    quiet = shoal(*words, "--output", tmp_path / "quiet", "--timings", "--quiet")
    assert (quiet.out, [line[:28].strip() for line in quiet.err.splitlines()][-1 - len(stages) :]) == (
        "",
        [*stages, "all"],
    )
    unasked = shoal(*words, "--output", tmp_path / "unasked", "--json")
    assert "timings" not in json.loads(unasked.out)


def test_where_the_linkage_lies_or_that_there_is_none_is_told(
    city: Path, tmp_path: Path, shoal: Shoal
) -> None:
    words = ("anonymize", city, "--k", 2, "--risk-tries", 0)
    without = shoal(*words, "--output", tmp_path / "without").out
    assert "linkage: none; --linkage FILE keeps who is in which record" in without
    kept = shoal(*words, "--output", tmp_path / "r", "--linkage", tmp_path / "l.parquet").out
    assert [line for line in kept.splitlines() if "linkage:" in line] == [f"linkage: {tmp_path}/l.parquet"]


def test_who_finds_another_command_at_work_is_not_told_to_remove_its_parts(
    city: Path, tmp_path: Path, shoal: Shoal
) -> None:
    parts = tmp_path / "r.parts"
    with Checkpoint.until_done(parts, {"k": 2}):
        told = shoal("anonymize", city, "--k", 2, "--blocks", 20, "--output", tmp_path / "r")
        assert (told.code, "another command works in" in told.err) == (2, True)
        assert "rm -r" not in told.err
        assert parts.exists()


def test_research_seed_marks_the_release_and_is_not_in_it(city: Path, tmp_path: Path, shoal: Shoal) -> None:
    for name in ("a", "b"):
        outcome = shoal("anonymize", city, "--output", tmp_path / name, "--research-seed", 987654321)
        assert "NOT FOR PUBLICATION" in outcome.out
    assert (tmp_path / "a/release.parquet").read_bytes() == (tmp_path / "b/release.parquet").read_bytes()
    manifest = (tmp_path / "a/manifest.json").read_text()
    assert json.loads(manifest)["publishable"] is False
    assert "987654321" not in manifest + (tmp_path / "a/report.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("anonymize", "{city}", "--k", "1", "--output", "{tmp}/r"), "--k 1 hides nobody; choose k >= 2"),
        (
            ("anonymize", "{city}", "--k", "41", "--output", "{tmp}/r"),
            "k = 41 needs at least 41 people, and the data has 40",
        ),
        (("anonymize", "{city}", "--output", "{tmp}"), "exists; choose another --output or remove it first"),
        # said before INPUT is read, which may take long
        (("anonymize", "{city}", "--output", "{tmp}"), "exists; choose another --output"),
        (("assess", "{city}", "--output", "{tmp}"), "exists; choose another --output"),
        (
            ("anonymize", "{city}", "--output", "{tmp}/r", "--linkage", "{tmp}/r/linkage.parquet"),
            "would lie inside the release folder",
        ),
        # a folder's files are all raw data, to the next command at the latest
        (("anonymize", "{tmp}", "--output", "{tmp}/r"), "r would lie inside the input"),
        (
            ("anonymize", "{tmp}", "--output", "{tmp}/../r", "--linkage", "{tmp}/l"),
            "l would lie inside the input",
        ),
        (
            ("anonymize", "{city}", "--output", "{tmp}/r", "--private-report", "{tmp}/r/p.html"),
            "inside the release folder",
        ),
        (
            ("anonymize", "{city}", "--output", "{tmp}/r", "--suppress-space", "15"),
            "write a number and a unit, for example 500m or 2km",
        ),
        (("anonymize", "{city}", "--output", "{tmp}/r", "--suppress-space", "1m"), "nothing to publish"),
        (("anonymize", "{city}", "--output", "{tmp}/r", "--method", "magic"), "'magic' is not"),
        (("anonymize", "{city}", "--output", "{tmp}/r", "--no-snap"), "without --no-snap"),
        (("anonymize", "{city}"), "Missing option '--output'"),
        (("anonymize", "{tmp}/none.parquet", "--output", "{tmp}/r"), "none.parquet"),
        (("anonymize", "{city}", "--config", "{tmp}/none.toml", "--output", "{tmp}/r"), "cannot read"),
        (("verify", "{city}", "{tmp}"), "is not a release folder: it has no manifest.json"),
        (("verify", "{city}", "{tmp}", "--cell", "1km"), "leave out --cell"),
        (("synthesize", "{city}", "--subjects", "5"), "exists"),
        (("synthesize", "{tmp}/new.csv", "--subjects", "5"), "choose a name that ends in .parquet"),
        (("synthesize", "{tmp}/new.parquet", "--subjects", "1000000000000"), "choose at most 100000000"),
        (("inspect", "{city}", "--id", "phone"), "phone"),
        (("blur",), "No such command 'blur'"),
    ],
)
def test_misuse_is_one_line_and_exit_2(
    words: tuple[str, ...], message: str, city: Path, tmp_path: Path, shoal: Shoal
) -> None:
    outcome = shoal(*(word.format(city=city, tmp=tmp_path) for word in words))
    assert outcome.code == 2
    assert message in outcome.err
    assert [
        line.startswith("shoal: ")
        for line in outcome.err.splitlines()
        if not line.startswith(("read ", "note: "))
    ] == [True]
    assert outcome.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == []


def test_unknown_entry_of_a_settings_file_is_named(city: Path, tmp_path: Path, shoal: Shoal) -> None:
    (tmp_path / "study.toml").write_text("supress_space = 3\n")
    outcome = shoal("anonymize", city, "--config", tmp_path / "study.toml", "--output", tmp_path / "r")
    assert outcome.code == 2
    assert (
        "sets 'supress_space', which is no option of this command; did you mean suppress-space or "
        "suppress-time" in outcome.err
    )
    assert "(try 'shoal anonymize --help')" in outcome.err
    assert len(outcome.err) < 300 + len(str(tmp_path))


@pytest.mark.parametrize(
    "words",
    [
        "inspect absent",
        "assess absent --k 2",
        "advise absent",
        "anonymize absent",
        "compare absent",
        "verify {city} absent",
        "verify absent {city} --streamed",
        "verify {city} {city} --linkage absent --engine local",
        "attack {city} absent",
        "measure {city} absent",
        "measure absent {city}",
        "publish absent",
        "convert absent",
        "check absent",
        "check {city} --raw absent --as id",
        "share absent",
        "share absent --output shared.txt",
        "series show absent",
        "series erase absent",
        "tabulate absent",
        "record {city} absent",
        "find absent",
        "granularity absent",
    ],
)
def test_an_absent_path_is_told_before_other_faults(words: str, city: Path, shoal: Shoal) -> None:
    outcome = shoal(*words.format(city=city).split())
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "shoal: no file or folder absent; check the path\n"


def test_a_series_that_is_not_there_is_told_before_anything_is_read(
    city: Path, tmp_path: Path, shoal: Shoal
) -> None:
    outcome = shoal("anonymize", city, "--series", tmp_path / "absent", "--output", tmp_path / "r")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(
        f"shoal: {tmp_path / 'absent'} holds no series; check the path. --renew begins"
    )


def test_yes_where_a_settings_file_needs_a_value_is_said(city: Path, tmp_path: Path, shoal: Shoal) -> None:
    config, output = tmp_path / "study.toml", tmp_path / "r"
    config.write_text("k = true\n")
    outcome = shoal("anonymize", city, "--config", config, "--output", output)
    assert (outcome.code, "sets 'k' to true, but it needs a value" in outcome.err) == (2, True)
    config.write_text("quiet = true\nno-snap = true\n")
    outcome = shoal("anonymize", city, "--config", config, "--output", output)
    assert (outcome.code, "without --no-snap" in outcome.err) == (2, True)
    config.write_text("quiet = true\nno-snap = false\n")
    assert shoal("anonymize", city, "--config", config, "--output", output).code == 0


@pytest.mark.parametrize("option", ["--output", "--linkage", "--private-report"])
def test_unwritable_output_is_said(option: str, city: Path, tmp_path: Path, shoal: Shoal) -> None:
    (tmp_path / "file").write_text("")
    outcome = shoal("anonymize", city, "--output", tmp_path / "r", option, tmp_path / "file" / "x")
    assert outcome.code == 2
    assert f"cannot write {tmp_path / 'file' / 'x'}: a part of the path is a file" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_full_disk_leaves_nothing(
    city: Path, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def onto_a_full_disk(_release: object, _path: Path) -> None:
        with Path("/dev/full").open("wb", buffering=0) as file:
            file.write(b"x" * 4096)

    monkeypatch.setattr("shoal.publishing.publish.write_table", onto_a_full_disk)
    outcome = shoal("anonymize", city, "--output", tmp_path / "r", "--linkage", tmp_path / "l.parquet")
    assert outcome.code == 2
    assert "the disk is full" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_release_that_fails_its_check_is_not_written(
    city: Path, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.methods.glove import glove

    honest = glove.Glove.claim
    monkeypatch.setattr(glove.Glove, "claim", lambda self: type(honest(self))(k=40))
    outcome = shoal(
        "anonymize", city, "--k", 2, "--output", tmp_path / "r", "--linkage", tmp_path / "l.parquet"
    )
    assert outcome.code == 1
    assert "does not keep its promise and was not written: class-below-k" in outcome.err
    assert list(tmp_path.iterdir()) == []


# The command ``shoal``, which waits when the first file of a release is there and the next is opened.
WAITING_WHILE_IT_WRITES = """
import os, signal, sys, threading, time
from contextlib import suppress
from pathlib import Path
from shoal.__main__ import main

waited = False

def wait(event, arguments):
    global waited
    signaled = threading.current_thread() is threading.main_thread()
    if event == "open" and signaled and not waited and ".partial-" in str(arguments[0]):
        waited = any(Path(str(arguments[0])).parent.glob("*.parquet"))
        with suppress(*[KeyboardInterrupt] * ("SWALLOW" in os.environ)):  # as libraries do now and then
            print("waiting" * waited, file=sys.stderr, flush=True)
            time.sleep(120 * waited)
        time.sleep(120 * waited)

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup, around these tests, would change
sys.addaudithook(wait)
main()
"""


@pytest.mark.parametrize(
    ("stop", "environment"),
    [
        (stop, once)
        for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for once in ({}, {"SWALLOW": "1"})
    ],
)
def test_an_interrupt_leaves_nothing_half_written(
    stop: signal.Signals, environment: dict[str, str], tmp_path: Path
) -> None:
    raw = tmp_path / "raw.parquet"
    write_synthetic(raw, 100, 7, 1)
    output = tmp_path / "out"
    output.mkdir()
    words = [
        "anonymize",
        str(raw),
        "--k",
        "5",
        "--output",
        str(output / "r"),
        "--linkage",
        str(output / "l.parquet"),
    ]
    words = [sys.executable, "-c", WAITING_WHILE_IT_WRITES, *words]
    running = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=os.environ | environment)
    assert running.stderr is not None
    assert any("waiting" in line for line in running.stderr)
    assert list(output.glob(".*/*.parquet")), "the release is prepared under another name first"
    running.send_signal(stop)
    _, shown = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted; nothing half-written is left; start with --resume next time to keep finish" in shown
    assert "Traceback" not in shown
    assert list(output.iterdir()) == []


def test_an_interrupt_that_python_cannot_raise_comes_again() -> None:
    """Inside a destructor Python prints an error and goes on; one Ctrl-C ends the command all the same."""
    code = (
        "import os, signal, time\n"
        "from shoal import __main__\n"
        "from shoal.cli import main\n"
        "class Dying:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "def work(**_):\n"
        "    Dying()\n"
        "    time.sleep(60)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's & would ignore\n"
        "main.shoal.main = work\n"
        "__main__.main()\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (130, "shoal: interrupted; nothing half-written is left\n")


def test_a_terminal_that_is_closed_leaves_nothing_half_written(tmp_path: Path) -> None:
    raw, output = tmp_path / "raw.parquet", tmp_path / "out"
    write_synthetic(raw, 100, 7, 1)
    output.mkdir()
    words = ("anonymize", str(raw), "--k", "5", "--output", str(output / "r"))
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, (sys.executable, "-c", WAITING_WHILE_IT_WRITES, *words))
    deadline = time.monotonic() + 60
    while not list(output.glob(".*/*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(output.glob(".*/*.parquet")), "the release is prepared under another name first"
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert list(output.iterdir()) == []


def test_a_command_that_ignores_hangups_goes_on(tmp_path: Path) -> None:
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"  # as nohup does
        "from shoal import __main__\n"
        "from shoal.cli import main\n"
        "main.shoal.main = lambda **_: os.kill(os.getpid(), signal.SIGHUP)\n"
        "__main__.main()\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_interrupt_the_moment_the_folder_is_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = Path.mkdir

    def interrupted(path: Path, *args: Any, **settings: Any) -> None:
        make(path, *args, **settings)
        if ".partial-" in path.name:
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt), staged_folder(tmp_path / "r"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [(), *((name,) for name in cli.shoal.commands)])
def test_help_teaches(words: tuple[str, ...], shoal: Shoal) -> None:
    outcome = shoal(*words, "--help")
    assert outcome.code == 0
    assert "Usage: shoal" in outcome.out
    assert "default: True" not in outcome.out  # of a switch it does not tell which way
    for command in () if not words else [cli.shoal.commands[words[0]]]:
        assert all(option.help for option in command.params if isinstance(option, click.Option))


def test_help_loads_no_library_of_the_work() -> None:
    """Which is what makes it quick; ``bench/bench_commands.py`` measures the time."""
    work = ["numpy", "pandas", "pyarrow", "numba", "plotly", "jinja2", "pyproj", "sqlalchemy", "cryptography"]
    code = (
        "import atexit, sys; from shoal.cli.main import main; "
        f"atexit.register(lambda: print([n for n in {work} if n in sys.modules], file=sys.stderr)); "
        "main(['--help'])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "anonymize" in done.stdout
    assert done.stderr == "[]\n"


def test_without_a_command_the_help_keeps_its_lines(shoal: Shoal) -> None:
    outcome = shoal()
    assert outcome.code == 2
    assert outcome.err == shoal("--help").out
    assert "\n    shoal inspect calls.csv\n" in outcome.err


def test_commands_stand_in_the_order_of_work() -> None:
    every = sorted(cli.shoal.commands)
    listed = [name for names in cli.shoal.sections.values() for name in names]
    assert sorted(listed) == every
    assert (
        listed.index("inspect") < listed.index("anonymize") < listed.index("verify") < listed.index("attack")
    )


@pytest.mark.parametrize("words", [("--method", "w4m", "--help"), ("--help", "--method=w4m")])
def test_the_help_shows_the_parameters_of_the_chosen_method_alone(
    words: tuple[str, ...], shoal: Shoal
) -> None:
    of_w4m = shoal("anonymize", *words).out
    of_glove = shoal("anonymize", "--help").out
    assert "Parameters of w4m (of another method: --method NAME --help):" in of_w4m
    assert "--chunk N" in of_w4m
    assert "--leftover" not in of_w4m
    assert "--leftover" in of_glove
    assert "--chunk N" not in of_glove
    for text in (of_w4m, of_glove):
        assert text.index("Options:") < text.index("Parameters of") < text.index("Reading INPUT:")
        assert text.index("Rounding to") < text.index("Settings and messages:") < text.index("-h, --help")


def test_secret_parts_that_lie_here_are_named_with_the_command_that_removes_them(
    city: Path, tmp_path: Path, shoal: Shoal
) -> None:
    (tmp_path / "my release.parts").mkdir()
    (tmp_path / ".links.parquet.partial-0123").touch()
    words = ("anonymize", city, "--k", 2, "--output", tmp_path / "my release", "--risk-tries", 0)
    told = shoal(*words, "--linkage", tmp_path / "links.parquet").err
    assert f"rm -r {tmp_path}/.links.parquet.partial-0123 '{tmp_path}/my release.parts'" in told
    assert (tmp_path / "my release" / "manifest.json").exists()
    (tmp_path / ".links.parquet.partial-0123").unlink()
    (tmp_path / ".theirs.partial-0123").mkdir()
    with locked_folder(tmp_path / ".theirs.partial-0123", "wait"):  # as a running command holds it
        other = shoal("publish", tmp_path / "my release", "--to", tmp_path / "third", "--format", "csv")
        free = find_partials(tmp_path / "theirs")
    assert f"another command is writing here: {tmp_path}/.theirs.partial-0123\n" in other.err
    assert ("rm -r" in other.err, free) == (False, [])
    (tmp_path / ".theirs.partial-0123").rmdir()
    (tmp_path / ".csv.partial-0123").mkdir()  # and those of a stopped export or conversion
    export = shoal("publish", tmp_path / "my release", "--to", tmp_path / "csv", "--format", "csv")
    assert export.err.count(f"rm -r {tmp_path}/.csv.partial-0123\n") == 1
    other = shoal("publish", tmp_path / "my release", "--to", tmp_path / "other", "--format", "csv")
    assert other.err.count(f"rm -r {tmp_path}/.csv.partial-0123\n") == 1  # beside another name, too
    (tmp_path / ".r.partial-0123").mkdir()  # as a kill between the names of linkage and release leaves it
    half = shoal("anonymize", city, "--output", tmp_path / "r", "--linkage", tmp_path / "links.parquet")
    assert (half.code, f"left {tmp_path}/.r.partial-0123, remove both" in half.err) == (2, True)
    (tmp_path / "r.parts").mkdir()
    (tmp_path / "r.parts" / "job.json").write_text("another job")
    failed = shoal("anonymize", city, "--output", tmp_path / "r", "--resume", "--quiet")
    assert (failed.code, "parts of a job with other data" in failed.err) == (2, True)
    assert f"remove them: rm -r {tmp_path}/r.parts" in failed.err
    assert "to continue" not in failed.err
    (tmp_path / "r").mkdir()  # as when somebody stops it after the release got its name
    failed = shoal("anonymize", city, "--output", tmp_path / "r", "--resume", "--quiet")
    assert f"remove them: rm -r {tmp_path}/r.parts" in failed.err
    assert "to continue" not in failed.err


@pytest.mark.parametrize("how", [("--resume", "--refine"), ("--blocks", 30, "--engine", "threads")])
def test_who_continues_is_told_so(
    how: tuple[object, ...], city: Path, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f"{tmp_path / 'r.parts'} lies here of a run that was stopped: what it finished of this is not done"
    words = ("anonymize", city, "--k", 2, *how, "--output", tmp_path / "r", "--risk-tries", 0)
    with monkeypatch.context() as full:
        full.setattr("shoal.publishing.writing.require_places_on_earth", refuse)
        stopped = shoal(*words)
    assert (stopped.code, said in stopped.err) == (2, False)
    assert "run the same command again to continue" in stopped.err
    again = shoal(*words)
    assert (again.code, said in again.err) == (0, True)


def refuse(_: Path) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("https://KEY:SECRET@host/release", "must lie on this machine"),
        ("postgresql://KEY:SECRET@host/base#a.b", "must lie on this machine"),
        ("s3://KEY:SECRET@/..", "names no folder"),
        ("s3://", "names no folder"),
        ("s3://data/x?key=KEY@SECRET", "names no folder"),
    ],
)
def test_an_address_that_is_no_store_is_no_output(
    address: str, why: str, city: Path, tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = shoal("anonymize", city, "--output", address)
    assert (refused.code, why in refused.err, "SECRET" in refused.err) == (2, True, False)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_commands_load_is_no_traceback(tmp_path: Path) -> None:
    """Ctrl-C in the first second, when nothing but imports has begun."""
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    found = subprocess.run(
        [sys.executable, "-m", "shoal", "inspect", "x.csv"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (130, "shoal: interrupted; nothing half-written is left\n")


def test_an_interrupt_while_python_ends_changes_neither_exit_code_nor_output() -> None:
    """Ctrl-C when the command is done, but threads and Java still stop: it was -2 once, or a traceback."""
    code = (
        "import atexit, os, signal, sys, shoal.__main__ as start\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "sys.argv[1:] = ['--version']\n"
        "start.main()\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


def test_an_interrupt_while_a_dataclass_is_made_ends_with_its_code(tmp_path: Path) -> None:
    """A KeyboardInterrupt inside exec of a text counts as unhandled for good: ``-m`` then ends with -2."""
    (tmp_path / "started.py").write_text(
        "import sys, shoal.__main__ as start, shoal.cli.main as commands\n"
        "def run():\n"
        "    try:\n"
        "        exec('raise KeyboardInterrupt')\n"
        "    except KeyboardInterrupt:\n"
        "        sys.exit(130)\n"
        "commands.main = run\n"
        "start.main()\n"
    )
    words = [sys.executable, "-m", "started"]
    assert subprocess.run(words, cwd=tmp_path, check=False).returncode == 130


@pytest.fixture
def one(tmp_path: Path) -> Path:
    path = tmp_path / "one.csv"
    path.write_text(
        "id,t,lat,lon\nann,2024-05-01T10:00:00Z,48.85,2.35\nann,2024-05-01T11:00:00Z,48.86,2.36\n"
    )
    return path


def test_one_person_is_offered_no_k(one: Path, tmp_path: Path, shoal: Shoal) -> None:
    assert "next: add people" in shoal("inspect", one).out
    assert "add people" in json.loads(shoal("inspect", one, "--json").out)["next"]
    for words in (("assess", one), ("anonymize", one, "--k", 2, "--output", tmp_path / "release")):
        refused = shoal(*words, "--quiet")
        assert (refused.code, refused.out) == (2, "")
        assert "no k hides a person without others, and the data has 1; add people" in refused.err
        assert "smaller" not in refused.err


def test_a_linkage_inside_the_release_is_refused_before_any_row_is_read(tmp_path: Path, shoal: Shoal) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text("not a table\n")
    release = tmp_path / "release"
    words = ("anonymize", broken, "--output", release, "--linkage", release / "linkage.parquet", "--quiet")
    assert "linkage.parquet would lie inside the release folder" in shoal(*words).err


def test_a_release_without_linkage_says_so_before_the_work(city: Path, tmp_path: Path, shoal: Shoal) -> None:
    words = ("anonymize", city, "--k", 2, "--risk-tries", 0)
    missing = "note: no --linkage FILE keeps who became which record: no later check can be full\n"
    assert shoal(*words, "--output", tmp_path / "one").err.startswith(missing)
    assert missing not in shoal(*words, "--output", tmp_path / "two", "--linkage", tmp_path / "links").err
