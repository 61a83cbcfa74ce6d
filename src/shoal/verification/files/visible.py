"""VISIBLE, the parameters that bound what the table can hold."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.claims import PayloadKind
from shoal.model.claims.hull import TIGHT, LargestExtents, parse_extents
from shoal.model.release import Release
from shoal.model.verdicts import Finding
from shoal.release_folder.manifest import MANIFEST_FILE
from shoal.runtime.arrays import Flags, Integers

_ROUNDING: Final = 1e-9  # relative error of a quotient of two lengths
_LAST_DIGITS: Final = 4  # units in the last place
_LONGEST: Final = 1e15  # seconds or meters; beyond it a parameter bounds nothing


def _wider_than(release: Release, most_m: float) -> Flags:
    boxes, grid = release.boxes, release.snapped_grid()
    sides = (boxes.x_max - boxes.x_min) + (boxes.y_max - boxes.y_min)
    return np.asarray(sides * grid.cell_m > most_m * (1 + _ROUNDING))


def _longer_than(release: Release, most_s: float) -> Flags:
    boxes, grid = release.boxes, release.snapped_grid()
    return np.asarray((boxes.t_end - boxes.t_start) * grid.slot_s > most_s * (1 + _ROUNDING))


def _crosses_cells(release: Release, grid_m: float) -> Flags:
    boxes, grid_cell_m = release.boxes, release.snapped_grid().cell_m
    offset = round((_length(release.parameters.get("grid_offset_m")) or 0.0) / grid_cell_m)
    across_x = _crosses(boxes.x_min - offset, boxes.x_max - offset, grid_m / grid_cell_m)
    return np.asarray(across_x | _crosses(boxes.y_min - offset, boxes.y_max - offset, grid_m / grid_cell_m))


def _crosses_slots(release: Release, slot_s: float) -> Flags:
    return _crosses(release.boxes.t_start, release.boxes.t_end, slot_s / release.snapped_grid().slot_s)


def _crosses(low: Integers, high: Integers, step: float) -> Flags:
    coarse = max(1, round(step))
    return np.asarray(low // coarse != (high - 1) // coarse)


def _not_multiples(release: Release, step_s: float) -> Flags:
    t = release.points.t
    return np.asarray(np.abs(t - np.rint(t / step_s) * step_s) > _LAST_DIGITS * np.spacing(np.abs(t)))


def _ends_not_multiples(release: Release, pi_s: float) -> Flags:
    off = _not_multiples(release, pi_s)
    return np.asarray(off[np.concatenate([release.offsets[:-1], release.offsets[1:] - 1])])


def _beyond_extents(release: Release, most: LargestExtents) -> Flags:
    return np.asarray(_wider_than(release, most.space_m) | _longer_than(release, most.time_s))


def _length(value: Any) -> float | None:
    return float(value) if type(value) in {int, float} and 0 < value < _LONGEST else None


def _extents(value: Any) -> LargestExtents | None:
    try:
        return parse_extents(value) if isinstance(value, str) else None
    except MisuseError:
        return None


@dataclass(frozen=True, kw_only=True)
class VisibleParameter:
    """How one parameter is checked."""

    payload: PayloadKind
    beyond: Callable[[Release, Any], Flags]  # boxes or points that contradict a value
    read: Callable[[Any], Any] = _length  # from the manifest, None where it bounds nothing
    of_boxes: bool = False  # where samples are suppressed, boxes have any size


# by method and parameter
VISIBLE: Final[Mapping[tuple[str, str], VisibleParameter]] = {
    ("glove", "suppress_space_m"): VisibleParameter(payload="boxes", beyond=_wider_than, of_boxes=True),
    ("glove", "suppress_time_s"): VisibleParameter(payload="boxes", beyond=_longer_than, of_boxes=True),
    ("glove", "extent_at_most"): VisibleParameter(payload="boxes", beyond=_beyond_extents, read=_extents),
    ("static", "grid_m"): VisibleParameter(payload="boxes", beyond=_crosses_cells),
    ("static", "slot_s"): VisibleParameter(payload="boxes", beyond=_crosses_slots),
    ("nwa", "step_s"): VisibleParameter(payload="points", beyond=_not_multiples),
    ("nwa", "pi_s"): VisibleParameter(payload="points", beyond=_ends_not_multiples),
}


def count_beyond_parameters(release: Release) -> Counter[str]:
    """Count the boxes (tight hulls) or points that contradict each parameter."""
    beyond: Counter[str] = Counter()
    if release.n_samples and release.claim.hull in (None, TIGHT):
        for (method, name), row in VISIBLE.items():
            bound = row.read(release.parameters.get(name))
            any_size = row.of_boxes and release.parameters.get("suppress_by") == "samples"
            if bound is not None and not any_size and (release.method, release.kind) == (method, row.payload):
                beyond[name] += int(np.count_nonzero(row.beyond(release, bound)))
    return beyond


def parameter_findings(beyond: Counter[str], payload: PayloadKind) -> Iterator[Finding]:
    """One finding for each contradicted parameter."""
    for name, n in beyond.items():
        if n:
            message = f"{MANIFEST_FILE}: {n:,} {payload} of the table cannot come of its {name}"
            yield Finding("false-statement", message)
