"""Which signal tells, when a message is heard, whether it will be needed later?

    python -m eval.experiments.gate.gating --data DIR [--cache DIR] [--sets NAME ...] [--half HALF] [--model FOLDER]

A message is needed if it is evidence of some question. Each signal ranks the messages of a conversation; the last ones
are deferred. AUC is the chance that a needed message ranks above another of its conversation, averaged over
conversations; `kept` is the share of the needed messages among those written when so many are deferred, `bytes` the
share of the bytes that is deferred with them. A second table gives what whole gates defer and keep at their own
thresholds: the one that ships, and the paper's over lambda, with and without carried state. Settings were chosen on
conversations with an even index; claims quote the odd ones. LoCoMo knows what its questions need; BEAM's evidence is
the messages that its questions were written from. `--model` measures surprise with a causal language model of
transformers in bfloat16, over a window of 512 tokens, instead of the bundled model.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import torch
from rich.console import Console
from rich.table import Table

from eval.caches.embedding_cache import CachedEmbedder
from eval.metrics.retrieval_metrics import auc, mean
from eval.tasks import beam, locomo
from eval.tasks.retrieval_sets import half_of
from nscma_torch import load_config
from nscma_torch.core.config import GateConfig
from nscma_torch.core.device import torch_device
from nscma_torch.core.protocols import Embedder, SurpriseModel
from nscma_torch.core.records import Decision
from nscma_torch.ingest.gating import Past, gate_messages
from nscma_torch.ingest.stages import Stages
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.surprise.byte_model.byte_counts import REACH, stream_nats
from nscma_torch.surprise.gate import GateState, MessageGate
from nscma_torch.surprise.gradient_surprise import gradient_surprise
from nscma_torch.surprise.language_models.transformers_model import CausalSurpriseModel
from nscma_torch.surprise.observation import Observation
from nscma_torch.surprise.salience_head import SalienceHead
from nscma_torch.text.chunker import Chunker
from nscma_torch.text.embedders.embedder import load_embedder

HALVES = ("even", "odd", "all")
DEFERRED = (0.3, 0.5, 0.7)  # shares of the messages at which the curve is printed
LAMBDAS = (0.0, 0.5, 1.0, 1.5, 2.0)  # of the paper's gate


@dataclass(frozen=True)
class Talk:
    """One stream of messages, and which of them are needed later."""

    half: str
    texts: Sequence[str]
    needed: Sequence[bool]


@dataclass(frozen=True)
class Heard:
    """A talk as the surprise model and the gate of each rule saw it; vectors [n, d] of its messages."""

    talk: Talk
    observations: Sequence[Observation]
    decisions: Mapping[str, Sequence[Decision]]
    without_state: Sequence[float]  # mean surprise of each message read alone
    vectors: torch.Tensor
    learned: Sequence[float] = ()  # log-odds of the salience head


def _locomo(data: Path) -> list[Talk]:
    talks = []
    for index, own in enumerate(locomo.load(data)):
        needed = {place for question in own.questions for place in question.evidence}
        texts = [message.content for message in own.messages]
        talks.append(Talk(half_of(index), texts, [i in needed for i in range(len(texts))]))
    return talks


def _beam(data: Path, roles: frozenset[str]) -> list[Talk]:
    talks = []
    for index, chat in enumerate(beam.load(data)):
        needed = {place for question in chat.questions for place in question.evidence}
        heard = [i for i, message in enumerate(chat.messages) if message.role in roles]
        texts = [chat.messages[i].content for i in heard]
        talks.append(Talk(half_of(index), texts, [i in needed for i in heard]))
    return talks


SETS: Mapping[str, Callable[[Path], list[Talk]]] = MappingProxyType(
    {
        "LoCoMo": _locomo,
        "BEAM user": lambda data: _beam(data, frozenset({"user"})),
        "BEAM all": lambda data: _beam(data, frozenset({"user", "assistant"})),
    }
)


def hear(talk: Talk, surprise_model: SurpriseModel, embedder: Embedder, head: SalienceHead) -> Heard:
    """Weigh a talk as the memory does, and read each of its messages alone."""
    vectors = vectors_of(talk.texts, embedder)
    weighed = gate_messages(
        talk.texts, Past(), surprise_model, MessageGate(GateConfig(), head), Stages(), lambda: vectors
    )
    norms, _ = gradient_surprise(vectors, None)
    observations = [replace(own, gradient=norm) for own, norm in zip(weighed.observations, norms, strict=True)]
    alone = surprise_model.score([[text] for text in talk.texts], [None] * len(talk.texts))
    with torch.no_grad():
        learned = head(vectors).tolist()
    return Heard(
        talk,
        observations,
        {"composition": weighed.decisions, "paper": decide(observations, GateConfig(rule="paper"))},
        [float(score.nll[0].double().mean()) for score in alone],
        vectors,
        learned,
    )


def decide(observations: Sequence[Observation], config: GateConfig) -> list[Decision]:
    """What a gate decides on a talk."""
    gate, state, decisions = MessageGate(config), GateState(), []
    for observation in observations:
        decision, state = gate.decide(observation, state)
        decisions.append(decision)
    return decisions


def _causal(folder: Path) -> SurpriseModel:
    return CausalSurpriseModel.load(folder, dtype=torch.bfloat16, window=512)


def vectors_of(texts: Sequence[str], embedder: Embedder) -> torch.Tensor:
    """Unit vectors [n, d] of messages of any length: the mean of their chunks."""
    chunker = Chunker(embedder.count_tokens, embedder.max_tokens)
    parts = [[chunk.text for chunk in chunker.chunk(text)] for text in texts]
    vectors = torch.split(embedder.embed([part for own in parts for part in own]), [len(own) for own in parts])
    return torch.nn.functional.normalize(torch.stack([own.mean(0) for own in vectors]), dim=1)


def _deviation(heard: Heard) -> list[float]:
    """(S - mu) / sigma of the paper's gate: S > mu + lambda sigma is a threshold on it, whatever lambda is."""
    return [
        (decision.score - decision.parts["mu"]) / max(decision.parts["sigma"], 1e-6) if decision.parts["count"] else 0.0
        for decision in heard.decisions["paper"]
    ]


