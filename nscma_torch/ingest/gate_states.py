"""Read or write a stream's gate state without its other state."""

from __future__ import annotations

from sqlalchemy import Connection

from nscma_torch.episodic.log import streams
from nscma_torch.episodic.log.streams import Stream
from nscma_torch.surprise.gate import GateState


def gate_state_of(stream: Stream) -> GateState:
    """Return the stored gate state, or a fresh one."""
    return GateState.from_bytes(stream.gate_state.encode()) if stream.gate_state else GateState()


def save_gate_state(connection: Connection, stream: Stream, state: GateState) -> None:
    """Store the gate state for a stored stream; its other state is unchanged."""
    streams.save(
        connection,
        stream,
        next_position=stream.next_position,
        proxy_fingerprint=stream.proxy_fingerprint,
        proxy_state=stream.proxy_state,
        gate_state=state.to_bytes().decode(),
    )
