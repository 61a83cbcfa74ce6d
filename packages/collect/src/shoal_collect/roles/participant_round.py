"""A device's way through one round: replies and the time in, requests out.

The state can be saved, and any request repeated: servers treat a copy as the same request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal

from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import require_signature
from shoal_collect.faults import PeerError, refusing
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import decode_releases, encode_release
from shoal_collect.matching.subtrajectories import Places, PublicPlaces, trim
from shoal_collect.roles.admission import Entry, require_one_key, sign_release
from shoal_collect.roles.authority import Receipt, claim
from shoal_collect.roles.days import StoredRelease
from shoal_collect.roles.group_session import GroupSession
from shoal_collect.roles.group_session import State as SessionState
from shoal_collect.roles.lottery import LotteryPart, MemberGroup, NoGroup
from shoal_collect.roles.participant import (
    Draft,
    Participant,
    Questions,
    choose_questions,
    count_others,
    draft_release,
)
from shoal_collect.roles.terms import OtherCollector, Terms
from shoal_collect.roles.wire import DAY_S, SKEW_S, Call, Reply, read_answer, read_json, snapshot_day
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


_IN_GROUP: Final = (State.QUESTIONS, State.ASKING, State.RELEASES)
_AFTER_QUESTIONS: Final = (State.ASKING, State.RELEASES)
_FINAL: Final = (State.SHARED, State.NOTHING_LEFT, State.NO_GROUP, State.FAILED)
_ACTIVE: Final = tuple(state for state in State if state not in _FINAL)
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


_STORE_LIMITS: Final = 2  # phases that the others have to bring the same releases
# refusals in the lottery: the roster was frozen, or the phase was over, and the next view says what became of
# us
_PASSED: Final = ("too-late", "bad-frame", "unknown-member")

Kind = Literal["shared", "nothing-left", "alone", "failed", "declined", "left"]
_KINDS: Final[Mapping[State, Kind]] = {
    State.SHARED: "shared",
    State.NOTHING_LEFT: "nothing-left",
    State.NO_GROUP: "alone",
    State.FAILED: "failed",
}
# how far a session must be before the next state begins
_OPENED: Final[Mapping[State, tuple[SessionState, ...]]] = {
    State.QUESTIONS: (SessionState.ASKING, SessionState.CHASING, SessionState.LIED_TO),
    State.RELEASES: (SessionState.MIXED,),
}


@dataclass
class Device:
    """The state between rounds.

    ``user``: the name at the authority. ``signing_seed``, ``device_key``: 32 secret bytes each. Servers'
    keys: as first seen. ``sent``: earlier releases with days since 1970. ``owned``: secrets to fetch and
    withdraw.
    """

    user: str
    signing_seed: bytes
    device_key: bytes
    server_key: bytes
    authority_key: bytes
    authority_signing_key: bytes
    witnesses: tuple[OtherCollector, ...] = ()
    sent: list[tuple[tuple[Cylinder, ...], int]] = field(default_factory=list)
    registrar_key: bytes | None = None
    owned: list[StoredRelease] = field(default_factory=list)


@dataclass(frozen=True)
class Ending:
    """The end of a round.

    ``kind``: "shared", "nothing-left" (all was rare), "alone" (no group) or "failed"; without a complete
    round "declined" or "left". ``checked``: others for each sub-trajectory, by places. ``snapshot_day``:
    before which all was counted. ``places_kept``, ``released``: the places, and their cylinders once
    stored. ``identifier``: at the authority.
    """

    kind: Kind
    message: str
    checked: Mapping[Places, int] = field(default_factory=dict)
    snapshot_day: int | None = None
    places_kept: Places = ()
    released: tuple[Cylinder, ...] = ()
    identifier: str | None = None
    k: int = 0


class ParticipantRound:
    """One person in one round: send ``next_call``, pass its reply to ``replied``, until ``ending``.

    ``prior``: of fakes; ``entry``: by default the device's key, without a token. ``credentials``: by area,
    where the terms name a registrar.
    """

    def __init__(
        self,
        device: Device,
        member: Participant,
        points: tuple[Cylinder, ...],
        terms: Terms,
        prior: PublicPlaces,
        chance: Chance,
        entry: Entry | None = None,
        credentials: Mapping[str, Entry] | None = None,
    ) -> None:
        self.credentials = dict(credentials or {})
        self.device, self.member, self.points, self.terms = device, member, points, terms
        self.entry = entry or Entry(device.signing_seed)
        self._prior, self._chance = prior, chance
        self.ending: Ending | None = None
        self._state = TABLE.start
        self._now_s = self._waited_s = 0.0
        self._outbox: list[Call] = []
        self._lottery = LotteryPart(self.entry, device.server_key, terms, Chance(chance.seed()))
        self._session: GroupSession | None = None
        self._questions: Questions | None = None
        self._phi: dict[Places, int] = {}
        self._snapshot: int | None = None
        self._n_unanswered = 0
        self._places_kept: Places = ()
        self._draft: Draft | None = None
        self._store_until_s = 0.0
        self._identifier: str | None = None

    @property
    def phase(self) -> str:
        """Lottery, questions, asking, releases, storing, claiming, or over."""
        return "over" if self._state in TABLE.final else str(self._state)

    @property
    def group(self) -> MemberGroup | None:
        """Once drawn."""
        return self._lottery.group

    @property
    def waiting_calls(self) -> list[Call]:
        """The unsent requests."""
        return self._outbox if self._session is None else self._session.outbox

    def next_call(self) -> Call:
        """The first request waiting, or a poll."""
        if self.waiting_calls:
            return self.waiting_calls[0]
        if self._session is None:
            return self._lottery.look()
        if self._state is State.STORING:
            target = f"/v1/groups/{self._session.group.channel.hex()}/releases"
            return Call("POST", target, b"".join(self._session.records), poll=True)
        return self._session.look()

    def replied(self, call: Call, reply: Reply, now_s: float) -> bool:
        """Process a checked reply; whether to save the state first."""
        self._advance_time(now_s)
        if self.waiting_calls and call == self.waiting_calls[0]:
            self.waiting_calls.pop(0)
        before = self._progress()
        try:
            self._step(*self._event_of(call, reply))
            while (event := self._due_event()) is not None:
                self._step(event)
        except NoGroup as no_group:
            self._step(Event.NO_GROUP, f"{no_group}; try again later")
        except PeerError as error:
            self._step(Event.FAULT, str(error))
        return before != self._progress()

    def _advance_time(self, now_s: float) -> None:
        """Of a pause between two replies half a phase counts at most.

        So one pause makes nobody late: the collector was away, this device slept, or its clock was set.
        """
        self._waited_s += min(max(now_s - self._now_s, 0.0), self.terms.phase_limit_s / 2)
        self._now_s = now_s

    def _progress(self) -> tuple[Any, ...]:
        session = self._session
        heard = None if session is None else (session.after, len(session.answers))
        return self._state, len(self.waiting_calls), heard

    # the meaning of replies

    def _event_of(self, call: Call, reply: Reply) -> tuple[Any, ...]:
        """With its action's arguments; PeerError for a reply that breaks the protocol."""
        if reply.refusal is not None:
            return self._refusal(call, *reply.refusal)
        if self._session is None:
            return Event.VIEW, read_json(reply.body)
        if call.to == "authority":
            return self._read_confirmation(reply.body)
        if call.target.endswith("/releases"):
            return self._read_storing(read_json(reply.body))
        if "/questions" in call.target:
            return Event.ANSWERS, call, reply.body
        return (Event.LETTERS, reply.body) if call.poll else (Event.SENT,)

    def _refusal(self, call: Call, kind: str, message: str) -> tuple[Any, ...]:
        if self._session is None and kind in _PASSED:
            return (Event.PASSED,)
        return Event.REFUSED, f"the {call.to} refused: {message}"

    def _read_storing(self, document: Any) -> tuple[Any, ...]:
        """PeerError when the member's release is missing."""
        if not isinstance(document, dict):
            raise PeerError("bad-frame", "words that say nothing of releases")
        if not document.get("stored"):
            late = "too-late: too few of the group brought its releases; the collector has not stored them"
            return (Event.LATE, late) if self._waited_s > self._store_until_s else (Event.WAITING,)
        if self._draft is None:
            return Event.EMPTY, "nothing was shared: every part of it was too rare"
        return self._read_receipt(document, self._draft)

    def _read_receipt(self, document: Any, draft: Draft) -> tuple[Any, ...]:
        release = draft.release
        with refusing("bad-answer", "the collector gives no receipt for a release; ask its operator"):
            entry = document["receipts"][release.name.hex()]
            receipt = Receipt(
                str(entry["identifier"]), bytes.fromhex(entry["claim_key"]), bytes.fromhex(entry["signed"])
            )
        text = receipt.identifier.encode() + release.claim_key
        require_signature(self.device.server_key, b"receipt", text, receipt.signed)
        return Event.RECEIPT, receipt, draft

    def _read_confirmation(self, body: bytes) -> tuple[Any, ...]:
        document = read_json(body)
        with refusing("bad-answer", "the authority does not confirm the claim"):
            proof = bytes.fromhex(document["proof"])
        text = f"{self._identifier} {self.device.user}".encode()
        require_signature(self.device.authority_signing_key, b"claimed", text, proof)
        return Event.CONFIRMED, "shared, and claimed at the authority"

    def _due_event(self) -> Event | None:
        session = self._session
        if session is None:
            return Event.GROUPED if self._lottery.group is not None else None
        if session.stage in _OPENED.get(self._state, ()):
            return Event.OPENED
        return Event.ANSWERED if self._state is State.ASKING and session.complete else None

    # the run: each step reads the table

    def _step(self, event: Event, *what: Any) -> None:
        step = TABLE.step(self._state, event)
        if step is not None:
            self._state = step.state
            if step.action is not None:
                getattr(self, step.action)(*what)

    @property
    def _active_session(self) -> GroupSession:
        if self._session is None:
            raise AssertionError("a session begins with the group")
        return self._session

    def _pass_view_to_lottery(self, view: Any) -> None:
        self._outbox += self._lottery.take_view(view)

    def _enter(self) -> None:
        group = self._lottery.group
        if group is None:
            raise AssertionError("the lottery has found a group")
        self._session = self._begin(group)
        self._chance = Chance(self._chance.seed())  # as in the session: no way back to its keys

    def _begin(self, group: MemberGroup) -> GroupSession:
        group.terms.require_room(len(self.points))
        self._questions = choose_questions(self.member, self.points, self._prior, group.terms, self._chance)
        return GroupSession(
            group,
            self.entry.signing_seed,
            self.device.server_key,
            list(self._questions.records),
            Chance(self._chance.seed()),
            self._waited_s,
        )

    def _read(self, batch: bytes) -> None:
        self._active_session.received(batch, self._waited_s)

    def _take_answers(self, call: Call, answers: bytes) -> None:
        self._active_session.answered(call, answers)

    def _trim(self) -> None:
        """Steps 7 and 8."""
        session, member, terms = self._active_session, self.member, self.terms
        if self._questions is None:
            raise AssertionError("the answers are to questions")
        answers = {
            record: read_answer(self.device.server_key, record, answer)
            for record, answer in session.answers.items()
        }
        self._phi = count_others(member, self._questions, answers, terms.thresholds)
        self._n_unanswered = sum(
            answer.people is None and record[4:20] in self._questions.places
            for record, answer in answers.items()
        )
        self._snapshot = self._require_one_day(
            {answers[record].snapshot for record in self._questions.records}
        )
        self._places_kept = trim(len(self.points), self._phi, member.k, member.trimming)
        self._draft = draft_release(member, self.points, self._places_kept, self._chance, terms.scoping)
        if self._draft is not None and self.terms.registrar is not None:
            self._draft = self._proven(self._draft)
        release = None if self._draft is None else self._draft.release
        if release is not None:
            # it may be stored from now on without a reply: her own count must not exceed the truth
            self.device.sent.append((release.points, int((self._now_s - SKEW_S) // DAY_S)))
        session.release(encode_release(release, self.terms.release_records, self._chance), self._waited_s)

    def _proven(self, draft: Draft) -> Draft:
        credential = self.credentials.get(self.terms.scoping.area_of(draft.release.points[0]))
        if credential is None:
            raise PeerError(
                "not-entitled", "this device has no credential of the area where the release begins"
            )
        channel = self._active_session.group.channel
        return replace(draft, release=sign_release(draft.release, credential, channel))

    def _require_one_day(self, days: set[int]) -> int:
        """PeerError when too old, or in the future."""
        oldest, newest = (
            snapshot_day(self._now_s + since_s) for since_s in (-self.terms.lifetime_s - SKEW_S, SKEW_S)
        )
        if not oldest <= min(days) <= max(days) <= newest:
            raise PeerError(
                "bad-answer", "the collector answers from the state of another day; send it nothing"
            )
        return min(days)

    def _store(self) -> None:
        releases, _ = decode_releases(self._active_session.records)
        require_one_key(releases, self.terms.scoping, self.credentials)
        self._store_until_s = self._waited_s + _STORE_LIMITS * self.terms.phase_limit_s

    def _claim(self, receipt: Receipt, draft: Draft) -> None:
        self._identifier = receipt.identifier
        day = int(self._now_s // DAY_S)
        self.device.owned.append(StoredRelease(receipt.identifier, draft.claim_seed, day))
        sealed = claim(receipt, self.device.user, draft.claim_seed, self.device.authority_key, self._chance)
        self._active_session.outbox.append(Call("POST", "/v1/claims", sealed, to="authority"))

    def _end(self, message: str) -> None:
        if self._n_unanswered and self.member.k:
            message += (
                f"; the collector did not answer {self._n_unanswered} of {len(self._phi)} questions about "
                "this trip, and these parts were left out"
            )
        stored = self._identifier is not None
        released = self._draft.release.points if self._draft is not None and stored else ()
        if self._state is State.FAILED and self._draft is not None and not stored:
            message += "; what you released may be stored all the same, without your claim to it"
        elif self._state is State.FAILED and self._identifier is not None:
            message += (
                "; what you released is stored all the same, without your claim to it: 'shoal collect mine' "
                "shows it, and deletes it"
            )
        self.ending = Ending(
            _KINDS[self._state],
            message,
            self._phi,
            self._snapshot,
            self._places_kept,
            released,
            self._identifier,
            k=self.member.k,
        )
