"""A year of weekly releases in the tutorial for operators: its commands print what the page shows."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import shoal as library
from command_line import Shoal
from console_output import pattern_of

PAGE = Path(__file__).parents[2] / "docs" / "tutorial-operator.md"
MONDAY = int(np.datetime64("2024-01-01", "s").astype(np.int64))
WEEK_S = 7 * 86400


def test_a_year_of_weekly_releases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = library.synthesize(n_subjects=40, days=21, seed=2, layout="city")
    erased = "u0000007"
    for number in range(3):
        folder = tmp_path / "calls" / f"week={number + 1:02d}"
        folder.mkdir(parents=True)
        since = pc.subtract(calls["t"], MONDAY + number * WEEK_S)
        rows = pc.and_(pc.greater_equal(since, 0), pc.less(since, WEEK_S))
        if number == 2:
            rows = pc.and_(rows, pc.not_equal(calls["uid"], erased))
        pq.write_table(calls.filter(rows), folder / "calls.parquet")
    (tmp_path / "weekly.toml").write_text("k = 5\nrisk-tries = 0\n")
    (tmp_path / "erased.txt").write_text(f"{erased}\n")
    monkeypatch.chdir(tmp_path)
    shoal = Shoal(capsys)
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    asked = [part for block in blocks for part in block.split("$ shoal ")[1:]]
    commands = [words.split()[0] for words in asked]
    assert commands == ["anonymize", "anonymize", "series", "anonymize", "verify", "series"]
    for part in asked:
        words, _, printed = part.partition("\n")
        done = shoal(*shlex.split(words))
        assert done.code == 0, done.err
        assert re.search(pattern_of(printed), " ".join(done.out.split())), f"shoal {words}\n{done.out}"
    standing = json.loads(shoal("series", "show", "secret/state", "--json").out)
    assert [entry["people"] for entry in standing["releases"]] == [40, 40, 39]
    refused = shoal("anonymize", "calls/week=01", "--output", "out/04", "--renew", "--spare", "1")
    assert (refused.code, "--renew and --spare have no effect without --series" in refused.err) == (2, True)
    assert shoal("series", "erase", "secret/state", "erased.txt", "--json").code == 0
    again = shoal("series", "erase", "secret/state", "erased.txt")
    told = "0 people erased from secret/state; 1 was not in it; all stay out of later releases\n"
    assert again.out == told
    assert "give a file with one id on each line" in shoal("series", "erase", "secret/state", "calls").err
    assert "holds no series" in shoal("series", "erase", "out", "erased.txt").err
