"""A LoRA adapter changes what vLLM writes as it changes what transformers writes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request, Turn
from nscma_torch.llm.engines.local import TransformersEngine
from nscma_torch.llm.engines.vllm_engine import VllmEngine

pytestmark = pytest.mark.vllm

SCHEMA = {"type": "string", "pattern": "^[a-z]{12}$"}  # nothing in it that one engine spells with blanks


def adapter_of(model: Path, folder: Path) -> Path:
    """A random adapter of rank 4, strong enough to change greedy choices."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    base = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    lora = LoraConfig(r=4, lora_alpha=16, target_modules=targets, init_lora_weights=False, task_type="CAUSAL_LM")
    get_peft_model(base, lora).save_pretrained(str(folder))
    return folder


def replies(engine: LanguageEngine) -> list[str]:
    """What it writes, greedily, to eight prompts under one schema."""
    requests = [Request((Turn("user", f"message {i}"),), schema=SCHEMA, max_tokens=40) for i in range(8)]
    found = engine.generate(requests)
    assert all(isinstance(reply, Reply) and reply.finished for reply in found), found
    return [reply.text for reply in found if isinstance(reply, Reply)]


def test_an_adapter_speaks_alike_in_vllm_and_transformers(model: Path, tmp_path: Path) -> None:
    adapter = adapter_of(model, tmp_path / "tuned")
    engine = VllmEngine(model, dtype="float32", context=1024, eager=True, adapter=adapter)
    try:
        tuned = replies(engine)
    finally:
        engine.close()
    assert tuned == replies(TransformersEngine(model, dtype=torch.float32, adapter=adapter))
    plain = replies(TransformersEngine(model, dtype=torch.float32))
    assert sum(one != other for one, other in zip(tuned, plain, strict=True)) >= 4
