"""A second implementation of the formats and of the mix's checks agrees with the first on every vector."""

import ast
import sys
from pathlib import Path

import pytest

import second_implementation
from second_implementation import Refused, judge, run, session_of
from vector_cases import FOLDER, load, raw

BAD = sorted(path.stem for path in FOLDER.glob("bad_*.json"))
GOOD_MIX = dict(load("good_mix"))


def test_it_shares_no_code_with_the_first() -> None:
    source = Path(second_implementation.__file__).read_text()
    imported = [
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    rooms = {str(name).split(".")[0] for name in imported}
    assert rooms - set(sys.stdlib_module_names) == {"cryptography"}


def test_a_recorded_run_holds_and_opens_the_same_records() -> None:
    frames = [bytes.fromhex(text) for _, text in GOOD_MIX["frames"]]
    assert run(session_of(GOOD_MIX["session"]), frames) == raw(GOOD_MIX["opened"])
    changed = [*frames[:-1], frames[-1][:-1] + bytes((frames[-1][-1] ^ 1,))]
    with pytest.raises(Refused, match="bad-signature"):
        run(session_of(GOOD_MIX["session"]), changed)


def test_a_recorded_run_with_proofs_of_shuffles_holds_with_these_proofs_only() -> None:
    vector = dict(load("good_mix_proven"))
    session, frames = session_of(vector["session"]), [bytes.fromhex(text) for _, text in vector["frames"]]
    assert session.proven
    assert run(session, frames) == raw(vector["opened"])
    with pytest.raises(Refused, match="bad-length"):
        run(session._replace(proven=False), frames)


def test_letters_and_claims_open() -> None:
    letters = dict(load("good_letters"))
    assert judge(letters, GOOD_MIX) == bytes.fromhex(letters["text"])
    judge(dict(load("good_claim")), GOOD_MIX)


@pytest.mark.parametrize("name", BAD)
def test_bad_vectors_have_the_same_fault(name: str) -> None:
    vector = dict(load(name))
    with pytest.raises(Refused) as caught:
        judge(vector, GOOD_MIX)
    assert str(caught.value) == vector["error"]
