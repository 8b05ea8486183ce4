"""Trim search results to a token budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nscma_torch.core.records import Hit
from nscma_torch.text.sentences import split_sentences


def within(hits: Sequence[Hit], budget: int, count_tokens: Callable[[Sequence[str]], list[int]]) -> list[Hit]:
    """Return the best hits with at most `budget` tokens in total; the last hit may be cut after a sentence."""
    kept: list[Hit] = []
    left = budget
    for hit, size in zip(hits, count_tokens([hit.text for hit in hits]) if hits else [], strict=True):
        if size <= left:
            kept.append(hit)
            left -= size
            continue
        shorter = _beginning(hit.text, left, count_tokens)
        if shorter:
            unit = hit.unit
            end = unit.start + len(shorter) if unit.kind == "chunk" else unit.end
            kept.append(replace(hit, unit=replace(unit, text=shorter, end=end)))
        break
    return kept


def _beginning(text: str, tokens: int, count_tokens: Callable[[Sequence[str]], list[int]]) -> str:
    """Return the first sentences of a text, with at most `tokens` tokens in total."""
    beginnings = [text[: span.end] for span in split_sentences(text)]
    sizes = count_tokens(beginnings) if beginnings else []
    fitting = [beginning for beginning, size in zip(beginnings, sizes, strict=True) if size <= tokens]
    return fitting[-1] if fitting else ""
