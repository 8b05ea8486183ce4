"""All configuration keys with defaults, limits, descriptions and units."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field, model_validator

from nscma_torch.core.config.language import LlmConfig
from nscma_torch.core.config.safety import RedactionConfig, RetentionConfig
from nscma_torch.core.config.section import Section
from nscma_torch.core.config.strategies import (
    IterativeStrategyConfig,
    PruneAndGrowStrategyConfig,
    RerankStrategyConfig,
    TraversalStrategyConfig,
)
from nscma_torch.core.config.telemetry import TelemetryConfig
from nscma_torch.core.derived_kinds import DERIVED_KINDS, is_derived
from nscma_torch.core.records import UnitKind

FAISS_FACTORY = r"^(Flat|IVF([1-9][0-9]*)(,Flat)?|HNSW([2-9]|[1-9][0-9]+)(,Flat)?)$"


class StoreConfig(Section):
    """The database file."""

    busy_timeout: float = Field(30.0, gt=0, description="Seconds to wait while another process is writing.")
    max_pages: int = Field(0, ge=0, description="Maximum file size in pages of 4096 bytes; 0 for no limit.")


class LimitsConfig(Section):
    """Size limits for inputs and for a single write."""

    max_message_bytes: int = Field(1_048_576, gt=0, description="Maximum size of a message in UTF-8 bytes.")
    max_question_characters: int = Field(
        16_384, gt=0, description="Maximum length of a question, search query or chat turn, in characters."
    )
    max_clock_skew: float = Field(
        300.0,
        ge=0,
        le=3.2e11,
        description="Maximum number of seconds by which a timestamp may be in the future; at most 10,000 years.",
    )
    max_batch: int = Field(64, gt=0, description="Number of messages that `add_many` writes in one transaction.")
    max_user_messages: int = Field(0, ge=0, description="Maximum number of a user's stored messages; 0 for no limit.")
    max_user_bytes: int = Field(
        0, ge=0, description="Maximum size of a user's stored messages in UTF-8 bytes of text; 0 for no limit."
    )


class EmbedderConfig(Section):
    """The embedding model."""

    model: str = Field(
        "all-MiniLM-L6-v2",
        description="'all-MiniLM-L6-v2' (bundled), 'hash' (no weights), or the name or folder of a "
        "sentence-transformers model.",
    )
    batch_size: int = Field(16, gt=0, description="Number of texts per forward pass.")
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Precision of the forward pass; 'auto' is bfloat16 if native on the device."
    )
    questions: Literal["plain", "trained"] = Field(
        "plain",
        description="Encoder of a hybrid search's questions if `model` is all-MiniLM-L6-v2: 'plain' is the published "
        "model; 'trained' adds updates learned on labelled questions about conversations, which find more of the "
        "evidence. Stored vectors are the same.",
    )
    deferred: bool = Field(True, description="Also embed messages that the gate defers.")


class ChunkerConfig(Section):
    """Splitting of long messages into units."""

    strategy: Literal["sentence", "fixed", "surprise"] = Field(
        "sentence",
        description="Where a chunk may end; 'surprise' also starts a new chunk at sentences that surprise the "
        "surprise model.",
    )
    max_tokens: int = Field(
        0,
        ge=0,
        description="Maximum tokens in a chunk, up to the embedder's maximum; 0 uses the embedder's maximum. "
        "Structural Memory section 4.3 uses 1000.",
    )
    overlap_sentences: int = Field(0, ge=0, description="Number of sentences repeated at the start of the next chunk.")
    gamma: float = Field(
        1.0,
        description="gamma in the threshold of 'surprise', mu + gamma*sigma: standard deviations above the mean "
        "(EM-LLM eq. 1).",
    )
    window: int = Field(32, gt=1, description="tau of 'surprise': number of preceding sentences for mu and sigma.")
    min_tokens: int = Field(64, gt=0, description="Minimum tokens in a chunk before 'surprise' may end it at a peak.")


class SurpriseConfig(Section):
    """The language model that measures surprise for the gate."""

    model: str = Field(
        "bundled",
        description="'bundled', a file written by train/proxy/proxy_lm.py, or the folder or Hub name of a causal "
        "language model.",
    )
    engine: Literal["own", "llm"] = Field(
        "own",
        description="'own' loads the model for surprise only; 'llm' uses the vLLM engine of [llm], which must run "
        "the same model.",
    )
    window: int = Field(
        1024, gt=0, multiple_of=64, description="Maximum context of a causal language model, in tokens."
    )
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto",
        description="Precision of the forward pass; 'auto' is bfloat16 if native on the device (for the bundled "
        "surprise model, on GPUs only).",
    )
    quantization: Literal["none", "nf4"] = Field(
        "none",
        description="Quantization of a causal language model's weights; 'nf4' quantizes to 4 bits with bitsandbytes.",
    )

    @model_validator(mode="after")
    def _is_loaded_once(self) -> Self:
        if self.engine == "llm" and self.model == "bundled":
            raise ValueError("engine 'llm' needs model, the folder or Hub name of the model that [llm] runs")
        if self.engine == "llm" and (self.dtype, self.quantization) != ("auto", "none"):
            raise ValueError(
                "engine 'llm' loads no weights and uses dtype and quantization from [llm]; remove these keys"
            )
        return self


class GateWeightsConfig(Section):
    """Weights of the terms in the gate's `composition` rule."""

    surprise: float = Field(0.2, description="Score per standard deviation of S, the mean surprise in the paper.")
    information: float = Field(
        0.2, description="Score per standard deviation of ln(information), with information in nats."
    )
    memory: float = Field(
        0.6,
        description="Score per standard deviation of ln(new information), where new information is the nats that "
        "aren't in memory yet.",
    )
    salience: float = Field(1.0, description="Score per unit of log-odds from the cue lexicon.")
    answer: float = Field(0.4, ge=0, description="Added to the score of a message that follows a question.")
    learned: float = Field(
        0.3, description="Score per unit of log-odds from the salience head; needs embedder.deferred."
    )
    code: float = Field(
        2.5, ge=0, description="Subtracted in proportion to the share of ids, hashes and base64 in the text."
    )
    repeat: float = Field(10.0, ge=0, description="Subtracted if the message repeats an earlier one.")
    restatement: float = Field(2.5, ge=0, description="Subtracted if the message paraphrases an earlier one.")


