"""The message formats and the mix's checks a second time, from docs/collect-review.md alone.

Nothing of shoal is imported: only the standard library, and ``cryptography`` for Ed25519, X25519 and
ChaCha20-Poly1305. Arithmetic is plain Python, slow and obvious. ``judge`` takes a vector of
packages/collect/tests/vectors and raises ``Refused`` with the name of the fault that it finds.
"""

import base64
import hashlib
import hmac
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

Vector = dict[str, Any]


class Refused(Exception):  # noqa: N818  (as the protocol says it)
    """A fault, by its name in the protocol."""


def refuse_unless(holds: bool, name: str) -> None:
    if not holds:
        raise Refused(name)


def blake(text: bytes, person: bytes = b"", size: int = 32) -> bytes:
    return hashlib.blake2b(text, digest_size=size, person=person).digest()


def stream(seed: bytes) -> Iterator[int]:
    """Sec. 1: the bytes that a seed stands for."""
    for block in range(1 << 62):
        yield from hashlib.shake_256(b"shoal chance" + seed + block.to_bytes(8)).digest(4096)


# Sec. 2: Ed25519's curve, for inner keys and envelopes

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Xy = tuple[int, int]
ZERO: Xy = (0, 1)


def added(a: Xy, b: Xy) -> Xy:
    (x1, y1), (x2, y2) = a, b
    k = D * x1 * x2 * y1 * y2 % P
    return (
        (x1 * y2 + x2 * y1) * pow(1 + k, -1, P) % P,
        (y1 * y2 + x1 * x2) * pow(1 - k, -1, P) % P,
    )


def multiplied(scalar: int, point: Xy) -> Xy:
    total = ZERO
    while scalar:
        if scalar & 1:
            total = added(total, point)
        point, scalar = added(point, point), scalar >> 1
    return total


def point_of(text: bytes) -> Xy:
    """A point of the group of prime order, from its one encoding."""
    refuse_unless(len(text) == 32, "bad-element")
    number = int.from_bytes(text, "little")
    sign, y = number >> 255, number & ((1 << 255) - 1)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    refuse_unless(y < P and x * x % P == square and not (x == 0 and sign), "bad-element")
    point = (P - x if x & 1 != sign else x, y)
    refuse_unless(point != ZERO and multiplied(L, point) == ZERO, "bad-element")
    return point


def text_of(point: Xy) -> bytes:
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


BASE = point_of(bytes.fromhex("58" + "66" * 31))


def reduced(text: bytes) -> int:
    return int.from_bytes(text, "little") % L


# Sec. 2: XSalsa20-Poly1305, which seals a record


def _core(words: Sequence[int], *, rounds_only: bool) -> bytes:
    x = list(words)
    quarters = [(0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11)]
    rows = [(0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)]
    for _ in range(10):
        for a, b, c, d in quarters + rows:
            for to, one, two, by in ((b, a, d, 7), (c, b, a, 9), (d, c, b, 13), (a, d, c, 18)):
                total = (x[one] + x[two]) & 0xFFFFFFFF
                x[to] ^= (total << by | total >> (32 - by)) & 0xFFFFFFFF
    if rounds_only:
        return struct.pack("<8I", *(x[at] for at in (0, 5, 10, 15, 6, 7, 8, 9)))
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(x, words, strict=True)))


def _words(key: bytes, block: bytes) -> list[int]:
    sigma, k, n = (
        struct.unpack("<4I", b"expand 32-byte k"),
        struct.unpack("<8I", key),
        struct.unpack("<4I", block),
    )
    return [sigma[0], *k[:4], sigma[1], *n, sigma[2], *k[4:], sigma[3]]


