"""Step 3: the recipients."""

from functools import partial
from typing import Any, Final

from shoal.attacks.knowledge import parse_knowledge
from shoal.attacks.table import ATTACKS
from shoal.local_pages.forms import Form, RefusedError, read_entry
from shoal_desk.case import Choices
from shoal_desk.desk import Desk, Work
from shoal_desk.recipients import RECIPIENTS, knowledge_of, playable
from shoal_desk.steps.step import Step
from shoal_desk.words import Words


def adversary_words(text: str) -> str:
    """An adversary's knowledge and action, in English."""
    return parse_knowledge(text).adversary.sentence


def _take(_choices: Choices, form: Form) -> dict[str, Any]:
    chosen = form.many("recipient")
    if not chosen:
        raise RefusedError("error.no_recipient")
    recipients: dict[str, tuple[str, ...]] = {}
    for name in chosen:
        if name not in RECIPIENTS:
            raise RefusedError("error.no_recipient")
        more = form.one(f"more-{name}").replace(",", " ").split()
        texts = read_entry(partial(knowledge_of, (*form.many(f"knows-{name}"), *more)))
        if not texts:
            raise RefusedError("error.no_adversary", recipient=name)
        recipients[name] = texts
    return {
        "recipients": recipients,
        "purpose": form.one("purpose"),
        "recipients_words": form.one("recipients_words"),
    }


def _content(_desk: Desk, work: Work, _words: Words) -> dict[str, Any]:
    texts_by_recipient = {
        name: tuple(dict.fromkeys((*row.knowledge, *work.choices.recipients.get(name, ()))))
        for name, row in RECIPIENTS.items()
    }
    return {
        "known": texts_by_recipient,
        "chosen": {
            name: work.choices.recipients.get(name, row.knowledge) for name, row in RECIPIENTS.items()
        },
        "forms": [row.form for row in ATTACKS.values() if playable(row)],
    }


def _summary(work: Work, words: Words) -> list[str]:
    return [
        words("whom.line", recipient=words(f"recipient.{name}.name"), adversaries=len(texts))
        for name, texts in work.choices.recipients.items()
    ]


WHOM: Final = Step(
    name="whom",
    take=_take,
    content=_content,
    done=lambda work: bool(work.choices.recipients),
    summary=_summary,
)
