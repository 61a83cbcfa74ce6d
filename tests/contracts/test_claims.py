"""Every claim says everything about itself and has its row in the verifier's table."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np
import pytest
from jinja2 import UndefinedError

import shoal
from claim_check import verdict_on_claim
from claim_examples import EXAMPLES
from shoal.errors import InputError, MisuseError
from shoal.model.claims import (
    CLAIMS,
    Blurred,
    Claim,
    KAnonymity,
    KDeltaAnonymity,
    KteAnonymity,
    LocationPrivacy,
    claim_from_json,
    claim_to_json,
)
from shoal.model.grid import Grid
from shoal.model.release import Boxes, Losses, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.verification.checks import CHECKS
from shoal.verification.composition.candidates import Candidates, IssuedRelease
from shoal.verification.composition.several import require_candidates
from shoal.verification.examination import PARTS, Examination
from small_releases import record_of

NOBODY = shoal.Linkage((), ())
WORDS = ("name", "promise", "limits", "vanished", "privacy_model")


def missing_of(claim: Any) -> set[str]:
    """What a claim lacks: words, facts that checks read of it, or the verifier's row."""
    lacks = {what for what in WORDS if not getattr(claim, what, None)}
    facts = ("payload", "in_classes", "truthful", "disjoint_in_time", "cautions", "k")
    lacks |= {fact for fact in facts if not hasattr(claim, fact)}
    row = CHECKS.get(type(claim))
    if row is None:
        return lacks | {"check", "candidates", "streamed"}
    if row.candidates.fitting is None and not row.candidates.why_none:
        lacks.add("candidates")
    return lacks


def test_every_claim_is_in_every_table() -> None:
    assert list(CLAIMS.values()) == list(get_args(Claim))
    assert set(CHECKS) == set(CLAIMS.values()) == set(EXAMPLES)
    assert [name for name, kind in CLAIMS.items() if kind.type != name] == []


@pytest.mark.parametrize("kind", CLAIMS.values(), ids=list(CLAIMS))
def test_a_claim_lacks_nothing(kind: type) -> None:
    claim = EXAMPLES[kind]
    assert missing_of(claim) == set()
    assert claim_from_json(claim_to_json(claim)) == claim
    assert claim.payload in ("boxes", "points")
    assert "17" in claim.name
    texts = [claim.promise, *claim.limits, claim.vanished]
    assert [text for text in texts if not (text[0].isupper() and text.endswith("."))] == []


def test_no_two_claims_promise_the_same() -> None:
    for what in ("name", "promise"):
        assert len({getattr(claim, what) for claim in EXAMPLES.values()}) == len(CLAIMS)


@pytest.mark.parametrize("kind", CLAIMS.values(), ids=list(CLAIMS))
def test_a_part_that_nobody_marks_is_unchecked(kind: type) -> None:
    """A check that looks at nothing leaves every part of its claim unchecked, and the claim does not hold."""
    original, release = toy_release(EXAMPLES[kind])
    parts = CHECKS[kind].parts
    assert {"account", "subjects", "order"} < set(parts)
    verdict = Examination(original, release, NOBODY, parts).verdict()
    assert (verdict.holds, verdict.word, verdict.findings) == (False, "NOT CHECKED", ())
    assert list(verdict.unchecked) == [PARTS[part].words for part in parts]


def test_every_part_belongs_to_a_claim() -> None:
    assert {part for check in CHECKS.values() for part in check.parts} == set(PARTS)


@pytest.mark.parametrize("parts", [(), ("classes", "magic")])
def test_a_claim_without_parts_that_the_table_knows_is_refused(parts: tuple[str, ...]) -> None:
    original, release = toy_release(EXAMPLES[KAnonymity])
    with pytest.raises(MisuseError, match="a claim needs parts to be checked"):
        Examination(original, release, None, parts)


# --- a claim that the tables do not know --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in CLAIMS.values() if kind is not Blurred])
def test_sets_of_two_are_cautioned_against_and_no_others(kind: type) -> None:
    claim = EXAMPLES[kind]
    whatever_k_is = claim.cautions
    assert not [told for told in whatever_k_is if told.startswith("Sets of two. ")]
    assert set(whatever_k_is) <= set(claim.limits)
    assert bool(whatever_k_is) == (
        kind is KDeltaAnonymity
    )  # of any k: tests/attacks/test_strongest_attacks.py
    (told,) = replace(claim, k=2).cautions[len(whatever_k_is) :]
    assert told in replace(claim, k=2).limits
    assert told.startswith("Sets of two. This should not be called protection. ")


def test_truthful_boxes_that_are_no_leaves_say_what_their_sides_tell() -> None:
    tight = KAnonymity(k=5)
    for claim in (tight, replace(tight, hull="grid:500m"), EXAMPLES[KteAnonymity]):
        assert [told for told in claim.limits if told.startswith("Places at the sides of boxes. ")]
    for claim in (replace(tight, hull="leaves:5"), replace(tight, truthful=False)):
        assert not [told for told in claim.limits if told.startswith("Places at the sides of boxes. ")]


@dataclass(frozen=True, kw_only=True)
class Toy:
    """A claim that lacks everything but its type and its number."""

    type: ClassVar[str] = "toy"
    k: int = 2