def opened_box(key: bytes, sealed: bytes) -> bytes:
    """Open secretbox with a nonce of zeros."""
    inner = _core(_words(key, bytes(16)), rounds_only=True)
    n_blocks = 1 + (len(sealed) + 47) // 64
    keystream = b"".join(
        _core(_words(inner, bytes(8) + at.to_bytes(8, "little")), rounds_only=False) for at in range(n_blocks)
    )
    tag, text = sealed[:16], sealed[16:]
    r = int.from_bytes(keystream[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(text), 16):
        total = (total + int.from_bytes(text[at : at + 16] + b"\x01", "little")) * r % (2**130 - 5)
    total = (total + int.from_bytes(keystream[16:32], "little")) % 2**128
    refuse_unless(total.to_bytes(16, "little") == tag, "bad-record")
    return bytes(a ^ b for a, b in zip(text, keystream[32:], strict=False))


def unsealed(sealed: bytes, secret: int, context: bytes) -> bytes:
    """Sec. 2: an envelope to the sum of all inner keys."""
    point = point_of(sealed[:32])
    shared = text_of(multiplied(secret, point))
    return opened_box(blake(shared + sealed[:32] + context, b"shoal envelope"), sealed[32:])


def require_inner_proof(key: bytes, proof: bytes, context: bytes) -> None:
    announced, response = point_of(proof[:32]), int.from_bytes(proof[32:], "little")
    challenge = reduced(blake(key + proof[:32] + context, b"shoal inner key", 64))
    expected = added(announced, multiplied(challenge, point_of(key)))
    refuse_unless(0 < response < L and multiplied(response, BASE) == expected, "bad-proof")


# Sec. 3: signatures


def verified(key: bytes, text: bytes, signed: bytes, name: str = "bad-signature") -> None:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signed, text)
    except (InvalidSignature, ValueError) as error:
        raise Refused(name) from error


def require_signature(key: bytes, purpose: bytes, text: bytes, signed: bytes) -> None:
    verified(key, blake(purpose, b"shoal purpose") + text, signed)


# Sec. 4: the group of the mix


class Group(NamedTuple):
    p: int
    g: int

    @property
    def q(self) -> int:
        return self.p >> 1

    @property
    def size(self) -> int:
        return (self.p.bit_length() + 7) // 8

    def element(self, text: bytes, least: int = 2) -> int:
        refuse_unless(len(text) == self.size, "bad-length")
        number = int.from_bytes(text)
        inside = least <= number < self.p - 1 and pow(number, self.q, self.p) == 1
        refuse_unless(inside, "bad-element")
        return number

    def digest(self, label: bytes, context: bytes, elements: Sequence[int]) -> bytes:
        parts = (label, context, self.g.to_bytes(self.size))
        text = b"".join(len(one).to_bytes(4) + one for one in parts)
        return blake(text + b"".join(one.to_bytes(self.size) for one in elements), b"shoal proof")

    def challenge(self, label: bytes, context: bytes, elements: Sequence[int]) -> int:
        return int.from_bytes(self.digest(label, context, elements)) % self.q


class Session(NamedTuple):
    name: bytes
    identities: list[bytes]
    n_records: int
    record_bytes: int
    group: Group
    proven: bool = False

    @property
    def n(self) -> int:
        return len(self.identities)

    @property
    def longest(self) -> int:
        size = self.n * self.n_records
        proof = 2 * size * self.group.size + sum(proof_lengths(self.group, size)) if self.proven else 0
        return 40 + 64 + 6 * size * self.group.size + proof + 65_536


def session_of(given: Vector) -> Session:
    group = Group(int(given["p"], 16), given["g"])
    identities = [bytes.fromhex(one) for one in given["identities"]]
    sizes = given["n_records"], given["record_bytes"]
    return Session(bytes.fromhex(given["name"]), identities, *sizes, group, given.get("proven", False))


class Body:
    """A body, read from left to right to its end."""

    def __init__(self, text: bytes) -> None:
        self.text, self.at = text, 0

    def take(self, n: int) -> bytes:
        part, self.at = self.text[self.at : self.at + n], self.at + n
        refuse_unless(len(part) == n, "bad-length")
        return part

    def scalar(self, group: Group) -> int:
        number = int.from_bytes(self.take(group.size))
        refuse_unless(number < group.q, "out-of-range")
        return number

    def elements(self, group: Group, n: int, least: int = 2) -> list[int]:
        return [group.element(self.take(group.size), least) for _ in range(n)]

    def end(self) -> None:
        refuse_unless(self.at == len(self.text), "bad-length")


# Sec. 5: frames, and what stands in them

