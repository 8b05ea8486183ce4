"""Score consecutive messages in one stream with the surprise model and the gate; results don't depend on batching."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from torch import Tensor

from nscma_torch.core.errors import StateMismatchError
from nscma_torch.core.protocols import SurpriseModel
from nscma_torch.core.records import Decision
from nscma_torch.episodic.log import episodes
from nscma_torch.ingest import repetition_window
from nscma_torch.ingest.novelty import Novelty
from nscma_torch.ingest.repetition_window import Window
from nscma_torch.ingest.stages import Stages
from nscma_torch.reading.cues import salience
from nscma_torch.surprise.gate import GateState, MessageGate
from nscma_torch.surprise.gradient_surprise import gradient_surprise
from nscma_torch.surprise.observation import Observation, observe
from nscma_torch.surprise.quoting import unquoted

OPTIMISTIC_ATTEMPTS = 3  # to weigh without the write lock, before weighing while holding it
SERVED_ATTEMPTS = 12  # the same for a surprise model that is asked over a network, before giving up


@dataclass(frozen=True, slots=True)
class Past:
    """The state that a stream carries into its next message; the default is a new stream's state.

    `said` contains those `content_hashes` of the new texts that are already in the user's memory.
    """

    proxy_state: bytes | None = None
    gate_state: GateState = field(default_factory=GateState)
    window: Window = field(default_factory=Window)
    said: frozenset[str] = frozenset()

    def after(self, texts: Sequence[str], weighed: Gated, vectors: Tensor | None) -> Past:
        """Return the stream's state after these messages, given their vectors [m, d]."""
        return Past(weighed.proxy_state, weighed.gate_state, self.window.after(texts, vectors), weighed.said)


@dataclass(frozen=True, slots=True)
class Gated:
    """A decision and an observation for each message, and the final state (None if there are no messages).

    `said` contains the hashes of these texts and of the texts known before.
    """

    decisions: list[Decision]
    observations: list[Observation]
    proxy_state: bytes | None
    gate_state: GateState
    said: frozenset[str]


def content_hashes(text: str) -> list[str]:
    """Return the hashes of a text and of each statement that it quotes; each distinct text is hashed once."""
    said = dict.fromkeys(episodes.plain(one) for one in (text, *unquoted(text)))
    return [episodes.hash_of(one) for one in said]


def state_after(history: Sequence[str], surprise_model: SurpriseModel) -> bytes | None:
    """Recompute a stream's state by reading its recent messages; return None if there are none."""
    return surprise_model.score([history], [None])[0].state if history else None


def gate_messages(
    texts: Sequence[str],
    past: Past,
    surprise_model: SurpriseModel,
    gate: MessageGate,
    stages: Stages,
    vectors: Callable[[], Tensor] | None = None,
    hashes: Sequence[Sequence[str]] | None = None,
) -> Gated:
    """Run the surprise model and the gate on a stream's next messages, in order.

    `vectors` returns the messages' vectors [n, d]; it is called once the surprise model is done, so that they can be
    computed in parallel. Without it, paraphrases aren't detected, and `nearest`, `news`, `learned` and `gradient` are
    None. A state that the surprise model can't read is recomputed from the history. `hashes` contains the
    `content_hashes` of each text, if known.
    """
    if not texts:
        return Gated([], [], past.proxy_state, past.gate_state, past.said)
    with stages.stage("surprise"):
        try:
            score = surprise_model.score([texts], [past.proxy_state])[0]
        except StateMismatchError:  # damaged; it can be recomputed from the log
            score = surprise_model.score([texts], [state_after(past.window.history, surprise_model)])[0]
    novelty, learned, gradients = None, list[float | None]([None] * len(texts)), list[float | None]([None] * len(texts))
    state = past.gate_state
    if vectors is not None:
        own = vectors()
        window = past.window
        before = own.new_zeros(len(window.history), own.shape[1]) if window.vectors is None else window.vectors
        novelty = Novelty(before, own)
        if gate.head is not None:
            learned = [*gate.head.log_odds(own)]
        if gate.config.rule == "gradient":
            norms, memory = gradient_surprise(own, state.memory)
            gradients, state = [*norms], replace(state, memory=memory)
    history, said = list(past.window.history), set(past.said)
    decisions, observations = [], []
    ends_of = score.ends or repeat(None, len(texts))
    hashes = [content_hashes(text) for text in texts] if hashes is None else hashes
    with stages.stage("gate"):
        weighed = zip(texts, hashes, score.nll, ends_of, learned, gradients, strict=True)
        for text, (whole, *quoted), nll, ends, odds, gradient in weighed:
            nearest, news = (None, None) if novelty is None else novelty.score(text, history)
            seen = "\n".join(history)
            own_of = {"nearest": nearest, "news": news, "learned": odds, "gradient": gradient}
            observation = observe(text, nll, seen, salience(text), ends=ends, **own_of)
            if whole in said or (quoted and said.issuperset(quoted)):  # in this stream or another one of the user's
                observation = replace(observation, repeat=True)
            decision, state = gate.decide(observation, state)
            observations.append(observation)
            decisions.append(decision)
            history = repetition_window.newest(history, [text])
            said.add(whole)
    return Gated(decisions, observations, score.state, state, frozenset(said))
