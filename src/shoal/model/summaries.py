"""Short HTML for notebooks: counts and parameters, everything escaped, nobody named."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.model.claims import claim_to_json
from shoal.model.frames import counts_steps, seconds_and_meters
from shoal.units import show_m, show_s

if TYPE_CHECKING:
    from shoal.model.release import Release
    from shoal.model.trajectories import Grid, Trajectories
    from shoal.model.verdicts import Verdict


def html_of_trajectories(data: "Trajectories") -> str:
    """Who and how much, when and where at large, and what the reading dropped."""
    rows: dict[str, Any] = {
        "subjects": f"{data.n_subjects:,} ({data.intake.unit_of_protection})",
        "samples": f"{data.n_samples:,}",
    }
    if data.n_samples:
        t_s, x_m, y_m = seconds_and_meters(data)
        rows["samples of one subject"] = f"{np.median(data.lengths):,.4g} (median)"
        rows["time"] = (
            show_s(float(np.ptp(t_s)))
            if counts_steps(t_s, data.intake.reading)
            else f"{_day(t_s.min())} to {_day(t_s.max())}"
        )
        rows["area"] = f"{show_m(float(np.ptp(x_m)))} east-west, {show_m(float(np.ptp(y_m)))} north-south"
    return table(
        "Trajectories",
        [
            *rows.items(),
            ("grid", _grid_words(data.grid)),
            ("plane", data.crs or "local meters"),
            *_counted("rows dropped", data.intake.dropped),
            *_counted("rows repaired", data.intake.repaired),
        ],
    )


def html_of_release(release: "Release") -> str:
    """What was published by which method, what it promises, and what it lost."""
    claim = claim_to_json(release.claim)
    promised = ", ".join(f"{name} = {value}" for name, value in claim.items() if name != "type")
    losses = release.losses
    return table(
        "Release",
        [
            ("method", release.method),
            ("claim", f"{claim['type']}: {promised}"),
            *([("this is no anonymity", release.claim.no_anonymity)] if release.claim.no_anonymity else []),
            ("records", f"{release.n_records:,} ({release.unit_of_protection})"),
            (release.kind, f"{release.n_samples:,}"),
            ("grid", _grid_words(release.grid)),
            ("plane", release.crs or "local meters"),
            ("publishable", "yes" if release.publishable else "no: made with a research seed"),
            ("subjects suppressed", f"{losses.subjects_suppressed:,}"),
            ("samples suppressed", f"{losses.samples_suppressed:,}"),
            ("points created", f"{losses.samples_created:,}"),
            *_counted("rows dropped", losses.rows),
        ],
    )


def html_of_verdict(verdict: "Verdict") -> str:
    """Whether the claim holds, how much was checked, and how often each kind of finding was made."""
    found = verdict.to_json()["findings_by_kind"]
    told = {
        "HOLDS": "the claim holds",
        "DOES NOT HOLD": "the claim does not hold",
        "NOT CHECKED": "the claim was not checked in full",
    }
    return table(
        f"Verdict: {told[verdict.word]}",
        [
            ("records checked", f"{verdict.checked:,}"),
            ("findings", f"{len(verdict.findings):,}"),
            *((kind, f"{count:,}") for kind, count in found.items()),
            *(("not checked", part) for part in verdict.unchecked),
        ],
        notes=verdict.notes,
    )


def table(
    title: str, rows: Iterable[Sequence[object]], *, header: Sequence[object] = (), notes: Iterable[str] = ()
) -> str:
    """A small table; the first cell of a row is its name."""
    parts = [f"<table><caption>{_safe(title)}</caption>"]
    if header:
        parts.append(f"<tr>{''.join(f'<th>{_safe(cell)}</th>' for cell in header)}</tr>")
    for name, *cells in rows:
        parts.append(f"<tr><th>{_safe(name)}</th>{''.join(f'<td>{_safe(cell)}</td>' for cell in cells)}</tr>")
    parts.append("</table>")
    parts += [f"<p>{_safe(note)}</p>" for note in notes]
    return "".join(parts)


def _counted(what: str, rows: Mapping[str, int]) -> list[tuple[str, str]]:
    """Rows by reason in one line; nothing where there are none."""
    return [(what, ", ".join(f"{count:,} {reason}" for reason, count in rows.items()))] if rows else []


def _day(t_s: float) -> str:
    """The UTC day of a moment."""
    return str(np.datetime64(int(t_s), "s").astype("datetime64[D]"))


def _grid_words(grid: "Grid | None") -> str:
    return (
        "points as given"
        if grid is None
        else f"cells of {show_m(grid.cell_m)}, slots of {show_s(grid.slot_s)}"
    )


def _safe(cell: object) -> str:
    return escape(str(cell))
