"""Tool-use traces for the controller: its own prompts over real memories, with the right replies.

The real `Controller` converses with an engine that knows the answers (`Oracle`); what it asked and what it was told is
the trace, so that training and serving cannot differ in format. The oracle goes by what a prompt shows: it answers only
what stands there, and searches the memory for the rest. Neither facts nor the trained reader answer here, so that every
question reaches the model.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from eval.harness.fakes import IndifferentSurpriseModel
from nscma_torch.api.memory import Memory
from nscma_torch.controller.controller import Controller
from nscma_torch.core.config import ControllerConfig
from nscma_torch.core.errors import EngineError, InvalidInputError
from nscma_torch.core.records import Message
from nscma_torch.llm.engines.contract import Reply, Request, Token, Turn
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.llm.prompts.acting import (
    Act,
    Conclusion,
    DraftForm,
    FinalAnswer,
    Memorize,
    RetrieveEpisodic,
    RetrieveSemantic,
    SearchAct,
)
from nscma_torch.llm.prompts.answering import ContainedForm, ShortAnswerForm, TextForm
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from train.controller.controller_dialogues import Dialogue, Fact, Said, Split, Wording, made_up

_EARLIER = datetime(2026, 3, 2, 9, tzinfo=UTC)
_SPAN = 300  # days over which dialogues are spread
_NO_LIMIT = 1 << 20  # tokens; no prompt of these dialogues comes near


@dataclass(frozen=True, slots=True)
class Trace:
    """One decision: the prompt, the JSON object of the right reply, and the made-up words in both."""

    form: str
    situation: str
    turns: tuple[Turn, ...]
    reply: Mapping[str, Any]
    words: tuple[str, ...]

    def renamed(self, rng: random.Random, split: Split) -> Trace:
        """The same of other made-up words."""
        fresh: list[str] = []
        while len(fresh) < len(self.words):
            word = made_up(rng, split)
            if word not in fresh and word not in self.words:
                fresh.append(word)
        new = dict(zip(self.words, fresh, strict=True))
        known = re.compile(r"\b(?:" + "|".join(self.words) + r")\b")

        def rename(text: str) -> str:
            return known.sub(lambda found: new[found[0]], text)

        turns = tuple(Turn(turn.role, rename(turn.content)) for turn in self.turns)
        reply = json.loads(rename(json.dumps(self.reply)))
        return Trace(self.form, self.situation, turns, reply, tuple(fresh))

    def line(self) -> str:
        """As a line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def of_line(cls, line: str) -> Trace:
        """What `line` wrote."""
        read = json.loads(line)
        turns = tuple(Turn(**turn) for turn in read.pop("turns"))
        return cls(turns=turns, words=tuple(read.pop("words")), **read)


class Oracle:
    """A `LanguageEngine` that gives the right replies to the turn that it is told of, and records them.

    Attributes:
        said: the turn that is being answered.
    """

    name = "oracle"
    context = 2 * _NO_LIMIT

    def __init__(self, unknown: str) -> None:
        self.said: Said | None = None
        self.words: tuple[str, ...] = ()
        self.traces: list[Trace] = []
        self._unknown = unknown

    def count_tokens(self, prompts: Sequence[Sequence[Turn]]) -> list[int]:
        """Words: the traces are cut by no limit."""
        return [sum(len(turn.content.split()) for turn in turns) for turns in prompts]

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """The right reply to each, as sure as can be."""
        return [self._reply(request) for request in requests]

    def close(self) -> None:
        """Nothing to let go of."""

    def _reply(self, request: Request) -> Reply:
        assert self.said is not None and request.schema is not None
        form = str(request.schema["title"])
        shown = _shown(request)
        right: dict[str, Callable[[Said, Mapping[str, Any]], ReplyForm]] = {
            "DraftForm": self._draft,
            "Act": self._act,
            "SearchAct": self._search,
            "ContainedForm": lambda said, shown: ContainedForm(contain_answer=_stated(said, shown) is not None),
            "ShortAnswerForm": lambda said, _: ShortAnswerForm(short_answer=_value(said)),
            "TextForm": lambda said, _: TextForm(text=_value(said)),
            "Conclusion": self._conclusion,
        }
        if form not in right:
            raise InvalidInputError(
                f"the controller asks for a {form}, which these dialogues have no right reply to; raise "
                "controller.active_turns above the turns of a dialogue"
            )
        filled = right[form](self.said, shown)
        self.traces.append(Trace(form, self.said.situation, request.turns, filled.model_dump(mode="json"), self.words))
        text = filled.model_dump_json()
        (prompt,) = self.count_tokens([request.turns])
        return Reply(text, prompt, len(text.split()), True, (Token(text, 0.0),))

    def _draft(self, said: Said, _: Mapping[str, Any]) -> DraftForm:
        return DraftForm(known=said.situation != "remember", text=said.reply)

    def _act(self, said: Said, shown: Mapping[str, Any]) -> Act:
        if said.situation == "remember" and not shown.get("done"):
            return Act(act=Memorize(action="memorize", content=said.keep))
        return Act(act=FinalAnswer(action="answer", text=said.reply, evidence=()))

    def _search(self, said: Said, _: Mapping[str, Any]) -> SearchAct:
        assert said.fact is not None
        return SearchAct(act=search_for(said.fact))

    def _conclusion(self, said: Said, shown: Mapping[str, Any]) -> Conclusion:
        if said.situation in ("talk", "told", "remember"):
            return Conclusion(text=said.reply, evidence=())
        place = _stated(said, shown)
        numbers = () if place is None or place >= len(shown.get("found", ())) else (place + 1,)
        return Conclusion(text=self._unknown if place is None else _value(said), evidence=numbers)


