"""Language engine in this process: a causal language model from transformers, optionally in 4 bits or with a LoRA
adapter.

It suits a single user on one machine; vLLM suits a server with many concurrent users.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from nscma_torch.core.errors import ConfigError, EngineError, EngineUnavailableError
from nscma_torch.llm.engines.chat_template import ChatTemplate
from nscma_torch.llm.engines.contract import Reply, Request, Token
from nscma_torch.llm.engines.decoding import PartialReply, decode
from nscma_torch.llm.engines.grammar import Grammars
from nscma_torch.llm.engines.in_process import InProcessEngine
from nscma_torch.llm.engines.token_text import TokenText
from nscma_torch.llm.loading import CausalLM, Quantization, load_causal_lm


class TransformersEngine(InProcessEngine):
    """`LanguageEngine` and `StreamingEngine` for a model in this process.

    Requests in one call are batched by length. A call waits until another thread's batch ends.

    Args:
        model: a folder, or a name in the local Hugging Face cache; its tokenizer must have a chat template.
        device, dtype, quantization, adapter: see `load_causal_lm`.
        context: maximum tokens in prompt and reply together; None for the model's maximum.
        batch_tokens: maximum tokens in all prompts and replies of a batch, including padding, which bounds the memory
            for keys and values. A single request may be longer.

    Raises `ConfigError` for an invalid argument, `ModelError` for a model without a chat template, and the errors of
    `load_causal_lm`.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | torch.device = "cpu",
        dtype: torch.dtype | None = None,
        quantization: Quantization = "none",
        adapter: Path | None = None,
        context: int | None = None,
        batch_tokens: int = 16_384,
    ) -> None:
        if context is not None and context < 1:
            raise ConfigError(f"context must be at least 1 token, not {context}")
        if batch_tokens < 1:
            raise ConfigError(f"batch_tokens must be at least 1, not {batch_tokens}")
        loaded = load_causal_lm(model, device=device, dtype=dtype, quantization=quantization, adapter=adapter)
        if loaded.context is None and context is None:
            raise ConfigError(f"{loaded.name} does not report its context length: pass `context`, in tokens")
        name = f"transformers/{loaded.name}"
        most = min(size for size in (context, loaded.context) if size is not None)
        super().__init__(name, ChatTemplate(loaded.tokenizer, name), most)
        self._silent = self._template.special | loaded.eos
        self._grammars = Grammars(loaded.tokenizer, loaded.vocabulary, loaded.eos)
        self._batch_tokens = batch_tokens
        self._loaded: CausalLM | None = loaded
        self._closed = threading.Event()
        self._turn = threading.Lock()  # held by the call whose batch is running
        self._lock = threading.Lock()  # held during a forward pass

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """Return one result per request, in order."""
        results: list[Reply | EngineError] = [self._closed_error()] * len(requests)
        if self._closed.is_set():
            return results
        drafts = []
        for place, request in enumerate(requests):
            try:
                drafts.append(self._draft(place, request))
            except EngineError as error:
                results[place] = error
        for batch in self._batches(drafts):
            with self._turn:
                problem = self._write(batch)
            for draft in batch:
                results[draft.place] = problem if problem and not draft.done else self._result(draft)
        return results

    def stream(self, request: Request) -> Iterator[Token]:
        """Yield the tokens of the reply as they are written. Raises the `EngineError` that `generate` would return."""
        draft = self._draft(0, request)
        steps, speller, sent = decode(self._model(), [draft]), self._speller(), 0
        while not draft.done:
            problem = self._step(steps)
            if problem is not None:
                raise problem
            for token, logprob in zip(draft.written[sent:], draft.logprobs[sent:], strict=True):
                yield from speller.add(token, logprob)
            sent = len(draft.written)
        if draft.error is not None:
            raise draft.error
        yield from speller.end()

    def close(self) -> None:
        """Release the model. Requests in flight end with an error. Idempotent."""
        self._closed.set()
        with self._lock:
            self._loaded = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _model(self) -> CausalLM:
        if self._loaded is None:
            raise self._closed_error()
        return self._loaded

    def _draft(self, place: int, request: Request) -> PartialReply:
        """Check a request and start its reply. Raises `EngineRefusedError` if the request is invalid."""
        prompt = self._template.fitting(request, self._context)
        follower = None if request.schema is None else self._grammars.follow(request.schema)
        return PartialReply(place, request, prompt, follower)

    def _batches(self, drafts: Sequence[PartialReply]) -> Iterator[list[PartialReply]]:
        """Yield batches of drafts with similar lengths."""
        batch: list[PartialReply] = []
        reply = 0
        for draft in sorted(drafts, key=lambda draft: (len(draft.prompt), draft.request.max_tokens, draft.place)):
            longer = max(reply, draft.request.max_tokens)
            if batch and (len(batch) + 1) * (len(draft.prompt) + longer) > self._batch_tokens:
                yield batch
                batch, longer = [], draft.request.max_tokens
            batch.append(draft)
            reply = longer
        if batch:
            yield batch

    def _write(self, batch: Sequence[PartialReply]) -> EngineError | None:
        """Write a batch to its end. Return the error, if any, that applies to the unfinished drafts."""
        try:
            steps = decode(self._model(), batch)
        except EngineUnavailableError as error:
            return error
        while not all(draft.done for draft in batch):
            problem = self._step(steps)
            if problem is not None:
                return problem
        return None

    def _step(self, steps: Iterator[None]) -> EngineError | None:
        with self._lock:
            if self._closed.is_set():
                return self._closed_error()
            try:
                next(steps)
            except torch.OutOfMemoryError as error:
                return EngineUnavailableError(f"the device has no memory left for this batch: {error}")
        return None

    def _result(self, draft: PartialReply) -> Reply | EngineError:
        if draft.error is not None:
            return draft.error
        speller = self._speller()
        tokens = [
            spelled
            for token, logprob in zip(draft.written, draft.logprobs, strict=True)
            for spelled in speller.add(token, logprob)
        ]
        tokens += speller.end()
        text = "".join(token.text for token in tokens)
        kept = tuple(tokens) if draft.request.logprobs else ()
        return Reply(text, len(draft.prompt), draft.chosen, draft.finished, kept)

    def _speller(self) -> TokenText:
        return TokenText(self._grammars, self._silent)
