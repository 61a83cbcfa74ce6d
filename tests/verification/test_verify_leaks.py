"""The leak lint: what it must find in names, text and order, and what it must not mistake for a leak."""

import hashlib
import json
import re
from collections.abc import Callable
from itertools import permutations
from math import factorial
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow.parquet as pq
import pytest

from folder_damages import edit_manifest, edit_page, edit_table
from naive_release import naive_release, small_city
from shoal.errors import InputError, MisuseError
from shoal.model.claims import KAnonymity
from shoal.model.finding_kinds import FindingKind
from shoal.model.grid import Grid
from shoal.model.intake import Intake, Reading
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.manifest import (
    RELEASE_FILE,
)
from shoal.runtime.randomness import Randomness
from shoal.verification import verify, verify_files
from shoal.verification.leaks.digests import find_hashed_names
from shoal.verification.leaks.identifiers import Names, is_distinctive, searchable_text
from shoal.verification.leaks.order import (
    neighbors_z,
    order_findings,
    spearman_z,
    too_many_equal_steps,
)
from shoal.verification.leaks.raw_identifiers import RawIdentifiers
from written_folders import REPORT, written


def city_of(ids: list[str], *, intake: Intake | None = None) -> Trajectories:
    """Three samples for each of these people."""
    draw = np.random.Generator(np.random.PCG64(5))
    rows = [name for name in reversed(ids) for _ in range(3)]
    t, x, y = (
        draw.integers(0, 400, len(rows)),
        draw.integers(-9, 9, len(rows)),
        draw.integers(-9, 9, len(rows)),
    )
    return Trajectories.from_rows(rows, t, x, y, grid=Grid(), intake=intake)


# --- identifiers --------------------------------------------------------------------------------------------

HARMLESS = {
    "short numbers": [str(number) for number in range(1, 41)],
    "letters": list("abcdefghijklmnopqrstuvwxyz"),
    "words of the manifest": [
        "glove",
        "naive",
        "merge",
        "leftover",
        "uid",
        "k",
        "parameters",
        "verdict",
        "k-anonymity",
        "0",
    ],
    "words of the report": ["Release", "glove", "people", "median", "subject", "The", "var", "curve"],
    "dates and numbers of the report": [
        "2008-06-03",
        "day 10",
        "u17",
        "123456789",
        "774929123",
        "1f77b4",
        "27000000",
        "0.5",
    ],
}


@pytest.mark.parametrize("name", HARMLESS)
def test_ordinary_identifiers_refuse_no_honest_release(name: str, tmp_path: Path) -> None:
    original = city_of(HARMLESS[name])
    folder, linkage = written(original, tmp_path / "release")
    assert verify_files(original, folder, linkage).findings == ()


@pytest.mark.parametrize(
    ("name", "telling"),
    [
        *[
            ("caller-0007", True),
            ("u00017", True),
            ("u0017", False),
            ("elizabeth", True),
            ("abboip", False),
            ("trajectory", False),
        ],
        *[
            ("33123456789", True),
            ("123456789", True),
            ("12345678", False),
            ("2008-06-03", False),
            ("+33 1 23 45 67 89", True),
            ("", False),
        ],
    ],
)
def test_telling_names(name: str, telling: bool) -> None:
    assert is_distinctive(name) is telling


IDS = ("caller-0007", "Anne O'Neil 3", "33123456789", "élodie&marc-1", "deadbeef01")
FOUND = (
    "seen: caller-0007.",
    "CALLER-0007",
    '{"id":"caller\\u002d0007"}',
    "<td>33123456789</td>",
    "ends with 33123456789.",
    "tel:33123456789;",
    "by Anne O&#39;Neil 3, of",
    "élodie&amp;marc-1",
    "line\\ncaller-0007\\n",
    "the key deadbeef01 of",
)
CHANCE = (
    "caller-00071",
    "acaller-0007",
    "caller 0007",
    "48.33123456789",
    ".33123456789",
    "33123456789.5",
    "x331234567891",
    "A" * 90 + "/deadbeef01/" + "B" * 90,
)


