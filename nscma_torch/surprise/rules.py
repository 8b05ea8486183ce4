"""Rules, by name, that turn an observation into a score and a threshold.

A rule is a pure function of the observation, the statistics over earlier inputs in the same stream and script, and the
configuration. `paper` is the gate of the NSCMA paper; `composition`, the default, adds small named terms, because the
paper's mean surprise alone hardly predicts which messages are needed later.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from nscma_torch.surprise.observation import Observation
from nscma_torch.surprise.paper_rule import limit, moments

if TYPE_CHECKING:  # a bare GPU machine has no pydantic
    from nscma_torch.core.config import GateConfig

QUANTITIES = ("surprise", "information", "memory", "gradient")  # what statistics are kept of; the last where measured
OF_THE_MODEL = ("surprise", "information")  # of these the values of two surprise models do not compare

# Mean and standard deviation of each quantity before a stream has shown its own: (nats/token, ln nats, ln nats).
# English chat; Chinese bytes are new to the bundled surprise model, and a character says more than a letter.
PRIORS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "latin": ((1.13, 0.18), (4.94, 0.57), (5.64, 0.58)),
    "cjk": ((2.45, 0.50), (4.60, 0.60), (5.25, 0.60)),
}


@dataclass(frozen=True, slots=True)
class Statistics:
    """Mean and standard deviation of one quantity over the last inputs in a stream and script."""

    mean: float
    sd: float

    @classmethod
    def of(cls, values: Sequence[float], prior: tuple[float, float], weight: int) -> Statistics:
        """Compute the statistics of `values` and a prior (mean, sd) that counts as `weight` inputs, at least one."""
        total = weight + len(values)
        mean = (weight * prior[0] + math.fsum(values)) / total
        spread = weight * (prior[1] ** 2 + (prior[0] - mean) ** 2) + math.fsum((value - mean) ** 2 for value in values)
        return cls(mean, math.sqrt(spread / total))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A rule's result for one observation: the message is written if the score is above the threshold, or always."""

    score: float
    threshold: float
    parts: Mapping[str, float]
    always: bool = False

    @property
    def write(self) -> bool:
        """Return True if the message is encoded now."""
        return self.always or self.score > self.threshold


History = Mapping[str, Sequence[float]]  # per quantity, its last values, oldest first
Rule = Callable[[Observation, History, "GateConfig"], Verdict]


def quantities(observation: Observation) -> dict[str, float]:
    """Return the quantities for which statistics are kept."""
    values = {
        "surprise": observation.mean,
        "information": math.log(max(observation.nats, 1.0)),
        "memory": math.log(max(observation.memory_nats, 1.0)),
    }
    return values if observation.gradient is None else {**values, "gradient": observation.gradient}


def _prior(observation: Observation, name: str) -> tuple[float, float]:
    return PRIORS.get(observation.script, PRIORS["latin"])[QUANTITIES.index(name)]


def _above_usual(name: str) -> Rule:
    """Build the paper's rule x > mu + lambda * sigma for one quantity."""

    def rule(observation: Observation, history: History, config: GateConfig) -> Verdict:
        value, seen = quantities(observation).get(name), history.get(name, ())
        if value is None:  # stored while another rule was set
            return Verdict(0.0, 0.0, {}, always=True)
        mean, sd = (value, 0.0) if name == "gradient" else _prior(observation, name)
        if seen:
            mean, sd = map(float, moments(torch.tensor(seen, dtype=torch.float64), torch.tensor(len(seen))))
        parts = {"mu": mean, "sigma": sd, "count": float(len(seen))}
        return Verdict(value, limit(mean, sd, config.lam), parts, always=len(seen) < config.warmup)

    return rule


def composition(observation: Observation, history: History, config: GateConfig) -> Verdict:
    """Sum named terms: surprise, information, novelty to the memory, cues, answers and the learned head, minus code and
    repetition.

    The first three are standard deviations from the stream's mean, clamped to `low` and `high`. Terms in favour of
    writing count only for the share of the message that isn't code.
    """
    weights, values = config.weights, quantities(observation)
    parts = {}
    for name, weight in (
        ("surprise", weights.surprise),
        ("information", weights.information),
        ("memory", weights.memory),
    ):
        prior = _prior(observation, name)
        if name == "surprise" and not observation.bytewise:  # how surprising longer tokens are, only the stream can say
            level = statistics.fmean(history[name] or [values[name]])
            prior = (level, level * prior[1] / prior[0])
        usual = Statistics.of(history[name], prior, config.prior)
        deviation = (values[name] - usual.mean) / max(usual.sd, 1e-6)
        deviation = min(max(deviation, config.low), config.high)
        parts[name] = weight * deviation
    if varies(observation, config):
        parts["surprise"], parts["memory"] = max(parts["surprise"], 0.0), max(parts["memory"], 0.0)
    odds = min(max(observation.salience, 1e-6), 1 - 1e-6)
    parts["salience"] = weights.salience * math.log(odds / (1 - odds))
    if observation.answers:
        parts["answer"] = weights.answer
    if observation.learned is not None:
        parts["learned"] = weights.learned * observation.learned
    if observation.code_share:
        parts = {name: part * (1.0 - observation.code_share) if part > 0 else part for name, part in parts.items()}
        parts["code"] = -weights.code * observation.code_share
    if observation.repeat:
        parts["repeat"] = -weights.repeat
    elif restates(observation, config):
        parts["restatement"] = -weights.restatement
    return Verdict(sum(parts.values()), config.threshold, parts)


def restates(observation: Observation, config: GateConfig) -> bool:
    """Return True if the stream already said this in other words: an earlier message is near, and this one adds nothing
    new.
    """
    return _is_near(observation, config) and observation.news is not None and observation.news < config.news


def varies(observation: Observation, config: GateConfig) -> bool:
    """Return True if a message says something else in the words of an earlier message: "Alice lives in 4B", "Bob lives
    in 4B".

    The shared words are predictable, which doesn't mean that the new ones are.
    """
    return _is_near(observation, config) and observation.news is not None and observation.news >= config.news


def _is_near(observation: Observation, config: GateConfig) -> bool:
    return observation.nearest is not None and observation.nearest >= config.near


def salience(observation: Observation, _history: History, config: GateConfig) -> Verdict:
    """Use only the cue lexicon (`reading/cues.py`)."""
    return Verdict(observation.salience, config.salience_threshold, {"salience": observation.salience})


def everything(_observation: Observation, _history: History, _config: GateConfig) -> Verdict:
    """Write every message, as if the gate were switched off."""
    return Verdict(0.0, 0.0, {}, always=True)


RULES: Mapping[str, Rule] = {
    "composition": composition,
    "paper": _above_usual("surprise"),
    "information": _above_usual("information"),
    "memory": _above_usual("memory"),
    "gradient": _above_usual("gradient"),
    "salience": salience,
    "everything": everything,
}