class GateConfig(Section):
    """Selection of the messages to process with the language model now; deferred messages stay searchable."""

    rule: Literal["composition", "paper", "information", "memory", "gradient", "salience", "everything"] = Field(
        "composition",
        description="'paper' writes if S > mu + lambda*sigma; 'gradient' uses Titans' surprise as S; 'everything' "
        "disables the gate.",
    )
    lam: float = Field(0.0, description="lambda in the rules 'paper', 'information', 'memory' and 'gradient'.")
    window: int = Field(
        64,
        gt=0,
        description="N: number of previous inputs in the same stream and script from which mu and sigma are computed.",
    )
    warmup: int = Field(8, gt=0, description="Number of first inputs that 'paper' and similar rules always write.")
    prior: int = Field(32, gt=0, description="Weight of the prior in 'composition', in inputs.")
    threshold: float = Field(-0.2, description="Score above which 'composition' writes.")
    salience_threshold: float = Field(0.5, description="Salience above which 'salience' writes, in [0, 1].")
    low: float = Field(-1.0, description="Lower bound for a term, in standard deviations.")
    high: float = Field(2.5, description="Upper bound for a term, in standard deviations.")
    near: float = Field(
        0.65,
        ge=0.6,
        description="Minimum cosine to an earlier message for a message to count as a restatement; "
        "needs embedder.deferred.",
    )
    news: float = Field(
        0.5,
        ge=0,
        description="A message with at least this many words found in no similar message is not a restatement.",
    )
    weights: GateWeightsConfig = GateWeightsConfig()

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low is {self.low:g}; it must be at most 'high', {self.high:g}")
        return self


