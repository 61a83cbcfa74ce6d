"""Rows of a real PostgreSQL server: its types, and what is said when it refuses or breaks off."""

import threading
import time
from typing import Any

import psycopg
import pytest

from shoal.errors import InputError
from shoal.io.reading import read

pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")

NOON_S = 1_714_564_800
MADE = """CREATE TABLE calls (id text, t timestamptz, lat numeric, lon numeric);
INSERT INTO calls VALUES ('ann', '2024-05-01 12:00+00', 48.85, 2.35),
('ann', '2024-05-01 17:40+05:30', 48.86, 2.36),
('bob', NULL, 48.8, 2.3), (NULL, '2024-05-01 12:00+00', 48.8, 2.3), ('bob', '2024-05-01 12:00+00', NULL, 2.3),
('bob', '2024-05-01 12:00+00', 'NaN', 2.3), ('bob', '2024-05-01 12:00+00', 48.87, 2.37)"""
LOST = {"empty id": 1, "empty or unreadable coordinate": 1, "coordinate not finite": 1}


@pytest.fixture
def calls(postgres_url: str) -> str:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(MADE)
        connection.commit()
    return postgres_url


@pytest.mark.parametrize(
    ("times", "option"),
    [
        ("t", {}),
        ("t AT TIME ZONE 'UTC' AS t", {}),
        ("t::text AS t", {}),
        ("extract(epoch FROM t) AS t", {}),
        ("(t AT TIME ZONE 'UTC')::date AS day, (t AT TIME ZONE 'UTC')::time AS t", {"date": "day"}),
    ],
)
def test_times_numbers_and_nulls_of_the_server(calls: str, times: str, option: dict[str, Any]) -> None:
    got = read(f"{calls} SELECT id, {times}, lat, lon FROM calls", snap=False, **option)
    assert list(got.ids) == ["ann", "bob"]
    assert got.t.tolist() == [NOON_S, NOON_S + 600, NOON_S]
    assert dict(got.intake.dropped) == {**LOST, "empty or unreadable time": 1}


@pytest.mark.parametrize(
    ("query", "option", "said"),
    [
        ("id, t, point(lon, lat) AS lat, lon", {}, "column 'lat' of the database holds binary, not numbers"),
        ("id, t::timetz AS t, lat, lon", {}, "column 't' of the database holds binary, not times"),
        ("id, t::date AS day, t::timetz AS t, lat, lon", {"date": "day"}, "clock times hold binary"),
        ("id, t, 1 / (lat - 48.87) AS lat, lon", {}, "cannot be read: .*division by zero"),
    ],
)
def test_types_and_rows_that_cannot_be_read_are_told_in_words(
    calls: str, query: str, option: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        read(f"{calls} SELECT {query} FROM calls WHERE lat IS NOT NULL", **option)


def test_a_server_that_ends_in_the_middle_is_told_in_words(calls: str) -> None:
    """Rows came before it ended; none of them is taken for all."""

    def end() -> None:
        with psycopg.connect(calls, autocommit=True) as connection:
            running = "query LIKE '%generate_series%' AND pid <> pg_backend_pid()"
            while not ended:
                asked = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {running}"
                connection.execute(asked)
                time.sleep(0.05)

    ended: list[bool] = []
    ending = threading.Thread(target=end)
    ending.start()
    rows = "SELECT 'ann' AS id, i AS t, 48.85 AS lat, 2.35 AS lon FROM generate_series(1, 100000000) i"
    try:
        with pytest.raises(InputError, match="the database cannot be read: "):
            read(f"{calls} {rows}")
    finally:
        ended.append(True)
        ending.join()
