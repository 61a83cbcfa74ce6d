"""Hashes of identifiers in names: whole, cut, wrapped, in any usual spelling; and what chance explains."""

import base64
import hashlib
import uuid
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from naive_release import naive_release, small_city
from shoal.model.release import Linkage
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.verification import verify
from shoal.verification.leaks import digests, plain_hashes, spread_digests
from shoal.verification.leaks.digests import find_hashed_names, hash_like_words

UID = "caller-0007"
IDS = ("anne", UID, "33123456789")
ALGORITHMS = sorted(
    name for name in hashlib.algorithms_guaranteed if hashlib.new(name).digest_size
)  # the others have any size
WRAPPED: dict[str, Callable[[bytes], str]] = {
    "whole": lambda raw: raw.hex(),
    "upper case": lambda raw: raw.hex().upper(),
    "after a letter": lambda raw: "u" + raw.hex(),
    "after a word": lambda raw: "user_" + raw.hex()[:12],
    "in braces": lambda raw: "{" + raw.hex() + "}",
    "cut at both ends": lambda raw: raw.hex()[8:24],
    "the last 16": lambda raw: raw.hex()[-16:],
    "12 from the middle": lambda raw: raw.hex()[7:19],
    "with dashes": lambda raw: "-".join(raw.hex()[k : k + 4] for k in range(0, 32, 4)),
    "a uuid": lambda raw: str(uuid.UUID(raw.hex()[:32])),
    "0x": lambda raw: "0x" + raw.hex()[3:],
    "between others": lambda raw: "zz" + raw.hex()[5:17] + "-9k",
    "base32": lambda raw: base64.b32encode(raw).decode(),
    "base32 in lower case, without padding": lambda raw: base64.b32encode(raw).decode().lower().rstrip("="),
    "base32 of the middle": lambda raw: base64.b32encode(raw[3:13]).decode(),
    "base64": lambda raw: base64.b64encode(raw).decode(),
    "base64 for addresses": lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("="),
    "base64 of the middle": lambda raw: base64.b64encode(raw[4:14]).decode(),
    "a piece of base64": lambda raw: "u" + base64.b64encode(raw).decode()[3:16],
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("how", WRAPPED)
def test_a_hash_is_found_however_it_is_cut_or_wrapped(how: str, algorithm: str) -> None:
    name = WRAPPED[how](hashlib.new(algorithm, UID.encode()).digest())
    other = WRAPPED[how](hashlib.new(algorithm, b"nobody").digest())
    assert find_hashed_names(IDS, [name, other, "glove", ""]) == {name}


@pytest.mark.parametrize("name", ["blake2b", "blake2s"])
def test_digests_of_blake2_of_every_size_are_found(name: str) -> None:
    make = getattr(hashlib, name)
    hashes = {make(UID.encode(), digest_size=size).hexdigest() for size in range(4, make.MAX_DIGEST_SIZE + 1)}
    others = {make(b"nobody", digest_size=size).hexdigest() for size in range(4, make.MAX_DIGEST_SIZE + 1)}
    assert find_hashed_names(IDS, [*hashes, *others]) == hashes


@pytest.mark.parametrize("name", sorted(hashlib.algorithms_available))
def test_hashes_of_changed_identifiers_and_of_hashes_are_found(name: str) -> None:
    def digest(content: bytes) -> bytes:
        made = hashlib.new(name, content)
        return made.digest() if made.digest_size else made.digest(20)  # type: ignore[call-arg]

    uid = UID.encode()
    names = {
        digest(one).hex()[:16]
        for one in (uid, uid.upper(), uid + b"\n", uid + b"\r\n", digest(uid), digest(uid).hex().encode())
    }
    if not hashlib.new(name).digest_size:  # twice, of the longest first
        names -= {digest(digest(uid)).hex()[:16], digest(digest(uid).hex().encode()).hex()[:16]}
    assert find_hashed_names(IDS, [*names, digest(b"nobody").hex()[:16]]) == names


@pytest.mark.parametrize("change", [bytes, bytes.upper, lambda uid: uid + b"\n", lambda uid: uid + b"\r\n"])
def test_checksums_are_found(change: Callable[[bytes], bytes]) -> None:
    digits = f"{zlib.crc32(change(UID.encode())):08x}"
    names = {digits, digits * 2, digits.upper()}
    assert find_hashed_names(IDS, [*names, f"{zlib.crc32(b'nobody'):08x}"]) == names


def test_rarer_hashes_of_many_people_are_made_of_an_even_part() -> None:
    starts = range(0, 100 * digests.IDS_AT_ONCE, digests.IDS_AT_ONCE)
    chosen = [start for start in starts if digests.made_in_full(start, starts.stop)]
    assert len(chosen) == 4
    assert set(np.diff(chosen)) == {25 * digests.IDS_AT_ONCE}
    assert all(digests.made_in_full(start, 4 * digests.IDS_AT_ONCE) for start in starts[:4])


def test_common_hashes_of_a_person_outside_the_sample_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "IDS_AT_ONCE", 2)
    ids = [f"Caller-{number:04d}" for number in range(16)]
    assert not digests.made_in_full(2, len(ids))
    uid = ids[2].encode()
    wanted = {
        make(one).hexdigest()[start : start + 16]
        for make in (hashlib.md5, hashlib.sha1, hashlib.sha256, hashlib.sha512)
        for start in (0, 5)
        for one in (
            *(uid, uid.upper(), uid.lower(), uid + b"\n", uid + b"\r\n"),
            *(make(uid).digest(), make(uid).hexdigest().encode()),
        )
    }
    for blake in (hashlib.blake2b, hashlib.blake2s):
        wanted |= {blake(uid, digest_size=size).hexdigest() for size in (8, 16, 20, 32)}
    rare = {  # what the docs say is made of the sample only
        f"{zlib.crc32(uid):08x}",
        hashlib.sha256(uid.upper()).hexdigest()[:8],
        hashlib.sha3_256(uid.upper()).hexdigest(),
        hashlib.blake2b(uid, digest_size=9).hexdigest(),
    }
    assert find_hashed_names(ids, [*wanted, *rare, hashlib.md5(b"nobody").hexdigest()]) == wanted
    assert find_hashed_names(ids[2:3], rare) == rare


