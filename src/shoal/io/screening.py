"""Leave out people with too few samples a day, or on too few days."""

from dataclasses import replace
from typing import Final

import numpy as np

from shoal.errors import InputError, MisuseError
from shoal.messages import Message, say, say_number
from shoal.model.intake import Intake, Reading
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, Numbers
from shoal.units import DAY_S

EVERY_DAY: Final = -1  # as a number of active days: those of the data, from the first to the last


def has_screening(reading: Reading) -> bool:
    """Whether a reading may leave people out."""
    return bool(reading.min_samples_per_day or reading.min_active_days)


def require_screening(reading: Reading) -> None:
    """Raise MisuseError for invalid bounds."""
    if not (np.isfinite(reading.min_samples_per_day) and reading.min_samples_per_day >= 0):
        raise MisuseError(
            f"min_samples_per_day = {reading.min_samples_per_day} must be finite and at least 0; 0 leaves "
            "nobody out"
        )
    if reading.min_active_days < EVERY_DAY:
        raise MisuseError(
            f"min_active_days = {reading.min_active_days} must be at least 0; 0 leaves nobody out, and "
            f"{EVERY_DAY} asks for every day of the data"
        )


def active_days(t: Numbers, offsets: Integers, slot_s: float) -> Integers:
    """[n]: days (UTC) with samples of each subject. t: [m] slots, ascending in each."""
    day = np.floor(t * slot_s / DAY_S)
    fresh = np.append(True, np.diff(day) != 0)
    fresh[offsets[:-1]] = True
    return np.add.reduceat(fresh.astype(np.int64), offsets[:-1])


def days_between(first: float, last: float, slot_s: float) -> int:
    """Days (UTC) from first to last sample, including empty ones."""
    return int(np.floor(last * slot_s / DAY_S) - np.floor(first * slot_s / DAY_S)) + 1


def screen(
    lengths: Integers, active: Integers, days: float, n_days: int, intake: Intake
) -> tuple[Integers, Intake]:
    """Indexes of the subjects with enough samples and days, and the account.

    days: length of their data; a person-day is one day long. n_days: of all data.
    """
    reading, subjects = intake.reading, f"{len(lengths):,}"
    selected = np.ones(len(lengths), dtype=np.bool_)
    if reading.min_samples_per_day:
        least, span = reading.min_samples_per_day, 1.0 if reading.per_day else max(days, 1.0)
        lost = lengths / span < least
        if lost.all():
            raise InputError(
                f"nobody has {least:g} samples a day, on average over {span:.3g} days; ask for fewer with "
                "--min-samples-per-day"
            )
        reason = say("row.few_samples", "below {least} samples a day", least=f"{least:g}")
        samples = say("amount.samples", "{number} samples", number=f"{least:g}")
        if least == 1:
            reason = say("row.few_samples_one", "below 1 sample a day")
            samples = say("amount.sample", "1 sample")
        people = int(np.count_nonzero(lost))
        one = "{number} of {subjects} subjects has fewer than {samples} a day and is left out"
        more = "{number} of {subjects} subjects have fewer than {samples} a day and are left out"
        note = say_number("reading.few_samples", people, one, more, subjects=subjects, samples=samples)
        intake = _left_out(lengths[lost], reason, note, intake)
        selected &= ~lost
    if reading.min_active_days:
        all_days = 1 if reading.per_day else n_days
        fewest = all_days if reading.min_active_days == EVERY_DAY else reading.min_active_days
        lost = selected & (active < fewest)
        if (lost == selected).all():
            raise InputError(
                f"nobody has samples on {fewest} of the {all_days} days; ask for fewer with --min-active-days"
            )
        reason = say("row.few_days", "below {days} days with samples", days=f"{fewest:,}")  # 2 at least
        people = int(np.count_nonzero(lost))
        one = "{number} of {subjects} subjects has fewer than {days} days with samples and is left out"
        more = "{number} of {subjects} subjects have fewer than {days} days with samples and are left out"
        note = say_number("reading.few_days", people, one, more, subjects=subjects, days=f"{fewest:,}")
        intake = _left_out(lengths[lost], reason, note, intake)
        selected &= ~lost
    return np.flatnonzero(selected), intake


def _left_out(samples: Integers, reason: Message, note: Message, intake: Intake) -> Intake:
    """samples: of each person who is left out."""
    if not len(samples):
        return intake
    return replace(intake.with_dropped(reason, int(samples.sum())), notes=(*intake.notes, note))


def screen_trajectories(trajectories: Trajectories) -> Trajectories:
    """Apply the bounds of the reading."""
    if not has_screening(trajectories.intake.reading):
        return trajectories
    t, slot_s = trajectories.t, trajectories.grid.slot_s if trajectories.grid else 1.0
    first, last = float(t.min()), float(t.max())
    active, n_days = active_days(t, trajectories.offsets, slot_s), days_between(first, last, slot_s)
    days = (last - first) * slot_s / DAY_S
    selected, intake = screen(trajectories.lengths, active, days, n_days, trajectories.intake)
    if len(selected) == trajectories.n_subjects:
        return trajectories
    return replace(trajectories.keep(selected), intake=intake)
