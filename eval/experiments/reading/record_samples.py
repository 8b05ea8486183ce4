"""Structured records of LoCoMo's messages: how many of each type, and a sample to judge by hand.

    python -m eval.experiments.reading.record_samples --data DIR [--half odd|even|all] [--messages N] [--records N]
        [--seed N] [--config FILE] [--json FILE]

The first messages of each conversation go into a fresh store with `records.enabled`. The sample is drawn evenly from
the conversations, from all messages that have a record (those that the gate wrote). Each is printed with its record,
the two messages before it and the two after it, which is where its resolution comes from; entities leave out the two
who talk. The judgement is a person's: `nscma_torch/reading/weights/README.md` has ours of the sample of the defaults.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from eval.experiments.reading.asked_tasks import HALVES
from eval.tasks.locomo import Conversation, load
from nscma_torch import Config, Memory, MemoryRecord, load_config
from nscma_torch.config import override

USER = "sample"
AROUND = 2  # messages that are shown before and after one


@dataclass(frozen=True, slots=True)
class Described:
    """A record, and its message with those around it; `place` is where it stands among them."""

    conversation: str
    record: MemoryRecord
    texts: tuple[str, ...]
    place: int

    def __str__(self) -> str:
        record = self.record
        lines = [f"{'>' if i == self.place else ' '} {text}" for i, text in enumerate(self.texts)]
        said = f"{record.type}, {record.resolution}, {record.sentiment}, importance {record.importance:.2f}"
        return "\n".join([*lines, f"= {said}; {', '.join(record.entities) or 'no entity'}"])


def described(conversation: Conversation, config: Config, messages: int) -> list[Described]:
    """All records of the first messages of a conversation."""
    told = conversation.messages[:messages]
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "sample.db", config=config) as memory:
        added = list(memory.add_many(told, user_id=USER, now=conversation.asked_at))
        memory.flush()
        if failures := memory.stats().failures:
            raise SystemExit(f"{conversation.name}: {failures[0]}")
        records = {one.episode_id: one for one in memory.records(user_id=USER, limit=None, now=conversation.asked_at)}
    found = []
    said = [f"{message.name}: {' '.join(message.content.split())}" for message in told]
    for place, one in enumerate(added):
        if one.id in records:
            first = max(0, place - AROUND)
            around = tuple(said[first : place + AROUND + 1])
            found.append(Described(conversation.name, records[one.id], around, place - first))
    return found


def drawn(found: Sequence[Sequence[Described]], count: int, seed: int) -> list[Described]:
    """`count` of the records, as evenly as may be from each conversation, in a random order."""
    chance = random.Random(seed)
    mixed = [chance.sample(list(own), len(own)) for own in found]
    deep = max(map(len, mixed), default=0)
    taken = [own[depth] for depth in range(deep) for own in mixed if depth < len(own)][:count]
    return chance.sample(taken, len(taken))


def counts(found: Sequence[Described]) -> str:
    """How many records have each type, with its resolutions, and each sentiment."""
    kinds = Counter(
        (one.record.type if one.record.resolution == "none" else f"{one.record.type}, {one.record.resolution}")
        for one in found
    )
    tones = Counter(str(one.record.sentiment) for one in found)
    rows = [f"{len(found)} records, with {sum(len(one.record.entities) for one in found)} entities"]
    return "\n".join(rows + [f"  {count:5}  {name}" for own in (kinds, tones) for name, count in own.most_common()])


def main() -> None:
    """Print counts and a sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the benchmark's")
    parser.add_argument("--half", choices=HALVES, default="all", help="which conversations, by their index from 0")
    parser.add_argument("--messages", type=int, default=120, metavar="N", help="of each conversation, the first ones")
    parser.add_argument("--records", type=int, default=50, metavar="N", help="how many records are shown")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--config", type=Path, help="configuration of the memory; the defaults without it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the sample")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    given = load_config(arguments.config)
    config = given.model_copy(update={"records": override(given.records, {"enabled": True})})
    chosen = load(arguments.data)[HALVES[arguments.half]]
    found = [described(conversation, config, arguments.messages) for conversation in chosen]
    print(counts([one for own in found for one in own]))
    sample = drawn(found, arguments.records, arguments.seed)
    for number, one in enumerate(sample, start=1):
        print(f"\n{number}. {one.conversation}\n{one}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([_row(one) for one in sample], ensure_ascii=False, indent=1) + "\n")


def _row(one: Described) -> dict[str, Any]:
    return {**asdict(one), "record": {**asdict(one.record), "occurred_at": one.record.occurred_at.isoformat()}}


if __name__ == "__main__":
    main()