@dataclass(frozen=True, kw_only=True)
class WholeToy(Toy):
    """A claim with all its words."""

    payload: ClassVar[str] = "boxes"
    in_classes: ClassVar[bool] = False
    truthful: ClassVar[bool] = True
    disjoint_in_time: ClassVar[bool] = True
    hull: ClassVar[str | None] = None
    diverse_places: ClassVar[int] = 1
    name: ClassVar[str] = "toy, k = 2"
    promise: ClassVar[str] = "It plays."
    cautions: ClassVar[tuple[str, ...]] = ()
    limits: ClassVar[tuple[str, ...]] = ("It does nothing else.",)
    vanished: ClassVar[str] = "Nothing vanishes."
    privacy_model: ClassVar[str] = "none"
    no_anonymity: ClassVar[str] = ""


def toy_release(claim: Any) -> tuple[Trajectories, Release]:
    original = Trajectories.from_rows(["a", "b"], [0, 0], [0, 1], [0, 0], grid=Grid())
    boxes = Boxes.of_samples(original.t, original.x, original.y)
    release = Release(
        trajectory_ids=("p", "q"),
        offsets=original.offsets,
        payload=boxes,
        claim=claim,
        grid=Grid(),
        method="toy",
        parameters={},
        losses=Losses(),
        crs=None,
        unit_of_protection=original.intake.unit_of_protection,
        publishable=True,
    )
    return original, release


def test_a_toy_claim_is_told_everything_it_lacks() -> None:
    told = {
        *WORDS,
        "payload",
        "in_classes",
        "truthful",
        "disjoint_in_time",
        "cautions",
        "check",
        "candidates",
        "streamed",
    }
    assert missing_of(Toy()) == told
    assert missing_of(WholeToy()) == {"check", "candidates", "streamed"}


@pytest.mark.parametrize("what", WORDS)
def test_a_claim_without_one_of_its_words_is_told(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(WholeToy, what)
    assert missing_of(WholeToy()) == {what, "check", "candidates", "streamed"}


@pytest.mark.parametrize("what", WORDS)
def test_a_record_never_lends_a_claim_the_words_of_another(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They once fell through to k-anonymity's, in a record that somebody signs."""
    original, whole = toy_release(WholeToy())
    release = replace(
        whole,
        trajectory_ids=("p",),
        offsets=whole.offsets[:2],
        payload=whole.boxes.take(slice(1)),
        method="static",
        losses=Losses(samples_suppressed=1, subjects_suppressed=1),
    )
    shown: Any = (original, release, shoal.Linkage(("a",), ("p",)), Verdict.of([], checked=1), [])
    assert "It does nothing else." in record_of(*shown)
    monkeypatch.delattr(WholeToy, what)
    with pytest.raises(UndefinedError, match=what):
        record_of(*shown)


def test_an_unknown_claim_is_checked_by_nobody() -> None:
    original, release = toy_release(WholeToy())
    with pytest.raises(MisuseError, match="no check is known for a claim of toy"):
        shoal.verify(original, release)
    with pytest.raises(MisuseError, match="no check is known for a claim of toy"):
        require_candidates(IssuedRelease(label="it", original=original, release=release, linkage=NOBODY))


def test_a_row_must_say_why_no_candidates_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = replace(CHECKS[KAnonymity], candidates=Candidates(fitting=None))
    rows: dict[Any, Any] = CHECKS  # a toy is no member of the union of claims
    monkeypatch.setitem(rows, WholeToy, silent)
    assert missing_of(WholeToy()) == {"candidates"}
    monkeypatch.setitem(rows, WholeToy, CHECKS[LocationPrivacy])
    assert missing_of(WholeToy()) == set()


@pytest.mark.parametrize("kind", CLAIMS.values(), ids=list(CLAIMS))
def test_a_claim_about_the_other_payload_is_refused(kind: type) -> None:
    claim = EXAMPLES[kind]
    original, release = toy_release(claim)
    as_given = Trajectories.from_rows(["a", "b"], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0])
    points = replace(release, payload=Points(t=as_given.t, x=as_given.x, y=as_given.y), grid=None)
    wrong, raw = (points, as_given) if claim.payload == "boxes" else (release, original)
    with pytest.raises(MisuseError, match=f"is about {claim.payload}, and this release holds {wrong.kind}"):
        shoal.verify(raw, wrong)


@pytest.mark.parametrize("kind", CLAIMS.values(), ids=list(CLAIMS))
def test_every_check_takes_its_own_claim(kind: type) -> None:
    """On a release for which no claim holds, every check finds something and raises nothing."""
    claim = EXAMPLES[kind]
    original, release = toy_release(claim)
    if claim.payload == "points":
        original = Trajectories.from_rows(["a", "b"], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0])
        moved = Points(t=original.t, x=original.x + 1e6 * np.arange(2), y=original.y)
        release = replace(release, payload=moved, grid=None)
    linkage = shoal.Linkage(("a", "b"), ("p", "q"))
    verdict = verdict_on_claim(original, release, linkage)
    assert verdict.checked == 2
    assert not verdict


def test_a_manifest_of_an_unknown_claim_is_refused() -> None:
    with pytest.raises(InputError, match="'toy', which this version cannot check"):
        claim_from_json({"type": "toy", "k": 2})
