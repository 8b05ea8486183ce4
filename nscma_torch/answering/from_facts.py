"""Answer a question from facts and check the facts against newer messages, for `ask` and the controller."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from nscma_torch.answering.current_value import CHANGED
from nscma_torch.answering.from_messages import from_messages
from nscma_torch.answering.outdated import Outdated, unknown_now
from nscma_torch.answering.parts import Parts
from nscma_torch.core.records import Answer, FactQuery, Scope, Unit
from nscma_torch.episodic.log.turns import ECHO
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.text.calendar.timestamps import format_day
from nscma_torch.text.scripts import script

if TYPE_CHECKING:
    from nscma_torch.answering.fact_qa import Renewable

REPLACES = 0.5  # probability of being right from which the reader's answer replaces facts that may be outdated
# The same as `CHANGED`, of a passage that names no more than the fact's value ("I quit my job"), or from which
# statements about something else were read.
CHANGED_OTHERWISE = 0.5
SURELY_CHANGED = 0.9  # the same from which an unsure answer doesn't begin with the facts' value
_WORD = re.compile(r"\w+")


def from_facts(
    parts: Parts,
    question: str,
    scope: Scope,
    *,
    now: datetime,
    as_of: datetime | None = None,
    follows: FactQuery | None = None,
) -> Answer | None:
    """Answer from facts that no newer message changes; return None if they don't answer, or if `facts.answer` is off.

    If a newer message may have updated the facts, a confident answer from the reader replaces the facts' answer, unless
    its passage is older. The facts behind an answer are checked against later messages on the topic (`_against_later`).
    Questions in Chinese, or about a given time (`as_of`), are answered from facts alone, because the reader only knows
    English and the past isn't updated.

    Args:
        follows: the query of the previous question.
    """
    if not parts.config.facts.answer:
        return None
    by_words = parts.reader_qa is None or script(question) == "cjk"
    told = parts.fact_qa.ask(question, scope, now=now, as_of=as_of, follows=follows, by_words=by_words)
    if told is None or as_of is not None or script(question) == "cjk":
        return told
    if not told.evidence:  # an answer of "none" has no source message that another could renew
        return told
    if told.facts:
        outdated = _outdated(parts, told, question, scope, now)
        if outdated is not None:
            return outdated
        renewable = parts.fact_qa.renewable(told, question, scope, now=now)
        return told if renewable is None else _against_later(parts, told, renewable, question, scope, now)
    read = _surely_read(parts, question, scope, now)
    if read is None:
        return told
    passage = read.evidence[0].hit.unit
    if passage.occurred_at < told.evidence[0].hit.unit.occurred_at:
        return _traced(
            told, f"read: {read.short!r}, of {_day(passage)}, is older than the messages that may update the facts"
        )
    return replace(read, trace=(*told.trace, *read.trace), query=told.query)


def _outdated(parts: Parts, told: Answer, question: str, scope: Scope, now: datetime) -> Answer | None:
    """Return the answer if the fact's message, or what the fact rests on, doesn't hold any more, or None if both do.

    It is the reader's answer if it is confident and later, or else that the current value isn't known.
    """
    fact = parts.fact_qa.current_fact(told)
    if fact is None:
        return None
    source, why = told.evidence[0].hit, None
    if parts.reader_qa is not None:
        why = parts.reader_qa.outdated(source.unit, fact.object, user_id=scope.user_id, now=now)
    if why is None and (doubt := parts.fact_qa.doubt(fact, scope, now=now)):
        why = Outdated(f"is {doubt}")
    if why is None:
        return None
    read = _surely_read(parts, question, scope, now)
    if read is not None and read.evidence[0].hit.unit.occurred_at > source.unit.occurred_at:
        reason = f"{told.text!r} {why.why}"
        return replace(read, trace=(*told.trace, *read.trace, reason), query=told.query)
    unknown = unknown_now(told.text, why, source)
    return replace(unknown, trace=(*told.trace, *unknown.trace), usage=told.usage, query=told.query)


def _against_later(
    parts: Parts, told: Answer, renewable: Renewable, question: str, scope: Scope, now: datetime
) -> Answer:
    """Return the facts' answer if no later message changes its facts.

    Otherwise, return the reader's answer if it is confident, and the answer is from such a message or agrees with the
    facts. Failing that, return both messages, marked as unsure.
    """
    reader = parts.reader_qa
    if reader is None:
        return told
    found = reader.changes(renewable.source, renewable.later, user_id=scope.user_id, now=now)
    changing = [(unit, kind, likely) for unit, (kind, likely) in zip(renewable.later, found, strict=True)]
    changing = [
        (unit, kind, likely)
        for unit, kind, likely in changing
        if likely >= (CHANGED_OTHERWISE if renewable.doubtful.intersection(unit.episode_ids) else CHANGED)
    ]
    if not changing:
        likely = max(likely for _, likely in found)
        return _traced(told, f"{len(found)} later messages on the topic change nothing ({likely:.2f})")
    newer, kind, likely = changing[0]
    reason = f"a message of {_day(newer)} is newer than the facts, and {kind} what they say ({likely:.2f})"
    read = _surely_read(parts, question, scope, now)
    if read is not None:
        own = read.evidence[0].hit.unit.episode_ids
        by = next((one for one in changing if set(one[0].episode_ids) & set(own)), None)
        if by is not None and _agree(read.short, told.text):
            return _traced(told, f"read: {read.short!r} of {_day(by[0])}, which agrees with the facts")
        if by is not None:
            newer, kind, likely = by
            reason = f"{read.short!r}, of {_day(newer)}, is newer than {told.text!r}, which it {kind} ({likely:.2f})"
            return replace(read, trace=(*told.trace, *read.trace, reason), query=told.query)
    return _traced(parts.fact_qa.doubted(told, newer, kept=likely < SURELY_CHANGED), reason)


def _surely_read(parts: Parts, question: str, scope: Scope, now: datetime) -> Answer | None:
    """Return the reader's answer if it is likely enough to be right.

    Assistant replies that only repeat the memory are skipped.
    """
    if parts.reader_qa is None:
        return None
    config = parts.config
    skew = timedelta(seconds=config.limits.max_clock_skew)
    bounds = Bounds(scope, now, skew, config.retrieval.kinds, without={ECHO: True})
    read, _ = from_messages(parts, parts.embedded_tasks, question, bounds, config.reading.passages)
    return None if read.abstained or read.confidence < REPLACES else read


def _day(unit: Unit) -> str:
    return format_day(unit.occurred_at.date())


def _agree(one: str, other: str) -> bool:
    """Return True if one value contains all words in the other."""
    first, second = (set(_WORD.findall(text.casefold())) for text in (one, other))
    return first <= second or second <= first


def _traced(answer: Answer, line: str) -> Answer:
    return replace(answer, trace=(*answer.trace, line))
