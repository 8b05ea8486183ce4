"""Traces as token ids with labels: the prompt as an engine encodes it, and a loss on the assistant's reply alone.

Shapes: B examples of a batch, T tokens of its longest.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.llm.engines.chat_template import ChatTemplate
from train.controller.controller_dialogues import Split
from train.controller.controller_traces import Trace

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

IGNORED = -100  # label of a token without a loss, as transformers has it
_COMPACT, _SPACED = (",", ":"), (", ", ": ")  # JSON as llguidance has it written, and as xgrammar has (vLLM)
_NEAR = 256  # examples of like length, on either side, that a batch is drawn from


def spelled(trace: Trace, *, compact: bool) -> str:
    """The reply as one engine or the other spells JSON."""
    return json.dumps(trace.reply, ensure_ascii=False, separators=_COMPACT if compact else _SPACED)


class Examples:
    """Traces for one tokenizer, drawn as batches.

    Args:
        context: most tokens of an example.
        rename: the split whose made-up words replace those of a trace each time it is drawn; None keeps them.

    Raises InvalidInputError for a trace that is longer than the context, and where there is none.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        tokenizer: PreTrainedTokenizerFast,
        *,
        context: int,
        rename: Split | None,
    ) -> None:
        if not traces:
            raise InvalidInputError("there are no traces; ask for at least one dialogue")
        self._tokenizer = tokenizer
        self._template = ChatTemplate(tokenizer, "the model to train")
        self._rename: Split | None = rename
        sized = sorted(((len(self.example(trace)[0]), i) for i, trace in enumerate(traces)))
        self.longest = sized[-1][0]
        if self.longest > context:
            raise InvalidInputError(
                f"the longest trace has {self.longest} tokens and the model reads {context}; lower "
                "[controller] active_turns or top_k"
            )
        self._traces = [traces[i] for _, i in sized]
        self._sizes = [size for size, _ in sized]

    def example(self, trace: Trace, *, compact: bool = True) -> tuple[list[int], list[int]]:
        """Ids of prompt, reply and end of text, and their labels: `IGNORED` over the whole prompt."""
        prompt = self._template.encode(trace.turns)
        reply: list[int] = self._tokenizer(spelled(trace, compact=compact), add_special_tokens=False)["input_ids"]
        reply = [*reply, self._tokenizer.eos_token_id]
        return prompt + reply, [IGNORED] * len(prompt) + reply

    def batch(self, tokens: int, seed: str, reach: float = 1.0) -> tuple[Tensor, Tensor]:
        """Ids [B, T] and labels [B, T] of examples of like length; the same for the same seed.

        At most so many tokens with padding, but at least one example; `reach` is the share of the examples, shortest
        first, that they are drawn from.
        """
        rng = random.Random(seed)
        traces = max(1, min(len(self._traces), round(reach * len(self._traces))))
        middle = rng.randrange(traces)
        near = range(max(0, middle - _NEAR), min(traces, middle + _NEAR))
        most = max(1, min(len(near), tokens // self._sizes[near[-1]]))
        rows = []
        for i in rng.sample(near, most):
            trace = self._traces[i] if self._rename is None else self._traces[i].renamed(rng, self._rename)
            rows.append(self.example(trace, compact=rng.random() < 0.5))
        return collated(rows)


def collated(rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> tuple[Tensor, Tensor]:
    """Ids [B, T] and labels [B, T], padded on the right, where causal attention needs no mask for it."""
    longest = max(len(ids) for ids, _ in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    labels = torch.full((len(rows), longest), IGNORED)
    for row, (own, wanted) in enumerate(rows):
        ids[row, : len(own)] = torch.tensor(own)
        labels[row, : len(own)] = torch.tensor(wanted)
    return ids, labels
