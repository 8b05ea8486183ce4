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
    max_pages: int = Field(0, ge=0, description="Largest size of the file in pages of 4096 bytes; 0 for no limit.")


class LimitsConfig(Section):
    """Size limits of inputs and of a single write."""

    max_message_bytes: int = Field(1_048_576, gt=0, description="Largest message in bytes of UTF-8.")
    max_question_characters: int = Field(
        16_384, gt=0, description="Longest question, search query or turn of a chat, in characters."
    )
    max_clock_skew: float = Field(
        300.0, ge=0, le=3.2e11, description="Seconds that a timestamp may lie in the future; at most 10,000 years."
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
        "auto", description="Precision of the forward pass; 'auto' is bfloat16 where the device multiplies it natively."
    )
    deferred: bool = Field(True, description="Whether messages that the gate defers are embedded too.")


class ChunkerConfig(Section):
    """Splitting of long messages into units."""

    strategy: Literal["sentence", "fixed", "surprise"] = Field(
        "sentence",
        description="Where a chunk may end: 'surprise' is at sentences that the surprise model did not expect, too.",
    )
    max_tokens: int = Field(
        0,
        ge=0,
        description="Longest chunk in tokens, at most what the embedder reads; 0 for all of that. Structural Memory "
        "section 4.3: 1000.",
    )
    overlap_sentences: int = Field(0, ge=0, description="Sentences repeated at the start of the next chunk.")
    gamma: float = Field(
        1.0, description="gamma of 'surprise', mu + gamma*sigma, in standard deviations; EM-LLM eq. 1."
    )
    window: int = Field(32, gt=1, description="tau of 'surprise': sentences that mu and sigma look back on.")
    min_tokens: int = Field(64, gt=0, description="Tokens before which 'surprise' ends no chunk at a peak.")


class SurpriseConfig(Section):
    """The language model whose surprise the gate weighs."""

    model: str = Field(
        "bundled",
        description="'bundled', a file of train/proxy/proxy_lm.py, or a causal language model's folder or Hub name.",
    )
    engine: Literal["own", "llm"] = Field(
        "own",
        description="'own' loads that model for surprise alone; 'llm' asks the vLLM of [llm], which must run it.",
    )
    window: int = Field(
        1024, gt=0, multiple_of=64, description="Most tokens that a token of a causal language model sees."
    )
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto",
        description="Precision of the forward pass; 'auto' is bfloat16 where the device multiplies it natively; "
        "of the bundled surprise model, on GPUs.",
    )
    quantization: Literal["none", "nf4"] = Field(
        "none", description="Of a causal language model's weights; 'nf4' is 4 bits with bitsandbytes."
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
    memory: float = Field(0.6, description="Score per standard deviation of ln of the nats that memory lacks.")
    salience: float = Field(1.0, description="Score per unit of log-odds of the cue lexicon.")
    answer: float = Field(0.4, ge=0, description="Added to what follows a question.")
    learned: float = Field(0.3, description="Score per unit of log-odds of the salience head; needs embedder.deferred.")
    code: float = Field(2.5, ge=0, description="Taken off, times the share of ids, hashes and base64.")
    repeat: float = Field(10.0, ge=0, description="Taken off what was already said.")
    restatement: float = Field(2.5, ge=0, description="Taken off what was already said in other words.")


class GateConfig(Section):
    """Selection of messages worth language-model work now; deferred messages stay searchable."""

    rule: Literal["composition", "paper", "information", "memory", "gradient", "salience", "everything"] = Field(
        "composition",
        description="'paper' is S > mu + lambda*sigma; 'gradient' has Titans' surprise for S; 'everything': no gate.",
    )
    lam: float = Field(0.0, description="lambda of 'paper', 'information', 'memory' and 'gradient'.")
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
        "float32", description="Of the vectors in memory; bfloat16 takes half, and cosines are off by up to 0.004."
    )
    max_bytes: int = Field(
        3_221_225_472,
        gt=0,
        description="Bytes that the indexes of all users may take on the device together; those searched longest ago "
        "are dropped, and load again when they are searched next. 3 GiB hold about a million units of 384 numbers in "
        "float32, and leave most of a 24 GB card to the models.",
    )
    database_from: int = Field(
        500_000,
        ge=0,
        description="Units of a user from which a store in PostgreSQL keeps the user's vectors to itself: they are "
        "searched there, and not loaded; 0 for never. Of no effect on files, nor with score.scaling 'min-max', which "
        "needs all vectors.",
    )
    faiss_factory: str = Field(
        "Flat",
        pattern=FAISS_FACTORY,
        description="'Flat', 'IVF' and its number of lists ('IVF256'), or 'HNSW' and that of links ('HNSW32').",
    )
    faiss_nprobe: int = Field(16, gt=0, description="Lists that an IVF search visits.")
    faiss_ef_search: int = Field(128, gt=0, description="Candidates that an HNSW search keeps while it walks.")