@pytest.mark.parametrize("size", [8, 16])
def test_short_digests_of_blake2s_are_found(size: int) -> None:
    name = "u" + hashlib.blake2s(UID.encode(), digest_size=size).hexdigest()
    assert find_hashed_names(IDS, [name]) == {name}


def test_eleven_characters_are_not_enough_and_twelve_are() -> None:
    digest = hashlib.sha256(UID.encode()).hexdigest()
    assert find_hashed_names(IDS, ["z" + digest[20:31]]) == frozenset()
    assert find_hashed_names(IDS, ["z" + digest[20:32]]) == {"z" + digest[20:32]}


def test_salted_and_changed_identifiers_are_not_found() -> None:
    """What the docs say cannot be seen."""
    for text in (b"salt" + UID.encode(), UID.encode() + b"\n\n", UID.title().encode()):
        assert find_hashed_names(IDS, [hashlib.sha256(text).hexdigest()]) == frozenset()


def test_without_identifiers_or_names_nothing_is_found() -> None:
    assert find_hashed_names([], ["0123456789abcdef"]) == frozenset()
    assert find_hashed_names(IDS, []) == frozenset()
    assert find_hashed_names(IDS, ["short", "zz-zz"]) == frozenset()


def test_random_pseudonyms_are_not_refused_and_hashed_ones_are_all_found() -> None:
    """2,000 people: by chance, runs of 12 digits come in about 1 of 9,000 such releases."""
    ids = [f"caller-{number:05d}" for number in range(2000)]
    assert find_hashed_names(ids, Randomness.for_research(5).pseudonyms(2000)) == frozenset()
    hashed = [hashlib.sha1(uid.encode()).hexdigest()[11:27] for uid in ids]
    assert find_hashed_names(ids, hashed) == set(hashed)


def test_what_chance_explains_is_not_refused() -> None:
    by_chance = digests._longer_than_chance
    twelve, thirteen = np.array([12]), np.array([13])
    assert by_chance(twelve, 1e-9, 4) == 12
    assert by_chance(twelve, 1e-3, 4) == 13  # that is: no run counts
    assert by_chance(thirteen, 1e-3, 4) == 14
    assert by_chance(np.array([16]), 1e-3, 4) == 15  # 1e-3 / 16^3 is below one in a million
    assert by_chance(np.array([12] * 5), 1e-3, 4) == 12  # so many do not come by chance
    assert by_chance(np.array([12, 12, 20]), 0.5, 4) == 17  # 0.5 / 16^5 is below one in a million
    assert by_chance(np.array([12] * 20), 0.5, 4) == 12


