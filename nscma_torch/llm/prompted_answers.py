"""Answer a question from hits with a language model in two requests: if the hits contain the answer, and the answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nscma_torch.core.errors import NoLogprobsError
from nscma_torch.core.records import AskedQuestion, Evidence, Hit, Usage
from nscma_torch.llm.choice_probability import probability_of_true
from nscma_torch.llm.completion import ModelCaller
from nscma_torch.llm.engines.contract import Turns, most_tokens
from nscma_torch.llm.engines.structured import Filled
from nscma_torch.llm.prompts.answering import (
    ContainedForm,
    ShortAnswerForm,
    TextForm,
    answering,
    contained,
    line,
    wants_text,
)
from nscma_torch.reading.confidence import logit
from nscma_torch.reading.passage import best_passage, covered, term_weights
from nscma_torch.text.terms import terms

ItemT = TypeVar("ItemT")
BY_MODEL, BY_READER = 3.1, 0.73  # weights of the logits in `pooled`
_MOST = 3  # lines that support an answer
_BARE = frozenset(terms("yes no"))


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The model's answer, "" if the messages don't contain it.

    Attributes:
        known: probability that the messages contain the answer; see `pooled`.
        kept: number of messages that fit the context.
    """

    text: str
    known: float
    kept: int
    usage: Usage


def answered(
    asker: ModelCaller,
    question: AskedQuestion,
    best_first: Sequence[ItemT],
    lines: Callable[[Sequence[ItemT]], list[str]],
    *,
    least_known: float,
) -> ModelAnswer:
    """Ask for the answer if the probability that the messages contain it is at least `least_known`.

    The probability pools the model's with the trained reader's (`question.prior`).

    If they don't all fit the context, the model reads the first ones. `lines` shows some of them in order of time.
    """
    packs = asker.packed(best_first, lambda some: longer_prompt(question, lines(some)))
    kept = packs[0] if packs else []
    shown = lines(kept)
    (contains,), usage = containing(asker, [contained(question, shown)])
    known = pooled(contains, question.prior)
    if known < least_known:
        return ModelAnswer("", known, len(kept), usage)
    prompt = answering(question, shown)
    if wants_text(question.text):
        (written,), more = asker.ask(TextForm, [prompt])
        text = written.text
    else:
        (short,), more = asker.ask(ShortAnswerForm, [prompt])
        text = " ".join(short.short_answer.split())
    spent = Usage(usage.llm_calls + more.llm_calls, usage.tokens + more.tokens, usage.seconds + more.seconds)
    return ModelAnswer(text.strip(), known, len(kept), spent)


def longer_prompt(question: AskedQuestion, lines: Sequence[str]) -> Turns:
    """Return the longer of the two prompts."""
    return max(contained(question, lines), answering(question, lines), key=most_tokens)


def pooled(model: float, reader: float) -> float:
    """Return the probability that the messages contain the answer from the model's and the trained reader's, in (0, 1).

    This is a logistic regression on their logits, fitted with a model of 1.5 billion parameters on development
    dialogues, with 15 % of the questions unanswerable. A model that is nearly certain outweighs the reader.
    """
    return 1 / (1 + math.exp(-(BY_MODEL * logit(model) + BY_READER * logit(reader))))


def hit_lines(hits: Sequence[Hit]) -> list[str]:
    """Show hits in order of time."""
    return [line(hit.unit, hit.text) for hit in sorted(hits, key=lambda hit: (hit.occurred_at, hit.unit.start))]


def supporting(question: str, answer: str, lines: Sequence[str]) -> list[int]:
    """Return the positions of at most three lines that support an answer, best first.

    They contain the largest share of the answer's words; among equals, the line most similar to the question is first.
    For a yes or no, or an answer in other words, the line most similar to the question supports it.
    """
    weights = term_weights(question, lines)
    wanted = set(terms(answer)) - _BARE
    shares = [len(wanted.intersection(terms(text))) / len(wanted) if wanted else 0.0 for text in lines]
    order = sorted(range(len(lines)), key=lambda i: (-shares[i], -covered(lines[i], weights)))
    return [i for i in order if shares[i] == shares[order[0]] > 0][:_MOST] or order[:1]


def evidence(question: str, answer: str, hits: Sequence[Hit], words: int) -> tuple[Evidence, ...]:
    """Return the passages, each with at most `words` words, from the hits that support an answer, best first."""
    weights = term_weights(f"{question} {answer}", (hit.text for hit in hits))
    chosen = [hits[i] for i in supporting(question, answer, [line(hit.unit, hit.text) for hit in hits])]
    passages = [(hit, best_passage(hit.text, weights, words)) for hit in chosen]
    top = max((hit.score for hit in hits), default=0.0) or 1.0
    return tuple(Evidence(hit, one.text, one.start, one.end, hit.score / top) for hit, one in passages)


def containing(asker: ModelCaller, prompts: Sequence[Turns]) -> tuple[list[float], Usage]:
    """Return the model's probability that the messages of each prompt (`contained`) contain the answer.

    Log-probabilities are requested if the server returns them.
    """
    said: list[Filled[ContainedForm]] = []
    if asker.logprobs:
        try:
            said, usage = asker.fill(ContainedForm, prompts, logprobs=True)
        except NoLogprobsError:
            asker.logprobs = False
    if not asker.logprobs:
        said, usage = asker.fill(ContainedForm, prompts)
    return [probability_of_true(one.reply, "contain_answer", chosen=one.form.contain_answer) for one in said], usage