def _novelty(heard: Heard) -> list[float]:
    """One less the cosine to the nearest earlier message."""
    cosines = (heard.vectors @ heard.vectors.T).tril(-1)
    return (1 - cosines.amax(1)).tolist()


def _counts(heard: Heard) -> list[float]:
    """What a message costs who has read nothing but the stream before it."""
    texts = [text.encode() for text in heard.talk.texts]
    return [stream_nats(text + b"\n", b"\n".join(texts[:i])[-REACH:] + b"\n") for i, text in enumerate(texts)]


def _chance(heard: Heard) -> list[float]:
    generator = random.Random(len(heard.talk.texts))
    return [generator.random() for _ in heard.talk.texts]


SIGNALS: Mapping[str, Callable[[Heard], Sequence[float]]] = MappingProxyType(
    {
        "random": _chance,
        "paper, (S - mu) / sigma": _deviation,
        "paper's S, carried state": lambda heard: [own.mean for own in heard.observations],
        "paper's S, no state": lambda heard: heard.without_state,
        "length": lambda heard: [float(len(text.encode())) for text in heard.talk.texts],
        "embedding novelty": _novelty,
        "gradient of a NeuralMemory": lambda heard: [own.gradient or 0.0 for own in heard.observations],
        "sum NLL": lambda heard: [own.mean * own.tokens for own in heard.observations],
        "sum NLL, clamped": lambda heard: [own.nats for own in heard.observations],
        "counts of the stream alone": _counts,
        "zlib given history": lambda heard: [own.memory_nats for own in heard.observations],
        "cues": lambda heard: [own.salience for own in heard.observations],
        "answer to a question": lambda heard: [float(own.answers) for own in heard.observations],
        "learned head": lambda heard: heard.learned,
        "composition": lambda heard: [own.score for own in heard.decisions["composition"]],
    }
)


@dataclass(frozen=True)
class Curve:
    """A signal on one talk: AUC, and for each share of `shares` deferred the needed kept and the bytes deferred."""

    half: str
    auc: float
    kept: Sequence[float]
    bytes: Sequence[float]


def curve(heard: Heard, scores: Sequence[float], shares: Sequence[float]) -> Curve | None:
    """None where all or none of the messages are needed. Of equal scores the later message is deferred first."""
    talk = heard.talk
    if not 0 < sum(talk.needed) < len(talk.needed):
        return None
    order = sorted(range(len(scores)), key=lambda i: (scores[i], -i))
    sizes = [len(text.encode()) for text in talk.texts]
    kept, deferred = [], []
    for share in shares:
        out = set(order[: round(share * len(order))])
        kept.append(sum(need for i, need in enumerate(talk.needed) if i not in out) / sum(talk.needed))
        deferred.append(sum(sizes[i] for i in out) / sum(sizes))
    return Curve(talk.half, auc(scores, talk.needed), kept, deferred)


