"""The long campaigns of the user-centric protocol: cheaters at every place and random messages to every parser, with their counts."""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from mix_runs import LAST_MIXES_NOTHING, PROVEN, SMALL, Network, Withhold, build, seed, session_of
from shoal.collect.authority import Authority
from shoal.collect.chance import Chance
from shoal.collect.collector import check_answer
from shoal.collect.envelope import draw_secret
from shoal.collect.faults import PeerError
from shoal.collect.member import Aborted, Member
from shoal.collect.messages import Confession, Hop, Key, Opening, Vote, decode_list, open_frame
from shoal.collect.records import decode_points, decode_query, decode_releases


def cheat(number: int) -> str:
    """One run with one cheater; the verdict in a word."""
    chance = random.Random(number)
    n, kind = chance.randint(3, 6), chance.choice([*PROVEN, Withhold])
    place = chance.randrange(n - 1 if kind in LAST_MIXES_NOTHING else n)
    outcomes = Network(build(session_of(n, 2, name=number), {place: kind}), number).run()
    for me in set(range(n)) - {place}:
        outcome = outcomes.get(me)
        if not isinstance(outcome, Aborted):
            return f"OPENED or stuck: {kind.__name__} at {place} of {n}, run {number}"
        found = outcome.findings
        named = found.silent if kind is Withhold else found.culprits
        if named != {place} or (kind is Withhold and found.culprits):
            return f"WRONG VERDICT {found}: {kind.__name__} at {place} of {n}, run {number}"
    return "caught"


def parsers() -> dict[str, tuple[Callable[[bytes], Any], bytes]]:
    """Every parser of bytes from outside, with one good message."""
    session = session_of(3, 2)
    members = build(session)
    network = Network(members)
    frames: list[bytes] = []
    sent = network.send

    def record(member: Member, other: int, frame: bytes) -> None:
        frames.append(frame)
        sent(member, other, frame)

    network.send = record  # type: ignore[method-assign]  # a spy
    network.run()
    by_kind = {frame[6]: frame for frame in frames}
    body = {kind: frame[40:-64] for kind, frame in by_kind.items()}
    authority = Authority(draw_secret(Chance(seed(0))), frozenset())
    return {
        "frame": (lambda data: open_frame(session, data), by_kind[6]),
        "element": (SMALL.from_bytes, SMALL.to_bytes(SMALL.g)),
        "key": (lambda data: Key.decode(session, data), body[2]),
        "input": (lambda data: decode_list(session, data), body[4]),
        "hop": (lambda data: Hop.decode(session, data, last=False), body[5]),
        "vote": (Vote.decode, body[6]),
        "opening": (lambda data: Opening.decode(session, data), body[7]),
        "confession": (lambda data: Confession.decode(session, data), body[7] + bytes(300)),
        "query": (decode_query, bytes((1, 1, 2, 0)) + bytes(144)),
        "points": (decode_points, bytes(32)),
        "releases": (lambda data: decode_releases([data]), bytes((1, 2, 1, 0)) + bytes(144)),
        "claim": (authority.take, bytes(300)),
        "answer": (lambda data: check_answer(bytes(32), b"", data), bytes(102)),
    }


def fuzz(parse: Callable[[bytes], Any], good: bytes, times: int) -> Counter[str]:
    """Random and mutated bytes: accepted or refused with a name; anything else ends the campaign."""
    chance, outcome = random.Random(1), Counter[str]()
    for _ in range(times):
        data = bytearray(good if chance.random() < 0.8 else chance.randbytes(chance.randrange(400)))
        for _ in range(chance.randrange(1, 5)):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data) + 1) :]
        try:
            parse(bytes(data))
            outcome["accepted"] += 1
        except PeerError as refused:
            outcome[refused.kind] += 1
    return outcome


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=500)
    options.add_argument("--messages", type=int, default=100_000, help="to each parser")
    given = options.parse_args()
    for name, (parse, good) in parsers().items():
        print(name, dict(fuzz(parse, good, given.messages)), flush=True)
    verdicts = Counter(cheat(number) for number in range(given.runs))
    for verdict, times in verdicts.items():
        print(f"{times} of {given.runs} runs: {verdict}")
    sys.exit(set(verdicts) != {"caught"})


if __name__ == "__main__":
    main()
