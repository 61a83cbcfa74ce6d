"""A member's letters with her group.

Two mix runs over sealed letters, and the answers to everybody's questions between them.
"""

import hashlib
from typing import Final, Literal

from shoal.collect.crypto.chance import Chance
from shoal.collect.crypto.sealing import Correspondence
from shoal.collect.faults import PeerError
from shoal.collect.matching.records import RECORD_BYTES, decode_query
from shoal.collect.mix.member import Aborted, Broadcast, Event, Member, Opened
from shoal.collect.mix.messages import Session
from shoal.collect.roles.collector import ANSWER_BYTES, Answer, check_answer
from shoal.collect.roles.lottery import Crowd
from shoal.collect.roles.wire import Call, bundles, unpack

Stage = Literal["questions", "asking", "releases", "mixed"]
_STAGES: Final[tuple[Stage, ...]] = (
    "questions",
    "asking",
    "releases",
    "mixed",
)  # the first byte of a letter is its stage's place
_LIE: Final = (
    "collectors that do not agree over the same state, so that one of them lies; send nothing to any of them"
)


class Circle:
    """``outbox`` holds what is to be sent.

    stage: the questions are mixed; asked; the releases are mixed; ``records`` holds them.
    """

    def __init__(
        self,
        crowd: Crowd,
        signing_seed: bytes,
        server_key: bytes,
        questions: list[bytes],
        chance: Chance,
        now_s: float,
    ) -> None:
        self.crowd, self._signing_seed, self._chance = crowd, signing_seed, chance
        self._keys = (
            server_key,
            *(bytes.fromhex(one.key) for one in crowd.terms.witnesses),
        )  # whose answers must agree
        self._said: dict[
            int, list[bytes]
        ] = {}  # slices that are being asked, and what each collector answered so far
        self.stage: Stage = "questions"
        self.outbox: list[Call] = []
        self.after = 0
        self.records: tuple[bytes, ...] = ()
        self.answers: dict[bytes, bytes] = {}
        self._letters = Correspondence(crowd.channel, crowd.identities, crowd.me, signing_seed)
        self._early: list[bytes] = []
        self._ask_until_s = 0.0
        self._stood_in = self._lied_to = False
        self._mix = self._start(questions, now_s)

    @property
    def complete(self) -> bool:
        """Whether all questions are answered."""
        return self.stage == "asking" and len(self.answers) == len(set(self.records))

    def release(self, pieces: list[bytes], now_s: float) -> None:
        """After the answers: the second mix."""
        self.stage = "releases"
        self._mix = self._start(pieces, now_s)
        self._read_early(now_s)

    def look(self) -> Call:
        """Ask for new letters; those before are on this device."""
        return Call("GET", f"/v1/letters?after={self.after}", poll=True)

    def received(self, mailbag: bytes, now_s: float) -> None:
        """Letters, perhaps none. Raises PeerError when the run has to end."""
        if self._lied_to:
            raise PeerError("bad-answer", _LIE)
        for number, letter in unpack(mailbag):
            self.after = max(self.after, number)
            try:
                text = self._letters.open(letter).text
            except PeerError:
                # of another round, a copy, or damaged; whoever keeps us waiting is found by the time limit
                continue
            self._read(text, now_s)
        if self.stage in ("questions", "releases"):
            self._follow(self._mix.tick(now_s), now_s)
        elif self.stage == "asking" and now_s > self._ask_until_s and not self.complete:
            self._chase(now_s)

    def answered(self, call: Call, answers: bytes) -> None:
        """A collector's reply to a slice that we brought.

        Raises PeerError when it does not hold, or contradicts the others'.
        """
        if self.stage != "asking":
            return  # another member has stood in, and all is answered
        number = self._number_of(call.body)
        said = self._said.setdefault(number, [])
        if call.to != _to(len(said)):
            return  # a slice that was brought twice; one chain of answers is enough
        said.append(answers)
        read = self._checked(number, said)
        if len(said) < len(self._keys):
            target = f"{call.target.split('?')[0]}?snapshot={read[0][0].snapshot}"
            self.outbox.append(Call("POST", target, call.body, to=_to(len(said))))
            return
        self._tell_all(bytes((number,)) + b"".join(said))
        try:
            self._learn(number, said)
        except PeerError:
            self._lied_to = True  # the run ends when the proof is sent

    def refused(self, questions: bytes) -> None:
        """The collector takes no more questions of ours today.

        The next member is asked to bring the slice.
        """
        if self.stage == "asking":
            self._tell_all(bytes((self._number_of(questions),)))

    def slice_of(self, number: int) -> list[bytes]:
        """The questions that a member brings to the collector; disjoint, in canonical order."""
        n = len(self.crowd.identities)
        return [
            record for place, record in enumerate(self.records) if place * n // len(self.records) == number
        ]

    def _number_of(self, questions: bytes) -> int:
        return next(
            number
            for number in range(len(self.crowd.identities))
            if b"".join(self.slice_of(number)) == questions
        )

    def _start(self, records: list[bytes], now_s: float) -> Member:
        tag = bytes((_STAGES.index(self.stage),))
        name = hashlib.blake2b(self.crowd.channel + tag, digest_size=32, person=b"shoal mix").digest()
        rules = self.crowd.terms.rules
        session = Session(
            name, self.crowd.identities, len(records), RECORD_BYTES, rules.group, rules.proven_shuffle
        )
        seed, limit_s = Chance(self._chance.seed()), self.crowd.terms.phase_limit_s
        mix = Member(session, self.crowd.me, self._signing_seed, records, seed, limit_s)
        self._chance = Chance(
            self._chance.seed()
        )  # nothing that is kept leads back to an inner key that has to be erased
        self._follow(mix.start(now_s), now_s)
        return mix

    def _read(self, text: bytes, now_s: float) -> None:
        """A letter's text: of this stage, or of a later one, for which it is kept."""
        if not text or text[0] >= len(_STAGES):
            return
        stage = _STAGES[text[0]]
        if _STAGES.index(stage) > _STAGES.index(self.stage):
            self._early.append(text)
        elif stage == self.stage == "asking":
            self._hear(text[1:])
        elif stage == self.stage:
            self._follow(self._mix.receive(text[1:], now_s), now_s)

    def _read_early(self, now_s: float) -> None:
        early, self._early = self._early, []
        for text in early:
            self._read(text, now_s)

    def _follow(self, events: list[Event], now_s: float) -> None:
        for event in events:
            if isinstance(event, Broadcast):
                self._tell_all(event.frame)
            elif isinstance(event, Aborted):
                found = event.findings
                raise PeerError(
                    "too-late" if found.silent and not found.culprits else "bad-answer",
                    f"the group stopped its run: {found}",
                )
            elif isinstance(event, Opened) and self.stage == "questions":
                self.records = tuple(dict.fromkeys(record for record in event.records if _is_query(record)))
                self.stage, self._ask_until_s = "asking", now_s + self.crowd.terms.phase_limit_s
                self._ask(self.crowd.me)
                self._read_early(now_s)
            elif isinstance(event, Opened):
                self.stage, self.records = "mixed", event.records

    def _tell_all(self, text: bytes) -> None:
        tag, others = (
            bytes((_STAGES.index(self.stage),)),
            (i for i in range(len(self.crowd.identities)) if i != self.crowd.me),
        )
        letters = [self._letters.seal(receiver, tag + text, self._chance) for receiver in others]
        self.outbox += [Call("POST", "/v1/letters", body) for body in bundles(letters)]

    def _ask(self, number: int) -> None:
        questions = b"".join(self.slice_of(number))
        if questions:
            self.outbox.append(Call("POST", f"/v1/groups/{self.crowd.channel.hex()}/questions", questions))

    def _hear(self, text: bytes) -> None:
        """Another member's slice; an empty one is a refusal, and calls for the next member.

        What does not hold is not heard.

        Raises PeerError when it shows that collectors contradict each other.
        """
        if len(text) == 1:
            self._stand_in(text[0])
        elif text:
            size = max(1, -(-len(text[1:]) // len(self._keys)))
            said = [text[at : at + size] for at in range(1, len(text), size)]
            try:
                self._checked(text[0], said)
            except PeerError:
                return
            self._learn(text[0], said)

    def _checked(self, number: int, said: list[bytes]) -> list[list[Answer]]:
        """To each question of a slice what the collectors answered so far, all from one state.

        Raises PeerError.
        """
        records, read = self.slice_of(number), list[list[Answer]]()
        for key, answers in zip(self._keys, said, strict=False):
            if not len(answers) == len(records) * ANSWER_BYTES > 0:
                raise PeerError("bad-length", f"{len(answers)} bytes of answers to {len(records)} questions")
            read.append(
                [
                    check_answer(key, record, part)
                    for record, part in zip(records, _parts(answers), strict=True)
                ]
            )
        if len({one.snapshot for answers in read for one in answers}) > 1:
            raise PeerError("bad-answer", "answers from the states of several days")
        return [list(one) for one in zip(*read, strict=True)]

    def _learn(self, number: int, said: list[bytes]) -> None:
        """Raises PeerError unless all collectors have answered, and the same."""
        if any(len(read) != len(self._keys) or len(set(read)) > 1 for read in self._checked(number, said)):
            raise PeerError("bad-answer", _LIE)
        self.answers.update(zip(self.slice_of(number), _parts(said[0]), strict=True))

    def _stand_in(self, number: int) -> None:
        """One backup each: the next member brings a slice that is missing."""
        if (number + 1) % len(self.crowd.identities) == self.crowd.me and not set(
            self.slice_of(number)
        ) <= set(self.answers):
            self._ask(number)

    def _chase(self, now_s: float) -> None:
        """Somebody's answers are missing."""
        if self._stood_in:
            raise PeerError(
                "too-late", "answers to the group's questions did not come in time; nothing was released"
            )
        self._stood_in, self._ask_until_s = True, now_s + self.crowd.terms.phase_limit_s
        for number in range(len(self.crowd.identities)):
            self._stand_in(number)


def _to(place: int) -> str:
    """What the collectors are called in requests: the first, and its witnesses."""
    return f"witness {place}" if place else "collector"


def _parts(answers: bytes) -> list[bytes]:
    return [answers[at : at + ANSWER_BYTES] for at in range(0, len(answers), ANSWER_BYTES)]


def _is_query(record: bytes) -> bool:
    try:
        decode_query(record)
    except PeerError:
        return False
    return True
