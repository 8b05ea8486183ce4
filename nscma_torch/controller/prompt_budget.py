"""Keep prompts within their token budget by dropping the least important parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.llm.engines.contract import LanguageEngine, Turn, Turns
from nscma_torch.llm.prompts.acting import Desk


def fit_desk(
    count: Callable[[Turns], int], build: Callable[[Desk], Turns], desk: Desk, limit: int
) -> tuple[Turns, Desk]:
    """Return a prompt with at most `limit` tokens according to `count`, and the desk that it shows.

    Parts are dropped in this order: the least relevant skills, the oldest turns of the context except the last, the
    lowest-ranked memories found, the insights, the lines on earlier days, the summary, the last turn, the scratchpad
    from its beginning (notes, then actions), and the oldest standing instructions.

    Raises `InvalidInputError` if the user's message alone is too long.
    """
    smaller = _smaller(desk)
    most = len(smaller) - 1
    least = fitting(lambda i: count(build(smaller[i])), most, limit)
    if least is None:
        raise too_long(limit)
    return build(smaller[least]), smaller[least]


def too_long(limit: int) -> InvalidInputError:
    """Return the error for a turn that is too long for a prompt."""
    return InvalidInputError(
        f"the turn alone exceeds a prompt's {limit} tokens; add it as a document (`nscma add`), or "
        "raise controller.prompt_tokens"
    )


def fitting(tokens: Callable[[int], int], most: int, limit: int) -> int | None:
    """Return the smallest i in [0, `most`] with `tokens(i) <= limit`, or None if there is none. `tokens` must be
    decreasing.
    """
    if tokens(0) <= limit:
        return 0
    if most == 0 or tokens(most) > limit:
        return None
    low, high = 0, most  # tokens(low) > limit >= tokens(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tokens(middle) <= limit else (middle, high)
    return high


def count_text(engine: LanguageEngine, text: str) -> int:
    """Count the tokens that a text adds to a prompt."""
    empty, full = engine.count_tokens([(Turn("user", ""),), (Turn("user", text),)])
    return full - empty


def _smaller(desk: Desk) -> Sequence[Desk]:
    """Return the desk, followed by smaller and smaller versions of it."""
    found = [desk]
    for end in range(len(desk.skills) - 1, -1, -1):
        found.append(replace(found[-1], skills=desk.skills[:end]))
    for start in range(1, len(desk.context)):
        found.append(replace(found[-1], context=desk.context[start:]))
    for end in range(len(desk.found) - 1, 0, -1):
        found.append(replace(found[-1], found=desk.found[:end]))
    for end in range(len(desk.insights) - 1, -1, -1):
        found.append(replace(found[-1], insights=desk.insights[:end]))
    for start in range(1, len(desk.days) + 1):
        found.append(replace(found[-1], days=desk.days[start:]))
    if desk.summary:
        found.append(replace(found[-1], summary=""))
    if desk.context:
        found.append(replace(found[-1], context=()))
    for start in range(1, len(desk.notes) + 1):
        found.append(replace(found[-1], notes=desk.notes[start:]))
    for start in range(1, len(desk.done) + 1):
        found.append(replace(found[-1], done=desk.done[start:]))
    if desk.found:
        found.append(replace(found[-1], found=()))
    for start in range(1, len(desk.instructions) + 1):
        found.append(replace(found[-1], instructions=desk.instructions[start:]))
    return found
