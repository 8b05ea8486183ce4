"""A real vLLM on the CPU, as a server and in this process, with a Llama of a few hundred kilobytes.

Run by `make test-vllm` in an environment of its own; vLLM pins too much to live beside the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eval.harness.tiny_llama import build
from eval.harness.vllm_server import Server, vllm_server
from nscma_torch.llm.engines.contract import LanguageEngine
from nscma_torch.llm.engines.openai_http import OpenAIEngine
from nscma_torch.llm.engines.vllm_engine import VllmEngine

CONTEXT = 8192  # the prompts of a byte-level tokenizer of 400 words are long


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the tiny Llama; vLLM's attention on a CPU wants heads of at least 32 dimensions."""
    return build(tmp_path_factory.mktemp("models") / "tiny-llama", hidden_size=128, max_position_embeddings=CONTEXT)


@pytest.fixture(scope="session")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Address and process of `vllm serve`, stopped at the end."""
    options = ["--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}']
    with vllm_server(Path(sys.executable), model, tmp_path_factory.mktemp("server"), options) as served:
        yield served


@pytest.fixture(scope="session")
def http(server: Server) -> Iterator[OpenAIEngine]:
    """An engine that speaks to the server."""
    engine = OpenAIEngine(server[0], server="vllm", concurrency=64)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def in_process(model: Path) -> Iterator[VllmEngine]:
    """An engine that runs vLLM in this process."""
    engine = VllmEngine(model, dtype="float32", context=CONTEXT, eager=True)
    yield engine
    engine.close()


@pytest.fixture(params=["http", "in_process"])
def engine(request: pytest.FixtureRequest) -> LanguageEngine:
    """Each of the two."""
    found: LanguageEngine = request.getfixturevalue(request.param)
    return found
