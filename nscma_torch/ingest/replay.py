"""Repeat the gate's decisions with other rules, using the logged observations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.jobs import jobs
from nscma_torch.core.records import Decision, Episode, Scope
from nscma_torch.episodic.log import backlog, episodes, history, streams
from nscma_torch.episodic.log.backlog import EXTRACT, RESTATE
from nscma_torch.ingest.gate_states import gate_state_of, save_gate_state
from nscma_torch.surprise.gate import GateState, MessageGate
from nscma_torch.surprise.observation import Observation
from nscma_torch.surprise.rules import OF_THE_MODEL


@dataclass(frozen=True, slots=True)
class Redecision:
    """A message for which the new rules decide differently."""

    episode: Episode
    decision: Decision


def replay(
    database: Database, gate: MessageGate, scope: Scope, *, at: datetime, dry_run: bool
) -> tuple[int, list[Redecision]]:
    """Run `gate` over the logged observations of each stream in the scope, in order.

    Returns the number of messages decided and the decisions that changed. With `dry_run=False` the decisions are
    replaced, newly written messages are queued for extraction and newly deferred ones removed from the queue, each
    change is recorded in the history, and streams continue from the new statistics. Nats per byte and per token are
    never mixed: the statistics restart wherever a stream switches. A message that was already extracted stays
    extracted.
    """
    decided = 0
    changed: list[Redecision] = []
    opening = database.read(scope.user_id) if dry_run else database.write(scope.user_id)
    with opening as connection:
        for stream in streams.of_user(connection, scope.user_id):
            if not _inside(stream.scope, scope):
                continue
            # the observations say what was measured then; the memory is what the stream's messages have written
            state, bytewise = GateState(memory=gate_state_of(stream).memory), None
            for seq, _, observation in episodes.observations(connection, stream.id):
                seen = Observation.from_dict(observation)
                if seen.bytewise != bytewise:  # another surprise model
                    state, bytewise = state.without(*OF_THE_MODEL), seen.bytewise
                decision, state = gate.decide(seen, state)
                row = episodes.row_of(connection, seq)
                if row["decision"] is None:  # added with infer=False
                    continue
                decided += 1
                if row["write"] != decision.write:
                    episode = episodes.by_seqs(connection, scope.user_id, [seq])[seq]
                    changed.append(Redecision(episode, decision))
                if dry_run:
                    continue
                episodes.set_columns(connection, seq, **episodes.decision_columns(decision, observation))
                if row["write"] == decision.write:
                    continue
                if not decision.write:
                    jobs.withdraw(connection, EXTRACT, seq)
                    if seen.repeat and not row["encoded"]:
                        backlog.queue_repeated(connection, RESTATE, [row])
                elif not row["encoded"]:
                    jobs.withdraw(connection, RESTATE, seq)
                    jobs.enqueue(connection, scope.user_id, EXTRACT, [(stream.id, seq)])
                history.note(
                    connection,
                    user_id=scope.user_id,
                    episode_seq=seq,
                    event="REDECIDE",
                    at=to_micros(at),
                    reason=decision.reason,
                )
            if not dry_run:
                save_gate_state(connection, stream, state)
        if not dry_run:
            streams.touch_user(connection, scope.user_id)
    return decided, changed


def _inside(stream: Scope, wanted: Scope) -> bool:
    return wanted.agent_id in (None, stream.agent_id) and wanted.run_id in (None, stream.run_id)
