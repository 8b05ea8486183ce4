"""All configuration keys with defaults, limits, descriptions and units."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field, model_validator

from nscma_torch.core.config.language import LlmConfig
from nscma_torch.core.config.section import Section
from nscma_torch.core.config.strategies import (
    IterativeStrategyConfig,
    PruneAndGrowStrategyConfig,
    RerankStrategyConfig,
    TraversalStrategyConfig,
)
from nscma_torch.core.derived_kinds import DERIVED_KINDS, is_derived
from nscma_torch.core.records import UnitKind

FAISS_FACTORY = r"^(Flat|IVF([1-9][0-9]*)(,Flat)?|HNSW([2-9]|[1-9][0-9]+)(,Flat)?)$"


class StoreConfig(Section):
    """The database file."""

    busy_timeout: float = Field(30.0, gt=0, description="Seconds to wait for another process's write.")
    max_pages: int = Field(0, ge=0, description="Maximum size of the file in pages of 4096 bytes; 0 for no limit.")


class LimitsConfig(Section):
    """Size limits of inputs and of a single write."""

    max_message_bytes: int = Field(1_048_576, gt=0, description="Maximum size of a message in bytes of UTF-8.")
    max_question_characters: int = Field(
        16_384, gt=0, description="Maximum length of a question, search query or chat turn, in characters."
    )
    max_clock_skew: float = Field(
        300.0, ge=0, le=3.2e11, description="Seconds that a timestamp may be in the future; at most 10,000 years."
    )
    max_batch: int = Field(64, gt=0, description="Messages that add_many writes in one transaction.")


class EmbedderConfig(Section):
    """The embedding model."""

    model: str = Field(
        "all-MiniLM-L6-v2",
        description="'all-MiniLM-L6-v2' (bundled), 'hash' (no weights), or a sentence-transformers name or folder.",
    )
    batch_size: int = Field(16, gt=0, description="Texts in one forward pass.")
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Precision of the forward pass; 'auto' is bfloat16 if native on the device."
    )
    deferred: bool = Field(True, description="Embed messages that the gate defers, too.")


class ChunkerConfig(Section):
    """Splitting of long messages into units."""

    strategy: Literal["sentence", "fixed", "surprise"] = Field(
        "sentence",
        description="Where a chunk may end; 'surprise' also cuts at sentences the surprise model did not expect.",
    )
    max_tokens: int = Field(
        0,
        ge=0,
        description="Maximum tokens of a chunk, up to the embedder's maximum; 0 for that maximum. Structural Memory "
        "section 4.3: 1000.",
    )
    overlap_sentences: int = Field(0, ge=0, description="Sentences repeated at the start of the next chunk.")
    gamma: float = Field(
        1.0, description="gamma of 'surprise', mu + gamma*sigma, in standard deviations; EM-LLM eq. 1."
    )
    window: int = Field(32, gt=1, description="tau of 'surprise': number of preceding sentences for mu and sigma.")
    min_tokens: int = Field(64, gt=0, description="Minimum tokens of a chunk that 'surprise' ends at a peak.")


class SurpriseConfig(Section):
    """The language model whose surprise the gate weighs."""

    model: str = Field(
        "bundled",
        description="'bundled', a file of train/proxy/proxy_lm.py, or a causal language model's folder or Hub name.",
    )
    engine: Literal["own", "llm"] = Field(
        "own",
        description="'own' loads that model for surprise only; 'llm' uses the vLLM of [llm], which must run it.",
    )
    window: int = Field(1024, gt=0, multiple_of=64, description="Maximum context in tokens of a causal language model.")
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto",
        description="Precision of the forward pass; 'auto' is bfloat16 if native on the device (for the bundled "
        "surprise model, on GPUs only).",
    )
    quantization: Literal["none", "nf4"] = Field(
        "none", description="Quantization of a causal language model's weights; 'nf4' is 4 bits with bitsandbytes."
    )

    @model_validator(mode="after")
    def _is_loaded_once(self) -> Self:
        if self.engine == "llm" and self.model == "bundled":
            raise ValueError("engine 'llm' needs model, the folder or Hub name of the model that [llm] runs")
        if self.engine == "llm" and (self.dtype, self.quantization) != ("auto", "none"):
            raise ValueError("engine 'llm' loads no weights: dtype and quantization are those of [llm]; omit them")
        return self


class GateWeightsConfig(Section):
    """Weights of the terms of the gate's `composition` rule."""

    surprise: float = Field(0.2, description="Score per standard deviation of S, the mean surprise of the paper.")
    information: float = Field(0.2, description="Score per standard deviation of ln of the information in nats.")
    memory: float = Field(0.6, description="Score per standard deviation of ln of the nats that the memory lacks.")
    salience: float = Field(1.0, description="Score per unit of log-odds of the cue lexicon.")
    answer: float = Field(0.4, ge=0, description="Added to messages that follow a question.")
    learned: float = Field(0.3, description="Score per unit of log-odds of the salience head; needs embedder.deferred.")
    code: float = Field(2.5, ge=0, description="Subtracted, times the share of ids, hashes and base64.")
    repeat: float = Field(10.0, ge=0, description="Subtracted for a repetition.")
    restatement: float = Field(2.5, ge=0, description="Subtracted for a repetition in other words.")


