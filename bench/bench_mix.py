"""Computation and bytes of each member in one mix run with the pinned 3072-bit group and sealed letters."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/collect/tests/helpers"))

from nacl.bindings import crypto_sign_seed_keypair

from collect_costs import mix_messages
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.group import FFDHE3072
from shoal_collect.crypto.sealing import Correspondence
from shoal_collect.matching.records import RECORD_BYTES
from shoal_collect.mix.member import Broadcast, Member, OpenedRecords, Output
from shoal_collect.mix.messages import Session


def run(n: int, n_records: int, *, proven: bool) -> dict[str, object]:
    """One sound run; every letter is sealed, and opened by its receiver."""
    chance = Chance(bytes(32))
    seeds = [chance.seed() for _ in range(n)]
    identities = tuple(bytes(crypto_sign_seed_keypair(one)[0]) for one in seeds)
    session = Session(chance.seed(), identities, n_records, RECORD_BYTES, FFDHE3072, proven)
    letters = [Correspondence(session.name, identities, i, seeds[i]) for i in range(n)]
    members = [
        Member(
            session,
            i,
            seeds[i],
            [chance.take(RECORD_BYTES) for _ in range(n_records)],
            Chance(chance.seed()),
            1e9,
        )
        for i in range(n)
    ]
    cpu_s, sent_bytes, messages, outcomes = [0.0] * n, [0] * n, [0] * n, [False] * n
    waiting: list[tuple[int, bytes]] = []

    def took(place: int, events: Sequence[Output]) -> None:
        for event in events:
            if isinstance(event, Broadcast):
                for other in range(n):
                    if other != place:
                        waiting.append((other, letters[place].seal(other, event.frame)))
                        sent_bytes[place] += len(waiting[-1][1])
                        messages[place] += 1
            outcomes[place] |= isinstance(event, OpenedRecords)

    def timed(place: int, letter: bytes | None) -> None:
        began = time.process_time()
        took(
            place,
            members[place].start(0.0)
            if letter is None
            else members[place].receive(letters[place].open(letter), 0.0),
        )
        cpu_s[place] += time.process_time() - began

    for place in range(n):
        timed(place, None)
    while waiting:
        timed(*waiting.pop(0))
    assert all(outcomes)
    assert messages == [mix_messages(n)] * n
    return {
        "members": n,
        "records_each": n_records,
        "proven": proven,
        "messages_each": messages[0],
        "cpu_s": [round(one, 2) for one in cpu_s],
        "sent_mb": [round(one / 1e6, 2) for one in sent_bytes],
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--members", type=int, default=4)
    options.add_argument(
        "--records",
        type=int,
        nargs="+",
        default=[200],
        help="200 as a person would ask, 1000 as in the paper's example",
    )
    options.add_argument("--proven", action="store_true", help="with proofs of every shuffle")
    given = options.parse_args()
    for n_records in given.records:
        print(json.dumps(run(given.members, n_records, proven=given.proven)), flush=True)


if __name__ == "__main__":
    main()
