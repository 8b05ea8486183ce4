"""Layer 1, the sensory-neural buffer: how surprising is a message, and is it worth encoding now (NSCMA section 3.2)."""

from nscma_torch.buffer.gate import GateState, MessageGate
from nscma_torch.buffer.observation import Observation, observe, script_of
from nscma_torch.buffer.proxy import RecurrentProxy, StreamScore
from nscma_torch.buffer.rules import RULES
from nscma_torch.buffer.surprise_gate import Gating, SurpriseGate
from nscma_torch.buffer.surprise_gate_state import SurpriseGateState

__all__ = [
    "RULES",
    "GateState",
    "Gating",
    "MessageGate",
    "Observation",
    "RecurrentProxy",
    "StreamScore",
    "SurpriseGate",
    "SurpriseGateState",
    "observe",
    "script_of",
]
