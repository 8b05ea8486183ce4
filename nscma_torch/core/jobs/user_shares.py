"""Share users among background workers.

Each worker takes the users assigned to it, so that their caches stay warm, and users who have waited too long for their
own worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from nscma_torch.core.jobs.rendezvous import worker_of

_PATIENCE = 5.0  # seconds that a user waits for the worker that it belongs to


class UserShare:
    """One worker's share of the users.

    Args:
        owner: the worker's name.
        living: the live workers, including this one.
        most: maximum users held at once if there are other workers, which can't process users held here.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        owner: str,
        living: Callable[[], Collection[str]],
        *,
        most: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._owner = owner
        self._living = living
        self._most = most
        self._clock = clock
        self._since: dict[str, float] = {}  # when a user without a worker was first seen

    def chosen(self, free: Sequence[str], *, held: int = 0) -> Sequence[str]:
        """Return the free users that this worker should take now, in order; a single worker takes all.

        `held` is the number of users it already holds.
        """
        workers = {*self._living(), self._owner}
        now = self._clock()
        self._since = {user_id: self._since.get(user_id, now) for user_id in free}
        if len(workers) == 1:
            return free
        late = [user_id for user_id in free if now - self._since[user_id] >= _PATIENCE]
        own = [user_id for user_id in free if worker_of(user_id, workers) == self._owner]
        return list(dict.fromkeys([*own, *late]))[: max(0, self._most - held)]