@pytest.mark.parametrize("text", FOUND)
def test_an_identifier_in_running_text_is_found(text: str) -> None:
    assert Names.of(IDS).in_text(searchable_text(text)) == 1


@pytest.mark.parametrize("text", CHANCE)
def test_pieces_of_other_words_and_numbers_are_no_identifiers(text: str) -> None:
    assert Names.of(IDS).in_text(searchable_text(text)) == 0


def test_a_word_of_six_letters_is_an_identifier_where_it_stands_alone() -> None:
    names = Names.of(["abboip", "Roboto", "merge", "al-b3"])
    assert names.in_text("<td>Abboip</td>") == names.in_text('["abboip","x"]') == 1
    assert names.in_text("the abboip of abboips, <td>Roboto</td> <td>merge</td>") == 0


def test_colors_are_no_identifiers() -> None:
    names = Names.of(["1f77b4", "9467bd", "x-1f77b4"])
    assert names.in_text("color: #1f77b4; fill: #9467BD") == 0
    assert names.in_text("bus 1f77b4 went") == 1


@pytest.mark.parametrize(
    "algorithm", ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s"]
)
@pytest.mark.parametrize("digits", [8, 13, 32, None])
def test_hashes_and_their_first_digits_are_found(algorithm: str, digits: int | None) -> None:
    digest = hashlib.new(algorithm, b"caller-0007").hexdigest()[:digits]
    other = hashlib.new(algorithm, b"nobody").hexdigest()[:digits]
    assert find_hashed_names(IDS, [digest, other, "glove", ""]) == {digest}
    assert find_hashed_names(IDS, [digest.upper()]) == {digest.upper()}
    assert find_hashed_names(IDS, [digest[:7], digest[:11] + "zz"]) == frozenset()


def test_a_hash_in_the_form_of_a_uuid_is_found() -> None:
    digest = hashlib.md5(b"caller-0007").hexdigest()
    dashed = "-".join([digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]])
    assert find_hashed_names(IDS, [dashed]) == {dashed}


def test_the_person_of_a_person_day_is_an_identifier_too() -> None:
    ids = [f"u{number}@2024-05-0{day}" for number in range(1, 5) for day in (1, 2)]
    original = city_of(ids, intake=Intake(rows_read=24, reading=Reading(per_day=True)))
    assert set(RawIdentifiers.of(original).ids) == {*ids, "u1", "u2", "u3", "u4"}
    assert RawIdentifiers.of(city_of(ids)).ids == tuple(sorted(ids))


def test_a_raw_identifier_as_part_of_a_pseudonym_is_found_and_never_shown() -> None:
    original = small_city()
    release, linkage = naive_release(original)
    names = (f"x-{linkage.uids[0]}", *release.trajectory_ids[1:])
    renamed_linkage = Linkage(
        linkage.uids, tuple(names[release.trajectory_ids.index(name)] for name in linkage.trajectory_ids)
    )
    broken = type(release)(**{**vars(release), "trajectory_ids": names, "claim": KAnonymity(k=9)})
    verdict = verify(original, broken, renamed_linkage)
    assert {"raw-identifier", "class-below-k"} <= verdict.kinds
    assert linkage.uids[0] not in str(verdict)


# --- the machine and its user -------------------------------------------------------------------------------


@pytest.fixture
def on_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "calls-host-17.example.org")
    monkeypatch.setattr("platform.node", lambda: "calls-host-17")
    monkeypatch.setattr("getpass.getuser", lambda: "wilhelmina")


