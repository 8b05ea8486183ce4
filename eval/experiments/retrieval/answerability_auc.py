"""How well `support` tells questions that the memory can answer from those that it cannot, on LoCoMo.

    python -m eval.experiments.retrieval.answerability_auc --data DIR

Unanswerable are the adversarial questions of the same conversation (its category 5), and questions of another
conversation with the speakers' names exchanged. Settings were tuned on even-indexed conversations; claims quote the
odd ones.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.metrics.retrieval_metrics import auc, mean
from eval.tasks.locomo import Conversation, load
from nscma_torch import Memory, Scope
from nscma_torch.search.search_bounds import Bounds


def supports(conversations: list[Conversation], place: int, folder: Path) -> dict[str, list[float]]:
    """Support of the answerable, the adversarial and the foreign questions of one conversation."""
    own = conversations[place]
    foreign = [
        exchanged(question.text, other, own)
        for other in conversations[place % 2 :: 2]
        if other is not own
        for question in other.questions[::4]
    ]
    texts = {
        "answerable": [question.text for question in own.questions],
        "adversarial": [question.text for question in own.unanswerable],
        "foreign": foreign,
    }
    with Memory(folder / f"{place}.db") as memory:
        list(memory.add_many(own.messages, user_id="reader"))
        rank, bounds = memory.components.searcher.rank, Bounds(Scope("reader"), own.asked_at)
        return {kind: [rank(t, bounds, 1).answerability() for t in some] for kind, some in texts.items()}


def exchanged(text: str, other: Conversation, own: Conversation) -> str:
    """A question of `other` with its speakers' names replaced by those of `own`."""
    names = [sorted({message.name or "" for message in c.messages}) for c in (other, own)]
    for old, new in zip(*names, strict=True):
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    return text


def main() -> None:
    """Print the AUC and the share of silent answers at the configured threshold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    conversations = load(arguments.data)
    with tempfile.TemporaryDirectory() as folder:
        measured = [supports(conversations, place, Path(folder)) for place in range(len(conversations))]
        with Memory(Path(folder) / "empty.db") as memory:
            needed = memory.config.answer.min_answerability
    kinds = ("answerable", "adversarial", "foreign")
    table = Table("conversations", "AUC adversarial", "AUC foreign", *(f"silent: {kind}" for kind in kinds))
    for name, some in (("even", measured[::2]), ("odd", measured[1::2]), ("all", measured)):
        values = {kind: [value for one in some for value in one[kind]] for kind in kinds}
        known = values["answerable"]
        areas = [auc(known + values[k], [True] * len(known) + [False] * len(values[k])) for k in kinds[1:]]
        silent = [mean([value < needed for value in values[kind]]) for kind in kinds]
        table.add_row(name, *(f"{area:.3f}" for area in areas), *(f"{share:.1%}" for share in silent))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
