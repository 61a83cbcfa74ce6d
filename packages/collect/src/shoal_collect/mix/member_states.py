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

_ROWS: dict[tuple[State, Event], Step[State] | Refusal | Ignored] = {
    (State.NEW, Event.START): Step("_commit_keys", State.KEY_COMMITS),
    (State.KEY_COMMITS, Event.SOUND): Step("_show_keys", State.KEYS),
    (State.KEYS, Event.SOUND): Step("_commit_input", State.INPUT_COMMITS),
    (State.KEYS, Event.FAULTY): Step("_stop", State.CONFESSIONS),
    (State.INPUT_COMMITS, Event.SOUND): Step("_show_input", State.INPUTS),
    (State.INPUTS, Event.SOUND): Step("_mix", State.HOPS),
    (State.INPUTS, Event.FAULTY): Step("_stop", State.CONFESSIONS),
    (State.HOPS, Event.SOUND): Step("_mix", State.HOPS),
    (State.HOPS, Event.LAST): Step("_vote", State.VOTES),
    (State.HOPS, Event.FAULTY): Step("_stop", State.CONFESSIONS),
    (State.VOTES, Event.SOUND): Step("_open", State.OPENINGS),
    (State.VOTES, Event.FAULTY): Step("_confess", State.CONFESSIONS),
    (State.OPENINGS, Event.SOUND): Step("_finish", State.OPENED),
    (State.OPENINGS, Event.FAULTY): Step("_name", State.ABORTED),
    (State.OPENINGS, Event.DISSENT): Step("_abort_after_audit", State.ABORTED),
    (State.OPENINGS, Event.LATE): Step("_abort_after_audit", State.ABORTED),
    (State.CONFESSIONS, Event.SOUND): Step("_abort_after_audit", State.ABORTED),
    (State.CONFESSIONS, Event.LATE): Step("_abort_after_audit", State.ABORTED),
    # once the vote is over, the audit judges conflicts and confessions
    **{(s, e): IGNORED for s in (State.OPENINGS, State.CONFESSIONS) for e in (Event.CONFLICT, Event.STOPPED)},
    **{(s, Event.CONFLICT): Step("_stop", State.CONFESSIONS) for s in _STOPPABLE},
    **{(s, Event.STOPPED): Step("_confess", State.CONFESSIONS) for s in _STOPPABLE},
    **{(s, Event.LATE): Step("_stop", State.CONFESSIONS) for s in _STOPPABLE},
    # a message alone changes nothing: what it completes or contradicts does
    **{(s, Event.MESSAGE): IGNORED for s in State if s not in _FINAL},
    **{(s, Event.MESSAGE): _OVER for s in _FINAL},
    **{(s, Event.LATE): IGNORED for s in _FINAL},
}

TABLE: Final = Table("a member of a mix run", State.NEW, _ROWS, frozenset(_FINAL))
