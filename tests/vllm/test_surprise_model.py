"""The model that a real vLLM serves as the surprise model: what it says, how far it repeats itself, and a memory over
it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import torch

from eval.harness.tiny_llama import CORPUS
from nscma_torch import Memory, load_config
from nscma_torch.api.components import Components
from nscma_torch.core.config import Config
from nscma_torch.core.errors import EngineRefusedError
from nscma_torch.core.records import Message, Scope
from nscma_torch.llm.engines.contract import LanguageEngine, ScoringEngine
from nscma_torch.llm.engines.lazy import LazyEngine
from nscma_torch.llm.engines.vllm_engine import VllmEngine
from nscma_torch.llm.message_tokens import MessageTokenizer
from nscma_torch.llm.token_streams import CausalScore
from nscma_torch.surprise.language_models.transformers_model import CausalSurpriseModel
from nscma_torch.surprise.language_models.vllm_model import STEP, VllmSurpriseModel
from nscma_torch.text.messages import CheckedMessage

pytestmark = pytest.mark.vllm

WINDOW = 128
MESSAGES = [*CORPUS, "ok", "好", "A line\nand <|end|> another  one", " ", CORPUS[0] * 9, "😀 done.", *CORPUS, "bye"]


@pytest.fixture
def surprise_model(engine: LanguageEngine, model: Path) -> VllmSurpriseModel:
    assert isinstance(engine, ScoringEngine)
    return VllmSurpriseModel(engine, MessageTokenizer.load(model), window=WINDOW)


@pytest.fixture(scope="module")
def here(model: Path) -> CausalScore:
    """What the model says in this process."""
    (score,) = CausalSurpriseModel.load(model, dtype=torch.float32, window=WINDOW).score([MESSAGES], [None])
    return score


def test_it_says_what_the_model_says_in_this_process(surprise_model: VllmSurpriseModel, here: CausalScore) -> None:
    (score,) = surprise_model.score([MESSAGES], [None])
    nll = torch.cat(score.nll)
    assert len(nll) > 3 * WINDOW
    torch.testing.assert_close(nll, torch.cat(here.nll), rtol=0, atol=STEP / 2 + 1e-3)
    assert score.state[16:] == here.state[16:]
    assert all(torch.equal(a, b) for a, b in zip(score.ends, here.ends, strict=True))


def test_a_stream_cut_or_beside_others_stays_what_it_is(surprise_model: VllmSurpriseModel, here: CausalScore) -> None:
    """The state to the byte; of the nats at most one in a hundred falls to another multiple."""
    cut: list[torch.Tensor] = []
    state = None
    for message in MESSAGES:
        (score,) = surprise_model.score([[message]], [state])
        cut, state = [*cut, *score.nll], score.state
    assert state is not None and state[16:] == here.state[16:]
    others = [[CORPUS[i % len(CORPUS)] * (1 + i % 3)] for i in range(31)]
    beside = surprise_model.score([*others, MESSAGES], [None] * 32)[-1]
    assert beside.state == state
    apart = (torch.cat(cut) - torch.cat(beside.nll)).abs()
    assert float(apart.max()) <= STEP and float((apart > 0).float().mean()) <= 0.01


def test_what_does_not_fit_is_refused_in_its_place(engine: LanguageEngine) -> None:
    assert isinstance(engine, ScoringEngine)
    fits, too_long, unknown = engine.score([[1, 40, 50, 60], [1] * 8193, [1, 99_999]])
    assert isinstance(fits, list) and len(fits) == 3 and max(fits) < 0
    assert isinstance(too_long, EngineRefusedError) and isinstance(unknown, EngineRefusedError)


def configured(model: Path, llm: dict[str, Any]) -> Config:
    section = {"engine": "llm", "model": str(model), "window": WINDOW}
    return load_config({"device": "cpu", "embedder": {"model": "hash"}, "surprise": section, "llm": llm})


def test_a_memory_over_a_server_whose_model_is_its_surprise_model(
    server: tuple[str, object], model: Path, tmp_path: Path
) -> None:
    config = configured(model, {"engine": "http", "base_url": server[0]})
    with Memory(tmp_path / "store.db", config=config) as memory:
        assert isinstance(memory.components.surprise_model, VllmSurpriseModel)
        decided = [memory.add(text, user_id="ana")[0].decision for text in CORPUS]
        assert all(one is not None and one.surprise > 0 and one.reason for one in decided)
        assert len({one.surprise for one in decided if one is not None}) == len(CORPUS)
        assert memory.search("Where did Ana move?", user_id="ana")


def test_a_memory_whose_engine_in_this_process_is_its_surprise_model(
    in_process: VllmEngine, model: Path, tmp_path: Path
) -> None:
    config = configured(model, {"engine": "vllm", "model": str(model), "dtype": "float32"})
    parts = Components(tmp_path / "store.db", config)
    parts.engine = LazyEngine("vllm", lambda: in_process)  # the one of all these tests stands for the configured one
    at = datetime(2026, 1, 1, tzinfo=UTC)
    added = parts.writer.add(
        [CheckedMessage.of(Message("user", text)) for text in (*CORPUS, CORPUS[0])], Scope("ana"), recorded_at=at
    )
    parts.database.close()
    decided = [one.decision for one in added if one.decision is not None]
    assert isinstance(parts.surprise_model, VllmSurpriseModel) and len(decided) == len(CORPUS) + 1
    assert decided[0].write and not decided[-1].write
    assert min(one.surprise for one in decided) > 0