class GateConfig(Section):
    """Selection of messages worth language-model work now; deferred messages stay searchable."""

    rule: Literal["composition", "paper", "information", "memory", "gradient", "salience", "everything"] = Field(
        "composition",
        description="'paper' is S > mu + lambda*sigma; 'gradient' uses Titans' surprise for S; 'everything': no gate.",
    )
    lam: float = Field(0.0, description="lambda of 'paper', 'information', 'memory' and 'gradient'.")
    window: int = Field(64, gt=0, description="N: previous inputs of one stream and script for mu and sigma.")
    warmup: int = Field(8, gt=0, description="Inputs that 'paper' and similar rules always write at first.")
    prior: int = Field(32, gt=0, description="Weight of the prior of 'composition', in inputs.")
    threshold: float = Field(-0.2, description="Score above which 'composition' writes.")
    salience_threshold: float = Field(0.5, description="Salience above which 'salience' writes, in [0, 1].")
    low: float = Field(-1.0, description="Lower clamp of a term, in standard deviations.")
    high: float = Field(2.5, description="Upper clamp of a term, in standard deviations.")
    near: float = Field(
        0.65, ge=0.6, description="Minimum cosine of a restatement to an earlier message; needs embedder.deferred."
    )
    news: float = Field(
        0.5, ge=0, description="Number of words missing from all near messages above which a message is no restatement."
    )
    weights: GateWeightsConfig = GateWeightsConfig()

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low is {self.low:g}; it must be at most high, {self.high:g}")
        return self


class IndexConfig(Section):
    """The vector index."""

    backend: Literal["torch", "faiss"] = Field("torch", description="Exact tensors on the device, or faiss candidates.")
    dtype: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="Precision of the vectors in memory; bfloat16 halves it, and cosines are off by up to 0.004.",
    )
    max_bytes: int = Field(
        3_221_225_472,
        gt=0,
        description="Maximum bytes on the device of all users' indexes; the least recently used are dropped, and "
        "reloaded on the next search. 3 GiB hold about a million units of 384 numbers in float32, and "
        "leave most of a 24 GB card to the models.",
    )
    database_from: int = Field(
        500_000,
        ge=0,
        description="Number of units from which a user's vectors stay in PostgreSQL and are searched there; 0 for "
        "never. Has no effect on files, nor with score.scaling 'min-max', which needs all vectors.",
    )
    faiss_factory: str = Field(
        "Flat",
        pattern=FAISS_FACTORY,
        description="'Flat', 'IVF' with its number of lists ('IVF256'), or 'HNSW' with its number of links ('HNSW32').",
    )
    faiss_nprobe: int = Field(16, gt=0, description="Lists that an IVF search visits.")
    faiss_ef_search: int = Field(128, gt=0, description="Candidates kept during an HNSW search.")


