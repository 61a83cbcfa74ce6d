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
    OPENED = "opened"  # a mix has opened
    ANSWERED = "all answered"
    WAITING = "waiting"  # too few of the group have brought its releases so far
    LATE = "late"  # and the time for that is over
    EMPTY = "empty"  # stored, and nothing of it is hers
    RECEIPT = "receipt"  # stored under an identifier
    CONFIRMED = "confirmed"  # the authority knows whose the identifier is
    REFUSED = "refused"  # a server refused the request
    FAULT = "fault"  # a party broke the protocol


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

_ROWS: dict[tuple[State, Event], Step[State] | Ignored] = {
    (State.LOTTERY, Event.VIEW): Step("_pass_view_to_lottery", State.LOTTERY),
    (State.LOTTERY, Event.PASSED): IGNORED,
    (State.LOTTERY, Event.GROUPED): Step("_enter", State.QUESTIONS),
    (State.LOTTERY, Event.NO_GROUP): Step("_end", State.NO_GROUP),
    **{(s, Event.LETTERS): Step("_read", s) for s in _IN_GROUP},
    **{(s, Event.SENT): IGNORED for s in (*_IN_GROUP, *_AFTER_RELEASES)},
    **{(s, Event.ANSWERS): Step("_take_answers", s) for s in _AFTER_QUESTIONS},
    # slow replies to questions that others have brought meanwhile
    **{(s, Event.ANSWERS): IGNORED for s in _AFTER_RELEASES},
    (State.QUESTIONS, Event.OPENED): Step(None, State.ASKING),
    (State.ASKING, Event.ANSWERED): Step("_trim", State.RELEASES),
    (State.RELEASES, Event.OPENED): Step("_store", State.STORING),
    (State.STORING, Event.WAITING): IGNORED,
    (State.STORING, Event.LATE): Step("_end", State.FAILED),
    (State.STORING, Event.EMPTY): Step("_end", State.NOTHING_LEFT),
    (State.STORING, Event.RECEIPT): Step("_claim", State.CLAIMING),
    (State.CLAIMING, Event.CONFIRMED): Step("_end", State.SHARED),
    **{(s, e): Step("_end", State.FAILED) for s in _ACTIVE for e in (Event.REFUSED, Event.FAULT)},
}

TABLE: Final = Table("a participant's round", State.LOTTERY, _ROWS, frozenset(_FINAL))
