"""Progress as bars, in a terminal or a notebook: for ``Run.with_bars``."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class ProgressBars:
    """A bar for each named piece of work, with the time left; it goes when all that began has ended."""

    def __init__(self) -> None:
        self._shown: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._done: dict[str, int] = {}

    def __call__(self, label: str, done: int, total: int) -> None:
        """Show how far a piece of work has come."""
        if self._shown is None:
            from rich.progress import Progress

            self._shown = Progress(transient=True)
            self._shown.start()
        if label not in self._tasks:
            self._tasks[label] = self._shown.add_task(label, total=max(total, 1))
        elif done < self._done[label]:  # the same work for something else
            self._shown.reset(self._tasks[label], completed=done, total=max(total, 1))
        self._done[label] = done
        self._shown.update(self._tasks[label], completed=done if total else 1, total=max(total, 1))
        if self._shown.finished:
            self._shown.stop()
            self._shown = None
            self._tasks.clear()
