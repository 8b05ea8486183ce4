"""What the gate's proxy is worth, beside cheaper signals, at what each costs.

    python -m eval.experiments.gate.proxy_worth --data DIR [--proxy NAME=FILE ...] [--sets NAME ...] [--limit N] \
        [--cache DIR]

The gate's composition ranks the messages of a conversation by four sources of surprise: none (its terms of surprise and
of information left out; cues, compression, repetition and the learned head stay), counts over the stream's own bytes
without any network, the bundled proxy, and others given as files of `train/proxy/proxy_lm.py`. AUC is the chance that a
message that is evidence of a question ranks above another of its conversation, averaged over conversations; costs are
processor milliseconds a message of one thread, in one run, each source after the other on every conversation. Bits per
byte are those of the conversations themselves.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.gate.gating import HALVES, SETS, Talk, decide, vectors_of
from eval.metrics.retrieval_metrics import auc, mean
from nscma_torch.buffer.byte_counts import REACH, counted
from nscma_torch.buffer.gate import MessageGate
from nscma_torch.buffer.observation import Observation
from nscma_torch.buffer.proxy import BLOCK, END_OF_MESSAGE, RecurrentProxy
from nscma_torch.buffer.salience_head import SalienceHead
from nscma_torch.buffer.surprise import measure
from nscma_torch.config import Gate, GateWeights
from nscma_torch.encode.gating import Past, gate_messages
from nscma_torch.encode.stages import Stages
from nscma_torch.protocols import Embedder
from nscma_torch.text.minilm_embedder import MiniLMEmbedder

NONE, COUNTS, BUNDLED = "no proxy", "counts of the stream", "bundled proxy"


@dataclass
class Source:
    """What one source of surprise gave on all conversations."""

    halves: list[str] = field(default_factory=list)
    aucs: list[float] = field(default_factory=list)
    seconds: float = 0.0
    messages: int = 0
    nats: float = 0.0
    bytes: int = 0


def counts_nll(texts: Sequence[str]) -> list[Tensor]:
    """Nats of each byte of each message, and of its end, from counts over the last 32 KB of the stream before it."""
    history, scores = END_OF_MESSAGE, []
    for text in texts:
        parts, raw = [], text.encode() + END_OF_MESSAGE
        for at in range(0, len(raw), BLOCK):
            block = raw[at : at + BLOCK]
            seen = torch.frombuffer(bytearray(history + block), dtype=torch.uint8)
            chance, _ = counted(seen, len(history))
            parts.append(-chance.gather(1, seen[len(history) :, None].long())[:, 0].log())
            history = (history + block)[-REACH:]
        scores.append(torch.cat(parts))
    return scores


def listen(
    talk: Talk, proxies: Mapping[str, RecurrentProxy], embedder: Embedder, head: SalienceHead
) -> dict[str, Source]:
    """Rank one conversation's messages by each source."""
    vectors = vectors_of(talk.texts, embedder)
    weighed = gate_messages(talk.texts, Past(), proxies[BUNDLED], MessageGate(Gate(), head), Stages(), lambda: vectors)
    found = {NONE: _ranked(talk, weighed.observations, Gate(weights=GateWeights(surprise=0.0, information=0.0)))}
    for name in (COUNTS, *proxies):
        began = time.process_time()
        scores = counts_nll(talk.texts) if name == COUNTS else proxies[name].score([talk.texts], [None])[0].nll
        seconds = time.process_time() - began
        seen = [
            _with_surprise(observation, text, nll)
            for observation, text, nll in zip(weighed.observations, talk.texts, scores, strict=True)
        ]
        found[name] = _ranked(talk, seen, Gate())
        found[name].seconds = seconds
        found[name].nats = sum(float(nll.double().sum()) for nll in scores)
        found[name].bytes = sum(map(len, scores))
    return found


def _with_surprise(observation: Observation, text: str, nll: Tensor) -> Observation:
    """An observation with another proxy's numbers."""
    surprise = measure(text, nll)
    return replace(observation, mean=surprise.mean, nats=surprise.nats)


def _ranked(talk: Talk, observations: Sequence[Observation], config: Gate) -> Source:
    scores = [decision.score for decision in decide(observations, config)]
    return Source([talk.half], [auc(scores, talk.needed)], messages=len(talk.texts))


def table(name: str, sources: Mapping[str, Source]) -> Table:
    """A row for each source."""
    shown = Table(name, *(f"AUC {half}" for half in HALVES), "CPU ms a message", "bits a byte")
    for title, own in sources.items():
        of = zip(own.halves, own.aucs, strict=True)
        found = list(of)
        cells = [f"{mean([auc for half, auc in found if wanted in ('all', half)]):.3f}" for wanted in HALVES]
        bits = f"{own.nats / own.bytes / math.log(2):.3f}" if own.bytes else "-"
        shown.add_row(title, *cells, f"{1000 * own.seconds / own.messages:.2f}", bits)
    return shown


def main() -> None:
    """Print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/ and beam/")
    parser.add_argument("--proxy", nargs="+", default=[], metavar="NAME=FILE", help="further proxies")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["LoCoMo", "BEAM user"])
    parser.add_argument("--limit", type=int, help="only so many conversations of each set, from the first")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    proxies = {BUNDLED: RecurrentProxy.load()}
    for named in arguments.proxy:
        name, _, file = named.partition("=")
        proxies[name] = RecurrentProxy.load(file)
    embedder, head = CachedEmbedder(MiniLMEmbedder(), arguments.cache), SalienceHead.load()
    for proxy in proxies.values():
        proxy.score([["warm up"]], [None])
    for name in arguments.sets:
        sources: dict[str, Source] = {}
        talks = [
            talk for talk in SETS[name](arguments.data)[: arguments.limit] if 0 < sum(talk.needed) < len(talk.needed)
        ]
        for talk in talks:
            for title, own in listen(talk, proxies, embedder, head).items():
                whole = sources.setdefault(title, Source())
                whole.halves += own.halves
                whole.aucs += own.aucs
                for count in ("seconds", "messages", "nats", "bytes"):
                    setattr(whole, count, getattr(whole, count) + getattr(own, count))
            embedder.save()
        size = sum(len(talk.texts) for talk in talks)
        Console(width=130).print(table(f"{name}: {len(talks)} conversations, {size} messages", sources))


if __name__ == "__main__":
    main()