class ScoreConfig(Section):
    """Episodic score (NSCMA section 3.4.1): alpha*sim + beta*exp(-lambda*(now - t)) + gamma*importance."""

    similarity: Literal["contextual", "cosine"] = Field(
        "contextual",
        description="sim(q, d): the cosine of the question without speakers' names to a unit's vector with a share of "
        "its neighbours', or cos(q, d) itself, as in the paper.",
    )
    alpha: float = Field(1.0, ge=0, description="Weight of the similarity.")
    beta: float = Field(0.0, ge=0, description="Weight of the recency.")
    gamma: float = Field(0.0, ge=0, description="Weight of the importance, which is in [0, 1].")
    importance: Literal["cues", "model"] = Field(
        "cues",
        description="What importance is: 'cues', the salience that the gate saw, or 'model', what the language tasks "
        "rate from 1 to 10 when a message is first read for facts (Generative Agents).",
    )
    half_life: float = Field(30.0, gt=0, description="Days after which recency is one half; lambda = ln 2 / half_life.")
    recency_since: Literal["said", "recalled"] = Field(
        "said",
        description="What recency counts from: when a message was said, or when a search or a question last found it, "
        "if that is later (Generative Agents); each of them then writes down when it was.",
    )
    scaling: Literal["none", "min-max"] = Field(
        "none",
        description="'min-max' brings each of the three parts to [0, 1] over the units that a search may find, before "
        "they are weighed (Generative Agents); a part that is the same for all counts 0.5.",
    )

    @property
    def decay(self) -> float:
        """lambda, per day."""
        return math.log(2) / self.half_life


class RetrievalConfig(Section):
    """Lanes and their fusion."""

    lanes: tuple[Literal["lexical", "vector"], ...] = Field(
        ("lexical", "vector"), min_length=1, description="Which lanes a search runs."
    )
    fusion: Literal["relative", "rrf", "sum"] = Field(
        "relative",
        description="Mean of scores relative to each lane's best, reciprocal rank fusion with c = 60, or the sum as it "
        "is: of the vector lane alone, Score(d) of [score].",
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
    ] = Field("auto", description="How a search goes on from its first results; auto chooses by the question.")
    floor: float = Field(
        0.4,
        ge=-1,
        le=2,
        description="Answerability of a search below which the memory proxy, MCP's recall and the hooks show nothing "
        "to a model; -1 for no floor. docs/proxy.md has measurements.",
    )
    kinds: tuple[UnitKind, ...] = Field(
        ("chunk",), min_length=1, description="Structures that a search looks in where it names none."
    )
    top_k: int = Field(10, gt=0, description="K: hits of a search, or of a question, that names no other number.")
    reranker: str = Field(
        "",
        description="What the rerank strategy asks: 'reader', or a cross-encoder by its name or folder; empty for the "
        "language tasks.",
    )
    answering: Literal["memory-only", "memory-doc"] = Field(
        "memory-only", description="Whether ask answers from what was found, or from the messages behind it."
    )
    settle_seconds: float = Field(
        2.0,
        ge=0,
        description="Seconds for which ask first reads what the user said last; 0: only what `flush` has read counts.",
    )
    candidates: int = Field(256, gt=0, description="Units that the vector lane proposes.")
    speaker_boost: float = Field(0.5, ge=0, description="Added to a factor of 1 for units of those the question names.")
    k1: float = Field(1.2, gt=0, description="BM25: saturation of the term frequency.")
    b: float = Field(0.75, ge=0, le=1, description="BM25: how much length counts.")
    hops: tuple[float, ...] = Field((0.5, 0.3, 0.15), description="BM25: weight of a term 1, 2, … turns away.")
    reach: float = Field(40.0, gt=0, description="BM25: terms above which a unit lends less to its neighbours.")
    nodes: Literal["hybrid", "cosine"] = Field(
        "hybrid",
        description="Score of chunks and summaries in traversal, global and prune-and-grow: that of a search, or the "
        "cosine of question and node alone, as in CAM section 4.2.",
    )
    rerank: RerankStrategyConfig = RerankStrategyConfig()
    iterative: IterativeStrategyConfig = IterativeStrategyConfig()
    traversal: TraversalStrategyConfig = TraversalStrategyConfig()
    prune_and_grow: PruneAndGrowStrategyConfig = PruneAndGrowStrategyConfig()


