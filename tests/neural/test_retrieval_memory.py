"""RetrievalMemory: equal to a dictionary after every operation, differentiable, saved, compiled, replicated."""

from __future__ import annotations

import copy
import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import nscma_torch
from nscma_torch import RetrievalMemory
from nscma_torch.core.errors import InvalidInputError, NotFoundError

D, E = 4, 3


def filled(number: int = 20, *, scope: int | Tensor = 0, seed: int = 0) -> RetrievalMemory:
    generator = torch.Generator().manual_seed(seed)
    memory = RetrievalMemory(D, E)
    memory.write(torch.randn(number, D, generator=generator), torch.randn(number, E, generator=generator), scope=scope)
    return memory


def questions(number: int = 5) -> Tensor:
    return torch.randn(number, D, generator=torch.Generator().manual_seed(9))


Vector = tuple[float, ...]


class Oracle:
    """The same as a dictionary from ids to key, value and scope, in the order of writing."""

    def __init__(self) -> None:
        self.items: dict[int, tuple[Vector, Vector, int]] = {}
        self.ever = -1  # the largest id that ever was

    def ranked(self, query: Sequence[float], scope: int | None) -> list[tuple[int, float]]:
        """Ids and scores, best first; the numbers are halves and small, so that scores are exact."""
        own = [(id, _score(query, key)) for id, (key, _, of) in self.items.items() if scope in (None, of)]
        return sorted(own, key=lambda one: -one[1])  # stable


def _score(query: Sequence[float], key: Vector) -> float:
    return sum(one * other for one, other in zip(query, key, strict=True))


def operations(memory: RetrievalMemory, number: int, seed: int) -> Iterator[Oracle]:
    """Random operations on a memory and on a dictionary; keys are few, so that many scores are equal."""
    draw, oracle = random.Random(seed), Oracle()

    def vectors(count: int, width: int) -> list[Vector]:
        return [tuple(draw.choices([-1.0, 0.5, 2.0], k=width)) for _ in range(count)]

    for _ in range(number):
        known, size = [*oracle.items], draw.randint(1, 4)
        match draw.choice(["write", "write", "own ids", "update", "delete", "again"]):
            case "write":
                keys, values, scope = vectors(size, D), vectors(size, E), draw.randrange(3)
                ids = memory.write(torch.tensor(keys), torch.tensor(values), scope=scope).tolist()
                assert ids == [*range(oracle.ever + 1, oracle.ever + 1 + size)]
                oracle.ever = ids[-1]
                oracle.items |= {id: (keys[i], values[i], scope) for i, id in enumerate(ids)}
            case "own ids":
                ids = [id for id in draw.sample(range(10**6), size) if id not in oracle.items]
                keys, values = vectors(len(ids), D), vectors(len(ids), E)
                scopes = draw.choices(range(3), k=len(ids))
                given = torch.tensor(keys), torch.tensor(values)
                assert memory.write(*given, ids=ids, scope=torch.tensor(scopes)).tolist() == ids
                oracle.items |= {id: (keys[i], values[i], scopes[i]) for i, id in enumerate(ids)}
                oracle.ever = max(oracle.ever, *ids)
            case "update" if known:
                ids = draw.sample(known, min(size, len(known)))
                keys, values = vectors(len(ids), D), vectors(1, E)
                memory.update(ids, keys=torch.tensor(keys), scope=1)
                memory.update(ids[:1], values=torch.tensor(values))
                for i, id in enumerate(ids):
                    oracle.items[id] = keys[i], oracle.items[id][1] if i else values[0], 1
            case "delete" if known:
                ids = draw.sample(known, min(draw.choice([1, 2, 30]), len(known)))
                memory.delete(torch.tensor(ids))
                for id in ids:
                    del oracle.items[id]
            case "again":  # through a file, as it were
                state = memory.state_dict()
                memory.load_state_dict({name: tensor.clone() for name, tensor in state.items()})
        yield oracle


