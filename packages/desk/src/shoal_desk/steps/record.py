"""Step 6: statements, and the record to sign."""

from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from shoal.local_pages.forms import Form, RefusedError
from shoal.methods import METHODS
from shoal.release_folder.manifest import Statement
from shoal_desk.case import Choices
from shoal_desk.desk import Desk, Work
from shoal_desk.risk import risks_of
from shoal_desk.steps.step import Step
from shoal_desk.words import Words

FIELDS: Final = (
    "data_set",
    "version",
    "publisher",
    "data_source",
    "conditions",
    "adversary",
    "contact",
    "reassess_on",
)


def _take(_choices: Choices, form: Form) -> dict[str, Any]:
    statement = {name: form.one(name) for name in FIELDS if form.one(name)}
    try:
        Statement.model_validate(statement)
    except ValidationError as error:
        where = str(error.errors()[0]["loc"][0])
        key = "error.date" if where == "reassess_on" else "error.statement"
        raise RefusedError(key, field=where, text=statement[where]) from error
    return {"statement": statement}


def free_name(folder: Path) -> Path:
    """The next record's file."""
    names = ["record.html", *(f"record-{number}.html" for number in range(2, 1000))]
    return next(folder / name for name in names if not (folder / name).exists())


def _content(desk: Desk, work: Work, _words: Words) -> dict[str, Any]:
    written = work.result(work.record)
    attacked, choices = work.result(work.release, 2), work.choices
    kind = METHODS[choices.method].about.publishes if choices.method else "boxes"
    return {
        "fields": FIELDS,
        "risks": []
        if attacked is None
        else risks_of(choices.recipients, attacked["attacks"], kind, tries=attacked["command"]["tries"]),
        "written": written,
        "page": None if written is None or not Path(written["record"]).exists() else written["record"],
        "signed": sorted(path.name for path in desk.folder.glob("record*.html")),
    }


def _summary(work: Work, words: Words) -> list[str]:
    written = work.result(work.record)
    return [] if written is None else [words("record.line", file=Path(written["record"]).name)]


RECORD: Final = Step(
    name="record",
    jobs=("record",),
    take=_take,
    content=_content,
    done=lambda work: work.result(work.record) is not None,
    summary=_summary,
)
