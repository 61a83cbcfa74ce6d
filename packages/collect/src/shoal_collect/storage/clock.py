"""Whether the clock can be believed: what is deleted because its time is over is gone for good."""

from typing import Final

from shoal_collect.storage.database import Database

EVEN_S: Final = 24 * 3600.0  # so long the clock must have gone evenly before anything is deleted
_LEAP_S: Final = 12 * 3600.0  # a longer pause between two looks may be one, or a clock that was set
_BACK_S: Final = 300.0


def may_delete(database: Database, now_s: float) -> bool:
    """Say whether the clock has gone evenly for a day, as far as anybody has looked; this look is noted.

    Parameters
    ----------
    database
        Where the looks are noted; in a transaction.
    now_s
        The time that the clock shows, in seconds since 1970.
    """
    row = database.row("SELECT seen_s, even_since_s FROM clock")
    if row is None:
        database.change("INSERT INTO clock VALUES (?, ?)", (now_s, now_s))
        return False
    seen_s, since_s = float(row[0]), float(row[1])
    if not -_BACK_S <= now_s - seen_s <= _LEAP_S:
        since_s = now_s
    if now_s != seen_s:
        database.change("UPDATE clock SET seen_s = ?, even_since_s = ?", (now_s, since_s))
    return now_s - since_s >= EVEN_S
