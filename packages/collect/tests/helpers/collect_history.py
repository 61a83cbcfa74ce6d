"""A checker over the database's own history.

What a device says it checked is counted again, slowly, from the stored records alone.
"""

from collections.abc import Mapping
from typing import Any

from collect_oracles import decode_points
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import Release
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.storage.database import Database
from test_collect_round import naive_count


def stored_before(database: Database, day: int) -> list[Release]:
    """All records of people that were there before a day; the index is not looked at."""
    rows = database.rows(
        "SELECT record.name, contributor.tag, record.claim_key, record.points FROM record JOIN contributor "
        "USING (who) WHERE day < ?",
        (day,),
    )
    return [
        Release(bytes(name), bytes(tag), bytes(key), decode_points(bytes(points)))
        for name, tag, key, points in rows
    ]


def check_round(
    database: Database, noted: Mapping[str, Any], own: bytes, k: int, thresholds: Thresholds
) -> int:
    """How many checked sub-trajectories are whole in the stored release.

    Raises AssertionError when one had a smaller crowd than k.

    noted: what the device wrote down of its round. own: her tag.
    """
    released = tuple(Cylinder(*row) for row in noted["released"]["points"])
    rows = database.rows("SELECT points FROM record WHERE identifier = ?", (noted["identifier"],))
    assert [decode_points(bytes(row[0])) for row in rows] == [released], "the stored release is another one"
    history = stored_before(database, noted["snapshot_day"])
    kept, n = noted["kept"], 0
    for one in noted["checked"]:
        if set(one["places"]) <= set(kept):
            query = [released[kept.index(place)] for place in one["places"]]
            people, _ = naive_count(history, query, thresholds, own)
            assert people >= k, f"{people} others share what was released for k = {k}"
            assert one["people"] == min(people, 16), "the device was told another count"
            n += 1
    return n
