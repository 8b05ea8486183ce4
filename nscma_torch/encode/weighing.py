"""What the proxy and the gate make of consecutive messages of one stream; the same however they are cut into calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from nscma_torch.buffer.gate import GateState, SurpriseGate
from nscma_torch.buffer.observation import Observation, observe
from nscma_torch.encode.stages import Stages
from nscma_torch.protocols import Proxy
from nscma_torch.records import Decision
from nscma_torch.storage import episodes
from nscma_torch.text.cues import salience

OPTIMISTIC_ATTEMPTS = 3  # to weigh without the write lock, before weighing while holding it
HISTORY = 32_768  # characters of the stream's past that repetition is looked up in


@dataclass(frozen=True, slots=True)
class Past:
    """What a stream carries before its next message; without arguments, that of a fresh one.

    `history` is its last `HISTORY` characters in whole messages, oldest first; `said` holds the hashes of those texts,
    among the ones to be weighed, that the user's memory already has.
    """

    proxy_state: bytes | None = None
    gate_state: GateState = field(default_factory=GateState)
    history: Sequence[str] = ()
    said: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Weighed:
    """A decision and an observation per message, and the state after the last one (None: there was nothing yet)."""

    decisions: list[Decision]
    observations: list[Observation]
    proxy_state: bytes | None
    gate_state: GateState


def weigh(texts: Sequence[str], past: Past, proxy: Proxy, gate: SurpriseGate, stages: Stages) -> Weighed:
    """Ask the proxy and the gate about the next messages of a stream, in order."""
    if not texts:
        return Weighed([], [], past.proxy_state, past.gate_state)
    with stages.stage("proxy"):
        score = proxy.score([texts], [past.proxy_state])[0]
    history, said, state = list(past.history), set(past.said), past.gate_state
    decisions, observations = [], []
    ends_of = score.ends or repeat(None, len(texts))
    with stages.stage("gate"):
        for text, nll, ends in zip(texts, score.nll, ends_of, strict=True):
            observation = observe(text, nll, "\n".join(history), salience(text), ends)
            key = episodes.text_hash(text)
            if key in said:  # this stream or another one of the user's
                observation = replace(observation, repeat=True)
            decision, state = gate.decide(observation, state)
            observations.append(observation)
            decisions.append(decision)
            history = episodes.newest([text, *reversed(history)], HISTORY)
            said.add(key)
    return Weighed(decisions, observations, score.state, state)
