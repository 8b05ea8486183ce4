"""`SurpriseGate`: the paper's rule on tensors, one meaning with the gate of messages, and numerical abuse."""

from __future__ import annotations

import doctest
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nscma_kernels import rolling_stats
from nscma_torch.core.config import GateConfig
from nscma_torch.core.errors import InvalidInputError, ModelError, ModelNotFoundError
from nscma_torch.surprise import GateState, MessageGate, Observation, SurpriseGate, SurpriseGateState, gate_module
from nscma_torch.surprise.paper_rule import moments


def streamed(gate: SurpriseGate, surprises: Tensor) -> tuple[Tensor, Tensor, SurpriseGateState]:
    """Decisions and thresholds [B, inputs] of inputs of one token each, and the state after them."""
    state, write, threshold = gate.init_state(len(surprises)), [], []
    for column in surprises.T:
        made = gate(column[:, None], state)
        state = made.state
        write.append(made.write)
        threshold.append(made.threshold)
    return torch.stack(write, 1), torch.stack(threshold, 1), state


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def close(one: SurpriseGateState, other: SurpriseGateState) -> bool:
    return torch.allclose(one.values, other.values) and torch.equal(one.count, other.count)


@pytest.mark.parametrize("lam", [-0.5, 0.0, 1.0])
def test_it_is_the_formula_of_the_paper(lam: float) -> None:
    surprises = drawn(3, 60).abs()
    write, threshold, _ = streamed(SurpriseGate(lam=lam, window=20, warmup=5), surprises)
    assert write[:, :5].all() and threshold[:, :5].eq(-torch.inf).all()
    for row in range(3):
        values = surprises[row].tolist()
        for i in range(5, 60):
            last = values[max(i - 20, 0) : i]
            expected = statistics.fmean(last) + lam * statistics.pstdev(last)
            assert threshold[row, i].item() == pytest.approx(expected)
            assert write[row, i].item() == (values[i] > expected)


@pytest.mark.parametrize("window", [1, 7, 64])
def test_mu_and_sigma_are_those_of_rolling_stats(window: int) -> None:
    surprises = drawn(4, 200).abs() * 3
    rolled = rolling_stats(surprises, window, current=False)
    for lam in (0.0, 1.5):
        _, threshold, _ = streamed(SurpriseGate(lam=lam, window=window, warmup=1), surprises)
        expected = rolled.mean + lam * rolled.std
        assert torch.allclose(threshold[:, 1:], expected[:, 1:], rtol=1e-6, atol=1e-6)


numbers = st.floats(0, 12, width=32) | st.sampled_from([0.1, 1.25, 3.0])


