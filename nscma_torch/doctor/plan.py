"""Compute the GPU memory that each part of a configuration needs, and check whether it fits. Nothing is loaded.

The card is shared by two processes: the language engine, which takes a share and fills the part not used by its weights
with keys and values, and the memory system (embedder, surprise model, index), which uses the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

import torch

from nscma_torch.core.config import Config
from nscma_torch.core.tensor_files import elements
from nscma_torch.doctor.model_memory import ModelShape, config_of, model_shape
from nscma_torch.text.embedders.embedder import MINILM_NAMES
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from nscma_torch.text.embedders.minilm import DIMENSION, FEED_FORWARD, MAX_TOKENS, bundled_folder

GIB = 2**30
CARDS = (12, 16, 24)  # GB as consumer cards are sold
_SHOWN = 0.983  # of a card's nominal GiB that programs see: 23.6 of 24 on an RTX 4090
RUNTIME = 600 * 2**20  # of the CUDA context and its libraries in a process; an assumption, not measured here
GRAPHS = 600 * 2**20  # of vLLM's CUDA graphs of an 8B model; an assumption, not measured here
FAISS_SCRATCH = 1536 * 2**20  # temporary memory that faiss.StandardGpuResources reserves on cards above 8 GB
ENGINE_BATCH = 8192  # default number of tokens that vLLM reads in one step
GENERATED = 16_384  # tokens of keys and values that the transformers engine holds for one batch
LONGEST = 8192  # tokens of a text of an embedding batch, where neither configuration nor model sets a limit
_INDEX_ROW = 8 * 9 + 4 * 2 + 2 + 4 * 5  # bytes of a unit's columns: times, places, links, codes, flags
_BLOCK = 4096  # units that an index reads at once


def card_bytes(size: int) -> int:
    """Return the usable bytes on a card sold with `size` GB."""
    return int(size * GIB * _SHOWN)


@dataclass(frozen=True, slots=True)
class PlanPart:
    """The memory for one component; `side` is the process whose share it uses."""

    name: str
    size: int  # bytes
    side: Literal["engine", "memory"]
    note: str


@dataclass(frozen=True, slots=True)
class Fit:
    """The result of checking whether a plan fits on a GPU.

    Attributes:
        card: the card's memory in bytes.
        engine: maximum bytes for the engine.
        cached: number of tokens with keys and values that fit in addition to the engine's weights; 0 without an engine
            on the card.
        problems: reasons why the plan doesn't fit; empty if it does.
    """

    card: int
    engine: int
    cached: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The components of a configuration on one card.

    Attributes:
        share: the engine's share of the card; None if it takes as much as its parts need.
        cache_per_token: bytes for a token's keys and values; 0 without an engine on the card.
        context: maximum tokens in a prompt together with its reply.
        notes: the parts that the plan omits, and why.
    """

    parts: Sequence[PlanPart]
    share: float | None
    cache_per_token: int
    context: int
    notes: Sequence[str]

    def of(self, side: str) -> int:
        """Return the total bytes for one process."""
        return sum(part.size for part in self.parts if part.side == side)

    def fit(self, card: int) -> Fit:
        """Check whether the plan fits on a GPU with `card` bytes."""
        engine, memory = self.of("engine"), self.of("memory")
        if self.share is None:
            room, left = card - memory, card - engine
        else:
            room = int(self.share * card)
            left = card - room
        problems, cached = [], 0
        if self.cache_per_token:
            cached = max(0, room - engine) // self.cache_per_token
            if cached < self.context:
                problems.append(
                    f"the engine has room for {cached:,} tokens beside its weights and needs {self.context:,}: "
                    "lower llm.context or quantize" + (", or raise llm.gpu_memory_share" if self.share else "")
                )
        if memory > left:
            problems.append(
                f"embedder, networks and index need {memory / GIB:.1f} GiB, but only {left / GIB:.1f} GiB are left"
            )
        return Fit(card, room, cached, tuple(problems))


def plan(config: Config, *, units: int) -> MemoryPlan:
    """Return the memory plan for a configuration with `units` searchable units in the index.

    Raises `ModelNotFoundError` if a configured model's config.json is missing.
    """
    parts, notes = [], []
    engine = config.llm.engine
    shape = None
    if engine in ("vllm", "transformers"):
        dtype = torch.bfloat16 if config.llm.dtype == "auto" else getattr(torch, config.llm.dtype)
        found = config_of(config.llm.model)
        shape = model_shape(found, kind="language", dtype=dtype, quantization=config.llm.quantization)
        parts += _engine(shape, engine, config)
    elif engine == "http":
        notes.append(
            "the language model is served at llm.base_url; if the server uses this card, plan its memory separately"
        )
    embedder = embedder_shape(config)
    longest = min(config.chunker.max_tokens or LONGEST, embedder.context or LONGEST)
    tokens = config.embedder.batch_size * longest
    vectors = f"{units:,} units of {embedder.dimension} dimensions, twice: alone and with their neighbours"
    parts += [
        PlanPart("embedder", embedder.weights, "memory", f"{embedder.parameters / 1e6:.0f} M parameters"),
        *_questions(config, embedder),
        PlanPart("its activations", tokens * embedder.working_per_token, "memory", f"{tokens:,} tokens"),
        _surprise_model(config, shape),
        *_reranker(config),
        *_reading_networks(config),
        PlanPart("index", index_bytes(units, embedder.dimension, config.index.dtype), "memory", vectors),
        *_faiss(config, units, embedder.dimension),
        PlanPart("CUDA of the memory's process", RUNTIME, "memory", "assumed, not measured"),
    ]
    context = 0 if shape is None else config.llm.context or shape.context or GENERATED
    share = config.llm.gpu_memory_share if engine == "vllm" else None
    return MemoryPlan(parts, share, shape.cache_per_token if shape else 0, context, notes)


