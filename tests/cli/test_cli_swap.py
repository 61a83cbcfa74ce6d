"""swap-locations and reach-locations on the command line.

From file to verified release, what they refuse, attack and measure on points.
"""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import Shoal
from shoal.model.trajectories import Trajectories
from small_points import crowd, drivers, town


def written(original: Trajectories, path: Path) -> Path:
    ids = np.repeat(np.array(original.ids), original.lengths)
    pq.write_table(pa.table({"id": ids, "t": original.t, "x": original.x, "y": original.y}), path)
    return path


@pytest.fixture
def streets(tmp_path: Path) -> tuple[str, ...]:
    graph = town()
    pq.write_table(
        pa.table({"node_id": np.arange(graph.n_nodes), "x": graph.x, "y": graph.y}),
        tmp_path / "nodes.parquet",
    )
    pq.write_table(pa.table({"u": graph.u, "v": graph.v}), tmp_path / "edges.parquet")
    return (
        "--streets-nodes",
        str(tmp_path / "nodes.parquet"),
        "--streets-edges",
        str(tmp_path / "edges.parquet"),
    )


def test_swap_locations_from_file_to_judged_release(shoal: Shoal, tmp_path: Path) -> None:
    raw, folder, linkage = (
        written(crowd(), tmp_path / "raw.parquet"),
        tmp_path / "release",
        tmp_path / "secret" / "linkage.parquet",
    )
    made = shoal(
        *(
            "anonymize",
            raw,
            "--method",
            "swap-locations",
            "--k",
            3,
            "--crs",
            "local",
            "--space-threshold",
            "500m",
            "--json",
            "--quiet",
        ),
        *("--output", folder, "--linkage", linkage),
    )
    assert made.code == 0, made.err
    facts = json.loads(made.out)
    assert facts["claim"]["type"] == "trajectory-p-privacy"
    assert facts["origin"] == str(linkage.with_name("origin.parquet"))
    assert facts["run"]["clusters"] == 8
    checked = shoal("verify", raw, folder, "--linkage", linkage)
    assert checked.code == 0, checked.out
    assert "the shuffle was fair" in checked.out
    more = ("--method", "swap-locations", "--k", "3", "--crs", "local", "--output", str(tmp_path / "again"))
    beside = shoal("anonymize", raw, *more, "--linkage", linkage.with_name("other.parquet"))
    assert (beside.code, linkage.with_name("other-origin.parquet").exists()) == (0, True), beside.err
    streamed = shoal("verify", raw, folder, "--linkage", linkage, "--streamed")
    assert streamed.code == 2
    assert "holds points, which are not checked in a stream; leave out --streamed" in streamed.err
    played = json.loads(
        shoal(
            "attack", raw, folder, "--linkage", linkage, "--knowledge", "triples:2", "--json", "--quiet"
        ).out
    )
    assert {(rate["name"], rate["target"]) for rate in played["attacks"]} == {
        (f"triples-{what}", target)
        for what in ("unicity", "linkage", "disclosure")
        for target in ("raw", "release")
    }
    measured = json.loads(shoal("measure", raw, folder, "--linkage", linkage, "--json", "--quiet").out)
    assert measured["points"]["removed_trajectories"] == 0
    linkage.with_name("l2-origin.parquet").touch()
    again = shoal(
        "anonymize",
        raw,
        "--method",
        "swap-locations",
        "--crs",
        "local",
        "--output",
        tmp_path / "r2",
        "--linkage",
        linkage.with_name("l2"),
    )
    assert again.code == 2
    assert "l2-origin.parquet exists" in again.err


def test_readers_of_boxes_know_the_streets(shoal: Shoal, tmp_path: Path, streets: tuple[str, ...]) -> None:
    raw, folder, linkage = (
        written(drivers(town()), tmp_path / "raw.parquet"),
        tmp_path / "release",
        tmp_path / "linkage.parquet",
    )
    made = shoal(
        *("anonymize", raw, "--k", 2, "--crs", "local", "--output", folder),
        *("--linkage", linkage, "--risk-tries", 0, "--quiet"),
    )
    assert made.code == 0, made.err
    asked = ("attack", raw, folder, "--linkage", linkage, "--knowledge", "downcoding", "--json", "--quiet")
    alone, mapped = (
        {rate["knowledge"] for rate in json.loads(shoal(*asked, *known).out)["attacks"]}
        for known in ((), streets)
    )
    assert alone == {"the release alone"}
    assert mapped == {"the release and a map of the streets"}
    half = shoal(*asked, *streets[2:])
    assert (half.code, "need --streets-nodes" in half.err) == (2, True)


def test_reach_locations_with_its_streets(shoal: Shoal, tmp_path: Path, streets: tuple[str, ...]) -> None:
    raw, folder, linkage = (
        written(drivers(town(), 20), tmp_path / "raw.parquet"),
        tmp_path / "release",
        tmp_path / "secret" / "l.parquet",
    )
    base = ("anonymize", raw, "--method", "reach-locations", "--crs", "local", "--k", 3, "--quiet")
    made = shoal(
        *base,
        "--space-threshold",
        "500m",
        "--reach",
        "leader",
        *streets,
        "--output",
        folder,
        "--linkage",
        linkage,
    )
    assert made.code == 0, made.err
    checked = shoal("verify", raw, folder, "--linkage", linkage, *streets)
    assert checked.code == 0, checked.out
    assert "published steps are longer" in checked.out
    without = shoal("verify", raw, folder, "--linkage", linkage)
    assert without.code == 3
    assert without.out.startswith("NOT CHECKED: the length of the paths along the streets (needs ")
    facts = json.loads(shoal("verify", raw, folder, "--linkage", linkage, "--json", "--quiet").out)
    assert facts["holds"] is False
    assert (facts["findings"], len(facts["unchecked"])) == ([], 1)
    bare = shoal(*base, "--output", tmp_path / "r2")
    assert (bare.code, "needs streets: a graph of --streets-nodes" in bare.err) == (2, True)
    half = shoal(*base, "--streets-edges", streets[3], "--output", tmp_path / "r3")
    assert (half.code, "need --streets-nodes" in half.err) == (2, True)
    assert not (tmp_path / "r2").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "swap-locations", "--cell", "50m"), "leave out --cell"),
        (("--method", "swap-locations", "--reading-slot", "1h"), "leave out --cell and --slot"),
        (("--method", "swap-locations", "--streets-nodes", "n"), "needs its nodes and its edges"),
        (("--method", "swap-locations", "--tiles", __file__), "is no MBTiles file"),
        (("--method", "swap-locations", "--k", "9"), "k = 9 needs at least 9 people, and the data has 4"),
        (("--method", "swap-locations", "--space-threshold", "0m"), "must be finite and greater than 0"),
        (("--start", "halves"), "shoal: --start halves makes crowds that only the refinement"),
        (("--start", "halves"), "set --refine, or choose --start greedy"),
        (("--omit-at-most", "5%", "--leftover", "suppress"), "and --leftover suppress leaves out others"),
        (("--method", "glove", "--clustering", "mdav"), "glove knows no --clustering"),
        (("--method", "glove", "--reach", "both"), "glove knows no --reach; leave it out"),
        (("--method", "w4m", "--distance-paths", "all"), "w4m knows no --distance-paths; leave it out"),
    ],
)
def test_usage_that_cannot_be_meant(
    words: tuple[str, ...], message: str, shoal: Shoal, tmp_path: Path
) -> None:
    raw = written(crowd(4), tmp_path / "raw.parquet")
    outcome = shoal("anonymize", raw, "--crs", "local", *words, "--output", tmp_path / "r")
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