@given(st.lists(numbers, min_size=1, max_size=40), st.sampled_from([-1.0, 0.0, 0.7]), st.integers(1, 9))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_paper_means_the_same_here_and_in_the_gate_of_messages(values: list[float], lam: float, window: int) -> None:
    config = GateConfig(rule="paper", lam=lam, window=window, warmup=1 + window // 2)
    gate = SurpriseGate(lam=lam, window=window, warmup=config.warmup)
    means = torch.tensor([values])
    write, threshold, state = streamed(gate, means)
    past = GateState()
    for i, mean in enumerate(means[0].tolist()):
        seen = Observation(10, mean, 20.0, 20.0, code_share=0.0, salience=0.5, repeat=False, script="latin")
        decision, past = MessageGate(config).decide(seen, past)
        assert decision.write == write[0, i].item()
        if i >= config.warmup:
            assert decision.threshold == pytest.approx(threshold[0, i].item(), rel=1e-6, abs=1e-6)
    assert state.values[0, window - int(state.count) :].tolist() == list(past.series["latin"]["surprise"])


def test_information_compares_how_much_is_said() -> None:
    gate = SurpriseGate("information", warmup=1)
    short_and_strange, long_and_plain = torch.full((1, 2), 5.0), torch.full((1, 40), 1.0)
    state = gate(torch.full((1, 4), 3.0)).state
    assert not gate(short_and_strange, state).write and gate(long_and_plain, state).write
    made = gate(long_and_plain, state)
    assert made.score.item() == pytest.approx(math.log(40)) and made.surprise.item() == pytest.approx(1.0)
    assert made.threshold.item() == pytest.approx(math.log(12))
    assert gate(torch.full((1, 4), 1e-6)).score.item() == 0.0, "less than a nat is as one"


def test_logits_hidden_states_and_nll_are_one_input() -> None:
    hidden, weight, bias = drawn(3, 11, 16), drawn(41, 16, seed=1), drawn(41, seed=2)
    targets = torch.randint(41, (3, 11), generator=torch.Generator().manual_seed(3))
    targets[0, 4:], targets[2, 0] = -100, -100
    mask = torch.ones(3, 11, dtype=torch.bool)
    mask[1, 9:] = False
    logits = hidden @ weight.T + bias
    nll = -logits.log_softmax(-1).gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    gate = SurpriseGate(warmup=1)
    expected = gate(nll, mask=mask & (targets != -100))
    padded = torch.where(mask, targets, 10**6)
    for made in (
        gate.from_logits(logits, padded, mask=mask),
        gate.from_hidden(hidden, weight, padded, bias=bias, mask=mask),
    ):
        assert torch.allclose(made.surprise, expected.surprise, atol=1e-5)
        assert torch.equal(made.write, expected.write) and close(made.state, expected.state)
    assert expected.surprise[0].item() == pytest.approx(nll[0, :4].mean().item())


def test_streams_know_nothing_of_each_other() -> None:
    surprises = drawn(5, 30).abs()
    gate = SurpriseGate(window=6, warmup=2, lam=0.3)
    write, threshold, state = streamed(gate, surprises)
    for row in range(5):
        own = streamed(gate, surprises[row : row + 1])
        assert torch.equal(own[0][0], write[row]) and torch.equal(own[1][0], threshold[row])
        assert torch.equal(own[2].values[0], state.values[row])


def test_what_is_masked_does_not_matter() -> None:
    gate, state = SurpriseGate(warmup=1), SurpriseGate().init_state(1)
    mask = torch.tensor([[True, True, False]])
    for rubbish in (0.0, -1e30, math.inf, math.nan):
        made = gate(torch.tensor([[1.0, 3.0, rubbish]]), state, mask=mask)
        assert made.surprise.item() == 2.0 and made.write.item()


def test_inputs_without_tokens_change_nothing() -> None:
    gate = SurpriseGate(warmup=1)
    _, _, state = streamed(gate, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    masked = gate(torch.ones(2, 3), state, mask=torch.tensor([[False] * 3, [True] * 3]))
    assert masked.write.tolist() == [False, False] and masked.surprise.isnan().tolist() == [True, False]
    assert masked.state.count.tolist() == [2, 3] and torch.equal(masked.state.values[0], state.values[0])
    nothing = gate(torch.empty(2, 0), state)
    assert not nothing.write.any() and close(nothing.state, state)
    assert not gate.from_logits(torch.empty(2, 0, 7), torch.empty(2, 0, dtype=torch.long)).write.any()
    assert not gate.from_hidden(torch.empty(2, 0, 4), torch.ones(7, 4), torch.empty(2, 0, dtype=torch.long)).write.any()
    nobody = gate(torch.empty(0, 5))
    assert nobody.write.shape == (0,) and nobody.state.values.shape == (0, 64)
    assert SurpriseGate("information", warmup=1)(torch.empty(1, 0)).score.isnan().all()


@pytest.mark.parametrize("rule", gate_module.SCORES)
def test_zero_probability_is_written_and_nan_is_not_and_neither_is_remembered(rule: str) -> None:
    gate = SurpriseGate(rule, warmup=1)
    logits = torch.zeros(4, 2, 5)
    logits[0, 0, 0] = -math.inf  # a word of no probability, which comes
    logits[1, 1] = -math.inf  # no word has any
    logits[2, 0, 3] = math.nan
    made = gate.from_logits(logits, torch.zeros(4, 2, dtype=torch.long))
    assert made.write.tolist() == [True, False, False, True]
    assert made.surprise[0] == math.inf and made.surprise[1:3].isnan().all()
    assert made.surprise[3].item() == pytest.approx(math.log(5))
    assert made.state.count.tolist() == [0, 0, 0, 1] and made.state.values.isfinite().all()
    later = gate(torch.tensor([[math.inf], [2.0], [2.0], [2.0]]), made.state)
    assert later.write.tolist()[:3] == [True, True, True] and later.threshold[3].isfinite()


def test_hidden_states_of_nan_spoil_their_own_stream_alone() -> None:
    gate = SurpriseGate(warmup=1)
    hidden = drawn(2, 5, 8)
    hidden[0, 2] = math.nan
    made = gate.from_hidden(hidden, drawn(33, 8, seed=1), torch.zeros(2, 5, dtype=torch.long))
    assert made.write.tolist() == [False, True] and made.state.count.tolist() == [0, 1]


@pytest.mark.parametrize("value", [0.0, 0.1, 1.2345678, 1e4])
def test_constant_surprise_is_never_above_itself(value: float) -> None:
    write, threshold, _ = streamed(SurpriseGate(window=5, warmup=2), torch.full((1, 40), value))
    assert write[0].tolist() == [True, True] + [False] * 38
    assert threshold[0, 2:].eq(torch.tensor(value)).all()


def test_a_single_token_and_a_single_word() -> None:
    gate = SurpriseGate(warmup=1)
    made = gate.from_logits(torch.tensor([[[3.0]]]), torch.tensor([[0]]))
    assert made.surprise.item() == 0.0 and made.write.item()
    assert not gate.from_logits(torch.tensor([[[3.0]]]), torch.tensor([[0]]), made.state).write.item()


@pytest.mark.parametrize("words", [1, 41, 1271, 50_257])
def test_vocabularies_of_no_round_size_in_bfloat16(words: int) -> None:
    hidden, weight = drawn(2, 7, 24).bfloat16(), drawn(words, 24, seed=1).bfloat16()
    targets = torch.randint(words, (2, 7), generator=torch.Generator().manual_seed(5))
    gate = SurpriseGate(warmup=1)
    logits = hidden.float() @ weight.float().T
    exact = gate.from_logits(logits, targets).surprise
    rounded = gate.from_logits(hidden @ weight.T, targets)
    without = gate.from_hidden(hidden, weight, targets)
    for made in (rounded, without):
        assert made.surprise.dtype == made.state.values.dtype == torch.float32
        bound = 2 * 2**-9 * logits.abs().max()  # each logit is rounded to bfloat16, the target's and the others'
        assert (made.surprise - exact).abs().max() <= bound


def test_a_million_values_in_float32_do_not_drift() -> None:
    """The first are a million times the last: a running sum of both would have lost these."""
    streams, steps, window = 1250, 800, 64
    surprises = drawn(streams, steps).abs() * torch.logspace(0, 6, steps).flip(0)
    _, threshold, state = streamed(SurpriseGate(lam=1.0, window=window, warmup=window), surprises)
    last = surprises[:, -window - 1 : -1].double()
    expected = last.mean(1) + last.std(1, correction=0)
    given = threshold[:, -1]
    assert (given <= expected).all() and (given.nextafter(torch.tensor(torch.inf)) > expected).all()
    assert torch.equal(state.values, surprises[:, -window:])


def test_the_threshold_that_is_given_is_the_one_that_decides() -> None:
    """Also where a score lies between mu + lambda * sigma and what float32 makes of it."""
    gate = SurpriseGate(lam=0.0, window=3, warmup=3)
    past = drawn(20_000, 3).abs() + 1
    _, _, state = streamed(gate, past)
    limit, _ = moments(state.values, state.count)
    near = limit.float()
    for score in (near, near.nextafter(torch.tensor(0.0)), near.nextafter(torch.tensor(torch.inf))):
        made = gate(score[:, None], state)
        assert torch.equal(made.write, made.score > made.threshold)
        assert torch.equal(made.write, made.score.double() > limit), "as in float64"
    assert (near.double() > limit).any() and (near.double() < limit).any()


def test_moments_of_nothing_are_nan() -> None:
    mean, sd = moments(torch.zeros(2, 4), torch.tensor([0, 4]))
    assert mean.isnan().tolist() == sd.isnan().tolist() == [True, False]


def test_gradients_reach_the_model_and_not_the_state() -> None:
    logits = drawn(2, 5, 9).requires_grad_()
    gate = SurpriseGate(warmup=1)
    made = gate.from_logits(logits, torch.zeros(2, 5, dtype=torch.long))
    made.surprise.sum().backward()
    assert logits.grad is not None and logits.grad.abs().sum() > 0
    assert not made.state.values.requires_grad and not made.threshold.requires_grad


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Linear(8, 23, bias=False)
        self.gate = SurpriseGate(warmup=1)

    def forward(self, x: Tensor, targets: Tensor, state: SurpriseGateState | None = None) -> gate_module.Gating:
        return self.gate.from_hidden(x, self.words.weight, targets, state)


def test_it_adds_nothing_to_a_checkpoint() -> None:
    model = Model()
    assert set(model.state_dict()) == {"words.weight"}
    Model().load_state_dict(model.state_dict(), strict=True)
    half = model.bfloat16()(drawn(1, 4, 8).bfloat16(), torch.zeros(1, 4, dtype=torch.long))
    assert half.surprise.dtype == half.threshold.dtype == torch.float32


def test_under_ddp(tmp_path: Path) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'meet'}", rank=0, world_size=1)
    try:
        model = DistributedDataParallel(Model())
        made = model(drawn(2, 4, 8), torch.zeros(2, 4, dtype=torch.long))
        made.surprise.mean().backward()
        again = model(drawn(2, 4, 8, seed=1), torch.ones(2, 4, dtype=torch.long), made.state)
        assert made.write.all() and again.state.count.tolist() == [2, 2]
        assert model.module.words.weight.grad is not None
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("rule", gate_module.SCORES)
def test_compiles_into_one_graph(rule: str) -> None:
    torch.compiler.reset()
    gate = SurpriseGate(rule, lam=0.5, window=3, warmup=2)
    of_nll = torch.compile(gate, backend="eager", fullgraph=True)
    of_logits = torch.compile(gate.from_logits, backend="eager", fullgraph=True)
    state, expected = gate.init_state(2), gate.init_state(2)
    for seed in range(6):
        logits, targets = drawn(2, 4, 7, seed=seed), torch.full((2, 4), seed % 7)
        for one, other in (
            (of_nll(logits[..., 0].abs(), state), gate(logits[..., 0].abs(), expected)),
            (of_logits(logits, targets, state), gate.from_logits(logits, targets, expected)),
        ):
            assert torch.equal(one.write, other.write) and torch.equal(one.threshold, other.threshold)
            state, expected = one.state, other.state
    assert close(state, expected)


def test_the_example_of_the_docstring() -> None:
    tests = doctest.DocTestFinder(recurse=False).find(SurpriseGate, "SurpriseGate", module=gate_module)
    (example,) = tests
    assert len(example.examples) >= 8
    assert doctest.DocTestRunner().run(example).failed == 0


def test_a_state_is_saved_and_loaded_bit_for_bit(tmp_path: Path) -> None:
    gate = SurpriseGate("information", window=4, warmup=1)
    _, _, state = streamed(gate, drawn(3, 6).abs() * 9)
    state.save(tmp_path / "state.safetensors")
    loaded = SurpriseGateState.load(tmp_path / "state.safetensors")
    assert torch.equal(loaded.values, state.values) and torch.equal(loaded.count, state.count)
    assert loaded.rule == "information" and gate(torch.ones(3, 2), loaded.to("cpu")).write.shape == (3,)
    with pytest.raises(ModelNotFoundError):
        SurpriseGateState.load(tmp_path / "none")
    (tmp_path / "other").write_bytes(b"not tensors")
    with pytest.raises(ModelError):
        SurpriseGateState.load(tmp_path / "other")


def test_what_does_not_fit_is_refused() -> None:
    for arguments in ({"rule": "papper"}, {"lam": math.nan}, {"window": 0}, {"warmup": 0}, {"window": 4, "warmup": 5}):
        with pytest.raises(InvalidInputError):
            SurpriseGate(**arguments)  # type: ignore[arg-type]
    gate, nll, targets = SurpriseGate(), torch.ones(2, 3), torch.zeros(2, 3, dtype=torch.long)
    with pytest.raises(InvalidInputError, match="batch"):
        gate.init_state(-1)
    with pytest.raises(InvalidInputError, match="nll"):
        gate(torch.ones(3))
    with pytest.raises(InvalidInputError, match="nll"):
        gate(targets)
    with pytest.raises(InvalidInputError, match="mask"):
        gate(nll, mask=torch.ones(2, 3))
    with pytest.raises(InvalidInputError, match="mask"):
        gate(nll, mask=torch.ones(3, 3, dtype=torch.bool))
    calls: list[tuple[str, Callable[[], object]]] = [
        ("unknown rule", lambda: SurpriseGate(["paper"])),  # type: ignore[arg-type]
        ("lam must be", lambda: SurpriseGate(lam="1")),  # type: ignore[arg-type]
        ("batch must be", lambda: gate.init_state("1")),  # type: ignore[arg-type]
        ("nll must be a tensor", lambda: gate(nll.tolist())),
        ("mask must be a tensor", lambda: gate(nll, mask=[[True] * 3] * 2)),
        ("logits must be a tensor", lambda: gate.from_logits(None, targets)),  # type: ignore[arg-type]
        ("targets must be a tensor", lambda: gate.from_logits(torch.ones(2, 3, 7), [[0] * 3] * 2)),  # type: ignore[arg-type]
        ("hidden must be a tensor", lambda: gate.from_hidden(None, nll, targets)),  # type: ignore[arg-type]
        ("weight and bias must be tensors", lambda: gate.from_hidden(torch.ones(2, 3, 4), 1, targets)),  # type: ignore[arg-type]
    ]
    for message, call in calls:
        with pytest.raises(InvalidInputError, match=message):
            call()
    for other in (gate.init_state(3), SurpriseGate(window=9).init_state(2), SurpriseGate("information").init_state(2)):
        with pytest.raises(InvalidInputError, match="state doesn't match this gate"):
            gate(nll, other)
    with pytest.raises(InvalidInputError, match=r"must be the \.state"):
        gate(nll, gate(nll))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="logits"):
        gate.from_logits(nll, targets)
    with pytest.raises(InvalidInputError, match="logits"):
        gate.from_logits(torch.ones(2, 3, 0), targets)
    for wrong in (7, -1):
        with pytest.raises(InvalidInputError, match="targets must be in 0"):
            gate.from_logits(torch.ones(2, 3, 7), targets + wrong)
        with pytest.raises(InvalidInputError, match="targets must be in 0"):
            gate.from_hidden(torch.ones(2, 3, 4), torch.ones(7, 4), targets + wrong)
    with pytest.raises(InvalidInputError, match="targets"):
        gate.from_logits(torch.ones(2, 3, 7), targets[:, :2])
    with pytest.raises(InvalidInputError, match="targets"):
        gate.from_hidden(torch.ones(2, 3, 4), torch.ones(7, 4), targets.float())
    with pytest.raises(InvalidInputError, match="hidden"):
        gate.from_hidden(nll, torch.ones(7, 3), targets)
    with pytest.raises(InvalidInputError, match="hidden"):
        gate.from_hidden(torch.ones(2, 3, 4), torch.ones(7, 5), targets)


@pytest.mark.parametrize(("name", "value"), [("window", 2.5), ("warmup", 1.0), ("window", "64")])
def test_counts_of_inputs_are_whole_numbers(name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} must be a whole number"):
        SurpriseGate(**{"window": 8, "warmup": 1, name: value})


def test_what_is_masked_has_no_gradient_even_where_it_is_nan() -> None:
    logits = torch.randn(1, 4, 6)
    logits[0, 3] = math.nan
    logits.requires_grad_()
    seen = SurpriseGate().from_logits(logits, torch.zeros(1, 4).long(), mask=torch.tensor([[True, True, True, False]]))
    seen.surprise.sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all() and not logits.grad[0, 3].any() and logits.grad[0, :3].any()
