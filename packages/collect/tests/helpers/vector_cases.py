"""How a vector in tests/vectors is judged: each names what is parsed, by whom, and what must come of it.

Bytes are hexadecimal.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from gmpy2 import mpz

from collect_oracles import decode_points
from in_process import ClaimsInMemory, require_agreement
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.elgamal import Ciphertext
from shoal_collect.crypto.group import Group
from shoal_collect.crypto.sealing import Correspondence
from shoal_collect.matching.records import decode_query
from shoal_collect.mix.member import IgnoredMessage, Member
from shoal_collect.mix.messages import (
    Confession,
    Key,
    Opening,
    Session,
    Vote,
    decode_list,
    open_frame,
    read_hop,
    read_input,
    read_key,
)
from shoal_collect.roles.lottery import Lottery
from shoal_collect.roles.wire import body_digest, read_answer, read_authorization

FOLDER: Final = Path(__file__).parents[1] / "vectors"
Vector = Mapping[str, Any]


def load(name: str) -> Vector:
    loaded: Vector = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def raw(texts: list[str]) -> list[bytes]:
    return [bytes.fromhex(text) for text in texts]


def session_of(vector: Vector) -> Session:
    given = vector["session"]
    group = Group(mpz(int(given["p"], 16)), mpz(given["g"]))
    return Session(
        bytes.fromhex(given["name"]),
        tuple(raw(given["identities"])),
        given["n_records"],
        given["record_bytes"],
        group,
        given.get("proven", False),
    )


def member_of(vector: Vector, me: int) -> Member:
    one = vector["members"][me]
    member = Member(
        session_of(vector),
        me,
        bytes.fromhex(one["signing_seed"]),
        raw(one["records"]),
        Chance(bytes.fromhex(one["chance"])),
    )
    member.draw_fresh = bytes  # known answers need known entropy
    return member


def _receive(vector: Vector, session: Vector) -> None:
    member = member_of(session, vector["member"])
    member.start(0.0)
    if "ticks" in vector:
        member.tick(vector["ticks"])
    events = [event for frame in raw(vector["bytes"]) for event in member.receive(frame, 0.0)]
    if isinstance(events[-1], IgnoredMessage):
        raise events[-1].fault


def _shown(vector: Vector, session: Session) -> Any:
    return [open_frame(session, frame + bytes(vector.get("pad", 0))) for frame in raw(vector["bytes"])]


def _hop(vector: Vector, session: Session) -> None:
    *inputs, shown = _shown(vector, session)
    before = [Ciphertext(one.c1, one.c2) for signed in inputs for one in decode_list(session, signed.body)]
    read_hop(session, [session.group.from_bytes(share) for share in raw(vector["shares"])], before, shown)


def _letters(vector: Vector) -> bytes:
    me, identities = vector["member"], raw(vector["identities"])
    reader = Correspondence(
        bytes.fromhex(vector["name"]), identities, me, bytes.fromhex(vector["signing_seed"])
    )
    return b"".join(reader.open(letter) for letter in raw(vector["bytes"]))


def _claims(vector: Vector) -> None:
    authority = ClaimsInMemory(bytes.fromhex(vector["secret"]), frozenset(raw(vector["collectors"])))
    for sealed in raw(vector["bytes"]):
        authority.take(sealed)


def _lottery(vector: Vector) -> None:
    lottery = Lottery(b"round", tuple(raw(vector["identities"])))
    for verb, *words in vector["steps"]:
        lottery = getattr(lottery, verb)(*raw(words)) or lottery


def _answers(vector: Vector) -> None:
    record, *answers = raw(vector["bytes"])
    require_agreement([read_answer(bytes.fromhex(vector["collector"]), record, answer) for answer in answers])


def _request(vector: Vector) -> None:
    (body,) = raw(vector["bytes"])
    read_authorization(
        vector["header"],
        bytes.fromhex(vector["audience"]),
        "POST",
        vector["target"],
        body_digest(body),
        vector["now_s"],
    )


def judge(vector: Vector) -> None:
    """Parse what a vector holds; raises the PeerError that comes of it."""
    judges: dict[str, Callable[[Vector], Any]] = {
        "letters": _letters,
        "claims": _claims,
        "lottery": _lottery,
        "answers": _answers,
        "request": _request,
        "query": lambda v: decode_query(*raw(v["bytes"])),
        "points": lambda v: decode_points(*raw(v["bytes"])),
    }
    if vector["parse"] in judges:
        judges[vector["parse"]](vector)
        return
    good = load("good_mix")
    session = replace(session_of(good), proven=vector.get("proven", False))
    within: dict[str, Callable[[], Any]] = {
        "receive": lambda: _receive(vector, good),
        "frame": lambda: _shown(vector, session),
        "key": lambda: read_key(session, *_shown(vector, session)),
        "input": lambda: read_input(session, *_shown(vector, session)),
        "hop": lambda: _hop(vector, session),
        "element": lambda: session.group.from_bytes(*raw(vector["bytes"])),
        "share": lambda: Key.decode(session, *raw(vector["bytes"])),
        "vote": lambda: Vote.decode(*raw(vector["bytes"])),
        "opening": lambda: Opening.decode(session, *raw(vector["bytes"])),
        "confession": lambda: Confession.decode(session, *raw(vector["bytes"])),
    }
    within[vector["parse"]]()
