"""Does the gate know what was said before?

    python -m eval.experiments.gate.repetition [--half test|dev] [--streams N] [--seed N] [--json FILE]

Of the messages of each stream 60 % say again what the stream said: word for word, quoted, or as recalled memories that
are pasted back; or in other words. The others are new facts, some of them much like old ones: another name, place,
number, date or value, or the end of what was so. The table shows how many of each kind the gate defers under each of
its rules, and how many it knows for a repetition. The rule was made on `dev`; claims quote `test`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.gate.gating import decide
from eval.experiments.gate.repetition_streams import KINDS, Half, Said, stream
from nscma_torch import load_config
from nscma_torch.core.config import GateConfig
from nscma_torch.core.device import torch_device
from nscma_torch.core.protocols import Embedder, SurpriseModel
from nscma_torch.ingest.gating import Past, gate_messages
from nscma_torch.ingest.stages import Stages
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.surprise.gate import MessageGate
from nscma_torch.surprise.rules import restates
from nscma_torch.surprise.salience_head import SalienceHead
from nscma_torch.text.embedders.embedder import load_embedder

RULES = ("composition", "paper", "memory")
KNOWN = "known as said"  # column: the gate's `repeat` or `restatement`, whatever the rule makes of it
SUMS: Mapping[str, str] = {"all verbatim": "verbatim", "all paraphrased": "paraphrased", "all hard": "hard"}


def measure(
    streams: Sequence[Sequence[Said]], surprise_model: SurpriseModel, embedder: Embedder, head: SalienceHead | None
) -> dict[str, dict[str, float]]:
    """Share of the messages of each kind that is deferred by each rule, and that is known as said before."""
    total: Counter[str] = Counter()
    deferred: dict[str, Counter[str]] = {column: Counter() for column in (*RULES, KNOWN)}
    rules = {rule: GateConfig.model_validate({"rule": rule}) for rule in RULES}
    shipped = rules[RULES[0]]
    for said in streams:
        texts = [message.text for message in said]
        vectors = embedder.embed(texts).cpu()
        seen = gate_messages(
            texts, Past(), surprise_model, MessageGate(shipped, head=head), Stages(), vectors.clone
        ).observations
        kinds = [
            [message.kind, *(name for name, of in SUMS.items() if message.kind.startswith(of))] for message in said
        ]
        total.update(kind for own in kinds for kind in own)
        for rule, config in rules.items():
            for own, decision in zip(kinds, decide(seen, config), strict=True):
                deferred[rule].update(own if not decision.write else ())
        for own, observation in zip(kinds, seen, strict=True):
            if observation.repeat or restates(observation, shipped):
                deferred[KNOWN].update(own)
    shown = [kind for kind in (*KINDS, *SUMS) if total[kind]]
    return {
        kind: {"messages": total[kind], **{column: found[kind] / total[kind] for column, found in deferred.items()}}
        for kind in shown
    }


def table(shares: Mapping[str, Mapping[str, float]], half: Half) -> Table:
    """One row for each kind."""
    shown = Table(f"{half}: share deferred", "messages", *RULES, KNOWN)
    for kind, own in shares.items():
        shown.add_row(kind, f"{own['messages']:.0f}", *(f"{own[column]:.3f}" for column in (*RULES, KNOWN)))
    return shown


def main() -> None:
    """Print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=get_args(Half), default="test")
    parser.add_argument("--streams", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0, help="of the first stream")
    parser.add_argument("--json", type=Path, help="file for the shares")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    config = load_config(None)
    embedder = load_embedder(config.embedder, torch_device(config.device))
    streams = [stream(arguments.half, arguments.seed + i) for i in range(arguments.streams)]
    shares = measure(streams, ByteSurpriseModel.load(), embedder, SalienceHead.load())
    Console(width=120).print(table(shares, arguments.half))
    if arguments.json is not None:
        written = {"half": arguments.half, "streams": arguments.streams, "seed": arguments.seed, "shares": shares}
        arguments.json.write_text(json.dumps(written, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
