"""Tables from raw data to the folder: files, columns, engines, repeats, and what is refused."""

import stat
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import InputError, MissingExtraError, MisuseError, OutputError
from shoal.model.intake import Reading
from shoal.release_folder.files import is_public
from shoal.runtime.files import sha256_of
from shoal.scale.engines import engine_of
from shoal.units import percent
from shoal_tables import Ledger, Privacy, days_of, grid_zones
from shoal_tables.definition.manifest import Kind, Trips, read_table_manifest
from shoal_tables.making.calibration import promise_of
from shoal_tables.making.folder import tables_of
from table_cases import AREA, FIRST, LAST, city, make, rules_of


@pytest.mark.parametrize("kind", ["presence", "flows", "dwell", "homes"])
def test_a_folder_states_its_numbers(tmp_path: Path, kind: Kind) -> None:
    made = make(tmp_path, rules_of(kind))
    manifest = read_table_manifest(made.folder)
    assert manifest == made.manifest
    table, secret = pq.read_table(made.folder / "table.parquet"), pq.read_table(tmp_path / "counts.parquet")
    assert table.column_names == [*manifest.columns, "count", "estimate", "low", "high", "shown"]
    assert secret.column_names == [*manifest.columns, "count"]
    for name in manifest.columns:
        assert table[name].equals(secret[name])
    assert len(table) == rules_of(kind).n_cells
    assert {name: sha256_of(made.folder / name) for name in manifest.files} == manifest.files
    assert not manifest.publishable
    promise = manifest.promise
    rho = promise.sensitivity**2 / (2 * promise.sigma**2)
    if promise.totals is not None:
        rho += promise.totals.sensitivity**2 / (2 * promise.totals.sigma**2)
    assert promise.rho == rho
    assert (kind == "homes") == (promise.totals is None)
    noise = np.rint(table["count"].to_numpy() * promise.granularity) - secret["count"].to_numpy()
    assert (noise == np.rint(noise)).all()
    assert abs(noise.std() / promise.sigma - 1) < 6 / np.sqrt(len(noise))
    assert stat.S_IMODE((tmp_path / "counts.parquet").stat().st_mode) == 0o600


def test_columns_of_presence_follow_from_the_noisy_count_and_the_totals() -> None:
    rules = rules_of("presence")
    planned = promise_of(rules, Privacy(epsilon=1.0))
    assert planned.totals is not None
    for before, after, scale in ((3 * 10**8, 2 * 10**8, 1.5), (2 * 10**8, 3 * 10**8, 1), (10**6, 10**5, 1)):
        totals = planned.totals.model_copy(update={"before": before, "after": after})
        promise = planned.model_copy(update={"totals": totals})
        noisy = np.random.default_rng(1).integers(-40_000, 80_000, rules.n_cells)
        g, half = promise.granularity, promise.half_width
        for row, number in zip(tables_of(rules, noisy, promise)[0].to_pylist(), noisy.tolist(), strict=True):
            assert row["count"] == number / g
            assert row["estimate"] == pytest.approx(scale * number / g)
            assert row["low"] == pytest.approx(max(0, number - half) * scale / g)
            assert row["high"] == pytest.approx(max(0, number + half) * scale / g)
            certain = promise.least_shown <= number
            assert row["shown"] == (int(np.floor(row["estimate"] + 0.5)) if certain else None)


@pytest.mark.parametrize("kind", ["presence", "flows", "dwell", "homes"])
def test_the_record_is_a_public_page_with_the_promise(tmp_path: Path, kind: Kind) -> None:
    page = (make(tmp_path, rules_of(kind)).folder / "report.html").read_text()
    assert is_public(page)
    assert "at most 73.1 % of guesses whether one unit is in the data are right; by chance 50 % are" in page
    assert "One unit is each distinct value of column &#39;uid&#39;." in page
    assert "Not for publication" in page
    assert ("purpose" in page, "recipients" in page) == (False, False)
    assert "<script" not in page
    assert 'id="plot-map"' in page


def test_each_cell_stands_once_and_in_order() -> None:
    rules = rules_of("flows", side_m=10_000)
    labels, codes = rules.labels(), rules.codes()
    cells = list(zip(*(np.array(labels[name])[codes[name]].tolist() for name in codes), strict=True))
    names = rules.zones.names
    assert cells == [
        (a, b, hour, day)
        for a in names
        for b in names
        if a != b
        for hour in labels["hour"]
        for day in labels["day"]
    ]


