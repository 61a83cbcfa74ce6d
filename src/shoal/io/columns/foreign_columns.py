"""The role of each column of a published file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shoal.errors import InputError, MisuseError
from shoal.io.columns.column_names import NAMES, TABLES, find_column
from shoal.io.formats.input_table import Table

ROLES: Final[Mapping[str, Sequence[str]]] = {
    role: (*NAMES.get(role, ()), *names) for role, names in TABLES["published"].items()
}
_COUNTS: Final = {"count", "counts", "trips", "people", "flow", "flows"}


@dataclass(kw_only=True)
class ColumnChoice:
    """The columns in use, by role."""

    by_role: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def choose_columns(table: Table, requested: Mapping[str, str]) -> ColumnChoice:
    """The requested columns, else the first usual name for each role."""
    chosen = ColumnChoice(by_role={role: find_column(table, name) for role, name in requested.items()})
    twice = next(
        (name for name in chosen.by_role.values() if list(chosen.by_role.values()).count(name) > 1), None
    )
    if twice is not None:
        raise MisuseError(f"the column '{twice}' is named for two things; each needs a column of its own")
    lower = {name.strip().lower(): name for name in reversed(table.columns)}
    if not requested:
        _require_records(table, lower)
    free = [role for role in ROLES if role not in chosen.by_role]
    for role in free:
        usual = next((lower[name] for name in ROLES[role] if name in lower), None)
        if usual is not None and usual not in chosen.by_role.values():
            chosen.by_role[role] = usual
    if table.geometry is not None and "geometry" not in chosen.by_role:
        chosen.by_role["geometry"] = table.geometry.column
    for kinds in (("lat", "lon"), ("x", "y")):
        if any(role in chosen.by_role for role in kinds) and not all(
            role in chosen.by_role for role in kinds
        ):
            for role in (*kinds, *(f"{axis}-max" for axis in kinds)):
                chosen.by_role.pop(role, None)
    ways: list[tuple[str, ...]] = [("cell",)] if "cell" in requested else []
    ways += [("lat", "lon"), ("cell",), ("x", "y"), ("geometry",)]
    way = next((roles for roles in ways if all(role in chosen.by_role for role in roles)), ())
    if not way and "time" not in chosen.by_role:
        names = ", ".join(table.columns[:30])
        raise InputError(
            f"{table.name} has no column of places or times that shoal knows (found: {names}); name "
            "them, for example --as time=HOUR --as cell=HEX"
        )
    for role in [role for roles in (("lat", "lon"), ("x", "y"), ("cell",), ("geometry",)) for role in roles]:
        if role not in way and role in chosen.by_role:
            chosen.notes.append(f"places are read from {' and '.join(chosen.by_role[axis] for axis in way)}; "
                               f"'{chosen.by_role[role]}' tells places, too, and was left aside")  # fmt: skip
            chosen.by_role.pop(role)
            chosen.by_role.pop(f"{role}-max", None)
    return chosen


def _require_records(table: Table, lower: Mapping[str, str]) -> None:
    has_zones = "zone" in lower or {"origin", "destination"} <= lower.keys()
    if has_zones and lower.keys() & _COUNTS and not any(name in lower for name in ROLES["id"]):
        kind = "flows" if "origin" in lower else "presence"
        raise InputError(
            f"{table.name} is a table of counts, not of records (columns {', '.join(table.columns[:30])}); "
            f"check what its hidden cells tell: --kind {kind} in place of --raw; or name the columns of "
            "records with --as"
        )


def find_date_column(table: Table, chosen: ColumnChoice, requested: Mapping[str, str]) -> str | None:
    """The column of dates, when the time column is called hour and was not requested."""
    if "time" in requested or chosen.by_role.get("time", "").strip().lower() != "hour":
        return None
    lower = {name.strip().lower(): name for name in table.columns}
    return next((lower[name] for name in ("date", "day") if name in lower), None)
