"""Determine the evidence for a language model's reply, and the messages that the reply may repeat.

The search results and the context always count as repeated. Conclusions and daily lines, which appear in every prompt,
count if the reply cites them by number. If it cites nothing, they count if they share a word with the reply that
neither the user nor the context uses.
"""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.controller.passages import sources
from nscma_torch.controller.policy import Answered, Situation
from nscma_torch.core.records import Answer, Evidence, Hit, Unit
from nscma_torch.curator.store.derived_texts import DerivedText
from nscma_torch.text.terms import terms

# What a number in a prompt stands for: a hit and its passage, a derived text, or a fact without a hit.
Shown = tuple[Hit, str] | DerivedText | None


def answered(
    text: str, numbers: Sequence[int], shown: Sequence[Shown], unsure: float, situation: Situation
) -> Answered:
    """Return the reply with its citations, which are numbered from 1. Unknown numbers are ignored."""
    cited = [one for number in numbers if number <= len(shown) and (one := shown[number - 1]) is not None]
    derived = [one for one in cited if isinstance(one, DerivedText)]
    if not cited:
        derived = _repeated(text, [one for one in shown if isinstance(one, DerivedText)], situation)
    evidence: dict[str, Evidence] = {}
    for one in cited:
        item = _evidence(one)
        evidence.setdefault(item.hit.unit.id, item)
    return Answered(text, unsure, tuple(evidence.values()), shown=situation.told(derived))


def of_answer(told: Answer, uncertainty: float) -> Answered:
    """Return an answer from facts or the trained reader as a reply, with the messages that it may repeat."""
    hits = [item.hit for item in told.evidence]
    known = (source for fact in told.facts for source in fact.episode_ids)
    shown = tuple(dict.fromkeys((*sources(hits), *known)))
    return Answered(told.text, uncertainty, told.evidence, told.abstained, shown, quotes=told.quotes)


def _evidence(cited: tuple[Hit, str] | DerivedText) -> Evidence:
    if isinstance(cited, DerivedText):
        one = cited
        unit = Unit(one.id, one.scope, one.kind, one.text, one.episode_ids, one.until, role="memory")
        return Evidence(Hit(unit, one.confidence), one.text, 0, len(one.text), one.confidence)
    hit, quote = cited
    start = max(0, hit.text.find(quote))
    return Evidence(hit, quote, start, start + len(quote), hit.score)


def _repeated(reply: str, derived: Sequence[DerivedText], situation: Situation) -> list[DerivedText]:
    """Return the texts that share a word with the reply, if no other source contains that word."""
    context = [turn for exchange in situation.memory.context for turn in (exchange.turn, *exchange.replies)]
    known = {term for text in (situation.said, *(turn.text for turn in context)) for term in terms(text)}
    own = set(terms(reply)) - known
    return [one for one in derived if not own.isdisjoint(terms(one.text))]
