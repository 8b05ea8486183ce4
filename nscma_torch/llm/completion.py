"""Send prompts to a language engine in one batch, within its context. If any prompt fails, an error is raised.

Successful replies from a failed batch are cached, so the next attempt requests only the rest.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from nscma_torch.core.errors import EngineError, EngineRefusedError, EngineUnavailableError
from nscma_torch.core.records import Usage
from nscma_torch.llm.engines.contract import LanguageEngine, Request, Turn, Turns, most_tokens
from nscma_torch.llm.engines.structured import Filled, FormT, ReplyForm, fill

ItemT = TypeVar("ItemT")
_REMARK = "It could not be used. " * 18  # longer than the remark added to a prompt after an unusable reply
_JOINT = 4  # maximum overhead tokens of a prompt's item
_MOST_KEPT = 4096  # forms of batches that failed


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, the form for its reply, and whether to return log-probabilities."""

    turns: Turns
    form: type[ReplyForm]
    logprobs: bool


class ModelCaller:
    """Calls an engine.

    Args:
        max_tokens: maximum tokens in a reply.
        temperature: 0 is greedy.
        tally: counts requests, tokens and failed requests.

    Attributes:
        logprobs: False once the server returned a reply without log-probabilities.
    """

    def __init__(self, engine: LanguageEngine, *, max_tokens: int, temperature: float, tally: Counter[str]) -> None:
        self.engine = engine
        self.logprobs = True
        self._max_tokens = max_tokens
        self._temperature = temperature
        self._tally = tally
        self._kept: dict[Prompt, Filled[ReplyForm]] = {}
        self._lock = threading.Lock()

    def count(self, what: str, times: int = 1) -> None:
        """Add to the tally."""
        with self._lock:
            self._tally[what] += times

    def ask(self, form: type[FormT], prompts: Sequence[Turns]) -> tuple[list[FormT], Usage]:
        """Return a form for each prompt, in order, and the cost of this call. See `fill`."""
        filled, usage = self.fill(form, prompts)
        return [one.form for one in filled], usage

    def fill(
        self, form: type[FormT], prompts: Sequence[Turns], *, logprobs: bool = False
    ) -> tuple[list[Filled[FormT]], Usage]:
        """Return a filled form for each prompt, in order, and the cost of this call.

        Raises the first `EngineError` if any prompt failed, and `EngineRefusedError` for a prompt larger than the
        context.
        """
        keys = [Prompt(turns, form, logprobs) for turns in prompts]
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
        new = [key for key in dict.fromkeys(keys) if key not in found]
        got, usage = self._filled(form, new)
        errors = [one for one in got if isinstance(one, EngineError)]
        fresh = {key: _kept(one) for key, one in zip(new, got, strict=True) if isinstance(one, Filled)}
        with self._lock:
            self._tally.update(requests=usage.llm_calls, tokens=usage.tokens, failed=len(errors))
            for key in keys:
                self._kept.pop(key, None)
            if errors:
                self._kept |= {**{key: found[key] for key in keys if key in found}, **fresh}
                for key in list(self._kept)[: max(0, len(self._kept) - _MOST_KEPT)]:
                    del self._kept[key]
        if errors:
            raise _together(errors, len(keys))
        found |= fresh
        return [_of(form, found[key]) for key in keys], usage

    def ask_sized(
        self, sizes: Sequence[int], prompts: Sequence[Turns], form_of: Callable[[int], type[FormT]]
    ) -> list[FormT]:
        """Return a form for each prompt. Prompts with different sizes have different forms, so there is one batch for
        each size.
        """
        found: dict[int, FormT] = {}
        for size in dict.fromkeys(sizes):
            numbers = [i for i, own in enumerate(sizes) if own == size]
            forms, _ = self.ask(form_of(size), [prompts[i] for i in numbers])
            found |= dict(zip(numbers, forms, strict=True))
        return [found[i] for i in range(len(sizes))]

    def tokens(self, turns: Turns) -> int:
        """Return the number of tokens in a prompt, including room for a remark on a retry."""
        return self.engine.count_tokens([turns])[0] + self._remark

    def fits(self, turns: Turns) -> bool:
        """Return True if a prompt leaves room for the reply."""
        return most_tokens(turns) <= self._room or self.engine.count_tokens([turns])[0] <= self._room

    def packed(
        self, items: Sequence[ItemT], render: Callable[[Sequence[ItemT]], Turns], *, most: int | None = None
    ) -> list[list[ItemT]]:
        """Group the items, in order, into as few prompts as possible that fit the context, each with at most `most`
        items.

        Raises `EngineRefusedError` for an item that doesn't fit even by itself.
        """
        if not items:
            return []
        if len(items) <= (most or len(items)) and most_tokens(render(items)) <= self._room:
            return [list(items)]
        bare, *alone = self.engine.count_tokens([render([]), *(render([item]) for item in items)])
        packs: list[list[ItemT]] = []
        size = 0
        for item, tokens in zip(items, alone, strict=True):
            self._check(tokens)
            own = tokens - bare + _JOINT
            if not packs or size + own > self._room or (most is not None and len(packs[-1]) == most):
                packs.append([])
                size = bare
            packs[-1].append(item)
            size += own
        return packs

    @property
    def _room(self) -> int:
        """Return the maximum number of tokens in a prompt."""
        return self.engine.context - self._max_tokens - self._remark

    @cached_property
    def _remark(self) -> int:
        """Return the maximum number of tokens that a retry's remark on the last reply adds."""
        bare, told = self.engine.count_tokens([(Turn("user", ""),), (Turn("user", _REMARK),)])
        return told - bare

    def _check(self, tokens: int) -> None:
        if tokens > self._room:
            raise EngineRefusedError(
                f"a prompt of {tokens} tokens is too long: {self.engine.name} accepts {self.engine.context} in all, of "
                f"which {self._max_tokens} are for the reply and {self._remark} for a second attempt; raise "
                "llm.context, or lower llm.max_tokens or chunker.max_tokens"
            )

    def _filled(self, form: type[FormT], prompts: Sequence[Prompt]) -> tuple[list[Filled[FormT] | EngineError], Usage]:
        """Send the prompts that fit. For the others, return an error at the same position."""
        if not prompts:
            return [], Usage()
        found: dict[int, Filled[FormT] | EngineError] = {}
        unsure = [i for i, prompt in enumerate(prompts) if most_tokens(prompt.turns) > self._room]
        counts = self.engine.count_tokens([prompts[i].turns for i in unsure]) if unsure else []
        for i, tokens in zip(unsure, counts, strict=True):
            try:
                self._check(tokens)
            except EngineRefusedError as error:
                found[i] = error
        fitting = [i for i in range(len(prompts)) if i not in found]
        requests = [
            Request(
                prompts[i].turns,
                max_tokens=self._max_tokens,
                temperature=self._temperature,
                logprobs=prompts[i].logprobs,
            )
            for i in fitting
        ]
        got, usage = fill(self.engine, form, requests) if requests else ([], Usage())
        found |= dict(zip(fitting, got, strict=True))
        return [found[i] for i in range(len(prompts))], usage


def _together(errors: Sequence[EngineError], asked: int) -> EngineError:
    """Return the first error, with the number of errors added."""
    if asked == 1:
        return errors[0]
    said = f"{len(errors)} of {asked} requests failed, the others are kept; the first: {errors[0]}"
    together = type(errors[0])(said)
    if isinstance(together, EngineUnavailableError):
        away = sum(isinstance(error, EngineUnavailableError) for error in errors)
        together.answered = away < asked
    return together


def _kept(filled: Filled[FormT]) -> Filled[ReplyForm]:
    return Filled(filled.form, filled.reply)


def _of(form: type[FormT], filled: Filled[ReplyForm]) -> Filled[FormT]:
    assert isinstance(filled.form, form)
    return Filled(filled.form, filled.reply)
