"""`NeuralMemory`: its equations, its explicit state, what it refuses."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from nscma_kernels.memory_layers import squared_error
from nscma_torch.core.errors import InvalidInputError, ModelError, ModelNotFoundError
from nscma_torch.neural import NeuralMemory, NeuralMemoryState
from nscma_torch.neural.placements import MemoryAsContext
from nscma_torch.neural.segment import SegmentState
from nscma_torch.surprise import SurpriseGate


def module(dim: int = 8, seed: int = 0, dtype: torch.dtype = torch.float64, **options: Any) -> NeuralMemory:
    torch.manual_seed(seed)
    memory = NeuralMemory(dim, **options).to(dtype)
    for scale in (memory.query_scale, memory.key_scale):
        torch.nn.init.uniform_(scale, 0.5, 1.5)
    return memory


def drawn(batch: int, length: int, dim: int = 8, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(batch, length, dim, generator=torch.Generator().manual_seed(length), dtype=dtype)


def tensors(state: NeuralMemoryState) -> list[Tensor]:
    return [*state.weights, *state.momentum, *state.base, *state.pending[:5]]


def literal(memory: NeuralMemory, x: Tensor) -> tuple[Tensor, Tensor]:
    """The equations of the docstring for one stream [T, D], a head and a token at a time, gradients by autograd."""
    width, outputs, losses = memory.width, [], []
    x = x / x.square().mean(-1, keepdim=True).sqrt()

    def rms(part: Tensor) -> Tensor:
        return part / part.square().mean(-1, keepdim=True).sqrt()

    def recall(key: Tensor, weights: list[Tensor]) -> Tensor:
        out = functional.gelu(key @ weights[0]) @ weights[1]
        return key + functional.layer_norm(out, (width,)) if memory.norm else out

    for head in range(memory.heads):
        part = slice(head * width, (head + 1) * width)
        q = memory.query_scale[head] * rms(x @ memory.to_queries.weight.T[:, part])
        k = memory.key_scale[head] * rms(x @ memory.to_keys.weight.T[:, part])
        v = x @ memory.to_values.weight.T[:, part]
        step, eta, alpha, gate = (
            torch.sigmoid(x @ layer.weight[head] + layer.bias[head])
            for layer in (memory.to_step, memory.to_momentum, memory.to_decay, memory.to_gate)
        )
        weights = [weight[head].detach().requires_grad_() for weight in memory.memory]
        momentum = [torch.zeros_like(weight) for weight in weights]
        outs, errors = [], []
        for t in range(len(x)):
            loss = (recall(k[t], weights) - v[t]).square().sum()
            grads = torch.autograd.grad(loss, weights, retain_graph=True)
            theta = memory.max_step * step[t] / width
            momentum = [eta[t] * s - theta * grad for s, grad in zip(momentum, grads, strict=True)]
            moved = [(1 - alpha[t]) * w + s for w, s in zip(weights, momentum, strict=True)]
            weights = [weight.detach().requires_grad_() for weight in moved]
            outs.append(gate[t] * recall(q[t], weights))
            errors.append(loss / width)
        outputs.append(torch.stack(outs))
        losses.append(torch.stack(errors))
    return torch.cat(outputs, -1) @ memory.combine.weight.T, torch.stack(losses).mean(0)


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("heads", [1, 2])
def test_a_segment_of_one_is_the_recurrence_of_the_paper(heads: int, norm: bool) -> None:
    memory, x = module(heads=heads, norm=norm, segment=1), drawn(2, 40)
    y, _, surprise = memory(x, return_surprise=True)
    for i in range(2):
        expected, losses = literal(memory, x[i])
        assert (y[i] - expected).abs().max() < 1e-9
        assert (surprise[i] - losses).abs().max() < 1e-5  # rounded to float32


def test_less_than_a_chunk_changes_the_weights_after_flush() -> None:
    memory, x = module(segment=64), drawn(2, 5)
    _, state = memory(x)
    assert all(torch.equal(one, other) for one, other in zip(state.weights, memory.init_state(2).weights, strict=True))
    flushed = memory.flush(state)
    assert isinstance(flushed, NeuralMemoryState)
    assert all(not torch.equal(one, other) for one, other in zip(flushed.weights, state.weights, strict=True))
    assert flushed.pending.k.shape[1] == 0
    _, _, before = memory(x, state, return_surprise=True)
    _, _, after = memory(x, flushed, return_surprise=True)
    assert after.mean() < before.mean()


def test_it_remembers() -> None:
    """Of a sequence that comes again every token surprises less, and one that never came does as before."""
    memory, x = module(128, segment=16, dtype=torch.float32), drawn(1, 64, 128, torch.float32)
    other = drawn(1, 65, 128, torch.float32)[:, :64]
    with torch.no_grad():
        _, state, first = memory(x, return_surprise=True)
        for _ in range(4):
            _, state, again = memory(x, state, return_surprise=True)
        _, _, new = memory(other, state, return_surprise=True)
    assert again.mean() < 0.2 * first.mean()
    assert again.mean() < 0.5 * new.mean()


def test_a_masked_token_is_only_read() -> None:
    memory, x = module(heads=2, segment=4, chunk=2), drawn(2, 12)
    _, state = memory(drawn(2, 8))
    none = torch.zeros(2, 12, dtype=torch.bool)
    y, after, surprise = memory(x, state, store_mask=none, return_surprise=True)
    assert y.abs().sum() > 0 and (surprise > 0).all()
    for one, other in zip((*after.weights, *after.momentum), (*state.weights, *state.momentum), strict=True):
        assert torch.equal(one, other)
    some = none.clone()
    some[:, ::3] = True
    one, stored, _ = memory(x, state, store_mask=some, return_surprise=True)
    changed = torch.where(some[..., None], x, drawn(2, 13)[:, :12])
    _, same, _ = memory(changed, state, store_mask=some, return_surprise=True)
    for weight, other in zip(stored.weights, same.weights, strict=True):
        assert torch.allclose(weight, other, rtol=0, atol=1e-15)
    assert not torch.equal(stored.weights[0], state.weights[0])


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
def test_a_masked_token_that_is_not_finite_reaches_nothing(broken: float) -> None:
    """Neither later outputs, nor the state, nor any gradient: those of zeros in its place, to the bit."""
    kept = torch.ones(2, 11, dtype=torch.bool)
    kept[0, 2], kept[1, 9] = False, False
    results = []
    for filler in (0.0, broken):
        memory = module(segment=4, chunk=2)
        x = torch.where(kept[..., None], drawn(2, 11), filler).requires_grad_()
        y, state, surprise = memory(x, store_mask=kept, return_surprise=True)
        after = memory.flush(state)
        (y[kept].square().sum() + surprise[kept].sum() + sum(w.sum() for w in after.weights)).backward()
        assert x.grad is not None
        results.append([y, surprise, *tensors(after), x.grad, *(p.grad for p in memory.parameters())])
    for one, other in zip(*results, strict=True):
        assert torch.isfinite(one).all()
        assert torch.equal(one, other)


def test_every_parameter_learns_through_the_state() -> None:
    memory, x = module(heads=2, segment=4, chunk=2), drawn(2, 11)
    y, state = memory(x[:, :5])
    again, _, surprise = memory(x[:, 5:], state, return_surprise=True)
    (y.square().sum() + again.square().sum() + surprise.sum()).backward()
    for name, parameter in memory.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    memory.zero_grad()
    later, _ = memory(x[:, 5:], state.detach())
    later.sum().backward()
    assert all(weight.grad is None for weight in memory.memory)


def test_under_autocast_only_the_projections_are_bfloat16() -> None:
    memory, x = module(heads=2, segment=8, dtype=torch.float32), drawn(2, 21, dtype=torch.float32)
    exact, _ = memory(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, state, surprise = memory(x, return_surprise=True)
        y.float().square().sum().backward()
    assert y.dtype == torch.bfloat16
    assert surprise.dtype == torch.float32
    assert all(weight.dtype == torch.float32 for weight in state.weights)
    assert (y - exact).abs().max() < 0.05 * exact.abs().max()
    assert memory.to_keys.weight.grad is not None and memory.to_keys.weight.grad.isfinite().all()
    low = module(heads=2, segment=8, dtype=torch.bfloat16)
    y, state = low(x.bfloat16())
    assert y.dtype == torch.bfloat16
    assert state.weights[0].dtype == torch.float32


def test_without_gradients_nothing_is_kept() -> None:
    memory, x = module(segment=4), drawn(1, 9)
    with torch.no_grad():
        y, state = memory(x)
    assert not y.requires_grad
    assert not any(tensor.requires_grad for tensor in tensors(state))
    with torch.inference_mode():
        assert torch.equal(memory(x)[0], y)


@pytest.mark.parametrize("length", [0, 7, 24])
def test_a_saved_state_continues_bit_for_bit(tmp_path: Path, length: int) -> None:
    memory, x = module(heads=2, segment=16, chunk=8), drawn(2, 40)
    mask = torch.rand(2, 40, generator=torch.Generator().manual_seed(0)) < 0.5
    with torch.no_grad():
        _, state = memory(x[:, :length], store_mask=mask[:, :length])
        state.save(tmp_path / "state.safetensors")
        loaded = NeuralMemoryState.load(tmp_path / "state.safetensors")
        one, after = memory(x[:, length:], state, store_mask=mask[:, length:])
        other, later = memory(x[:, length:], loaded, store_mask=mask[:, length:])
    assert torch.equal(one, other)
    assert all(map(torch.equal, tensors(after), tensors(later)))
    assert loaded.position == state.position and loaded.norm == state.norm


def test_a_fresh_process_loads_states_with_weights_only(tmp_path: Path) -> None:
    """Inside a checkpoint, pending tokens and shared weights included; those of attached memories and gates too."""
    memory = module(dtype=torch.float32, segment=8, chunk=4)
    attached = MemoryAsContext(8, dim=4, reach=2, persistent=1, segment=8, chunk=4)
    block, tokens = attached.init_state(1), torch.ones(1, 3, 8)
    checkpoint = {
        "x": drawn(1, 7, dtype=torch.float32),
        "module": memory.state_dict(),
        "fresh": memory.init_state(2),
        "state": memory(drawn(1, 11, dtype=torch.float32))[1].detach(),
        "block": block.with_segment(SegmentState(tokens, tokens, None, tokens[..., 0] > 0), 8).map(Tensor.detach),
        "gate": SurpriseGate().init_state(2),
    }
    with torch.no_grad():
        expected, _ = memory(checkpoint["x"], checkpoint["state"])
    torch.save(checkpoint, tmp_path / "checkpoint.pt")
    torch.save(expected, tmp_path / "expected.pt")
    program = """
