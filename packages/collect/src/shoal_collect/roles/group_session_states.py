"""The transitions of a member's session: (state, event) -> (action, next state)."""

from enum import StrEnum
from typing import Final

from shoal_collect.transitions import IGNORED, Ignored, Step, Table


class State(StrEnum):
    """The state of a session."""

    QUESTIONS = "questions"  # the questions are being mixed
    VOUCHING = "vouching"  # they are open, and more than half of the group has to sign them
    ASKING = "asking"
    CHASING = "chasing"  # answers did not come in time, and the next members ask
    LIED_TO = "lied to"  # collectors contradict each other, and the proof is on its way to the group
    RELEASES = "releases"  # the releases are being mixed
    MIXED = "mixed"
    FAILED = "failed"


class Event(StrEnum):
    """An event in a session."""

    LETTER = "letter"  # of this stage
    EARLY = "early letter"  # of a later stage
    STALE = "stale letter"  # of an earlier stage
    NEWS = "news"  # the mailbox has answered, after everything was sent
    TIME = "time"  # all letters are read, and time has passed
    OPENED = "opened"  # the mix has opened
    ABORTED = "aborted"  # the mix was stopped
    VOUCHED = "vouched"  # more than half of the group has signed the same questions
    ANSWERS = "answers"  # a collector answered a slice of the questions
    CONTRADICTION = "contradiction"  # collectors answered a slice differently
    QUOTA = "quota"  # the collector takes no more questions of hers today
    LATE = "late"  # answers did not come in time
    RELEASE = "release"  # she has trimmed what she releases


class Action(StrEnum):
    """The session's reaction."""

    HAND_ON = "hand to the mix"
    KEEP = "keep for later"
    TICK = "let the mix see the time"
    VOUCH = "vouch for the questions"
    TAKE_VOUCHER = "take a voucher"
    ASK = "ask her slice"
    HEAR = "hear answers"
    TAKE_ANSWERS = "check and pass on answers"
    ASK_NEXT = "ask the next member to stand in"
    CHASE = "stand in for the member before"
    MIX = "mix the releases"
    TAKE_RECORDS = "take the records"
    GIVE_UP = "give up"
    REPORT = "report the lie"
    ABORT = "report the findings"


_MIXING: Final = (State.QUESTIONS, State.RELEASES)
_WAITING: Final = (State.ASKING, State.CHASING)
_ANSWERED: Final = (State.ASKING, State.CHASING, State.LIED_TO)  # answers to what she asked still count
_LIVE: Final = tuple(state for state in State if state is not State.FAILED)

_ROWS: dict[tuple[State, Event], Step[State, Action] | Ignored] = {
    **{(s, Event.LETTER): Step(Action.HAND_ON, s) for s in _MIXING},
    **{(s, Event.TIME): Step(Action.TICK, s) for s in _MIXING},
    **{(s, Event.ABORTED): Step(Action.ABORT, State.FAILED) for s in _MIXING},
    (State.QUESTIONS, Event.OPENED): Step(Action.VOUCH, State.VOUCHING),
    (State.VOUCHING, Event.LETTER): Step(Action.TAKE_VOUCHER, State.VOUCHING),
    (State.VOUCHING, Event.VOUCHED): Step(Action.ASK, State.ASKING),
    (State.VOUCHING, Event.LATE): Step(Action.GIVE_UP, State.FAILED),
    (State.RELEASES, Event.OPENED): Step(Action.TAKE_RECORDS, State.MIXED),
    **{(s, Event.LETTER): Step(Action.HEAR, s) for s in _WAITING},
    **{(s, Event.ANSWERS): Step(Action.TAKE_ANSWERS, s) for s in _ANSWERED},
    **{(s, Event.QUOTA): Step(Action.ASK_NEXT, s) for s in _ANSWERED},
    **{(s, Event.CONTRADICTION): Step(None, State.LIED_TO) for s in _ANSWERED},
    (State.ASKING, Event.LATE): Step(Action.CHASE, State.CHASING),
    (State.CHASING, Event.LATE): Step(Action.GIVE_UP, State.FAILED),
    **{(s, Event.RELEASE): Step(Action.MIX, State.RELEASES) for s in _WAITING},
    (State.LIED_TO, Event.NEWS): Step(Action.REPORT, State.FAILED),
    **{(s, Event.EARLY): Step(Action.KEEP, s) for s in (*_MIXING, State.VOUCHING, *_WAITING)},
    # what comes too late to matter changes nothing
    **{(s, Event.NEWS): IGNORED for s in _LIVE if s is not State.LIED_TO},
    **{(s, Event.STALE): IGNORED for s in (State.VOUCHING, *_WAITING, State.RELEASES, State.MIXED)},
    **{(s, Event.TIME): IGNORED for s in (State.VOUCHING, *_WAITING, State.MIXED)},
    **{(s, e): IGNORED for s in (State.RELEASES, State.MIXED) for e in (Event.ANSWERS, Event.QUOTA)},
    (State.MIXED, Event.LETTER): IGNORED,
}

TABLE: Final = Table("a group session", State.QUESTIONS, _ROWS, frozenset({State.MIXED, State.FAILED}))