def test_a_pseudonym_that_is_a_cut_hash_refuses_a_release() -> None:
    original = small_city()
    release, linkage = naive_release(original)
    names = tuple(
        "u" + hashlib.md5(uid.encode()).hexdigest()[9:22] if number == 3 else name
        for number, (uid, name) in enumerate(zip(original.ids, release.trajectory_ids, strict=True))
    )
    renamed = dict(zip(release.trajectory_ids, names, strict=True))
    renamed_linkage = Linkage(linkage.uids, tuple(renamed[name] for name in linkage.trajectory_ids))
    verdict = verify(original, type(release)(**{**vars(release), "trajectory_ids": names}), renamed_linkage)
    assert verdict.kinds == {"raw-identifier"}
    assert names[3] not in str(verdict)


def test_what_in_a_text_may_be_a_hash() -> None:
    text = '"0123456789ABCDEF", sha: 4Xj/y+pQ0dWlQ2aT0qZb=; trajectory_identifier zz0123456789abcdef #1f77b4'
    assert list(hash_like_words(text)) == [
        "0123456789abcdef",
        "0123456789ABCDEF",
        "4Xj/y+pQ0dWlQ2aT0qZb",
        "trajectory_identifier",
        "zz0123456789abcdef",
    ]


@pytest.mark.parametrize("keeps", [True, False])
def test_hashes_made_once_find_what_hashes_made_anew_find(
    keeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "IDS_AT_ONCE", 3)
    monkeypatch.setattr(digests, "_KEPT_BYTES", 1 << 20 if keeps else 0)
    case: list[int] = []
    make = plain_hashes.digest_rows

    def counted(ids: Sequence[str], *, in_full: bool) -> plain_hashes.Codes:
        case.append(len(ids))
        return make(ids, in_full=in_full)

    monkeypatch.setattr(digests, "digest_rows", counted)
    ids = ["anna", "ben", "cho", "dee", "\udc80"]
    names = [hashlib.sha384(uid.encode("utf-8", "surrogatepass")).hexdigest()[:20] for uid in ids]
    others = [hashlib.blake2s(b"dee", digest_size=8).hexdigest(), b"dee".hex() + "zz"]
    shared = digests.Digests(ids)
    assert digests.find_hashed_names(shared, names) == set(names)
    assert digests.find_hashed_names(shared, others) == {others[0]}
    assert case == [3, 2] * (1 if keeps else 2)
    for uids_linked in shared:
        for start, end, size in zip(
            plain_hashes.STARTS, plain_hashes.STARTS[1:], plain_hashes.SIZES, strict=False
        ):
            assert 0 <= end - start - size < 15
        assert uids_linked.shape[1] == plain_hashes.STARTS[-1]
    assert len(list(shared)) == 2


def test_hashes_compared_in_tasks_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread_digests, "_IDS_OF_A_TASK", 7)
    ids = [f"caller-{number:05d}" for number in range(30)]
    names = [
        *Randomness.for_research(5).pseudonyms(20),
        hashlib.sha512(b"caller-00029").hexdigest()[50:70],
        hashlib.md5(b"caller-00007").hexdigest()[:8],
        base64.b64encode(hashlib.sha1(b"caller-00011").digest()).decode(),
    ]
    spread = spread_digests.SpreadDigests(ids, tmp_path, Run(threads=2), Run())
    for looked_for in (names, names[:20], names[21:22]):
        assert digests.search_hashes(spread, looked_for) == digests.search_hashes(ids, looked_for)
    assert digests.search_hashes(spread, names).names == set(names[20:])


def test_dates_that_begin_like_a_hash_by_chance_are_no_hashes() -> None:
    """One of 336 dates among 200,000 people: 0.38 are expected. Of cut hashes, all are refused."""
    dates = [f"2024{month:02d}{day:02d}" for month in range(1, 13) for day in range(1, 29)]
    n_hashes = digests.Digests([""] * 200_000).n_for_prefixes

    def search(names: list[str], cut: list[str]) -> frozenset[str]:
        prefixes = digests.PrefixSearch(names)
        prefixes.mark((bytes.fromhex(name.ljust(40, "0")), plain_hashes.SHORTEST_PREFIX) for name in cut)
        return prefixes.significant(n_hashes)

    assert search(dates, dates[:1]) == frozenset()
    assert search(dates, dates[:4]) == frozenset(dates[:4])
    long = "20240101abcdef"
    assert search([*dates, long], [dates[0], long]) == {long}
    pseudonyms = [f"{number:08x}" for number in range(300_000)]
    assert search(pseudonyms, pseudonyms[::1000]) == frozenset()  # 300, where chance gives 339
    assert search(pseudonyms, pseudonyms) == frozenset(pseudonyms)
    assert search(["a" * 8], ["a" * 8]) == frozenset()
    few = digests.Digests([""] * 20_000).n_for_prefixes
    lone = digests.PrefixSearch(["a" * 8])
    lone.mark([(b"\xaa" * 20, plain_hashes.SHORTEST_PREFIX)])
    assert lone.significant(few) == {"a" * 8}


