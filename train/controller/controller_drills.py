"""Drills: many questions over one prompt, from which a model that was made from nothing learns to find and to copy.

A trace asks for one value of a few tokens after a prompt of hundreds, and a fresh model learns copying from such after
many steps only. A drill quotes some facts as a prompt of the controller does and asks for all of them, one after the
other, each with its right reply; the number of facts may grow from one. What is learned on drills serves traces: forms,
prompts and wording are theirs, but only the first turn has the task of an action. Before them come lists of made-up
words that are said twice, and facts in plain sentences with plain questions. Many of those are of one kind, so that
only the name tells which value is asked for.

Shapes: B rows of a batch, T tokens of its longest.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from torch import Tensor

from nscma_torch.core.records import AskedQuestion
from nscma_torch.llm.engines.chat_template import ChatTemplate
from nscma_torch.llm.engines.contract import Turn
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.llm.prompts.acting import Act, Desk, FinalAnswer, Memorize, SearchAct, act_turns, search_turns
from nscma_torch.llm.prompts.answering import ContainedForm, ShortAnswerForm, answering, contained, shown_line
from nscma_torch.text.calendar.timestamps import WEEKDAYS, format_day
from train.controller.controller_dialogues import Fact, Split, Wording, made_up
from train.controller.controller_examples import IGNORED, collated
from train.controller.controller_traces import search_for

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_FIRST_DAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
_DAYS = 330
_BETWEEN = ('", "', ", ", ". ", "; ", " and ")
_INSIDE = (" lives in ", ": ", " works at ", " ")
_KINDS = (1, 2, 2, 3)
_PEOPLE = 7  # that facts of few kinds are about
_FORMS: tuple[type[ReplyForm], ...] = (ShortAnswerForm, ContainedForm, SearchAct, Act)
_SAYS = "\n\nThe user says now: "


def drill(rng: random.Random, wording: Wording, split: Split, facts: int) -> tuple[Turn, ...]:
    """Turns of system, user, assistant, user, assistant …: the prompt shows so many facts.

    A drill asks for the values of the facts; or if the messages contain them, and so too for facts that they lack; or
    for searches for facts that they lack; or for what to do with messages that tell such, or ask to keep them.
    """
    few = rng.random() < 0.5  # kinds: then names alone tell facts apart
    told = wording.facts(rng, split, kinds=2, people=_PEOPLE) if few else wording.facts(rng, split)
    facts = min(facts, len(told) - 1)
    shown, hidden = told[:facts], told[facts:]
    at = _FIRST_DAY + timedelta(days=rng.randrange(_DAYS))
    form = rng.choice(_FORMS)
    asked = {ShortAnswerForm: shown, ContainedForm: [*shown, *hidden[: 1 + facts // 3]]}.get(form, hidden[: facts + 1])
    turns: list[Turn] = []
    for fact in rng.sample(asked, len(asked)):
        if form in (ShortAnswerForm, ContainedForm):
            lines = [shown_line("user", at, one.said) for one in shown]
            question = AskedQuestion(fact.asked, now=at)
            if form is ShortAnswerForm:
                prompt, reply = answering(question, lines), _short(fact)
            else:
                prompt, reply = contained(question, lines), ContainedForm(contain_answer=fact in shown)
            later = prompt[-1].content.partition("\n\n")[2]
        else:
            said, reply = _searched(fact) if form is SearchAct else _told(rng, fact, wording)
            prompt = (search_turns if form is SearchAct else act_turns)(_desk(said, at, shown))
            later = _SAYS.lstrip() + prompt[-1].content.partition(_SAYS)[2].partition("\n")[0]
        turns += [*(prompt if not turns else (Turn("user", later),)), Turn("assistant", reply.model_dump_json())]
    return tuple(turns)


def _desk(said: str, at: datetime, shown: Sequence[Fact]) -> Desk:
    items = tuple({"who": "user", "day": format_day(at.date()), "text": fact.said} for fact in shown)
    return Desk(f"{WEEKDAYS[at.weekday()]}, {format_day(at.date())}", said, context=items)


def _short(fact: Fact) -> ReplyForm:
    return ShortAnswerForm(short_answer=fact.value)


def _searched(fact: Fact) -> tuple[str, ReplyForm]:
    """The user's question, and the search for it."""
    return fact.asked, SearchAct(act=search_for(fact))


