"""A reply of a language model with its evidence, and with the messages that it may repeat.

What was found for the reply, and the context, count as repeated always. Of the conclusions and lines on days that every
prompt shows, those count that the reply names by their numbers; where it names nothing at all, those with which it
shares a word that neither the user nor the context says.
"""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.controller.policy import Answered, Situation
from nscma_torch.core.records import Evidence, Hit, Unit
from nscma_torch.curator.store.derived_texts import DerivedText
from nscma_torch.text.terms import terms

# What a number in a prompt stands for: a hit and its passage, a derived text, or a fact without a hit.
Shown = tuple[Hit, str] | DerivedText | None


def answered(
    text: str, numbers: Sequence[int], shown: Sequence[Shown], unsure: float, situation: Situation
) -> Answered:
    """The reply with what it cites, by numbers from 1; those that stand for nothing cite nothing."""
    cited = [one for number in numbers if number <= len(shown) and (one := shown[number - 1]) is not None]
    derived = [one for one in cited if isinstance(one, DerivedText)]
    if not cited:
        derived = _repeated(text, [one for one in shown if isinstance(one, DerivedText)], situation)
    evidence: dict[str, Evidence] = {}
    for one in cited:
        item = _evidence(one)
        evidence.setdefault(item.hit.unit.id, item)
    return Answered(text, unsure, tuple(evidence.values()), shown=situation.told(derived))


def _evidence(cited: tuple[Hit, str] | DerivedText) -> Evidence:
    if isinstance(cited, DerivedText):
        one = cited
        unit = Unit(one.id, one.scope, one.kind, one.text, one.episode_ids, one.until, role="memory")
        return Evidence(Hit(unit, one.confidence), one.text, 0, len(one.text), one.confidence)
    hit, quote = cited
    start = max(0, hit.text.find(quote))
    return Evidence(hit, quote, start, start + len(quote), hit.score)


def _repeated(reply: str, derived: Sequence[DerivedText], situation: Situation) -> list[DerivedText]:
    """The texts with which a reply shares a word that it has from nowhere else."""
    context = [turn for exchange in situation.memory.context for turn in (exchange.turn, *exchange.replies)]
    known = {term for text in (situation.said, *(turn.text for turn in context)) for term in terms(text)}
    own = set(terms(reply)) - known
    return [one for one in derived if not own.isdisjoint(terms(one.text))]