class AnswerConfig(Section):
    """The embedded answerer."""

    min_answerability: float = Field(
        0.72, description="Answerability, in [-1, 2], below which it says that it does not know."
    )
    passages: int = Field(3, gt=0, description="Most passages that an answer shows.")
    cutoff: float = Field(
        0.6, ge=0, le=1, description="Score, relative to the best passage, below which none is shown."
    )
    words: int = Field(60, gt=0, description="Longest passage in words; a shorter message is shown whole.")


class ReadingConfig(Section):
    """The trained reader, which gives short answers if no language model is configured."""

    model: str = Field(
        "bundled",
        min_length=1,
        description="'bundled', 'none', or what train/reader wrote: a file of weights, or a folder on another encoder.",
    )
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Precision of the forward pass; 'auto' is bfloat16 where the device multiplies it natively."
    )
    passages: int = Field(10, gt=0, description="Passages that are read for an answer.")
    sure: float = Field(
        0.82, ge=0, le=1, description="Confidence from which an answer is given; below, it is given as not sure."
    )
    unsure: float = Field(0.76, ge=0, le=1, description="Confidence below which there is no answer.")
    hops: int = Field(
        1,
        ge=1,
        le=3,
        description="Most readings of a question; while the answer is not sure, it is searched with for the next one.",
    )
    as_good: float = Field(
        0.1, ge=0, le=1, description="Share, relative to the best span, from which a later one takes its place."
    )
    instead_of_model: float = Field(
        1.0,
        ge=0,
        le=1,
        description="Confidence from which the reader's answer, or what it reads of a message, spares a configured "
        "language model; 1: that does all.",
    )
    facts: str = Field(
        "bundled",
        min_length=1,
        description="What reads facts in English: 'bundled', 'none', or a folder with facts.safetensors and "
        "proposer.safetensors by train/reader. Chinese is read by the forms of the relation file.",
    )
    member: float = Field(
        0.1, ge=0, le=1, description="Share, relative to the best span, from which a span is a member of a list."
    )


class HierarchyConfig(Section):
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
    propagation: Literal["weighted", "majority"] = Field(
        "weighted",
        description="The label that a node takes: the one that weighs most among its neighbours, or the one that most "
        "of them have, as in CAM section 4.1.",
    )
    propagation_rounds: int = Field(
        0, ge=0, description="Rounds after which label propagation ends; 0 for when no label changes any more."
    )
    max_levels: int = Field(8, ge=0, description="Levels of clusters; 0 keeps the network of chunks alone.")
    min_members: int = Field(3, gt=1, description="Members below which a cluster gets no summary.")
    max_members: int = Field(24, gt=2, description="Members above which a cluster is split.")
    summary_words: int = Field(100, gt=0, description="Longest summary in words.")


class FactsConfig(Section):
    """Facts extracted from messages."""

    relations: str = Field("bundled", description="'bundled', or the path of a relation file of your own.")
    answer: bool = Field(True, description="Whether `ask` answers from facts where they tell.")
    predicates: Literal["schema", "open"] = Field(
        "schema",
        description="'open' binds no triple to a relation of the file, as in Structural Memory section 3.1: no new "
        "value then ends an old one, and questions are answered from passages.",
    )
    context: Literal["turns", "summary"] = Field(
        "turns",
        description="What a message is read with: the turns before it, which the trained reader reads; or with "
        "'summary' a running summary of its conversation too, beside which a language model reads it (mem0).",
    )
    context_messages: int = Field(
        10,
        gt=0,
        description="m: messages before it that a language model sees with that summary, which is renewed after as "
        "many.",
    )
    units: tuple[Literal["triple", "atomic_fact", "summary", "document_summary"], ...] = Field(
        (),
        description="Kinds of units that are made of what is read, for searches of them: they are most of a store. "
        "'summary' is one of each message by itself, beside those of the hierarchy; 'document_summary', made at sleep, "
        "is one of each session and of each added document (Structural Memory section 3.1).",
    )