def search_for(fact: Fact) -> RetrieveSemantic | RetrieveEpisodic:
    """The search that finds a fact."""
    if fact.tool == "retrieve_semantic":
        return RetrieveSemantic(action="retrieve_semantic", entity=fact.entity)
    return RetrieveEpisodic(action="retrieve_episodic", query=fact.query)


def _value(said: Said) -> str:
    assert said.fact is not None
    return said.fact.value


def _stated(said: Said, shown: Mapping[str, Any]) -> int | None:
    """The first text shown that holds the answer: a value is said of one person and of nothing else."""
    word = re.compile(rf"\b{_value(said)}\b")
    texts = [item["text"] for key in ("found", "earlier_turns") for item in shown.get(key, ())]
    return next((place for place, text in enumerate([*texts, *shown.get("messages", ())]) if word.search(text)), None)


def _shown(request: Request) -> dict[str, Any]:
    """The data that a prompt quotes; of a prompt for the answer to a question, its `messages`."""
    head, data, *rest = request.turns[-1].content.split("\n")
    if head == "Messages:":
        return {"messages": [json.loads(line) for line in [data, *rest[: rest.index("")]]]}
    shown: dict[str, Any] = json.loads(data)
    return shown


@contextmanager
def open_world(store: Path, settings: ControllerConfig, *, answering: bool = True) -> Iterator[Memory]:
    """A memory of many users that keeps everything, without a model: what is learned here is to ask it, not to find.

    Unless it is `answering`, neither facts nor the trained reader answer a question.
    """
    sections: dict[str, Any] = {
        "device": "cpu",
        "embedder": {"model": "hash"},
        "gate": {"rule": "everything"},
        "hierarchy": {"enabled": False},
        "controller": settings.model_dump(),
    }
    if not answering:
        sections |= {"facts": {"answer": False}, "reading": {"model": "none"}}
    memory = Memory(store, config=sections, embedder=HashEmbedder(), surprise_model=IndifferentSurpriseModel())
    try:
        yield memory
    finally:
        memory.close()


def begun(memory: Memory, dialogue: Dialogue, user: str, number: int) -> datetime:
    """Tell the facts of the earlier conversation; returns when the present one begins."""
    at = _EARLIER + timedelta(days=number % _SPAN)
    messages = [Message("user", text) for text in dialogue.earlier]
    memory.add(messages, user_id=user, run_id="earlier", now=at)
    memory.flush()
    return at + timedelta(days=2 + number % 5)


def traces_of(
    store: Path, settings: ControllerConfig, wording: Wording, split: Split, *, dialogues: int, seed: int
) -> Iterator[Trace]:
    """The traces of so many dialogues. Each question is also asked without a draft, as `threshold` 0 has it."""
    settings = settings.model_copy(
        update={"prompt_tokens": _NO_LIMIT, "turn_tokens": 64 * _NO_LIMIT, "reply_tokens": 512, "threshold": 0.5}
    )
    rng = random.Random(f"{seed} {split}")
    with open_world(store, settings, answering=False) as memory:
        for number in range(dialogues):
            dialogue, user = wording.dialogue(rng, split), f"{split} {seed} {number}"
            now = begun(memory, dialogue, user, number)
            oracle = Oracle(wording.unknown)
            oracle.words = dialogue.words
            controller = Controller(memory, oracle, user_id=user, run_id="present")
            for minute, said in enumerate(dialogue.turns):
                oracle.said = said
                at = now + timedelta(minutes=minute)
                if said.situation in ("talk", "told", "in context") and rng.random() < 0.25:
                    controller.consider(said.text, threshold=0.0, now=at)
                controller.turn(said.text, now=at)
            yield from oracle.traces
