"""The adapter for peers' own programs, on a stand-in with the same formats."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from shoal.errors import InputError
from shoal.methods.static import StaticGeneralization
from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal_papers.data import as_points
from small_points import crowd

PEERS = Path(__file__).resolve().parents[3] / "lab" / "peers"


@pytest.fixture(scope="module")
def peers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare_peers", PEERS / "compare_peers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_stand_in_is_measured_as_its_own_points_say(peers: ModuleType) -> None:
    """Places rounded to 20 m lie 8 m off on average in the plane, and one point in ten is gone."""
    original = crowd(20, 20)
    row = peers.run_peer(PEERS / "stand_in", original, 2, 20.0)
    assert row.points_gone == pytest.approx(0.1, abs=0.01)
    assert row.people_gone == 0
    assert 4 < row.mean_distance_m < 12
    assert row.linked > 0.9  # rounding protects nobody
    assert row.seconds > 0
    assert row.mebibytes > 1
    assert len(peers.table([row], 2)) == 1


def test_shoals_own_version_stands_beside_it(peers: ModuleType) -> None:
    row = peers.run_own("swap-locations", crowd(20, 20), 4, 0.0)
    assert 0 <= row.linked <= 0.6
    assert row.mean_distance_m > 0


def test_static_boxes_stand_as_their_middles_on_the_points_that_the_program_gets(peers: ModuleType) -> None:
    """Two people, 100 m apart, share cells of 1 km and an hour; the middle is 50 m off for both."""
    rows = [(f"p{who}", 60 * minute, 100 * who, 0) for who in (0, 1) for minute in (10, 11, 70, 71)]
    ids, t, x, y = (list(column) for column in zip(*rows, strict=True))
    snapped = Trajectories.from_rows(
        ids, np.array(t) // 60, np.array(x) // 100, np.array(y), grid=Grid(cell_m=100.0, slot_s=60.0)
    )
    (release, linkage), original = (
        StaticGeneralization(k=2, grid_m=1_000, slot_s=3_600).anonymize(snapped, Randomness.for_research(1)),
        as_points(snapped),
    )
    points, same = peers.middles(snapped, (release, linkage))
    assert sorted(same.uids) == ["p0", "p1"]
    assert points.payload.t.tolist() == [630.0, 4_230.0] * 2
    assert points.payload.x.tolist() == [50.0] * 4
    row = peers.run_own("static", snapped, 2, 1_000.0, 3_600.0)
    assert row.mean_distance_m == pytest.approx(50)
    assert row.people_gone == 0
    assert row.linked <= 0.6  # both records are alike
    rounded = peers.run_peer(PEERS / "stand_in", original, 2, 1_000.0)
    assert rounded.mean_distance_m == pytest.approx(50, abs=50)


def test_a_program_that_fails_or_writes_something_else_is_named(peers: ModuleType, tmp_path: Path) -> None:
    original = crowd(6, 6)
    for script, message in {
        "import sys; sys.exit('out of luck')": "ended with 1: out of luck",
        "import sys; open(sys.argv[1], 'w').write('1 2 3')": "line 1 of the program's output is not id, t",
        "import sys; open(sys.argv[1], 'w').write('99\\t1\\t2\\t3')": "ids that its input did not",
    }.items():
        (tmp_path / "peer.toml").write_text(
            'name = "bad"\ncommand = ["{python}", "{folder}/bad.py", "{output}"]\nseparator = "\\t"\n'
            'columns = ["id", "t", "x", "y"]\ntime_unit_s = 1.0\n'
        )
        (tmp_path / "bad.py").write_text(script)
        with pytest.raises(InputError, match=message):
            peers.run_peer(tmp_path, original, 2, 10.0)