class CuratorConfig(Section):
    """Conflicts, forgetting and sleep."""

    rule: Literal["timeline", "score", "model"] = Field(
        "timeline",
        description="What decides a conflict: 'timeline' lets what a speaker says later end what he said before, and "
        "weighs the words of several by 'score', which decides alone where it is named (NSCMA section 3.5); 'model' "
        "has the language tasks choose ADD, UPDATE, DELETE or NOOP for each statement (mem0).",
    )
    similar: int = Field(
        10, gt=0, le=32, description="s: the most similar facts that a model compares a new statement with (mem0)."
    )
    compared: Literal["similar", "graph"] = Field(
        "similar",
        description="Of which facts these are: of all, or with 'graph' of the edges at the two entities of the "
        "statement in the graph of facts (mem0^g).",
    )
    opposites: Literal["relations", "model"] = Field(
        "relations",
        description="What ends facts of other relations: 'relations', the opposites of the relation file (likes, "
        "dislikes), or also 'model', the language tasks, where they find a newer statement to contradict one.",
    )
    change: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Likelihood of a change, by the trained reader, from which a statement contradicts a fact.",
    )
    conflict_set: Literal["cardinality", "relation"] = Field(
        "cardinality",
        description="Facts of one subject and relation that exclude each other: those of relations with one object at "
        "a time, or with 'relation' those of every relation (the conflict set of NSCMA section 3.5).",
    )
    half_life: float = Field(90.0, gt=0, description="Days after which a statement weighs half against others' words.")
    decision_ratio: float = Field(
        1.25, ge=1, description="Ratio of scores below which both sides of a contradiction are kept."
    )
    correction_window: float = Field(
        1.0, ge=0, description="Days within which a correction may mean what was said just before."
    )
    initial_strength: float = Field(365.0, gt=0, description="S: days after which retention exp(-t/S) is 1/e.")
    gain: float = Field(1.0, ge=0, description="What each recall adds to S, in units of initial_strength.")
    recall: Literal["strengthen", "restart"] = Field(
        "strengthen",
        description="What a recall, by a search or a question, does to retention: it raises S, and with 'restart' t "
        "begins anew, too (MemoryBank: S + 1 and t = 0, with initial_strength = 1 and gain = 1).",
    )
    forgetting: Literal["floor", "chance"] = Field(
        "floor",
        description="What sleep archives: what has a retention below `floor`, or below a number that is drawn for each "
        "memory from [0, 1), so that it is still there with the probability of its retention (MemoryBank).",
    )
    floor: float = Field(0.05, ge=0, lt=1, description="Retention below which sleep archives; 0 forgets nothing.")
    seed: int = Field(0, description="Of the numbers that are drawn; the same seed forgets the same.")
    promotion: float = Field(0.05, ge=0, le=1, description="Share of what is missing to importance 1 per recall.")
    profile_lines: int = Field(24, gt=0, description="Most lines of a user's profile.")
    profile_objects: int = Field(6, gt=0, description="Most objects that one line of it names.")

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

    enabled: bool = Field(False, description="Whether sleep derives insights; it costs a call of the model a cluster.")
    days: float = Field(7.0, ge=0, description="Days after which a sleep derives them anew.")
    neighbours: int = Field(6, gt=0, description="Edges that a message draws to those most like it.")
    gamma: float = Field(0.4, ge=0, le=1, description="Cosine above which two messages are joined.")
    min_messages: int = Field(4, gt=1, description="Messages below which a cluster shows nothing.")
    most: int = Field(24, gt=0, description="Most insights about a person; those of the largest clusters.")


