"""Configuration: pydantic models read from TOML, a sentence and a unit with each key.

`configs/default.toml` holds every key with its default; a test keeps it equal to these models. An unknown key is an
error that names the nearest known one.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from nscma_torch.errors import ConfigError

FAISS_FACTORY = r"^(Flat|IVF([1-9][0-9]*)(,Flat)?|HNSW([2-9]|[1-9][0-9]+)(,Flat)?)$"


class Section(BaseModel):
    """Base of all sections: frozen, closed against unknown keys, and without NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Store(Section):
    """The database file."""

    busy_timeout: float = Field(30.0, gt=0, description="Seconds to wait for another process's write.")
    max_pages: int = Field(0, ge=0, description="Largest size of the file in pages of 4096 bytes; 0 for no limit.")


class Limits(Section):
    """What is refused, and how much is written at once."""

    max_message_bytes: int = Field(1_048_576, gt=0, description="Largest message in bytes of UTF-8.")
    max_clock_skew: float = Field(300.0, ge=0, description="Seconds that a timestamp may lie in the future.")
    max_batch: int = Field(64, gt=0, description="Messages that add_many writes in one transaction.")


class Embedder(Section):
    """The embedding model."""

    model: str = Field(
        "all-MiniLM-L6-v2",
        description="'all-MiniLM-L6-v2' (bundled), 'hash' (no weights), or a sentence-transformers name or folder.",
    )
    batch_size: int = Field(16, gt=0, description="Texts in one forward pass.")
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Precision of the forward pass; 'auto' is bfloat16 where the device multiplies it natively."
    )
    deferred: bool = Field(True, description="Whether messages that the gate defers are embedded too.")


class Chunker(Section):
    """How a long message becomes units."""

    strategy: Literal["sentence", "fixed", "surprise"] = Field(
        "sentence", description="Where a chunk may end: 'surprise' is at sentences that the proxy did not expect, too."
    )
    max_tokens: int = Field(0, ge=0, description="Longest chunk in tokens; 0 for the embedder's own limit.")
    overlap_sentences: int = Field(0, ge=0, description="Sentences repeated at the start of the next chunk.")
    gamma: float = Field(
        1.0, description="gamma of 'surprise', mu + gamma*sigma, in standard deviations; EM-LLM eq. 1."
    )
    window: int = Field(32, gt=1, description="tau of 'surprise': sentences that mu and sigma look back on.")
    min_tokens: int = Field(64, gt=0, description="Tokens before which 'surprise' ends no chunk at a peak.")


class Proxy(Section):
    """The language model whose surprise the gate weighs."""

    model: str = Field(
        "bundled",
        description="'bundled', a file of train/proxy_lm.py, or a causal language model's folder or Hub name.",
    )
    window: int = Field(
        1024, gt=0, multiple_of=64, description="Most tokens that a token of a causal language model sees."
    )
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Precision of the forward pass; 'auto' is bfloat16 where the device multiplies it natively."
    )
    quantization: Literal["none", "nf4"] = Field(
        "none", description="Of a causal language model's weights; 'nf4' is 4 bits with bitsandbytes."
    )


class GateWeights(Section):
    """Weights of the terms of the gate's `composition` rule."""

    surprise: float = Field(0.2, description="Score per standard deviation of S, the mean surprise of the paper.")
    information: float = Field(0.2, description="Score per standard deviation of ln of the information in nats.")
    memory: float = Field(0.6, description="Score per standard deviation of ln of the nats that memory lacks.")
    salience: float = Field(1.0, description="Score per unit of log-odds of the cue lexicon.")
    answer: float = Field(0.4, ge=0, description="Added to what follows a question.")
    learned: float = Field(0.3, description="Score per unit of log-odds of the salience head; needs embedder.deferred.")
    code: float = Field(2.5, ge=0, description="Taken off, times the share of ids, hashes and base64.")
    repeat: float = Field(10.0, ge=0, description="Taken off what was already said.")
    restatement: float = Field(2.5, ge=0, description="Taken off what was already said in other words.")


class Gate(Section):
    """Which messages are worth language-model work now; what is deferred stays searchable."""

    rule: Literal["composition", "paper", "information", "memory", "salience", "everything"] = Field(
        "composition", description="'paper' is S > mu + lambda*sigma; 'everything' switches the gate off."
    )
    lam: float = Field(0.0, description="lambda of 'paper', 'information' and 'memory', in standard deviations.")
    window: int = Field(64, gt=0, description="N: inputs of one stream and script that mu and sigma look back on.")
    warmup: int = Field(8, gt=0, description="Inputs that 'paper' and its kin write before they judge.")
    prior: int = Field(32, gt=0, description="Inputs that the prior of 'composition' weighs.")
    threshold: float = Field(-0.2, description="Score above which 'composition' writes.")
    salience_threshold: float = Field(0.5, description="Salience above which 'salience' writes, in [0, 1].")
    low: float = Field(-1.0, description="Least standard deviations that a term counts.")
    high: float = Field(2.5, description="Most standard deviations that a term counts.")
    near: float = Field(
        0.65, ge=0.6, description="Least cosine of a restatement to an earlier message; needs embedder.deferred."
    )
    news: float = Field(0.5, ge=0, description="Words that no near message has, from which on it is no restatement.")
    weights: GateWeights = GateWeights()


