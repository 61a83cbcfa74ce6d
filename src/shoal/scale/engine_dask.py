"""dask.distributed; the only file that knows dask."""

import asyncio
import logging
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import finalize

from shoal.errors import EngineError, requiring_extra

if TYPE_CHECKING:
    from distributed import Client

Part = TypeVar("Part")
Result = TypeVar("Result")

_LOCAL_WORKERS: Final = 2
_PATIENCE_S: Final = 30  # for a scheduler or a worker that listens to answer
_ANSWERS_WITHIN_S: Final = 4
_VERSIONS: Final = (
    "'shoal ' + __import__('shoal.version', fromlist=['x']).__version__ + "
    "' in Python ' + '.'.join(map(str, __import__('sys').version_info[:2]))"
)


class DaskCluster:
    """Runs tasks on a cluster (None = two workers here), whose workers see the same paths."""

    def __init__(self, address: str | None = None) -> None:
        self._address = address
        self._client: Client | None = None
        with requiring_extra("dask is not installed", "dask"):
            import distributed  # noqa: F401  (only whether it is there)
        if address is not None:
            _require_scheduler(address)
            client = self._connected()
            try:
                _require_workers(client, address)
            except EngineError:
                client.close()
                raise

    def map(self, fn: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        """As Engine.map; results leave the cluster when used."""
        from distributed import KilledWorker

        if parts:
            yield from self._results(self._connected(), fn, parts, KilledWorker)

    def everywhere(self, fn: Callable[[Part], Result], part: Part) -> list[Result]:
        """The result of a task on every worker."""
        client = self._connected()
        answers = _within(_PATIENCE_S, lambda: client.run(fn, part))
        if answers is None:
            raise EngineError(f"the dask workers at {self._address} do not answer; start them again")
        return list(answers.values())

    def _connected(self) -> "Client":
        """One connection for all work, until this object is gone."""
        if self._client is None or self._client.status != "running":
            self._client = _connect(self._address)
            finalize(self, _close, self._client)
        return self._client

    @staticmethod
    def _results(
        client: "Client", fn: Callable[[Part], Result], parts: Sequence[Part], killed: type[Exception]
    ) -> Iterator[Result]:
        waiting = [client.submit(fn, part, pure=False) for part in parts]
        try:
            for number in range(len(waiting)):
                try:
                    yield waiting[number].result()
                except killed as error:
                    raise EngineError(
                        f"task {number + 1} was lost with its worker again and again; give the workers more "
                        "memory or make smaller --blocks, and run the same command again"
                    ) from error
                except CancelledError as error:
                    raise EngineError(
                        "the dask scheduler was lost before the work was done; start it, and run the same "
                        "command again to continue"
                    ) from error
                waiting[number].release()
        finally:
            client.cancel(waiting)


def _connect(address: str | None) -> "Client":
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # lost workers are handled here
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions, compared here, and of ports that are taken
            if address is not None:
                return Client(address, timeout=_PATIENCE_S, set_as_default=False)
            return Client(
                n_workers=_LOCAL_WORKERS,
                threads_per_worker=1,
                dashboard_address=None,
                set_as_default=False,
                silence_logs=logging.CRITICAL,
            )
    except (OSError, ValueError) as error:
        raise _no_scheduler(address) from error


def _close(client: "Client") -> None:
    if client.asynchronous:  # the garbage collector may run in dask's own thread, where close() only promises
        threading.Thread(target=client.close).start()
    else:
        client.close()


def _require_workers(client: "Client", address: str) -> None:
    """Raise EngineError without workers, or where scheduler and workers are not as this process."""
    try:
        client.wait_for_workers(1, timeout=_ANSWERS_WITHIN_S)
    except TimeoutError as error:
        raise EngineError(
            f"the dask scheduler at {address} has no workers; start some with: dask worker {address}"
        ) from error
    # sent as text, since a worker without shoal cannot take a function of shoal
    answers = _within(
        _PATIENCE_S,
        lambda: {
            **client.run(eval, _VERSIONS, on_error="return"),
            "the scheduler": _or_error(lambda: client.run_on_scheduler(eval, _VERSIONS)),
        },
    )
    if answers is None:
        raise EngineError(f"the dask workers at {address} do not answer; start them again")
    here = eval(_VERSIONS)  # noqa: S307  # written here
    others = {place: answer for place, answer in answers.items() if answer != here}
    if others:
        place, answer = next(iter(others.items()))
        what = f"has {answer}" if isinstance(answer, str) else f"has no shoal ({type(answer).__name__})"
        raise EngineError(
            f"{len(others)} of {len(answers)} dask processes are not as this one, which has {here}: {place} "
            f"{what}; install the same version of shoal in the same Python on every machine"
        )


def _or_error(ask: Callable[[], Result]) -> Result | Exception:
    try:
        return ask()
    except ImportError as error:
        return error


def _within(seconds: float, ask: Callable[[], Result]) -> Result | None:
    """What a call returns; None if it takes longer, or ends in an error."""
    answers: list[Result] = []

    def call() -> None:
        with suppress(Exception):  # any server may listen there
            answers.append(ask())

    asking = threading.Thread(target=call, daemon=True)  # looking up a name has no time limit
    asking.start()
    asking.join(seconds)
    return answers[0] if answers else None


def _require_scheduler(address: str) -> None:
    """Raise EngineError when no scheduler answers: a client without one takes a minute to close."""
    from distributed.comm import connect
    from distributed.security import Security

    async def greet() -> bool:
        arguments = Security().get_connection_args("client")
        comm = await asyncio.wait_for(
            connect(address, timeout=_ANSWERS_WITHIN_S, **arguments), _ANSWERS_WITHIN_S
        )
        comm.abort()
        return True

    if not _within(_ANSWERS_WITHIN_S, lambda: asyncio.run(greet())):
        raise _no_scheduler(address)


def _no_scheduler(address: str | None) -> EngineError:
    return EngineError(
        f"no dask scheduler answers at {address}; start one, or check the address, such as tcp://HOST:8786"
    )
