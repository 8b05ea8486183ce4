"""Process messages again after a change to the turns before them, because these affect their meaning."""

from __future__ import annotations

import sys
from collections.abc import Collection

from sqlalchemy import Connection

from nscma_torch.core import capabilities
from nscma_torch.core.jobs import jobs
from nscma_torch.episodic.index import units
from nscma_torch.episodic.log import episodes, speakers, summary_context, turns
from nscma_torch.episodic.log.backlog import EXTRACT
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.semantic.store import erase_facts, statements


def read_again_after(
    connection: Connection, user_id: str, changed: Collection[int], reach: int, *, forget: bool = False
) -> None:
    """Queue the messages that were read with any of these among the `reach` messages before them.

    If any message in the store was ever read with a summary of its conversation, all later messages are queued. With
    `forget`, before an erasure, everything ever read from the queued messages is erased at once, including superseded
    statements and statements from an edited message waiting to be read. Messages that address the changed messages'
    speakers are then treated in the same way. Call it while the changed messages still exist.
    """
    reach = sys.maxsize if summary_context.was_used(connection) else reach
    concerned = set(turns.after(connection, changed, reach))
    if forget:
        concerned.update(speakers.addressed_to(connection, changed))
    for seq in sorted(concerned):
        row = episodes.row_of(connection, seq)
        if not (row["encoded"] or (forget and statements.any_superseded(connection, seq))):
            continue
        if forget:
            made = [unit for kind in units.MADE_OF_MESSAGES for unit in units.seqs_of_episode(connection, seq, kind)]
            hierarchies.retire(connection, made)
            units.remove(connection, made)
            erase_facts.delete_episode(connection, seq)
            capabilities.retire(connection, [seq])
            episodes.set_columns(connection, seq, encoded=False)
        jobs.enqueue(connection, user_id, EXTRACT, [(row["stream_id"], seq)])
