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

    name: in addresses, and of its template. jobs: by names in ``Work``. take: a form's changes to the
    choices. content: of its page. done: whether the next may begin. summary: for later pages.
    """

    name: str
    jobs: tuple[str, ...] = ()
    take: Callable[[Choices, Form], dict[str, Any]]
    content: Callable[[Desk, Work, Words], dict[str, Any]]
    done: Callable[[Work], bool]
    summary: Callable[[Work, Words], list[str]]
