"""What memory did for an exchange: a user turn, the turns of tools that follow it, and the reply."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from nscma_torch.config import Upstream
from nscma_torch.erasable_cache import empty_with_others
from nscma_torch.errors import NscmaError
from nscma_torch.server.proxy.chat_request import Turn
from nscma_torch.server.proxy.recalling import Found, Recalling
from nscma_torch.server.work import Work

log = logging.getLogger("nscma.server.proxy")
State = Literal["recalled", "nothing", "off", "slow", "failed"]


@dataclass(frozen=True, slots=True)
class Recall:
    """What a turn recalled.

    Attributes:
        state: recalled, nothing (nothing bears on it), off (no text of a user to recall for, or no right to), slow (not
            within the deadline), failed.
        seconds: what it took of this request's time.
        error: the name of what failed.
    """

    state: State
    found: Found | None = None
    seconds: float = 0.0
    error: str = ""

    @property
    def block(self) -> str:
        """What is added to the turn."""
        return "" if self.found is None else self.found.block.text

    def headers(self) -> dict[str, str]:
        """What a client is told of it."""
        told = {"x-nscma-memory": f"{self.state}; {self.error}" if self.error else self.state}
        if self.block and self.found is not None:
            block = self.found.block
            told |= {"x-nscma-recalled": ",".join(block.ids), "x-nscma-tokens": str(block.tokens)}
        return told | {"x-nscma-seconds": f"{self.seconds:.4f}"}


OFF = Recall("off")


class Exchanges:
    """Recalls for turns, never for longer than the deadline; the turns of tools get what their user turn got.

    What was recalled is kept for so many exchanges. It goes from here when something is erased, and is then, as after
    a restart, put together from what is stored with the turn.
    """

    def __init__(self, recalling: Recalling, work: Work, settings: Upstream) -> None:
        self._recalling = recalling
        self._work = work
        self._settings = settings
        self._kept: OrderedDict[tuple[str, str], Recall] = OrderedDict()
        self._lock = threading.Lock()
        self._erasures = 0
        empty_with_others(self)

    def forget(self) -> None:
        """Drop all that was recalled: something is erased."""
        with self._lock:
            self._erasures += 1
            self._kept.clear()

    async def recall(self, user_id: str, turn: Turn) -> Recall:
        """What a turn recalls. It raises nothing: what goes wrong is said by `Recall.state`."""
        began, at = time.perf_counter(), datetime.now(UTC)
        keys = [_key(user_id, turn, at), *([_key(user_id, turn, at - timedelta(days=1))] if turn.followed else [])]
        if not turn.text.strip():
            return Recall("off", Found(keys[0], at))
        if turn.followed:
            with self._lock:
                known = next((self._kept[user_id, key] for key in keys if (user_id, key) in self._kept), None)
            if known is not None:
                return replace(known, seconds=time.perf_counter() - began)
        erasures = self._erasures
        recall = await self._looked_up(user_id, turn, keys, at)
        recall = replace(recall, seconds=time.perf_counter() - began)
        self._keep(user_id, keys[0] if recall.found is None else recall.found.key, recall, erasures)
        return recall

    async def _looked_up(self, user_id: str, turn: Turn, keys: list[str], at: datetime) -> Recall:
        nothing = Found(keys[0], at)  # a turn that got no block gets none afterwards
        looking = self._recalling.again if turn.followed else self._recalling.only
        due = time.monotonic() + self._settings.deadline

        def look() -> Found:
            if time.monotonic() >= due:  # nobody waits for it any more
                raise TimeoutError
            return looking(user_id, turn, keys, at)

        try:
            found = await asyncio.wait_for(self._work.run(look), self._settings.deadline)
        except TimeoutError:
            return Recall("slow", nothing)
        except NscmaError as error:
            log.warning("nothing was recalled: %s: %s", type(error).__name__, error)
            return Recall("failed", nothing, error=type(error).__name__)
        except Exception as error:  # whatever it is, the model answers
            log.exception("nothing was recalled")
            return Recall("failed", nothing, error=type(error).__name__)
        return Recall("recalled" if found.block.text else "nothing", found)

    def _keep(self, user_id: str, key: str, recall: Recall, erasures: int) -> None:
        with self._lock:
            if self._erasures != erasures:
                return
            self._kept[user_id, key] = recall
            self._kept.move_to_end((user_id, key))
            while len(self._kept) > self._settings.exchanges:
                self._kept.popitem(last=False)


def _key(user_id: str, turn: Turn, at: datetime) -> str:
    """The same for all requests of an exchange on one day; a conversation that begins alike on another is another."""
    about = hashlib.sha256(f"{user_id}\0{turn.digest}".encode()).hexdigest()
    return f"chat {about[:32]} {at:%Y-%m-%d}"