KEY_COMMIT, KEY, INPUT_COMMIT, INPUT, HOP, VOTE, OPEN, BLAME = range(1, 9)


class Frame(NamedTuple):
    kind: int
    sender: int
    body: bytes
    digest: bytes


def attested(session: Session, kind: int, sender: int, digest: bytes) -> bytes:
    return b"shoal message" + session.name + bytes((kind, sender)) + digest


def read_frame(session: Session, text: bytes) -> Frame:
    refuse_unless(104 <= len(text) <= session.longest, "bad-length")
    refuse_unless(text[:6] == b"shoal1" and 1 <= text[6] <= 8, "bad-frame")
    refuse_unless(text[7:39] == session.name, "wrong-session")
    kind, sender = text[6], text[39]
    refuse_unless(sender < session.n, "unknown-member")
    digest = blake(text[:-64])
    verified(session.identities[sender], attested(session, kind, sender, digest), text[-64:])
    return Frame(kind, sender, text[40:-64], digest)


class Keys(NamedTuple):
    share: int
    announced: int
    response: int
    inner: bytes
    proof: bytes


def read_keys(session: Session, text: bytes) -> Keys:
    body, group = Body(text), session.group
    share, announced = body.elements(group, 2)
    response, inner = body.scalar(group), body.take(32)
    point_of(inner)
    keys = Keys(share, announced, response, inner, body.take(64))
    body.end()
    return keys


def require_commitment(session: Session, commit: Frame, shown: Frame) -> None:
    context = session.name + bytes((shown.sender,))
    refuse_unless(commit.body == blake(context + shown.body, b"shoal commit"), "bad-commitment")


def require_keys(session: Session, commit: Frame, shown: Frame) -> Keys:
    require_commitment(session, commit, shown)
    keys, group = read_keys(session, shown.body), session.group
    context = session.name + bytes((shown.sender,))
    challenge = group.challenge(b"key", context, [keys.share, keys.announced])
    left = pow(group.g, keys.response, group.p)
    refuse_unless(left == keys.announced * pow(keys.share, challenge, group.p) % group.p, "bad-proof")
    require_inner_proof(keys.inner, keys.proof, context)
    return keys


def read_input(session: Session, text: bytes) -> list[tuple[int, int]]:
    body = Body(text)
    numbers = body.elements(session.group, 2 * session.n_records)
    body.end()
    return list(zip(numbers[::2], numbers[1::2], strict=True))


class Hop(NamedTuple):
    stripped: list[int]
    shuffled: list[tuple[int, int]]


def require_hop(
    session: Session, shares: Sequence[int], before: Sequence[tuple[int, int]], shown: Frame
) -> Hop:
    group, size = session.group, session.n * session.n_records
    body, share = Body(shown.body), shares[shown.sender]
    stripped = body.elements(group, size, least=1)
    to_key, to_list = body.elements(group, 2)
    response = body.scalar(group)
    last = shown.sender == session.n - 1
    numbers = [] if last else body.elements(group, 2 * size)
    proof = take_proof(body, group, size) if session.proven and not last else None
    body.end()
    context = session.name + bytes((shown.sender,))
    flat = [share, *(part for one in before for part in one), *stripped]
    weights, base, image = stream(group.digest(b"weights", context, flat)), 1, 1
    for (c1, c2), left in zip(before, stripped, strict=True):
        weight = 1 + int.from_bytes(bytes(next(weights) for _ in range(16)))
        base = base * pow(c1, weight, group.p) % group.p
        image = image * pow(c2 * pow(left, -1, group.p), weight, group.p) % group.p
    challenge = group.challenge(b"strip", context, [*flat, to_key, to_list])
    for power_of, announced, known in ((group.g, to_key, share), (base, to_list, image)):
        expected = announced * pow(known, challenge, group.p) % group.p
        refuse_unless(pow(power_of, response, group.p) == expected, "bad-proof")
    shuffled = list(zip(numbers[::2], numbers[1::2], strict=True))
    if proof is not None:
        key = math.prod(shares[shown.sender + 1 :]) % group.p
        listed = [(c1, left) for (c1, _), left in zip(before, stripped, strict=True)]
        require_shuffle(group, key, listed, shuffled, proof, context)
    return Hop(stripped, shuffled)