class ScoreConfig(Section):
    """Episodic score (NSCMA section 3.4.1): alpha*sim + beta*exp(-lambda*(now - t)) + gamma*importance."""

    similarity: Literal["contextual", "cosine"] = Field(
        "contextual",
        description="sim(q, d): the cosine of the question without speakers' names to a unit's vector blended with "
        "its neighbours', or plain cos(q, d), as in the paper.",
    )
    alpha: float = Field(1.0, ge=0, description="Weight of the similarity.")
    beta: float = Field(0.0, ge=0, description="Weight of the recency.")
    gamma: float = Field(0.0, ge=0, description="Weight of the importance, which is in [0, 1].")
    importance: Literal["cues", "model"] = Field(
        "cues",
        description="Source of the importance: 'cues', the salience seen by the gate, or 'model', the language "
        "tasks' rating from 1 to 10 when a message is first processed (Generative Agents).",
    )
    half_life: float = Field(30.0, gt=0, description="Days after which recency is one half; lambda = ln 2 / half_life.")
    recency_since: Literal["said", "recalled"] = Field(
        "said",
        description="Start of recency: when a message was said, or when a search or a question last found it, if "
        "later (Generative Agents); then each of these records its time.",
    )
    scaling: Literal["none", "min-max"] = Field(
        "none",
        description="'min-max' scales each of the three parts to [0, 1] over the units that a search may find, "
        "before weighting (Generative Agents); a constant part counts 0.5.",
    )

    @property
    def decay(self) -> float:
        """lambda, per day."""
        return math.log(2) / self.half_life


class RetrievalConfig(Section):
    """Lanes and their fusion."""

    lanes: tuple[Literal["lexical", "vector"], ...] = Field(
        ("lexical", "vector"), min_length=1, description="Lanes that a search uses."
    )
    fusion: Literal["relative", "rrf", "sum"] = Field(
        "relative",
        description="Mean of scores relative to each lane's best, reciprocal rank fusion with c = 60, or the plain "
        "sum: for the vector lane alone, Score(d) of [score].",
    )
    strategy: Literal[
        "auto",
        "single-step",
        "links",
        "rerank",
        "iterative",
        "traversal",
        "global",
        "prune-and-grow",
        "graph",
        "hyde",
        "self-questioning",
    ] = Field("auto", description="How a search continues from its first results; auto chooses by the question.")
    floor: float = Field(
        0.4,
        ge=-1,
        le=2,
        description="Answerability of a search below which the memory proxy, MCP's recall and the hooks show a model"
        " nothing; -1 for no floor. docs/proxy.md has measurements.",
    )
    kinds: tuple[UnitKind, ...] = Field(("chunk",), min_length=1, description="Kinds of units searched by default.")
    top_k: int = Field(10, gt=0, description="K: default number of hits of a search or a question.")
    reranker: str = Field(
        "",
        description="Model of the rerank strategy: 'reader', or a cross-encoder's name or folder; empty for the "
        "language tasks.",
    )
    answering: Literal["memory-only", "memory-doc"] = Field(
        "memory-only", description="Source of ask's answers: the units found, or the messages behind them."
    )
    settle_seconds: float = Field(
        2.0,
        ge=0,
        description="Seconds for which ask first processes the user's latest messages; 0: only `flush` processes "
        "messages.",
    )
    candidates: int = Field(256, gt=0, description="Units that the vector lane proposes.")
    speaker_boost: float = Field(
        0.5, ge=0, description="Added to the factor 1 of units said by people named in the question."
    )
    k1: float = Field(1.2, gt=0, description="BM25: saturation of the term frequency.")
    b: float = Field(0.75, ge=0, le=1, description="BM25: influence of the length.")
    hops: tuple[float, ...] = Field((0.5, 0.3, 0.15), description="BM25: weight of a term 1, 2, … turns away.")
    reach: float = Field(
        40.0, gt=0, description="BM25: number of terms above which a unit lends less to its neighbours."
    )
    nodes: Literal["hybrid", "cosine"] = Field(
        "hybrid",
        description="Score of chunks and summaries in traversal, global and prune-and-grow: the search score, or the"
        " cosine of question and node alone, as in CAM section 4.2.",
    )
    rerank: RerankStrategyConfig = RerankStrategyConfig()
    iterative: IterativeStrategyConfig = IterativeStrategyConfig()
    traversal: TraversalStrategyConfig = TraversalStrategyConfig()
    prune_and_grow: PruneAndGrowStrategyConfig = PruneAndGrowStrategyConfig()


