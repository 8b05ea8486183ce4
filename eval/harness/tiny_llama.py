"""A Llama of a few hundred kilobytes with random weights, a byte-level BPE tokenizer and a chat template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|turn|>{{ m['role'] }}\n{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
CORPUS = (
    "My sister Ana moved to Lisbon in March and works at the harbour now.",
    "The landlord painted the kitchen; our cat Miso did not like it at all.",
    "我女儿叫小雨，今年五岁。她喜欢画画，也喜欢游泳。",
    '{"name": "Ana", "age": 31, "likes": ["tea", "rain"], "moved": true, "to": null}',
)


def build(folder: Path, *, template: str | None = TEMPLATE, scale: float = 8.0, **shape: Any) -> Path:
    """Write model and tokenizer to `folder`. `scale` spreads the logits, so that greedy choices are not ties."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|pad|>", "<|bos|>", "<|end|>", "<|turn|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator([text for text in CORPUS for _ in range(3)], trainer)
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=bpe, bos_token="<|bos|>", eos_token="<|end|>", pad_token="<|pad|>"
    )
    tokenizer.chat_template = template
    config = LlamaConfig(
        **{
            "vocab_size": 416,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 1024,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 0,
            **shape,
        }
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.mul_(scale if weight is model.lm_head.weight else 2.0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