class IndexConfig(Section):
    """The vector index."""

    backend: Literal["torch", "faiss"] = Field(
        "torch",
        description="'torch' searches exactly, with tensors on the "
        "device; 'faiss' searches for approximate candidates.",
    )
    dtype: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="Precision of the vectors in memory; 'bfloat16' halves the memory used, with errors in cosines "
        "of up to 0.004.",
    )
    max_bytes: int = Field(
        3_221_225_472,
        gt=0,
        description="Maximum bytes that all users' indexes take on the device; the least recently used are dropped, "
        "and reloaded by their next search. 3 GiB are enough for about a million units with 384 dimensions in "
        "float32, and leave most of a 24 GB card for the models.",
    )
    database_from: int = Field(
        500_000,
        ge=0,
        description="Number of units above which a user's vectors stay in PostgreSQL and are searched there; 0 never "
        "searches there. Has no effect on a SQLite store, or if score.scaling is 'min-max', which needs all vectors.",
    )
    faiss_factory: str = Field(
        "Flat",
        pattern=FAISS_FACTORY,
        description="'Flat', 'IVF' and the number of lists ('IVF256'), or 'HNSW' and the number of links ('HNSW32').",
    )
    faiss_nprobe: int = Field(16, gt=0, description="Number of lists that an IVF search visits.")
    faiss_ef_search: int = Field(128, gt=0, description="Number of candidates kept during an HNSW search.")


class ScoreConfig(Section):
    """Episodic score (NSCMA section 3.4.1): alpha*sim + beta*exp(-lambda*(now - t)) + gamma*importance."""

    similarity: Literal["contextual", "cosine"] = Field(
        "contextual",
        description="sim(q, d): 'contextual' is the cosine between the question, without speakers' names, and a "
        "unit's vector blended with those of its neighbours; 'cosine' is plain cos(q, d), as in the paper.",
    )
    alpha: float = Field(1.0, ge=0, description="Weight of similarity.")
    beta: float = Field(0.0, ge=0, description="Weight of recency.")
    gamma: float = Field(0.0, ge=0, description="Weight of importance, which is in [0, 1].")
    importance: Literal["cues", "model"] = Field(
        "cues",
        description="Where importance comes from: 'cues' uses the salience computed by the gate; 'model' uses a "
        "rating from 1 to 10 by the language model when a message is first processed (Generative Agents).",
    )
    half_life: float = Field(30.0, gt=0, description="Days after which recency is one half; lambda = ln 2 / half_life.")
    recency_since: Literal["said", "recalled"] = Field(
        "said",
        description="Time from which recency is computed: 'said' is when a message was said; 'recalled' is when a "
        "search or a question last found it, if later (Generative Agents), and makes each search and question record "
        "its time.",
    )
    scaling: Literal["none", "min-max"] = Field(
        "none",
        description="'min-max' scales each of the three terms to [0, 1] over the units that a search may find, "
        "before weighting (Generative Agents); a constant term becomes 0.5.",
    )

    @property
    def decay(self) -> float:
        """Return lambda per day."""
        return math.log(2) / self.half_life


class RetrievalConfig(Section):
    """Search lanes and the fusion of their results."""

    lanes: tuple[Literal["lexical", "vector"], ...] = Field(
        ("lexical", "vector"), min_length=1, description="Search lanes to use."
    )
    fusion: Literal["relative", "rrf", "sum"] = Field(
        "relative",
        description="How the lanes' scores are combined: mean of the scores divided by each lane's best, reciprocal "
        "rank fusion with c = 60, or plain sum. With the vector lane alone, the sum is Score(d) as in [score].",
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
    ] = Field(
        "auto",
        description="How a search continues from its first results; 'auto' chooses a strategy for each question.",
    )
    floor: float = Field(
        0.4,
        ge=-1,
        le=2,
        description="Minimum answerability of a search for the memory proxy, the MCP tool `recall` and the hooks to "
        "show its results to a model; -1 always shows them. See docs/proxy.md for measurements.",
    )
    kinds: tuple[UnitKind, ...] = Field(("chunk",), min_length=1, description="Kinds of units searched by default.")
    top_k: int = Field(10, gt=0, description="K: default number of hits of a search or a question.")
    reranker: str = Field(
        "",
        description="Model for the rerank strategy: 'reader', or the name or folder of a cross-encoder; empty uses "
        "the language model.",
    )
    answering: Literal["memory-only", "memory-doc"] = Field(
        "memory-only", description="What `ask` reads to answer: the units found, or the messages they come from."
    )
    settle_seconds: float = Field(
        2.0,
        ge=0,
        description="Maximum seconds that `ask` first spends on processing the user's latest messages; with 0, it "
        "leaves them to `flush`.",
    )
    candidates: int = Field(256, gt=0, description="Number of candidates from vector search.")
    speaker_boost: float = Field(
        0.5, ge=0, description="Added to the factor of 1 for units said by people named in the question."
    )
    k1: float = Field(1.2, gt=0, description="BM25: saturation of the term frequency.")
    b: float = Field(0.75, ge=0, le=1, description="BM25: influence of the length.")
    hops: tuple[float, ...] = Field(
        (0.5, 0.3, 0.15), description="BM25: weights of a term that occurs 1, 2, … turns away."
    )
    reach: float = Field(
        40.0, gt=0, description="BM25: number of terms above which a unit contributes less to its neighbours."
    )
    nodes: Literal["hybrid", "cosine"] = Field(
        "hybrid",
        description="Score for chunks and summaries in the strategies traversal, global and prune-and-grow: the "
        "search score, or only the cosine between question and node, as in CAM section 4.2.",
    )
    rerank: RerankStrategyConfig = RerankStrategyConfig()
    iterative: IterativeStrategyConfig = IterativeStrategyConfig()
    traversal: TraversalStrategyConfig = TraversalStrategyConfig()
    prune_and_grow: PruneAndGrowStrategyConfig = PruneAndGrowStrategyConfig()


