"""The transitions of a device in a round: (state, event) -> (action, next state)."""

from enum import StrEnum
from typing import Final

from shoal_collect.transitions import IGNORED, Ignored, Step, Table


class State(StrEnum):
    """The state of a participant's round."""

    LOTTERY = "lottery"
    QUESTIONS = "questions"  # the group mixes its questions
    ASKING = "asking"
    RELEASES = "releases"  # the group mixes its releases
    STORING = "storing"
    CLAIMING = "claiming"
    SHARED = "shared"
    NOTHING_LEFT = "nothing left"
    NO_GROUP = "no group"
    FAILED = "failed"


class Event(StrEnum):
    """Replies and their consequences."""

    VIEW = "view"  # the collector's view of the round
    PASSED = "passed"  # a request came too late; the next view has the outcome
    GROUPED = "grouped"  # she knows her group
    NO_GROUP = "no group"
    LETTERS = "letters"  # a batch from the mailbox
    SENT = "sent"  # letters have been taken
    ANSWERS = "answers"
    QUOTA = "quota"  # the collector takes no more questions of hers today
    OPENED = "opened"  # a mix has opened
    ANSWERED = "all answered"
    WAITING = "waiting"  # too few of the group have brought its releases so far
    LATE = "late"  # and the time for that is over
    EMPTY = "empty"  # stored, and nothing of it is hers
    RECEIPT = "receipt"  # stored under an identifier
    CONFIRMED = "confirmed"  # the authority knows whose the identifier is
    REFUSED = "refused"  # a server refused the request
    FAULT = "fault"  # a party broke the protocol


class Action(StrEnum):
    """The device's reaction."""

    FOLLOW = "follow the lottery"
    ENTER = "mix the questions"
    READ = "read letters"
    TAKE_ANSWERS = "take answers"
    ASK_NEXT = "ask the next member"
    TRIM = "trim and mix the releases"
    STORE = "bring the releases"
    CLAIM = "claim"
    END = "end"


_ACTIVE: Final = (
    State.LOTTERY,
    State.QUESTIONS,
    State.ASKING,
    State.RELEASES,
    State.STORING,
    State.CLAIMING,
)
_IN_GROUP: Final = (State.QUESTIONS, State.ASKING, State.RELEASES)
_AFTER_QUESTIONS: Final = (State.ASKING, State.RELEASES)
_FINAL: Final = (State.SHARED, State.NOTHING_LEFT, State.NO_GROUP, State.FAILED)
_AFTER_RELEASES: Final = (State.STORING, State.CLAIMING, *_FINAL)

_ROWS: dict[tuple[State, Event], Step[State, Action] | Ignored] = {
    (State.LOTTERY, Event.VIEW): Step(Action.FOLLOW, State.LOTTERY),
    (State.LOTTERY, Event.PASSED): IGNORED,
    (State.LOTTERY, Event.GROUPED): Step(Action.ENTER, State.QUESTIONS),
    (State.LOTTERY, Event.NO_GROUP): Step(Action.END, State.NO_GROUP),
    **{(s, Event.LETTERS): Step(Action.READ, s) for s in _IN_GROUP},
    **{(s, Event.SENT): IGNORED for s in (*_IN_GROUP, *_AFTER_RELEASES)},
    **{(s, Event.ANSWERS): Step(Action.TAKE_ANSWERS, s) for s in _AFTER_QUESTIONS},
    **{(s, Event.QUOTA): Step(Action.ASK_NEXT, s) for s in _AFTER_QUESTIONS},
    # slow replies to questions that others have brought meanwhile
    **{(s, e): IGNORED for s in _AFTER_RELEASES for e in (Event.ANSWERS, Event.QUOTA)},
    (State.QUESTIONS, Event.OPENED): Step(None, State.ASKING),
    (State.ASKING, Event.ANSWERED): Step(Action.TRIM, State.RELEASES),
    (State.RELEASES, Event.OPENED): Step(Action.STORE, State.STORING),
    (State.STORING, Event.WAITING): IGNORED,
    (State.STORING, Event.LATE): Step(Action.END, State.FAILED),
    (State.STORING, Event.EMPTY): Step(Action.END, State.NOTHING_LEFT),
    (State.STORING, Event.RECEIPT): Step(Action.CLAIM, State.CLAIMING),
    (State.CLAIMING, Event.CONFIRMED): Step(Action.END, State.SHARED),
    **{(s, e): Step(Action.END, State.FAILED) for s in _ACTIVE for e in (Event.REFUSED, Event.FAULT)},
}

TABLE: Final = Table("a participant's round", State.LOTTERY, _ROWS, frozenset(_FINAL))
