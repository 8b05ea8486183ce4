"""A real vLLM knows every quantization that the configuration accepts, and runs the stored ones.

A CPU shows that vLLM takes a checkpoint and answers with it. It shows neither the kernels of a GPU (Marlin) nor their
speed, and bitsandbytes, whose kernels are CUDA's, only as far as its registration.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nscma_torch.core.config.language import QUANTIZATIONS
from nscma_torch.llm.engines.contract import Reply, Request, Turn
from nscma_torch.llm.engines.vllm_engine import VllmEngine
from tests.vllm.stored_four_bits import store

pytestmark = pytest.mark.vllm


def test_every_accepted_quantization_is_known() -> None:
    from vllm.model_executor.layers.quantization import QUANTIZATION_METHODS, get_quantization_config
    from vllm.plugins import load_general_plugins

    load_general_plugins()
    names = [name for name in QUANTIZATIONS["vllm"] if name != "none"]
    assert set(names) <= set(QUANTIZATION_METHODS)
    assert all(get_quantization_config(name) for name in names)


@pytest.mark.parametrize("scheme", ["awq", "gptq", "compressed-tensors"])
def test_a_stored_checkpoint_answers(model: Path, tmp_path: Path, scheme: Any) -> None:
    folder = store(model, tmp_path / scheme, scheme)
    engine = VllmEngine(folder, quantization=scheme, context=512, concurrency=2, eager=True)
    try:
        (reply,) = engine.generate([Request((Turn("user", "Where does Ana live?"),), max_tokens=6)])
    finally:
        engine.close()
    assert isinstance(reply, Reply), reply
    assert reply.completion_tokens > 0