class AnswerConfig(Section):
    """The embedded answerer."""

    min_answerability: float = Field(
        0.72, description="Minimum answerability, in [-1, 2]; below it, the answer is that it doesn't know."
    )
    passages: int = Field(3, gt=0, description="Maximum number of passages in an answer.")
    cutoff: float = Field(
        0.6, ge=0, le=1, description="Minimum score of a passage, relative to the best one, for it to be shown."
    )
    words: int = Field(60, gt=0, description="Maximum words in a passage; a shorter message is shown in full.")


class ReadingConfig(Section):
    """The trained reader, which gives short answers if no language model is configured."""

    model: str = Field(
        "bundled",
        min_length=1,
        description="'bundled', 'none', or a model trained with train/reader: a weights file, or a folder if it uses "
        "another encoder.",
    )
    dtype: Literal["auto", "float32", "bfloat16", "int8"] = Field(
        "auto",
        description="Precision of the forward pass; 'auto' is bfloat16 if native on the device, else int8 on a CPU "
        "with VNNI. Facts are read in float32 instead of int8.",
    )
    passages: int = Field(10, gt=0, description="Number of passages to read for an answer.")
    sure: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Minimum probability that a short answer is right; an answer below it is marked as unsure.",
    )
    answerable: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Minimum probability that the messages read contain an answer; below it, there is no answer.",
    )
    hops: int = Field(
        1,
        ge=1,
        le=3,
        description="Maximum times to read for a question; an unsure answer is added to the query for the next search.",
    )
    as_good: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Minimum score, as a fraction of the best span's, at which a later span replaces it.",
    )
    instead_of_model: float = Field(
        0.6,
        ge=0,
        le=1,
        description="Minimum probability of being right at which the reader's answer is used instead of the "
        "configured language model's; with 1, the model answers every question.",
    )
    facts: str = Field(
        "bundled",
        min_length=1,
        description="Model that extracts facts from English: 'bundled', 'none', or a folder with facts.safetensors "
        "and proposer.safetensors from train/reader. Chinese is read with the patterns in the relation file.",
    )
    member: float = Field(
        0.1, ge=0, le=1, description="Minimum score, as a fraction of the best span's, for a span to be part of a list."
    )


