"""What structured records cost: processor time of `add` and `flush` with `records.enabled`, over that without.

    python -m eval.experiments.speed.record_cost --data DIR [--messages N] [--rounds N]

The first messages of a LoCoMo conversation go into a fresh store, in turn with and without records; models are loaded
before. The ratio is of the sums over all rounds, and of each part of the work.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import torch

from eval.tasks.locomo import Conversation, load
from nscma_torch import Memory

USER = "cost"


def seconds(conversation: Conversation, count: int, *, records: bool) -> tuple[float, float]:
    """Processor time of `add` and of `flush`."""
    config = {"records": {"enabled": records}}
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "cost.db", config=config) as memory:
        begin = time.process_time()
        list(memory.add_many(conversation.messages[:count], user_id=USER, now=conversation.asked_at))
        added = time.process_time()
        memory.flush()
        flushed = time.process_time()
        made = len(memory.records(user_id=USER, limit=None, now=conversation.asked_at))
        if bool(made) != records:
            raise SystemExit(f"{made} records were made: {memory.stats().failures}")
    return added - begin, flushed - added


def main() -> None:
    """Print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the benchmark's")
    parser.add_argument("--messages", type=int, default=120, metavar="N", help="of the conversation")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="with and without, each")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    conversation = load(arguments.data)[0]
    for records in (False, True):  # loads every model
        seconds(conversation, 20, records=records)
    sums = {False: [0.0, 0.0], True: [0.0, 0.0]}
    for number in range(arguments.rounds):
        for records in (bool(number % 2), not number % 2):
            for place, own in enumerate(seconds(conversation, arguments.messages, records=records)):
                sums[records][place] += own
    off, on = sums[False], sums[True]
    count = arguments.rounds * arguments.messages
    print(
        f"{arguments.rounds} rounds of {arguments.messages} messages, ms of processor time a message: "
        f"add {off[0] / count * 1e3:.1f} without and {on[0] / count * 1e3:.1f} with records, "
        f"flush {off[1] / count * 1e3:.1f} and {on[1] / count * 1e3:.1f}; "
        f"add and flush together {sum(on) / sum(off):.2f} times, flush alone {on[1] / off[1]:.2f} times"
    )


if __name__ == "__main__":
    main()
