"""People with too few samples a day, whom a reading may leave out."""

from dataclasses import replace

import numpy as np

from shoal.errors import InputError
from shoal.model.intake import Intake
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.units import DAY_S


def screen(lengths: Integers, days: float, intake: Intake) -> tuple[Integers, Intake]:
    """Positions of the subjects with as many samples a day as asked, on average, and the new account.

    days: of the data; at least one is counted, and a person-day is one day long whatever the data. Raises
    InputError when nobody is left.
    """
    least = intake.reading.min_samples_per_day
    days = 1.0 if intake.reading.per_day else max(days, 1.0)
    kept = np.flatnonzero(lengths / days >= least)
    lost = len(lengths) - len(kept)
    if not len(kept):
        raise InputError(
            f"nobody has {least:g} samples a day, on average over {days:.3g} days; ask for fewer with "
            "--min-samples-per-day"
        )
    if not lost:
        return kept, intake
    intake = intake.with_dropped(f"below {least:g} samples a day", int(lengths.sum() - lengths[kept].sum()))
    note = f"{lost:,} of {len(lengths):,} subjects have fewer than {least:g} samples a day and are left out"
    return kept, replace(intake, notes=(*intake.notes, note))


def days_of(trajectories: Trajectories) -> float:
    """From the first to the last time of the data, in days."""
    slot_s = trajectories.grid.slot_s if trajectories.grid else 1.0
    return float(trajectories.t.max() - trajectories.t.min()) * slot_s / DAY_S