class HierarchyConfig(Section):
    """CAM, the hierarchy of overlapping clusters and their summaries."""

    enabled: bool = Field(
        True, description="Add extracted messages to the hierarchy; if false, only `rebuild` adds them."
    )
    batch_size: int = Field(1024, gt=0, description="Maximum number of messages integrated at once.")
    neighbours: int = Field(4, gt=0, description="k: number of edges added for a new chunk (CAM equation 2).")
    alpha: float = Field(
        0.8, ge=0, le=1, description="Weight of the cosine; 1 - alpha is the weight of the distance within a stream."
    )
    sigma: float = Field(2.0, gt=0, description="Standard deviation of the positional term, in chunks.")
    gamma: float = Field(0.2, ge=0, le=1, description="Minimum score to connect two chunks.")
    links: int = Field(12, gt=0, description="Number of edges added for a cluster on the higher levels.")
    overlapping: bool = Field(True, description="Use ego-splitting, so that a chunk may belong to several clusters.")
    propagation: Literal["weighted", "majority"] = Field(
        "weighted",
        description="Label that a node takes from its neighbours: the label with the largest total weight, or the "
        "most frequent label, as in CAM section 4.1.",
    )
    propagation_rounds: int = Field(
        0, ge=0, description="Maximum rounds of label propagation; 0 to run until no label changes."
    )
    max_levels: int = Field(8, ge=0, description="Maximum levels of clusters; 0 keeps only the network of chunks.")
    min_members: int = Field(3, gt=1, description="Minimum number of members for a cluster to get a summary.")
    max_members: int = Field(24, gt=2, description="Maximum number of members in a cluster; a larger one is split.")
    summary_words: int = Field(100, gt=0, description="Maximum words in a summary.")


class FactsConfig(Section):
    """Facts extracted from messages."""

    relations: str = Field("bundled", description="'bundled', or the path of your own relation file.")
    answer: bool = Field(True, description="Let `ask` answer from facts if it can.")
    instead_of_model: float = Field(
        1.0,
        ge=0,
        le=1,
        description="Minimum probability of every statement at which the networks' extraction from a message is used "
        "instead of the configured language model's; with 1, the model extracts from every message.",
    )
    predicates: Literal["schema", "open"] = Field(
        "schema",
        description="'open' doesn't restrict triples to the relations in the relation file, as in Structural Memory "
        "section 3.1: a new value then doesn't end an old one, and questions are answered from passages.",
    )
    context: Literal["turns", "summary"] = Field(
        "turns",
        description="Context for reading a message: 'turns' gives the trained reader the turns before it; 'summary' "
        "also gives a language model a running summary of the conversation (mem0).",
    )
    context_messages: int = Field(
        10,
        gt=0,
        description="m: number of preceding messages that a language model sees with that summary, and number of "
        "messages after which the summary is updated.",
    )
    units: tuple[Literal["triple", "atomic_fact", "summary", "document_summary"], ...] = Field(
        (),
        description="Kinds of searchable units made from messages; they take up most of a store. 'summary' makes a "
        "summary of each single message, in addition to those in the hierarchy; 'document_summary' makes one of each "
        "session and each added document during sleep (Structural Memory section 3.1).",
    )


class StandingConfig(Section):
    """Effects of later messages: what they end, void or ask to forget."""

    neighbours: int = Field(
        8,
        ge=0,
        le=64,
        description="Number of similar messages that each message is compared with, to find what it ends and what "
        "rests on what; 0 to leave that out.",
    )
    effect: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Minimum probability, according to the trained reader, that a message ends, voids or confirms "
        "another.",
    )
    forget_requests: bool = Field(
        True,
        description="Hide a message if a later one asks to forget it ('please forget what I said about …').",
    )