class AnswerConfig(Section):
    """The embedded answerer."""

    min_answerability: float = Field(
        0.72, description="Answerability, in [-1, 2], below which the answer is that it doesn't know."
    )
    passages: int = Field(3, gt=0, description="Maximum passages in an answer.")
    cutoff: float = Field(
        0.6, ge=0, le=1, description="Score, relative to the best passage, below which a passage is not shown."
    )
    words: int = Field(60, gt=0, description="Maximum words of a passage; a shorter message is shown whole.")


class ReadingConfig(Section):
    """The trained reader, which gives short answers if no language model is configured."""

    model: str = Field(
        "bundled",
        min_length=1,
        description="'bundled', 'none', or a result of train/reader: a file of weights, or a folder on another "
        "encoder.",
    )
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Precision of the forward pass; 'auto' is bfloat16 if native on the device."
    )
    passages: int = Field(10, gt=0, description="Passages read for an answer.")
    sure: float = Field(
        0.82, ge=0, le=1, description="Confidence from which an answer is given; below, it is marked as unsure."
    )
    unsure: float = Field(0.76, ge=0, le=1, description="Confidence below which there is no answer.")
    hops: int = Field(
        1,
        ge=1,
        le=3,
        description="Maximum readings of a question; an unsure answer is added to the next search.",
    )
    as_good: float = Field(
        0.1, ge=0, le=1, description="Share, relative to the best span, from which a later span replaces it."
    )
    instead_of_model: float = Field(
        1.0,
        ge=0,
        le=1,
        description="Confidence from which the reader's answer, or its reading of a message, replaces a configured "
        "language model's; 1: the model does everything.",
    )
    facts: str = Field(
        "bundled",
        min_length=1,
        description="Reader of facts in English: 'bundled', 'none', or a folder with facts.safetensors and "
        "proposer.safetensors from train/reader. Chinese is read by the forms of the relation file.",
    )
    member: float = Field(
        0.1, ge=0, le=1, description="Share, relative to the best span, from which a span belongs to a list."
    )


class HierarchyConfig(Section):
    """CAM, the hierarchy of overlapping clusters and their summaries."""

    enabled: bool = Field(True, description="Add extracted messages to the hierarchy; rebuild does so later.")
    batch_size: int = Field(1024, gt=0, description="Maximum messages integrated at once.")
    neighbours: int = Field(4, gt=0, description="k: edges of a new chunk (CAM equation 2).")
    alpha: float = Field(
        0.8, ge=0, le=1, description="Weight of the cosine; 1 - alpha is the weight of the distance in a stream."
    )
    sigma: float = Field(2.0, gt=0, description="Width of the positional term, in chunks.")
    gamma: float = Field(0.2, ge=0, le=1, description="Score above which two chunks are joined.")
    links: int = Field(12, gt=0, description="Edges of a cluster on the levels above.")
    overlapping: bool = Field(True, description="Ego-splitting: a chunk may belong to several clusters.")
    propagation: Literal["weighted", "majority"] = Field(
        "weighted",
        description="The label that a node takes: the heaviest among its neighbours, or the most frequent, as in CAM"
        " section 4.1.",
    )
    propagation_rounds: int = Field(
        0, ge=0, description="Maximum rounds of label propagation; 0 to run until no label changes."
    )
    max_levels: int = Field(8, ge=0, description="Maximum levels of clusters; 0 keeps only the network of chunks.")
    min_members: int = Field(3, gt=1, description="Members below which a cluster gets no summary.")
    max_members: int = Field(24, gt=2, description="Members above which a cluster is split.")
    summary_words: int = Field(100, gt=0, description="Maximum words of a summary.")


class FactsConfig(Section):
    """Facts extracted from messages."""

    relations: str = Field("bundled", description="'bundled', or the path of your own relation file.")
    answer: bool = Field(True, description="Let `ask` answer from facts if it can.")
    predicates: Literal["schema", "open"] = Field(
        "schema",
        description="'open' leaves triples unbound to the file's relations, as in Structural Memory section 3.1: a "
        "new value then doesn't end an old one, and questions are answered from passages.",
    )
    context: Literal["turns", "summary"] = Field(
        "turns",
        description="What a message is read with: the turns before it, for the trained reader; or with 'summary' "
        "also a running summary of its conversation, for a language model (mem0).",
    )
    context_messages: int = Field(
        10,
        gt=0,
        description="m: preceding messages that a language model sees with that summary, which is renewed after as "
        "many.",
    )
    units: tuple[Literal["triple", "atomic_fact", "summary", "document_summary"], ...] = Field(
        (),
        description="Kinds of searchable units made from messages; they make up most of a store. 'summary' is one of"
        " each single message, besides those of the hierarchy; 'document_summary', made at sleep, is one"
        " of each session and of each added document (Structural Memory section 3.1).",
    )


