"""The reader by one prompt to a language model."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Annotated, Any

from pydantic import Field, create_model

from eval.harness.contract import Cost, Keep, Passage, Reply
from eval.harness.metered_engine import MeteredEngine, Spent
from eval.readers.reader_passages import as_said, known, shown_lines
from nscma_torch.core.config import LlmConfig
from nscma_torch.core.records import AskedQuestion
from nscma_torch.llm.completion import ModelCaller
from nscma_torch.llm.engines.contract import LanguageEngine, Turn
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.llm.prompted_answers import answered, supporting
from nscma_torch.llm.prompts.quoting import quoted
from nscma_torch.llm.prompts.tasks import QUOTED
from nscma_torch.text.calendar.timestamps import format_day

_LONGEST = 32  # characters of a token, on average over a prompt, at most
_WORDS_OF_TOKEN = 0.6  # of a summary that is asked for, so that it and its form end within `max_tokens`
_OVERHEAD = 512  # bytes of a prompt's item beside its text, at most

_SYSTEM = f"""Answer a question only from numbered texts.
{{rules}}

{QUOTED}"""
_SUMMARY = """- known: true if the texts say anything about it; else false, and answer is "".
- evidence: the numbers of the texts that the summary is based on, the most important first.
- answer: a summary in at most {words} words of what the texts say about the question, in its language, with names and \
dates as written. "said" is the day on which a text was written, "today" the day of the question; if two texts \
contradict each other, the later one is true now."""
_CHOICE = """- evidence: the numbers of the texts that the choice is based on, the most important first.
- choice: the number of the option that answers the question best; always one of them. "said" is the day on which a \
text was written, "today" the day of the question; if two texts contradict each other, the later one is true now."""


class SummaryOfTextsForm(ReplyForm):
    """A summary with the texts that it rests on, or that they say nothing."""

    known: bool
    evidence: Sequence[int]
    answer: str = Field(max_length=1900)


class ChoiceForm(ReplyForm):
    """One of the options, with the texts that it rests on."""

    evidence: Sequence[int]
    choice: int


@cache
def _choice_form(texts: int, options: int) -> type[ChoiceForm]:
    """A choice among so many options, from so many texts."""
    fields: Any = {
        "evidence": (list[Annotated[int, Field(ge=1, le=texts)]], Field(max_length=8)),
        "choice": (Annotated[int, Field(ge=1, le=options)], ...),
    }
    return create_model("Choice", __base__=ChoiceForm, **fields)


@cache
def _summary_form(texts: int) -> type[SummaryOfTextsForm]:
    """A summary of so many texts."""
    numbers: Any = (list[Annotated[int, Field(ge=1, le=texts)]], Field(max_length=8))
    return create_model("SummaryOfTexts", __base__=SummaryOfTextsForm, evidence=numbers)


class PromptedReader:
    """Reads with a language model, whose reply is in a form; a short answer is asked for as `Memory.ask` does.

    Passages are quoted in the order they were said. What does not fit the engine's context is left out: the last of
    those given, or what was said first, as the caller wants. A passage that is longer than half of the context is cut
    into several before, and `Reply.note` says how much was read. Calls and tokens are counted, those of a second
    attempt at a reply in the form too.

    Args:
        max_tokens: most tokens of a reply.
        temperature: 0 is greedy.
        least_known: see `llm.least_known`.
    """

    def __init__(
        self,
        engine: LanguageEngine,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        least_known: float = LlmConfig().least_known,
    ) -> None:
        self._engine = MeteredEngine(engine)
        self._max_tokens = max_tokens
        self._summary_words = 0
        self._least_known = least_known
        self._asker = ModelCaller(self._engine, max_tokens=max_tokens, temperature=temperature, tally=Counter())

    def begin(self, summary_words: int) -> None:
        """Until `forget`, reply with summaries of at most so many words, or as fit a reply; 0 for short answers."""
        self._summary_words = min(summary_words, int(_WORDS_OF_TOKEN * self._max_tokens))

    def answer(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        options: Sequence[str],
        now: datetime,
        keep: Keep = "first",
    ) -> Reply:
        """What the model answers; abstains without passages.

        Raises EngineError where there is no reply that can be used, or the question alone does not fit.
        """
        texts = known(passages, now)
        if not texts:
            return Reply("", abstained=True)
        began, before = time.perf_counter(), self._engine.spent
        pieces = self._cut(texts)
        wanted = self._near(as_said(pieces, now)[::-1] if keep == "latest" else pieces)
        if not options and not self._summary_words:
            return self._answered(question, wanted, texts, now, began)
        prompt = _prompt(question, options, now, self._summary_words)
        fitting = as_said(self._asker.packed(wanted, lambda some: prompt(as_said(some, now)))[0], now)
        places, text, abstained = self._read(prompt(fitting), fitting, options)
        return Reply(
            text, abstained, tuple(dict.fromkeys(places)), None, self._cost(began, before), _note(fitting, texts)
        )

    def _answered(
        self, question: str, wanted: Sequence[Passage], texts: Sequence[Passage], now: datetime, began: float
    ) -> Reply:
        """A short answer from the first of the passages that fit the context."""
        before = self._engine.spent
        asked = AskedQuestion(question, now=now)
        read = answered(self._asker, asked, wanted, lambda some: shown_lines(some, now), least_known=self._least_known)
        fitting = as_said(wanted[: read.kept], now)
        rests_on = supporting(question, read.text, shown_lines(fitting, now)) if read.text else []
        places = [fitting[i].place for i in rests_on]
        cost, note = self._cost(began, before), _note(fitting, texts)
        return Reply(read.text, not read.text, tuple(dict.fromkeys(places)), None, cost, note)

    def _cost(self, began: float, before: Spent) -> Cost:
        spent = self._engine.spent.since(before)
        return Cost(spent.llm_calls, spent.tokens_in, spent.tokens_out, {"read": time.perf_counter() - began})

    def forget(self) -> None:
        """Give short answers again; nothing else is kept from one question to the next."""
        self._summary_words = 0

    def _read(
        self, prompt: tuple[Turn, ...], pieces: Sequence[Passage], options: Sequence[str]
    ) -> tuple[list[int], str, bool]:
        """Places of the evidence, the choice or summary, and whether there is none."""
        if options:
            (chosen,), _ = self._asker.ask(_choice_form(len(pieces), len(options)), [prompt])
            return [pieces[number - 1].place for number in chosen.evidence], options[chosen.choice - 1], False
        (said,), _ = self._asker.ask(_summary_form(len(pieces)), [prompt])
        if not said.known:
            return [], "", True
        return [pieces[number - 1].place for number in said.evidence], said.answer, False

    def _cut(self, passages: Sequence[Passage]) -> list[Passage]:
        """Passages of at most half the context; a longer one is cut between words."""
        most = max(64, (self._engine.context - self._max_tokens) // 2 - _OVERHEAD)
        return [
            replace(passage, text=piece, start=passage.start + start)
            for passage in passages
            for start, piece in _pieces(passage.text, most)
        ]

    def _near(self, pieces: Sequence[Passage]) -> list[Passage]:
        """The first pieces, as many as could fit: to count the tokens of all would take longer than to read them."""
        room = _LONGEST * self._engine.context
        near = []
        for piece in pieces:
            room -= len(piece.text)
            near.append(piece)
            if room < 0:
                break
        return near


def _prompt(
    question: str, options: Sequence[str], now: datetime, summary_words: int
) -> Callable[[Sequence[Passage]], tuple[Turn, ...]]:
    """What the model reads, for any passages."""
    rules = _CHOICE if options else _SUMMARY.format(words=summary_words)
    system = Turn("system", _SYSTEM.format(rules=rules))
    task = "Answer the question under DATA from its texts."
    asked: dict[str, Any] = {"today": format_day(now.date()), "question": question}
    if options:
        asked["options"] = {str(number): option for number, option in enumerate(options, 1)}

    def render(passages: Sequence[Passage]) -> tuple[Turn, ...]:
        data = {**asked, "texts": {str(number): _shown(passage) for number, passage in enumerate(passages, 1)}}
        return system, Turn("user", f"{task}\n\n{quoted(data)}\n\n{task}")

    return render


def _note(fitting: Sequence[Passage], texts: Sequence[Passage]) -> str:
    """How much of the passages fits the context, if not all."""
    kept, whole = (sum(len(passage.text) for passage in some) for some in (fitting, texts))
    return "" if kept == whole else f"{kept} of {whole} characters of the passages fit the context"


def _shown(passage: Passage) -> dict[str, str]:
    message = passage.message
    said = {"said": format_day(message.timestamp.date())} if message.timestamp else {}
    document = {"document": message.source} if message.source else {}
    return {"by": message.name or message.role, **said, **document, "text": passage.text}


def _pieces(text: str, most: int) -> Iterator[tuple[int, str]]:
    """Where each part begins, and the part: of at most so many bytes, cut at blanks where there are any."""
    began = 0
    while len(text.encode(errors="replace")) > most:
        start = text.encode(errors="replace")[:most].decode(errors="ignore")
        blank = start.rfind(" ")
        end = blank + 1 if blank > 0 else len(start)
        yield began, text[:end]
        began += end
        text = text[end:]
    yield began, text