class CuratorConfig(Section):
    """Conflicts, forgetting and sleep."""

    rule: Literal["timeline", "score", "model"] = Field(
        "timeline",
        description="Rule for resolving conflicts: with 'timeline', a speaker's later statement ends the earlier "
        "one, and conflicts between speakers are decided by score; with 'score', all conflicts are (NSCMA section "
        "3.5); with 'model', the language model chooses ADD, UPDATE, DELETE or NOOP for each statement (mem0).",
    )
    similar: int = Field(
        10,
        gt=0,
        le=32,
        description="s: number of most similar facts that the model compares with a new statement (mem0).",
    )
    compared: Literal["similar", "graph"] = Field(
        "similar",
        description="Facts from which these are chosen: all facts, or with 'graph' only the edges at the statement's "
        "two entities in the fact graph (mem0^g).",
    )
    opposites: Literal["relations", "model"] = Field(
        "relations",
        description="What may end a fact with a different relation: with 'relations', a statement with the opposite "
        "relation in the relation file (likes, dislikes); with 'model', also a newer statement that contradicts it "
        "according to the language model.",
    )
    change: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Minimum probability of a change, according to the trained reader, for a statement to contradict "
        "a fact.",
    )
    conflict_set: Literal["cardinality", "relation"] = Field(
        "cardinality",
        description="Which facts with the same subject and relation exclude each other: those whose relation allows "
        "one object at a time, or with 'relation' those of any relation (the conflict set in NSCMA section 3.5).",
    )
    half_life: float = Field(
        90.0, gt=0, description="Days after which a statement counts half as much against other speakers' statements."
    )
    decision_ratio: float = Field(
        1.25, ge=1, description="Minimum ratio of scores to resolve a contradiction; below it, both sides are kept."
    )
    correction_window: float = Field(
        1.0, ge=0, description="Maximum days between a statement and a correction that refers to it."
    )
    initial_strength: float = Field(365.0, gt=0, description="S: days after which retention exp(-t/S) is 1/e.")
    gain: float = Field(1.0, ge=0, description="Added to S by each recall, in units of initial_strength.")
    recall: Literal["strengthen", "restart"] = Field(
        "strengthen",
        description="Effect on retention when a search or a question recalls a memory: S increases, and with "
        "'restart' t is also reset (MemoryBank: S + 1 and t = 0, with initial_strength = 1 and gain = 1).",
    )
    forgetting: Literal["floor", "chance"] = Field(
        "floor",
        description="Which memories sleep archives: those with retention below `floor`, or those with retention "
        "below a random number drawn for each memory from [0, 1), so that a memory survives with a probability equal "
        "to its retention (MemoryBank).",
    )
    floor: float = Field(
        0.05, ge=0, lt=1, description="Retention below which sleep archives a memory; 0 archives nothing."
    )
    seed: int = Field(0, description="Seed for the random numbers; the same seed archives the same memories.")
    promotion: float = Field(
        0.05, ge=0, le=1, description="Fraction by which each recall reduces the difference between importance and 1."
    )
    profile_lines: int = Field(24, gt=0, description="Maximum lines in a user's profile.")
    profile_objects: int = Field(6, gt=0, description="Maximum objects named in one line of the profile.")

    @property
    def restarts(self) -> bool:
        """Return True if a recall resets t."""
        return self.recall == "restart"

    @property
    def asks_model(self) -> bool:
        """Return True if the language model is asked about each new statement."""
        return self.rule == "model" or self.opposites == "model"


class InsightsConfig(Section):
    """Insights about a user, drawn by sleep from clusters of similar messages."""

    enabled: bool = Field(False, description="Derive insights during sleep; this costs a model call per cluster.")
    days: float = Field(7.0, ge=0, description="Days after which sleep derives insights again.")
    neighbours: int = Field(6, gt=0, description="Number of most similar messages to which each message is connected.")
    gamma: float = Field(0.4, ge=0, le=1, description="Minimum cosine to connect two messages.")
    min_messages: int = Field(4, gt=1, description="Minimum messages in a cluster.")
    most: int = Field(24, gt=0, description="Maximum insights about a person; the largest clusters come first.")


class DailyConfig(Section):
    """Summaries of each day and of all days, and a portrait of each person; a day is processed once it is over."""

    summaries: bool = Field(
        False,
        description="Summarize each day, and all days together, during sleep; this costs a model call per day. The "
        "controller shows the summary of all days in every prompt. A reply counts as derived from the source "
        "messages of the lines it cites by number, and is deleted with them; if it cites no line, from those of the "
        "lines that share with it a word that is neither in the user's turn nor in the context.",
    )
    portrait: bool = Field(
        False,
        description="Describe the personality that a person shows each day, and portray the person over all days, "
        "during sleep; this costs a model call per person and day.",
    )
    words: int = Field(100, gt=0, description="Maximum words in a daily summary.")
    global_words: int = Field(200, gt=0, description="Maximum words in the summary of all days, and in a portrait.")


class ReflectionConfig(Section):
    """Reflections: conclusions drawn from recent memories and earlier reflections, on questions that these raise."""

    enabled: bool = Field(
        False, description="Whether sleep generates reflections; each run costs 1 + `questions` model calls."
    )
    threshold: float = Field(
        150.0,
        gt=0,
        description="Total importance of new messages, each rated from 1 to 10, above which sleep reflects on them.",
    )
    recent: int = Field(
        100, gt=0, description="Number of most recent memories, including reflections, used to raise questions."
    )
    questions: int = Field(3, gt=0, le=10, description="Maximum questions per reflection; the most salient are kept.")
    memories: int = Field(30, gt=0, description="Memories retrieved for each question.")
    insights: int = Field(5, gt=0, le=10, description="Maximum reflections on one question.")


