"""Load causal language models from transformers with their tokenizers, completely or not at all.

A model is a folder or a name in the local Hugging Face cache; nothing is downloaded, and no model code runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from safetensors import SafetensorError

from nscma_kernels import native_dtype
from nscma_torch.core.errors import ConfigError, ModelError, ModelNotFoundError
from nscma_torch.core.extras import require
from nscma_torch.text.embedders.model_folder import model_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

Quantization = Literal["none", "nf4"]

_PURPOSE = "a language model in this process"
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


@dataclass(frozen=True, slots=True)
class CausalLM:
    """A loaded model.

    Attributes:
        model: in eval mode, without gradients; a `PeftModel` if an adapter was loaded.
        name: the folder or Hugging Face name, with adapter and quantization.
        files: the model's files, in a fixed order.
        device: the device for the model's input.
        context: the maximum number of positions; None if the configuration doesn't specify it.
        eos: ids that end a text; never empty.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    name: str
    quantization: Quantization
    files: tuple[Path, ...]
    device: torch.device
    context: int | None
    vocabulary: int
    eos: frozenset[int]

    def digest(self) -> str:
        """Return the SHA-256 over all files: configuration, tokenizer, weights, adapter. It reads every file."""
        digest = hashlib.sha256()
        for path in self.files:
            digest.update(path.name.encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()


def load_causal_lm(
    name: str | Path,
    *,
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
    quantization: Quantization = "none",
    adapter: Path | None = None,
) -> CausalLM:
    """Load a causal language model.

    Args:
        name: a folder, or a name in the local Hugging Face cache.
        device: the device; "auto" lets accelerate distribute the model over the GPUs and, if they are full, the CPU.
        dtype: dtype of unquantized weights and of all arithmetic; by default, the device's native dtype.
        quantization: "nf4" stores the layers' matrices in 4-bit NormalFloat with double-quantized scales (QLoRA,
            Dettmers et al. 2023, section 3), with 4.1 to 4.3 bits per weight. Embeddings and head stay in `dtype`.
        adapter: folder of a LoRA adapter that peft wrote.

    Raises:
        ConfigError: the device or quantization is unknown.
        MissingDependencyError: a package of the extra `hf` is not installed.
        ModelNotFoundError: the model or adapter isn't on this machine.
        ModelError: the files are unusable.
    """
    if quantization not in ("none", "nf4"):
        raise ConfigError(f"quantization is {quantization!r}; choose 'none' or 'nf4'")
    transformers = require("transformers", extra="hf", purpose=_PURPOSE)
    require("accelerate", extra="hf", purpose=_PURPOSE)
    if quantization == "nf4":
        require("bitsandbytes", extra="hf", purpose="4-bit weights")
    folder = model_folder(str(name), kind="language model", purpose=_PURPOSE)
    files = [folder / "config.json", *tokenizer_files(folder), *_weights(folder)]
    if adapter is not None:
        require("peft", extra="hf", purpose="a LoRA adapter")
        files += _adapter_files(adapter)
    first = _first_device(device)
    dtype = dtype or native_dtype(first)
    quantized = None
    if quantization == "nf4":
        quantized = transformers.BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype,
        )
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model, loading = transformers.AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=dtype,
            device_map="auto" if device == "auto" else {"": str(device)},
            quantization_config=quantized,
            local_files_only=True,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, SafetensorError) as error:
        raise ModelError(f"{folder} cannot be loaded as a causal language model: {error}") from error
    missing = sorted(loading["missing_keys"])
    if missing:  # transformers fills them with random numbers
        raise ModelError(f"{folder} lacks weights of its model: {', '.join(missing[:3])} ({len(missing)} in all)")
    if adapter is not None:
        model = _with_adapter(model, adapter)
    model.eval().requires_grad_(False)
    return _described(model, tokenizer, _name(str(name), quantization, adapter), quantization, tuple(files), first)


def _described(
    model: Any, tokenizer: Any, name: str, quantization: Quantization, files: tuple[Path, ...], device: torch.device
) -> CausalLM:
    """Build the model with metadata from its configurations. Raises `ModelError` if they are inconsistent."""
    text = model.config.get_text_config()
    if not tokenizer.is_fast:
        raise ModelError(f"{name} has no fast tokenizer (tokenizer.json); save one in its folder")
    if len(tokenizer) > text.vocab_size:
        raise ModelError(f"the tokenizer of {name} has {len(tokenizer)} tokens and the model only {text.vocab_size}")
    ends = model.generation_config.eos_token_id if model.generation_config is not None else None
    eos = {*([ends] if isinstance(ends, int) else ends or []), tokenizer.eos_token_id} - {None}
    if not eos:
        raise ModelError(f"{name} names no end-of-text token: set eos_token in its tokenizer_config.json")
    context = getattr(text, "max_position_embeddings", None)
    return CausalLM(model, tokenizer, name, quantization, files, device, context, text.vocab_size, frozenset(eos))


def _name(model: str, quantization: Quantization, adapter: Path | None) -> str:
    short = Path(model).name if Path(model).is_dir() else model
    return short + (f"+{adapter.name}" if adapter else "") + (f" {quantization}" if quantization != "none" else "")


def _weights(folder: Path) -> list[Path]:
    if not (folder / "config.json").is_file():
        raise ModelNotFoundError(f"{folder} has no config.json, so it is not a transformers model")
    for pattern in _WEIGHTS:
        found = sorted(folder.glob(pattern))
        if found:
            return found
    raise ModelNotFoundError(f"{folder} has a config.json and no weights (*.safetensors); fetch the whole model")


def tokenizer_files(folder: Path) -> Iterator[Path]:
    """Yield a model folder's tokenizer files, in a fixed order."""
    names = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "chat_template.jinja")
    return (folder / name for name in names if (folder / name).is_file())


def _adapter_files(adapter: Path) -> list[Path]:
    files = [adapter / "adapter_config.json", adapter / "adapter_model.safetensors"]
    for path in files:
        if not path.is_file():  # peft would ask the network for it
            raise ModelNotFoundError(f"{adapter} is not a peft adapter folder: it has no {path.name}")
    return files


def _with_adapter(model: Any, adapter: Path) -> Any:
    peft = require("peft", extra="hf", purpose="a LoRA adapter")
    try:
        return peft.PeftModel.from_pretrained(model, str(adapter))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise ModelError(f"the adapter {adapter} does not fit this model: {error}") from error


def _first_device(device: str | torch.device) -> torch.device:
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(device)
    except RuntimeError as error:
        raise ConfigError(f"device {str(device)!r} is unknown to torch; use 'auto', 'cpu' or 'cuda'") from error