@pytest.mark.usefixtures("on_a_machine")
@pytest.mark.parametrize(
    "text",
    [
        "written on calls-host-17",
        "by Wilhelmina,",
        "file:///Users/someone/x.csv",
        "/" + "root/x",
        r"C:\\Users\\x",
        "/home/x",
    ],
)
def test_what_names_the_machine_is_found_in_report_manifest_and_metadata(text: str, tmp_path: Path) -> None:
    original = small_city()
    folder, linkage = written(original, tmp_path / "release")
    edit_page(folder, REPORT + text)
    assert verify_files(original, folder, linkage).kinds == {"metadata"}
    edit_page(folder, None)
    assert verify_files(original, folder, linkage).holds
    edit_manifest(folder, lambda manifest: manifest["verdict"].update(notes=[text]))
    assert verify_files(original, folder, linkage).kinds == {"metadata", "false-statement"}
    edit_manifest(folder, lambda manifest: manifest["verdict"].update(notes=[]))
    edit_table(folder, lambda table: table.replace_schema_metadata({"note": text}))
    assert verify_files(original, folder, linkage).kinds == {"metadata", "hidden-bytes"}


def test_short_names_of_machine_and_user_refuse_no_honest_release(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "localhost")
    monkeypatch.setattr("platform.node", lambda: "")
    monkeypatch.setattr("getpass.getuser", lambda: "glove")
    original = small_city()
    folder, linkage = written(
        original,
        tmp_path / "release",
        REPORT + "<p>https://example.org/home/index localhost</p>",
    )
    assert verify_files(original, folder, linkage).findings == ()


def test_a_user_without_a_name_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nameless() -> str:
        raise OSError("no user name")

    monkeypatch.setattr("getpass.getuser", nameless)
    original = small_city()
    folder, linkage = written(original, tmp_path / "release")
    assert verify_files(original, folder, linkage).holds


def test_the_folders_own_place_in_the_report_is_found(tmp_path: Path) -> None:
    original = small_city()
    folder, linkage = written(original, tmp_path / "release")
    edit_page(folder, f"{REPORT} written to {folder}")
    assert verify_files(original, folder, linkage).kinds == {"metadata"}


# --- order --------------------------------------------------------------------------------------------------


def test_z_is_spearmans_rho_scaled_to_mean_0_and_variance_1() -> None:
    all_orders = [np.array(order) for order in permutations(range(6))]
    values = np.array([spearman_z(order) for order in all_orders])
    by_definition = [np.corrcoef(order, np.arange(6))[0, 1] * np.sqrt(5) for order in all_orders]
    np.testing.assert_allclose(values, by_definition, atol=1e-12)
    np.testing.assert_allclose([values.mean(), values.var()], [0.0, 1.0], atol=1e-12)
    assert spearman_z(np.array([30, 10, 20])) == spearman_z(np.array([2, 0, 1]))


@pytest.mark.parametrize("n_subjects", [4, 5, 6, 9])
def test_few_records_in_random_order_are_never_refused(n_subjects: int) -> None:
    original = city_of([f"caller-{number:04d}" for number in range(n_subjects)])
    for _ in range(150):
        assert verify(original, *naive_release(original, n_boxes=1)).findings == ()


@pytest.mark.parametrize("n_subjects", [12, 40, 300])
def test_records_in_random_order_are_not_refused(n_subjects: int) -> None:
    original = city_of([f"caller-{number:04d}" for number in range(n_subjects)])
    for seed in range(40):  # a fixed seed: with fresh chance, one release in 17,000 is refused
        assert (
            verify(original, *naive_release(original, n_boxes=1, rng=Randomness.for_research(seed))).findings
            == ()
        )


def kinds_for(
    subjects: np.ndarray, names: list[str], *, rank: np.ndarray | None = None, people: int | None = None
) -> list[str]:
    original = small_city(people or len(subjects), 1)
    if rank is not None:
        original = Trajectories(**{**vars(original), "input_rank": rank})
    return [finding.message for finding in order_findings(original, subjects.astype(np.int64), names)]


