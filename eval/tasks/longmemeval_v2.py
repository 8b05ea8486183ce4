"""LongMemEval-V2 (Wu et al. 2026, arXiv:2605.12493): what an agent should know of the sites that it has worked on.

Format: xiaowu0162/LongMemEval-V2, README.md @ 8e8b92a3, data/public_data.py @ c5c552df,
memory_modules/trajectory_store.py @ c5c552df and evaluation/harness.py @ be15ea6e; data Apache-2.0 (its dataset card).
`questions.jsonl` holds 451 questions of two domains, `trajectories.jsonl` what agents saw and did, and
`haystacks/lme_v2_small.json` (or `_medium`) which of these come before each question, up to 500. Questions with the
same ones, in the same order, are one sample. Each state is read as text: its address, the agent's thought and action,
and the accessibility tree. Screenshots are not read, so that scores are not those of the leaderboard; a question that
shows an image is left out and named. There are no dates.

Score ("accuracy"): the question's `eval_function`, by evaluation/qa_eval_metrics.py @ c5c552df, of what stands in the
reply's last `boxed{}`, or of all of it; UNKNOWN and abstaining are wrong. Two of its functions ask a language model,
for flawed premises and for gotchas: the answers of such questions are for a judge, and here there is "words" alone. The
benchmark's is content with one point of a gotcha, as the rubric that goes with it says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import word_count
from eval.tasks.corpus import WRITTEN, file_messages
from eval.tasks.json_lines import line_at, placed_lines
from eval.tasks.options import TaskOptions, read_options
from nscma_torch.core.records import Message

_KEYS = ("id", "domain", "question_type", "question", "answer", "eval_function")
_STEP = timedelta(seconds=30)
_GOTCHA = ("tells at least one point of the expected answer, whichever, and contradicts none of them",)
_FILLER = ("AND", "ANSWER", "ANSWERS", "CHOICE", "CHOICES", "FINAL", "LETTER", "LETTERS", "OPTION", "OPTIONS")


class LongMemEvalV2Options(TaskOptions):
    """Options of LongMemEval-V2."""

    folder: str = Field("longmemeval-v2", description="In the folder of the data.")
    tier: Literal["small", "medium"] = Field("small", description="How many trajectories come before a question.")
    domain: Literal["web", "enterprise"] = Field("web", description="Which questions.")
    types: tuple[str, ...] = Field((), description="Which question types are asked; empty for all.")


class LongMemEvalV2:
    """LongMemEval-V2's questions, a sample for each list of trajectories."""

    metrics: tuple[str, ...] = ("accuracy", "words")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(LongMemEvalV2Options(), section)
        self.name = options.name or f"LongMemEval-V2 {options.domain} {options.tier}"
        folder = data / options.folder
        haystacks = json.loads((folder / "haystacks" / f"lme_v2_{options.tier}.json").read_text(encoding="utf-8"))
        self._trajectories = folder / "trajectories.jsonl"
        self._place = {own["id"]: place for place, own in placed_lines(self._trajectories)}
        self._haystack: dict[str, tuple[str, ...]] = {}
        self._questions: dict[str, list[Question]] = {}
        malformed: list[str] = []
        sample_of: dict[tuple[str, ...], str] = {}
        for number, (_, row) in enumerate(placed_lines(folder / "questions.jsonl")):
            if problem := _problem(row, haystacks, self._place):
                malformed.append(f"question {number}: {problem}")
            elif row["domain"] == options.domain:
                haystack = tuple(haystacks[row["id"]])
                id = sample_of.setdefault(haystack, row["id"])
                self._haystack[id] = haystack
                asked = self._questions.setdefault(id, [])
                if not options.types or row["question_type"] in options.types:
                    asked.append(_question(row))
        self._ids = [id for id, asked in self._questions.items() if asked]
        self.malformed = tuple(malformed)

    def ids(self) -> Sequence[str]:
        """The id of the first question of each sample."""
        return self._ids

    def sample(self, id: str) -> Sample:
        """The trajectories that come before some questions."""
        messages: list[Message] = []
        for name in self._haystack[id]:
            for text in _texts(line_at(self._trajectories, self._place[name])):
                messages += file_messages(name, text)
        return Sample(id, messages, self._questions[id], WRITTEN + timedelta(days=1))

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """Whether the function of the question takes the reply as right, where it asks no language model."""
        words = {"words": word_count(reply.text)}
        name, given = _function(question.facts["function"])
        if name.startswith("llm_"):
            return words
        said = _boxed(reply.text)
        known = bool(said) and said.lower() != "unknown" and not reply.abstained
        return {"accuracy": float(known and _MATCHES[name](said, question.answers[0], given)), **words}


