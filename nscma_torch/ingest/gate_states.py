"""The state of the gate that a stream carries: read, and written alone."""

from __future__ import annotations

from sqlalchemy import Connection

from nscma_torch.episodic.log import streams
from nscma_torch.episodic.log.streams import Stream
from nscma_torch.surprise.gate import GateState


def gate_state_of(stream: Stream) -> GateState:
    """The stored state; a fresh one where there is none."""
    return GateState.from_bytes(stream.gate_state.encode()) if stream.gate_state else GateState()


def save_gate_state(connection: Connection, stream: Stream, state: GateState) -> None:
    """Set the gate's state of a stored stream; what else it carries stays."""
    streams.save(
        connection,
        stream,
        next_position=stream.next_position,
        proxy_fingerprint=stream.proxy_fingerprint,
        proxy_state=stream.proxy_state,
        gate_state=state.to_bytes().decode(),
    )
