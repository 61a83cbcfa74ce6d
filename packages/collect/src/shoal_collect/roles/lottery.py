"""A member's part in a round until she knows her group.

She joins the roster, commits, reveals, and computes the groups herself. ``lottery_states`` holds the
transitions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import require_signature, signature, verify_key
from shoal_collect.faults import PeerError
from shoal_collect.mix.grouping import MOST_RESTARTS, Lottery, commitment, divide, read_lot, sign_lot
from shoal_collect.roles.admission import Entry, purpose_of, require_token, split_roster, stated_key
from shoal_collect.roles.lottery_states import TABLE, Action, Event, State
from shoal_collect.roles.requests import Call
from shoal_collect.roles.terms import Terms, read_terms
from shoal_collect.roles.wire import channel_name

# what each phase of a round means to a member who is on its roster
_PHASES: Final[Mapping[str, Event]] = {
    "joining": Event.JOINING,
    "committing": Event.COMMITTING,
    "revealing": Event.REVEALING,
    "grouped": Event.DRAWN,
    "failed": Event.ENDED,
    "over": Event.ENDED,
}


@dataclass(frozen=True)
class Drawn:
    """How a group came to be, so that a member can show it to the registrar.

    Attributes
    ----------
    round_name, seed
        The round, and the seed of its lottery.
    entries
        What the roster shows of each member: her signature of the terms, and her token.
    token_key
        The registrar's key of the period, as it states it.
    """

    round_name: bytes
    seed: bytes
    entries: tuple[bytes, ...]
    token_key: bytes


@dataclass(frozen=True)
class OwnGroup:
    """A member's group.

    Attributes
    ----------
    channel
        The name under which the members write to each other.
    identities
        The members in order.
    me
        Her own place among them.
    terms
        The terms of their round.
    n_roster, n_tokens
        How many people were on the roster that the groups were drawn from, and how many different tokens of
        the registrar stand behind it: 0 where there is no registrar.
    drawn
        How the group came to be.
    """

    channel: bytes
    identities: tuple[bytes, ...]
    me: int
    terms: Terms
    n_roster: int = 0
    n_tokens: int = 0
    drawn: Drawn | None = None


class NoGroup(Exception):  # noqa: N818  (no error: the lottery came out so)
    """There is no group for her this time; the message says why."""


@dataclass(frozen=True)
class View:
    """What the collector says of a round."""

    name: bytes
    phase: str
    restarts: int
    roster: Mapping[bytes, bytes]
    commits: Mapping[bytes, bytes]
    reveals: Mapping[bytes, bytes]
    terms: Terms
    token_key: bytes

    @classmethod
    def read(cls, said: Any) -> "View":
        """Read a collector's words; raise PeerError when they do not describe a round."""
        try:
            roster, commits, reveals = (
                {bytes.fromhex(k): bytes.fromhex(v) for k, v in said[part].items()}
                for part in ("roster", "commits", "reveals")
            )
            name, restarts = bytes.fromhex(said["round"]), int(said["restarts"])
            terms, token_key = read_terms(said["terms"]), bytes.fromhex(said["token_key"])
            return cls(name, str(said["phase"]), restarts, roster, commits, reveals, terms, token_key)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise PeerError("bad-frame", "words that do not describe a round") from error

    @property
    def lottery(self) -> Lottery:
        """The lottery over this roster, before anybody is heard."""
        return Lottery(self.name, tuple(sorted(self.roster)), self.restarts)


