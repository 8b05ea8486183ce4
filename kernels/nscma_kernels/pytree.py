"""Register states as pytrees, so `torch.export`, `torch.func` and `tree_map` reach their tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from torch.utils import _pytree

T = TypeVar("T")


def as_pytree(*values: str) -> Callable[[type[T]], type[T]]:
    """Register a dataclass as a pytree. Its fields are children, except those named in `values`, which belong to the
    structure.
    """

    def register(cls: type[T]) -> type[T]:
        children = [field.name for field in fields(cls) if field.name not in values]  # type: ignore[arg-type]

        def flatten(state: T) -> tuple[list[Any], tuple[Any, ...]]:
            return [getattr(state, name) for name in children], tuple(getattr(state, name) for name in values)

        def flatten_with_keys(state: T) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
            flat, context = flatten(state)
            keys = (_pytree.GetAttrKey(name) for name in children)
            return list(zip(keys, flat, strict=True)), context

        def unflatten(flat: Any, context: Any) -> T:
            return cls(**dict(zip(children, flat, strict=True)), **dict(zip(values, context, strict=True)))

        _pytree.register_pytree_node(
            cls,
            flatten,
            unflatten,
            serialized_type_name=_name(cls),
            to_dumpable_context=list,
            from_dumpable_context=tuple,
            flatten_with_keys_fn=flatten_with_keys,
        )
        return cls

    return register


def named_tuple_as_pytree(cls: type[T]) -> type[T]:
    """Register a named tuple as a pytree, so that exported programs can be saved if they take or return it."""
    _pytree._register_namedtuple(cls, serialized_type_name=_name(cls))
    return cls


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
