"""A few runs of each campaign; ./dev soak runs many."""

from collections import Counter

import pytest

import red_team_leftovers
from collect_campaigns import BadNetwork, cheat, fuzz, parsers, people, schedule, whole_round
from in_process import SERVER, form_groups
from mix_runs import seed
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import verify_key


def test_attacks_on_what_lasts_reach_nothing() -> None:
    """lab/red_team_leftovers.py, whose figures stand in the documentation."""
    assert red_team_leftovers.state() == {"without": 6, "with": 0}
    assert red_team_leftovers.clock() == {"without": 20, "with": 0}
    kept = red_team_leftovers.storage()
    assert 10 * kept["with"] < kept["without"]
    assert kept["with"] > 0


def test_every_cheater_is_caught_over_wires_that_reorder() -> None:
    verdicts = Counter(cheat(number) for number in range(24))
    assert set(verdicts) <= {"caught, culprit right", "withheld, known, nothing opened"}


def test_runs_over_bad_wires_end_and_blame_nobody_honest() -> None:
    verdicts = Counter(schedule(number) for number in range(15))
    assert set(verdicts) == {"all opened", "ended without blame for the honest"}


def test_a_testimony_that_overtakes_a_vote_puts_nobody_in_the_wrong() -> None:
    """A confession came before its author's vote; an audit without it named the wrong ones or nobody."""
    assert {cheat(number) for number in (11, 20)} == {"caught, culprit right"}


def test_whoever_lacks_a_message_calls_no_stop_groundless() -> None:
    """A member lost an honest hop, could not check the bad hop after it, and took the NO-GO for a lie."""
    assert schedule(22) == "ended without blame for the honest"


@pytest.mark.parametrize("number", range(2))
def test_whole_rounds_over_bad_wires_end_and_count_nobody_twice(number: int) -> None:
    assert not whole_round(number)[:4].isupper()


class Unheard(BadNetwork):
    """Some never reach the server.

    In which attempt, and whether with a commitment or a reveal, is said by number.
    """

    def __init__(self, lost: dict[bytes, tuple[int, ...]]) -> None:
        super().__init__(0)
        self.lost = lost

    def copies(self, sender: bytes, receiver: bytes, text: bytes) -> list[tuple[float, bytes]]:
        self.sent[sender] += 1
        return [] if receiver == SERVER and self.sent[sender] in self.lost.get(sender, ()) else [(0.0, text)]


def test_lots_start_again_without_whoever_kept_silent_at_most_twice() -> None:
    identities = [verify_key(one.signing_seed) for one in people(9)]
    groups, waiting, restarts = form_groups(identities, 3, Chance(seed(1)), Unheard({}))
    assert (sorted(map(len, groups)), waiting, restarts) == ([3, 3, 3], (), 0)
    for message in (1, 2):  # no commitment, no reveal
        groups, waiting, restarts = form_groups(
            identities, 3, Chance(seed(1)), Unheard({identities[4]: (message,)})
        )
        assert (sorted(map(len, groups)), waiting, restarts) == ([4, 4], (identities[4],), 1)
    groups, waiting, restarts = form_groups(
        identities, 3, Chance(seed(1)), Unheard({identities[4]: (1,), identities[5]: (3,)})
    )
    assert (sorted(map(len, groups)), restarts) == ([3, 4], 2)
    assert set(waiting) == set(identities[4:6])
    lost: dict[bytes, tuple[int, ...]] = {identities[4]: (2,), identities[5]: (4,), identities[6]: (6,)}
    groups, waiting, restarts = form_groups(identities, 3, Chance(seed(1)), Unheard(lost))
    assert (groups, sorted(waiting), restarts) == ([], sorted(identities), 2)


@pytest.mark.parametrize("name", parsers())
def test_no_bytes_crash_a_parser(name: str) -> None:
    parse, good = parsers()[name]
    counts = fuzz(parse, good, 400)
    assert counts.total() == 400
    assert len(counts) > 1 or name == "releases"  # where bad records are counted, not refused