def check(number: int) -> None:
    """After each operation: every item, and three queries of all, one and different scopes, against the dictionary."""
    memory, draw = RetrievalMemory(D, E, scale=1.0), random.Random(1)
    for step, oracle in enumerate(operations(memory, number, seed=2)):
        assert len(memory) == len(oracle.items)
        held = memory.get([*oracle.items])
        stored = zip(
            map(tuple, held.keys.tolist()), map(tuple, held.values.tolist()), held.scopes.tolist(), strict=True
        )
        assert [*stored] == [*oracle.items.values()], step
        queries, k = [draw.choices([-1.0, 0.25, 3.0], k=D) for _ in range(3)], 1 + step % 7
        scopes = [draw.randrange(4) for _ in range(3)]
        for scope, own in ((None, [None] * 3), (step % 3, [step % 3] * 3), (torch.tensor(scopes), scopes)):
            found = memory(torch.tensor(queries), k, scope)
            for query, of, values, weights, ids in zip(queries, own, *(part.tolist() for part in found), strict=True):
                best = oracle.ranked(query, of)[:k]
                empty = k - len(best)
                assert ids == [id for id, _ in best] + [-1] * empty, step
                assert [tuple(value) for value in values] == [oracle.items[id][1] for id, _ in best] + [
                    (0.0,) * E
                ] * empty, step
                each = [math.exp(score - best[0][1]) for _, score in best]
                assert weights == pytest.approx([one / sum(each) for one in each] + [0.0] * empty, abs=1e-6), step


def test_it_equals_a_dictionary_after_every_operation() -> None:
    check(120)


@pytest.mark.prove
def test_it_equals_a_dictionary_after_ten_thousand_operations() -> None:
    check(10_000)


