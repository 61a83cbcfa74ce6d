"""Check a published table without raw data: what its hidden cells, and its versions, tell."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.runtime.arrays import Flags, Floats
from shoal_tables.definition.manifest import COLUMNS
from shoal_tables.hidden_cells.bounds import Bounds, bound
from shoal_tables.hidden_cells.reading import (
    Hiding,
    Key,
    finest_cells,
    read_parents,
    read_published,
    stacked_versions,
    system_of,
)

_FEW: Final = 2


@dataclass(frozen=True)
class HiddenCells:
    """The range of each finest cell, and of its loss since an earlier version; None without one."""

    columns: tuple[str, ...]
    cells: tuple[Key, ...]
    is_hidden: Flags
    bounds: Bounds
    losses: Bounds | None = None

    @property
    def width(self) -> Floats:
        """The width of each hidden cell's range; 0 where its count follows exactly."""
        return (self.bounds.high - self.bounds.low)[self.is_hidden]

    @property
    def n_exact(self) -> int:
        """Hidden cells whose count follows exactly."""
        return int((self.width == 0).sum())

    @property
    def n_lost(self) -> int:
        """Cells that certainly lost a count since the earlier version."""
        return 0 if self.losses is None else int((self.losses.low > 0).sum())

    @property
    def n_open(self) -> int:
        """Ranges that are true, but that the time did not allow to prove tight."""
        tight = self.bounds.is_tight if self.losses is None else self.bounds.is_tight & self.losses.is_tight
        return int((~tight).sum())

    @property
    def exit_code(self) -> int:
        """1: something follows; 3: nothing so far, and the time was too short; 0: nothing follows."""
        return 1 if self.n_exact or self.n_lost else 3 if self.n_open else 0

    def to_json(self) -> dict[str, Any]:
        """As ``shoal check --kind ... --json`` prints it."""
        lost = None
        if self.losses is not None:
            certain = self.losses.low > 0
            exact = certain & (self.losses.low == self.losses.high)
            lost = {
                "certain": int(certain.sum()),
                "exact": int(exact.sum()),
                "at_least": int(self.losses.low.sum()),
            }
        return {
            "cells": len(self.cells),
            "hidden": int(self.is_hidden.sum()),
            "exact": self.n_exact,
            "within_2": int((self.width <= _FEW).sum()),
            "unbounded": int(np.isinf(self.width).sum()),
            "not_proved_tight": self.n_open,
            "lost": lost,
        }

    def rows(self) -> dict[str, list[Any]]:
        """A column for each key, and ``low``, ``high`` and ``tight`` of each hidden cell."""
        chosen = np.flatnonzero(
            self.is_hidden | (False if self.losses is None else self.losses.low > 0)
        ).tolist()
        columns: dict[str, list[Any]] = {
            name: [self.cells[cell][place] for cell in chosen] for place, name in enumerate(self.columns)
        }
        parts = {"": self.bounds} if self.losses is None else {"": self.bounds, "lost_": self.losses}
        for prefix, part in parts.items():
            columns[f"{prefix}low"] = part.low[chosen].astype(np.int64).tolist()
            columns[f"{prefix}high"] = [int(one) if np.isfinite(one) else None for one in part.high[chosen]]
            columns[f"{prefix}tight"] = part.is_tight[chosen].tolist()
        return columns


def check_table(
    table: str | Path,
    kind: str,
    *,
    rules: Hiding = Hiding(),  # noqa: B008  # frozen
    absent: str | None = None,
    nested: str | Path | None = None,
    earlier: str | Path | None = None,
    count: str | None = None,
    seconds: float = 600.0,
) -> HiddenCells:
    r"""Bound the hidden and the rounded cells of a published table by everything that it shows.

    Parameters
    ----------
    table
        CSV or Parquet with a row for each cell and each sum; a sum has "total" or an outer zone as a key.
    kind
        flows (origin, destination), presence (zone), dwell (zone, stay) or homes (zone); with hour and day.
    rules
        How the publisher hid and rounded.
    absent
        Whether cells without a row are "zero" or "hidden".
    nested
        A table of zones with columns zone and parent.
    earlier
        An earlier version of the table, before people left the data (an erasure).
    count
        The column of counts; None = recognized.
    seconds
        The time to spend on linear programs.

    Raises
    ------
    InputError
        For an unreadable table, or numbers that contradict each other.
    MisuseError
        Where ``absent`` decides and is not stated.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from shoal_tables.hidden_cells.checking import check_table
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "homes.csv"
    >>> _ = file.write_text("zone,count\nnorth,*\nsouth,20\ntotal,23\n")
    >>> check_table(file, "homes").rows()
    {'zone': ['north'], 'low': [3], 'high': [3], 'tight': [True]}
    """
    if kind not in COLUMNS:
        raise MisuseError(f"--kind {kind} is unknown; give one of {', '.join(COLUMNS)}")
    if absent not in (None, "zero", "hidden"):
        raise MisuseError("--absent is zero or hidden")
    parent_of: Mapping[str, str] = {} if nested is None else read_parents(Path(nested))
    files = [Path(table)] if earlier is None else [Path(table), Path(earlier)]
    versions = [read_published(file, kind, rules, count) for file in files]
    cells = finest_cells(versions, parent_of, absent)
    systems = [
        system_of(version, of_version, rules.hidden_range, absent)
        for version, of_version in zip(versions, cells, strict=True)
    ]
    later = systems[0]
    system = later if earlier is None else stacked_versions(systems[1], later)
    ranges, n = bound(system, seconds), len(later.low)
    parts = [
        Bounds(ranges.low[part], ranges.high[part], ranges.is_tight[part])
        for part in (slice(n), slice(n, None))
    ]
    return HiddenCells(
        versions[0].columns,
        cells[0].keys,
        later.low < later.high,
        parts[0],
        None if earlier is None else parts[1],
    )
