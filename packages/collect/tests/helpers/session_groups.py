"""The sessions of one group in one process: members fall silent where a test says.

A collector relays their letters, and may hold some back. Time passes only when nothing else happens.
"""

from collections.abc import Callable, Mapping
from typing import Final

from service_town import seed
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.sealing import address
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import Query, encode_query, encode_release
from shoal_collect.roles.group_session import GroupSession, State
from shoal_collect.roles.lottery import MemberGroup
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import Call, read_batch, unbundle
from shoal_collect.server.mailbox import Collector
from shoal_collect.storage.phi import PhiStore

TERMS: Final = Terms(n_real=1, n_fake=1, longest=2, n_pieces=1, phase_limit_s=100)
DAY: Final = 20_000
# what a member sends in a sound round, in order
MIX: Final = ("key commitment", "key", "input commitment", "input", "hop", "vote", "opening")
SENT: Final = (*MIX, "voucher", "question", "answers", *(f"second {kind}" for kind in MIX))
MIX_BEGINS: Final = {State.QUESTIONS: 0, State.RELEASES: 10}


class SessionGroup:
    """``silent``: how many messages of ``SENT`` a member sends before she stops for good, by place.

    ``relays``: whether the collector passes a letter on, by sender, receiver and its number. ``keep``: what
    becomes of a session after each of its steps, as when a device is killed and goes on from its disk.
    """

    def __init__(
        self,
        n: int,
        silent: Mapping[int, int] | None = None,
        *,
        terms: Terms = TERMS,
        name: object = "group",
        relays: Callable[..., bool] = lambda *_, number: True,
        keep: Callable[[GroupSession], GroupSession] = lambda session: session,
    ) -> None:
        self.n, self.silent, self.relays, self.keep = n, dict(silent or {}), relays, keep
        self.now_s, self.failures = 0.0, dict[int, str]()
        self.sent, self.batches = [0] * n, list[bytes]()
        self.letters: list[list[bytes]] = [[] for _ in range(n)]
        self.collector = Collector(PhiStore(), seed("server"))
        seeds = [seed("member", place) for place in range(n)]
        self.identities = tuple(map(verify_key, seeds))
        self.channel = seed("channel", name)
        self.sessions = [
            GroupSession(
                MemberGroup(self.channel, self.identities, place, terms),
                seeds[place],
                verify_key(self.collector.signing_seed),
                self.questions(place),
                Chance(seed("chance", name, place)),
                0.0,
            )
            for place in range(n)
        ]

    def questions(self, place: int) -> list[bytes]:
        """Her two questions; the same whenever she is asked."""
        points = (Cylinder(29_000_000, 60, 39_000_000, 116_000_000, 500),) * 2
        return [encode_query(Query(seed(place, number)[:16], points)) for number in range(2)]

    def run(self, most_s: float = 5_000) -> list[int]:
        """Until everybody who is not silent has ended; the members who have the group's releases."""
        while self.now_s < most_s:
            active = [place for place in range(self.n) if self.is_active(place)]
            if not active:
                break
            if not sum(self.step(place) for place in active):
                self.now_s += 10
        return [place for place in range(self.n) if self.sessions[place].stage is State.MIXED]

    def is_active(self, place: int) -> bool:
        is_silent = self.sent[place] >= self.silent.get(place, 2 * len(SENT))
        has_ended = place in self.failures or self.sessions[place].stage is State.MIXED
        return not is_silent and not has_ended

    def step(self, place: int) -> bool:
        """One request of a member; whether anything happened."""
        session = self.sessions[place]
        run = session.stage, session._restarts
        try:
            if session.outbox:
                self.sent[place] += 1
                self.answer(place, session.outbox.pop(0))
            else:
                new = self.letters[place][session.after :]
                before = session.after, len(session.outbox), session.stage
                rows = enumerate(new, session.after + 1)
                batch = b"".join(at.to_bytes(8) + len(one).to_bytes(4) + one for at, one in rows)
                session.received(batch, self.now_s)
                if session.complete:
                    session.release(encode_release(None, 1, Chance(seed("release", place))), self.now_s)
                if before == (session.after, len(session.outbox), session.stage):
                    return False
        except PeerError as error:
            self.failures[place] = str(error)
        if run != (session.stage, session._restarts) and session.stage in MIX_BEGINS:
            self.sent[place] = MIX_BEGINS[session.stage] + 1 - len(session.outbox)
        self.sessions[place] = self.keep(session)
        return True

    def answer(self, place: int, call: Call) -> None:
        if call.target.endswith("/questions"):
            batch = read_batch(self.channel, self.identities, call.body)
            self.batches.append(batch.questions)
            answers = b"".join(self.collector.sign_answer(one, 0, DAY) for one in batch.records)
            self.sessions[place].answered(call, answers)
            return
        for letter in unbundle(call.body):
            _, sender, receiver, number = address(letter)
            if self.relays(sender, receiver, number=number):
                self.letters[receiver].append(letter)
