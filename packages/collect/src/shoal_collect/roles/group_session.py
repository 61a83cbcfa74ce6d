"""A member's session with the group: two mixes, and the questions between.

When silent members stop a mix, the others start a new run of it, while they are more than half of the group.
This is safe because the abandoned run stays closed: a member goes on only if she has given no inner key in
it. She erases that key before she sends anything else, and no record opens without it. The new run has fresh
keys, envelopes and masks of the same records, so no one who cannot open the first run can link the two. After
a member has given her inner key, somebody may open the run. The difference between two opened runs would be
the records of the people left out, so from then on silence ends the round.

A member is silent who gave no testimony after the stop. Each member judges that for herself: two who see
different people silent are in runs of different names, and end. A collector that holds letters back can make
honest members silent, but only less than half of the group.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.group import FFDHE3072
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.crypto.sealing import Correspondence
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import RECORD_BYTES, Query, decode_query, encode_query
from shoal_collect.mix.member import AbortedRun, Broadcast, Member, OpenedRecords, Output
from shoal_collect.mix.messages import MOST_RESTARTS, Session, least_left
from shoal_collect.roles import wire
from shoal_collect.roles.lottery import MemberGroup
from shoal_collect.roles.wire import Answer, Batch, Call
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


_STAGES: Final[Mapping[State, int]] = {
    State.QUESTIONS: 0,
    State.VOUCHING: 1,
    State.ASKING: 2,
    State.CHASING: 2,
    State.LIED_TO: 2,
    State.RELEASES: 3,
    State.MIXED: 4,
}
_RUNS: Final = MOST_RESTARTS + 1  # of each mix
_EMPTY_SEA_UDEG: Final = -140_000_000  # of longitude, on the equator
_LIE: Final = "collectors do not agree over the same state, so one of them lies; send nothing to any of them"


class GroupSession:
    """One member's session.

    Replies and the time go in, requests gather in ``outbox``. In the stage MIXED, ``records`` holds the
    group's releases. ``server_key`` checks answers; ``questions`` are encoded.
    """

    def __init__(
        self,
        group: MemberGroup,
        signing_seed: bytes,
        server_key: bytes,
        questions: list[bytes],
        chance: Chance,
        now_s: float,
    ) -> None:
        self.group, self._signing_seed, self._chance = group, signing_seed, chance
        witnesses = (bytes.fromhex(witness.key) for witness in group.terms.witnesses)
        self._keys = (server_key, *witnesses)  # whose answers must agree
        # what each collector answered so far to a slice that she brought
        self._answer_chains: dict[int, list[bytes]] = {}
        self.stage = TABLE.start
        self.outbox: list[Call] = []
        self.after = 0
        self.records: tuple[bytes, ...] = ()
        self.answers: dict[bytes, bytes] = {}
        self._letters = Correspondence(group.channel, group.identities, group.me, signing_seed)
        self._left = tuple(range(len(group.identities)))  # the places of those who have not fallen silent
        self._restarts = 0  # of this mix
        self._early: list[bytes] = []
        self._slices: tuple[bytes, ...] = ()  # the digest of each member's slice
        self._vouchers: dict[int, bytes] = {}  # who has signed them
        self._now_s, self._ask_until_s = now_s, 0.0
        self._mix = self._start(questions)

    @property
    def complete(self) -> bool:
        """Whether all questions are answered."""
        return self.stage in (State.ASKING, State.CHASING) and len(self.answers) == len(set(self.records))

    def release(self, pieces: list[bytes], now_s: float) -> None:
        """Begin the second mix."""
        self._now_s = now_s
        self._step(Event.RELEASE, pieces)

    def look(self) -> Call:
        """Ask for new letters."""
        return Call("GET", f"/v1/letters?after={self.after}", poll=True)

    def received(self, batch: bytes, now_s: float) -> None:
        """Process letters, perhaps none; PeerError when the run must end."""
        self._now_s = now_s
        self._step(Event.NEWS)
        for number, letter in wire.unpack(batch):
            self.after = max(self.after, number)
            try:
                text = self._letters.open(letter)
            except PeerError:
                # of another round, a copy, or damaged; the time limit handles a missing letter
                continue
            self._read(text)
        self._step(Event.TIME)
        if TABLE.reacts(self.stage, Event.LATE) and now_s > self._ask_until_s and not self.complete:
            self._step(Event.LATE)

    def answered(self, call: Call, answers: bytes) -> None:
        """Process answers to a slice that this member submitted.

        PeerError when they are invalid, or collectors contradict each other.
        """
        self._step(Event.ANSWERS, call, answers)

    def slice_of(self, number: int) -> list[bytes]:
        """The questions that a member submits; slices are disjoint."""
        left, n = self._left, len(self.records)
        return [record for at, record in enumerate(self.records) if left[at * len(left) // n] == number]

    # the run: each step reads the table

    def _step(self, event: Event, *what: Any) -> None:
        step = TABLE.step(self.stage, event)
        if step is not None:
            self.stage = step.state
            if step.action is not None:
                getattr(self, step.action)(*what)

    def _keep(self, text: bytes) -> None:
        self._early.append(text)

    def _read(self, text: bytes) -> None:
        if not text or text[0] > _STAGES[State.MIXED] * _RUNS:
            return
        if text[0] > self._tag:
            self._step(Event.EARLY, text)
        elif text[0] < self._tag:
            self._step(Event.STALE)
        else:
            self._step(Event.LETTER, text[1:])

    def _read_early(self) -> None:
        early, self._early = self._early, []
        for text in early:
            self._read(text)

    def _follow(self, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Broadcast):
                self._broadcast(output.frame)
            elif isinstance(output, AbortedRun):
                self._step(Event.SILENCE if self._may_mix_again(output) else Event.ABORTED, output)
            elif isinstance(output, OpenedRecords):
                self._step(Event.OPENED, output)

    def _start(self, records: Sequence[bytes]) -> Member:
        session = _mix_run(self.group, _STAGES[self.stage], self._restarts, self._left)
        seed, limit_s = Chance(self._chance.seed()), self.group.terms.phase_limit_s
        me = self._left.index(self.group.me)
        mix = Member(session, me, self._signing_seed, records, seed, limit_s)
        # nothing that is kept leads back to an inner key that has to be erased
        self._chance = Chance(self._chance.seed())
        self._follow(mix.start(self._now_s))
        return mix

    @property
    def _tag(self) -> int:
        """The first byte of a letter: what it belongs to."""
        return _STAGES[self.stage] * _RUNS + self._restarts

    def _broadcast(self, text: bytes) -> None:
        tag = bytes((self._tag,))
        others = (place for place in self._left if place != self.group.me)
        letters = [self._letters.seal(receiver, tag + text) for receiver in others]
        self.outbox += [Call("POST", "/v1/letters", body) for body in wire.bundles(letters)]

    # the mixes

    def _pass_to_mix(self, frame: bytes) -> None:
        self._follow(self._mix.receive(frame, self._now_s))

    def _tick(self) -> None:
        self._follow(self._mix.tick(self._now_s))

    def _may_mix_again(self, aborted: AbortedRun) -> bool:
        n_left = len(self._left) - len(aborted.findings.silent)
        is_enough = n_left >= least_left(len(self.group.identities))
        no_cheat = aborted.is_closed and not aborted.findings.culprits
        return no_cheat and is_enough and self._restarts < MOST_RESTARTS

    def _mix_again(self, aborted: AbortedRun) -> None:
        silent = aborted.findings.silent
        self._left = tuple(place for i, place in enumerate(self._left) if i not in silent)
        self._restarts += 1
        self._mix = self._start(self._mix.records)
        self._read_early()

    def _mix_releases(self, pieces: list[bytes]) -> None:
        self._mix = self._start(pieces)
        self._read_early()

    def _take_records(self, opened: OpenedRecords) -> None:
        self.records = opened.records

    def _abort(self, aborted: AbortedRun) -> None:
        blame = aborted.findings.at_places(self._left)
        raise PeerError(
            "too-late" if blame.silent and not blame.culprits else "bad-answer",
            f"the group stopped its run: {blame}",
        )

    # questions and answers

    def _vouch(self, opened: OpenedRecords) -> None:
        """Nothing but the set that the mix opened."""
        asked = dict.fromkeys(record for record in opened.records if _is_query(record))
        self.records = (*asked, *self._empty_questions(len(opened.records) + opened.spoiled - len(asked)))
        self._restarts = 0
        members = range(len(self.group.identities))
        self._slices = tuple(wire.body_digest(b"".join(self.slice_of(number))) for number in members)
        self._ask_until_s = self._now_s + self.group.terms.phase_limit_s
        signed = wire.vouch(self._signing_seed, self.group.channel, self._slices)
        self._vouchers[self.group.me] = signed
        self._broadcast(bytes((self.group.me,)) + signed)
        self._read_early()

    def _take_voucher(self, text: bytes) -> None:
        """Ignores anything but another member's signature of the same questions."""
        place = text[0] if text else len(self.group.identities)
        if place >= len(self.group.identities):
            return
        try:
            wire.require_voucher(self.group.identities[place], self.group.channel, self._slices, text[1:])
        except PeerError:
            return
        self._vouchers[place] = text[1:]
        if len(self._vouchers) >= wire.enough_vouchers(len(self.group.identities)):
            self._step(Event.VOUCHED)

    def _begin_asking(self) -> None:
        self._ask_until_s = self._now_s + self.group.terms.phase_limit_s
        self._ask(self.group.me)
        self._read_early()

    def _empty_questions(self, n: int) -> list[bytes]:
        """The number is fixed."""
        terms = self.group.terms
        points = tuple(
            Cylinder(at * terms.least_gap_min, terms.least_gap_min, 0, _EMPTY_SEA_UDEG, terms.least_radius_m)
            for at in (0, 2)
        )
        names = (hash_of(b"", self.group.channel, at.to_bytes(2), size=16) for at in range(n))
        return [encode_query(Query(name, points)) for name in names]

    def _ask(self, number: int) -> None:
        batch = self._batch(number)
        self.outbox.append(Call("POST", f"/v1/groups/{self.group.channel.hex()}/questions", batch))

    def _batch(self, number: int) -> bytes:
        return Batch(b"".join(self.slice_of(number)), self._slices, self._vouchers).encode()

    def _slice_number(self, batch: bytes) -> int:
        members = range(len(self.group.identities))
        return next(number for number in members if self._batch(number) == batch)

    def _take_answers(self, call: Call, answers: bytes) -> None:
        number = self._slice_number(call.body)
        chain = self._answer_chains.setdefault(number, [])
        if call.to != _addressee(len(chain)):
            return  # a slice that was brought twice; one chain of answers is enough
        chain.append(answers)
        checked = self._check_answers(number, chain)
        if len(chain) < len(self._keys):
            target = f"{call.target.split('?')[0]}?snapshot={checked[0][0].snapshot}"
            self.outbox.append(Call("POST", target, call.body, to=_addressee(len(chain))))
            return
        self._broadcast(bytes((number,)) + b"".join(chain))
        try:
            self._accept_answers(number, chain)
        except PeerError:
            self._step(Event.CONTRADICTION)  # the run ends when the proof is sent

    def _read_answers(self, text: bytes) -> None:
        """Bad ones are ignored."""
        number, answers = text[:1], text[1:]
        if answers:
            size = max(1, -(-len(answers) // len(self._keys)))
            chain = [answers[at : at + size] for at in range(0, len(answers), size)]
            try:
                self._check_answers(number[0], chain)
            except PeerError:
                return
            self._accept_answers(number[0], chain)

    def _check_answers(self, number: int, chain: list[bytes]) -> list[list[Answer]]:
        """All must be from one state."""
        records, read = self.slice_of(number), list[list[Answer]]()
        for key, answers in zip(self._keys, chain, strict=False):
            if not len(answers) == len(records) * wire.ANSWER_BYTES > 0:
                raise PeerError("bad-length", f"{len(answers)} bytes of answers to {len(records)} questions")
            parts = zip(records, _parts(answers), strict=True)
            read.append([wire.read_answer(key, record, part) for record, part in parts])
        if len({answer.snapshot for answers in read for answer in answers}) > 1:
            raise PeerError("bad-answer", "answers from the states of several days")
        return [list(answer) for answer in zip(*read, strict=True)]

    def _accept_answers(self, number: int, chain: list[bytes]) -> None:
        """All collectors must answer equally."""
        if any(
            len(read) != len(self._keys) or len(set(read)) > 1 for read in self._check_answers(number, chain)
        ):
            raise PeerError("bad-answer", _LIE)
        self.answers.update(zip(self.slice_of(number), _parts(chain[0]), strict=True))

    def _cover_missing(self) -> None:
        """Each member stands in for the one before her."""
        self._ask_until_s = self._now_s + self.group.terms.phase_limit_s
        number = self._left[self._left.index(self.group.me) - 1]
        if not set(self.slice_of(number)) <= set(self.answers):
            self._ask(number)

    def _give_up(self) -> None:
        raise PeerError(
            "too-late",
            "vouchers for the group's questions, or answers, did not come in time; nothing was released",
        )

    def _report(self) -> None:
        raise PeerError("bad-answer", _LIE)


def _mix_run(group: MemberGroup, stage: int, restarts: int, left: tuple[int, ...]) -> Session:
    """A run of the mix for the group's questions or its releases."""
    again = bytes((restarts, *left)) if restarts else b""
    name = hash_of(b"shoal mix", group.channel, bytes((stage,)), again)
    terms, identities = group.terms, tuple(group.identities[place] for place in left)
    n_records = terms.n_questions if stage == _STAGES[State.QUESTIONS] else terms.release_records
    return Session(name, identities, n_records, RECORD_BYTES, FFDHE3072, terms.proven_shuffle)


def _addressee(place: int) -> str:
    """The first, and its witnesses."""
    return f"witness {place}" if place else "collector"


def _parts(answers: bytes) -> list[bytes]:
    return [answers[at : at + wire.ANSWER_BYTES] for at in range(0, len(answers), wire.ANSWER_BYTES)]


def _is_query(record: bytes) -> bool:
    try:
        decode_query(record)
    except PeerError:
        return False
    return True
