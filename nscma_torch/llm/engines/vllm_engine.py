"""Language engine in this process: vLLM, for many concurrent requests on a GPU that it shares with the memory."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import (
    ConfigError,
    EngineError,
    EngineRefusedError,
    EngineUnavailableError,
    ModelError,
    ReplyError,
)
from nscma_torch.core.extras import require
from nscma_torch.llm.engines.chat_template import ChatTemplate
from nscma_torch.llm.engines.contract import Reply, Request, Token
from nscma_torch.llm.engines.in_process import InProcessEngine
from nscma_torch.llm.engines.main_guard import check_main_guard
from nscma_torch.llm.engines.protocol_schemas import LogProb, spelled
from nscma_torch.llm.engines.scoring import logprobs_of
from nscma_torch.llm.engines.vllm_weights import VllmQuantization, check_stored
from nscma_torch.text.embedders.model_folder import model_folder

_PURPOSE = "the vllm engine"
_ALONE = ("VLLM_NO_USAGE_STATS", "HF_HUB_OFFLINE")  # no telemetry, no model hub


class VllmEngine(InProcessEngine):
    """`LanguageEngine` that uses `vllm.LLM`, without telemetry and without a model hub.

    Args:
        model: a folder, or a name in the local Hugging Face cache.
        dtype: "auto" uses the dtype in the model's files.
        quantization: "awq", "gptq" and "compressed-tensors" read a model stored in that format. "bitsandbytes" packs
            the weights to 4 bits while loading and needs vllm-bnb-plugin. "none" loads the weights as stored.
        context: maximum tokens in prompt and reply together; None for the model's maximum.
        memory_share: share of the GPU's memory for weights, keys and values. The embedder, surprise model and index use
            the rest (`nscma doctor` adds up both). Ignored on a CPU, where `VLLM_CPU_KVCACHE_SPACE` applies.
        concurrency: maximum concurrent replies.
        eager: start at once, without compiling the model or capturing CUDA graphs. Generation is then slower.
        adapter: folder of a LoRA adapter that peft wrote.

    Raises `ConfigError` for an invalid argument or a script without a `__main__` guard, `MissingDependencyError` if
    vLLM isn't installed, `ModelNotFoundError` for a model that isn't on this machine, and `ModelError`, with vLLM's
    message, for a model that vLLM can't load.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto",
        quantization: VllmQuantization = "none",
        context: int | None = None,
        memory_share: float = LlmConfig().gpu_memory_share,
        concurrency: int = LlmConfig().concurrency,
        eager: bool = False,
        adapter: Path | None = None,
    ) -> None:
        if not 0 < memory_share < 1:
            raise ConfigError(f"memory_share must lie between 0 and 1, not {memory_share}")
        if context is not None and context < 1:
            raise ConfigError(f"context must be at least 1 token, not {context}")
        for variable in _ALONE:  # read when vllm is imported
            os.environ[variable] = "1"
        vllm = require("vllm", extra="vllm", purpose=_PURPOSE)
        folder = model_folder(str(model), kind="language model", purpose=_PURPOSE)
        check_stored(str(model), folder, quantization)
        if quantization == "bitsandbytes":  # vLLM imports it by its entry point, here and in its workers
            require("vllm_bnb_plugin", extra="vllm", purpose="quantization 'bitsandbytes' under vllm")
        check_main_guard()
        short = Path(model).name if Path(model).is_dir() else str(model)
        name = f"vllm/{short}" + (f"+{adapter.name}" if adapter else "")
        name += "" if quantization == "none" else f" {quantization}"
        lora = {} if adapter is None else {"enable_lora": True, "max_lora_rank": _rank(adapter)}
        try:
            self._llm = vllm.LLM(
                model=str(folder),
                dtype=dtype,
                quantization=None if quantization == "none" else quantization,
                max_model_len=context,
                max_num_seqs=concurrency,
                gpu_memory_utilization=memory_share,
                enforce_eager=eager,
                structured_outputs_config={"backend": "xgrammar", "disable_any_whitespace": True},
                **lora,
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise ModelError(f"vLLM cannot load {model}: {error}") from error
        self._vllm = vllm
        self._adapter = None
        if adapter is not None:
            requests = require("vllm.lora.request", extra="vllm", purpose=_PURPOSE)
            self._adapter = requests.LoRARequest(adapter.name, 1, str(adapter))
        self._turn = threading.Lock()  # `LLM` serves one caller at a time
        self._closed = False
        try:
            template = ChatTemplate(self._llm.get_tokenizer(), name)
        except ModelError:
            self.close()
            raise
        super().__init__(name, template, self._llm.model_config.max_model_len)

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """Return one result per request, in order. vLLM batches the requests itself."""
        results: dict[int, Reply | EngineError] = {}
        prompts: dict[int, list[int]] = {}
        for place, request in enumerate(requests):
            try:
                prompts[place] = self._template.fitting(request, self._context)
            except EngineError as error:
                results[place] = error
        sampling = {place: self._sampling(requests[place]) for place in prompts}
        for place, output in self._run(prompts, sampling).items():
            results[place] = output if isinstance(output, EngineError) else _result(requests[place], output)
        return [results[place] for place in range(len(requests))]

    def tokenize(self, text: str) -> list[int]:
        """Return the token ids of a text, without added tokens."""
        ids: list[int] = self._llm.get_tokenizer().encode(text, add_special_tokens=False)
        return ids

    def score(self, prompts: Sequence[Sequence[int]]) -> list[list[float] | EngineError]:
        """Return the log-probabilities of each prompt's ids, except the first."""
        parameters = require("vllm.sampling_params", extra="vllm", purpose=_PURPOSE)
        settings = parameters.SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0, detokenize=False)
        places = {place: list(prompt) for place, prompt in enumerate(prompts)}
        outputs = self._run(places, dict.fromkeys(places, settings))
        return [one if isinstance(one, EngineError) else _scored(one) for one in map(outputs.__getitem__, places)]

    def close(self) -> None:
        """Stop vLLM and free its memory. Requests in flight end with an error. Idempotent."""
        if not self._closed:
            self._closed = True
            self._llm.llm_engine.engine_core.shutdown()

    def _run(self, prompts: dict[int, list[int]], sampling: dict[int, Any]) -> dict[int, Any]:
        """Return vLLM's output or an `EngineError` for each prompt, by position.

        If vLLM rejects a call, it rejects it as a whole. Each prompt is then sent alone and gets its own error.
        """
        errors = require("vllm.exceptions", extra="vllm", purpose=_PURPOSE)
        try:
            with self._turn:
                if self._closed:
                    return dict.fromkeys(prompts, self._closed_error())
                written = self._llm.generate(
                    [{"prompt_token_ids": ids} for ids in prompts.values()],
                    [sampling[place] for place in prompts],
                    use_tqdm=False,
                    lora_request=self._adapter,
                )
        except (ValueError, errors.VLLMClientError) as error:
            if len(prompts) == 1:
                return dict.fromkeys(prompts, EngineRefusedError(f"{self._name} refused the request: {error}"))
            outputs: dict[int, Any] = {}
            for place, prompt in prompts.items():
                outputs |= self._run({place: prompt}, sampling)
            return outputs
        except errors.VLLMServerError as error:
            return dict.fromkeys(prompts, EngineUnavailableError(f"{self._name} stopped: {error}"))
        return dict(zip(prompts, written, strict=True))

    def _sampling(self, request: Request) -> Any:
        parameters = require("vllm.sampling_params", extra="vllm", purpose=_PURPOSE)
        shape = None if request.schema is None else parameters.StructuredOutputsParams(json=dict(request.schema))
        return parameters.SamplingParams(
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            seed=request.seed,
            logprobs=0 if request.logprobs else None,
            structured_outputs=shape,
        )


