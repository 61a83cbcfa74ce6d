"""What a member may do in the lottery that draws the groups: (state, event) -> (action, next state)."""

from enum import StrEnum
from typing import Final

from shoal_collect.transitions import IGNORED, Ignored, Refusal, Step, Table


class State(StrEnum):
    """Where a member is in the lottery."""

    LOOKING = "looking"
    JOINED = "joined"
    COMMITTED = "committed"
    REVEALED = "revealed"
    GROUPED = "grouped"
    NO_GROUP = "no group"


class Event(StrEnum):
    """What the collector says of the round."""

    FOUND = "found"  # there is a round to join
    JOINING = "joining"
    COMMITTING = "committing"
    REVEALING = "revealing"
    DRAWN = "drawn"  # and she is in one of the groups
    LEFT_OVER = "left over"  # drawn, and the number of people left no group for her
    ENDED = "ended"
    LEFT_OUT = "left out"  # the roster was frozen without her
    RESTARTED = "restarted"  # the lottery starts again without those who kept silent


class Action(StrEnum):
    """What the member does about it."""

    JOIN = "join"
    COMMIT = "commit"
    REVEAL = "reveal"
    ENTER_GROUP = "enter her group"
    FORGET_ROUND = "forget the round"
    FORGET_ATTEMPT = "forget the attempt"
    END = "wait for another round"
    GIVE_UP = "give the round up"


_PLAYING: Final = (State.JOINED, State.COMMITTED, State.REVEALED)
_UNHEARD: Final = Refusal(
    "bad-answer", "the collector goes on with the lottery before everybody has been heard; send it nothing"
)

_ROWS: dict[tuple[State, Event], Step[State, Action] | Refusal | Ignored] = {
    (State.LOOKING, Event.FOUND): Step(Action.JOIN, State.JOINED),
    (State.JOINED, Event.COMMITTING): Step(Action.COMMIT, State.COMMITTED),
    (State.COMMITTED, Event.REVEALING): Step(Action.REVEAL, State.REVEALED),
    (State.REVEALED, Event.DRAWN): Step(Action.ENTER_GROUP, State.GROUPED),
    (State.REVEALED, Event.LEFT_OVER): Step(Action.END, State.NO_GROUP),
    # the collector has not heard her yet, or she asks again
    **{(s, Event.JOINING): IGNORED for s in _PLAYING},
    (State.COMMITTED, Event.COMMITTING): IGNORED,
    (State.REVEALED, Event.COMMITTING): IGNORED,
    (State.REVEALED, Event.REVEALING): IGNORED,
    # nobody may reveal before all have committed, nor be grouped before all have revealed
    (State.JOINED, Event.REVEALING): _UNHEARD,
    (State.JOINED, Event.DRAWN): _UNHEARD,
    (State.COMMITTED, Event.DRAWN): _UNHEARD,
    **{(s, Event.RESTARTED): Step(Action.FORGET_ATTEMPT, State.JOINED) for s in _PLAYING},
    **{(s, Event.LEFT_OUT): Step(Action.FORGET_ROUND, State.LOOKING) for s in _PLAYING},
    **{(s, Event.ENDED): Step(Action.GIVE_UP, State.NO_GROUP) for s in _PLAYING},
}

TABLE: Final = Table("a member's lottery", State.LOOKING, _ROWS, frozenset({State.GROUPED, State.NO_GROUP}))
