"""Report the operations of a memory to its telemetry, by the table of operations."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from nscma_torch.api.operations import OPERATIONS, Operation

MemoryT = TypeVar("MemoryT")


def observed(memory: type[MemoryT]) -> type[MemoryT]:
    """Decorate a memory's class so that its operations are recorded if `telemetry.enabled` is set."""
    for operation in {one.name: one for one in reversed(OPERATIONS.values())}.values():
        setattr(memory, operation.name, _observed(operation, getattr(memory, operation.name)))
    return memory


def _observed(operation: Operation, method: Callable[..., Any]) -> Callable[..., Any]:
    name = operation.gen_ai or operation.name

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        telemetry = self._components.telemetry
        if telemetry is None:
            return method(self, *args, **kwargs)
        return telemetry.operation(name, operation.name, lambda: method(self, *args, **kwargs))

    return call