class DailyConfig(Section):
    """Summaries of each day and of all days, and a portrait of each person; a day is processed once it is over."""

    summaries: bool = Field(
        False,
        description="Whether sleep sums up each day, and all days together; it costs a call of the model a day. The "
        "controller shows the lines over all days in every prompt. A reply counts as written from the messages behind "
        "the lines that it names by number, and goes with these; where it names no number at all, from those behind "
        "the lines with which it shares a word that neither the user's turn nor the context has.",
    )
    portrait: bool = Field(
        False,
        description="Whether sleep notes what each day shows of a person's personality, and portrays the person by all "
        "days; it costs a call of the model for each person and day.",
    )
    words: int = Field(100, gt=0, description="Longest summary of a day in words.")
    global_words: int = Field(200, gt=0, description="Longest summary of all days, and longest portrait, in words.")


class ReflectionConfig(Section):
    """Reflections: conclusions from recent memories and earlier reflections, on questions that these raise."""

    enabled: bool = Field(
        False, description="Whether sleep reflects; it costs 1 + questions calls of the model each time."
    )
    threshold: float = Field(
        150.0, gt=0, description="Sum of the importance, from 1 to 10, of new messages above which it reflects on them."
    )
    recent: int = Field(100, gt=0, description="Most recent memories, reflections too, that are asked for questions.")
    questions: int = Field(3, gt=0, le=10, description="Most salient questions that one reflection answers.")
    memories: int = Field(30, gt=0, description="Memories that a search brings for each question.")
    insights: int = Field(5, gt=0, le=10, description="Most reflections on one question.")


class QuestionPairsConfig(Section):
    """Question-answer pairs that sleep mines from conversations; a pair is kept if the memory can answer it."""

    enabled: bool = Field(
        False, description="Whether sleep mines pairs; it costs a reading a question, or a call of the model a sitting."
    )
    sure: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Confidence of the reader in the answer, read back, below which none is kept.",
    )
    similar: float = Field(
        0.9,
        ge=0,
        le=1,
        description="Cosine with an earlier pair from which one is dropped, as long as that one is there.",
    )
    most: int = Field(32, gt=0, description="Most pairs of one sitting, the surest.")


class RecordsConfig(Section):
    """A structured record of each processed message: type, entities, sentiment and resolution."""

    enabled: bool = Field(
        False,
        description="Whether records are made; of what was read before by reextract. Without a language model they "
        "need the extra `records`.",
    )


class WorkerConfig(Section):
    """Background jobs."""

    batch_size: int = Field(32, gt=0, description="Jobs worked on at once.")
    max_attempts: int = Field(3, gt=0, description="Failures after which a job is left as failed.")
    lease: float = Field(120.0, gt=0, description="Seconds without a sign of life before another worker may step in.")
    users: int = Field(
        64,
        gt=0,
        description="Users whose work one of several background workers takes on at once; alone it takes all.",
    )
    poll: float = Field(0.5, gt=0, description="Seconds between two looks of the background worker at an empty queue.")
    sleep_interval: float = Field(
        3600.0, ge=0, description="Seconds between two sleeps of the background worker; 0: it never sleeps."
    )
    integration: Literal["whole", "everything"] = Field(
        "whole",
        description="What its sleep brings into the hierarchy: 'whole' batches of hierarchy.batch_size, so that the "
        "result does not depend on when it slept; or 'everything', so that nothing waits.",
    )
    backoff: float = Field(
        1.0, gt=0, description="Seconds that the background worker rests after a failure; twice as many after the next."
    )
    max_backoff: float = Field(300.0, gt=0, description="Most seconds of such a rest.")


class ServerConfig(Section):
    """The server (`nscma serve`): limits and access."""

    threads: int = Field(8, gt=0, le=12, description="Calls of the memory that run at once; a store serves 15 readers.")
    waiting: int = Field(128, ge=0, description="Calls that may wait for a thread; one more is answered by 503.")
    rate: float = Field(50.0, gt=0, description="Requests a second of one token, on average; one more gets a 429.")
    burst: int = Field(200, gt=0, description="Requests of one token that may come at once before the rate counts.")
    per_token: int = Field(64, gt=0, description="Requests of one token that are answered at once.")
    connections: int = Field(1024, gt=0, description="Open connections; one more is answered by 503.")
    max_body: int = Field(8_388_608, gt=0, description="Largest body in bytes; streams of lines have no such limit.")
    max_upload: int = Field(4_294_967_296, gt=0, description="Largest export, in bytes, that may be imported.")
    patience: float = Field(
        30.0, gt=0, description="Seconds without a byte, in or out, after which a slow client is left; also for a body."
    )
    shutdown: float = Field(30.0, gt=0, description="Seconds that requests at work have to end at a shutdown.")
    hosts: tuple[str, ...] = Field(
        (),
        description="Names in the Host header that are served beside this machine's own; empty with a server that "
        "listens beyond the loopback: any.",
    )
    origins: tuple[str, ...] = Field(
        (), description="Origins of other sites whose pages may use the server (CORS), such as 'https://example.org'."
    )