class LotteryPart:
    """One member in the lottery: views of the round go in, requests come out, until ``group`` is known.

    Parameters
    ----------
    entry
        What she enters with: a key that signs for her, and a token where the terms ask for one.
    collector_key
        The key of the collector, which tokens are good for.
    terms
        The terms that she accepted; she refuses a round on any others.
    chance
        Where her secrets come from.
    """

    def __init__(self, entry: Entry, collector_key: bytes, terms: Terms, chance: Chance) -> None:
        self._entry, self._seed, self._terms, self._chance = entry, entry.signing_seed, terms, chance
        self._collector_key = collector_key
        self._me = verify_key(entry.signing_seed)
        self._checked: dict[bytes, bytes] = {}  # who is on the roster, as she saw it before
        self._state = TABLE.start
        self._round = b""
        self._secret = b""
        self._commits: dict[bytes, bytes] = {}
        self._attempt = 0  # how often the lottery had started again when she last looked
        self._frozen: tuple[int, frozenset[bytes]] | None = None  # after how many restarts, and who was in it
        self._found: OwnGroup | None = None
        self.group: OwnGroup | None = None

    def look(self) -> Call:
        """Ask what has become of the round."""
        of = "" if self._state is State.LOOKING else f"/{self._round.hex()}"
        return Call("GET", f"/v1/rounds{of}", poll=True)

    def take_view(self, said: Any) -> list[Call]:
        """Go as far as the round has come.

        Parameters
        ----------
        said
            What the collector says of the round, as read from JSON.

        Returns
        -------
        list of Call
            What to send next.

        Raises
        ------
        PeerError
            If the collector cheats.
        NoGroup
            If there is no group for her.
        """
        view = View.read(said)
        if view.terms != self._terms:
            raise PeerError(
                "bad-answer",
                "the terms of this round differ from those you accepted; run the same command again to see "
                "them",
            )
        calls: list[Call] = []
        for event in self._events(view):
            judged = event is Event.DRAWN and self._state is State.REVEALED
            calls += self._step(self._judge_groups(view) if judged else event, view)
        return calls

    def _events(self, view: View) -> list[Event]:
        """What a view means to her; raises PeerError for one that no honest collector shows."""
        if self._state is State.LOOKING:
            return [Event.FOUND]
        if view.name != self._round:
            raise PeerError("bad-answer", "the collector answers with another round; send it nothing")
        self._require_roster(view)
        if view.phase not in _PHASES:
            raise PeerError("bad-frame", "a round in a phase that this protocol does not have")
        event = _PHASES[view.phase]
        if event in (Event.ENDED, Event.JOINING):
            return [event]
        if self._me not in view.roster:
            return [Event.LEFT_OUT]
        self._require_frozen_roster(view.restarts, frozenset(view.roster))
        return [Event.RESTARTED, event] if view.restarts > self._attempt else [event]

    def _require_roster(self, view: View) -> None:
        """All have joined on the same terms, and each with a token where the terms name a registrar."""
        registrar, key = view.terms.registrar, None
        new = {who: said for who, said in view.roster.items() if self._checked.get(who) != said}
        if registrar is not None and new:
            if view.token_key != self._entry.statement:
                raise PeerError(
                    "bad-answer",
                    "the registrar stated another key to you than to others, which could tell people apart, "
                    "or the collector says so; send it nothing",
                )
            purpose = purpose_of(self._collector_key, registrar)
            key = stated_key(bytes.fromhex(registrar.key), purpose, view.token_key)
        for identity, said in new.items():
            signed, token = split_roster(said, admitted=registrar is not None)
            require_signature(identity, b"join", view.terms.joined_by(view.name), signed)
            if key is not None:
                require_token(key, identity, token)
        self._checked = dict(view.roster)

    def _require_frozen_roster(self, restarts: int, roster: frozenset[bytes]) -> None:
        """A frozen roster only loses members, by a restart, and seldom: the collector hears secrets first."""
        if len(roster) < self._terms.enough:
            raise PeerError(
                "bad-answer",
                f"the collector draws groups from {len(roster)} people, the terms say at least "
                f"{self._terms.enough}; send it nothing",
            )
        before, there = self._frozen or (0, roster)
        stays = roster == there if restarts == before else roster < there
        if not (before <= restarts <= MOST_RESTARTS and (stays or self._frozen is None)):
            raise PeerError(
                "bad-answer",
                "the collector repeats the lottery, or changes its roster, more than the protocol allows",
            )
        self._frozen = restarts, roster

    def _step(self, event: Event, view: View) -> list[Call]:
        step = TABLE.step(self._state, event)
        if step is None or step.action is None:
            return []
        self._state = step.state
        return self._actions[step.action](view)

    @property
    def _actions(self) -> Mapping[Action, Callable[[View], list[Call]]]:
        return {
            Action.JOIN: self._join,
            Action.COMMIT: self._commit,
            Action.REVEAL: self._reveal,
            Action.ENTER_GROUP: self._enter_group,
            Action.END: self._end,
            Action.FORGET_ROUND: self._forget_round,
            Action.FORGET_ATTEMPT: self._forget_attempt,
            Action.GIVE_UP: self._give_up,
        }

    def _join(self, view: View) -> list[Call]:
        self._round = view.name
        signed = signature(self._seed, b"join", view.terms.joined_by(view.name))
        return [self._say("roster", signed + self._entry.token + self._entry.statement)]

    def _commit(self, view: View) -> list[Call]:
        self._secret = self._chance.seed()
        roster = view.lottery.roster
        own = commitment(roster, self._me, self._secret)
        return [self._say("commits", sign_lot(self._seed, b"commit", roster, own))]

    def _reveal(self, view: View) -> list[Call]:
        """Not before everybody has committed to this very roster; these commitments count from now on."""
        lottery = view.lottery
        for identity, said in view.commits.items():
            lottery.commit(identity, _lot(identity, b"commit", lottery.roster, said))
        own = commitment(lottery.roster, self._me, self._secret)
        if len(lottery.commits) != len(lottery.identities) or lottery.commits[self._me] != own:
            raise PeerError("bad-answer", "the collector asks for secrets before everybody has committed")
        self._commits = dict(lottery.commits)
        return [self._say("reveals", sign_lot(self._seed, b"reveal", lottery.roster, self._secret))]

    def _judge_groups(self, view: View) -> Event:
        """Compute the groups; raises PeerError when they do not follow from what everybody committed to."""
        lottery = view.lottery
        lottery.commits.update(self._commits)
        for identity, said in view.reveals.items():
            lottery.reveal(identity, _lot(identity, b"reveal", lottery.roster, said))
        if lottery.seed is None:
            raise PeerError("bad-answer", "groups before everybody has revealed")
        groups, _ = divide(lottery.seed, lottery.identities, self._terms.group_size)
        mine = next((group for group in groups if self._me in group), None)
        if mine is None:
            return Event.LEFT_OVER
        channel = channel_name(view.terms.joined_by(view.name), lottery.seed, mine)
        n = len(lottery.identities)  # every identity has a token of its own, and a token has one identity
        n_tokens = n if self._terms.registrar is not None else 0
        entries = tuple(view.roster[member] for member in mine)
        drawn = Drawn(view.name, lottery.seed, entries, view.token_key)
        self._found = OwnGroup(channel, mine, mine.index(self._me), self._terms, n, n_tokens, drawn)
        return Event.DRAWN

    def _enter_group(self, _: View) -> list[Call]:
        self.group = self._found
        return []

    def _end(self, _: View) -> list[Call]:
        raise NoGroup("the number of people left no group for you")

    def _forget_round(self, view: View) -> list[Call]:
        self._frozen, self._round = None, b""
        self._forget_attempt(view)
        self._attempt = 0
        return []

    def _forget_attempt(self, view: View) -> list[Call]:
        self._attempt, self._secret, self._commits = view.restarts, b"", {}
        return []

    def _give_up(self, _: View) -> list[Call]:
        raise NoGroup("too few people answered in time, or the collector changed its terms")

    def _say(self, what: str, body: bytes) -> Call:
        return Call("POST", f"/v1/rounds/{self._round.hex()}/{what}", body)


def _lot(identity: bytes, part: bytes, roster: bytes, said: bytes) -> bytes:
    """A member's commitment or secret; raises PeerError for one that she did not sign over this roster."""
    try:
        return read_lot(identity, part, roster, said)
    except PeerError as error:
        raise PeerError(
            "bad-answer",
            "the collector shows a lot that its member did not sign over the roster that you see: it shows "
            "two rosters, or invents lots; send it nothing",
        ) from error