# --- what chance gives --------------------------------------------------------------------------------------


def digest_of(uid: str) -> np.ndarray:
    return np.frombuffer(hashlib.sha256(uid.encode()).digest(), dtype=np.uint8)[None, :]


def searched(names: list[str], expected: float) -> digests.RunSearch:
    """A search that has seen one hash, among so many others that chance gives so many runs of 12."""
    search = digests.RunSearch(digests.HEX, names)
    search.compare(digest_of(UID))
    search.compared = int(expected * 2**48 / len(np.unique(search.index.windows)))
    return search


def test_what_is_expected_by_chance_is_counted_window_by_window() -> None:
    """A SHA-256 has 53 runs of 12 digits, a name of 16 digits 5, of which these two share one."""
    search = digests.RunSearch(digests.HEX, ["0123456789abcdef", "fedc0123456789ab"])
    assert search.expected == 0
    search.compare(digest_of(UID))
    assert search.expected == 9 * 53 / 2**48
    search.compare(np.concatenate([digest_of(uid) for uid in ("a", "b")]))
    assert search.expected == 9 * 53 * 3 / 2**48


def test_pieces_in_different_names_or_apart_are_not_one_long_piece() -> None:
    """Six pieces of 12 come by chance where 0.5 are expected; one piece of 17 does not."""
    whole = hashlib.sha256(UID.encode()).hexdigest()
    in_names = ["f" * k + whole[8 * k : 8 * k + 12] for k in range(6)]  # at 0, 1, ... of names that follow
    apart = ["f" * 3 + "f".join(whole[k : k + 12] for k in (0, 30, 10, 40, 20, 50))]
    for names in (in_names, apart):
        search = searched(names, 0.5)
        assert len(search.places_with_runs()) == len(names)
        assert search.significant_places().tolist() == []
    search = searched(["ff" + whole[20:37]], 0.5)
    assert (search.places_with_runs(), search.significant_places().tolist()) == ([0], [0])
    assert searched(["ff" + whole[20:36]], 0.5).significant_places().tolist() == []


@pytest.mark.parametrize(
    ("n", "expected", "chance"), [(0, 3.0, 1.0), (1, 0.01, 0.00995017), (2, 0.5, 0.0902)]
)
def test_the_chance_of_so_many_is_poissons(n: int, expected: float, chance: float) -> None:
    assert digests.chance_of_at_least(n, expected) == pytest.approx(chance, rel=1e-3)


def test_a_lone_piece_that_chance_explains_is_noted_with_its_chance() -> None:
    """20,000 people and one pseudonym that is 12 digits of a hash: no finding, and said."""
    ids = [f"caller-{number:05d}" for number in range(2000)]
    names = [
        *Randomness.for_research(5).pseudonyms(2000),
        "u" + hashlib.md5(b"caller-00007").hexdigest()[9:21],
    ]
    searched = digests.search_hashes(ids, names)
    assert searched.names == frozenset()
    (note,) = searched.notes()
    assert note.startswith(
        "1 pseudonym has 12 characters or more in common with a plain hash of an identifier"
    )
    assert searched.n_by_chance == 1
    assert 1e-6 < searched.chance < 1e-3
    assert "people, 0.0" in note
    assert " % of all releases" in note
    assert list(digests.search_hashes(ids, names[:-1]).notes()) == []


def test_a_chance_that_rounds_to_one_is_noted_as_a_share() -> None:
    (note,) = digests.HashSearch(names=frozenset(), n_by_chance=2, chance=0.9999999).notes()
    assert "100 % of all releases" in note


def test_the_note_stands_in_the_verdict() -> None:
    original = small_city(n_subjects=400, n_samples=2)
    release, linkage = naive_release(original)
    cut = "zz" + hashlib.sha256(original.ids[5].encode()).hexdigest()[30:42]
    names = (cut, *release.trajectory_ids[1:])
    renamed = dict(zip(release.trajectory_ids, names, strict=True))
    renamed_linkage = Linkage(linkage.uids, tuple(renamed[name] for name in linkage.trajectory_ids))
    verdict = verify(original, type(release)(**{**vars(release), "trajectory_ids": names}), renamed_linkage)
    assert verdict.holds, verdict.findings
    assert sum("in common with a plain hash" in note for note in verdict.notes) == 1