class CuratorConfig(Section):
    """Conflicts, forgetting and sleep."""

    rule: Literal["timeline", "score", "model"] = Field(
        "timeline",
        description="Rule for conflicts: 'timeline' lets a speaker's later statement end their earlier one, and "
        "weighs several speakers by 'score', which as a rule of its own decides everything (NSCMA "
        "section 3.5); 'model' has the language tasks choose ADD, UPDATE, DELETE or NOOP for each "
        "statement (mem0).",
    )
    similar: int = Field(
        10, gt=0, le=32, description="s: number of most similar facts a model compares with a new statement (mem0)."
    )
    compared: Literal["similar", "graph"] = Field(
        "similar",
        description="Facts to choose these from: all, or with 'graph' the edges at the statement's two entities in "
        "the fact graph (mem0^g).",
    )
    opposites: Literal["relations", "model"] = Field(
        "relations",
        description="What ends facts of other relations: 'relations', the opposites in the relation file (likes, "
        "dislikes), or also 'model', the language tasks, if they find that a newer statement contradicts"
        " one.",
    )
    change: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Probability of a change, by the trained reader, from which a statement contradicts a fact.",
    )
    conflict_set: Literal["cardinality", "relation"] = Field(
        "cardinality",
        description="Facts of one subject and relation that exclude each other: those of relations with one object "
        "at a time, or with 'relation' those of every relation (the conflict set of NSCMA section 3.5).",
    )
    half_life: float = Field(
        90.0, gt=0, description="Days after which a statement has half its weight against other speakers' statements."
    )
    decision_ratio: float = Field(
        1.25, ge=1, description="Ratio of scores below which both sides of a contradiction are kept."
    )
    correction_window: float = Field(
        1.0, ge=0, description="Days within which a correction may refer to the previous statement."
    )
    initial_strength: float = Field(365.0, gt=0, description="S: days after which retention exp(-t/S) is 1/e.")
    gain: float = Field(1.0, ge=0, description="Added to S by each recall, in units of initial_strength.")
    recall: Literal["strengthen", "restart"] = Field(
        "strengthen",
        description="Effect of a recall, by a search or a question, on retention: it raises S, and with 'restart' "
        "also resets t (MemoryBank: S + 1 and t = 0, with initial_strength = 1 and gain = 1).",
    )
    forgetting: Literal["floor", "chance"] = Field(
        "floor",
        description="What sleep archives: memories with a retention below `floor`, or below a number drawn for each "
        "memory from [0, 1), so that it survives with the probability of its retention (MemoryBank).",
    )
    floor: float = Field(0.05, ge=0, lt=1, description="Retention below which sleep archives; 0 forgets nothing.")
    seed: int = Field(0, description="Seed of the drawn numbers; the same seed forgets the same memories.")
    promotion: float = Field(0.05, ge=0, le=1, description="Share of the gap to importance 1 that each recall closes.")
    profile_lines: int = Field(24, gt=0, description="Maximum lines of a user's profile.")
    profile_objects: int = Field(6, gt=0, description="Maximum objects named in one line of it.")

    @property
    def restarts(self) -> bool:
        """True if a recall resets t."""
        return self.recall == "restart"

    @property
    def asks_model(self) -> bool:
        """True if the language tasks are asked about each new statement."""
        return self.rule == "model" or self.opposites == "model"


