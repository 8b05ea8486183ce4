"""Measures of summaries: required strings, length, repetition, and support by the summarized messages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence

from eval.experiments.model.labelled_cases import LabelledReply, unit
from eval.reporting.measures import Measure, average, share
from nscma_torch.core.config import Config
from nscma_torch.llm.engines.json_in_text import json_objects
from nscma_torch.llm.engines.structured import schema_of
from nscma_torch.llm.grounding import holds, names_held
from nscma_torch.llm.prompted_lines import evidence_texts
from nscma_torch.llm.prompts.tasks import summary_form
from nscma_torch.reading.passage import word_count
from nscma_torch.text.sentences import split_sentences


def summary_measures(found: Sequence[LabelledReply]) -> list[Measure]:
    """Return the measures; "whole" is what the model wrote, before it is cut to the maximum words of a summary.

    A sentence is checked against the messages in two ways, neither of which understands it. By names, every name and
    number must occur in them, as in `prompted_lines`: a false sentence made of their names passes. By words, every
    word must, as in `grounding.holds`: a true sentence in other words fails. The share of the labelled false statements
    that each check rejects shows how far to trust it.
    """
    usable = [one for one in found if one.reply is not None]
    must = [(one.reply or "", text) for one in found for text in one.case["must"]]
    return [
        share("required strings contained", [text.casefold() in reply.casefold() for reply, text in must]),
        average("words", {one.case["id"]: [word_count(one.reply)] for one in usable}),
        share("whole: within the form's limit", [_within_limit(one) for one in found]),
        share("whole: a sentence repeated", [_repeats(_whole(one)) for one in found]),
        *_support("names", names_held, found),
        *_support("words", holds, found),
    ]


def _support(name: str, check: Callable[..., bool], found: Sequence[LabelledReply]) -> list[Measure]:
    """Return the shares of sentences that a check accepts, and of false statements that it rejects."""
    accepted, rejected = [], []
    for one in found:
        texts = evidence_texts([unit(message) for message in one.case["messages"]])
        accepted += [check(sentence, *texts) for sentence in _sentences(one.reply or "")]
        rejected += [not check(statement, *texts) for statement in one.case["false"]]
    return [share(f"sentences supported by {name}", accepted), share(f"false statements rejected by {name}", rejected)]


def _within_limit(one: LabelledReply) -> bool:
    """Return True if the summary ended by itself: an engine that enforces the form ends it at the limit."""
    limit: int = schema_of(summary_form(Config().hierarchy.summary_words))["properties"]["summary"]["maxLength"]
    return one.reply is not None and len(_whole(one)) < limit


def _whole(one: LabelledReply) -> str:
    """Return the summary as the model wrote it, or its whole reply if that isn't usable."""
    if not one.requests:
        return one.reply or ""
    text = one.requests[-1].reply
    spans = json_objects(text) if one.reply is not None else []
    return str(json.loads(text[slice(*spans[0])], strict=False)["summary"]) if spans else text


def _repeats(text: str) -> bool:
    return any(times > 1 for times in Counter(map(str.casefold, _sentences(text))).values())


def _sentences(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text)]