def _result(request: Request, output: Any) -> Reply | EngineError:
    (choice,) = output.outputs
    if choice.finish_reason not in {"stop", "length"}:
        return EngineUnavailableError(f"the reply ended with finish_reason {choice.finish_reason!r}")
    tokens: tuple[Token, ...] = ()
    if request.logprobs:
        chosen = [place[token] for place, token in zip(choice.logprobs, choice.token_ids, strict=True)]
        try:
            tokens = spelled(
                choice.text, [LogProb(token=one.decoded_token or "", logprob=one.logprob) for one in chosen]
            )
        except ReplyError as error:
            return error
    return Reply(
        text=choice.text,
        prompt_tokens=len(output.prompt_token_ids),
        completion_tokens=len(choice.token_ids),
        finished=choice.finish_reason == "stop",
        tokens=tokens,
    )


def _scored(output: Any) -> list[float] | EngineError:
    places = [
        None if place is None else {token: one.logprob for token, one in place.items()}
        for place in output.prompt_logprobs
    ]
    try:
        return logprobs_of(output.prompt_token_ids, places)
    except ReplyError as error:
        return error


def _rank(adapter: Path) -> int:
    """Return the maximum rank of a LoRA adapter, which vLLM needs before it loads the adapter."""
    path = adapter / "adapter_config.json"
    try:
        rank = json.loads(path.read_text(encoding="utf-8"))["r"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is not a LoRA adapter configuration: {error!r}") from error
    if not isinstance(rank, int) or rank < 1:
        raise ModelError(f"{path} names the rank {rank!r}; it must be an integer above 0")
    return 1 << max(3, (rank - 1).bit_length())  # vLLM takes powers of two from 8