def _question(row: Mapping[str, Any]) -> Question:
    function = row["eval_function"]
    facts: dict[str, Any] = {"function": function}
    if _function(function)[0] == "llm_gotchas_checker":
        facts["rubric"] = _GOTCHA
    return Question(row["id"], row["question"], (row["answer"],), row["question_type"], facts=facts)


def _problem(row: Any, haystacks: Mapping[str, Any], place: Mapping[str, int]) -> str:
    """Why a question cannot be asked; "" where it can."""
    if missing := [key for key in _KEYS if not isinstance(row.get(key), str)]:
        return f"no {', '.join(missing)}"
    if row.get("image"):
        return f"{row['id']} shows an image"
    name, _ = _function(row["eval_function"])
    if name not in _MATCHES and name not in ("llm_abstention_checker", "llm_gotchas_checker"):
        return f"{row['id']} is scored by {name}, which is not known"
    lost = [own for own in haystacks.get(row["id"], ()) if own not in place]
    return f"{row['id']} has no trajectory {', '.join(lost)}" if lost or row["id"] not in haystacks else ""


def _texts(trajectory: Mapping[str, Any]) -> list[str]:
    """What a trajectory is for, and each of its states."""
    head = [f"Goal: {trajectory['goal']}", f"Begins at {trajectory['start_url']}"]
    head += [f"Outcome: {trajectory['outcome']}"] if trajectory.get("outcome") else []
    texts = ["\n".join(head)]
    for state in trajectory["states"]:
        thought = state.get("thought", state.get("thoughts"))
        told = [f"At {state['url']}", thought, f"Action: {state['action']}" if state.get("action") else None]
        texts.append("\n".join(filter(None, [*told, state.get("accessibility_tree", state.get("text"))])))
    return texts


def _function(spec: str) -> tuple[str, dict[str, str]]:
    """Name and options of `name|key=value|…`."""
    name, *rest = (part.strip() for part in spec.split("|"))
    return name, {key.strip(): value.strip() for key, _, value in (part.partition("=") for part in rest if part)}


def _boxed(reply: str) -> str:
    """What stands in the last \\boxed{} of a reply, braces in it paired; all of it where there is none."""
    _, found, rest = reply.rpartition("\\boxed{")
    depth, inside = 1, []
    for character in rest if found else "":
        depth += {"{": 1, "}": -1}.get(character, 0)
        if not depth:
            break
        inside.append(character)
    return "".join(inside).strip() or reply.strip()


def _phrase(text: str, given: Mapping[str, str]) -> str:
    """Normalised as the options of a function say."""

    def wanted(key: str) -> bool:
        return given.get(key, "true").lower() == "true"

    text = text.lower() if wanted("lower") else text
    text = re.sub(r"[-_]", " ", text) if wanted("normalize_hyphen") else text
    text = re.sub(r"[,;]", " ", text)
    text = re.sub(r"[^\w\s]", "", text) if wanted("strip_punct") else text
    return " ".join(text.split())


def _phrases(answer: str, given: Mapping[str, str]) -> list[str]:
    """The parts of an answer, normalised, without those of which nothing is left."""
    listed = given.get("separators", ",;")
    marks = json.loads(listed) if listed.startswith("[") else [mark for mark in listed if not mark.isspace()]
    parts = re.split("|".join(map(re.escape, marks)), answer) if marks else [answer]
    return list(filter(None, (_phrase(part, given) for part in parts)))


def _set_match(reply: str, answer: str, given: Mapping[str, str]) -> bool:
    said, wanted = _phrase(reply, given), _phrases(answer, given)
    return bool(wanted) and all(re.search(rf"\b{re.escape(part)}\b", said) for part in wanted)


def _ordered_match(reply: str, answer: str, given: Mapping[str, str]) -> bool:
    said, wanted = _phrase(reply, given), _phrases(answer, given)
    for part in wanted:
        found = re.search(rf"\b{re.escape(part)}\b", said)
        if found is None:
            return False
        said = said[found.end() :]
    return bool(wanted)


def _choice_match(reply: str, answer: str, given: Mapping[str, str]) -> bool:
    said = re.sub(r"\b(choice|option)\b", "", reply, flags=re.IGNORECASE)
    return said.translate({ord(mark): None for mark in given.get("strip_chars", ".")}).strip().upper() == (
        answer.strip().upper()
    )


def _choices_match(reply: str, answer: str, _: Mapping[str, str]) -> bool:
    said, wanted = (
        {letter for word in re.findall("[A-Z]+", text.upper()) if word not in _FILLER for letter in word}
        for text in (reply, answer)
    )
    return bool(wanted) and said == wanted


_MATCHES = {
    "norm_phrase_set_match": _set_match,
    "norm_phrase_set_match_ordered": _ordered_match,
    "mc_choice_match": _choice_match,
    "mc_choice_set_match": _choices_match,
}
