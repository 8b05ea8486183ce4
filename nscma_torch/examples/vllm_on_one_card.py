"""Run Llama-3-8B in 4 bits with vLLM, the embedder and the memory on one 24 GB card (`configs/consumer-gpu.toml`).

    python -m nscma_torch.examples.vllm_on_one_card

Without a GPU or vLLM, it prints the memory plan (as `nscma doctor --plan --config FILE` does) and loads nothing. With
both, it also chats; the two models must be in the local Hugging Face cache. That part has not been run on a GPU yet. If
there is no GPU, it prints:

    engine  5.33 GiB  language model, 8.03 B parameters, awq
    engine  0.69 GiB  its activations, 8,192 tokens
    engine  0.59 GiB  its CUDA graphs, assumed, not measured
    engine  0.59 GiB  CUDA of the engine, assumed, not measured
    memory  1.06 GiB  embedder, 568 M parameters
    memory  0.75 GiB  its activations, 32,768 tokens
    memory  0.00 GiB  surprise, bundled
    memory  0.30 GiB  reading networks, bundled
    memory  1.01 GiB  index, 100,000 units of 1024 dimensions, twice: alone and with their neighbours
    memory  0.59 GiB  CUDA of the memory's process, assumed, not measured
    24 GB card (23.6 GiB): fits, with room for 57,027 tokens of keys and values
    no GPU, or no vLLM (pip install 'nscma-torch[vllm,hf]'): nothing was loaded
"""

from __future__ import annotations

import importlib.util
import tempfile
from importlib import resources
from pathlib import Path

import torch

from nscma_torch import Config, Controller, Memory, load_config
from nscma_torch.doctor.plan import GIB, card_bytes, plan

CARD = 24  # GB


def main() -> None:
    """Print the plan; chat if there is a GPU."""
    with resources.as_file(resources.files("nscma_torch.configs") / "consumer-gpu.toml") as path:
        config = load_config(path)
    print_plan(config)
    if torch.cuda.is_available() and importlib.util.find_spec("vllm") is not None:
        chat(config)
    else:
        print("no GPU, or no vLLM (pip install 'nscma-torch[vllm,hf]'): nothing was loaded")


def print_plan(config: Config) -> None:
    """Print each part's GPU memory with 100,000 units in the index, and whether it fits."""
    made = plan(config, units=100_000)
    for part in made.parts:
        print(f"{part.side:6} {part.size / GIB:5.2f} GiB  {part.name}, {part.note}")
    fit = made.fit(card_bytes(CARD))
    verdict = "; ".join(fit.problems) or f"fits, with room for {fit.cached:,} tokens of keys and values"
    print(f"{CARD} GB card ({fit.card / GIB:.1f} GiB): {verdict}")


def chat(config: Config) -> None:
    """State one fact and ask one question, in a temporary store."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "chat.db", config=config) as memory:
        controller = Controller(memory, user_id="ana")
        controller.turn("I moved from Lisbon to Porto last week.")
        reply = controller.turn("Where do I live?")
        print(reply.text, "| evidence:", [evidence.text for evidence in reply.evidence])


if __name__ == "__main__":
    main()
