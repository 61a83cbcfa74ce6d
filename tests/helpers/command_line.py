"""Running the command line inside the test process: exit code, standard output, standard error."""

from dataclasses import dataclass

import pytest
from pydantic import TypeAdapter

from shoal.cli.documents import PLAN, documents
from shoal.cli.main import BAD, main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


class Shoal:
    """Call with the words of a command line."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: object) -> Outcome:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        shown = self._capsys.readouterr()
        assert isinstance(left.value.code, int)
        assert "Traceback" not in shown.err
        name = (
            PLAN
            if "--plan" in words and words[0] != "tabulate"
            else _document_of([str(word) for word in words])
        )
        if "--json" in words and name in documents() and left.value.code != BAD:
            TypeAdapter(documents()[name]).validate_json(shown.out)
        return Outcome(left.value.code, shown.out, shown.err)


def _document_of(words: list[str]) -> str:
    """The name of a command's document: its words, joined, as many as there are."""
    return next((name for n in (3, 2, 1) if (name := "-".join(words[:n])) in documents()), "")