class Proof(NamedTuple):
    """Sec. 5: c, d, e, r, s and v."""

    commitments: list[int]
    chain: list[int]
    challenge: int
    totals: list[int]
    moved: list[int]
    links: list[int]


def proof_lengths(group: Group, size: int) -> list[int]:
    """The bytes of the challenge and of each answer."""
    secret, more = min(288, group.q.bit_length()), size.bit_length()
    keys, both, moved, link = (
        (bits + 256) // 8 + 1 for bits in (secret + more, secret + 128 + more, 128, secret)
    )
    return [16, keys, group.size, both, both, *[moved] * size, *[link] * size]


def take_proof(body: Body, group: Group, size: int) -> Proof:
    commitments, chain = body.elements(group, size), body.elements(group, size)
    challenge, *answers = (int.from_bytes(body.take(length)) for length in proof_lengths(group, size))
    return Proof(commitments, chain, challenge, answers[:4], answers[4 : 4 + size], answers[4 + size :])


def require_shuffle(
    group: Group,
    key: int,
    before: Sequence[tuple[int, int]],
    after: Sequence[tuple[int, int]],
    proof: Proof,
    context: bytes,
) -> None:
    size, p, g = len(before), group.p, group.g

    def text(numbers: Sequence[int]) -> bytes:
        return b"".join(one.to_bytes(group.size) for one in numbers)

    def powers(bases: Sequence[int], exponents: Sequence[int]) -> int:
        return math.prod(pow(base, by, p) for base, by in zip(bases, exponents, strict=True)) % p

    refuse_unless(proof.totals[1] < group.q, "out-of-range")
    start, *bases = (
        pow(
            int.from_bytes(
                hashlib.shake_256(b"shoal generator" + text([g, p]) + at.to_bytes(4)).digest(group.size + 16)
            ),
            2,
            p,
        )
        for at in range(size + 1)
    )
    said = [
        p,
        g,
        key,
        *proof.commitments,
        *(part for pairs in (before, after) for pair in pairs for part in pair),
    ]
    head = len(context).to_bytes(4) + context + size.to_bytes(4)
    statement = blake(head + text(said), b"shoal weights")
    chance = stream(statement)
    weights = [int.from_bytes(bytes(next(chance) for _ in range(16))) for _ in range(size)]
    keys, end, weighted, masks = proof.totals
    one, other = list(zip(*before, strict=True)), list(zip(*after, strict=True))
    said_of = [
        (pow(g, keys, p), math.prod(proof.commitments) * pow(math.prod(bases), -1, p)),
        (pow(g, end, p), proof.chain[-1] * pow(start, -math.prod(weights), p)),
        (pow(g, weighted, p) * powers(bases, proof.moved), powers(proof.commitments, weights)),
        (pow(g, -masks, p) * powers(other[0], proof.moved), powers(one[0], weights)),
        (pow(key, -masks, p) * powers(other[1], proof.moved), powers(one[1], weights)),
    ]
    for link, by, earlier, here in zip(
        proof.links, proof.moved, [start, *proof.chain[:-1]], proof.chain, strict=True
    ):
        said_of.append((pow(g, link, p) * pow(earlier, by, p), here))
    announced = [left * pow(right, -proof.challenge, p) % p for left, right in said_of]
    found = blake(statement + text([*proof.chain, *announced]), b"shoal shuffle", 16)
    refuse_unless(int.from_bytes(found) == proof.challenge, "bad-proof")


def read_vote(text: bytes) -> tuple[bool, bytes]:
    refuse_unless(len(text) >= 33 and text[0] <= 1 and not (text[0] and len(text) > 33), "bad-length")
    return bool(text[0]), text[1:33]


def take_attestation(session: Session, body: Body) -> dict[tuple[int, int], tuple[bytes, bytes]]:
    rows: dict[tuple[int, int], tuple[bytes, bytes]] = {}
    for _ in range(int.from_bytes(body.take(2))):
        kind, sender = body.take(2)
        refuse_unless(1 <= kind <= 8 and sender < session.n and (kind, sender) not in rows, "bad-record")
        rows[kind, sender] = (body.take(32), body.take(64))
    return rows


