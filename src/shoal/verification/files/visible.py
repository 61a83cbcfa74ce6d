"""VISIBLE, the one table of parameters that a release shows again: what each must be true of.

Most parameters of a method leave no trace that could be held against them, and those that are part of the
claim are compared with it. A row here is a bound on what the table holds, and so can be checked.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.claims import PayloadKind
from shoal.model.claims.hull import TIGHT
from shoal.model.extents import LargestExtents, parse_extents
from shoal.model.release import Release
from shoal.model.verdicts import Finding
from shoal.release_folder.manifest import MANIFEST_FILE
from shoal.runtime.arrays import Flags, Integers

_ROUNDING: Final = 1e-9  # of a quotient of two lengths
_LAST_DIGITS: Final = 4  # by which a product of two numbers may differ from one that was found in another way
_LONGEST: Final = 1e15  # seconds or meters; beyond it a parameter bounds nothing


def _wider_kept(release: Release, most_m: float) -> Flags:
    return _where_boxes_were_dropped(release, _wider(release, most_m))


def _longer_kept(release: Release, most_s: float) -> Flags:
    return _where_boxes_were_dropped(release, _longer(release, most_s))


def _where_boxes_were_dropped(release: Release, beyond: Flags) -> Flags:
    """Suppression by samples leaves a box of any size, which its thresholds do not bound."""
    return np.asarray(beyond & (release.parameters.get("suppress_by") != "samples"))


def _wider(release: Release, most_m: float) -> Flags:
    boxes, grid = release.boxes, release.snapped_grid()
    sides = (boxes.x_max - boxes.x_min) + (boxes.y_max - boxes.y_min)
    return np.asarray(sides * grid.cell_m > most_m * (1 + _ROUNDING))


def _longer(release: Release, most_s: float) -> Flags:
    boxes, grid = release.boxes, release.snapped_grid()
    return np.asarray((boxes.t_end - boxes.t_start) * grid.slot_s > most_s * (1 + _ROUNDING))


def _across_cells(release: Release, grid_m: float) -> Flags:
    boxes, own = release.boxes, release.snapped_grid().cell_m
    offset = round((_length(release.parameters.get("grid_offset_m")) or 0.0) / own)
    across_x = _crosses(boxes.x_min - offset, boxes.x_max - offset, grid_m / own)
    return np.asarray(across_x | _crosses(boxes.y_min - offset, boxes.y_max - offset, grid_m / own))


def _across_slots(release: Release, slot_s: float) -> Flags:
    return _crosses(release.boxes.t_start, release.boxes.t_end, slot_s / release.snapped_grid().slot_s)


def _crosses(low: Integers, high: Integers, step: float) -> Flags:
    """Which ranges of cells [low, high) lie in more than one coarse cell of so many."""
    coarse = max(1, round(step))
    return np.asarray(low // coarse != (high - 1) // coarse)


def _off_the_clock(release: Release, step_s: float) -> Flags:
    t = release.points.t
    return np.asarray(np.abs(t - np.rint(t / step_s) * step_s) > _LAST_DIGITS * np.spacing(np.abs(t)))


def _ends_off_the_clock(release: Release, pi_s: float) -> Flags:
    off = _off_the_clock(release, pi_s)
    return np.asarray(off[np.concatenate([release.offsets[:-1], release.offsets[1:] - 1])])


def _beyond_extents(release: Release, most: LargestExtents) -> Flags:
    return np.asarray(_wider(release, most.space_m) | _longer(release, most.time_s))


def _length(value: Any) -> float | None:
    """A parameter in seconds or meters; None for one that is not set or bounds nothing."""
    return float(value) if type(value) in {int, float} and 0 < value < _LONGEST else None


def _extents(value: Any) -> LargestExtents | None:
    """A parameter of two extents; None for one that is not set or cannot be read."""
    try:
        return parse_extents(value) if isinstance(value, str) else None
    except MisuseError:
        return None


@dataclass(frozen=True, kw_only=True)
class Visible:
    """What a release shows of a parameter.

    beyond: which of its boxes or points cannot come of a value. read: the value of what a manifest says, None
    where that bounds nothing.
    """

    payload: PayloadKind
    beyond: Callable[[Release, Any], Flags]
    read: Callable[[Any], Any] = _length


# by method and parameter
VISIBLE: Final[Mapping[tuple[str, str], Visible]] = {
    ("glove", "suppress_space_m"): Visible(payload="boxes", beyond=_wider_kept),
    ("glove", "suppress_time_s"): Visible(payload="boxes", beyond=_longer_kept),
    ("glove", "extent_at_most"): Visible(payload="boxes", beyond=_beyond_extents, read=_extents),
    ("static", "grid_m"): Visible(payload="boxes", beyond=_across_cells),
    ("static", "slot_s"): Visible(payload="boxes", beyond=_across_slots),
    ("nwa", "step_s"): Visible(payload="points", beyond=_off_the_clock),
    ("nwa", "pi_s"): Visible(payload="points", beyond=_ends_off_the_clock),
}


def beyond_parameters(release: Release) -> Counter[str]:
    """How much of what a release publishes cannot come of its parameters, by their names.

    Boxes are looked at where they are tight hulls: others were rounded outward afterwards.
    """
    beyond: Counter[str] = Counter()
    if release.n_samples and getattr(release.claim, "hull", TIGHT) == TIGHT:
        for (method, name), row in VISIBLE.items():
            bound = row.read(release.parameters.get(name))
            if bound is not None and (release.method, release.kind) == (method, row.payload):
                beyond[name] += int(np.count_nonzero(row.beyond(release, bound)))
    return beyond


def parameter_findings(beyond: Counter[str], payload: PayloadKind) -> Iterator[Finding]:
    """One finding for each parameter that the table shows to be false."""
    for name, n in beyond.items():
        if n:
            message = f"{MANIFEST_FILE}: {n:,} {payload} of the table cannot come of its {name}"
            yield Finding("false-statement", message)
