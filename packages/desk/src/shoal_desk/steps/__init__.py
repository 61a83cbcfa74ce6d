"""The six steps of the desk in order: one file each, and one row here."""

from typing import Final

from shoal_desk.steps.data import DATA
from shoal_desk.steps.people import PEOPLE
from shoal_desk.steps.record import RECORD
from shoal_desk.steps.release import RELEASE
from shoal_desk.steps.step import Step
from shoal_desk.steps.trade import TRADE
from shoal_desk.steps.whom import WHOM

__all__ = ["STEPS", "TYPED", "Step"]

_ROWS: Final = (DATA, PEOPLE, WHOM, TRADE, RELEASE, RECORD)
STEPS: Final[dict[str, Step]] = {row.name: row for row in _ROWS}
TYPED: Final = {"who": "people", "from": "whom"}  # what their titles suggest as addresses