def read_opening(session: Session, text: bytes) -> int:
    body = Body(text)
    secret = int.from_bytes(body.take(32), "little")
    take_attestation(session, body)
    body.end()
    return secret


def read_confession(session: Session, text: bytes) -> int:
    body = Body(text)
    secret = body.scalar(session.group)
    body.take(64 + session.n_records * (session.record_bytes + 48))
    take_attestation(session, body)
    body.end()
    refuse_unless(secret != 0, "out-of-range")
    return secret


def run(session: Session, frames: Sequence[bytes]) -> list[bytes]:
    """Sec. 6: check a whole run in which all voted GO, and open its records."""
    slots: dict[tuple[int, int], Frame] = {}
    for text in frames:
        one = read_frame(session, text)
        refuse_unless((one.kind, one.sender) not in slots, "duplicate")
        slots[one.kind, one.sender] = one
    members, group = range(session.n), session.group
    keys = [require_keys(session, slots[KEY_COMMIT, m], slots[KEY, m]) for m in members]
    shares = [one.share for one in keys]
    current: list[tuple[int, int]] = []
    for m in members:
        require_commitment(session, slots[INPUT_COMMIT, m], slots[INPUT, m])
        current += read_input(session, slots[INPUT, m].body)
    hop = Hop([], [])
    for m in members:
        hop = require_hop(session, shares, current, slots[HOP, m])
        current = hop.shuffled
    before_vote = sorted(slot for slot in slots if slot[0] <= HOP)
    digests = b"".join(bytes(slot) + slots[slot].digest for slot in before_vote)
    transcript = blake(digests, b"shoal transcript")
    for m in members:
        refuse_unless(read_vote(slots[VOTE, m].body) == (True, transcript), "bad-answer")
    secrets = [read_opening(session, slots[OPEN, m].body) for m in members]
    for secret, own in zip(secrets, keys, strict=True):
        refuse_unless(0 < secret < L and text_of(multiplied(secret, BASE)) == own.inner, "bad-proof")
    size, records = session.record_bytes + 48, list[bytes]()
    for element in hop.stripped:
        number = min(element, group.p - element)
        refuse_unless(number >> (8 * size) == 1, "bad-record")
        records.append(unsealed(number.to_bytes(size + 1)[1:], sum(secrets) % L, session.name))
    return sorted(records)


# Sec. 7: records, answers, requests, lots, letters, claims


QUERY = 1
POINT, LAST_MINUTE = ">iiHIH", 2**32 - 1  # latitude, longitude, radius, first minute, length


def read_query(record: bytes) -> list[tuple[int, ...]]:
    refuse_unless(len(record) == 148, "bad-length")
    version, kind, count, part = record[:4]
    refuse_unless(version == 1 and kind in (1, 2, 3), "bad-record")
    refuse_unless(kind == QUERY and part == 0 and 2 <= count <= 8, "bad-record")
    points = read_points(record[20 : 20 + 16 * count])
    refuse_unless(not any(record[20 + 16 * count :]), "bad-record")
    return points


def read_points(text: bytes) -> list[tuple[int, ...]]:
    refuse_unless(len(text) % 16 == 0, "bad-length")
    points = [struct.unpack(POINT, text[at : at + 16]) for at in range(0, len(text), 16)]
    for lat, lon, _, start, gap in points:
        inside = abs(lat) <= 90_000_000 and -180_000_000 <= lon < 180_000_000 and start + gap <= LAST_MINUTE
        refuse_unless(inside, "out-of-range")
    return points


def read_answer(collector: bytes, record: bytes, answer: bytes) -> tuple[int, int, bytes]:
    refuse_unless(len(answer) == 134, "bad-length")
    require_signature(collector, b"answer", answer[:70], answer[70:])
    refuse_unless(answer[:32] == blake(record), "bad-answer")
    return int.from_bytes(answer[32:34]), int.from_bytes(answer[34:38]), answer[38:70]


