"""The probability of a yes or no in a model's reply, from the tokens that spell it."""

from __future__ import annotations

import math
import re

from nscma_torch.llm.engines.contract import Reply

UNMEASURED = 0.75  # probability of a choice without log-probabilities, so that other evidence still counts


def probability_of_true(reply: Reply, key: str, *, chosen: bool) -> float:
    """Return the probability that the boolean under `key` is true, in [0, 1].

    The likelier value was chosen, so its probability is at least 0.5. Without log-probabilities it is `UNMEASURED`.
    """
    logprob = _logprob(reply, key)
    share = UNMEASURED if logprob is None else max(0.5, math.exp(min(logprob, 0.0)))
    return share if chosen else 1.0 - share


def _logprob(reply: Reply, key: str) -> float | None:
    """Return the log-probability of the tokens that spell the value under `key`, or None if there are none."""
    found = re.search(rf'"{re.escape(key)}"\s*:\s*(true|false)', reply.text)
    if found is None or not reply.tokens:
        return None
    place, total = 0, 0.0
    for token in reply.tokens:
        end = place + len(token.text)
        if place < found.end(1) and end > found.start(1):
            total += min(token.logprob, 0.0)
        place = end
    return total