import torch
from nscma_torch import NeuralMemory, SurpriseGate, attach_memory
saved = torch.load("checkpoint.pt", weights_only=True)
memory = NeuralMemory(8, segment=8, chunk=4)
memory.load_state_dict(saved["module"])
with torch.no_grad():
    y, _ = memory(saved["x"], saved["state"])
assert torch.equal(y, torch.load("expected.pt", weights_only=True))
assert saved["fresh"].base is saved["fresh"].weights and saved["block"].segment.real.all()
SurpriseGate()(torch.ones(2, 3), saved["gate"])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_saved_module_gives_the_same(tmp_path: Path) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        memory, x = module(heads=2, segment=None, chunk=4, norm=False, dtype=dtype), drawn(2, 9, dtype=torch.float32)
        memory.save(tmp_path / "memory.safetensors")
        loaded = NeuralMemory.load(tmp_path / "memory.safetensors")
        assert repr(loaded) == repr(memory)
        assert torch.equal(loaded(x.to(dtype))[0], memory(x.to(dtype))[0])
        state = memory.state_dict()
        assert state.keys() == loaded.state_dict().keys()


def test_files_of_something_else(tmp_path: Path) -> None:
    memory = module()
    memory.save(tmp_path / "memory")
    memory.init_state(1).save(tmp_path / "state")
    (tmp_path / "text").write_text("no tensors")
    for loader, others in ((NeuralMemory.load, ("state", "text")), (NeuralMemoryState.load, ("memory", "text"))):
        with pytest.raises(ModelNotFoundError, match="nothing"):
            loader(tmp_path / "nothing")
        for name in others:
            with pytest.raises(ModelError, match="does not contain"):
                loader(tmp_path / name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 0}, "dim must be a positive integer"),
        ({"heads": 3}, "multiple of heads"),
        ({"segment": 8, "chunk": 3}, "multiple of chunk"),
        ({"segment": None}, "needs a chunk"),
        ({"expansion": 0}, "expansion must be a positive number"),
        ({"max_step": -1.0}, "max_step must be a positive number"),
        ({"max_step": math.nan}, "max_step must be a positive number"),
        ({"expansion": math.inf}, "expansion must be a positive number"),
        ({"heads": 2.0}, "heads must be a positive integer"),
        ({"segment": True}, "segment must be a positive integer"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        NeuralMemory(**{"dim": 8, **options})


def test_bad_input() -> None:
    memory, x = module(heads=2, segment=8), drawn(2, 5)
    state = memory.init_state(2)
    other = module(heads=1, segment=8).init_state(4)
    plain = module(heads=2, segment=8, norm=False).init_state(2)
    cases: list[tuple[str, Tensor, NeuralMemoryState | None, Tensor | None]] = [
        ("x must be", x[0], None, None),
        ("x must be", x[..., :7], None, None),
        ("x must be", x.long(), None, None),
        ("store_mask must be", x, None, torch.ones(2, 4, dtype=torch.bool)),
        ("store_mask must be", x, None, torch.ones(2, 5)),
        ("this module", x[:1], state, None),
        ("this module", x, other, None),
        ("this module", x, plain, None),
        ("move one", x, state.to("meta"), None),
    ]
    for message, given, begin, mask in cases:
        with pytest.raises(InvalidInputError, match=message):
            memory(given, begin, store_mask=mask)
    with pytest.raises(InvalidInputError, match="batch"):
        memory.init_state(0)


def test_values_of_a_wrong_type_are_refused() -> None:
    memory, x = module(), drawn(2, 5)
    calls: list[tuple[str, Callable[..., object], tuple[Any, ...]]] = [
        ("x must be a tensor", memory, (x.tolist(),)),
        ("x must be a tensor", memory, (None,)),
        ("state must be a NeuralMemoryState", memory, (x, {})),
        ("state must be a NeuralMemoryState", memory, (x, x)),
        ("state must be a NeuralMemoryState", memory.flush, (None,)),
        ("store_mask must be a tensor", lambda x: memory(x, store_mask=[[True] * 5] * 2), (x,)),
        ("batch must be a positive integer", memory.init_state, ("2",)),
        ("batch must be a positive integer", memory.init_state, (2.0,)),
        ("norm must be", lambda norm: NeuralMemory(8, norm=norm), ("yes",)),
        ("dim must be", NeuralMemory, (None,)),
    ]
    for message, call, arguments in calls:
        with pytest.raises(InvalidInputError, match=message):
            call(*arguments)


def test_a_state_of_another_module_is_refused(tmp_path: Path) -> None:
    memory, x = module(heads=2, segment=8, chunk=4), drawn(2, 5)
    _, state = memory(x)
    state.save(tmp_path / "state")
    for given in (state, memory.init_state(2), NeuralMemoryState.load(tmp_path / "state")):
        for options in ({"segment": 4}, {"segment": 8}, {"segment": 16, "chunk": 4}, {"segment": None, "chunk": 4}):
            other = module(heads=2, **options)
            for refused in (lambda: other(x, given), lambda: other.flush(given)):  # noqa: B023 - called at once
                with pytest.raises(InvalidInputError, match="the state has segment=8, chunk=4"):
                    refused()
        with pytest.raises(InvalidInputError, match=r"the state is torch\.float64"):
            module(heads=2, segment=8, chunk=4, dtype=torch.float32)(x.float(), given)
        assert torch.equal(memory(x, given)[0], module(heads=2, segment=8, chunk=4)(x, given)[0])
    whole = module(segment=8)
    assert torch.equal(module(segment=8, chunk=8)(x, whole.init_state(2))[0], whole(x)[0]), "the default chunk by name"


def test_x_of_another_dtype_needs_autocast() -> None:
    memory, x = module(segment=8, dtype=torch.float32), drawn(2, 5, dtype=torch.float32)
    for given in (x.bfloat16(), x.half(), x.double()):
        with pytest.raises(InvalidInputError, match=r"convert one with .to"):
            memory(given)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        exact, (y, _) = memory(x)[0], memory(x.bfloat16())
        assert (y - exact).abs().max() <= 0.05 * exact.abs().max()
        with pytest.raises(InvalidInputError, match=r"convert one with .to"):
            memory(x.double())


def test_empty_and_single_tokens() -> None:
    memory = module(segment=4)
    y, state, surprise = memory(drawn(2, 1)[:, :0], return_surprise=True)
    assert y.shape == (2, 0, 8) and surprise.shape == (2, 0)
    y, state = memory(drawn(2, 1), state)
    assert y.shape == (2, 1, 8)


def streams(length: int) -> dict[str, Tensor]:
    once = drawn(1, 3, 32, torch.float32)
    return {
        "random": drawn(1, length, 32, torch.float32),
        "one token": once[:, :1].expand(1, length, 32),
        "three tokens": once.repeat(1, length // 3 + 1, 1)[:, :length],
        "zeros": torch.zeros(1, length, 32),
        "huge": 1e18 * drawn(1, length, 32, torch.float32),
    }


@pytest.mark.parametrize("length", [4096, pytest.param(65_536, marks=pytest.mark.prove)])
@pytest.mark.parametrize("name", ["random", "one token", "three tokens", "zeros", "huge"])
def test_long_streams_stay_finite(name: str, length: int) -> None:
    x = streams(length)[name]
    for heads in (1, 4):
        memory = module(32, heads=heads, dtype=torch.float32)
        with torch.no_grad():
            y, state, surprise = memory(x, return_surprise=True)
        for tensor in (y, surprise, *tensors(state)):
            assert tensor.isfinite().all()
        if length > 4096:
            first, last = surprise[0, 0], surprise[0, -64:].mean()
            print(f"{length} tokens, {name}, {heads} heads: surprise {first:.3f} first, {last:.3f} in the last 64")


@pytest.mark.parametrize(("depth", "heads", "norm"), [(1, 1, False), (2, 2, True), (3, 1, True)])
def test_the_gradient_norm_is_that_of_autograd(depth: int, heads: int, norm: bool) -> None:
    """Titans, equation 8: the gradient of ||M(k) - v||^2 with respect to all weights, token by token."""
    torch.manual_seed(0)
    module = NeuralMemory(8, heads=heads, depth=depth, norm=norm, segment=1).double()
    x = torch.randn(2, 6, 8, dtype=torch.float64)
    with torch.no_grad():
        _, state = module(x[:, :3])
        found = module.gradient_norm(x[:, 3:], state)
    for stream in range(2):
        for token in range(3):
            own = torch.nn.functional.rms_norm(x[stream, 3 + token], (8,)).view(1, 1, 8)
            k = torch.nn.functional.rms_norm(module.to_keys(own).view(heads, 8 // heads), (8 // heads,))
            v = module.to_values(own).view(heads, 1, 8 // heads)
            weights = [w[stream * heads : (stream + 1) * heads].clone().requires_grad_() for w in state.weights]
            loss = squared_error(k[:, None], v, weights, norm).sum()
            slopes = torch.autograd.grad(loss, weights)
            assert float(found[stream, token]) == pytest.approx(float(sum(g.square().sum() for g in slopes)) ** 0.5)
    again = module.gradient_norm(x[:, 3:], state)
    assert torch.equal(again, found), "measuring writes nothing"


def test_it_compiles_as_one_graph() -> None:
    """Outputs, state and gradients are those of the module itself."""
    torch.manual_seed(0)
    module, x = NeuralMemory(8, heads=2, segment=4), torch.randn(1, 6, 8)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager", dynamic=False)
    found = []
    for own in (compiled, module):
        y, state = own(x)
        y.square().sum().backward()
        found.append((y.detach(), state, [parameter.grad for parameter in module.parameters()]))
        module.zero_grad()
    (y, state, grads), (wanted, other, slopes) = found
    assert torch.equal(y, wanted) and torch.equal(state.weights[0], other.weights[0])
    assert len(slopes) == sum(grad is not None for grad in grads)
    assert all(torch.equal(grad, slope) for grad, slope in zip(grads, slopes, strict=True))
