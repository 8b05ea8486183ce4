"""Key-value memory as a module: items have ids, are written, changed and deleted explicitly, and are searched exactly.

Shape legend: n items, R rows in the buffers, D width of keys, E width of values, k items recalled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import torch
from torch import Tensor, nn

from nscma_torch.core.errors import InvalidInputError, NotFoundError, described
from nscma_torch.neural.nearest import EVERY, NONE, NOTHING, Recalled, attend_to, nearest_rows

Ids = Tensor | Iterable[int]
P = ParamSpec("P")
T = TypeVar("T")
_BUFFERS = ("keys", "values", "ids", "scopes")


class Items(NamedTuple):
    """Items of a `RetrievalMemory`, in the order requested."""

    keys: Tensor  # [n, D]
    values: Tensor  # [n, E]
    scopes: Tensor  # [n] int64


def _changing(
    method: Callable[Concatenate[RetrievalMemory, P], T],
) -> Callable[Concatenate[RetrievalMemory, P], T]:
    """Run a method outside inference mode, because tensors created in that mode couldn't be changed later."""

    @wraps(method)
    def call(self: RetrievalMemory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with torch.inference_mode(False):
            return method(self, *args, **kwargs)

    return call


class RetrievalMemory(nn.Module):
    """Keys and values on the device. Each pair is an item with an id and a scope.

    `write`, `update` and `delete` take effect at once: the next `forward` searches exactly the items present at that
    time, with `nscma_kernels.scored_topk`. For queries q in a scope, over the k items with the largest <q, key>:

        weight_j = softmax_j(scale <q, key_j>)        `.mixed` = sum_j weight_j value_j

    which is attention to the k nearest keys (Wu et al. 2022, "Memorizing Transformers"). Gradients flow to the queries,
    and to the inputs from which written keys and values were computed; `detach_` stops the latter.

    The items are stored in buffers, in the order of writing. The buffers' capacity doubles when they are full.
    `state_dict` contains only the existing items, nothing deleted, and loads into a module of any size. `.to` moves and
    converts the items (the search supports float32, bfloat16 and float64). `torch.compile(fullgraph=True)` compiles
    `forward`, and compiles it again whenever the capacity grows. DistributedDataParallel copies buffers from rank 0
    before each forward pass: write the same items on every rank, or let each rank keep its own items with
    `broadcast_buffers=False`.

    >>> import torch
    >>> from nscma_torch import RetrievalMemory
    >>> memory = RetrievalMemory(key_dim=2, value_dim=1, scale=10.0)
    >>> ids = memory.write(torch.eye(2), torch.tensor([[5.0], [7.0]]))
    >>> memory(torch.tensor([1.0, 0.1]), k=2).ids.tolist()
    [0, 1]
    >>> memory.delete(ids[:1])
    >>> memory(torch.tensor([1.0, 0.1]), k=2).ids.tolist()
    [1, -1]

    Args:
        key_dim: D.
        value_dim: E.
        scale: factor applied to the inner products; by default 1 / sqrt(D).

    Raises:
        InvalidInputError: a size is not positive, or the scale is not a positive number.
    """

    keys: Tensor  # [R, D], zeros in empty rows
    values: Tensor  # [R, E], zeros in empty rows
    ids: Tensor  # [R] int64, -1 in empty rows
    scopes: Tensor  # [R] int64, -1 in empty rows
    next_id: Tensor  # [] int64

    def __init__(self, key_dim: int, value_dim: int, *, scale: float | None = None) -> None:
        super().__init__()
        for name, size in (("key_dim", key_dim), ("value_dim", value_dim)):
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise InvalidInputError(f"{name} must be a positive integer, got {size!r}")
        if scale is not None and (isinstance(scale, bool) or not isinstance(scale, int | float) or not scale > 0):
            raise InvalidInputError(f"scale must be a number above 0, got {scale!r}")
        self.key_dim, self.value_dim = key_dim, value_dim
        self.scale = key_dim**-0.5 if scale is None else float(scale)
        self.register_buffer("keys", torch.zeros(0, key_dim))
        self.register_buffer("values", torch.zeros(0, value_dim))
        self.register_buffer("ids", torch.full((0,), NONE))
        self.register_buffer("scopes", torch.full((0,), NONE))
        self.register_buffer("next_id", torch.zeros((), dtype=torch.int64))

    def __len__(self) -> int:
        """Return the number of items."""
        return int((self.ids != NONE).sum())

    def __bool__(self) -> bool:
        """Return True even if the memory is empty, like any module."""
        return True

    @_changing
    def write(
        self,
        keys: Tensor,  # [n, D]
        values: Tensor,  # [n, E]
        *,
        ids: Ids | None = None,
        scope: int | Tensor = 0,  # or [n] int64
    ) -> Tensor:
        """Add items after the existing ones.

        Args:
            ids: non-negative, unused ids; by default, the numbers after the largest id ever used.
            scope: a non-negative number for each item; queries in another scope don't find the item.

        Returns:
            The ids [n] int64.

        Raises `InvalidInputError` for invalid arguments, and then changes nothing.
        """
        for name, given, width in (("keys", keys, self.key_dim), ("values", values, self.value_dim)):
            self._check(name, given, width)
        if len(keys) != len(values):
            raise InvalidInputError(f"a value for each key is needed, got {len(keys)} keys and {len(values)} values")
        number = len(keys)
        if ids is None:
            new = self.next_id + torch.arange(number, device=self.ids.device)
        else:
            new = self._as_ids(ids)
            if len(new) != number or bool((new < 0).any()) or len(torch.unique(new)) < number:
                raise InvalidInputError(f"ids must be {number} distinct non-negative integers, got {new[:9].tolist()}")
            if bool((taken := torch.isin(new, self.ids)).any()):
                raise InvalidInputError(f"items {new[taken][:9].tolist()} exist: change them with update")
        owners = self._as_scopes(scope, number)
        if not number:
            return new
        first = self._make_room(number)
        rows = torch.arange(first, first + number, device=self.ids.device)
        self._put("keys", rows, keys)
        self._put("values", rows, values)
        self.ids[rows], self.scopes[rows] = new, owners
        self.next_id.copy_(torch.maximum(self.next_id, new.max() + 1))
        return new

    @_changing
    def update(
        self,
        ids: Ids,  # [n]
        *,
        keys: Tensor | None = None,  # [n, D]
        values: Tensor | None = None,  # [n, E]
        scope: int | Tensor | None = None,  # or [n] int64
    ) -> None:
        """Replace the given properties of these items. The items keep their positions in the order.

        Raises `InvalidInputError` for invalid arguments, including duplicate ids, and `NotFoundError` for unknown ids.
        Nothing is changed then.
        """
        rows = self._rows_of(ids)
        for name, given, width in (("keys", keys, self.key_dim), ("values", values, self.value_dim)):
            if given is None:
                continue
            self._check(name, given, width)
            if len(given) != len(rows):
                raise InvalidInputError(f"{name} must be one for each of {len(rows)} ids, got {len(given)}")
        owners = None if scope is None else self._as_scopes(scope, len(rows))
        if keys is not None:
            self._put("keys", rows, keys)
        if values is not None:
            self._put("values", rows, values)
        if owners is not None:
            self.scopes[rows] = owners

    @_changing
    def delete(self, ids: Ids) -> None:
        """Delete items and overwrite their values with zeros.

        Raises `NotFoundError` if any id is unknown, and then deletes nothing.
        """
        rows = self._rows_of(ids)
        self._put("keys", rows, self.keys.new_zeros(len(rows), self.key_dim))
        self._put("values", rows, self.values.new_zeros(len(rows), self.value_dim))
        self.ids[rows] = self.scopes[rows] = NONE

    def get(self, ids: Ids) -> Items:
        """Return the items with these ids. Raises `NotFoundError` for unknown ids."""
        rows = self._rows_of(ids)
        return Items(self.keys[rows], self.values[rows], self.scopes[rows])

    def detach_(self) -> None:
        """Detach the items from their computation, so that gradients in later calls end here."""
        self.keys, self.values = self.keys.detach(), self.values.detach()

    def forward(
        self,
        queries: Tensor,  # [..., D]
        k: int = 8,
        scope: int | Tensor | None = None,  # or int64 that broadcasts to [...]
    ) -> Recalled:
        """Return the k items with the largest inner product with each query. Ties are in order of writing.

        Args:
            scope: the scope to search, one for all queries or one for each; None searches all items.

        Returns:
            values [..., k, E], weights [..., k] and ids [..., k]; see `Recalled`. The weights are float32, or float64
            if the keys are float64.

        Raises `InvalidInputError` if shapes, dtypes, devices or values don't match.
        """
        if not isinstance(queries, Tensor) or not queries.is_floating_point() or queries.shape[-1:] != (self.key_dim,):
            raise InvalidInputError(
                f"queries must be a tensor [..., {self.key_dim}] of a float dtype, got {described(queries)}"
            )
        if queries.device != self.keys.device:
            raise InvalidInputError(f"queries are on {queries.device}, the memory on {self.keys.device}: move one")
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            raise InvalidInputError(f"k must be a positive integer, got {k!r}")
        doubled = queries.dtype == torch.float64 and self.keys.dtype != torch.float64
        if self.keys.dtype == torch.float16 or doubled:
            raise InvalidInputError(
                f"{self.keys.dtype} keys can't be searched with {queries.dtype} queries: convert the memory with"
                " .to(torch.float32), .bfloat16 or .float64, or the queries"
            )
        shape = queries.shape[:-1]
        if len(self.keys) == 0:
            kind = torch.float64 if self.keys.dtype == torch.float64 else torch.float32
            empty = torch.full((*shape, k), NONE, device=queries.device)
            return Recalled(
                self.values.new_zeros(*shape, k, self.value_dim), queries.new_zeros(empty.shape, dtype=kind), empty
            )
        flat = queries.reshape(-1, self.key_dim)
        rows = nearest_rows(flat.detach(), self.keys.detach(), self.scopes, self._asked(scope, queries), k)
        real = rows != NONE
        weights = attend_to(flat, self.keys, rows, self.scale)
        values = torch.where(real[..., None], self.values[rows.clamp(min=0)], 0)
        found = torch.where(real, self.ids[rows.clamp(min=0)], NONE)
        return Recalled(values.view(*shape, k, self.value_dim), weights.view(*shape, k), found.view(*shape, k))

    def extra_repr(self) -> str:
        return f"key_dim={self.key_dim}, value_dim={self.value_dim}, scale={self.scale:g}"

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        there = (self.ids != NONE).nonzero()[:, 0]
        for name in _BUFFERS:
            destination[prefix + name] = destination[prefix + name][there]

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        errors: list[str] = rest[-1]
        given = {name: state_dict[prefix + name] for name in _BUFFERS if prefix + name in state_dict}
        own = {name: getattr(self, name) for name in given}
        if given and (len({len(tensor) for tensor in given.values()}) > 1 or len(given) < len(_BUFFERS)):
            errors.append(f"{prefix}: the tensors {', '.join(_BUFFERS)} of a RetrievalMemory belong together")
            return
        if any(tensor.shape[1:] != own[name].shape[1:] for name, tensor in given.items()):
            widths = f"key_dim={given['keys'].shape[-1]}, value_dim={given['values'].shape[-1]}"
            errors.append(
                f"{prefix}: the items are of a RetrievalMemory with {widths}, this one is {self.extra_repr()}"
            )
            return
        for name, tensor in given.items():
            setattr(self, name, own[name].detach().new_zeros(tensor.shape))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _check(self, name: str, given: Any, width: int) -> None:
        own = self.keys
        if not isinstance(given, Tensor) or given.ndim != 2 or given.shape[1] != width or not given.is_floating_point():
            raise InvalidInputError(f"{name} must be a tensor [n, {width}] of a float dtype, got {described(given)}")
        if given.device != own.device:
            raise InvalidInputError(f"{name} are on {given.device}, the memory on {own.device}: move one with .to")
        if not bool(given.detach().to(own.dtype).isfinite().all()):
            raise InvalidInputError(f"{name} must be finite in {own.dtype}: some values are NaN or infinity")

    def _as_ids(self, ids: Ids) -> Tensor:
        """Return the ids as a tensor [n] int64 on the memory's device."""
        try:
            given = ids if isinstance(ids, Tensor) else torch.tensor([*ids], dtype=torch.int64)
        except (TypeError, ValueError, RuntimeError) as error:
            raise InvalidInputError(f"ids must be 64-bit integers: {error}") from error
        if given.ndim != 1 or given.is_floating_point() or given.dtype == torch.bool:
            raise InvalidInputError(f"ids must be a tensor [n] of integers, got {described(given)}")
        return given.to(self.ids.device, torch.int64)

    def _as_scopes(self, scope: int | Tensor, number: int) -> Tensor:
        """Return the scopes as a tensor [number] int64 on the memory's device."""
        given = torch.as_tensor(scope, device=self.ids.device)
        if given.is_floating_point() or given.dtype == torch.bool or given.shape not in ((), (number,)):
            raise InvalidInputError(
                f"scope must be an integer, or one for each of {number} items, got {described(given)}"
            )
        if bool((given < 0).any()):
            raise InvalidInputError("scope must not be negative")
        return given.to(torch.int64).expand(number)

    def _asked(self, scope: int | Tensor | None, queries: Tensor) -> Tensor:
        """Return the scope for all queries as a tensor [1], or the scope for each query as [Q]."""
        if scope is None:
            return self.ids.new_full((1,), EVERY)
        if isinstance(scope, int) and not isinstance(scope, bool) and scope >= 0:
            return self.ids.new_full((1,), scope)
        shape = queries.shape[:-1]
        if not isinstance(scope, Tensor) or scope.is_floating_point() or scope.dtype == torch.bool:
            raise InvalidInputError(f"scope must be a non-negative integer, or a tensor of them, got {scope!r}")
        try:
            each = scope.to(self.ids.device, torch.int64).broadcast_to(shape)
        except RuntimeError as error:
            raise InvalidInputError(f"scope must fit the queries {[*shape]}, got {described(scope)}") from error
        return each.where(each >= 0, NOTHING).reshape(-1)

    def _rows_of(self, ids: Ids) -> Tensor:
        """Return the row [n] of each id. Raises `InvalidInputError` for a duplicate id and `NotFoundError` for an
        unknown one.
        """
        wanted = self._as_ids(ids)
        ordered, place = wanted.sort()
        if bool((ordered[1:] == ordered[:-1]).any()):
            raise InvalidInputError("ids must be distinct, but one was given twice")
        rows = torch.full_like(wanted, NONE)
        if len(wanted) and len(self.ids):
            at = torch.searchsorted(ordered, self.ids).clamp_(max=len(wanted) - 1)
            held = ((ordered[at] == self.ids) & (self.ids != NONE)).nonzero()[:, 0]
            rows[place[at[held]]] = held
        if bool((missing := rows == NONE).any()):
            raise NotFoundError(f"no items {wanted[missing][:9].tolist()} in this memory")
        return rows

    def _make_room(self, number: int) -> int:
        """Return the first of `number` free rows after the last item, compacting rows between items if needed."""
        there = (self.ids != NONE).nonzero()[:, 0]
        first = int(there[-1]) + 1 if len(there) else 0
        if first + number <= len(self.ids):
            return first
        size = 1 << (2 * len(there) + number - 1).bit_length()
        for name in _BUFFERS:
            own: Tensor = getattr(self, name)
            filler = own.new_full((size - len(there), *own.shape[1:]), NONE if own.dtype == torch.int64 else 0)
            setattr(self, name, torch.cat([own[there], filler]))
        return len(there)

    def _put(self, name: str, rows: Tensor, new: Tensor) -> None:
        """Change rows of a buffer, either in place or, to preserve a graph, as a new tensor."""
        own: Tensor = getattr(self, name)
        new = new.to(own.dtype) if torch.is_grad_enabled() else new.detach().to(own.dtype)
        if own.requires_grad or new.requires_grad:
            with torch.enable_grad():
                setattr(self, name, own.index_copy(0, rows, new))
        else:
            own.index_copy_(0, rows, new)
