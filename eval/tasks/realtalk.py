"""REALTALK (Lee et al. 2025, arXiv:2502.13270): chats of two people over 21 days, as they wrote them, and questions.

Format: danny911kr/REALTALK, `data/Chat_*.json` @ b903e06a, as programs of others read it, one of which holds its ten
files by their hashes and counts 728 questions; the files themselves and a licence have not been seen. Each chat has
`session_1`, `session_2`, … (turns with `dia_id`, `speaker`, `date_time`, `clean_text` and, of a picture,
`blip_caption`) and `qa` with categories 1 multi-hop, 2 temporal, 3 commonsense. A chat is a sample. As in LoCoMo a
caption is read with the text of its turn; a turn with neither is left out. Evidence that names no turn is dropped and
reported; several ids may stand in one text.

The benchmark's own evaluation could not be read. The score is that of LoCoMo, whose format and categories 1 to 3 it
shares and on which it says that it builds: F1 by `eval.metrics.answer_metrics.locomo_f1`, recall of the evidence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import evidence_recall, locomo_f1
from eval.tasks.items import whole
from eval.tasks.options import TaskOptions, read_options
from nscma_torch.core.records import Message

_NUMBER = re.compile(r"Chat_(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_TURN_ID = re.compile(r"D\d+:\d+")


class RealTalkOptions(TaskOptions):
    """Options of REALTALK."""

    folder: str = Field("realtalk", description="Of the Chat_*.json files, in the folder of the data.")
    categories: tuple[Literal[1, 2, 3], ...] = Field((1, 2, 3), description="1 multi-hop, 2 temporal, 3 commonsense.")


class RealTalk:
    """REALTALK's questions, a chat a sample."""

    metrics: tuple[str, ...] = ("F1", "recall@5", "recall@10")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(RealTalkOptions(), section)
        self.name = options.name or "REALTALK"
        found = ((_NUMBER.match(path.stem), path) for path in (data / options.folder).glob("Chat_*.json"))
        paths = [path for _, path in sorted((int(match[1]), path) for match, path in found if match)]
        self._samples: dict[str, Sample] = {}
        malformed: list[str] = []
        for path in paths:
            chat = json.loads(path.read_text(encoding="utf-8"))
            messages, place = _messages(chat)
            questions, wrong = _questions(chat["qa"], place, options.categories)
            malformed += [f"{path.stem}: {item}" for item in wrong]
            last = messages[-1].timestamp
            assert last is not None
            self._samples[path.stem] = Sample(path.stem, messages, questions, last + timedelta(days=1))
        self.malformed = tuple(malformed)

    def ids(self) -> Sequence[str]:
        """Names of the chats, by their numbers."""
        return list(self._samples)

    def sample(self, id: str) -> Sample:
        """A chat with its questions of the categories that are asked for."""
        return self._samples[id]

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """F1 by the rule of its category, recall of the evidence."""
        right = locomo_f1(reply.text, question.answers[0], int(question.category))
        return {"F1": right, **evidence_recall(question.evidence, reply.evidence)}


def _messages(chat: Mapping[str, Any]) -> tuple[list[Message], dict[str, int]]:
    """All turns in order, and the place of each by its id."""
    messages: list[Message] = []
    place: dict[str, int] = {}
    for number in sorted(int(match[1]) for key in chat if (match := _SESSION.fullmatch(key))):
        for turn in chat[f"session_{number}"]:
            text = " ".join(filter(None, (turn.get("clean_text"), turn.get("blip_caption"))))
            if text.strip():
                place[turn["dia_id"]] = len(messages)
                said = datetime.strptime(turn["date_time"], "%d.%m.%Y, %H:%M:%S").replace(tzinfo=UTC)
                messages.append(Message("user", text, said, turn["speaker"], f"session_{number}"))
    return messages, place


def _questions(
    qa: Sequence[Any], place: Mapping[str, int], categories: Sequence[int]
) -> tuple[list[Question], list[str]]:
    """The questions of some categories, and what of them cannot be used."""
    items, malformed = whole(qa, ("question", "answer", "category"), "question")
    questions: list[Question] = []
    for item in items:
        named = item.get("evidence") or ()
        turns = [turn for text in named for turn in _TURN_ID.findall(text)]
        malformed += [text for text in named if not _TURN_ID.search(text)]
        malformed += [turn for turn in turns if turn not in place]
        evidence = tuple(sorted({place[turn] for turn in turns if turn in place}))
        category, id = int(item["category"]), f"q{len(questions)}"
        questions.append(Question(id, item["question"], (str(item["answer"]),), str(category), evidence))
    return [question for question in questions if int(question.category) in categories], malformed
