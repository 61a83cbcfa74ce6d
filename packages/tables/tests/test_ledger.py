"""The ledger: refusals before any work, two processes, a kill after spending, the export."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.errors import InputError, MisuseError
from shoal_tables import Ledger, Privacy
from shoal_tables.definition.manifest import Unit
from shoal_tables.making.calibration import cost_of, promise_of
from shoal_tables.making.ledger import Cost, registry_rows
from shoal_tables.making.promise import epsilon_of, epsilon_of_each
from table_cases import rules_of

PEOPLE = "subscribers 2024"


def price_of(epsilon: float, unit: Unit = "person", factor: float = 1) -> Cost:
    rules, uid = rules_of("homes"), "each distinct value of column 'uid'"
    cost = cost_of(rules, promise_of(rules, Privacy(epsilon=epsilon)), uid)
    return replace(cost, unit=unit, persons_rho=factor * cost.promise.rho)


def test_tables_add_up_and_the_last_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", PEOPLE, 2.0)
    for _ in range(3):
        ledger.require(price_of(1.0))
        ledger.spend(price_of(1.0))
    assert ledger.balance().spent == pytest.approx(epsilon_of(3 * price_of(1.0).promise.rho, 1e-8))
    for refuse in (ledger.require, ledger.spend):
        with pytest.raises(MisuseError, match=r"budget is 2: 1\.\d+ is spent"):
            refuse(price_of(1.5))
    assert ledger.balance().tables == 3


def test_a_year_of_equal_tables_spends_the_budget_and_no_further_one_fits(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", PEOPLE, 8.0)
    cost = price_of(epsilon_of_each(8.0, 52, 1e-8))
    for _ in range(52):
        ledger.spend(cost)
    assert 7.9 < ledger.balance().spent <= 8.0
    with pytest.raises(MisuseError, match="their budget is 8"):
        ledger.spend(cost)


def test_a_first_table_over_the_budget_is_refused_and_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match=r"budget is 0\.5"):
        Ledger(tmp_path / "l.sqlite", PEOPLE, 0.5).require(price_of(1.0))
    assert not list(tmp_path.iterdir())


def test_a_new_ledger_needs_a_budget_and_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with pytest.raises(MisuseError, match="say with budget"):
        Ledger(path, PEOPLE).require(price_of(1.0))
    Ledger(path, PEOPLE, 2.0).spend(price_of(1.0))
    Ledger(path, PEOPLE).require(price_of(0.5))
    with pytest.raises(MisuseError, match="has the budget 2"):
        Ledger(path, PEOPLE, 9.0).require(price_of(1.0))


def test_a_file_that_a_killed_command_left_empty_is_a_new_ledger(tmp_path: Path) -> None:
    (tmp_path / "l.sqlite").touch()
    ledger = Ledger(tmp_path / "l.sqlite", PEOPLE, 2.0)
    with pytest.raises(InputError, match="there is no ledger"):
        ledger.balance()
    with pytest.raises(MisuseError, match="say with budget"):
        Ledger(tmp_path / "l.sqlite", PEOPLE).require(price_of(1.0))
    ledger.require(price_of(1.0))
    ledger.spend(price_of(1.0))
    assert ledger.balance().tables == 1


def test_a_ledger_of_other_people_is_refused_and_does_not_name_them(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    Ledger(path, PEOPLE, 2.0).spend(price_of(1.0))
    with pytest.raises(MisuseError, match="other people") as refused:
        Ledger(path, "taxis").require(price_of(0.1))
    assert PEOPLE not in str(refused.value)
    assert PEOPLE.encode() not in path.read_bytes()


def test_days_of_a_person_cost_the_person_more(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", PEOPLE, 5.0)
    ledger.spend(price_of(0.2))
    ledger.spend(price_of(0.2, "person-day", factor=14))
    assert ledger.balance().spent == pytest.approx(epsilon_of(15 * price_of(0.2).promise.rho, 1e-8))


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    path.write_bytes(b"no ledger at all" * 100)
    with pytest.raises(InputError, match="no ledger"):
        Ledger(path, PEOPLE, 2.0).require(price_of(1.0))
    with pytest.raises(InputError, match="there is no folder"):
        Ledger(tmp_path / "nowhere" / "l.sqlite", PEOPLE, 2.0).spend(price_of(1.0))


def _spend(path: Path) -> bool:
    try:
        Ledger(path, PEOPLE, 1.0).spend(price_of(0.3))
    except MisuseError:
        return False
    return True


def test_two_processes_spend_no_more_than_the_budget(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        spent = pool.map(_spend, [path] * 16)
    most = max(n for n in range(1, 17) if epsilon_of(n * price_of(0.3).promise.rho, 1e-8) <= 1.0)
    assert sum(spent) == most == Ledger(path, PEOPLE).balance().tables


def test_a_kill_after_spending_leaves_it_spent(tmp_path: Path) -> None:
    """The process dies while it draws noise: no folder, no secret file, but the budget is gone."""
    script = """
import os, signal, sys
from datetime import date
import shoal
from shoal_tables import *
import shoal_tables.making.tabulate as making
making.add_noise = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
folder = sys.argv[1]
rules = Rules(table="homes", zones=grid_zones(60_000, (-5.2, 6.8, -4.8, 7.2)),
              day_of=days_of("typical", date(2024, 1, 1), date(2024, 1, 2)))
making.tabulate(shoal.synthesize(n_subjects=30, days=2, seed=1), rules,
                Privacy(epsilon=2.0, ledger=Ledger(making.Path(folder) / "l.sqlite", "people", 3.0)),
                making.Path(folder) / "homes", secret=making.Path(folder) / "counts.parquet")
"""
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL
    assert Ledger(tmp_path / "l.sqlite", "people").balance().tables == 1
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["l.sqlite"]


def test_the_export_holds_every_table(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    Ledger(path, PEOPLE, 2.0).spend(price_of(1.0))
    Ledger(path, PEOPLE).spend(price_of(0.5))
    rows = registry_rows(path)
    assert [round(row["privacy_loss"]["epsilon"], 2) for row in rows] in ([1.0, 0.5], [0.5, 1.0])
    assert all(row["dp_flavor"].startswith("zero-concentrated") for row in rows)
    assert all(row["mechanism"].endswith("for a sensitivity of 1000 (1/1000)") for row in rows)
    assert PEOPLE not in json.dumps(rows)
