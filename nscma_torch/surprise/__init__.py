"""Layer 1, the sensory-neural buffer: measure a message's surprise and decide whether to encode it now (NSCMA section
3.2).
"""

from nscma_torch.surprise.byte_model.bundled_model import ByteStreamScore, ByteSurpriseModel
from nscma_torch.surprise.gate import GateState, MessageGate
from nscma_torch.surprise.gate_module import Gating, SurpriseGate
from nscma_torch.surprise.gate_module_state import SurpriseGateState
from nscma_torch.surprise.observation import Observation, observe, script_of
from nscma_torch.surprise.rules import RULES

__all__ = [
    "RULES",
    "ByteStreamScore",
    "ByteSurpriseModel",
    "GateState",
    "Gating",
    "MessageGate",
    "Observation",
    "SurpriseGate",
    "SurpriseGateState",
    "observe",
    "script_of",
]
