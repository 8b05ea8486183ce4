"""Read the log-probabilities of a prompt's tokens as reported by vLLM, fully validated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nscma_torch.core.errors import ReplyError

_MINUS_INFINITY = -9999.0  # the server's substitute, as JSON can't represent it
_ABOVE_ONE = 0.01  # nats that a probability of one may exceed it by in half precision


def logprobs_of(prompt: Sequence[int], places: Sequence[Mapping[int, float] | None]) -> list[float]:
    """Return the natural-log probability of each id in a prompt, except the first.

    Args:
        places: for each position in the prompt, the reported log-probabilities by id; none for the first position.

    Raises:
        ReplyError: the number of positions is wrong, a position lacks its own id, or a log-probability is impossible:
            NaN, minus infinity or above zero (as logits can be, with `--logprobs-mode raw_logits`).
    """
    if len(places) != len(prompt):
        raise ReplyError(f"got log-probabilities for {len(places)} of a prompt's {len(prompt)} tokens")
    found = []
    for at, (token, place) in enumerate(zip(prompt[1:], places[1:], strict=True), 1):
        logprob = None if place is None else place.get(token)
        if logprob is None:
            raise ReplyError(f"token {token} at position {at} of the prompt has no log-probability")
        here = f"token {token} at place {at} of the prompt has the log-probability {logprob}"
        if math.isnan(logprob) or logprob <= _MINUS_INFINITY:
            raise ReplyError(f"{here}: the served model is damaged, or does not have this token")
        if logprob > _ABOVE_ONE:
            raise ReplyError(f"{here}, above that of certainty: start the server with --logprobs-mode raw_logprobs")
        found.append(min(logprob, 0.0))
    return found
