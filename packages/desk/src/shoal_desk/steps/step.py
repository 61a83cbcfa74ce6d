"""What each step of the desk says of itself."""

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

    Parameters
    ----------
    name
        In addresses, and of its template.
    jobs
        The work that it starts, by the names that ``Work`` has for it.
    take
        What a form changes of the choices; raises RefusedError for an entry that cannot be used.
    content
        What its page shows, beside what every page has.
    done
        Whether the next step may begin.
    summary
        What was chosen, in a few words, for the pages of all later steps.
    """

    name: str
    jobs: tuple[str, ...] = ()
    take: Callable[[Choices, Form], dict[str, Any]]
    content: Callable[[Desk, Work, Words], dict[str, Any]]
    done: Callable[[Work], bool]
    summary: Callable[[Work, Words], list[str]]
