"""The decoder of the associative-recall demonstration: a tiny Mistral that recalls within its sliding window.

Two layers learn the circuit of induction (Olsson et al. 2022): one head of the first layer looks at the token before,
one of the second at the token whose predecessor is the key in question. Left alone that takes thousands of steps on a
plateau; shown where to look, through a loss on those two heads, some hundred.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from nscma_torch.core.extras import require
from train.memory_adapter.recall_task import RecallTask


def recall_base(task: RecallTask, options: dict[str, Any], seed: int) -> nn.Module:
    """Train the decoder on distances up to options["distance"]; a model of transformers, its weights in float32."""
    transformers = require("transformers", extra="hf", purpose="the decoder of the recall demonstration")
    torch.manual_seed(seed)
    config = transformers.MistralConfig(
        vocab_size=task.vocabulary,
        hidden_size=options["hidden"],
        intermediate_size=2 * options["hidden"],
        num_hidden_layers=2,
        num_attention_heads=options["heads"],
        num_key_value_heads=options["heads"],
        sliding_window=options["window"],
        max_position_embeddings=8192,
        tie_word_embeddings=False,
        initializer_range=0.1,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
        attn_implementation="eager",  # it shows its weights
    )
    model: nn.Module = transformers.MistralForCausalLM(config)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), options["lr"], betas=(0.9, 0.98), weight_decay=0.01)
    steps: int = options["steps"]
    for step in range(steps):
        easy = step < steps // 4
        distance = 0 if easy else int(torch.randint(options["distance"] + 1, (1,), generator=generator))
        pairs = task.pairs // 2 if easy else task.pairs
        tokens, labels = task.batch(options["batch"], distance, generator, pairs=pairs)
        progress = step / steps
        optimizer.param_groups[0]["lr"] = options["lr"] * min(1.0, (step + 1) / 50, (1 - progress) / 0.3)
        out = model(input_ids=tokens, labels=labels, output_attentions=True, use_cache=False)
        loss = out.loss + (guide(out.attentions, tokens, pairs, distance) if progress < 0.7 else 0)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    model.set_attn_implementation("sdpa")  # type: ignore[operator]
    return model.eval()


def guide(attentions: tuple[Tensor, ...], tokens: Tensor, pairs: int, distance: int) -> Tensor:
    """Mean -log of what the first head of each layer [B, H, T, T] gives to the token it should look at."""
    values = torch.arange(1, 2 * pairs, 2)
    asked = torch.arange(2 * pairs + distance + 1, tokens.shape[1], 3)
    same = tokens[:, asked, None] == tokens[:, None, 0 : 2 * pairs : 2]
    where = 2 * same.float().argmax(-1) + 1
    before = attentions[0][:, 0, values, values - 1]
    answers = attentions[1][:, 0, asked].gather(2, where[..., None])
    return -(before.clamp_min(1e-6).log().mean() + answers.clamp_min(1e-6).log().mean())