def test_gradients_reach_queries_keys_and_values() -> None:
    generator = torch.Generator().manual_seed(0)
    tensors = [
        torch.randn(size, dtype=torch.float64, generator=generator, requires_grad=True)
        for size in ((5, D), (7, D), (7, E))
    ]

    def recalled(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        memory = RetrievalMemory(D, E).double()
        memory.write(keys[:4], values[:4])
        ids = memory.write(keys[4:], values[4:])  # the graph of what was there before is kept
        memory.delete(ids[-1:])
        with torch.no_grad():
            memory.write(torch.ones(1, D, dtype=torch.float64), torch.ones(1, E, dtype=torch.float64))
        memory.update(ids[:1], keys=keys[4:5] * 2)
        found = memory(queries, 3)
        return found.values, found.weights, found.mixed

    assert torch.autograd.gradcheck(recalled, tensors)
    assert torch.autograd.gradgradcheck(lambda *given: recalled(*given)[2], tensors)


def test_what_is_deleted_or_replaced_has_no_gradient_and_a_history_can_be_cut() -> None:
    memory, keys = RetrievalMemory(D, E), torch.randn(3, D, requires_grad=True)
    ids = memory.write(keys, torch.ones(3, E))
    memory.delete(ids[:1])
    memory.update(ids[1:2], keys=torch.ones(1, D))
    memory(questions(), 3).weights[:, 0].sum().backward()
    assert keys.grad is not None and not keys.grad[:2].any() and keys.grad[2].any()
    memory.detach_()
    assert not memory(questions(), 3).weights.requires_grad
    assert len(copy.deepcopy(memory)) == 2


def test_an_empty_scope_gives_nothing_and_no_nan() -> None:
    memory = filled(scope=5)
    queries = questions().requires_grad_()
    for own, scope in ((memory, 4), (memory, torch.tensor([4, 4, 4, 4, -2])), (RetrievalMemory(D, E), None)):
        found = own(queries, 3, scope)
        assert found.ids.eq(-1).all() and not found.weights.any() and not found.values.any()
        if found.weights.requires_grad:
            found.mixed.sum().backward()
            assert queries.grad is not None and not queries.grad.any()
    assert memory(queries[:1], 2, torch.tensor([-2])).ids.eq(-1).all()  # not that of all scopes
    assert memory(queries[0], 2, 5).values.shape == (2, E)
    assert memory(queries.view(5, 1, D), 2, torch.arange(5)[:, None]).ids.shape == (5, 1, 2)


def test_a_state_holds_the_items_alone_and_loads_into_a_fresh_module(tmp_path: Path) -> None:
    memory = filled(50, scope=torch.arange(50) % 4)
    secret = memory.write(torch.full((1, D), 1234.5), torch.full((1, E), 1234.5))
    memory.delete(torch.cat([secret, torch.arange(7)]))
    assert not (memory.keys == 1234.5).any() and not (memory.values == 1234.5).any()
    torch.save(nn.ModuleDict({"own": memory}).state_dict(), tmp_path / "state.pt")
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    assert state["own.keys"].shape == (43, D)
    fresh = RetrievalMemory(D, E)
    nn.ModuleDict({"own": fresh}).load_state_dict(state)
    for scope in (None, 2):
        found = zip(memory(questions(), 6, scope), fresh(questions(), 6, scope), strict=True)
        assert all(torch.equal(*pair) for pair in found)
    assert fresh.write(torch.ones(1, D), torch.ones(1, E)).tolist() == [51]  # an id is not given twice
    kept = {name: tensor.clone() for name, tensor in fresh.state_dict().items()}
    broken: list[tuple[dict[str, Any], str]] = [
        (
            {name.removeprefix("own."): tensor for name, tensor in state.items() if "keys" not in name},
            "belong together",
        ),
        (RetrievalMemory(D + 1, E).state_dict(), "key_dim=5"),
    ]
    for wrong, said in broken:
        with pytest.raises(RuntimeError, match=said):
            fresh.load_state_dict(wrong)
        assert all(torch.equal(tensor, kept[name]) for name, tensor in fresh.state_dict().items())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_to_another_dtype(dtype: torch.dtype) -> None:
    memory = filled().to(dtype)
    found = memory(questions().to(dtype), 3)
    assert found.values.dtype == found.mixed.dtype == dtype
    scores = (questions().to(dtype).double() @ memory.keys.double().T).topk(3).indices
    assert torch.equal(found.ids, scores)
    memory.write(torch.ones(1, D), torch.ones(1, E))
    assert memory.keys.dtype == dtype and len(memory) == 21


def test_what_is_made_in_inference_mode_can_be_changed_later() -> None:
    memory = RetrievalMemory(D, E)
    with torch.inference_mode():
        memory.write(torch.ones(2, D), torch.ones(2, E))
    memory.update([1], values=torch.zeros(1, E))
    memory.delete([0])
    assert memory(torch.ones(D), 2).ids.tolist() == [1, -1]


def test_it_compiles_as_one_graph() -> None:
    memory = filled(scope=torch.arange(20) % 3)
    compiled = torch.compile(memory, fullgraph=True, backend="aot_eager")
    for scope in (None, 1, torch.arange(5) % 3):
        own, other = questions().requires_grad_(), questions().requires_grad_()
        one, two = compiled(own, 3, scope), memory(other, 3, scope)
        assert all(torch.equal(*pair) for pair in zip(one, two, strict=True))
        one.mixed.square().sum().backward()
        two.mixed.square().sum().backward()
        torch.testing.assert_close(own.grad, other.grad)
    memory.write(questions(30), torch.ones(30, E))  # the buffers are new ones
    assert torch.equal(compiled(questions(), 3).ids, memory(questions(), 3).ids)
    memory.delete(memory(questions(), 1).ids.unique())
    assert torch.equal(compiled(questions(), 3).ids, memory(questions(), 3).ids)


TWO_PROCESSES = """
import sys
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from nscma_torch import RetrievalMemory

distributed.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=int(sys.argv[2]), world_size=2)
rank = distributed.get_rank()

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.project, self.memory = nn.Linear(4, 4), RetrievalMemory(4, 3)

    def forward(self, x):
        return self.memory(self.project(x), 2).mixed

def items(seed, number):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(number, 4, generator=generator), torch.randn(number, 3, generator=generator)

for own in (False, True):  # the same items on both, then each its own, of another number too
    model, alone = Model(), Model()
    wrapped = DistributedDataParallel(model, broadcast_buffers=not own)
    grads = []
    for step in range(2):  # the buffers grow in between
        for other in range(2):
            if own and other != rank:
                continue
            given = items(10 * step + (other if own else 0), 3 + 20 * step + (other if own else 0))
            model.memory.write(*given)
            if not own:
                break
        wrapped(items(7 + rank, 5)[0]).sum().backward()
    for each in range(2):
        lone = Model()
        for step in range(2):
            lone.memory.write(*items(10 * step + (each if own else 0), 3 + 20 * step + (each if own else 0)))
            lone(items(7 + each, 5)[0]).sum().backward()
        grads.append(lone.project.weight.grad)
    torch.testing.assert_close(model.project.weight.grad, (grads[0] + grads[1]) / 2)
print("ok")
distributed.destroy_process_group()
"""


@pytest.mark.prove
def test_two_processes_train_what_asks_the_memory(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", TWO_PROCESSES, str(tmp_path / "store")]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([*command, str(rank)], env=environment, **pipes) for rank in range(2)]
    for process in running:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0 and out.strip() == "ok", errors


def test_errors_leave_the_memory_as_it_was() -> None:
    memory = filled(5)
    before = {name: tensor.clone() for name, tensor in memory.state_dict().items()}
    one, value = torch.ones(1, D), torch.ones(1, E)
    calls: list[tuple[type[Exception], str, Any]] = [
        (InvalidInputError, r"keys must be a tensor \[n, 4\]", lambda: memory.write(torch.ones(1, 5), value)),
        (InvalidInputError, "values must be a tensor", lambda: memory.write(one, torch.ones(3))),
        (InvalidInputError, "a value for each key", lambda: memory.write(one, torch.ones(2, E))),
        (InvalidInputError, "finite", lambda: memory.write(one * torch.inf, value)),
        (InvalidInputError, "change them with update", lambda: memory.write(one, value, ids=[3])),
        (
            InvalidInputError,
            "distinct non-negative integers",
            lambda: memory.write(torch.ones(2, D), torch.ones(2, E), ids=[9, 9]),
        ),
        (InvalidInputError, "non-negative", lambda: memory.write(one, value, ids=[-1])),
        (InvalidInputError, "ids must be", lambda: memory.write(one, value, ids=["a"])),  # type: ignore[list-item]
        (InvalidInputError, "ids must be", lambda: memory.write(one, value, ids=[2**64])),
        (InvalidInputError, "scope must", lambda: memory.write(one, value, scope=-1)),
        (InvalidInputError, "scope must", lambda: memory.write(one, value, scope=torch.zeros(2, dtype=torch.int64))),
        (InvalidInputError, "given twice", lambda: memory.delete([1, 1])),
        (NotFoundError, r"no items \[77\]", lambda: memory.delete([1, 77])),
        (NotFoundError, r"no items \[77\]", lambda: memory.update([77], keys=one)),
        (NotFoundError, r"no items \[77\]", lambda: memory.get([77])),
        (InvalidInputError, "one for each of 1 ids", lambda: memory.update([1], keys=one, values=torch.ones(2, E))),
        (InvalidInputError, "finite", lambda: memory.update([1], keys=one, values=value * torch.nan)),
        (InvalidInputError, "queries must be", lambda: memory(torch.ones(3))),
        (InvalidInputError, "must be finite", lambda: memory(one * torch.nan)),
        (InvalidInputError, "k must be", lambda: memory(one, 0)),
        (InvalidInputError, "scope must", lambda: memory(one, 1, -1)),
        (InvalidInputError, "fit the queries", lambda: memory(one, 1, torch.tensor([1, 2]))),
        (InvalidInputError, "convert the memory", lambda: memory(one.double())),
        (InvalidInputError, "key_dim", lambda: RetrievalMemory(0, 1)),
        (InvalidInputError, "scale", lambda: RetrievalMemory(1, 1, scale=0.0)),
    ]
    for kind, said, call in calls:
        with pytest.raises(kind, match=said):
            call()
        assert all(torch.equal(tensor, before[name]) for name, tensor in memory.state_dict().items())
    with pytest.raises(InvalidInputError, match="float16"):
        filled(5).half()(one)


def test_public_names() -> None:
    assert nscma_torch.RetrievalMemory is RetrievalMemory and "Recalled" in nscma_torch.__all__