def test_orders_that_tell_are_found() -> None:
    draw = np.random.Generator(np.random.PCG64(2))
    n = 200
    random_names = [f"{number:016x}" for number in draw.permutation(n)]
    rank, subjects = draw.permutation(n), draw.permutation(n)
    assert kinds_for(subjects, random_names, rank=rank) == []
    assert kinds_for(np.arange(n), random_names, rank=rank) == [
        "the order of the records repeats the order of the raw identifiers; expected a random one"
    ]
    assert kinds_for(np.argsort(rank)[::-1], random_names, rank=rank) == [
        "the order of the records reverses the order of the input; expected a random one"
    ]
    half_sorted = np.concatenate([np.arange(n // 2), n // 2 + draw.permutation(n // 2)])
    assert len(kinds_for(half_sorted, random_names, rank=rank)) == 1
    counted = [f"p{number:05d}" for number in np.argsort(np.argsort(rank[subjects]))]
    assert kinds_for(subjects, counted, rank=rank) == [
        "the order of the pseudonyms repeats the order of the input; expected a random one"
    ]


ORDERS: dict[str, Callable[[int], list[int]]] = {
    "rotated by 21 %": lambda n: [(i + 21 * n // 100) % n for i in range(n)],
    "rotated by half": lambda n: [(i + n // 2) % n for i in range(n)],
    "evens, then odds in reverse": lambda n: [*range(0, n, 2), *range(1, n, 2)[::-1]],
    "every 211th": lambda n: [211 * i % n for i in range(n)],
    "halves in turns": lambda n: [i // 2 + i % 2 * (n // 2) for i in range(n)],
    "dealt to five": lambda n: sorted(range(n), key=lambda i: i % (n // 5)),
    "blocks of ten, shuffled inside": lambda n: [
        i for begin in range(0, n, 10) for i in np.random.default_rng(begin).permutation(10) + begin
    ],
}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("suppressed", [0, 100])
def test_orders_that_neighbors_or_steps_give_away_are_found(name: str, suppressed: int) -> None:
    """Also where some people have no record."""
    draw = np.random.Generator(np.random.PCG64(3))
    n = 1000
    rank, random_names = draw.permutation(n), [f"{number:016x}" for number in draw.permutation(n)]
    order = np.argsort(rank)[ORDERS[name](n)]
    published = order[np.sort(draw.permutation(n)[suppressed:])]
    (message,) = kinds_for(published, random_names[: len(published)], rank=rank, people=n)
    assert message.startswith("the order of the records ")
    assert message.endswith(" the order of the input; expected a random one")


def test_few_records_are_no_rotation_of_the_input_from_twelve_on() -> None:
    names = [f"{number:016x}" for number in np.random.default_rng(4).permutation(12)]
    for n, message in (
        (11, []),
        (12, ["the order of the records takes 11 equal steps through the order of the raw identifiers"]),
    ):
        found = kinds_for((np.arange(n) + 5) % n, names[:n])
        assert [one.removesuffix("; expected a random one") for one in found] == message


def test_the_z_of_neighbors_has_mean_0_and_variance_1() -> None:
    all_orders = [np.array(order) for order in permutations(range(7))]
    values = np.array([neighbors_z(order) for order in all_orders])
    np.testing.assert_allclose([values.mean(), values.var()], [0.0, 1.0], atol=1e-12)
    by_definition = [np.corrcoef(order, np.roll(order, -1))[0, 1] for order in all_orders]
    np.testing.assert_allclose(np.corrcoef(values, by_definition)[0, 1], 1.0)
    assert neighbors_z(np.array([30, 10, 20, 50])) == neighbors_z(np.array([2, 0, 1, 3]))


@pytest.mark.parametrize(("n", "people"), [(12, 12), (40, 40), (40, 60), (300, 300)])
def test_equal_steps_of_random_orders_are_as_rare_as_their_bound_says(n: int, people: int) -> None:
    draw = np.random.default_rng(5)
    orders = draw.permuted(np.tile(np.arange(people), (20_000, 1)), axis=1)[:, :n]
    steps = np.sort(np.diff(orders, axis=1) % people, axis=1)
    for times in (3, 4, 5, 6):
        found = (steps[:, times - 1 :] == steps[:, : n - times]).any(axis=1).mean()
        assert found <= n / factorial(times) + 3 * (n / factorial(times) / 20_000) ** 0.5
    assert too_many_equal_steps(n) == next(m for m in range(20) if n / factorial(m) <= 1e-6)


def test_a_record_without_known_subject_has_no_place_in_an_order() -> None:
    assert kinds_for(np.array([-1, -1, 0, 1]), list("abcd")) == []
    assert kinds_for(np.full(4, -1), list("abcd")) == []


# --- folders that cannot be read ----------------------------------------------------------------------------


def test_a_folder_without_manifest_or_boxes_is_bad_input(tmp_path: Path) -> None:
    original = small_city()
    with pytest.raises(InputError, match="is not a release folder"):
        verify_files(original, tmp_path)
    folder, _ = written(original, tmp_path / "release")
    (folder / RELEASE_FILE).write_bytes((folder / RELEASE_FILE).read_bytes()[:200])
    with pytest.raises(InputError, match="truncated"):
        verify_files(original, folder)
    (folder / RELEASE_FILE).unlink()
    with pytest.raises(InputError, match="does not exist"):
        verify_files(original, folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, None])
def test_bounds_that_are_no_numbers_are_bad_input(value: float | None, tmp_path: Path) -> None:
    import pyarrow as pa

    original = small_city()
    folder, _ = written(original, tmp_path / "release")
    edit_table(
        folder,
        lambda table: table.set_column(
            3, "x_min", pa.array([value, *[0.0] * (table.num_rows - 1)], pa.float64())
        ),
    )
    with pytest.raises(
        InputError,
        match=r"the column x_min of release\.parquet holds missing, infinite or impossibly large values",
    ):
        verify_files(original, folder)


def test_texts_as_bounds_and_a_grid_that_cannot_be_are_bad_input(tmp_path: Path) -> None:
    import pyarrow as pa

    original = small_city()
    folder, _ = written(original, tmp_path / "release")
    edit_manifest(folder, lambda manifest: manifest.update(cell_m=1e-300))
    with pytest.raises(InputError, match="does not fit the manifest's cell and slot"):
        verify_files(original, folder)
    edit_table(folder, lambda table: table.set_column(3, "x_min", pa.array(["here"] * table.num_rows)))
    with pytest.raises(InputError, match="is not made of numbers"):
        verify_files(original, folder)


def test_columns_in_other_types_of_the_same_value_hold(tmp_path: Path) -> None:
    import pyarrow as pa

    original = small_city()
    folder, linkage = written(original, tmp_path / "release")
    instants = pa.timestamp("us", tz="UTC")
    edit_table(
        folder,
        lambda table: table.set_column(
            1, "t_start", pa.array((table["t_start"].to_numpy() * 1_000_000).tolist()).cast(instants)
        ),
    )
    assert pq.read_schema(folder / RELEASE_FILE).field("t_start").type == instants
    assert verify_files(original, folder, linkage).findings == ()


def test_points_as_given_cannot_be_held_against_boxes() -> None:
    original = small_city()
    release, linkage = naive_release(original)
    as_given = Trajectories.from_rows(["a", "b"], [0.5, 1.5], [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(MisuseError, match="as given"):
        verify(as_given, release, linkage)


def test_the_docs_explain_exactly_the_kinds_of_findings_that_there_are() -> None:
    root, kinds = Path(__file__).parents[2], get_args(FindingKind)
    rows = re.findall(r"^\| `([a-z-]+)` \| [A-Z]", (root / "docs" / "findings.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(kinds)
    sources = [path.read_text() for path in (root / "src").rglob("*.py") if path.name != "finding_kinds.py"]
    assert [kind for kind in kinds if not any(f'"{kind}"' in source for source in sources)] == []


def test_the_verdict_of_a_folder_can_be_written_as_json(tmp_path: Path) -> None:
    original = small_city()
    folder, _ = written(original, tmp_path / "release")
    verdict = verify_files(original, folder)
    assert isinstance(verdict, Verdict)
    facts = json.loads(json.dumps(verdict.to_json()))
    assert (facts["holds"], facts["findings"], facts["unchecked"]) == (False, [], list(verdict.unchecked))
