"""Hidden cells: exact bounds, against all whole solutions and published examples."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from shoal.errors import InputError, MisuseError
from shoal_tables.hidden_cells.checking import HiddenCells, Lost, bound, check_table
from shoal_tables.hidden_cells.reading import Hiding, System

# dataset_a of SSBtools' example1; GaussSuppression's vignette "Small count frequency table suppression",
# Table 1 (maxN = 1), hides these four cells
_VIGNETTE = """zone,hour,count
Iceland,old,
Portugal,old,
Spain,old,6
Iceland,young,
Portugal,young,
Spain,young,5
Total,old,13
Total,young,7
Iceland,Total,5
Portugal,Total,4
Spain,Total,11
Total,Total,20
"""


def _file(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def _ranges(found: HiddenCells) -> dict[tuple[str, ...], tuple[int, int]]:
    rows = found.rows()
    keys = zip(*(rows[name] for name in found.columns), strict=True)
    return dict(zip(keys, zip(rows["low"], rows["high"], strict=True), strict=True))


def test_secondary_suppression_of_gausssuppression_leaves_ranges(tmp_path: Path) -> None:
    found = check_table(_file(tmp_path, _VIGNETTE), "presence")
    assert _ranges(found) == {
        ("Iceland", "old"): (3, 5),
        ("Iceland", "young"): (0, 2),
        ("Portugal", "old"): (2, 4),
        ("Portugal", "young"): (0, 2),
    }
    assert found.told().exit_code == 0


def test_primary_suppression_alone_hides_nothing(tmp_path: Path) -> None:
    alone = _VIGNETTE.replace("Iceland,old,", "Iceland,old,3").replace("Portugal,old,", "Portugal,old,4")
    found = check_table(_file(tmp_path, alone.replace("Iceland,young,", "Iceland,young,2")), "presence")
    assert _ranges(found) == {("Portugal", "young"): (0, 0)}
    assert found.told().exit_code == 1


def test_a_union_of_zones_undoes_what_the_zones_hide(tmp_path: Path) -> None:
    nested = _file(tmp_path, "zone,parent\nSpain,EU\nPortugal,EU\n", "zones.csv")
    table = _file(tmp_path, _VIGNETTE + "EU,old,10\nEU,young,5\n")
    found = check_table(table, "presence", nested=nested)
    assert [low for low, high in _ranges(found).values() if low == high] == [3, 2, 4, 0]


def test_zones_nest_in_zones_that_nest(tmp_path: Path) -> None:
    nested = _file(tmp_path, "zone,parent\na,ab\nb,ab\nc,abc\nab,abc\n", "zones.csv")
    table = _file(tmp_path, "zone,count\na,*\nb,5\nc,4\nabc,16\n")
    assert _ranges(check_table(table, "homes", nested=nested)) == {("a",): (7, 7)}


def test_a_table_for_all_days_tells_the_hidden_day(tmp_path: Path) -> None:
    table = _file(tmp_path, "zone,hour,day,count\na,8,mon,<10\na,8,tue,12\na,8,total,15\n")
    assert _ranges(check_table(table, "presence")) == {("a", "8", "mon"): (3, 3)}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [(Hiding(rounded_to=5), (8, 12)), (Hiding(rounded_to=3, at_random=True), (7, 11))],
)
def test_rounded_cells_are_ranges(tmp_path: Path, rules: Hiding, expected: tuple[int, int]) -> None:
    value = 10 if rules.rounded_to == 5 else 9
    found = check_table(_file(tmp_path, f"zone,count\na,{value}\n"), "homes", rules=rules)
    assert _ranges(found) == {("a",): expected}


def test_totals_undo_rounding(tmp_path: Path) -> None:
    """10 and 10 with a total of 25: both rounded to 5; only 12 + 12 = 24 or more is left."""
    table = _file(tmp_path, "zone,count\na,10\nb,10\ntotal,25\n")
    assert _ranges(check_table(table, "homes", rules=Hiding(rounded_to=5))) == {
        ("a",): (11, 12),
        ("b",): (11, 12),
    }


def test_an_erasure_between_two_versions_is_told(tmp_path: Path) -> None:
    before = _file(tmp_path, "origin,destination,count\na,b,10\nb,a,25\na,c,*\nb,c,12\n", "before.csv")
    after = _file(tmp_path, "origin,destination,count\na,b,*\nb,a,24\na,c,*\nb,c,12\n", "after.csv")
    found = check_table(after, "flows", earlier=before, absent="zero", rules=Hiding(hidden_range=(1, 9)))
    assert found.told().lost == Lost(certain=2, exact=1, at_least=2)
    rows = found.rows()
    lost = {
        cell: (low, high)
        for *cell_parts, low, high in zip(
            rows["origin"], rows["destination"], rows["lost_low"], rows["lost_high"], strict=True
        )
        for cell in [tuple(cell_parts)]
    }
    assert lost["b", "a"] == (1, 1)
    assert lost["a", "b"] == (1, 9)


def test_versions_that_lost_nothing_tell_nothing(tmp_path: Path) -> None:
    table = _file(tmp_path, "zone,count\na,10\nb,*\n")
    assert check_table(table, "homes", earlier=table).told().lost == Lost(0, 0, 0)


@st.composite
def _tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    shape = draw(st.sampled_from([(2, 2), (2, 3), (3, 3), (2, 2, 2)]))
    most = draw(st.integers(1, 3))
    size = int(np.prod(shape))
    counts = draw(st.lists(st.integers(0, most), min_size=size, max_size=size))
    hidden = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    return np.array(counts).reshape(shape), np.array(hidden).reshape(shape), most


@given(_tables())
@settings(deadline=None)
def test_bounds_are_those_of_all_whole_solutions(drawn: tuple[np.ndarray, np.ndarray, int]) -> None:
    counts, hidden, most = drawn
    rows, totals = [], []
    numbers = np.arange(counts.size).reshape(counts.shape)
    for axis in range(counts.ndim):
        lines = np.moveaxis(numbers, axis, -1).reshape(-1, counts.shape[axis])
        for line in lines:
            rows.append(np.isin(np.arange(counts.size), line).astype(float))
            totals.append(float(counts.ravel()[line].sum()))
    flat, flat_hidden, sums = counts.ravel().astype(float), hidden.ravel(), np.array(rows)
    system = System(
        low=np.where(flat_hidden, 0.0, flat),
        high=np.where(flat_hidden, float(most), flat),
        sums=sparse.csr_array(sums),
        sum_low=np.array(totals),
        sum_high=np.array(totals),
    )
    found = bound(system)
    places = np.flatnonzero(flat_hidden)
    solutions = []
    for values in itertools.islice(itertools.product(range(most + 1), repeat=len(places)), 300_000):
        candidate = flat.copy()
        candidate[places] = values
        if np.array_equal(sums @ candidate, totals):
            solutions.append(candidate)
    assert found.is_tight.all()
    assert np.array_equal(found.low, np.min(solutions, axis=0))
    assert np.array_equal(found.high, np.max(solutions, axis=0))


def test_a_fractional_solution_is_no_proof() -> None:
    """Three cells, each pair of which adds up to 3 with a slack of one: a linear program gives halves."""
    system = System(
        low=np.zeros(3),
        high=np.full(3, 3.0),
        sums=sparse.csr_array(np.array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])),
        sum_low=np.array([3.0, 3, 2]),
        sum_high=np.array([3.0, 3, 3]),
    )
    found = bound(system)
    assert found.low.tolist() == [1, 2, 1]
    assert found.high.tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("zone,zone,count\na,a,3\n", "homes", "two columns 'zone'"),
        ("zone,count\na,3\nb,4\ntotal,9\n", "homes", "contradict each other"),
        ("zone,count\na,3\na,4\n", "homes", "rows 1 and 2 are the same cell"),
        ("zone,count\na,3.5\n", "homes", "row 1: the count is neither a whole number"),
        ("zone,count\na,-3\n", "homes", "row 1: the count is neither"),
        ("zone,count\n,3\n", "homes", "row 1: 'zone' is empty"),
        ("zone,count\n", "homes", "no rows"),
        ("place,count\na,3\n", "homes", "no column 'zone'"),
        ("zone,count,trips\na,3,4\n", "homes", "--count"),
        ("zone,count\ntotal,9\n", "homes", "sums only"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, kind: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        check_table(_file(tmp_path, text), kind)
    assert message in refused.value.cli_message


def test_cells_without_a_row_are_asked_for_where_sums_depend_on_them(tmp_path: Path) -> None:
    table = _file(tmp_path, "origin,destination,count\na,b,4\nb,a,3\na,total,9\n")
    with pytest.raises(MisuseError, match=r"2 of 4 cells have no row.*absent zero or absent hidden"):
        check_table(table, "flows")
    assert _ranges(check_table(table, "flows", absent="hidden", rules=Hiding(hidden_range=(0, 9)))) == {
        ("a", "a"): (5, 5),
        ("b", "b"): (0, 9),
    }
    with pytest.raises(InputError, match="contradict"):
        check_table(table, "flows", absent="zero")


def test_ranges_are_true_and_marked_when_time_runs_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 20, (12, 12))
    lines = [
        (f"z{i}", f"z{j}", "" if counts[i, j] < 10 else counts[i, j]) for i in range(12) for j in range(12)
    ]
    lines += [(f"z{i}", "total", counts[i].sum()) for i in range(12)]
    lines += [("total", f"z{j}", counts[:, j].sum()) for j in range(12)]
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("origin", "destination", "count"), *lines])
    hasty = check_table(path, "flows", seconds=0)
    whole = check_table(path, "flows")
    assert hasty.told().not_proved_tight > 0 == whole.told().not_proved_tight
    assert (hasty.bounds.low <= whole.bounds.low).all()
    assert (hasty.bounds.high >= whole.bounds.high).all()
    true = np.array([counts[int(a[1:]), int(b[1:])] for a, b in whole.cells])
    assert ((whole.bounds.low <= true) & (true <= whole.bounds.high)).all()


def test_a_missing_table_is_named_without_the_words_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*nothing\.csv; check the path"):
        check_table(tmp_path / "nothing.csv", "flows")