def _answers(vector: Vector, texts: Sequence[bytes]) -> None:
    record, *answers = texts
    collector = bytes.fromhex(vector["collector"])
    said = {read_answer(collector, record, one) for one in answers}
    refuse_unless(len(said) == 1, "bad-answer")


def _request(vector: Vector, texts: Sequence[bytes]) -> None:
    scheme, who, moment, signed = vector["header"].split(" ")
    refuse_unless(scheme == "Shoal" and len(who) == 64, "bad-signature")
    text = bytes.fromhex(vector["audience"]) + blake(texts[0]) + f"POST {vector['target']} {moment}".encode()
    require_signature(bytes.fromhex(who), b"request", text, base64.b64decode(signed))
    refuse_unless(abs(vector["now_s"] - float(moment)) <= 300, "clock-skew")


def _lots(vector: Vector, _: Sequence[bytes]) -> None:
    members = [bytes.fromhex(one) for one in vector["identities"]]
    restarts, commits, reveals = 0, dict[bytes, bytes](), dict[bytes, bytes]()
    for verb, *words in vector["steps"]:
        if verb == "without_silent":
            refuse_unless(restarts < 2, "too-late")
            heard = reveals if len(commits) == len(members) else commits
            members, restarts, commits, reveals = [m for m in members if m in heard], restarts + 1, {}, {}
            continue
        who, said = map(bytes.fromhex, words)
        name = b"round" + bytes((restarts,))
        listed = [name, *sorted(members)]
        roster = blake(b"".join(len(one).to_bytes(4) + one for one in listed), b"shoal roster")
        refuse_unless(who in members, "unknown-member")
        if verb == "commit":
            refuse_unless(who not in commits, "duplicate")
            refuse_unless(len(said) == 32, "bad-length")
            commits[who] = said
        else:
            refuse_unless(len(commits) == len(members), "bad-frame")
            refuse_unless(who not in reveals, "duplicate")
            refuse_unless(blake(roster + who + said, b"shoal lot") == commits[who], "bad-commitment")
            reveals[who] = said


def mailbox(identity: bytes) -> bytes:
    """The X25519 key of an identity: (1 + y) / (1 - y)."""
    y = point_of(identity)[1]
    return ((1 + y) * pow(1 - y, -1, P) % P).to_bytes(32, "little")


def hpke_key(secret: X25519PrivateKey, fresh: bytes, info: bytes) -> tuple[bytes, bytes]:
    """RFC 9180, base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305; ValueError if weak."""

    def extract(suite: bytes, salt: bytes, label: bytes, text: bytes) -> bytes:
        return hmac.digest(salt, b"HPKE-v1" + suite + label + text, "sha256")

    def expand(suite: bytes, key: bytes, label: bytes, text: bytes, size: int) -> bytes:
        labeled = size.to_bytes(2) + b"HPKE-v1" + suite + label + text
        return hmac.digest(key, labeled + b"\x01", "sha256")[:size]

    kem, hpke = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x03"
    both = fresh + secret.public_key().public_bytes_raw()
    exchanged = secret.exchange(X25519PublicKey.from_public_bytes(fresh))
    shared = expand(kem, extract(kem, b"", b"eae_prk", exchanged), b"shared_secret", both, 32)
    context = b"\x00" + extract(hpke, b"", b"psk_id_hash", b"") + extract(hpke, b"", b"info_hash", info)
    scheduled = extract(hpke, shared, b"secret", b"")
    return expand(hpke, scheduled, b"key", context, 32), expand(hpke, scheduled, b"base_nonce", context, 12)


