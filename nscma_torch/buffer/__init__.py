"""Layer 1, the sensory-neural buffer: how surprising is a message, and is it worth encoding now (NSCMA section 3.2)."""

from nscma_torch.buffer.gate import GateState, SurpriseGate
from nscma_torch.buffer.observation import Observation, observe, script_of
from nscma_torch.buffer.proxy import RecurrentProxy, StreamScore
from nscma_torch.buffer.rules import RULES, GateConfig, GateWeights

__all__ = [
    "RULES",
    "GateConfig",
    "GateState",
    "GateWeights",
    "Observation",
    "RecurrentProxy",
    "StreamScore",
    "SurpriseGate",
    "observe",
    "script_of",
]