class UpstreamConfig(Section):
    """The memory proxy in front of a model's server (`nscma serve --upstream`)."""

    tokens: int = Field(
        1024, gt=0, description="Most tokens, by the embedder's count, of the block of what is recalled."
    )
    passages: int = Field(6, gt=0, description="Most passages in it.")
    facts: int = Field(12, ge=0, description="Most facts in it.")
    deadline: float = Field(2.0, gt=0, description="Seconds that recall may take; then the request goes on without it.")
    commit: float = Field(
        10.0,
        gt=0,
        description="Seconds that the end of an answer waits until its exchange is on disk; then the end goes on, and "
        "says that it is not.",
    )
    exchanges: int = Field(
        2048,
        gt=0,
        description="Exchanges whose block is kept for their tool-calling turns; also those that wait to be stored.",
    )
    connect: float = Field(10.0, gt=0, description="Seconds to reach the model's server.")
    silence: float = Field(600.0, gt=0, description="Seconds that it may send nothing.")


class ControllerConfig(Section):
    """Layer 2: working memory, and the loop that decides when to retrieve."""

    active_turns: int = Field(8, gt=0, description="K: the user's last written turns that stay in the active context.")
    recent_turns: int = Field(
        1, ge=0, description="Newest turns that stay in it whatever the gate decided; 0 for none, as in NSCMA 3.3."
    )
    summary_batch: int = Field(
        4,
        gt=0,
        description="Turns that go into the rolling summary at once; till then one fewer than this stay beside the K; "
        "1 for K at most, as in NSCMA 3.3.",
    )
    turn_words: int = Field(120, gt=0, description="Longest passage of an earlier turn or a memory, in words.")
    prompt_tokens: int = Field(3072, gt=0, description="Most tokens of one prompt, template included.")
    reply_tokens: int = Field(512, gt=0, description="Most tokens of one reply; llm.max_tokens may be less.")
    summary_tokens: int = Field(192, gt=0, description="Most tokens of the rolling summary; words without an engine.")
    turn_tokens: int = Field(32_768, gt=0, description="Most tokens of all calls that answer one turn.")
    max_steps: int = Field(4, gt=0, description="Most actions before the answer is forced.")
    top_k: int = Field(6, gt=0, description="Memories that one retrieval brings.")
    threshold: float = Field(
        0.25,
        ge=0,
        le=1,
        description="Uncertainty of an engine's draft above which it retrieves; 0 always, 1 never. Each model has its "
        "own: `python -m eval.experiments.retrieval.controller_calls --calibrate`.",
    )
    embedded_threshold: float = Field(
        0.5,
        ge=0,
        le=1,
        description="The same without an engine, where it is 1 - the margin of the best turn in context.",
    )
    skills: int = Field(0, ge=0, description="Most skills that an engine's prompt shows, those most like what is said.")
    least_alike: float = Field(0.35, ge=0, le=1, description="Cosine with what is said below which no skill is shown.")
    write_skills: bool = Field(
        False, description="Whether a reply that is called helpful has the engine write how it was done; a call each."
    )
    note_tokens: int = Field(
        0, ge=0, description="Most tokens of an engine's notes to itself that a prompt shows again; 0: it takes none."
    )
    keep_notes: bool = Field(
        False, description="Whether notes stay with the reply, for the next turn; else they end with the turn's trace."
    )


class Config(Section):
    """A complete configuration."""

    device: str = Field("auto", description="'auto' (CUDA where there is one), 'cpu', 'cuda', 'cuda:1', …")
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