class Index(Section):
    """The vector index."""

    backend: Literal["torch", "faiss"] = Field("torch", description="Exact tensors on the device, or faiss candidates.")
    dtype: Literal["float32", "bfloat16"] = Field(
        "float32", description="Of the vectors in memory; bfloat16 takes half, and cosines are off by up to 0.004."
    )
    faiss_factory: str = Field(
        "Flat",
        pattern=FAISS_FACTORY,
        description="'Flat', 'IVF' and its number of lists ('IVF256'), or 'HNSW' and that of links ('HNSW32').",
    )
    faiss_nprobe: int = Field(16, gt=0, description="Lists that an IVF search visits.")
    faiss_ef_search: int = Field(128, gt=0, description="Candidates that an HNSW search keeps while it walks.")


class Score(Section):
    """Episodic score (NSCMA section 3.4.1): alpha*sim + beta*exp(-lambda*(now - t)) + gamma*importance."""

    alpha: float = Field(1.0, ge=0, description="Weight of the cosine similarity.")
    beta: float = Field(0.0, ge=0, description="Weight of the recency.")
    gamma: float = Field(0.0, ge=0, description="Weight of the importance, which is in [0, 1].")
    half_life: float = Field(30.0, gt=0, description="Days after which recency is one half; lambda = ln 2 / half_life.")


class Retrieval(Section):
    """Lanes and their fusion."""

    lanes: tuple[Literal["lexical", "vector"], ...] = Field(
        ("lexical", "vector"), min_length=1, description="Which lanes a search runs."
    )
    fusion: Literal["relative", "rrf"] = Field(
        "relative", description="Mean of scores relative to each lane's best, or reciprocal rank fusion with c = 60."
    )
    strategy: Literal[
        "auto", "single-step", "links", "rerank", "iterative", "traversal", "global", "prune-and-grow", "graph"
    ] = Field("auto", description="How a search goes on from its first results; auto chooses by the question.")
    kinds: tuple[Literal["chunk", "triple", "atomic_fact", "summary"], ...] = Field(
        ("chunk",), min_length=1, description="Structures that a search looks in where it names none."
    )
    reranker: str = Field(
        "", description="Cross-encoder of the rerank strategy, a name or a folder; empty for the language tasks."
    )
    answering: Literal["memory-only", "memory-doc"] = Field(
        "memory-only", description="Whether ask answers from what was found, or from the messages behind it."
    )
    candidates: int = Field(256, gt=0, description="Units that the vector lane proposes.")
    speaker_boost: float = Field(0.5, ge=0, description="Added to a factor of 1 for units of those the question names.")
    k1: float = Field(1.2, gt=0, description="BM25: saturation of the term frequency.")
    b: float = Field(0.75, ge=0, le=1, description="BM25: how much length counts.")
    hops: tuple[float, ...] = Field((0.5, 0.3, 0.15), description="BM25: weight of a term 1, 2, … turns away.")
    reach: float = Field(40.0, gt=0, description="BM25: terms above which a unit lends less to its neighbours.")


class Answer(Section):
    """The embedded answerer."""

    support_needed: float = Field(0.72, description="Support, in [-1, 2], below which it says that it does not know.")
    passages: int = Field(3, gt=0, description="Most passages that an answer shows.")
    cutoff: float = Field(
        0.6, ge=0, le=1, description="Score, relative to the best passage, below which none is shown."
    )
    words: int = Field(60, gt=0, description="Longest passage in words; a shorter message is shown whole.")


