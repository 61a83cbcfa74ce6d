"""An engine that treats tasks as other processes would, in this one."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


class Elsewhere:
    """A task comes and goes as bytes, and is done again after a loss."""

    def map(self, fn: Callable[[Part], Result], parts: Sequence[Part], /) -> Iterator[Result]:
        for part in parts:
            sent: Part = pickle.loads(pickle.dumps(part))
            fn(sent)
            done: Result = pickle.loads(pickle.dumps(fn(sent)))
            yield done
