"""Write a batch of replies: one forward pass over the prompts, then one pass for each further token of all replies.

Shapes: n partial replies, P tokens in the longest prompt, V tokens in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nscma_torch.core.errors import ReplyError
from nscma_torch.llm.engines.contract import Request
from nscma_torch.llm.engines.grammar import Follower

if TYPE_CHECKING:
    from nscma_torch.llm.loading import CausalLM


@dataclass(slots=True)
class PartialReply:
    """A reply in progress.

    Attributes:
        place: the position of its request in the call.
        prompt: token ids of the prompt.
        follower: the schema's state; None for free text.
        written: token ids written so far, without the end-of-text token.
        logprobs: for each token in `written`, the natural log of its probability among the tokens that the schema
            allows, at temperature 1, as reported by vLLM.
        chosen: number of tokens chosen, including the end-of-text token.
        finished: True if the reply is complete; never True if there is an `error`.
    """

    place: int
    request: Request
    prompt: list[int]
    follower: Follower | None
    written: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    chosen: int = 0
    finished: bool = False
    error: ReplyError | None = None
    generator: torch.Generator = field(default_factory=torch.Generator)

    def __post_init__(self) -> None:
        self.generator.manual_seed(self.request.seed % 2**63)

    @property
    def done(self) -> bool:
        """Return True if no more tokens will be added."""
        return self.finished or self.error is not None or self.chosen >= self.request.max_tokens


def decode(loaded: CausalLM, drafts: Sequence[PartialReply]) -> Iterator[None]:
    """Extend all drafts by one token per step, until all are done.

    Prompts are padded on the left. A reply is sampled from its own logits with its own random numbers, so it doesn't
    depend on the other replies, except that rounding depends on the matrix shapes.
    """
    device = loaded.device
    longest = max(len(draft.prompt) for draft in drafts)
    ids = torch.zeros(len(drafts), longest, dtype=torch.long)
    seen = torch.zeros(len(drafts), longest, dtype=torch.long)
    for row, draft in enumerate(drafts):
        ids[row, longest - len(draft.prompt) :] = torch.tensor(draft.prompt)
        seen[row, longest - len(draft.prompt) :] = 1
    positions = (seen.cumsum(1) - 1).clamp(min=0)
    ids, seen, positions = ids.to(device), seen.to(device), positions.to(device)
    active, cache = list(drafts), None
    while True:
        with torch.inference_mode():
            out = loaded.model(
                input_ids=ids,
                attention_mask=seen,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            _choose(out.logits[:, -1], active, loaded.eos)
        yield
        going = [row for row, draft in enumerate(active) if not draft.done]
        if not going:
            return
        cache = out.past_key_values
        if 2 * len(going) <= len(active):  # a smaller batch is worth a copy of its cache
            rows = torch.tensor(going, device=device)
            cache.reorder_cache(rows)
            seen, positions = seen[rows], positions[rows]
            active = [active[row] for row in going]
        ids = torch.tensor([[draft.written[-1] if draft.written else 0] for draft in active], device=device)
        seen = torch.nn.functional.pad(seen, (0, 1), value=1)
        positions = positions[:, -1:] + 1


def _choose(
    logits: Tensor,  # [n, V]
    drafts: Sequence[PartialReply],
    eos: frozenset[int],
) -> None:
    """Add a token to each draft that isn't done."""
    going = [row for row, draft in enumerate(drafts) if not draft.done]
    logits = logits[going].float()
    for row, draft in enumerate(drafts[i] for i in going):
        if draft.follower is not None:
            try:
                allowed = draft.follower.allowed().to(logits.device)
            except ReplyError as error:
                draft.error = error
                continue
            logits[row].masked_fill_(~allowed, -torch.inf)
    log_p = torch.log_softmax(logits, -1)  # [n, V]
    best = log_p.argmax(-1).tolist()
    broken = log_p.isnan().any(-1).tolist()
    for row, draft in enumerate(drafts[i] for i in going):
        if draft.error is None and broken[row]:
            draft.error = ReplyError("the model's logits are not numbers: check its weights and its dtype")
        if draft.error is not None:
            continue
        token = best[row]
        if draft.request.temperature > 0:  # on the CPU: the same random numbers on every device
            share = torch.softmax(log_p[row].double().cpu() / draft.request.temperature, -1)
            token = int(torch.multinomial(share, 1, generator=draft.generator))
        _write(draft, token, float(log_p[row, token]), eos)


def _write(draft: PartialReply, token: int, logprob: float, eos: frozenset[int]) -> None:
    draft.chosen += 1
    if token in eos:
        draft.finished = True
        return
    draft.written.append(token)
    draft.logprobs.append(logprob)
    if draft.follower is not None:
        try:
            draft.follower.accept(token)
        except ReplyError as error:
            draft.error = error
        else:
            draft.finished = draft.follower.complete