def of_half(curves: Sequence[Curve], half: str) -> list[Curve]:
    """Those of a half, or all."""
    return [own for own in curves if half in ("all", own.half)]


def table(name: str, rows: Mapping[str, Sequence[Curve]]) -> Table:
    """AUC by half; kept and bytes deferred of the odd half at each of `DEFERRED`."""
    shown = Table(
        name, *(f"AUC {half}" for half in HALVES), *(f"kept, bytes at {d:.0%} deferred, odd" for d in DEFERRED)
    )
    for signal, curves in rows.items():
        odd = of_half(curves, "odd")
        cells = [f"{mean([own.auc for own in of_half(curves, half)]):.3f}" for half in HALVES]
        kept = [f"{mean([own.kept[i] for own in odd]):.3f}" for i in range(len(DEFERRED))]
        sizes = [f"{mean([own.bytes[i] for own in odd]):.2f}" for i in range(len(DEFERRED))]
        cells += map(", ".join, zip(kept, sizes, strict=True))
        shown.add_row(signal, *cells)
    return shown


def _alone(heard: Heard) -> list[Observation]:
    """The observations with the surprise of each message read alone."""
    return [replace(own, mean=mean) for own, mean in zip(heard.observations, heard.without_state, strict=True)]


def gates(name: str, talks: Sequence[Heard]) -> Table:
    """What whole gates defer and keep at their own thresholds."""
    shown = Table(name, *(f"deferred, kept, {half}" for half in HALVES))
    rows = {"composition": [heard.decisions["composition"] for heard in talks]}
    for lam in LAMBDAS:
        config = GateConfig(rule="paper", lam=lam)
        rows[f"paper, lambda {lam:g}, carried state"] = [decide(heard.observations, config) for heard in talks]
    for lam in LAMBDAS:
        config = GateConfig(rule="paper", lam=lam)
        rows[f"paper, lambda {lam:g}, no state"] = [decide(_alone(heard), config) for heard in talks]
    rows["gradient, lambda 0"] = [decide(heard.observations, GateConfig(rule="gradient")) for heard in talks]
    for rule, decided in rows.items():
        cells = []
        for half in HALVES:
            own = [
                (heard.talk.needed, [made.write for made in made_of])
                for heard, made_of in zip(talks, decided, strict=True)
                if half in ("all", heard.talk.half) and any(heard.talk.needed)
            ]
            out = mean([1 - mean(writes) for _, writes in own])
            kept = [mean([float(w) for w, need in zip(writes, needed, strict=True) if need]) for needed, writes in own]
            cells.append(f"{out:.3f}, {mean(kept):.3f}")
        shown.add_row(rule, *cells)
    return shown


def main() -> None:
    """Print two tables for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/ and beam/")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--half", choices=HALVES, default="all", help="of the conversations, by their index")
    parser.add_argument("--limit", type=int, help="only so many conversations of each set, from the first")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="a causal language model to measure surprise with")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    config = load_config(None)
    plain = load_embedder(config.embedder, torch_device(config.device))
    embedder, head = CachedEmbedder(plain, arguments.cache), SalienceHead.load()
    surprise_model = ByteSurpriseModel.load() if arguments.model is None else _causal(arguments.model)
    console = Console(width=170)
    for name in arguments.sets:
        talks = []
        chosen = [talk for talk in SETS[name](arguments.data) if arguments.half in ("all", talk.half)]
        for talk in chosen[: arguments.limit]:
            talks.append(hear(talk, surprise_model, embedder, head))
            embedder.save()
        scores = {signal: [score(heard) for heard in talks] for signal, score in SIGNALS.items()}
        rows: dict[str, list[Curve]] = {}
        for signal, of_talks in scores.items():
            pairs = list(zip(talks, of_talks, strict=True))
            rows[signal] = [own for heard, some in pairs if (own := curve(heard, some, DEFERRED)) is not None]
        console.print(table(f"{name}, {len(talks)} conversations", rows))
        console.print(gates(name, talks))


if __name__ == "__main__":
    main()
