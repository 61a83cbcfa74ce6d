"""A device's state: one JSON file that moves, opens in a later version, runs nothing, and knows her past."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gmpy2
import pytest

from service_town import PLACES, TERMS, WAY, Town, own_round_for, seed, through_disk
from shoal.errors import InputError, OutputError
from shoal_collect.crypto.chance import Chance
from shoal_collect.device.disk import (
    DeviceState,
    NotAStateError,
    Past,
    StateFolder,
    decode,
    encode,
    state_text,
)
from shoal_collect.matching.cylinders import Blur, cylinder_for
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.roles.days import StoredRelease
from shoal_collect.roles.participant import Participant, choose_questions, count_others
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import Answer
from shoal_collect.storage.database import Database

pytestmark = pytest.mark.usefixtures("quick_mixes")

POINTS = tuple(sorted(cylinder_for(one, Blur(radius_m=500, gap_min=30), seed("key"), 0) for one in WAY))


def device(key: object = 0, user: str = "me") -> Device:
    made = Device(user, seed("sign", key), seed("device", key), seed("server"), bytes(32), bytes(32))
    made.sent.append((POINTS, 20_000))
    made.owned.append(StoredRelease("ab" * 16, seed("claim"), 20_000))
    return made


def kept_in_round() -> DeviceState:
    own = device()
    return DeviceState(own, own_round_for(own, 2), 3)


def test_a_state_comes_back_as_it_was_with_what_its_parts_share(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    folder.save(kept_in_round())
    assert (tmp_path / "state.json").stat().st_mode & 0o077 == 0
    back = folder.load()
    assert back is not None
    assert back.own_round is not None
    assert (back.device, back.rounds) == (device(), 3)
    assert back.own_round.device is back.device
    assert back.own_round.member.sent is back.device.sent
    assert state_text(back) == state_text(kept_in_round())
    assert back.own_round.next_call() == kept_in_round().own_round.next_call()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value",
    [None, True, -7, 1.5, "text", b"\x00\xff", (1, (b"", "")), [1, [2]], {3, 4}, frozenset({5}),
     {b"key": (1, 2), (1,): None}, gmpy2.mpz(1) << 4000, -gmpy2.mpz(5), {"same": 1}, TERMS, POINTS],
)  # fmt: skip
def test_values_come_back_with_their_types(value: Any) -> None:
    back = decode(json.loads(json.dumps(encode(value))))
    assert (back, type(back)) == (value, type(value))


def test_what_no_state_holds_is_not_written() -> None:
    for stranger in (Path(), object(), Thresholds, lambda: None):
        with pytest.raises(TypeError):
            encode(stranger)


@pytest.mark.parametrize(
    "document",
    [
        {"object": "device.disk:StateFolder", "fields": {}, "number": 0},
        {"object": "storage.database:Database", "fields": {}, "number": 0},
        {"object": "crypto...os:system", "fields": {}, "number": 0},
        {"object": "crypto.chance:hashlib", "fields": {}, "number": 0},
        {"object": "roles.participant:Chance", "fields": {}, "number": 0},
        {"object": "os:system", "fields": {}, "number": 0},
        {"object": "crypto.chance:Chance", "fields": {"take": "mine"}, "number": 0},
        {"enum": "crypto.chance:Chance", "of": "x"},
        {"model": "roles.terms:Terms", "fields": {"group_size": 1}},
        {"same": 5}, {"eval": "1"}, {}, [], {"bytes": "xx"}, {"list": 1, "number": 0},
        {"dict": [[1]], "number": 0},
    ],
)  # fmt: skip
def test_a_text_that_somebody_has_changed_runs_and_makes_nothing(document: Any) -> None:
    with pytest.raises(NotAStateError):
        decode(document)


@pytest.mark.parametrize(
    "damage", [lambda text: b"", lambda text: text[:-9], lambda text: b"7", lambda text: b"{}"]
)
def test_a_damaged_state_is_told(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    folder = StateFolder(tmp_path)
    folder.save(kept_in_round())
    file = tmp_path / "state.json"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(InputError, match="restore it"):
        folder.load()


def test_keys_and_history_outlive_a_version_and_a_round_under_way_need_not(tmp_path: Path) -> None:
    folder, file = StateFolder(tmp_path), tmp_path / "state.json"
    folder.save(kept_in_round())
    older = file.read_text().replace("roles.participant_round:ParticipantRound", "roles.journey:Journey")
    file.write_text(older)
    with pytest.raises(InputError, match=r"begun by shoal .*set \"round\""):
        folder.load()
    document = json.loads(older) | {"round": None}
    file.write_text(json.dumps(document))
    assert folder.load() == DeviceState(device(), None, 3)
    # what a later version adds to a device has its default here
    file.write_text(json.dumps(document | {"version": 99}))
    with pytest.raises(InputError, match="another version"):
        folder.load()


def test_her_past_is_known_to_every_state_of_her_account(tmp_path: Path) -> None:
    past = Past(tmp_path / "account")
    first, second, stranger = device(1), device(2), device(3, user="somebody else")
    second.sent[:], stranger.sent[:] = [(POINTS[:2], 20_001)], [(POINTS[:2], 20_001)]
    for number, own in enumerate((first, second, stranger)):
        StateFolder(tmp_path / f"state {number}", past).save(DeviceState(own))
    assert past.of(first) == (first.sent, second.sent)
    assert past.of(second) == (second.sent, first.sent)
    assert past.of(stranger) == (stranger.sent, [])
    # a copy of the first state that is older still knows what the first has released since
    older = dataclasses.replace(first, sent=[])
    assert past.of(older)[0] == first.sent
    files = sorted((tmp_path / "account").iterdir())
    assert len(files) == 2
    assert all(one.stat().st_mode & 0o077 == 0 for one in files)
    assert seed("device", 1).hex() not in files[0].read_text() + files[1].read_text()
    for one in files:
        one.write_text("{")
    with pytest.raises(InputError, match="could count as your crowd; restore it"):
        past.of(first)
    (tmp_path / "blocked").write_text("")
    with pytest.raises((OutputError, InputError, NotADirectoryError)):
        Past(tmp_path / "blocked" / "below").keep(first)


def test_what_she_released_from_another_state_is_no_crowd_of_hers() -> None:
    member = Participant(
        device_key=seed("device"), points=WAY, k=1,
        blur=Blur(radius_m=500, gap_min=30), sent=[(POINTS, 5)],
        elsewhere=[(POINTS, 5), (POINTS[:2], 6), (POINTS, 9)],
    )  # fmt: skip
    asked = choose_questions(member, POINTS, PLACES, Terms(n_real=3, n_fake=1, longest=2), Chance(bytes(32)))
    answers = {record: Answer(0 if record[4:20] in asked.canaries else 4, 9) for record in asked.records}
    # of 4 she is one, and under other keys another, and one more for the first two points; not yet on day 9
    assert count_others(member, asked, answers, Thresholds(theta_m=0, theta_min=0)) == {
        (0, 1): 1,
        (0, 2): 2,
        (1, 2): 2,
    }


def test_a_round_goes_through_its_text_at_every_step() -> None:
    """Town kills every device before each step in test_collect_service; here one look at its size."""
    town = Town(Database(), 3)
    for _ in range(3):
        for number in range(3):
            town.step(number)
            town.own_rounds[number] = through_disk(town.own_rounds[number])
    kept = DeviceState(town.own_rounds[0].device, town.own_rounds[0])
    assert len(state_text(kept)) < 200_000