class QuestionPairsConfig(Section):
    """Question-answer pairs extracted during sleep; a pair is kept if the memory can answer the question."""

    enabled: bool = Field(
        False,
        description="Extract pairs during sleep; this costs one run of the reader per question, or one model "
        "call per session.",
    )
    sure: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Minimum probability that the memory contains the answer when the reader is asked the question.",
    )
    similar: float = Field(
        0.9,
        ge=0,
        le=1,
        description="Minimum cosine to an earlier pair at which a pair is dropped as a duplicate, as long as the "
        "earlier one exists.",
    )
    most: int = Field(32, gt=0, description="Maximum pairs per session; those with the highest confidence are kept.")


class RecordsConfig(Section):
    """Structured records for processed messages: type, entities, sentiment and resolution."""

    enabled: bool = Field(
        False,
        description="Create records for new messages; use `reextract` for earlier ones. Without a language model, "
        "this needs the extra `records`.",
    )


class WorkerConfig(Section):
    """Background jobs."""

    batch_size: int = Field(32, gt=0, description="Number of jobs processed at once.")
    max_attempts: int = Field(3, gt=0, description="Number of failures after which a job is no longer retried.")
    lease: float = Field(
        120.0, gt=0, description="Seconds without a heartbeat after which another worker may take over."
    )
    users: int = Field(
        64,
        gt=0,
        description="Maximum users that each of several background workers processes at once; a single worker takes "
        "all.",
    )
    poll: float = Field(0.5, gt=0, description="Seconds between checks of an empty queue.")
    sleep_interval: float = Field(
        3600.0, ge=0, description="Seconds between scheduled sleeps by the background worker; 0 disables them."
    )
    integration: Literal["whole", "everything"] = Field(
        "whole",
        description="What a scheduled sleep adds to the hierarchy: 'whole' adds only full batches of "
        "hierarchy.batch_size, so that the result doesn't depend on when it sleeps; 'everything' leaves nothing "
        "waiting.",
    )
    backoff: float = Field(
        1.0,
        gt=0,
        description="Seconds that the background worker waits after a failure; doubled after each further failure.",
    )
    max_backoff: float = Field(300.0, gt=0, description="Maximum seconds to wait after a failure.")


class ServerConfig(Section):
    """The server (`nscma serve`): limits and access."""

    threads: int = Field(
        8, gt=0, le=12, description="Maximum concurrent calls to the memory; a store allows 15 readers."
    )
    waiting: int = Field(128, ge=0, description="Maximum calls waiting for a thread; further calls get a 503.")
    rate: float = Field(
        50.0, gt=0, description="Average requests per second allowed per token; further requests get a 429."
    )
    burst: int = Field(200, gt=0, description="Requests that a token may send at once before the rate applies.")
    per_token: int = Field(64, gt=0, description="Maximum concurrent requests per token.")
    connections: int = Field(1024, gt=0, description="Maximum open connections; further connections get a 503.")
    max_body: int = Field(
        8_388_608, gt=0, description="Maximum size of a request body in bytes; does not apply to streamed lines."
    )
    max_upload: int = Field(4_294_967_296, gt=0, description="Maximum size of an import in bytes.")
    patience: float = Field(
        30.0,
        gt=0,
        description="Seconds without any byte sent or received after which a client is disconnected; also the time "
        "limit for receiving a body.",
    )
    shutdown: float = Field(30.0, gt=0, description="Seconds that running requests may take to finish at shutdown.")
    hosts: tuple[str, ...] = Field(
        (),
        description="Names accepted in the Host header in addition to this machine's own; if empty, a server that "
        "listens beyond loopback accepts any name.",
    )
    origins: tuple[str, ...] = Field(
        (), description="Other origins allowed to use the server from a browser (CORS), such as 'https://example.org'."
    )


