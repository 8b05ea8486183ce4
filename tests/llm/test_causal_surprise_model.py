"""Any causal LM as the surprise model: the same bits however a stream is cut, batched or kept, and those of a plain
pass.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch

from eval.harness.tiny_llama import CORPUS
from nscma_torch.api.components import Components
from nscma_torch.api.surprise_models import load_surprise_model
from nscma_torch.core.config import load_config
from nscma_torch.core.errors import ConfigError, EmptyTextError, EncodingError, ModelNotFoundError, StateMismatchError
from nscma_torch.core.protocols import SurpriseModel
from nscma_torch.core.records import Message, Scope
from nscma_torch.llm.loading import CausalLM, load_causal_lm
from nscma_torch.llm.token_streams import CausalScore
from nscma_torch.surprise.language_models.transformers_model import TILE, CausalSurpriseModel
from nscma_torch.surprise.measurement import measure
from nscma_torch.text.messages import CheckedMessage

WINDOW = 4 * TILE
MESSAGES = [*CORPUS, "ok", "好", "A line\nand <|end|> another  one", " ", CORPUS[0] * 9, "😀 done.", *CORPUS, "bye"]


@pytest.fixture(scope="module")
def tiny(tiny_llama: Path) -> CausalLM:
    return load_causal_lm(tiny_llama, dtype=torch.float32)


@pytest.fixture(scope="module")
def surprise_model(tiny: CausalLM) -> CausalSurpriseModel:
    return CausalSurpriseModel(tiny, window=WINDOW)


@pytest.fixture(scope="module")
def whole(surprise_model: CausalSurpriseModel) -> CausalScore:
    (score,) = surprise_model.score([MESSAGES], [None])
    return score


def same(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return len(left) == len(right) and all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def test_values_are_those_of_a_plain_forward_pass(
    tiny: CausalLM, surprise_model: CausalSurpriseModel, whole: CausalScore
) -> None:
    assert isinstance(surprise_model, SurpriseModel)
    ids = [token for message in MESSAGES for token in surprise_model._tokenizer.read(message)[0]]
    nll = torch.cat(whole.nll)
    assert len(nll) == len(ids) > 3 * WINDOW and nll.dtype == torch.float32
    half = WINDOW // 2
    edges = [0, TILE, half, WINDOW, WINDOW + half, 2 * WINDOW + half]
    for n in [*edges, *(n - 1 for n in edges[1:]), *(n + 1 for n in edges), len(ids) - 1]:
        start = half * max(0, n // half - 1)
        seen = torch.tensor([[1, *ids[start:n]]])
        assert seen.shape[1] <= WINDOW
        with torch.no_grad():
            expected = -torch.log_softmax(tiny.model(seen).logits[0, -1], -1)[ids[n]]
        assert float(nll[n]) == pytest.approx(float(expected), abs=1e-4)


@pytest.mark.parametrize("kept", [0, 1])
def test_a_stream_cut_anywhere_gives_the_same_bits(tiny: CausalLM, whole: CausalScore, kept: int) -> None:
    surprise_model = CausalSurpriseModel(tiny, window=WINDOW, kept=kept)
    state, nll = None, []
    for message in MESSAGES:
        (score,) = surprise_model.score([[message]], [state])
        nll += score.nll
        state = score.state
        assert len(state) <= 24 + 4 * (WINDOW - 1)
    assert same(nll, whole.nll) and state == whole.state
    (first,) = surprise_model.score([MESSAGES[:9]], [None])
    (rest,) = surprise_model.score([MESSAGES[9:]], [first.state])
    assert same([*first.nll, *rest.nll], whole.nll) and rest.state == state


def test_streams_side_by_side_do_not_touch_each_other(tiny: CausalLM) -> None:
    surprise_model = CausalSurpriseModel(tiny, window=WINDOW, streams=3, kept=2)
    (alone,) = surprise_model.score([MESSAGES], [None])
    (first,) = surprise_model.score([MESSAGES[:7]], [None])
    beside = surprise_model.score(
        [["something else"], MESSAGES[7:], [], MESSAGES, ["x"], [CORPUS[2] * 8]],
        [None, first.state, first.state, None, None, None],
    )
    assert same([*first.nll, *beside[1].nll], alone.nll) and beside[1].state == alone.state
    assert beside[2].nll == [] and beside[2].state == first.state
    assert same(beside[3].nll, alone.nll)
    (once,) = CausalSurpriseModel(tiny, window=WINDOW).score([MESSAGES], [None])
    torch.testing.assert_close(torch.cat(once.nll), torch.cat(alone.nll), rtol=0, atol=1e-4)


def test_what_is_kept_is_used_and_bounded(tiny: CausalLM) -> None:
    surprise_model = CausalSurpriseModel(tiny, window=WINDOW, kept=2)
    passes = 0

    def count(*_: object) -> None:
        nonlocal passes
        passes += 1

    (score,) = surprise_model.score([[CORPUS[0] * 6]], [None])
    hook = tiny.model.register_forward_pre_hook(count)
    surprise_model.score([["ok"]], [score.state])
    assert passes == 1
    surprise_model._kept.clear()
    surprise_model.score([["ok"]], [score.state])
    assert passes > 2
    hook.remove()
    for message in CORPUS:
        surprise_model.score([[message * 6]], [None])
    assert len(surprise_model._kept) <= 2


def test_ends_cover_every_byte(surprise_model: CausalSurpriseModel, whole: CausalScore) -> None:
    for message, nll, ends in zip(MESSAGES, whole.nll, whole.ends, strict=True):
        assert ends.shape == nll.shape and ends.dtype == torch.int64
        assert int(ends[-1]) == len(message.encode()) + 1
        assert bool((ends.diff() >= 0).all())
        surprise = measure(message, nll, ends)
        assert surprise.tokens == len(nll) and surprise.mean == pytest.approx(float(nll.mean()), rel=1e-5)
    ids, ends_of = surprise_model._tokenizer.read("a <|end|>")
    assert not set(ids) & {0, 1, 2, 3}, "what is said is text, never a special token"
    assert ends_of[-1] == 10


def test_bad_messages_and_states_are_refused(
    tiny: CausalLM, surprise_model: CausalSurpriseModel, whole: CausalScore
) -> None:
    with pytest.raises(EmptyTextError):
        surprise_model.score([["fine", ""]], [None])
    with pytest.raises(EncodingError):
        surprise_model.score([["\ud800"]], [None])
    other = CausalSurpriseModel(tiny, window=2 * WINDOW)
    assert other.fingerprint != surprise_model.fingerprint == CausalSurpriseModel(tiny, window=WINDOW).fingerprint
    with pytest.raises(StateMismatchError, match="load the model"):
        other.score([["x"]], [whole.state])
    for damaged in (whole.state[:-1], whole.state[:-4], whole.state[:20], whole.state + struct.pack("<I", 9)):
        with pytest.raises(StateMismatchError, match="damaged"):
            surprise_model.score([["x"]], [damaged])
    for window in (0, TILE, WINDOW + TILE, 2048):
        with pytest.raises(ConfigError, match=r"surprise\.window"):
            CausalSurpriseModel(tiny, window=window)
    with pytest.raises(ConfigError, match="streams"):
        CausalSurpriseModel(tiny, window=WINDOW, streams=0)


def test_four_bits_are_another_surprise_model_with_the_same_promises(
    tiny_llama: Path, surprise_model: CausalSurpriseModel
) -> None:
    four = CausalSurpriseModel.load(tiny_llama, dtype=torch.float32, quantization="nf4", window=WINDOW)
    assert four.fingerprint != surprise_model.fingerprint
    some = [*CORPUS, CORPUS[0] * 4]
    (together,) = four.score([some], [None])
    state, nll = None, []
    for message in some:
        (score,) = four.score([[message]], [state])
        four._kept.clear()
        nll, state = [*nll, *score.nll], score.state
    assert same(nll, together.nll) and state == together.state


def test_a_memory_weighs_with_the_configured_model(tiny_llama: Path, tmp_path: Path) -> None:
    section = {"model": str(tiny_llama), "window": WINDOW, "dtype": "float32"}
    config = load_config({"surprise": section, "embedder": {"model": "hash"}, "device": "cpu"})
    digests = []
    for cut in (1, 4):
        parts = Components(tmp_path / f"{cut}.db", config)
        assert isinstance(parts.surprise_model, CausalSurpriseModel)
        said = [CheckedMessage.of(Message("user", text)) for text in CORPUS]
        scope = Scope("ana")
        added = []
        for at in range(0, len(said), cut):
            added += parts.writer.add(said[at : at + cut], scope, recorded_at=datetime(2026, 1, 1, tzinfo=UTC))
        digests.append([one.decision for one in added])
        parts.database.close()
    assert digests[0] == digests[1] and all(one is not None and one.surprise > 0 for one in digests[0])
    with pytest.raises(ConfigError, match=r"surprise\.quantization"):
        load_surprise_model(load_config({"surprise": {"quantization": "nf4"}}).surprise, torch.device("cpu"))
    with pytest.raises(ModelNotFoundError, match="surprise model weights"):
        load_surprise_model(load_config({"surprise": {"model": "gone.safetensors"}}).surprise, torch.device("cpu"))
    with pytest.raises(ConfigError, match="window"):
        load_config({"surprise": {"window": 100}})
