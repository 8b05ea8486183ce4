"""HaluMem (Chen et al. 2025, arXiv:2511.03506): questions on dated chats of one user with an assistant over years.

Format: MemTensor/HaluMem, README.md @ 2fc3737f and scripts/stage6_2_final_result_medium.py @ 6574e503; CC BY-NC-ND 4.0.
`HaluMem-Medium.jsonl` and `HaluMem-Long.jsonl` hold 20 users each, one a line, with 3,467 questions in all. As in
eval/eval_memos.py @ 5e0c2774 there, a question is asked when its session has ended: a sample is a user's sessions up to
one with questions. `asked = "end"` asks all after the last session, as eval/eval_zep.py @ 2c69d40f does: cheaper, but
what changed meanwhile is then asked as it was. Halves are of users; where those of one half have more samples, the last
ones are left out and named. Turns of HaluMem-Long without a time have that of the turn before.

Of its three tasks this is the question answering; the other two judge each memory that a system extracts or changes,
which no system here tells. Its score is a language model's: correct, hallucination or omission. Without a judge two
measures of words stand in for it, and they are not it: "contains" and "F1", with "words" beside them. A question that
has no evidence asks for what was not said: right is to abstain. The memories that an answer follows from go with each
question's `facts` as its reference. Of our judge's verdicts "right" is correct; "wrong" tells no omission from a
hallucination.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import holds, token_f1, word_count
from eval.tasks.items import in_turn, whole
from eval.tasks.json_lines import line_at, placed_lines
from eval.tasks.options import TaskOptions, read_options
from nscma_torch.core.records import Message

_KEYS = ("question", "answer", "evidence", "question_type")


class HaluMemOptions(TaskOptions):
    """Options of HaluMem."""

    file: str = Field("halumem/HaluMem-Medium.jsonl", description="In the folder of the data.")
    asked: Literal["session", "end"] = Field("session", description="After its own session, or after all of them.")
    types: tuple[str, ...] = Field((), description="Which question types are asked; empty for all.")


class HaluMem:
    """HaluMem's questions, a sample for each session of a user that has some, or for each user."""

    metrics: tuple[str, ...] = ("contains", "words", "F1")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(HaluMemOptions(), section)
        self.name = options.name or "HaluMem"
        self._path = data / options.file
        self._types = set(options.types)
        self._place: dict[str, int] = {}
        self._asked: dict[str, tuple[str, tuple[int, ...]]] = {}  # user, and the sessions whose questions are asked
        malformed: list[str] = []
        halves: list[tuple[int, str]] = []
        for number, (place, user) in enumerate(placed_lines(self._path)):
            if problem := _problem(user):
                malformed.append(f"user {number}: {problem}")
                continue
            name = user["uuid"]
            self._place[name] = place
            for i, session in enumerate(user["sessions"]):
                malformed += whole(session.get("questions", ()), _KEYS, f"user {number}, session {i}, question")[1]
            own = tuple(i for i, session in enumerate(user["sessions"]) if self._questions(session))
            asked = [(f"{name}.{i}", (i,)) for i in own] if options.asked == "session" else [(name, own)] * bool(own)
            self._asked |= {id: (name, sessions) for id, sessions in asked}
            halves += [(number, id) for id, _ in asked]
        self._ids, left_over = in_turn(halves)
        self.malformed = (*malformed, *left_over)

    def ids(self) -> Sequence[str]:
        """`uuid.7`, for the questions of a user's session 7, from 0, or `uuid`; users of both halves in turn."""
        return self._ids

    def sample(self, id: str) -> Sample:
        """The sessions of a user until the questions are asked."""
        name, asked = self._asked[id]
        sessions = line_at(self._path, self._place[name])["sessions"]
        read = sessions[: asked[0] + 1] if id != name else sessions
        messages = _messages(read)
        questions = [_question(f"s{i}q{j}", item) for i in asked for j, item in enumerate(self._questions(sessions[i]))]
        last = messages[-1].timestamp
        assert last is not None
        return Sample(id, messages, questions, last + timedelta(minutes=1))

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """Words of the answer, or whether it abstained."""
        words = word_count(reply.text)
        if not question.answers:
            return {"contains": float(reply.abstained), "words": words}
        right = float(holds(reply.text, question.answers[0]))
        return {"contains": right, "words": words, "F1": token_f1(reply.text, question.answers)}

    def _questions(self, session: Mapping[str, Any]) -> list[dict[str, Any]]:
        good, _ = whole(session.get("questions", ()), _KEYS, "")
        return [item for item in good if not self._types or item["question_type"] in self._types]


def _question(id: str, item: Mapping[str, Any]) -> Question:
    said = "\n".join(str(memory["memory_content"]) for memory in item["evidence"])
    answers = (str(item["answer"]),) if said else ()
    return Question(id, item["question"], answers, item["question_type"], facts={"reference": said or item["answer"]})


def _messages(sessions: Sequence[Mapping[str, Any]]) -> list[Message]:
    messages: list[Message] = []
    before = _time(sessions[0])
    for number, session in enumerate(sessions):
        for turn in session["dialogue"]:
            before = _time(turn) or before
            messages.append(Message(turn["role"], turn["content"], before, session=str(number)))
    return messages


def _time(said: Mapping[str, Any]) -> datetime | None:
    """When a turn was said, or a session began; None where that is not told."""
    text = said.get("timestamp") or said.get("start_time")
    return datetime.strptime(text, "%b %d, %Y, %H:%M:%S").replace(tzinfo=UTC) if text else None


def _problem(user: Any) -> str:
    """Why a user cannot be used; "" where it can."""
    if not isinstance(user, dict) or not user.get("uuid") or not user.get("sessions"):
        return "no uuid or no sessions"
    if any("dialogue" not in session for session in user["sessions"]):
        return "a session without dialogue"
    try:
        times = [_time(session) for session in user["sessions"]]
        times += [_time(turn) for session in user["sessions"] for turn in session["dialogue"]]
    except ValueError as error:
        return str(error)
    return "" if times[0] else "no time at which it begins"
