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
    ABORTED = "aborted"  # the mix was stopped, and the run ends
    SILENCE = "silence"  # the mix was stopped, and those who are left may mix again
    VOUCHED = "vouched"  # more than half of the group has signed the same questions
    ANSWERS = "answers"  # a collector answered a slice of the questions
    CONTRADICTION = "contradiction"  # collectors answered a slice differently
    LATE = "late"  # answers did not come in time
    RELEASE = "release"  # she has trimmed what she releases


_MIXING: Final = (State.QUESTIONS, State.RELEASES)
_WAITING: Final = (State.ASKING, State.CHASING)
_ANSWERED: Final = (State.ASKING, State.CHASING, State.LIED_TO)  # answers to what she asked still count
_LIVE: Final = tuple(state for state in State if state is not State.FAILED)

_ROWS: dict[tuple[State, Event], Step[State] | Ignored] = {
    **{(s, Event.LETTER): Step("_pass_to_mix", s) for s in _MIXING},
    **{(s, Event.TIME): Step("_tick", s) for s in _MIXING},
    **{(s, Event.ABORTED): Step("_abort", State.FAILED) for s in _MIXING},
    **{(s, Event.SILENCE): Step("_mix_again", s) for s in _MIXING},
    (State.QUESTIONS, Event.OPENED): Step("_vouch", State.VOUCHING),
    (State.VOUCHING, Event.LETTER): Step("_take_voucher", State.VOUCHING),
    (State.VOUCHING, Event.VOUCHED): Step("_begin_asking", State.ASKING),
    (State.VOUCHING, Event.LATE): Step("_give_up", State.FAILED),
    (State.RELEASES, Event.OPENED): Step("_take_records", State.MIXED),
    **{(s, Event.LETTER): Step("_read_answers", s) for s in _WAITING},
    **{(s, Event.ANSWERS): Step("_take_answers", s) for s in _ANSWERED},
    **{(s, Event.CONTRADICTION): Step(None, State.LIED_TO) for s in _ANSWERED},
    (State.ASKING, Event.LATE): Step("_cover_missing", State.CHASING),
    (State.CHASING, Event.LATE): Step("_give_up", State.FAILED),
    **{(s, Event.RELEASE): Step("_mix_releases", State.RELEASES) for s in _WAITING},
    (State.LIED_TO, Event.NEWS): Step("_report", State.FAILED),
    **{(s, Event.EARLY): Step("_keep", s) for s in (*_MIXING, State.VOUCHING, *_WAITING)},
    # what comes too late to matter changes nothing
    **{(s, Event.NEWS): IGNORED for s in _LIVE if s is not State.LIED_TO},
    **{(s, Event.STALE): IGNORED for s in (*_MIXING, State.VOUCHING, *_WAITING, State.MIXED)},
    **{(s, Event.TIME): IGNORED for s in (State.VOUCHING, *_WAITING, State.MIXED)},
    **{(s, Event.ANSWERS): IGNORED for s in (State.RELEASES, State.MIXED)},
    (State.MIXED, Event.LETTER): IGNORED,
}

TABLE: Final = Table("a group session", State.QUESTIONS, _ROWS, frozenset({State.MIXED, State.FAILED}))