class InsightsConfig(Section):
    """Insights about a user, drawn by sleep from clusters of similar messages."""

    enabled: bool = Field(False, description="Let sleep derive insights; this costs a model call per cluster.")
    days: float = Field(7.0, ge=0, description="Days after which a sleep derives them again.")
    neighbours: int = Field(6, gt=0, description="Edges of a message to the most similar ones.")
    gamma: float = Field(0.4, ge=0, le=1, description="Cosine above which two messages are joined.")
    min_messages: int = Field(4, gt=1, description="Minimum messages of a cluster.")
    most: int = Field(24, gt=0, description="Maximum insights about a person; those of the largest clusters.")


class DailyConfig(Section):
    """Summaries of each day and of all days, and a portrait of each person; a day is processed once it is over."""

    summaries: bool = Field(
        False,
        description="Let sleep summarize each day, and all days together; this costs a model call per day. The "
        "controller shows the lines over all days in every prompt. A reply counts as written from the "
        "messages behind the lines it cites by number, and is deleted with these; if it cites none, from"
        " those behind the lines that share a word with it that neither the user's turn nor the context "
        "has.",
    )
    portrait: bool = Field(
        False,
        description="Let sleep note what each day shows of a person's personality, and portray the person over all "
        "days; this costs a model call per person and day.",
    )
    words: int = Field(100, gt=0, description="Maximum words of a daily summary.")
    global_words: int = Field(200, gt=0, description="Maximum words of the summary of all days, and of a portrait.")


class ReflectionConfig(Section):
    """Reflections: conclusions from recent memories and earlier reflections, on questions that these raise."""

    enabled: bool = Field(False, description="Let sleep reflect; this costs 1 + questions model calls each time.")
    threshold: float = Field(
        150.0,
        gt=0,
        description="Sum of the importance, from 1 to 10, of new messages above which sleep reflects on them.",
    )
    recent: int = Field(
        100, gt=0, description="Number of most recent memories, including reflections, used to raise questions."
    )
    questions: int = Field(3, gt=0, le=10, description="Maximum questions per reflection, the most salient.")
    memories: int = Field(30, gt=0, description="Memories retrieved for each question.")
    insights: int = Field(5, gt=0, le=10, description="Maximum reflections on one question.")


class QuestionPairsConfig(Section):
    """Question-answer pairs that sleep mines from conversations; a pair is kept if the memory can answer it."""

    enabled: bool = Field(
        False, description="Let sleep mine pairs; this costs a reading per question, or a model call per sitting."
    )
    sure: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Minimum confidence of the reader in the answer read back.",
    )
    similar: float = Field(
        0.9,
        ge=0,
        le=1,
        description="Cosine with an earlier pair from which one is dropped, while the earlier exists.",
    )
    most: int = Field(32, gt=0, description="Maximum pairs of one sitting, the surest.")


class RecordsConfig(Section):
    """A structured record of each processed message: type, entities, sentiment and resolution."""

    enabled: bool = Field(
        False,
        description="Make records; use reextract for earlier messages. Without a language model this needs the extra"
        " `records`.",
    )


class WorkerConfig(Section):
    """Background jobs."""

    batch_size: int = Field(32, gt=0, description="Jobs processed at once.")
    max_attempts: int = Field(3, gt=0, description="Failures after which a job stays failed.")
    lease: float = Field(
        120.0, gt=0, description="Seconds without a heartbeat after which another worker may take over."
    )
    users: int = Field(
        64,
        gt=0,
        description="Maximum users that one of several background workers processes at once; a lone worker takes all.",
    )
    poll: float = Field(0.5, gt=0, description="Seconds between two checks of an empty queue.")
    sleep_interval: float = Field(
        3600.0, ge=0, description="Seconds between two sleeps of the background worker; 0: never."
    )
    integration: Literal["whole", "everything"] = Field(
        "whole",
        description="What its sleep adds to the hierarchy: 'whole' batches of hierarchy.batch_size, so that the "
        "result doesn't depend on when it sleeps; or 'everything', so that nothing waits.",
    )
    backoff: float = Field(
        1.0,
        gt=0,
        description="Seconds that the background worker waits after a failure, doubled after each further one.",
    )
    max_backoff: float = Field(300.0, gt=0, description="Maximum seconds of such a wait.")