def _told(rng: random.Random, fact: Fact, wording: Wording) -> tuple[str, ReplyForm]:
    """What the user says, and the action."""
    if rng.random() < 0.5:
        return wording.remember(rng, fact), Act(act=Memorize(action="memorize", content=fact.said))
    return fact.said, Act(act=FinalAnswer(action="answer", text=wording.told, evidence=()))


class Drills:
    """Batches for one tokenizer, each the same for the same seed."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, wording: Wording, split: Split) -> None:
        self._tokenizer = tokenizer
        self._template = ChatTemplate(tokenizer, "the model to train")
        self._wording = wording
        self._split: Split = split

    def batch(self, tokens: int, seed: str, facts: int) -> tuple[Tensor, Tensor]:
        """Ids [B, T] and labels [B, T] of drills of at most so many facts, their replies labelled."""
        rng = random.Random(seed)
        size = rng.randint(1, facts)  # one for the batch: rows of like length need little padding
        return _filled(tokens, lambda: self.conversation(drill(rng, self._wording, self._split, size)))

    def copies(self, tokens: int, seed: str, most: int) -> tuple[Tensor, Tensor]:
        """Ids [B, T] and labels [B, T] of lists of 2 to `most` names or pairs, said twice; the second time labelled."""
        rng = random.Random(seed)
        size = rng.randint(2, most)
        return _filled(tokens, lambda: self._twice(rng, size))

    def plain(self, tokens: int, seed: str, facts: int) -> tuple[Tensor, Tensor]:
        """Ids [B, T] and labels [B, T] of 2 to `facts` facts of few kinds, each then asked for; answers labelled."""
        rng = random.Random(seed)
        size = rng.randint(2, facts)
        return _filled(tokens, lambda: self._asked(rng, size))

    def conversation(self, turns: tuple[Turn, ...]) -> tuple[list[int], list[int]]:
        """Ids, and labels of what the assistant says."""
        ids: list[int] = []
        labels: list[int] = []
        for place, turn in enumerate(turns):
            if turn.role == "assistant":
                ids = self._template.encode(turns[:place])
                reply = [*self._ids(turn.content), self._tokenizer.eos_token_id]
                labels += [IGNORED] * (len(ids) - len(labels)) + reply
                ids += reply
        return ids, labels

    def _twice(self, rng: random.Random, size: int) -> tuple[list[int], list[int]]:
        inside, between = rng.choice(_INSIDE), rng.choice(_BETWEEN)
        first = [
            inside.join(made_up(rng, self._split) for _ in range(rng.randint(1, 2)))  # a name, or one and its value
            for _ in range(size)
        ]
        again = rng.sample(first, size) if rng.random() < 0.7 else first
        said, repeated = self._ids(between.join(first) + between), self._ids(between.join(again))
        return said + repeated, [IGNORED] * len(said) + repeated

    def _asked(self, rng: random.Random, size: int) -> tuple[list[int], list[int]]:
        told = self._wording.facts(rng, self._split, kinds=rng.choice(_KINDS), people=_PEOPLE)[:size]
        ids = self._ids(" ".join(fact.said for fact in told) + "\n")
        labels = [IGNORED] * len(ids)
        for fact in rng.sample(told, len(told)):
            question, answer = self._ids(fact.asked + " "), self._ids(fact.value + "\n")
            ids += question + answer
            labels += [IGNORED] * len(question) + answer
        return ids, labels

    def _ids(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return found


def _filled(tokens: int, row: Callable[[], tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor]:
    rows = [row()]
    while sum(len(ids) for ids, _ in rows) < tokens:
        rows.append(row())
    return collated(rows)