def index_bytes(units: int, dimension: int, dtype: str) -> int:
    """Return the bytes that a loaded user index takes, including spare capacity.

    `episodic.index.index_rows` doubles the capacity when a block doesn't fit.
    """
    blocks = -(-units // _BLOCK)
    rows = units if blocks <= 1 else _BLOCK << (blocks - 1).bit_length()
    return rows * (2 * dimension * (2 if dtype == "bfloat16" else 4) + _INDEX_ROW)


def _engine(shape: ModelShape, engine: str, config: Config) -> list[PlanPart]:
    kind = "" if config.llm.quantization == "none" else f", {config.llm.quantization}"
    weights = PlanPart("language model", shape.weights, "engine", f"{shape.parameters / 1e9:.2f} B parameters{kind}")
    if engine == "vllm":
        working = PlanPart(
            "its activations", ENGINE_BATCH * shape.working_per_token, "engine", f"{ENGINE_BATCH:,} tokens"
        )
        graphs = PlanPart("its CUDA graphs", GRAPHS, "engine", "assumed, not measured")
        return [weights, working, graphs, PlanPart("CUDA of the engine", RUNTIME, "engine", "assumed, not measured")]
    working = PlanPart("its activations", GENERATED * shape.working_per_token, "engine", f"{GENERATED:,} tokens")
    return [weights, working]


def embedder_shape(config: Config) -> ModelShape:
    """Return the embedder's shape. Raises `ModelNotFoundError` if its config.json is missing."""
    name, dtype = config.embedder.model, torch.float32 if config.embedder.dtype == "float32" else torch.bfloat16
    if name == "hash":
        return ModelShape(0, 0, 0, 0, HashEmbedder().dimension, None)
    if name in MINILM_NAMES:  # without transformers; its file holds float32
        size = (bundled_folder() / "model.safetensors").stat().st_size
        return ModelShape(size, size // 4, 0, 4 * (4 * DIMENSION + 2 * FEED_FORWARD), DIMENSION, MAX_TOKENS)
    return model_shape(config_of(name), kind="embedding", dtype=dtype)


def _questions(config: Config, embedder: ModelShape) -> list[PlanPart]:
    """Return the part for the encoder of questions, if it has trained updates."""
    if config.embedder.questions == "plain" or config.embedder.model not in MINILM_NAMES:
        return []
    return [PlanPart("encoder of questions", embedder.weights, "memory", "the embedder with trained updates")]


def _reading_networks(config: Config) -> list[PlanPart]:
    """Return the part for the bundled networks that read answers, facts and questions, as float32."""
    if config.reading.model == "none":
        return []
    folder = resources.files("nscma_torch.reading") / "weights"
    with resources.as_file(folder) as path:
        size = 4 * sum(elements(file) for file in path.glob("*.safetensors"))
    return [PlanPart("reading networks", size, "memory", "bundled")]


def _faiss(config: Config, units: int, dimension: int) -> list[PlanPart]:
    """Return the parts for faiss: its copy of the vectors, which has two more dimensions, and its scratch space. HNSW
    runs on the CPU.
    """
    if config.index.backend != "faiss" or config.index.faiss_factory.startswith("HNSW"):
        return []
    copy = PlanPart("faiss's copy", units * (dimension + 2) * 4, "memory", f"{units:,} vectors in float32")
    return [copy, PlanPart("faiss's temporary memory", FAISS_SCRATCH, "memory", "reserved when it starts")]


def _surprise_model(config: Config, engine: ModelShape | None) -> PlanPart:
    """Return the plan's part for the surprise model; if the engine's model is reused, only its log-probabilities count.

    vLLM computes the log-probabilities for a whole request at once, outside its share of the card: logits in bfloat16
    and log-probabilities in float32.
    """
    name = config.surprise.model
    if config.surprise.engine == "llm":
        size = 0 if engine is None else (config.surprise.window + 1) * engine.vocabulary * (2 + 4)
        note = "behind llm.base_url" if engine is None else f"log-probabilities of {config.surprise.window:,} tokens"
        return PlanPart("surprise", size, "memory", f"the language model itself, {note}")
    if name == "bundled":
        weights = resources.files("nscma_torch.surprise") / "weights" / "proxy.safetensors"
        with resources.as_file(weights) as path:
            return PlanPart("surprise", path.stat().st_size, "memory", "bundled")
    path = Path(name)
    if path.is_file():
        return PlanPart("surprise", path.stat().st_size, "memory", name)
    section = config.surprise
    dtype = torch.float32 if section.dtype == "float32" else torch.bfloat16
    shape = model_shape(config_of(name), kind="language", dtype=dtype, quantization=section.quantization)
    size = shape.weights + section.window * (shape.cache_per_token + shape.working_per_token)
    return PlanPart(
        "surprise", size, "memory", f"{shape.parameters / 1e9:.2f} B parameters, a window of {section.window:,}"
    )


def _reranker(config: Config) -> list[PlanPart]:
    name = config.retrieval.reranker
    if name in ("", "reader"):  # the bundled reader is no part that grows
        return []
    shape = model_shape(config_of(name), kind="embedding", dtype=torch.float32)
    return [PlanPart("reranker", shape.weights, "memory", f"{shape.parameters / 1e6:.0f} M parameters")]