class ServerConfig(Section):
    """The server (`nscma serve`): limits and access."""

    threads: int = Field(
        8, gt=0, le=12, description="Maximum concurrent calls of the memory; a store serves 15 readers."
    )
    waiting: int = Field(128, ge=0, description="Maximum calls waiting for a thread; one more gets a 503.")
    rate: float = Field(50.0, gt=0, description="Average requests per second of one token; one more gets a 429.")
    burst: int = Field(200, gt=0, description="Requests of one token that may arrive at once before the rate applies.")
    per_token: int = Field(64, gt=0, description="Maximum concurrent requests of one token.")
    connections: int = Field(1024, gt=0, description="Maximum open connections; one more gets a 503.")
    max_body: int = Field(
        8_388_608, gt=0, description="Maximum body size in bytes; streams of lines have no such limit."
    )
    max_upload: int = Field(4_294_967_296, gt=0, description="Maximum size in bytes of an imported export.")
    patience: float = Field(
        30.0,
        gt=0,
        description="Seconds without a byte, in or out, after which a slow client is disconnected; also the limit "
        "for a body.",
    )
    shutdown: float = Field(30.0, gt=0, description="Seconds that running requests have to end at shutdown.")
    hosts: tuple[str, ...] = Field(
        (),
        description="Names accepted in the Host header besides this machine's own; empty accepts any if the server "
        "listens beyond the loopback.",
    )
    origins: tuple[str, ...] = Field(
        (), description="Origins of other sites whose pages may use the server (CORS), such as 'https://example.org'."
    )


class UpstreamConfig(Section):
    """The memory proxy in front of a model's server (`nscma serve --upstream`)."""

    tokens: int = Field(
        1024, gt=0, description="Maximum tokens, by the embedder's count, of the block of recalled memories."
    )
    passages: int = Field(6, gt=0, description="Maximum passages in it.")
    facts: int = Field(12, ge=0, description="Maximum facts in it.")
    deadline: float = Field(2.0, gt=0, description="Maximum seconds of recall; then the request proceeds without it.")
    commit: float = Field(
        10.0,
        gt=0,
        description="Seconds that the end of an answer waits until its exchange is on disk; then it is sent with a "
        "note that it isn't.",
    )
    exchanges: int = Field(
        2048,
        gt=0,
        description="Number of exchanges whose block is cached for their tool-calling turns; also the maximum "
        "waiting to be stored.",
    )
    connect: float = Field(10.0, gt=0, description="Seconds to reach the model's server.")
    silence: float = Field(600.0, gt=0, description="Maximum seconds without data from it.")


class ControllerConfig(Section):
    """Layer 2: working memory, and the loop that decides when to retrieve."""

    active_turns: int = Field(8, gt=0, description="K: number of the user's last written turns in the active context.")
    recent_turns: int = Field(
        1, ge=0, description="Newest turns that stay in it whatever the gate's decision; 0 for none, as in NSCMA 3.3."
    )
    summary_batch: int = Field(
        4,
        gt=0,
        description="Turns added to the rolling summary at once; until then one fewer than this stay besides the K; "
        "1 for K at most, as in NSCMA 3.3.",
    )
    turn_words: int = Field(120, gt=0, description="Maximum words shown of an earlier turn or a memory.")
    prompt_tokens: int = Field(3072, gt=0, description="Maximum tokens of one prompt, template included.")
    reply_tokens: int = Field(512, gt=0, description="Maximum tokens of one reply; llm.max_tokens may be less.")
    summary_tokens: int = Field(
        192, gt=0, description="Maximum tokens of the rolling summary; words without an engine."
    )
    turn_tokens: int = Field(32_768, gt=0, description="Maximum tokens of all calls for one turn.")
    max_steps: int = Field(4, gt=0, description="Maximum actions before the answer is forced.")
    top_k: int = Field(6, gt=0, description="Memories returned by one retrieval.")
    threshold: float = Field(
        0.25,
        ge=0,
        le=1,
        description="Uncertainty of an engine's draft above which it retrieves; 0 always, 1 never. It depends on the"
        " model: `python -m eval.experiments.retrieval.controller_calls --calibrate`.",
    )
    embedded_threshold: float = Field(
        0.5,
        ge=0,
        le=1,
        description="The same without an engine, where uncertainty is 1 - the margin of the best turn in context.",
    )
    skills: int = Field(0, ge=0, description="Maximum skills in an engine's prompt, the most relevant to the turn.")
    least_alike: float = Field(0.35, ge=0, le=1, description="Minimum cosine of a skill with the turn.")
    write_skills: bool = Field(
        False, description="Have the engine write a skill after positive feedback on a reply; one call each."
    )
    note_tokens: int = Field(
        0, ge=0, description="Maximum tokens of an engine's own notes shown again in a prompt; 0: no notes."
    )
    keep_notes: bool = Field(
        False, description="Keep notes with the reply, for the next turn; otherwise they end with the turn's trace."
    )


