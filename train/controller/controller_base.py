"""The model that learns to be a controller: one that is there, with LoRA, or a tiny Llama made from nothing.

LoRA: Hu et al. 2021; over weights in 4 bits: QLoRA, Dettmers et al. 2023.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from nscma_torch.core.errors import ConfigError
from nscma_torch.core.extras import require
from nscma_torch.llm.loading import load_causal_lm
from train.controller.controller_examples import spelled
from train.controller.controller_traces import Trace
from train.controller.copying_start import start_copying

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_PURPOSE = "training a controller"
_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|turn|>{{ m['role'] }}\n{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
_SPECIAL = ["<|pad|>", "<|bos|>", "<|end|>", "<|turn|>"]
# What stands around a key of JSON belongs to it. A capitalised word is split from its blank, for names to have the same
# tokens after a blank as after a quotation mark, and into its syllables: of those a new name is made up too.
_CONSONANT = "b-df-hj-np-tv-z"
_CODA = f"(?:[{_CONSONANT}]+(?![a-z]))?"
_WORDS = "|".join(
    (
        r'[^A-Za-z0-9\s]*(?:, ?)?[^A-Za-z0-9\s]*"[a-z_]+": ?\[?"?(?!")',
        rf"(?<=[A-Za-z])[{_CONSONANT}]*[aeiou]{_CODA}",
        rf"[A-Z][{_CONSONANT}]*(?:[aeiou]{_CODA})?",
        r" ?[a-z]+",
        r" ?[0-9]+",
        r"[^A-Za-z0-9\s]+(?: [^A-Za-z0-9\s]+)*",
        r"\s",
    )
)
_COMMON = 0.02  # share of the traces in which a line of the instructions stands that becomes one token


def with_lora(
    options: Mapping[str, Any], lora: Mapping[str, Any], device: torch.device
) -> tuple[Any, PreTrainedTokenizerFast, int]:
    """The base model with new LoRA matrices, of which alone there are gradients; its tokenizer, and its context."""
    peft = require("peft", extra="hf", purpose=_PURPOSE)
    dtype = getattr(torch, options.get("dtype", "float32"), None)
    if not isinstance(dtype, torch.dtype):
        raise ConfigError(f'[model] dtype is {options["dtype"]!r}; write "float32", "bfloat16" or "float16"')
    loaded = load_causal_lm(
        options["base"], device=device, dtype=dtype, quantization=options.get("quantization", "none")
    )
    model: Any = loaded.model
    if loaded.quantization != "none":
        model = peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    if options.get("checkpointing"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    adapted = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **lora))
    return adapted, loaded.tokenizer, min(options["context"], loaded.context or options["context"])


def tokenizer_of(traces: Sequence[Trace], vocabulary: int, context: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of the traces, in which each sentence of the controller's instructions is one token.

    The instructions are the same in every prompt; as single tokens they cost a small model next to nothing. Names are
    new ones in every trace, so that none becomes a token: a held-out name is spelled like any other.
    """
    transformers = require("transformers", extra="hf", purpose=_PURPOSE)
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    lines = Counter(trace.turns[0].content for trace in traces)
    lines.update(trace.turns[-1].content.split("\n")[0] for trace in traces)
    common = sorted(line for line, times in lines.items() if times >= _COMMON * len(traces))
    bpe = Tokenizer(models.BPE())
    words = pre_tokenizers.Split(Regex(_WORDS), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([words, byte_level])
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(common),
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    rng = random.Random(0)
    renamed = (trace.renamed(rng, "train") for trace in traces)
    texts = (
        text
        for trace in renamed
        for text in (trace.turns[-1].content, *(spelled(trace, compact=compact) for compact in (True, False)))
    )
    bpe.train_from_iterator(texts, trainer)
    bpe.add_tokens([AddedToken(line, special=False, normalized=False) for line in common])
    tokenizer: PreTrainedTokenizerFast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token="<|bos|>", eos_token="<|end|>", pad_token="<|pad|>", model_max_length=context
    )
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


def tiny_llama(tokenizer: PreTrainedTokenizerFast, shape: Mapping[str, Any], context: int, seed: int) -> Any:
    """A Llama with fresh weights, with which it copies; `shape` are keys of `LlamaConfig`."""
    transformers = require("transformers", extra="hf", purpose=_PURPOSE)
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=context,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=True,
        attention_bias=True,
        **shape,
    )
    model = transformers.LlamaForCausalLM(config)
    start_copying(model)
    return model


def fresh(folder: Path, traces: Sequence[Trace], options: Mapping[str, Any], seed: int) -> None:
    """Write a tokenizer and an untrained tiny Llama, for `load_causal_lm`."""
    context = options["context"]
    tokenizer = tokenizer_of(traces, options["vocabulary"], context)
    tiny_llama(tokenizer, options["shape"], context, seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
