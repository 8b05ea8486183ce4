"""The message gate, which decides whether a message is encoded now or deferred.

NSCMA section 3.2 writes a message if S > mu + lambda * sigma over the last N inputs. Here, that is one of several
rules, `paper` (`rules.py`), and `SurpriseGate` is that rule as a module for any model. mu and sigma are kept separately
for each stream and script, so a Chinese turn in an English chat doesn't change the English threshold. A decision is a
pure function of state and input.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Decision
from nscma_torch.surprise.observation import Observation
from nscma_torch.surprise.rules import QUANTITIES, RULES, Verdict, quantities
from nscma_torch.surprise.salience_head import SalienceHead

if TYPE_CHECKING:  # a bare GPU machine has no pydantic
    from nscma_torch.core.config import GateConfig

_VERSION = 1
_CLAUSES = {  # term of the score: its wording when it raises the score, and when it lowers it
    "surprise": ("unexpected wording", "expected wording"),
    "information": ("says more than usual", "says less than usual"),
    "memory": ("new to memory", "little that memory lacks"),
    "salience": ("cues of a fact", "small talk or a question"),
    "answer": ("answers a question", ""),
    "learned": ("may be asked about", "nothing to ask about"),
    "code": ("", "mostly ids or codes"),
    "repeat": ("", "already said"),
    "restatement": ("", "already said in other words"),
}


@dataclass(frozen=True)
class GateState:
    """The last N values of each quantity, separately for each script and oldest first, from which mu and sigma are
    computed.

    It also contains the memory from which the rule `gradient` computes a gradient (`surprise/gradient_surprise.py`).
    """

    series: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    memory: bytes | None = None

    def without(self, *names: str) -> GateState:
        """Return the state without the values of these quantities."""
        series = {
            script: {name: () if name in names else values for name, values in series.items()}
            for script, series in self.series.items()
        }
        return GateState(series, None if "gradient" in names else self.memory)

    def to_bytes(self) -> bytes:
        """Serialise to a compact, exact form for storage."""
        fields = {"version": _VERSION, "series": self.series}
        if self.memory is not None:
            fields["memory"] = base64.b64encode(self.memory).decode()
        return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, stored: bytes) -> GateState:
        """Build a state from the result of `to_bytes`. Raises `InvalidInputError` for anything else."""
        try:
            fields = json.loads(stored)
            version, scripts = fields["version"], fields["series"]
            series = {
                script: {
                    name: tuple(float(value) for value in values[name])
                    for name in QUANTITIES
                    if name != "gradient" or name in values
                }
                for script, values in scripts.items()
            }
            memory = None if "memory" not in fields else base64.b64decode(fields["memory"], validate=True)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(
                f"not a stored gate state ({error!r}): pass what GateState.to_bytes returned"
            ) from error
        if version != _VERSION:
            raise InvalidInputError(f"gate state has version {version}, expected {_VERSION}: replay the stream's log")
        return cls(series, memory)


class MessageGate:
    """Decides on observations one at a time.

    Args:
        config: rule, window and weights, from the [gate] section of a configuration.
        head: the salience head, which reads message vectors; None omits its term.
    """

    def __init__(self, config: GateConfig, head: SalienceHead | None = None) -> None:
        self.config = config
        self.head = head

    def decide(self, observation: Observation, state: GateState) -> tuple[Decision, GateState]:
        """Decide on one message.

        Args:
            observation: the observed message.
            state: the state after the stream's earlier messages; `GateState()` for a new stream.

        Returns:
            The decision and the state after it. The message counts in mu and sigma for later messages, but not for
            itself.
        """
        series = state.series.get(observation.script, {})
        values = quantities(observation)
        recent = {name: series.get(name, ())[-self.config.window :] for name in {**series, **values}}
        verdict = RULES[self.config.rule](observation, recent, self.config)
        decision = Decision(
            write=verdict.write,
            rule=self.config.rule,
            score=verdict.score,
            threshold=verdict.threshold,
            reason=_reason(self.config.rule, verdict),
            surprise=observation.mean,
            information=observation.nats,
            parts=dict(verdict.parts),
        )
        longer = {name: (*recent[name], value)[-self.config.window :] for name, value in values.items()}
        return decision, replace(state, series={**state.series, observation.script: {**recent, **longer}})


def _reason(rule: str, verdict: Verdict) -> str:
    """Describe the decision and its main terms in one readable sentence."""
    write = verdict.write
    done = "written" if write else "deferred"
    if rule == "everything":
        return "written: the gate is off"
    if rule == "composition":
        sign = 1.0 if write else -1.0
        agreeing = sorted(
            (name for name, part in verdict.parts.items() if part * sign > 0.05), key=lambda n: -sign * verdict.parts[n]
        )
        clauses = [_CLAUSES[name][0 if write else 1] for name in agreeing[:2]]
        why = " and ".join(clauses) if clauses else "nothing stands out"
    elif not verdict.parts:
        return f"written: its {rule} was not measured when it was stored"
    elif verdict.always:
        return f"written: only {verdict.parts['count']:.0f} earlier inputs to compare with"
    else:
        why = f"{rule} is {'above' if write else 'not above'} its threshold"
    return f"{done}: {why} (score {verdict.score:.2f}, threshold {verdict.threshold:.2f})"
