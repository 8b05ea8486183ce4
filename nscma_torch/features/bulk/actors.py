"""Distribute work over Ray Data actors, each with its own models.

Without a cluster, a local Ray instance is started, which listens only on the loopback interface, sends no usage
reports, and stops when the work is done.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType, TracebackType
from typing import Any, Self, TypeVar

from nscma_torch.core.errors import ConfigError, NscmaError
from nscma_torch.core.extras import require

T = TypeVar("T")
R = TypeVar("R")
Work = Callable[[T], Iterator[R]]

_BLOCK = 1 << 20  # bytes of results that an actor collects before it hands them on
_ENDED = "ended"


class RayActors:
    """Runs work on Ray Data actors.

    Args:
        address: the address of a running Ray ("auto", or host:port); None to use RAY_ADDRESS if set, else to start Ray
            here.
        actors: number of actors; None for one per processor, or for as many as fit on the GPUs.
        gpus: share of a GPU per actor; 0 to compute on the CPU.

    Raises `MissingDependencyError` if the extra `ray` is not installed, and `ConfigError` if no Ray answers at the
    address or its machines lack the resources for one actor.
    """

    def __init__(self, *, address: str | None = None, actors: int | None = None, gpus: float = 0.0) -> None:
        if (actors is not None and actors < 1) or gpus < 0:
            raise ConfigError(f"actors must be at least 1 and gpus at least 0, got {actors} and {gpus:g}")
        for name, value in _QUIET.items():  # before it is imported
            os.environ.setdefault(name, value)
        self._ray = require("ray", extra="ray", purpose="bulk add over actors")
        self._started = not self._ray.is_initialized()
        if self._started:
            _start(self._ray, address or os.environ.get("RAY_ADDRESS"))
        require("ray.data", extra="ray", purpose="bulk add over actors")
        there = self._ray.cluster_resources()
        room = int(there.get("GPU", 0) / gpus) if gpus else int(there.get("CPU", 0))
        self._gpus, self._size = gpus, actors or room
        if room < self._size or not room:
            self.close()
            raise ConfigError(
                f"Ray has {there.get('CPU', 0):g} processors and {there.get('GPU', 0):g} GPUs, too few for "
                f"{self._size or 'one'} actors with {gpus:g} GPUs each; request fewer actors, or a smaller share"
            )

    def each(self, make: Callable[[], Work[T, R]], items: Sequence[T]) -> Iterator[R]:
        """Apply the function that `make` returns in every actor to each item.

        Results for one item come in order; results for different items come as they finish. A library error in an actor
        is raised here.
        """
        if not items:
            return
        data = importlib.import_module("ray.data")
        _be_quiet(data)
        rows = [{"number": number, "item": pickle.dumps(item)} for number, item in enumerate(items)]
        results = data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _Actor,
            fn_constructor_args=(make,),
            batch_size=1,
            batch_format="numpy",
            compute=data.ActorPoolStrategy(size=min(self._size, len(rows))),
            num_cpus=0 if self._gpus else 1,
            num_gpus=self._gpus,
        )
        yield from _in_order(results.iter_rows(), len(items))

    def close(self) -> None:
        """Stop Ray if it was started here."""
        if self._started:
            self._started = False
            self._ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # Ray Data warns of its own actors; what fails is raised
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # silences its warning: an actor without a GPU sees none, as before
}
_OF_THIS_MACHINE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # makes Ray on one machine listen on 127.0.0.1 only
    # actors are no less urgent than this process
    "RAY_worker_niceness": os.environ.get("RAY_worker_niceness", "0"),  # noqa: SIM112 - its name
}


def _start(ray: ModuleType, address: str | None) -> None:
    settings = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is not None:
        try:
            ray.init(address=address, **settings)
        except (ConnectionError, OSError, ValueError, RuntimeError) as error:
            raise ConfigError(f"no Ray answers at {address}: {error}") from error
        return
    constants: Any = importlib.import_module("ray._private.ray_constants")
    constants.ENABLE_RAY_CLUSTER = False
    os.environ.update(_OF_THIS_MACHINE)  # for the processes that it starts
    ray.init(address="local", include_dashboard=False, **settings)


def _be_quiet(data: Any) -> None:
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.target_max_block_size = _BLOCK
    logging.getLogger("ray.data").setLevel(logging.ERROR)


class _Actor:
    """The worker that each Ray Data actor instantiates; rows contain pickled items on input and pickled results on
    output.
    """

    def __init__(self, make: Callable[[], Work[Any, Any]]) -> None:
        self._work = make()

    def __call__(self, batch: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for number, packed in zip(batch["number"], batch["item"], strict=True):
            part = 0
            try:
                for part, result in enumerate(self._work(pickle.loads(packed)), start=1):
                    yield _row(number, part - 1, result)
            except NscmaError as error:
                yield _row(number, part, _Failed(error))
                return
            yield _row(number, part, _ENDED)


class _Failed:
    """An error that was raised in an actor."""

    def __init__(self, error: NscmaError) -> None:
        self.error = error


def _row(number: int, part: int, result: object) -> dict[str, Any]:
    return {"number": [int(number)], "part": [part], "result": [pickle.dumps(result)]}


def _in_order(rows: Iterator[dict[str, Any]], items: int) -> Iterator[Any]:
    """Yield each item's results in the order of its parts, dropping duplicates and holding back early ones."""
    due, early, left = [0] * items, dict[tuple[int, int], Any](), items
    for row in rows:
        number, part = int(row["number"]), int(row["part"])
        if part >= due[number]:
            early[number, part] = row["result"]
        while (packed := early.pop((number, due[number]), None)) is not None:
            due[number] += 1
            result = pickle.loads(packed)
            if isinstance(result, _Failed):
                raise result.error
            if result == _ENDED and isinstance(result, str):
                left -= 1
            else:
                yield result
    assert not left, "Ray gives all that was computed, or raises"
