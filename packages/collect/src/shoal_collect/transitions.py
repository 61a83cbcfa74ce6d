"""Protocols as data: tables of (state, event) -> (action, next state), as in h11's ``_state.py``.

An event outside the table is a named error; one without effect is ``IGNORED``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, TypeVar

from shoal.errors import MisuseError
from shoal_collect.faults import Kind, PeerError

State = TypeVar("State", bound=StrEnum)
Event = TypeVar("Event", bound=StrEnum)


class TransitionError(MisuseError):
    """No row for an event: a fault of the calling code, never of a peer."""


@dataclass(frozen=True)
class Step(Generic[State]):
    """Enter the state, then carry out the action, a method of the machine, if any."""

    action: str | None
    state: State


@dataclass(frozen=True)
class Refusal:
    """A peer may not send this now."""

    kind: Kind
    reason: str


@dataclass(frozen=True)
class Ignored:
    """The event changes nothing."""


IGNORED: Final = Ignored()


@dataclass(frozen=True)
class Table(Generic[State, Event]):
    """A machine's transitions.

    ``name``: in errors. ``rows``: for each state and event a step, a refusal, or ``IGNORED``.
    """

    name: str
    start: State
    rows: Mapping[tuple[State, Event], Step[State] | Refusal | Ignored]
    final: frozenset[State] = field(default_factory=frozenset)

    def step(self, state: State, event: Event) -> Step[State] | None:
        """The step for an event; None when ignored.

        PeerError if refused, TransitionError without a row.
        """
        row = self.rows.get((state, event))
        if isinstance(row, Step):
            return row
        if isinstance(row, Refusal):
            raise PeerError(row.kind, row.reason)
        if row is None:
            raise TransitionError(f"{self.name} in the state '{state}' has no row for the event '{event}'")
        return None

    def reacts(self, state: State, event: Event) -> bool:
        """Whether an event leads to a step."""
        return isinstance(self.rows.get((state, event)), Step)
