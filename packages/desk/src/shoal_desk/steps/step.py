"""The interface of the steps of the desk."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shoal.local_pages.forms import Form
from shoal_desk.case import Choices
from shoal_desk.desk import Desk, Work
from shoal_desk.words import Words


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step.

    name: in addresses, and of its template. jobs: the work that it starts, by names in ``Work``. take: the
    changes of a form to the choices; raises RefusedError. content: of its page, in addition to that of every
    page. done: whether the next step may begin. summary: of the choices, for the pages of later steps.
    """

    name: str
    jobs: tuple[str, ...] = ()
    take: Callable[[Choices, Form], dict[str, Any]]
    content: Callable[[Desk, Work, Words], dict[str, Any]]
    done: Callable[[Work], bool]
    summary: Callable[[Work, Words], list[str]]
