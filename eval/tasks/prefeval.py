"""PrefEval (Zhao et al. 2025, arXiv:2502.09597): a request that a preference stated long before should decide.

Format: amazon-science/PrefEval, as read in its copy zhucaroline18/OwnPrefEval, README.md @ 505a4d2d and
`benchmark_dataset/` @ 5f3d3cd9, 20 topics with a file each; the licence of the data was not seen. An item is a sample:
the preference in one sentence (`form = "explicit"`), or a choice among options ("choice") or a longer chat ("persona")
that it shows in, then the first `turns` exchanges of `filtered_inter_turns.json`, which are about other things, as in
utils/common_utils.py @ 50795054, and the request. The source lets the model under test reply to the preference; here
nobody does. Halves are of items, within each topic.

`task = "choice"`: accuracy over four options, the first of which is the right one in the file; they are shuffled by the
`seed` and the sample. "answer" is the benchmark's other task, whose score takes a language model
(generation_task/llm_based_evaluation_errortypes.py @ 5f3d3cd9): without one there is only "words". For our judge a
right reply is a helpful one that keeps to the preference. Recall is of the messages that show the preference, and is
ours.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import chosen_option, evidence_recall, word_count
from eval.tasks.corpus import WRITTEN
from eval.tasks.items import in_turn
from eval.tasks.options import TaskOptions, read_options
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message

_FOLDERS = {
    "explicit": "explicit_preference",
    "choice": "implicit_preference/choice-based",
    "persona": "implicit_preference/persona-driven",
}
_STEP = timedelta(seconds=30)
_BY_USER = ("query", "user_selection")  # keys of a choice-based conversation


class PrefEvalOptions(TaskOptions):
    """Options of PrefEval."""

    folder: str = Field("prefeval/benchmark_dataset", description="In the folder of the data.")
    form: Literal["explicit", "choice", "persona"] = Field("explicit", description="How the preference is shown.")
    task: Literal["choice", "answer"] = Field("choice", description="Choosing one of four options, or answering.")
    topics: tuple[str, ...] = Field((), description="Names of files without .json; empty for all.")
    turns: int = Field(10, ge=0, le=300, description="Exchanges about other things before the request.")
    seed: int = Field(1, description="Of the order of the options.")


class PrefEval:
    """PrefEval's requests, one a sample."""

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        self._options = options = read_options(PrefEvalOptions(), section)
        self.name = options.name or f"PrefEval {options.form}"
        measures = ("accuracy",) if options.task == "choice" else ("words",)
        self.metrics: tuple[str, ...] = (*measures, "recall@5", "recall@10")
        folder = data / options.folder
        told = folder / _FOLDERS[options.form]
        topics = options.topics or [path.stem for path in sorted(told.glob("*.json"))]
        keys = ("preference", "question", *(("conversation",) if options.form != "explicit" else ()))
        self._items: dict[str, dict[str, Any]] = {}
        numbered: list[tuple[int, str]] = []
        malformed: list[str] = []
        for topic in topics:
            items = json.loads((told / f"{topic}.json").read_text(encoding="utf-8"))
            choices: dict[int, Mapping[str, Any]] = {}
            if options.task == "choice":
                listed = json.loads((folder / "mcq_options" / f"{topic}.json").read_text(encoding="utf-8"))
                choices = dict(enumerate(listed))
            for number, item in enumerate(items):
                id, choice = f"{topic}-{number}", choices.get(number, {})
                if any(key not in item for key in keys):
                    malformed.append(f"{id}: not all of {', '.join(keys)}")
                elif options.task == "choice" and choice.get("question") != item["question"]:
                    malformed.append(f"{id}: mcq_options has another question there")
                else:
                    self._items[id] = {**item, "options": choice.get("classification_task_options", ())}
                    numbered.append((number, id))
        self._between = _between(folder / "filtered_inter_turns.json", options.turns)
        self._ids, left_over = in_turn(numbered)
        self.malformed = (*malformed, *left_over)

    def ids(self) -> Sequence[str]:
        """Topic and number of the item in its file, from 0, of both halves in turn."""
        return self._ids

    def sample(self, id: str) -> Sample:
        """What shows the preference, what comes between, and the request."""
        item = self._items[id]
        shown = self._shown(item)
        said = [*shown, *self._between]
        messages = [Message(role, text, WRITTEN + i * _STEP) for i, (role, text) in enumerate(said)]
        topic, evidence = id.rpartition("-")[0], tuple(range(len(shown)))
        if self._options.task == "choice":
            options = list(item["options"])
            right = options[0]
            random.Random(f"{self._options.seed} {id}").shuffle(options)
            question = Question("q0", item["question"], (right,), topic, evidence, tuple(options))
        else:
            wanted = f"A helpful reply that keeps to this preference of the user's: {item['preference']}"
            question = Question("q0", item["question"], (wanted,), topic, evidence)
        return Sample(id, messages, [question], WRITTEN + len(said) * _STEP)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """Whether it chose the right option, or how long the reply is; recall of what shows the preference."""
        found = evidence_recall(question.evidence, reply.evidence)
        if not question.options:
            return {"words": word_count(reply.text), **found}
        chosen = chosen_option(reply.text, question.options)
        return {"accuracy": float(chosen is not None and question.options[chosen] == question.answers[0]), **found}

    def _shown(self, item: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Who said what of the messages that show the preference."""
        if self._options.form == "explicit":
            return [("user", item["preference"])]
        talk = item["conversation"]
        if self._options.form == "choice":
            return [("user" if key in _BY_USER else "assistant", text) for key, text in talk.items()]
        return [(role, text) for turn in talk.values() for role, text in turn.items()]


def _between(path: Path, turns: int) -> list[tuple[str, str]]:
    """Who said what in the first exchanges. Raises `ConfigError` where there are fewer."""
    talks = json.loads(path.read_text(encoding="utf-8"))
    said = [(turn["role"], turn["content"]) for talk in talks for turn in talk["conversation"]]
    if len(said) < 2 * turns:
        raise ConfigError(f"{path} has {len(said) // 2} exchanges; ask for turns = {len(said) // 2} or fewer")
    return said[: 2 * turns]