def _letters(vector: Vector, texts: Sequence[bytes]) -> bytes:
    name, me = bytes.fromhex(vector["name"]), vector["member"]
    members, seed = (
        [bytes.fromhex(one) for one in vector["identities"]],
        bytes.fromhex(vector["signing_seed"]),
    )
    secret = X25519PrivateKey.from_private_bytes(hashlib.sha512(seed).digest()[:32])
    received, said = [0] * len(members), b""
    for letter in texts:
        refuse_unless(156 <= len(letter) <= 156 + (1 << 24), "bad-length")
        refuse_unless(letter[:6] == b"shoaL1", "bad-frame")
        refuse_unless(letter[6:38] == name, "wrong-session")
        sender, receiver = letter[38:40]
        refuse_unless(receiver == me, "wrong-receiver")
        refuse_unless(sender < len(members) and sender != me, "unknown-member")
        head, public, number = letter[:44], letter[44:76], int.from_bytes(letter[40:44])
        try:
            key, nonce = hpke_key(secret, public, head)
            text = ChaCha20Poly1305(key).decrypt(nonce, letter[76:], b"")
        except (ValueError, InvalidTag) as error:
            raise Refused("bad-seal") from error
        bound = head + members[sender] + members[receiver]
        require_signature(members[sender], b"letter", bound + text[64:], text[:64])
        refuse_unless(number >= received[sender], "duplicate")
        refuse_unless(number == received[sender], "out-of-order")
        received[sender] += 1
        said += text[64:]
    return said


def _claims(vector: Vector, texts: Sequence[bytes]) -> None:
    secret, owners = int.from_bytes(bytes.fromhex(vector["secret"]), "little"), dict[bytes, bytes]()
    authority = text_of(multiplied(secret, BASE))
    for sealed in texts:
        refuse_unless(192 < len(sealed) - 48 <= 192 + 256, "bad-length")
        text = unsealed(sealed, secret, b"shoal claim")
        ends = [0, *accumulate((32, 32, 64, 64)), len(text)]
        name, key, receipt, own, user = (text[a:b] for a, b in pairwise(ends))
        held = 0
        for collector in vector["collectors"]:
            try:
                require_signature(bytes.fromhex(collector), b"receipt", name + key, receipt)
                held += 1
            except Refused:
                continue
        refuse_unless(held > 0, "unknown-collector")
        require_signature(key, b"claim", authority + name + user, own)
        refuse_unless(owners.setdefault(name, user) == user, "not-entitled")


def _received(session: Session, vector: Vector, texts: Sequence[bytes]) -> None:
    """What comes to one member: a run in which everybody has opened is over."""
    seen, opened, others = set[bytes](), set[int](), set(range(session.n)) - {vector["member"]}
    for text in texts:
        one = read_frame(session, text)
        refuse_unless(opened != others and "ticks" not in vector, "too-late")
        refuse_unless(one.digest not in seen, "duplicate")
        seen.add(one.digest)
        if one.kind == OPEN:
            opened.add(one.sender)


def _shown_hop(session: Session, vector: Vector, texts: Sequence[bytes]) -> None:
    *inputs, hop = (read_frame(session, one) for one in texts)
    before = [pair for one in inputs for pair in read_input(session, one.body)]
    shares = [session.group.element(bytes.fromhex(one)) for one in vector["shares"]]
    require_hop(session, shares, before, hop)


def judge(vector: Vector, good_mix: Vector) -> Any:
    """Read what a vector holds; raises Refused with the name of its fault."""
    texts = [bytes.fromhex(one) + bytes(vector.get("pad", 0)) for one in vector.get("bytes", [])]
    session = session_of(good_mix["session"])._replace(proven=vector.get("proven", False))

    def shown() -> list[Frame]:
        return [read_frame(session, one) for one in texts]

    def committed_input() -> Any:
        commit, one = shown()
        require_commitment(session, commit, one)
        return read_input(session, one.body)

    judges: dict[str, Callable[[], Any]] = {
        "answers": lambda: _answers(vector, texts),
        "claims": lambda: _claims(vector, texts),
        "confession": lambda: read_confession(session, texts[0]),
        "element": lambda: session.group.element(texts[0]),
        "frame": shown,
        "hop": lambda: _shown_hop(session, vector, texts),
        "input": committed_input,
        "key": lambda: require_keys(session, *shown()),
        "letters": lambda: _letters(vector, texts),
        "lottery": lambda: _lots(vector, texts),
        "opening": lambda: read_opening(session, texts[0]),
        "points": lambda: read_points(texts[0]),
        "query": lambda: read_query(texts[0]),
        "receive": lambda: _received(session, vector, texts),
        "request": lambda: _request(vector, texts),
        "share": lambda: read_keys(session, texts[0]),
        "vote": lambda: read_vote(texts[0]),
    }
    return judges[vector["parse"]]()
