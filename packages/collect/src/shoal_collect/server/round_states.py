"""Transitions of a round on the server: (phase, event) -> (action, next phase)."""

from enum import StrEnum
from typing import Final

from shoal_collect.transitions import IGNORED, Ignored, Refusal, Step, Table


class Phase(StrEnum):
    """Phases of a round, in the order of the protocol."""

    JOINING = "joining"
    COMMITTING = "committing"
    REVEALING = "revealing"
    GROUPED = "grouped"
    FAILED = "failed"
    OVER = "over"


class Event(StrEnum):
    """Requests, and conditions that they or the time bring about."""

    JOIN = "join"
    COMMIT = "commit"
    REVEAL = "reveal"
    AGAIN = "the same again"  # a request that was carried out before, repeated after a break
    FULL = "roster full"
    ENOUGH = "time over with enough for a group"
    NEW_TERMS = "new terms"  # the collector's terms have changed, and nobody could join any more
    ALL_COMMITTED = "all committed"
    ALL_REVEALED = "all revealed"
    SILENT = "time over with some silent"
    TOO_FEW = "time over with too few left"
    GIVEN_UP = "time over after two restarts"
    EXPIRED = "kept long enough"


_LOTTERY: Final = (Phase.COMMITTING, Phase.REVEALING)
_FROZEN: Final = Refusal("too-late", "the roster of this round is frozen; join the next one")


def _refusals(event: Event, right_phase: Phase) -> dict[tuple[Phase, Event], Step[Phase] | Refusal | Ignored]:
    order = list(Phase)
    return {
        (phase, event): Refusal(
            "bad-frame" if order.index(phase) < order.index(right_phase) else "too-late",
            f"the round is {phase}, not {right_phase}",
        )
        for phase in Phase
        if phase is not right_phase
    }


_ROWS: dict[tuple[Phase, Event], Step[Phase] | Refusal | Ignored] = {
    (Phase.JOINING, Event.JOIN): Step("_add", Phase.JOINING),
    **{(phase, Event.JOIN): _FROZEN for phase in Phase if phase is not Phase.JOINING},
    (Phase.JOINING, Event.FULL): Step(None, Phase.COMMITTING),
    (Phase.JOINING, Event.ENOUGH): Step(None, Phase.COMMITTING),
    (Phase.JOINING, Event.NEW_TERMS): Step(None, Phase.FAILED),
    (Phase.COMMITTING, Event.COMMIT): Step("_take_commitment", Phase.COMMITTING),
    **_refusals(Event.COMMIT, Phase.COMMITTING),
    (Phase.COMMITTING, Event.ALL_COMMITTED): Step(None, Phase.REVEALING),
    (Phase.REVEALING, Event.REVEAL): Step("_take_reveal", Phase.REVEALING),
    **_refusals(Event.REVEAL, Phase.REVEALING),
    (Phase.REVEALING, Event.ALL_REVEALED): Step("_draw_groups", Phase.GROUPED),
    **{(phase, Event.SILENT): Step("_restart", Phase.COMMITTING) for phase in _LOTTERY},
    **{(phase, Event.TOO_FEW): Step("_restart", Phase.FAILED) for phase in _LOTTERY},
    **{(phase, Event.GIVEN_UP): Step(None, Phase.FAILED) for phase in _LOTTERY},
    **{(phase, Event.EXPIRED): Step("_forget", Phase.OVER) for phase in (Phase.GROUPED, Phase.FAILED)},
    **{(phase, Event.AGAIN): IGNORED for phase in Phase},
}

TABLE: Final = Table("a round on the server", Phase.JOINING, _ROWS, frozenset({Phase.OVER}))
