"""Evidence recall on LoCoMo under a configuration, and under the same one with some keys changed.

    python -m eval.experiments.retrieval.preset_recall --data DIR --config papers/generative_agents --half even \
        --without 'score.scaling="none"' --without 'score.scaling="none"' 'score.recency_since="said"'

Questions are asked one after the other in the order of the file, a minute apart: what one finds may count for the next
one (`score.recency_since`). Messages are not read for facts: it is for presets that search chunks.
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from eval.metrics.retrieval_metrics import mean, recall_at
from eval.tasks.locomo import Conversation, load
from nscma_torch import Memory, load_config
from nscma_torch.config import Config

_KS = (5, 10, 20)


def measure(conversation: Conversation, config: Config) -> list[list[float]]:
    """The recalls of each question."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "recall.db", config=config) as memory:
        added = memory.add_many(conversation.messages, user_id="reader")
        place = {item.id: i for i, item in enumerate(added)}
        found = []
        for number, question in enumerate(conversation.questions):
            now = conversation.asked_at + timedelta(minutes=number)
            hits = memory.search(question.text, user_id="reader", top_k=2 * max(_KS), now=now)
            turns = list(dict.fromkeys(place[hit.id] for hit in hits))
            found.append([recall_at(turns, question.evidence, k) for k in _KS])
        return found


def changed(config: Config, settings: Sequence[str]) -> Config:
    """The configuration with keys set, each as section.key=value, the value as in TOML."""
    sections: dict[str, Any] = config.model_dump()
    for setting in settings:
        name, _, value = setting.partition("=")
        section, _, key = name.partition(".")
        if not isinstance(sections.get(section), Mapping) or key not in sections[section]:
            raise SystemExit(f"there is no key {name!r}")
        sections[section] = {**sections[section], key: tomllib.loads(f"key = {value}")["key"]}
    return load_config(sections)


def main() -> None:
    """Print one row for each variant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/")
    parser.add_argument("--config", default="papers/generative_agents", help="a configuration, by name or path")
    parser.add_argument("--half", choices=("even", "odd", "all"), default="even", help="of the conversations")
    parser.add_argument(
        "--without", action="append", nargs="+", default=[], help="keys of a variant: section.key=value"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    every = load(arguments.data)
    conversations = {"even": every[::2], "odd": every[1::2], "all": every}[arguments.half]
    whole = load_config(arguments.config)
    table = Table("configuration", "questions", *(f"{arguments.half} R@{k}" for k in _KS))
    for variant in ([], *arguments.without):
        recalls = [row for one in conversations for row in measure(one, changed(whole, variant))]
        means = (f"{mean([row[i] for row in recalls]):.3f}" for i in range(len(_KS)))
        table.add_row(" ".join([arguments.config, *variant]), str(len(recalls)), *means)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
