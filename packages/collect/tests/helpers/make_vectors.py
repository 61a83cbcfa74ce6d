"""Writes packages/collect/tests/vectors again.

Only after an intended change of the wire format, together with a new version byte:
python packages/collect/packages/collect/tests/helpers/make_vectors.py
"""

import json
from dataclasses import replace
from typing import Any

from gmpy2 import mpz
from nacl.bindings import crypto_sign_seed_keypair

from in_process import Collector
from mix_runs import SMALL, build, records_of, seed, session_of
from shoal_collect.crypto import elgamal, envelope
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.elgamal import Ciphertext
from shoal_collect.crypto.sealing import Correspondence
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import Query, encode_query
from shoal_collect.mix.member import Broadcast, OpenedRecords
from shoal_collect.mix.messages import Hop, Key, Kind, Opening, Session, Vote, decode_list, encode, sign
from shoal_collect.mix.messages import commitment as shown_commitment
from shoal_collect.roles.authority import claim, receipt
from shoal_collect.roles.lottery import Lottery, commitment
from shoal_collect.roles.wire import authorization
from shoal_collect.storage.phi import PhiStore
from vector_cases import FOLDER

Hex = list[str]


def write(file: str, **content: Any) -> None:
    (FOLDER / f"{file}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def hexes(*parts: bytes) -> Hex:
    return [part.hex() for part in parts]


def bad(title: str, error: str, parse: str, *parts: bytes, **more: Any) -> None:
    write(f"bad_{title}", parse=parse, error=error, bytes=hexes(*parts), **more)


def good_mix(*, proven: bool = False) -> tuple[Session, list[tuple[int, bytes]]]:
    """One sound run of three members; frames in the order in which everybody receives them."""
    session = replace(session_of(3, 1, name="vector"), proven=proven)
    members = build(session)
    log: list[tuple[int, bytes]] = []
    outcomes: list[OpenedRecords] = []
    waiting = [(member.me, event) for member in members for event in member.start(0.0)]
    while waiting:
        sender, event = waiting.pop(0)
        if isinstance(event, Broadcast):
            log.append((sender, event.frame))
            for member in members:
                if member.me != sender:
                    waiting += [(member.me, further) for further in member.receive(event.frame, 0.0)]
        elif isinstance(event, OpenedRecords):
            outcomes.append(event)
    assert len(outcomes) == 3
    write(
        "good_mix_proven" if proven else "good_mix",
        session={
            "p": session.group.p.digits(16),
            "g": int(session.group.g),
            "name": session.name.hex(),
            "identities": hexes(*session.identities),
            "n_records": 1,
            "record_bytes": session.record_bytes,
            **({"proven": True} if proven else {}),
        },
        members=[
            {
                "signing_seed": seed("identity", i).hex(),
                "chance": seed(session.name, i).hex(),
                "records": hexes(*records_of(session, i)),
            }
            for i in range(3)
        ],
        frames=[[sender, frame.hex()] for sender, frame in log],
        opened=hexes(*outcomes[0].records),
    )
    return session, log


def bad_mix(session: Session, log: list[tuple[int, bytes]]) -> None:
    frame_of = {(frame[6], sender): frame for sender, frame in log}
    body_of = {slot: frame[40:-64] for slot, frame in frame_of.items()}
    group, size = session.group, session.group.element_bytes
    vote = frame_of[Kind.VOTE, 1]

    def signed(kind: Kind, body: bytes, sender: int = 1) -> bytes:
        return sign(session, kind, sender, body, seed("identity", sender)).frame

    def key_frames(body: bytes) -> tuple[bytes, bytes]:
        return signed(Kind.KEY_COMMIT, shown_commitment(session, 1, body)), signed(Kind.KEY, body)

    bad("frame_too_short", "bad-length", "frame", vote[:60])
    bad("frame_too_long", "bad-length", "frame", vote, pad=100_000)
    bad("frame_other_protocol", "bad-frame", "frame", b"SHOAL1" + vote[6:])
    bad("frame_unknown_kind", "bad-frame", "frame", vote[:6] + b"\x09" + vote[7:])
    bad(
        "frame_stale_session",
        "wrong-session",
        "frame",
        sign(session_of(3, 1, "old"), Kind.VOTE, 1, bytes(33), seed("identity", 1)).frame,
    )
    bad("frame_from_nobody", "unknown-member", "frame", vote[:39] + b"\x03" + vote[40:])
    bad("frame_under_another_name", "bad-signature", "frame", vote[:39] + b"\x02" + vote[40:])
    bad("frame_body_changed", "bad-signature", "frame", vote[:41] + bytes((vote[41] ^ 1,)) + vote[42:])
    bad(
        "frame_twice",
        "duplicate",
        "receive",
        frame_of[Kind.KEY_COMMIT, 1],
        frame_of[Kind.KEY_COMMIT, 1],
        member=0,
    )
    bad("frame_after_the_end", "too-late", "receive", *(f for s, f in log if s), vote, member=0)

    for name, number in {
        "zero": mpz(0),
        "one": mpz(1),
        "minus_one": group.p - 1,
        "beyond": group.p + 4,
        "non_residue": group.p - 4,
    }.items():
        bad(f"element_{name}", "bad-element", "element", int(number).to_bytes(size))
    bad("element_short", "bad-length", "element", bytes(size - 1))
    key = Key.decode(session, body_of[Kind.KEY, 1])
    bad(
        "key_response_beyond_the_order",
        "out-of-range",
        "share",
        body_of[Kind.KEY, 1][: 2 * size] + group.to_bytes(group.q) + bytes(96),
    )
    bad("key_trailing_byte", "bad-length", "share", body_of[Kind.KEY, 1] + b"\x00")
    bad(
        "key_inner_no_point",
        "bad-element",
        "share",
        body_of[Kind.KEY, 1][: 3 * size] + bytes(32) + key.inner_proof,
    )
    wrong = elgamal.KeyProof(key.proof.announced, (key.proof.response + 1) % group.q)
    bad(
        "key_proof",
        "bad-proof",
        "key",
        *key_frames(encode(group, Key(key.share, wrong, key.inner, key.inner_proof))),
    )
    other = Key.decode(session, body_of[Kind.KEY, 2])
    bad("key_of_another", "bad-proof", "key", *key_frames(encode(group, other)))
    inner = Key(key.share, key.proof, key.inner, other.inner_proof)
    bad("key_inner_proof", "bad-proof", "key", *key_frames(encode(group, inner)))
    bad(
        "key_not_committed",
        "bad-commitment",
        "key",
        frame_of[Kind.KEY_COMMIT, 1],
        signed(Kind.KEY, encode(group, other)),
    )
    bad(
        "input_not_committed",
        "bad-commitment",
        "input",
        frame_of[Kind.INPUT_COMMIT, 1],
        signed(Kind.INPUT, body_of[Kind.INPUT, 2]),
    )
    short = body_of[Kind.INPUT, 1][:-size]
    commit = signed(Kind.INPUT_COMMIT, shown_commitment(session, 1, short))
    bad("input_one_part_missing", "bad-length", "input", commit, signed(Kind.INPUT, short))
    hop = Hop.decode(session, body_of[Kind.HOP, 0], last=False)
    shifted = (group.times(hop.stripped[0], group.g), group.over(hop.stripped[1], group.g), hop.stripped[2])
    inputs = [frame_of[Kind.INPUT, i] for i in range(3)]
    shares = hexes(*(group.to_bytes(Key.decode(session, body_of[Kind.KEY, i]).share) for i in range(3)))
    assert sum(len(decode_list(session, one[40:-64])) for one in inputs) == 3
    for name, stripped in {
        "shifted": shifted,
        "swapped": (hop.stripped[1], hop.stripped[0], hop.stripped[2]),
    }.items():
        body = encode(group, Hop(stripped, hop.proof, hop.shuffled))
        bad(f"hop_{name}", "bad-proof", "hop", *inputs, signed(Kind.HOP, body, 0), shares=shares)
    bad("vote_go_with_evidence", "bad-length", "vote", encode(group, Vote(True, bytes(32))) + b"x")
    bad("vote_maybe", "bad-length", "vote", b"\x02" + bytes(32))
    bad(
        "opening_attests_nobody", "bad-record", "opening", bytes(32) + b"\x00\x01" + bytes((6, 9)) + bytes(96)
    )
    bad("opening_cut", "bad-length", "opening", encode(group, Opening(bytes(32), {}))[:-1])
    zero = bytes(size + 64 + session.sealed_bytes) + bytes(2)
    bad("confession_of_zero", "out-of-range", "confession", zero)


def bad_shuffles(session: Session, log: list[tuple[int, bytes]]) -> None:
    body_of = {(frame[6], sender): frame[40:-64] for sender, frame in log}
    inputs = [frame for _, frame in sorted(log) if frame[6] == Kind.INPUT]
    group, hop = session.group, Hop.decode(session, body_of[Kind.HOP, 0], last=False)
    shares = hexes(*(group.to_bytes(Key.decode(session, body_of[Kind.KEY, i]).share) for i in range(3)))
    proof, (first, second, third) = hop.shuffle, hop.shuffled
    assert proof is not None

    def with_proof(**changes: Any) -> Hop:
        return replace(hop, shuffle=replace(proof, **changes))

    keys, end, weighted, masks = proof.totals
    tag = Ciphertext(first.c1, group.times(first.c2, group.g))
    other = Hop.decode(session, body_of[Kind.HOP, 1], last=False)
    for title, error, wrong in (
        ("tagged", "bad-proof", replace(hop, shuffled=(tag, second, third))),
        ("copied", "bad-proof", replace(hop, shuffled=(first, first, third))),
        ("of_another_place", "bad-proof", replace(hop, shuffle=other.shuffle)),
        (
            "end_beyond_the_order",
            "out-of-range",
            with_proof(totals=(keys, end + int(group.q), weighted, masks)),
        ),
        ("chain_outside", "bad-element", with_proof(chain=(group.p - proof.chain[0], *proof.chain[1:]))),
        ("missing", "bad-length", replace(hop, shuffle=None)),
    ):
        frame = sign(session, Kind.HOP, 0, encode(group, wrong), seed("identity", 0)).frame
        bad(f"shuffle_{title}", error, "hop", *inputs, frame, shares=shares, proven=True)


def letters() -> None:
    identities = [bytes(crypto_sign_seed_keypair(seed("identity", i))[0]) for i in range(3)]
    name = seed("letters")
    common = {
        "name": name.hex(),
        "identities": hexes(*identities),
        "member": 1,
        "signing_seed": seed("identity", 1).hex(),
    }
    writer = Correspondence(name, identities, 0, seed("identity", 0))
    first, second = writer.seal(1, b"first"), writer.seal(1, b"second")
    elsewhere = writer.seal(2, b"to another")
    stale = Correspondence(seed("old"), identities, 0, seed("identity", 0)).seal(1, b"old")
    imposter = Correspondence(
        name, [identities[2], *identities[1:2], identities[0]], 0, seed("identity", 2)
    ).seal(1, b"I am 0")
    write("good_letters", parse="letters", bytes=hexes(first, second), text=b"firstsecond".hex(), **common)
    for title, error, parts in (
        ("twice", "duplicate", (first, first)),
        ("before_its_turn", "out-of-order", (second,)),
        ("to_another", "wrong-receiver", (elsewhere,)),
        ("readdressed", "bad-seal", (elsewhere[:39] + b"\x01" + elsewhere[40:],)),
        ("renumbered", "bad-seal", (first, first[:43] + b"\x01" + first[44:])),
        ("damaged", "bad-seal", (first[:-1] + bytes((first[-1] ^ 1,)),)),
        ("of_an_old_session", "wrong-session", (stale,)),
        ("from_nobody", "unknown-member", (first[:38] + b"\x03" + first[39:],)),
        ("of_an_imposter", "bad-signature", (imposter,)),
        ("with_a_weak_key", "bad-seal", (first[:44] + bytes(32) + first[76:],)),
        ("cut", "bad-length", (first[:100],)),
        ("no_letter", "bad-frame", (b"shoal1" + first[6:],)),
    ):
        bad(f"letter_{title}", error, "letters", *parts, **common)


def records() -> None:
    good = encode_query(Query(bytes(16), (Cylinder(5, 5, 1, 1, 1), Cylinder(9, 5, 1, 1, 1))))
    bad("query_one_point", "bad-record", "query", good[:2] + b"\x01" + good[3:])
    bad("query_bytes_behind", "bad-record", "query", good[:-1] + b"\x01")
    bad("query_unknown_version", "bad-record", "query", b"\x02" + good[1:])
    bad("query_cut", "bad-length", "query", good[:-1])
    bad("query_latitude_91", "out-of-range", "query", good[:20] + (91_000_000).to_bytes(4) + good[24:])
    bad("query_after_all_time", "out-of-range", "query", good[:30] + b"\xff\xff\xff\xff" + good[34:])
    bad("points_cut", "bad-length", "points", bytes(31))
    with PhiStore() as store:
        collector = Collector(store, seed("collector"))
        answer, later = collector.answer(b"someone", good, 1), collector.answer(b"someone", good, 2)
        own = verify_key(collector.signing_seed).hex()
    another = encode_query(Query(b"x" * 16, (Cylinder(5, 5, 1, 1, 1), Cylinder(9, 5, 1, 1, 1))))
    bad("answer_to_another_question", "bad-answer", "answers", another, answer, collector=own)
    bad("answers_that_differ", "bad-answer", "answers", good, answer, later, collector=own)
    bad(
        "answer_changed", "bad-signature", "answers", good, answer[:33] + b"\x09" + answer[34:], collector=own
    )
    bad("answer_cut", "bad-length", "answers", good, answer[:-1], collector=own)


def requests() -> None:
    target, signed_s = "/v1/letters", 1_800_000_000.0
    member, server = seed("identity", 0), verify_key(seed("server"))
    header = authorization(member, verify_key(member), server, "POST", target, b"body", signed_s)
    bad(
        "request_signed_long_ago",
        "clock-skew",
        "request",
        b"body",
        header=header,
        audience=server.hex(),
        target=target,
        now_s=signed_s + 301,
    )


def claims_and_lotteries() -> None:
    chance = Chance(seed("claims"))
    collector, owner, thief = (seed(name) for name in ("collector", "owner", "thief"))
    keys = {name: bytes(crypto_sign_seed_keypair(name)[0]) for name in (collector, owner, thief)}
    secret = envelope.draw_secret(chance)
    authority_key, common = (
        envelope.public_key(secret),
        {"secret": secret.hex(), "collectors": hexes(keys[collector])},
    )
    given = receipt(collector, "ab" * 16, keys[owner])
    alice = claim(given, "alice", owner, authority_key, chance)
    write("good_claim", parse="claims", bytes=hexes(alice, alice), **common)
    bad(
        "claim_second_owner",
        "not-entitled",
        "claims",
        alice,
        claim(given, "eve", owner, authority_key, chance),
        **common,
    )
    bad(
        "claim_without_the_key",
        "bad-signature",
        "claims",
        claim(given, "eve", thief, authority_key, chance),
        **common,
    )
    own_receipt = receipt(thief, "ab" * 16, keys[thief])
    bad(
        "claim_without_receipt",
        "unknown-collector",
        "claims",
        claim(own_receipt, "eve", thief, authority_key, chance),
        **common,
    )
    bad("claim_damaged", "bad-record", "claims", alice[:-1] + bytes((alice[-1] ^ 1,)), **common)
    bad("claim_cut", "bad-length", "claims", alice[:100], **common)
    people = tuple(seed("person", i) for i in range(3))
    lottery = Lottery(b"round", people)
    commits = [
        ["commit", *hexes(one, commitment(lottery.roster, one, seed("secret", one)))] for one in people
    ]
    reveal = ["reveal", *hexes(people[0], seed("secret", people[0]))]
    for title, error, steps in (
        ("of_a_stranger", "unknown-member", [["commit", *hexes(b"stranger", bytes(32))]]),
        ("twice", "duplicate", [commits[0], commits[0]]),
        ("short", "bad-length", [["commit", *hexes(people[0], bytes(31))]]),
        ("revealed_early", "bad-frame", [commits[0], reveal]),
        ("other_than_committed", "bad-commitment", [*commits, ["reveal", *hexes(people[0], bytes(32))]]),
        ("third_restart", "too-late", [["without_silent"]] * 3),
    ):
        write(f"bad_lot_{title}", parse="lottery", error=error, identities=hexes(*people), steps=steps)


if __name__ == "__main__":
    assert SMALL.element_bytes == 72
    FOLDER.mkdir(exist_ok=True)
    bad_mix(*good_mix())
    bad_shuffles(*good_mix(proven=True))
    letters()
    records()
    requests()
    claims_and_lotteries()
