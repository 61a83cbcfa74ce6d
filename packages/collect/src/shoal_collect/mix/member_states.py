"""The transitions of a member of a mix run: (state, event) -> (action, next state).

Most states are named after the messages that the member waits for.
"""

from enum import StrEnum
from typing import Final

from shoal_collect.mix.session import Kind
from shoal_collect.transitions import IGNORED, Ignored, Refusal, Step, Table


class State(StrEnum):
    """The state of a member in the run."""

    NEW = "new"
    KEY_COMMITS = "key commitments"
    KEYS = "keys"
    INPUT_COMMITS = "input commitments"
    INPUTS = "inputs"
    HOPS = "hops"
    VOTES = "votes"
    OPENINGS = "openings"
    CONFESSIONS = "confessions"
    OPENED = "opened"
    ABORTED = "aborted"


class Event(StrEnum):
    """An event for a member."""

    START = "start"
    MESSAGE = "message"  # a signed message of this session has come
    SOUND = "sound"  # all that she waits for is there, and holds
    LAST = "last hop"  # so is the last mixer's hop
    FAULTY = "faulty"  # all that she waits for is there, and some of it does not hold
    DISSENT = "dissent"  # a member confessed instead of opening, or voted on different transcripts
    CONFLICT = "conflict"  # a member signed two messages for one slot
    STOPPED = "stopped"  # another member voted NO-GO or confesses
    LATE = "late"  # the time for this state is over


class Action(StrEnum):
    """The member's reaction."""

    COMMIT_KEYS = "commit to keys"
    SHOW_KEYS = "show keys"
    COMMIT_INPUT = "commit to input"
    SHOW_INPUT = "show input"
    MIX = "mix when it is her turn"
    VOTE = "vote"
    OPEN = "give the inner key"
    STOP = "vote NO-GO and confess"
    CONFESS = "confess"
    FINISH = "open the records"
    AUDIT = "audit the messages"
    NAME = "name who gave a wrong inner key"


_STOPPABLE: Final = (
    State.KEY_COMMITS,
    State.KEYS,
    State.INPUT_COMMITS,
    State.INPUTS,
    State.HOPS,
    State.VOTES,
)
_FINAL: Final = (State.OPENED, State.ABORTED)
_OVER: Final = Refusal("too-late", "a message for a run that is over")

# the kinds of message of which every member must have sent one
AWAITED: Final = {
    State.KEY_COMMITS: (Kind.KEY_COMMIT,),
    State.KEYS: (Kind.KEY,),
    State.INPUT_COMMITS: (Kind.INPUT_COMMIT,),
    State.INPUTS: (Kind.INPUT,),
    State.VOTES: (Kind.VOTE,),
    State.OPENINGS: (Kind.OPEN, Kind.BLAME),
    State.CONFESSIONS: (Kind.OPEN, Kind.BLAME),
}

_ROWS: dict[tuple[State, Event], Step[State, Action] | Refusal | Ignored] = {
    (State.NEW, Event.START): Step(Action.COMMIT_KEYS, State.KEY_COMMITS),
    (State.KEY_COMMITS, Event.SOUND): Step(Action.SHOW_KEYS, State.KEYS),
    (State.KEYS, Event.SOUND): Step(Action.COMMIT_INPUT, State.INPUT_COMMITS),
    (State.KEYS, Event.FAULTY): Step(Action.STOP, State.CONFESSIONS),
    (State.INPUT_COMMITS, Event.SOUND): Step(Action.SHOW_INPUT, State.INPUTS),
    (State.INPUTS, Event.SOUND): Step(Action.MIX, State.HOPS),
    (State.INPUTS, Event.FAULTY): Step(Action.STOP, State.CONFESSIONS),
    (State.HOPS, Event.SOUND): Step(Action.MIX, State.HOPS),
    (State.HOPS, Event.LAST): Step(Action.VOTE, State.VOTES),
    (State.HOPS, Event.FAULTY): Step(Action.STOP, State.CONFESSIONS),
    (State.VOTES, Event.SOUND): Step(Action.OPEN, State.OPENINGS),
    (State.VOTES, Event.FAULTY): Step(Action.CONFESS, State.CONFESSIONS),
    (State.OPENINGS, Event.SOUND): Step(Action.FINISH, State.OPENED),
    (State.OPENINGS, Event.FAULTY): Step(Action.NAME, State.ABORTED),
    (State.OPENINGS, Event.DISSENT): Step(Action.AUDIT, State.ABORTED),
    (State.OPENINGS, Event.LATE): Step(Action.AUDIT, State.ABORTED),
    (State.CONFESSIONS, Event.SOUND): Step(Action.AUDIT, State.ABORTED),
    (State.CONFESSIONS, Event.LATE): Step(Action.AUDIT, State.ABORTED),
    # once the vote is over, the audit judges conflicts and confessions
    **{(s, e): IGNORED for s in (State.OPENINGS, State.CONFESSIONS) for e in (Event.CONFLICT, Event.STOPPED)},
    **{(s, Event.CONFLICT): Step(Action.STOP, State.CONFESSIONS) for s in _STOPPABLE},
    **{(s, Event.STOPPED): Step(Action.CONFESS, State.CONFESSIONS) for s in _STOPPABLE},
    **{(s, Event.LATE): Step(Action.STOP, State.CONFESSIONS) for s in _STOPPABLE},
    # a message alone changes nothing: what it completes or contradicts does
    **{(s, Event.MESSAGE): IGNORED for s in State if s not in _FINAL},
    **{(s, Event.MESSAGE): _OVER for s in _FINAL},
    **{(s, Event.LATE): IGNORED for s in _FINAL},
}

TABLE: Final = Table("a member of a mix run", State.NEW, _ROWS, frozenset(_FINAL))
