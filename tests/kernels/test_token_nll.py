"""`token_nll` against log_softmax of all logits: as exact as torch in the same dtype, or half as much again off."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nscma_kernels import token_nll

SHAPES = [(1, 1, 1), (7, 13, 5), (41, 401, 71), (130, 1271, 33), (3, 5003, 64)]  # T, V, d
OPTIONS: list[dict[str, Any]] = [{}, {"softcap": 5.0}, {"bias": True}, {"bias": True, "softcap": 30.0}]


def plain(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    softcap: float | None = None,
    ignore_index: int = -100,
) -> tuple[Tensor, Tensor]:
    """What a user of torch would write; from the logits on in float32, or float64."""
    logits = torch.nn.functional.linear(hidden, weight)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    if bias is not None:
        logits = logits + bias
    if softcap is not None:
        logits = softcap * torch.tanh(logits / softcap)
    log_p = logits.log_softmax(-1)
    kept = targets != ignore_index
    nll = -log_p.gather(-1, torch.where(kept, targets, 0).long()[..., None])[..., 0]
    entropy = -torch.where(log_p.isneginf(), 0.0, log_p.exp() * log_p.clamp(min=-1e30)).sum(-1)
    return torch.where(kept, nll, 0.0), torch.where(kept, entropy, 0.0)


def case(shape: tuple[int, int, int], options: dict[str, Any], dtype: torch.dtype) -> dict[str, Any]:
    """Logits of a deviation of about 3, some tokens ignored."""
    t, v, d = shape
    generator = torch.Generator().manual_seed(t + v)
    targets = torch.randint(0, v, (t,), generator=generator)
    targets[3::5] = -100
    arguments = {
        **options,
        "hidden": (3 * torch.randn(t, d, generator=generator)).to(dtype),
        "weight": (torch.randn(v, d, generator=generator) * d**-0.5).to(dtype),
        "targets": targets,
    }
    if options.get("bias"):
        bias = torch.randn(v, generator=generator)
        arguments["bias"] = bias.double() if dtype == torch.float64 else bias
    return arguments


def results(function: Any, arguments: dict[str, Any], **options: Any) -> list[Tensor]:
    """nll, entropy, and gradients of a weighted sum of both."""
    arguments = dict(arguments)
    leaves = [name for name in ("hidden", "weight", "bias") if isinstance(arguments.get(name), Tensor)]
    for name in leaves:
        arguments[name] = arguments[name].detach().clone().requires_grad_()
    nll, entropy = function(**arguments, **options)
    weights = torch.linspace(-1, 2, 2 * nll.numel(), dtype=nll.dtype).view(2, *nll.shape)
    total = (weights[0] * nll + weights[1] * entropy).sum()
    return [nll.detach(), entropy.detach(), *torch.autograd.grad(total, [arguments[name] for name in leaves])]


def in_float64(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.double() if isinstance(value, Tensor) and value.is_floating_point() else value
        for name, value in arguments.items()
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_errs_like_torch(shape: tuple[int, int, int], options: dict[str, Any], dtype: torch.dtype) -> None:
    arguments = case(shape, options, dtype)
    truth = results(plain, in_float64(arguments))
    torchs = results(plain, arguments)
    ours = results(token_nll, arguments, return_entropy=True)
    names = ["nll", "entropy", "d hidden", "d weight", "d bias"]
    for name, true, their, our in zip(names, truth, torchs, ours, strict=False):
        assert our.dtype == their.dtype
        allowed = 1.5 * (their.double() - true).abs().max() + (1e-13 if dtype == torch.float64 else 1e-5)
        if name.startswith("d "):  # rounded in each tile and once more
            allowed += torch.finfo(dtype).eps * true.abs().max()
        assert (our.double() - true).abs().max() <= allowed, name
    assert torch.equal(ours[0], token_nll(**arguments))


@pytest.mark.parametrize("options", OPTIONS)
def test_gradients_of_many_tiles(options: dict[str, Any]) -> None:
    """More tokens, and more words, than are in one tile."""
    arguments = case((1100, 2503, 6), options, torch.float64)
    for true, our in zip(results(plain, arguments), results(token_nll, arguments, return_entropy=True), strict=True):
        torch.testing.assert_close(our, true, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("options", OPTIONS)
def test_gradcheck(options: dict[str, Any]) -> None:
    arguments = case((9, 11, 4), options, torch.float64)
    bias = arguments.pop("bias", None)
    leaves = [arguments.pop(name).requires_grad_() for name in ("hidden", "weight")]
    if bias is not None:
        leaves.append(bias.requires_grad_())

    def run(hidden: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
        return token_nll(hidden, weight, bias=bias, return_entropy=True, **arguments)

    assert torch.autograd.gradcheck(run, leaves)


def test_only_what_is_asked_for_has_a_gradient() -> None:
    arguments = case((7, 13, 5), {"bias": True}, torch.float32)
    for name in ("hidden", "weight", "bias"):
        leaf = arguments[name].clone().requires_grad_()
        loss = token_nll(**{**arguments, name: leaf}).sum()
        loss.backward()
        assert leaf.grad.shape == leaf.shape
        assert leaf.grad.abs().sum() > 0
    assert not token_nll(**arguments).requires_grad


def test_a_second_derivative_is_refused() -> None:
    arguments = case((7, 13, 5), {}, torch.float64)
    hidden = arguments.pop("hidden").requires_grad_()
    (first,) = torch.autograd.grad(token_nll(hidden, **arguments).square().sum(), hidden, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


class Largest(TorchDispatchMode):
    """The number of cells of the largest tensor that is made."""

    cells = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for part in made if isinstance(made, (tuple, list)) else [made]:
            if isinstance(part, Tensor) and not any(part is given for given in args):
                self.cells = max(self.cells, part.numel())
        return made


def test_never_holds_the_logits() -> None:
    t, v, d = 700, 9001, 16
    arguments = case((t, v, d), {"bias": True, "softcap": 5.0}, torch.bfloat16)
    leaves = [arguments[name].requires_grad_() for name in ("hidden", "weight", "bias")]
    with Largest() as forward:
        nll, entropy = token_nll(**arguments, return_entropy=True)
    with Largest() as backward:
        torch.autograd.grad((nll + entropy).sum(), leaves)
    for largest in (forward, backward):
        assert 10_000 < largest.cells <= 2**20 + 512 < t * v


def test_repeats_itself_and_a_token_does_not_depend_on_where_it_stands() -> None:
    arguments = case((41, 4001, 32), {}, torch.bfloat16)
    first = results(token_nll, arguments, return_entropy=True)
    again = results(token_nll, arguments, return_entropy=True)
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))
    arguments["hidden"], arguments["targets"] = arguments["hidden"].flip(0), arguments["targets"].flip(0)
    assert torch.equal(token_nll(**arguments).flip(0), first[0])


def test_leading_dimensions() -> None:
    arguments = case((24, 101, 8), {}, torch.float32)
    flat, entropy = token_nll(**arguments, return_entropy=True)
    batch = {"hidden": arguments["hidden"].view(2, 3, 4, 8), "targets": arguments["targets"].view(2, 3, 4)}
    shaped, shaped_entropy = token_nll(**{**arguments, **batch}, return_entropy=True)
    assert torch.equal(shaped, flat.view(2, 3, 4))
    assert torch.equal(shaped_entropy, entropy.view(2, 3, 4))
    one = token_nll(arguments["hidden"][0], arguments["weight"], arguments["targets"][0])
    assert one.shape == ()
    torch.testing.assert_close(one, flat[0])


def test_memory_layouts_and_integer_types() -> None:
    arguments = case((10, 101, 8), {}, torch.float32)
    want = token_nll(**arguments)
    turned = {name: arguments[name].T.contiguous().T for name in ("hidden", "weight")}
    torch.testing.assert_close(token_nll(**{**arguments, **turned}), want)
    assert torch.equal(token_nll(**{**arguments, "targets": arguments["targets"].int()}), want)


def test_ignored_tokens() -> None:
    arguments = case((20, 31, 8), {}, torch.float32)
    nll, entropy = token_nll(**arguments, return_entropy=True)
    ignored = arguments["targets"] == -100
    assert ignored.any()
    assert nll[ignored].eq(0).all()
    assert entropy[ignored].eq(0).all()
    hidden = arguments["hidden"].clone()
    hidden[ignored] = math.nan
    assert torch.equal(token_nll(**{**arguments, "hidden": hidden}), nll)
    padded = torch.where(ignored, 0, arguments["targets"])  # a word as padding
    assert token_nll(**{**arguments, "targets": padded}, ignore_index=0)[padded == 0].eq(0).all()
    nothing = {**arguments, "targets": torch.full((20,), -100), "hidden": arguments["hidden"].requires_grad_()}
    token_nll(**nothing).sum().backward()
    assert nothing["hidden"].grad.eq(0).all()


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_no_tokens(shape: tuple[int, ...]) -> None:
    hidden = torch.empty(*shape, 4, requires_grad=True)
    weight = torch.ones(5, 4, requires_grad=True)
    nll, entropy = token_nll(hidden, weight, torch.empty(shape, dtype=torch.int64), return_entropy=True)
    assert nll.shape == entropy.shape == shape
    (nll.sum() + entropy.sum()).backward()
    assert hidden.grad is not None
    assert hidden.grad.shape == hidden.shape
    assert weight.grad is not None
    assert weight.grad.eq(0).all()


def test_probabilities_of_zero() -> None:
    arguments = case((6, 9, 4), {"bias": True}, torch.float32)
    arguments["targets"] = torch.tensor([0, 1, 2, 3, 4, 5])
    arguments["bias"][[1, 7]] = -math.inf
    true = results(plain, in_float64(arguments))
    ours = results(token_nll, arguments, return_entropy=True)
    assert ours[0].isinf().tolist() == [False, True, False, False, False, False]
    for our, expected in zip(ours, true, strict=True):
        torch.testing.assert_close(our, expected.float(), rtol=1e-5, atol=1e-5)
    alone = token_nll(torch.ones(1, 2), torch.ones(1, 2), torch.zeros(1, dtype=torch.int64), return_entropy=True)
    assert [part.item() for part in alone] == [0.0, 0.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_spoils_its_own_token(bad: float) -> None:
    arguments = case((6, 901, 4), {}, torch.float32)
    arguments["targets"] = torch.arange(6)
    clean = token_nll(**arguments, return_entropy=True)
    arguments["hidden"][2, 1] = bad
    for got, want in zip(token_nll(**arguments, return_entropy=True), clean, strict=True):
        assert got.isnan().tolist() == [False, False, True, False, False, False]
        assert torch.equal(got[[0, 1, 3, 4, 5]], want[[0, 1, 3, 4, 5]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_keeps_its_precision_where_the_target_is_certain(dtype: torch.dtype) -> None:
    weight = torch.tensor([[20.0], [0.0], [0.0]], dtype=dtype)
    hidden = torch.tensor([[1.0], [3.0], [30.0], [-30.0]], dtype=dtype)
    nll, entropy = token_nll(hidden, weight, torch.zeros(4, dtype=torch.int64), return_entropy=True)
    others = 2 * math.exp(-20)
    torch.testing.assert_close(nll[0].item(), others, rtol=1e-6, atol=0)
    torch.testing.assert_close(nll[1].item(), 2 * math.exp(-60), rtol=1e-5, atol=0)
    assert nll[2].item() == 0
    torch.testing.assert_close(nll[3].item(), 600 + math.log(2), rtol=1e-6, atol=0)
    torch.testing.assert_close(entropy[3].item(), math.log(2), rtol=1e-6, atol=0)
    assert nll.ge(0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("level", [-300.0, -30.0, 30.0, 300.0])
def test_first_words_that_say_little_about_the_rest(level: float, dtype: torch.dtype) -> None:
    """A few hundred words, then others whose logits lie by `level` elsewhere, as unused words of a vocabulary do."""
    arguments = case((40, 1500, 24), {}, dtype)
    arguments["hidden"][:, 0] = 8.0
    arguments["weight"][:, 0] = 0.0
    arguments["weight"][700:, 0] = level / 8.0
    arguments["targets"][1::5] = 5
    arguments["targets"][2::5] = 900
    truth = results(plain, in_float64(arguments))
    theirs, ours = results(plain, arguments), results(token_nll, arguments, return_entropy=True)
    for true, their, our in zip(truth, theirs, ours, strict=True):
        allowed = (their.double() - true).abs().max() + 2e-3
        assert torch.isfinite(our).all() and (our.double() - true).abs().max() <= allowed


def test_under_autocast() -> None:
    arguments = case((7, 13, 5), {}, torch.float32)
    want = results(token_nll, arguments, return_entropy=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = results(token_nll, arguments, return_entropy=True)
    assert all(torch.equal(one, other) for one, other in zip(got, want, strict=True))


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 30), st.integers(2, 70), st.integers(1, 9), st.integers(0, 2**31))
def test_depends_on_nothing_but_differences_of_logits(t: int, v: int, d: int, seed: int) -> None:
    """Words in another order, and one number added to all logits."""
    generator = torch.Generator().manual_seed(seed)
    hidden, weight = (torch.randn(n, d, generator=generator, dtype=torch.float64) for n in (t, v))
    targets, order = torch.randint(0, v, (t,), generator=generator), torch.randperm(v, generator=generator)
    want = token_nll(hidden, weight, targets, return_entropy=True)
    bias = torch.full((v,), 7.25, dtype=torch.float64)
    got = token_nll(hidden, weight[order], order.argsort()[targets], bias=bias, return_entropy=True)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
        assert one.ge(0).all()
    assert want[1].le(math.log(v) + 1e-12).all()


GOOD = {"hidden": torch.ones(3, 4), "weight": torch.ones(5, 4), "targets": torch.zeros(3, dtype=torch.int64)}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"hidden": torch.ones(3, 5)}, "expected"),
        ({"hidden": torch.ones(2, 4)}, "expected"),
        ({"hidden": torch.tensor(1.0)}, "expected"),
        ({"weight": torch.ones(4)}, "expected"),
        ({"targets": torch.zeros(3, 1, dtype=torch.int64)}, "expected"),
        ({"weight": torch.ones(0, 4)}, "at least one word"),
        ({"hidden": torch.ones(3, 0), "weight": torch.ones(5, 0)}, "at least one word"),
        ({"weight": torch.ones(5, 4, dtype=torch.bfloat16)}, "convert one"),
        ({"hidden": torch.ones(3, 4).int(), "weight": torch.ones(5, 4).int()}, "must both be"),
        ({"targets": torch.zeros(3)}, "must be integers"),
        ({"targets": torch.zeros(3, dtype=torch.bool)}, "must be integers"),
        ({"targets": torch.tensor([0, 5, 0])}, "got 5"),
        ({"targets": torch.tensor([0, -1, 0])}, "got -1"),
        ({"bias": torch.ones(4)}, "bias must be"),
        ({"bias": torch.ones(5, dtype=torch.int64)}, "bias must be"),
        ({"softcap": 0.0}, "softcap must be"),
        ({"softcap": math.nan}, "softcap must be"),
        ({"hidden": torch.ones(3, 4, device="meta")}, "one device"),
        ({"impl": "cuda"}, "impl must be"),
        ({"impl": "triton"}, "needs CUDA"),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        token_nll(**{**GOOD, **wrong})