class Hierarchy(Section):
    """CAM, the hierarchy of overlapping clusters and their summaries."""

    enabled: bool = Field(True, description="Whether what is extracted goes into the hierarchy; later by rebuild.")
    batch_size: int = Field(1024, gt=0, description="Most messages that are integrated at once.")
    neighbours: int = Field(4, gt=0, description="k: edges that a new chunk draws (CAM equation 2).")
    alpha: float = Field(
        0.8, ge=0, le=1, description="Weight of the cosine; 1 - alpha weighs the distance in a stream."
    )
    sigma: float = Field(2.0, gt=0, description="Width of the positional term, in chunks.")
    gamma: float = Field(0.2, ge=0, le=1, description="Score above which two chunks are joined.")
    links: int = Field(12, gt=0, description="Edges that a cluster draws on the levels above.")
    overlapping: bool = Field(True, description="Ego-splitting: a chunk may belong to several clusters.")
    max_levels: int = Field(8, ge=0, description="Levels of clusters; 0 keeps the network of chunks alone.")
    min_members: int = Field(3, gt=1, description="Members below which a cluster gets no summary.")
    max_members: int = Field(24, gt=2, description="Members above which a cluster is split.")
    summary_words: int = Field(100, gt=0, description="Longest summary in words.")


class Llm(Section):
    """The language model that extracts, summarizes, judges and answers; without one, rules do."""

    engine: Literal["embedded", "http"] = Field(
        "embedded", description="'embedded' (rules, no model), or 'http' (an OpenAI-compatible server)."
    )
    model: str = Field("", description="Its name on the server; empty for the only one that it serves.")
    base_url: str = Field("http://127.0.0.1:8000", description="The server's address, with or without /v1.")
    server: Literal["vllm", "llama.cpp", "other"] = Field(
        "vllm", description="Which server it is: how it counts tokens; 'other' needs context."
    )
    api_key_env: str = Field("", description="Environment variable that holds the server's key; empty for none.")
    quantization: Literal["none", "nf4", "awq", "bitsandbytes"] = Field(
        "none", description="Of the weights, where the engine loads them; a server has its own."
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Precision of the weights, where the engine loads them."
    )
    context: int = Field(0, ge=0, description="Most tokens of prompt and reply together; 0 for the model's own.")
    max_tokens: int = Field(1024, gt=0, description="Most tokens of a reply.")
    temperature: float = Field(0.0, ge=0, le=2, description="Of the sampling; 0 is greedy.")
    concurrency: int = Field(16, gt=0, description="Most requests in flight, or sequences in a batch.")
    timeout: float = Field(300.0, gt=0, description="Seconds without a byte after which an attempt fails.")
    attempts: int = Field(4, gt=0, description="How often a request is sent while the server is away or overloaded.")
    gpu_memory_share: float = Field(
        0.6, gt=0, lt=1, description="Share of the GPU's memory for the model, where the engine loads it."
    )
    adapter: str = Field("", description="Folder of a LoRA adapter, where the engine loads the model; empty for none.")

    @model_validator(mode="after")
    def _is_used(self) -> Self:
        fields = type(self).model_fields
        unused = [] if self.engine != "embedded" else [name for name in fields if name != "engine"]
        unused = [*_LOADING] if self.engine == "http" else unused
        changed = [name for name in unused if getattr(self, name) != fields[name].default]
        if changed:
            raise ValueError(f"engine {self.engine!r} makes no use of {', '.join(changed)}; leave it out")
        return self


_LOADING = ("quantization", "dtype", "gpu_memory_share", "adapter")  # keys of engines that load weights


class Facts(Section):
    """Facts that are read out of what was said."""

    relations: str = Field("bundled", description="'bundled', or the path of a relation file of your own.")
    answer: bool = Field(True, description="Whether `ask` answers from facts where they tell.")


class Curator(Section):
    """Conflicts, forgetting and sleep."""

    half_life: float = Field(90.0, gt=0, description="Days after which a statement weighs half against others' words.")
    tie: float = Field(1.25, ge=1, description="Ratio of scores below which both sides of a contradiction are kept.")
    slip: float = Field(1.0, ge=0, description="Days within which a correction may mean what was said just before.")
    initial_strength: float = Field(365.0, gt=0, description="S: days after which retention exp(-t/S) is 1/e.")
    gain: float = Field(1.0, ge=0, description="What each recall adds to S, in units of initial_strength.")
    floor: float = Field(0.05, ge=0, lt=1, description="Retention below which sleep archives; 0 forgets nothing.")
    promotion: float = Field(0.05, ge=0, le=1, description="Share of what is missing to importance 1 per recall.")
    profile_lines: int = Field(24, gt=0, description="Most lines of a user's profile.")
    profile_objects: int = Field(6, gt=0, description="Most objects that one line of it names.")


class Worker(Section):
    """Background jobs."""

    batch_size: int = Field(32, gt=0, description="Jobs worked on at once.")
    max_attempts: int = Field(3, gt=0, description="Failures after which a job is left as failed.")
    lease: float = Field(120.0, gt=0, description="Seconds without a sign of life before another worker may step in.")


