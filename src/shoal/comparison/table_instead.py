"""The ``shoal tabulate`` command that answers a use of counts, with nobody's record."""

import shlex
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from shoal.messages import program
from shoal.model.projection import transform
from shoal.model.trajectories import Trajectories
from shoal.report.facts.release import span_of
from shoal.runtime.arrays import Floats, Integers
from shoal.units import HOUR_S, show_m

KINDS: Final = {"areas": "presence", "presence": "presence", "flows": "flows"}
_STEP_DEG, _STEP_M = 0.1, 10_000.0
_GPS: Final = 6  # samples in an hour that has any, from which on stays show; calls jump between stations
_MOST: Final = (0.01, 0.99)  # of positions lie inside the area
_FEWEST: Final = 50  # people in a cell on an average day; at epsilon 1, a table shows about such cells
_IN_SHOWN: Final = 0.5  # of all counts, at least
_DAYS: Final = 3  # that are looked at
_WIDEST_M: Final = 50_000.0


def table_command(people: Trajectories, given: str, uses: Collection[str], zone_m: float) -> str | None:
    """A command that runs as printed; None for uses that no table answers, and data without dates.

    given: the input and how it is read, as typed in a shell. zone_m: the side of its squares, doubled until
    half of what is counted is in cells with enough people to be shown beside the noise; None, too, if that
    takes very wide ones. Area and days are rounded outward from the data: a publisher names public ones.
    """
    grid = people.snapped_grid()
    if not set(uses) <= set(KINDS) or span_of(people.t, people.t + 1, grid.slot_s).first_day is None:
        return None
    kind = "flows" if "flows" in uses else "presence"
    t, x, y = people.seconds_and_meters()
    subjects = np.repeat(np.arange(people.n_subjects), people.lengths)
    zone = ZoneInfo(people.intake.reading.time_zone or "UTC")
    rows = _rows_of_some_days(subjects, t, x, y, zone)
    while _share_in_busy_cells(rows, kind, zone_m) < _IN_SHOWN:
        zone_m *= 2
        if zone_m > _WIDEST_M:
            return None
    days = [datetime.fromtimestamp(int(moment), zone).date().isoformat() for moment in (t.min(), t.max())]
    step, plane = (_STEP_M, " --plane local") if people.crs is None else (_STEP_DEG, "")
    if people.crs is not None:
        x, y = transform(people.crs, "EPSG:4326", x.astype(np.float64), y.astype(np.float64))
    low, high = (np.quantile(np.column_stack([x, y]), share, axis=0) for share in _MOST)
    area = [*(np.floor(low / step) * step), *(np.ceil(high / step) * step)]
    trips = ""
    if kind == "flows":
        hours = len(np.unique(np.column_stack([subjects, t // HOUR_S]), axis=0))
        often = people.n_samples >= _GPS * hours
        trips = " --trips stays" if often else " --trips zones --longest-gap 12h"
    name = Path(shlex.split(given)[0]).stem
    return (
        f"{program()} tabulate {given} --kind {kind}{trips} "
        f"--grid {show_m(float(f'{zone_m:.1g}')).replace(' ', '')} "
        f"--area={','.join(f'{side:g}' for side in area)}{plane} --period {','.join(days)} "
        f"--epsilon 1 --ledger ledger.sqlite --people {shlex.quote(name)} --budget 2 "
        f"--output {kind} --secret counts.parquet"
    )


def _rows_of_some_days(subjects: Integers, t: Floats, x: Floats, y: Floats, zone: ZoneInfo) -> pl.DataFrame:
    local = pl.from_epoch(pl.Series("t", t).cast(pl.Int64)).dt.convert_time_zone(zone.key)
    rows = pl.DataFrame(
        {"subject": subjects, "day": local.dt.date(), "hour": local.dt.hour(), "x": x, "y": y}
    )
    days = rows["day"].unique().sort()
    return rows.filter(pl.col("day").is_in(days.gather_every(max(len(days) // _DAYS, 1)).implode()))


def _share_in_busy_cells(rows: pl.DataFrame, kind: str, side_m: float) -> float:
    """The share of people in squares and hours, or of trips between them, where enough are on a day."""
    cell = ["hour", "column", "row"]
    rows = rows.with_columns(column=(pl.col("x") / side_m).floor(), row=(pl.col("y") / side_m).floor())
    n_days = rows["day"].n_unique()
    if kind == "flows":
        square = pl.struct("column", "row")
        of_one = pl.col("subject") == pl.col("subject").shift()
        rows = rows.with_columns(pl.col("column", "row").shift().name.prefix("from_")).filter(
            of_one & (square != square.shift())
        )
        cell += ["from_column", "from_row"]
    counts = rows.unique(["subject", "day", *cell]).group_by(cell).len()["len"].to_numpy()
    return float(counts[counts >= _FEWEST * n_days].sum() / max(counts.sum(), 1))
