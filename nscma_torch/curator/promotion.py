"""Promotion: recalls raise the importance of messages, so that they fade later and rank higher."""

from __future__ import annotations

from sqlalchemy import Connection

from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.records import Scope
from nscma_torch.episodic.index import units
from nscma_torch.episodic.log import episodes, streams


def importance(before: float, recalls: int, share: float) -> float:
    """Return the importance after a number of recalls, each of which closes the given share of the gap to 1.

    Counting recalls together or one by one gives the same result. A negative number undoes that number of recalls,
    except with a share of 1, because the earlier value is then unknown.
    """
    left = 1.0 - share
    return max(0.0, 1.0 - (1.0 - before) * left**recalls) if left or recalls >= 0 else before


def promote(connection: Connection, scope: Scope, settings: CuratorConfig) -> int:
    """Apply the recalls counted since the last promotion; return the number of messages changed."""
    recalled = list(episodes.select_all(connection, scope, episodes.recalled(), episodes.live()))
    promoted = 0
    for episode in recalled:
        new = episode.accesses - round(episode.strength - 1.0)
        if new <= 0:
            continue
        seq, _ = episodes.require(connection, scope.user_id, episode.id)
        weight = importance(episode.importance, new, settings.promotion)
        episodes.set_columns(connection, seq, importance=weight, strength=1.0 + episode.accesses)
        units.set_importance(connection, units.seqs_of_episode(connection, seq), weight)
        promoted += 1
    if promoted:
        streams.touch_user(connection, scope.user_id)
    return promoted