class UpstreamConfig(Section):
    """The memory proxy in front of a model's server (`nscma serve --upstream`)."""

    tokens: int = Field(
        1024, gt=0, description="Maximum tokens in the block of recalled memories, counted by the embedder."
    )
    passages: int = Field(6, gt=0, description="Maximum passages in the block.")
    facts: int = Field(12, ge=0, description="Maximum facts in the block.")
    deadline: float = Field(
        2.0, gt=0, description="Maximum seconds for recall; after that, the request proceeds without it."
    )
    commit: float = Field(
        10.0,
        gt=0,
        description="Maximum seconds to hold back the end of an answer until its exchange is on disk; after that, it "
        "is sent with a note that the exchange isn't stored.",
    )
    exchanges: int = Field(
        2048,
        gt=0,
        description="Maximum number of exchanges whose memory block is cached for their later tool-calling turns; also "
        "the maximum number of exchanges waiting to be stored.",
    )
    connect: float = Field(10.0, gt=0, description="Maximum seconds to connect to the model's server.")
    silence: float = Field(600.0, gt=0, description="Maximum seconds without data from the model's server.")


class ControllerConfig(Section):
    """Layer 2: working memory, and the loop that decides when to retrieve."""

    active_turns: int = Field(
        8, gt=0, description="K: number of the user's latest written turns in the active context."
    )
    recent_turns: int = Field(
        1,
        ge=0,
        description="Number of newest turns that stay in the active context whatever the gate decides; 0 "
        "keeps none, as in NSCMA 3.3.",
    )
    summary_batch: int = Field(
        4,
        gt=0,
        description="Number of turns added to the rolling summary at once; until then, up to one fewer stay in "
        "context in addition to the K; with 1, at most K stay, as in NSCMA 3.3.",
    )
    turn_words: int = Field(120, gt=0, description="Maximum words to show from an earlier turn or a memory.")
    prompt_tokens: int = Field(3072, gt=0, description="Maximum tokens in a prompt, including the template.")
    reply_tokens: int = Field(512, gt=0, description="Maximum tokens in a reply; llm.max_tokens also applies.")
    summary_tokens: int = Field(
        192, gt=0, description="Maximum tokens in the rolling summary; without an engine, words are counted instead."
    )
    turn_tokens: int = Field(65_536, gt=0, description="Maximum tokens for all calls in one turn.")
    max_steps: int = Field(4, gt=0, description="Maximum actions before the model must answer.")
    top_k: int = Field(6, gt=0, description="Number of memories returned by one retrieval.")
    threshold: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Uncertainty of an engine's draft above which the controller retrieves; 0 always retrieves, 1 "
        "never. The best value depends on the model: `python -m eval.experiments.retrieval.controller_calls "
        "--calibrate`.",
    )
    embedded_threshold: float = Field(
        0.5,
        ge=0,
        le=1,
        description="The same threshold without an engine, where uncertainty is 1 - the margin of the best turn in "
        "context.",
    )
    skills: int = Field(
        0, ge=0, description="Maximum skills in an engine's prompt; the most relevant to the turn are shown."
    )
    least_alike: float = Field(0.35, ge=0, le=1, description="Minimum cosine between a skill and the turn.")
    write_skills: bool = Field(
        False,
        description="Write a skill after positive feedback on a reply; this costs one model call each time.",
    )
    note_tokens: int = Field(
        0, ge=0, description="Maximum tokens from an engine's own notes to show in later prompts; 0 disables notes."
    )
    keep_notes: bool = Field(
        False,
        description="Store notes with the reply so that the next turn sees them; otherwise they are kept only "
        "in the turn's trace.",
    )


class Config(Section):
    """A complete configuration."""

    device: str = Field("auto", description="'auto' (CUDA if available), 'cpu', 'cuda', 'cuda:1', …")
    store: StoreConfig = StoreConfig()
    limits: LimitsConfig = LimitsConfig()
    redaction: RedactionConfig = RedactionConfig()
    retention: RetentionConfig = RetentionConfig()
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
    standing: StandingConfig = StandingConfig()
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
    telemetry: TelemetryConfig = TelemetryConfig()

    def enables(self, name: str) -> bool:
        """Return True if there is a section of this name and it is enabled."""
        return getattr(getattr(self, name, None), "enabled", False) is True

    def unmade(self, kinds: Iterable[str]) -> list[str]:
        """Return the unit kinds that are never created because `facts.units` omits them."""
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
                f"is {self.llm.model!r}"
            )
        return self