class Config(Section):
    """A complete configuration."""

    device: str = Field("auto", description="'auto' (CUDA if available), 'cpu', 'cuda', 'cuda:1', …")
    store: StoreConfig = StoreConfig()
    limits: LimitsConfig = LimitsConfig()
    embedder: EmbedderConfig = EmbedderConfig()
    chunker: ChunkerConfig = ChunkerConfig()
    surprise: SurpriseConfig = SurpriseConfig()
    gate: GateConfig = GateConfig()
    index: IndexConfig = IndexConfig()
    score: ScoreConfig = ScoreConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    answer: AnswerConfig = AnswerConfig()
    reading: ReadingConfig = ReadingConfig()
    llm: LlmConfig = LlmConfig()
    hierarchy: HierarchyConfig = HierarchyConfig()
    facts: FactsConfig = FactsConfig()
    curator: CuratorConfig = CuratorConfig()
    insights: InsightsConfig = InsightsConfig()
    daily: DailyConfig = DailyConfig()
    reflection: ReflectionConfig = ReflectionConfig()
    question_pairs: QuestionPairsConfig = QuestionPairsConfig()
    records: RecordsConfig = RecordsConfig()
    worker: WorkerConfig = WorkerConfig()
    server: ServerConfig = ServerConfig()
    upstream: UpstreamConfig = UpstreamConfig()
    controller: ControllerConfig = ControllerConfig()

    def enables(self, name: str) -> bool:
        """Return True if there is a section of this name and it is enabled."""
        return getattr(getattr(self, name, None), "enabled", False) is True

    def unmade(self, kinds: Iterable[str]) -> list[str]:
        """Return the unit kinds that are never made because facts.units omits them."""
        made = ("triple", "atomic_fact", "document_summary")
        return [kind for kind in kinds if kind in made and kind not in self.facts.units]

    @model_validator(mode="after")
    def _kinds_are_made(self) -> Self:
        for kind in self.unmade(self.retrieval.kinds):
            raise ValueError(f"retrieval.kinds names {kind!r}, which is disabled: add it to facts.units")
        for kind in self.retrieval.kinds:
            if kind in DERIVED_KINDS and not is_derived(self, kind):
                key = DERIVED_KINDS[kind]
                raise ValueError(f"retrieval.kinds names {kind!r}, which is disabled: set {key} to true")
        return self

    @model_validator(mode="after")
    def _scores_are_searched_exactly(self) -> Self:
        if self.index.backend == "faiss" and (self.score.scaling, self.score.recency_since) != ("none", "said"):
            raise ValueError(
                "score.scaling 'min-max' and score.recency_since 'recalled' change all units' scores with every "
                "question, which faiss cannot support: set index.backend to 'torch'"
            )
        return self

    @model_validator(mode="after")
    def _gradients_have_vectors(self) -> Self:
        if self.gate.rule == "gradient" and not self.embedder.deferred:
            raise ValueError("gate.rule 'gradient' reads the vector of every message: set embedder.deferred to true")
        return self

    @model_validator(mode="after")
    def _surprise_is_served(self) -> Self:
        if self.surprise.engine == "own":
            return self
        if self.llm.engine not in ("http", "vllm") or self.llm.server != "vllm":
            raise ValueError(
                "surprise.engine 'llm' needs vLLM's token probabilities: set llm.engine to 'vllm', or to "
                "'http' with llm.server 'vllm', or surprise.engine to 'own'"
            )
        if self.llm.engine == "vllm" and self.llm.model != self.surprise.model:
            raise ValueError(
                f"surprise.engine 'llm' needs one model, but surprise.model is {self.surprise.model!r} and llm.model "
                f"{self.llm.model!r}"
            )
        return self
