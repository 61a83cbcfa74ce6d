"""Three attacks on what lasts, each without and with what is there against it: state, storage, clock.

    python lab/red_team_leftovers.py

- "state": somebody releases the same trip under many states (``--state``), and asks how many others share it.
  Figure: the people whom her device counts beside her, of whom there are none.
- "storage": a member sends another all letters that a session allows, each as long as the longest. Figure:
  the bytes that the collector keeps for these two.
- "clock": the collector's clock jumps a year ahead and is set right. Figure: the releases that are deleted
  for good, of 20 that are to be kept for 30 days.
"""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/collect/tests/helpers"))

from service_town import PLACES, TERMS, WAY, identity_of, seed, volunteers
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.sealing import Correspondence
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Blur, cylinder_for
from shoal_collect.matching.records import Release
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.roles.participant import Participant, choose_questions, count_others
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import DAY_S, LETTERS, Answer, bundles
from shoal_collect.server.http_collector import DailyCleanup
from shoal_collect.server.mailbox import Mailbox
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import StoredReleases
from shoal_collect.storage.phi import PhiStore

DAY = 20_000
THRESHOLDS = Thresholds()
STATES = 6


def state() -> dict[str, int]:
    """Her own releases under other states, counted as a crowd."""
    points = tuple(sorted(cylinder_for(one, Blur(radius_m=500, gap_min=30), seed("key"), 0) for one in WAY))
    found = {}
    with PhiStore() as store:
        for number in range(STATES):
            store.add(Release(seed(number)[:16], seed("tag", number)[:16], bytes(32), points), DAY)
        counted = store.count(list(points[:2]), THRESHOLDS, DAY + 1)
    for name, elsewhere in (("without", []), ("with", [(points, DAY)] * STATES)):
        member = Participant(
            device_key=seed("device"), points=WAY, k=1,
            blur=Blur(radius_m=500, gap_min=30), elsewhere=elsewhere,
        )  # fmt: skip
        rules = Terms(n_real=3, n_fake=1, longest=2)
        asked = choose_questions(member, points, PLACES, rules, Chance(bytes(32)))
        answers = {
            record: Answer(0 if record[4:20] in asked.canaries else counted, DAY + 1)
            for record in asked.records
        }
        found[name] = max(count_others(member, asked, answers, THRESHOLDS).values())
    return found


def storage() -> dict[str, int]:
    """Bytes kept between two members, when one sends all that she may."""
    names = tuple(identity_of(seed("member", place)) for place in range(3))
    terms, channel, kept = Terms(), seed("channel"), 0
    longest = terms.letter_bytes
    with Database() as database:
        row = (bytes(32), terms.model_dump_json(), time.time() + 1e6)
        database.change(
            "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'grouped', 0, ?)", row
        )
        for place, name in enumerate(names):
            database.change(
                "INSERT INTO ticket (round, identity, signed, dropped, session, place) "
                "VALUES (1, ?, ?, 0, ?, ?)",
                (name, bytes(64), channel, place),
            )
        mailbox = Mailbox(database, seed("server"))
        letters = Correspondence(channel, names, 0, seed("member", 0))
        head = len(letters.seal(1, b""))
        for _ in range(LETTERS):
            letter = letters.seal(1, bytes(longest - head))
            try:
                kept += mailbox.send(names[0], bundles([letter])[0], time.time()) * len(letter)
            except PeerError:
                break
    return {"without": LETTERS * longest, "with": kept}


def clock() -> dict[str, int]:
    """Releases that a leap of the clock deletes."""
    found = {}
    for name in ("without", "with"):
        with PhiStore(Database()) as store:
            volunteers(store, 20, DAY)
            held = StoredReleases(store.database)
            if name == "without":
                held.tidy(DAY + 365, 30)
            else:
                cleanup = DailyCleanup(store.database, held, TERMS.model_copy(update={"kept_days": 30}))
                for now in (DAY, DAY + 365, DAY, DAY + 1):
                    cleanup.at(now * DAY_S)
            found[name] = 20 - len(held.all())
    return found


def main() -> None:
    print(json.dumps({"state": state(), "storage": storage(), "clock": clock()}))


if __name__ == "__main__":
    main()
