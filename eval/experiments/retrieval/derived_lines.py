"""A sample of what sleep derives from a LoCoMo conversation without a language model, to be judged by hand.

    python -m eval.experiments.retrieval.derived_lines --data DIR --conversation I [--show N]

N lines of each kind are drawn by a fixed seed: summaries of days and of all days, insights into days and portraits
(MemoryBank), reflections (Generative Agents).
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from eval.tasks.locomo import load
from nscma_torch import Memory, load_config
from nscma_torch.records import DerivedKind

USER = "reader"
KINDS: tuple[DerivedKind, ...] = ("daily_summary", "global_summary", "daily_insight", "portrait", "reflection")
_SHOWN = 5  # messages of a line, at most
_SEED = 20
_DERIVED: dict[str, Any] = {
    "gate": {"rule": "everything"},
    "hierarchy": {"enabled": False},
    "daily": {"summaries": True, "portrait": True},
    "reflection": {"enabled": True},
}


def main() -> None:
    """Print how many lines of each kind there are, and the sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/")
    parser.add_argument("--conversation", type=int, required=True, help="by its index from 0")
    parser.add_argument("--show", type=int, default=4, metavar="N", help="print so many lines of each kind")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    conversation = load(arguments.data)[arguments.conversation]
    console = Console(width=160)
    with tempfile.TemporaryDirectory() as folder, Memory(f"{folder}/s.db", config=load_config(_DERIVED)) as memory:
        added = memory.add_many(conversation.messages, user_id=USER, infer=False, now=conversation.asked_at)
        place = {item.id: i for i, item in enumerate(added)}
        begin = time.process_time()
        _, failures = memory.components.derivations.run(USER, conversation.asked_at)
        console.print(f"{conversation.name}: {len(place)} messages, {time.process_time() - begin:.1f} s of a CPU")
        assert not failures, failures
        for kind in KINDS:
            lines = memory.derived(kind, user_id=USER)
            console.print(f"\n{kind}: {len(lines)}")
            for i in sorted(random.Random(_SEED).sample(range(len(lines)), min(arguments.show, len(lines)))):
                one = lines[i]
                head = f"- ({one.confidence:.2f}, {len(one.episode_ids)} messages, {len(one.derived_ids)} lines)"
                console.print(f"{head} {one.text}", markup=False, highlight=False)
                for source in one.episode_ids[:_SHOWN]:
                    said = conversation.messages[place[source]]
                    console.print(f"      {said.name}: {said.content}", style="dim", markup=False, highlight=False)


if __name__ == "__main__":
    main()