class Controller(Section):
    """Layer 2: working memory, and the loop that decides when to look."""

    active_turns: int = Field(8, gt=0, description="K: the user's last written turns that stay in the active context.")
    recent_turns: int = Field(1, gt=0, description="Newest turns that stay in it whatever the gate decided.")
    summary_batch: int = Field(4, gt=0, description="Turns that go into the rolling summary at once.")
    turn_words: int = Field(120, gt=0, description="Longest passage of an earlier turn or a memory, in words.")
    prompt_tokens: int = Field(3072, gt=0, description="Most tokens of one prompt, template included.")
    reply_tokens: int = Field(512, gt=0, description="Most tokens of one reply.")
    summary_tokens: int = Field(192, gt=0, description="Most tokens of the rolling summary; words without an engine.")
    turn_tokens: int = Field(32_768, gt=0, description="Most tokens of all calls that answer one turn.")
    max_steps: int = Field(4, gt=0, description="Most actions before the answer is forced.")
    top_k: int = Field(6, gt=0, description="Memories that one retrieval brings.")
    threshold: float = Field(
        0.25, ge=0, le=1, description="Uncertainty of an engine's draft above which it retrieves; 0 always, 1 never."
    )
    embedded_threshold: float = Field(
        0.5,
        ge=0,
        le=1,
        description="The same without an engine, where it is 1 - the margin of the best turn in context.",
    )


class Config(Section):
    """A whole configuration."""

    device: str = Field("auto", description="'auto' (CUDA where there is one), 'cpu', 'cuda', 'cuda:1', …")
    store: Store = Store()
    limits: Limits = Limits()
    embedder: Embedder = Embedder()
    chunker: Chunker = Chunker()
    proxy: Proxy = Proxy()
    gate: Gate = Gate()
    index: Index = Index()
    score: Score = Score()
    retrieval: Retrieval = Retrieval()
    answer: Answer = Answer()
    llm: Llm = Llm()
    hierarchy: Hierarchy = Hierarchy()
    facts: Facts = Facts()
    curator: Curator = Curator()
    worker: Worker = Worker()
    controller: Controller = Controller()


SectionT = TypeVar("SectionT", bound=Section)


def load_config(source: str | Path | Mapping[str, Any] | None = None) -> Config:
    """Configuration from a TOML file, from a mapping of its sections, or the defaults.

    Raises `ConfigError` for a file that is missing or does not parse, an unknown key, or a bad value.
    """
    if source is None:
        return Config()
    if isinstance(source, Mapping):
        return _validated(Config, source, "the configuration")
    path = Path(source)
    try:
        return _validated(Config, tomllib.loads(path.read_text(encoding="utf-8")), str(path))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def override(section: SectionT, values: Mapping[str, Any]) -> SectionT:
    """The section with some keys changed, those of sections inside it too, checked as if read from a file."""
    merged = section.model_dump()
    for key, value in values.items():
        inner = isinstance(merged.get(key), dict) and isinstance(value, Mapping)
        merged[key] = {**merged[key], **value} if inner else value
    return _validated(type(section), merged, "the override")


def _validated(model: type[SectionT], values: Mapping[str, Any], where: str) -> SectionT:
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigError(f"{where}: {_explained(model, error)}") from error


def _explained(model: type[Section], error: ValidationError) -> str:
    """The first problem in words, with the nearest known key for an unknown one."""
    problem = error.errors()[0]
    *parents, key = (str(part) for part in problem["loc"])
    name = ".".join([*parents, key])
    if problem["type"] != "extra_forbidden":
        return f"{name}: {problem['msg']}, got {problem['input']!r}"
    known = _keys_at(model, parents)
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
    return f"unknown key {name!r}; did you mean {'.'.join([*parents, *close])!r}?"


def _keys_at(model: type[Section], parents: list[str]) -> list[str]:
    for parent in parents:
        inner = model.model_fields[parent].annotation
        assert isinstance(inner, type) and issubclass(inner, Section)
        model = inner
    return list(model.model_fields)


def default_toml() -> str:
    """`configs/default.toml`: every key with its default, under its description."""
    head = "# Every key with its default. Copy what you change into a file of your own: nscma … --config FILE\n\n"
    return head + "\n".join(_section_lines(Config(), ""))


def _section_lines(section: Section, name: str) -> list[str]:
    """Lines of a section: its keys first, then the sections inside it."""
    fields = type(section).model_fields
    inner = {key for key in fields if isinstance(getattr(section, key), Section)}
    lines = [f"# {(type(section).__doc__ or '').strip()}", f"[{name}]"] if name else []
    for key, field in fields.items():
        if key not in inner:
            lines += [f"# {field.description}", f"{key} = {_toml(getattr(section, key))}"]
    lines.append("")
    for key in fields:
        if key in inner:
            lines += _section_lines(getattr(section, key), f"{name}.{key}" if name else key)
    return lines


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)
