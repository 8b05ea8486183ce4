"""The served model as the surprise model: it says what the same model says in this process, up to rounding."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import torch

from eval.harness.tiny_llama import CORPUS, build
from nscma_torch.api.components import Components
from nscma_torch.api.surprise_models import serve_surprise_model
from nscma_torch.core.config import load_config
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import (
    ConfigError,
    EmptyTextError,
    EncodingError,
    EngineRefusedError,
    EngineUnavailableError,
    ModelError,
    ModelNotFoundError,
    ReplyError,
    StateMismatchError,
)
from nscma_torch.core.protocols import SurpriseModel
from nscma_torch.core.records import Message, Scope
from nscma_torch.llm.engines.contract import ScoringEngine
from nscma_torch.llm.engines.lazy import LazyEngine
from nscma_torch.llm.engines.openai_http import OpenAIEngine
from nscma_torch.llm.engines.retry_policy import RetryPolicy
from nscma_torch.llm.loading import CausalLM, load_causal_lm
from nscma_torch.llm.message_tokens import MessageTokenizer
from nscma_torch.llm.token_streams import CausalScore
from nscma_torch.surprise.language_models.transformers_model import CausalSurpriseModel
from nscma_torch.surprise.language_models.vllm_model import STEP, VllmSurpriseModel
from nscma_torch.text.messages import CheckedMessage
from tests.llm.scoring_server import ScoringServer, Spoil
from tests.llm.scripted import ScriptedEngine

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WINDOW = 128
MESSAGES = [*CORPUS, "ok", "好", "A line\nand <|end|> another  one", " ", CORPUS[0] * 9, "😀 done.", *CORPUS, "bye"]


@pytest.fixture(scope="module")
def tiny(tiny_llama: Path) -> CausalLM:
    return load_causal_lm(tiny_llama, dtype=torch.float32)


@pytest.fixture(scope="module")
def running(tiny: CausalLM) -> Iterator[ScoringServer]:
    with ScoringServer(tiny) as server:
        yield server


@pytest.fixture
def server(running: ScoringServer) -> ScoringServer:
    running.behave()
    return running


@pytest.fixture(scope="module")
def engine(running: ScoringServer) -> Iterator[OpenAIEngine]:
    engine = OpenAIEngine(running.url, server="vllm", retry_policy=RetryPolicy(attempts=2, backoff=0.01), concurrency=4)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def tokenizer(tiny_llama: Path) -> MessageTokenizer:
    return MessageTokenizer.load(tiny_llama)


@pytest.fixture(scope="module")
def surprise_model(engine: OpenAIEngine, tokenizer: MessageTokenizer) -> VllmSurpriseModel:
    return VllmSurpriseModel(engine, tokenizer, window=WINDOW)


@pytest.fixture(scope="module")
def whole(surprise_model: VllmSurpriseModel) -> CausalScore:
    (score,) = surprise_model.score([MESSAGES], [None])
    return score


def close(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    """The same up to a token in a hundred that lies at the edge between two multiples of `STEP`."""
    apart = torch.cat(left) - torch.cat(right)
    sizes = [len(nll) for nll in left] == [len(nll) for nll in right]
    return sizes and float(apart.abs().max()) <= STEP and float((apart != 0).float().mean()) <= 0.01


def test_it_says_what_the_model_says_in_this_process(
    tiny: CausalLM, engine: OpenAIEngine, surprise_model: VllmSurpriseModel, whole: CausalScore
) -> None:
    assert isinstance(surprise_model, SurpriseModel) and isinstance(engine, ScoringEngine)
    (here,) = CausalSurpriseModel(tiny, window=WINDOW).score([MESSAGES], [None])
    nll = torch.cat(whole.nll)
    assert nll.dtype == torch.float32 and len(nll) > 3 * WINDOW
    torch.testing.assert_close(nll, torch.cat(here.nll), rtol=0, atol=STEP / 2 + 1e-4)
    assert torch.equal(nll / STEP, (nll / STEP).round()) and float(nll.min()) >= 0
    assert all(torch.equal(a, b) for a, b in zip(whole.ends, here.ends, strict=True))
    assert whole.state[16:] == here.state[16:] and whole.state[:16] != here.state[:16]


def test_a_stream_cut_anywhere_gives_the_same_state_and_nats(
    server: ScoringServer, surprise_model: VllmSurpriseModel, whole: CausalScore
) -> None:
    state, nll = None, []
    for message in MESSAGES:
        (score,) = surprise_model.score([[message]], [state])
        nll, state = [*nll, *score.nll], score.state
        assert len(state) <= 24 + 4 * (WINDOW - 1)
    assert state == whole.state and close(nll, whole.nll)
    server.behave()
    (nothing,) = surprise_model.score([[]], [state])
    assert nothing.nll == [] and nothing.state == state and server.bodies == []


def test_many_streams_at_once_with_a_request_for_each_half_window(
    server: ScoringServer, surprise_model: VllmSurpriseModel, tokenizer: MessageTokenizer, whole: CausalScore
) -> None:
    (first,) = surprise_model.score([MESSAGES[:7]], [None])
    server.behave()
    beside = surprise_model.score(
        [["something else"], MESSAGES[7:], [], MESSAGES, ["x"]], [None, first.state, first.state, None, None]
    )
    assert close([*first.nll, *beside[1].nll], whole.nll) and beside[1].state == whole.state
    assert close(beside[3].nll, whole.nll) and beside[3].state == whole.state
    assert beside[2].nll == [] and beside[2].state == first.state
    tokens, half = sum(len(nll) for nll in whole.nll), WINDOW // 2
    seen = sum(len(nll) for nll in first.nll)
    blocks = len({max(0, n // half - 1) for n in range(tokens)})
    rest = len({max(0, n // half - 1) for n in range(seen, tokens)})
    assert len(server.bodies) == 2 + blocks + rest
    prompts = [body.pop("prompt") for body in server.bodies]
    asked = {"model": "tiny", "max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0}
    assert all(body == asked for body in server.bodies)
    assert max(map(len, prompts)) == WINDOW + 1
    assert {prompt[0] for prompt in prompts} == {tokenizer.first}
    assert not {0, 1, 2, 3} & {token for prompt in prompts for token in prompt[1:]}, "what is said is never special"


def test_the_tokenizer_is_that_of_the_loaded_model(tiny: CausalLM, tokenizer: MessageTokenizer) -> None:
    loaded = MessageTokenizer.of(tiny)
    assert [tokenizer.read(text) for text in MESSAGES] == [loaded.read(text) for text in MESSAGES]
    assert loaded.first == tokenizer.first == 1 and tokenizer.vocabulary <= loaded.vocabulary


def test_without_a_beginning_a_text_stands_behind_the_end_of_another(tiny_llama: Path, tmp_path: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        text = (tiny_llama / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace('"bos_token": "<|bos|>",', ""), encoding="utf-8")
    assert MessageTokenizer.load(tmp_path).first == 2
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [3, 0]}', encoding="utf-8")
    assert MessageTokenizer.load(tmp_path).first == 0
    (tmp_path / "generation_config.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ModelError, match="generation_config"):
        MessageTokenizer.load(tmp_path)
    with pytest.raises(ModelError, match="tokenizer"):
        (tmp_path / "empty").mkdir()
        MessageTokenizer.load(tmp_path / "empty")


def set_last(value: Any) -> Spoil:
    def spoil(places: list[Any]) -> None:
        (entry,) = places[-1].values()
        entry["logprob"] = value

    return spoil


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (set_last(math.nan), "finite"),
        (set_last(-math.inf), "finite"),
        (set_last(-9999.0), "damaged"),
        (set_last(12.5), "raw_logprobs"),
        (set_last(None), "logprob"),
        (lambda places: places.append({5: {"logprob": -1.0}}), "of a prompt's"),
        (lambda places: places[:-1], "of a prompt's"),
        (lambda places: places.__setitem__(-1, {411: {"logprob": -1.0}}), "has no log-probability"),
        (lambda places: places.__setitem__(-1, None), "has no log-probability"),
        (lambda _: "none", "prompt_logprobs"),
    ],
)
def test_what_is_no_log_probability_is_refused(
    server: ScoringServer, surprise_model: VllmSurpriseModel, spoil: Spoil, said: str
) -> None:
    server.spoil = spoil
    with pytest.raises(ReplyError, match=said):
        surprise_model.score([["fine"], ["hello"]], [None, None])
    server.behave()
    assert surprise_model.score([["hello"]], [None])[0].nll


def test_certainty_may_round_above_one(server: ScoringServer, surprise_model: VllmSurpriseModel) -> None:
    server.spoil = set_last(0.001)
    assert float(surprise_model.score([["hello"]], [None])[0].nll[0][-1]) == 0.0


def test_bad_messages_states_and_settings_are_refused(
    server: ScoringServer,
    tiny: CausalLM,
    engine: OpenAIEngine,
    tokenizer: MessageTokenizer,
    surprise_model: VllmSurpriseModel,
    whole: CausalScore,
    tmp_path: Path,
) -> None:
    with pytest.raises(EmptyTextError):
        surprise_model.score([["fine", ""]], [None])
    with pytest.raises(EncodingError):
        surprise_model.score([["\ud800"]], [None])
    other = VllmSurpriseModel(engine, tokenizer, window=2 * WINDOW)
    assert (
        other.fingerprint
        != surprise_model.fingerprint
        == VllmSurpriseModel(engine, tokenizer, window=WINDOW).fingerprint
    )
    (causal,) = CausalSurpriseModel(tiny, window=WINDOW).score([["x"]], [None])
    for foreign in (other.score([["x"]], [None])[0].state, causal.state):
        with pytest.raises(StateMismatchError, match="not written by surprise model"):
            surprise_model.score([["x"]], [foreign])
    for damaged in (whole.state[:-1], whole.state[:20], whole.state[:-4] + struct.pack("<I", 9999)):
        with pytest.raises(StateMismatchError, match="damaged"):
            surprise_model.score([["x"]], [damaged])
    assert len(server.bodies) == 1, "what is refused here is not sent"
    VllmSurpriseModel(engine, tokenizer, window=1022)
    for window in (0, 127, 1024):
        with pytest.raises(ConfigError, match=r"surprise\.window"):
            VllmSurpriseModel(engine, tokenizer, window=window)
    longer = OpenAIEngine(server.url, server="vllm", context=4096)
    with pytest.raises(EngineRefusedError, match="maximum context"):
        VllmSurpriseModel(longer, tokenizer, window=2048).score([["a b " * 1000]], [None])
    longer.close()
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = {"<s>": 0, "?": 1}
    PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="?")), bos_token="<s>"
    ).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="a different tokenizer"):
        VllmSurpriseModel(engine, MessageTokenizer.load(tmp_path), window=WINDOW)


def configured(model: str, url: str, **llm: Any) -> dict[str, Any]:
    return {
        "device": "cpu",
        "embedder": {"model": "hash"},
        "surprise": {"engine": "llm", "model": model, "window": WINDOW},
        "llm": {"engine": "http", "base_url": url, "attempts": 1, **llm},
    }


def test_a_memory_weighs_with_the_served_model(server: ScoringServer, tiny_llama: Path, tmp_path: Path) -> None:
    config = load_config(configured(str(tiny_llama), server.url))
    decisions = []
    for cut in (1, 4):
        said, added = [Message("user", text) for text in CORPUS], []
        with closing(Components(tmp_path / f"{cut}.db", config)) as parts:
            assert isinstance(parts.surprise_model, VllmSurpriseModel)
            for at in range(0, len(said), cut):
                added += parts.writer.add([*map(CheckedMessage.of, said[at : at + cut])], Scope("ana"), recorded_at=NOW)
            server.down = True
            with pytest.raises(EngineUnavailableError, match="503"):
                parts.writer.add([CheckedMessage.of(Message("user", "More."))], Scope("ana"), recorded_at=NOW)
            server.down = False
            with parts.database.read(ALL_USERS) as connection:
                count = connection.exec_driver_sql("SELECT count(*) FROM episodes").scalar_one()
            assert count == len(added) == len(CORPUS)
        decisions.append([one.decision for one in added])
    assert [one.write for one in decisions[0]] == [one.write for one in decisions[1]]
    surprises = [[one.surprise for one in of] for of in decisions]
    assert min(surprises[0]) > 0 and surprises[0] == pytest.approx(surprises[1], abs=STEP)


def test_a_configuration_that_shares_nothing_says_so(server: ScoringServer, tiny_llama: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs model"):
        load_config({"surprise": {"engine": "llm"}})
    with pytest.raises(ConfigError, match="dtype and quantization"):
        load_config({"surprise": {"engine": "llm", "model": "m", "quantization": "nf4"}})
    own = str(tiny_llama)
    for llm, said in (
        ({"engine": "embedded"}, "needs vLLM's"),
        ({"engine": "transformers", "model": own}, "needs vLLM's"),
        ({"engine": "http", "server": "llama.cpp"}, "needs vLLM's"),
        ({"engine": "vllm", "model": "another"}, "needs one model"),
    ):
        with pytest.raises(ConfigError, match=said):
            load_config({**configured(own, server.url), "llm": llm})
    gone = load_config(configured(str(tmp_path / "gone"), server.url))
    with closing(Components(tmp_path / "store.db", gone)) as parts, pytest.raises(ModelNotFoundError, match="gone"):
        parts.surprise_model  # noqa: B018


@pytest.mark.prove
def test_what_adding_up_in_another_order_does(tmp_path: Path) -> None:
    """The same function with its hidden units in other orders, as it is with other shapes of a batch."""
    folder = build(tmp_path, hidden_size=256, intermediate_size=512, num_hidden_layers=8, max_position_embeddings=2048)
    for dtype, most_moved in ((torch.float32, 0.001), (torch.bfloat16, 1.0)):
        loaded = load_causal_lm(folder, dtype=dtype)
        tokenizer = MessageTokenizer.of(loaded)
        ids = torch.tensor([[tokenizer.first, *tokenizer.ids(" ".join(CORPUS) * 6)]])
        before, others = nats(loaded, ids), []
        for seed in range(4):
            reorder(loaded.model, torch.Generator().manual_seed(seed))
            others.append(nats(loaded, ids))
        after = torch.stack(others)
        apart = (after - before).abs()
        moved = float(((after / STEP).round() != (before / STEP).round()).double().mean())
        means = float((after.mean(-1) - before.mean()).abs().max())
        print(
            f"{dtype}: a token's nats move by {float(apart.mean()):.1e} on average, {float(apart.max()):.1e} at most; "
            f"in multiples of 2^-8 {moved:.2%} of {apart.numel()} move; the mean of a message by {means:.1e} at most"
        )
        assert moved <= most_moved and means < STEP


def nats(loaded: CausalLM, ids: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        log_p = torch.log_softmax(loaded.model(ids).logits[0, :-1].float(), -1)
    return -log_p.gather(-1, ids[0, 1:, None])[:, 0].double()


def reorder(model: Any, generator: torch.Generator) -> None:
    """Permute the units of each feed-forward layer and the dimensions of each head's values: nothing else changes."""
    for layer in model.model.layers:
        order = torch.randperm(layer.mlp.down_proj.in_features, generator=generator)
        for linear in (layer.mlp.gate_proj, layer.mlp.up_proj):
            linear.weight.data = linear.weight[order]
        layer.mlp.down_proj.weight.data = layer.mlp.down_proj.weight[:, order]
        size = layer.self_attn.head_dim
        order = torch.randperm(size, generator=generator)
        values, out = layer.self_attn.v_proj.weight, layer.self_attn.o_proj.weight
        values.data = values.view(-1, size, values.shape[1])[:, order].reshape(values.shape)
        out.data = out.view(out.shape[0], -1, size)[..., order].reshape(out.shape)


def test_an_engine_without_probabilities_is_refused(tiny_llama: Path, server: ScoringServer) -> None:
    config = load_config(configured(str(tiny_llama), server.url))
    lazy = LazyEngine("lazy", lambda: ScriptedEngine(lambda _: ""))
    with pytest.raises(ConfigError, match="scripted returns no probabilities"):
        serve_surprise_model(config, lazy)
    assert (lazy.configured, lazy.name) == ("lazy", "scripted"), "it has started"
    with pytest.raises(ConfigError, match="http returns no probabilities"):
        serve_surprise_model(config, None)
