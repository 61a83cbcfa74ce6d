"""The command that measures trackers, on little data: what it prints, and that fewer points join less."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import measure_tracks
from small_points import walkers


def test_the_table_has_a_row_for_every_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original = walkers(40, 20, step_m=40)
    ids = np.repeat(np.array(original.ids), original.lengths).tolist()
    table = pa.table({"user_id": ids, "t": original.t.astype(int), "x": original.x, "y": original.y})
    pq.write_table(table, tmp_path / "walkers.parquet")
    words = ["oldenburg", "--points", str(tmp_path / "walkers.parquet"), "--k", "3", "--space", "1e6"]
    monkeypatch.setattr("sys.argv", ["measure_tracks", *words, "--keep", "1", "0.25"])
    measure_tracks.main()
    lines = [
        line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("| 3 ")
    ]
    everything, quarter = lines
    published, rejoined = ([float(one[column].strip(" %")) for one in lines] for column in (3, 4))
    assert published[1] == pytest.approx(published[0] / 4, rel=0.2)
    assert rejoined[0] > 95
    assert rejoined[1] <= rejoined[0]
    assert float(everything[6].strip(" %")) > 80
    assert quarter[6].strip(" %") == "nan"