def test_counts_are_the_same_on_every_engine_and_noise_repeats_with_the_seed(tmp_path: Path) -> None:
    tables = []
    for number, engine in enumerate((None, engine_of("local:2"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        calls = folder / "calls.parquet"
        pq.write_table(city(), calls)
        made = make(folder, source=str(calls), engine=engine)
        tables.append((sha256_of(folder / "counts.parquet"), sha256_of(made.folder / "table.parquet")))
        assert sorted(path.name for path in folder.iterdir()) == ["calls.parquet", "counts.parquet", "table"]
    assert tables[0] == tables[1]


def test_parts_of_the_people_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path)
    (tmp_path / "parts").mkdir()
    monkeypatch.setattr("shoal_tables.making.tabulate.SAMPLES_PER_TASK", 100)
    make(tmp_path / "parts")
    one, other = (pq.read_table(folder / "counts.parquet") for folder in (tmp_path, tmp_path / "parts"))
    assert one.equals(other)


def test_without_a_seed_noise_comes_from_opendp_and_the_table_may_be_published(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    ledger = Ledger(tmp_path / "ledger.sqlite", "city", 2.0)
    made = make(tmp_path, rules_of("homes", 20_000), privacy=Privacy(epsilon=1.0, ledger=ledger))
    assert made.manifest.publishable
    assert made.manifest.promise.sampler.startswith("opendp ")
    assert made.manifest.ledger is not None
    assert made.manifest.ledger.people == ledger.digest
    assert ledger.balance().tables == 1


def test_a_table_of_noise_alone_spends_nothing(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    ledger = Ledger(tmp_path / "ledger.sqlite", "city", 2.0)
    with pytest.raises(InputError, match="noise alone\\. Nothing was spent"):
        make(tmp_path, privacy=Privacy(epsilon=1.0, ledger=ledger))
    assert not list(tmp_path.iterdir())
    assert "noise alone" in make(tmp_path).notes[-1]
    assert "noise alone" not in str(make(tmp_path / "homes", rules_of("homes", 20_000)).notes)


def test_raw_identifiers_are_in_no_file(tmp_path: Path) -> None:
    calls = city()
    names = [f"zq7-{name}" for name in calls["uid"].to_pylist()]
    made = make(tmp_path, source=calls.set_column(0, "uid", [names]))
    for path in (*made.folder.iterdir(), tmp_path / "counts.parquet"):
        assert b"zq7-" not in path.read_bytes()


def test_targets_inside_the_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="would lie inside"):
        shoal_make(tmp_path, secret=tmp_path / "table" / "counts.parquet")
    ledger = Ledger(tmp_path / "table" / "ledger.sqlite", "city", 2.0)
    with pytest.raises(OutputError, match="would lie inside"):
        make(tmp_path, privacy=Privacy(epsilon=1.0, ledger=ledger))
    assert not list(tmp_path.iterdir())


def shoal_make(folder: Path, secret: Path) -> None:
    from shoal_tables import tabulate

    privacy = Privacy(epsilon=1.0, rng=shoal.Randomness.for_research(1))
    tabulate(city(), rules_of(), privacy, folder / "table", secret=secret)


def test_a_table_over_budget_is_refused_before_the_data_are_read(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    privacy = Privacy(epsilon=1.0, ledger=Ledger(tmp_path / "ledger.sqlite", "city", 0.5))
    with pytest.raises(MisuseError, match="budget"):
        make(tmp_path, source=str(tmp_path / "absent.csv"), privacy=privacy)
    assert not list(tmp_path.iterdir())


def test_a_seeded_table_takes_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="spends nothing"):
        Privacy(epsilon=1.0, ledger=Ledger(tmp_path / "l", "city", 2.0), rng=shoal.Randomness.for_research(1))


@pytest.mark.parametrize(
    ("reading", "why"),
    [
        (Reading(per_day=True), "takes unit person-day"),
        (Reading(min_active_days=2), "decide by the data who counts"),
        (Reading(min_samples_per_day=1.0), "decide by the data who counts"),
    ],
)
def test_readings_in_which_people_depend_on_each_other_are_refused(
    tmp_path: Path, reading: Reading, why: str
) -> None:
    with pytest.raises(MisuseError, match=why):
        make(tmp_path, reading=reading)
    assert not list(tmp_path.iterdir())


def test_trips_between_stays_that_nobody_makes_are_refused_with_the_stays(tmp_path: Path) -> None:
    """A file of single rides has no stays: its period, area and zone are right, and were blamed alone."""
    rides = rules_of("flows", trips=Trips(definition="stays", radius_m=200, least_s=2 * 24 * 3600))
    with pytest.raises(InputError, match=r"two stays of 2 d within 200 m, .*least.stay"):
        make(tmp_path, rides)
    with pytest.raises(InputError) as by_zones:
        make(tmp_path, rules_of(day_of=days_of("each", date(2020, 1, 1), date(2020, 1, 2))))
    assert "stays" not in str(by_zones.value)


def test_data_outside_the_zones_or_the_period_are_refused(tmp_path: Path) -> None:
    elsewhere = rules_of(zones=grid_zones(10_000, (-5.13, 7.87, -4.85, 8.14)))
    earlier = rules_of(day_of=days_of("each", date(2020, 1, 1), date(2020, 1, 2)))
    for rules in (elsewhere, earlier):
        with pytest.raises(InputError, match="nobody counts in any cell"):
            make(tmp_path, rules)
    assert not list(tmp_path.iterdir())


def test_meters_and_degrees_do_not_mix(tmp_path: Path) -> None:
    rules = rules_of(zones=grid_zones(10_000, (0, 0, 30_000, 30_000), "local"))
    with pytest.raises(MisuseError, match="positions are in degrees"):
        make(tmp_path, rules)


def test_local_meters_are_counted(tmp_path: Path) -> None:
    import pyarrow as pa

    walks = pa.table(
        {
            "uid": ["a", "a", "b"],
            "t": [1704096000, 1704096600, 1704096000],
            "x": [100.0, 900.0, 50.0],
            "y": [0.0, 0.0, 400.0],
        }
    )
    rules = rules_of(
        zones=grid_zones(500, (0, 0, 1000, 500), "local"),
        day_of=days_of("typical", FIRST, FIRST),
        table="flows",
    )
    make(tmp_path, rules, source=walks, reading=Reading(crs="local"))
    secret = pq.read_table(tmp_path / "counts.parquet").to_pylist()
    assert [(row["origin"], row["destination"], row["count"]) for row in secret] == [
        ("r0c0", "r0c1", 1000),
        ("r0c1", "r0c0", 0),
    ]


def test_a_bound_for_other_people_is_said_and_spends_nothing(tmp_path: Path) -> None:
    """Taxis cross zones a hundred times a day; the table of bounds is of people with phones."""
    import pyarrow as pa

    pytest.importorskip("opendp")
    taxis, rides = 20, 120
    rows = pa.table(
        {
            "uid": np.repeat([f"taxi {number}" for number in range(taxis)], rides),
            "t": np.tile(1704096000 + 300 * np.arange(rides), taxis),
            "x": np.tile([100.0, 900.0], taxis * rides // 2),
            "y": np.zeros(taxis * rides),
        }
    )
    rules = rules_of(
        zones=grid_zones(500, (0, 0, 1000, 500), "local"),
        day_of=days_of("typical", FIRST, FIRST),
        table="flows",
    )
    inputs = {"source": rows, "reading": Reading(crs="local")}
    made = make(tmp_path, rules, **inputs)
    exact = np.array([taxis * rides // 2, taxis * (rides // 2 - 1)])
    kept = np.array([row["count"] for row in pq.read_table(tmp_path / "counts.parquet").to_pylist()])
    share = 1 - kept.sum() / made.manifest.promise.granularity / exact.sum()
    assert share > 0.5
    assert f"the bound takes away {percent(share, 0)} of what is counted" in " ".join(made.notes)
    (tmp_path / "again").mkdir()
    ledger = Ledger(tmp_path / "ledger.sqlite", "taxis", 2.0)
    with pytest.raises(InputError, match=r"takes away .* Nothing was spent"):
        make(tmp_path / "again", rules, privacy=Privacy(epsilon=1.0, ledger=ledger), **inputs)
    assert not (tmp_path / "ledger.sqlite").exists()
    chosen = Privacy(epsilon=1.0, bound=200.0, rng=shoal.Randomness.for_research(1))
    assert "takes away" not in " ".join(make(tmp_path / "again", rules, privacy=chosen, **inputs).notes)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"table": "visits"}, "is no table"),
        ({"unit": "household"}, "is no unit"),
        ({"table": "homes", "unit": "person-day"}, "a home belongs to a person"),
        ({"longest_gap_s": 0}, "longest_gap must be"),
        ({"time_zone": "Mars/Olympus"}, "is not known"),
        ({"side_m": 100_000.0}, "at least two zones"),
        ({"side_m": 300.0, "day_of": days_of("each", FIRST, LAST)}, "cells, at most"),
    ],
)
def test_rules_that_cannot_work_are_refused(changes: dict[str, object], why: str) -> None:
    with pytest.raises(MisuseError, match=why):
        rules_of(**changes)  # type: ignore[arg-type]


def test_zones_are_where_the_area_is() -> None:
    zones = grid_zones(2000, AREA)
    facts = zones.statement
    assert facts.n_zones == (facts.columns or 0) * (facts.rows or 0) == len(zones.names)
    x0, y0 = facts.x0 or 0, facts.y0 or 0
    corners = [(x0, y0), (x0 + 1999, y0 + 1999), (x0 + 2000, y0), (x0, y0 + 2000), (x0 - 1, y0), (x0, y0 - 1)]
    x, y = (np.array(column) for column in zip(*corners, strict=True))
    assert zones.locate(x, y).tolist() == [0, 0, 1, facts.columns, -1, -1]


def test_the_core_has_its_name_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal_tables import tabulate

    of_core = vars(shoal)["__getattr__"]
    assert of_core("tabulate") is tabulate
    monkeypatch.setitem(sys.modules, "shoal_tables", None)
    with pytest.raises(MissingExtraError, match="pip install shoal-tables"):
        of_core("tabulate")
