"""Recall for an exchange: a user turn, the tool turns after it, and the reply."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from nscma_torch.core.config import UpstreamConfig
from nscma_torch.core.erasable_cache import empty_with_others
from nscma_torch.core.errors import NscmaError
from nscma_torch.server.proxy.block_text import Block
from nscma_torch.server.proxy.chat_request import UserTurn
from nscma_torch.server.proxy.recalling import RecalledBlock, TurnRecall
from nscma_torch.server.work import REQUEST_INFO, CallPool, RequestInfo

log = logging.getLogger("nscma.server.proxy")
State = Literal["recalled", "nothing", "off", "slow", "failed"]


@dataclass(frozen=True, slots=True)
class Recall:
    """Result of recall for one turn.

    Attributes:
        state: "recalled", "nothing" (no relevant memory), "off" (no user text, or no right to read), "slow" (missed the
            deadline) or "failed".
        seconds: how long recall took during this request.
        error: the name of the error if recall failed.
        earlier: the blocks of earlier turns of the conversation, by digest.
    """

    state: State
    found: RecalledBlock | None = None
    seconds: float = 0.0
    error: str = ""
    earlier: Mapping[str, Block] = field(default_factory=dict)

    def blocks(self, turn: UserTurn) -> dict[str, str]:
        """Return the blocks added to the user turns, by turn digest. Each block stays where it was first inserted."""
        return {digest: block.text for digest, block in self.earlier.items()} | {turn.digest: self.block}

    @property
    def block(self) -> str:
        """Return the block added to the turn."""
        return "" if self.found is None else self.found.block.text

    def headers(self) -> dict[str, str]:
        """Return response headers that describe the recall."""
        told = {"x-nscma-memory": f"{self.state}; {self.error}" if self.error else self.state}
        if self.block and self.found is not None:
            block = self.found.block
            told |= {"x-nscma-recalled": ",".join(block.ids), "x-nscma-tokens": str(block.tokens)}
        return told | {"x-nscma-seconds": f"{self.seconds:.4f}"}


OFF = Recall("off")
_DAYS = 2  # that a conversation whose earlier turns keep their blocks may go on without this process
_MOST_EARLIER = 256  # user turns


class Exchanges:
    """Recalls memories for turns within the deadline. Tool turns use the block from their user turn.

    Earlier user turns keep their blocks, so each request in a conversation starts with the same text as the one before
    it.

    A limited number of exchanges is cached. An erasure clears the cache. After that, or after a restart, blocks are
    rebuilt from the data stored with the turns.
    """

    def __init__(self, recalling: TurnRecall, work: CallPool, settings: UpstreamConfig) -> None:
        self._recalling = recalling
        self._work = work
        self._settings = settings
        self._kept: OrderedDict[tuple[str, str], Recall] = OrderedDict()
        self._lock = threading.Lock()
        self._erasures = 0
        empty_with_others(self)

    def forget(self) -> None:
        """Drop all recalled blocks after an erasure."""
        with self._lock:
            self._erasures += 1
            self._kept.clear()

    async def recall(self, user_id: str, turn: UserTurn) -> Recall:
        """Recall memories for a turn. It never raises; failures are reported in `Recall.state`."""
        began, at = time.perf_counter(), datetime.now(UTC)
        keys = [_key(user_id, turn.digest, at)]
        if turn.followed:
            keys.append(_key(user_id, turn.digest, at - timedelta(days=1)))
        known, unknown = self._earlier(user_id, turn, at)
        if not turn.text.strip() or turn.chore:
            found = None if turn.chore else RecalledBlock(keys[0], at)
            return Recall("off", found, earlier=_blocks(known))
        if turn.followed:
            with self._lock:
                kept = next((self._kept[user_id, key] for key in keys if (user_id, key) in self._kept), None)
            if kept is not None:
                return replace(kept, seconds=time.perf_counter() - began, earlier=_blocks(known))
        erasures = self._erasures
        recall, standing = await self._looked_up(user_id, turn, keys, at, known, unknown)
        recall = replace(recall, seconds=time.perf_counter() - began)
        for found in standing.values():
            self._keep(user_id, found.key, Recall("recalled" if found.block.text else "nothing", found), erasures)
        self._keep(user_id, keys[0] if recall.found is None else recall.found.key, recall, erasures)
        return replace(recall, earlier=_blocks(standing))

    def _earlier(
        self, user_id: str, turn: UserTurn, at: datetime
    ) -> tuple[dict[str, RecalledBlock], dict[str, list[str]]]:
        """Return the cached blocks for earlier turns, by digest, and the possible storage keys for the other turns."""
        known: dict[str, RecalledBlock] = {}
        unknown: dict[str, list[str]] = {}
        days = [at - timedelta(days=number) for number in range(_DAYS)]
        for digest in turn.earlier[-_MOST_EARLIER:]:
            keys = [_key(user_id, digest, day) for day in days]
            with self._lock:
                kept = next((self._kept[user_id, key] for key in keys if (user_id, key) in self._kept), None)
            if kept is None:
                unknown[digest] = keys
            elif kept.found is not None:
                known[digest] = kept.found
        return known, unknown

    async def _looked_up(
        self,
        user_id: str,
        turn: UserTurn,
        keys: list[str],
        at: datetime,
        known: dict[str, RecalledBlock],
        unknown: dict[str, list[str]],
    ) -> tuple[Recall, dict[str, RecalledBlock]]:
        """Recall memories for a turn and look up the blocks for earlier turns. If time runs out, only cached blocks are
        returned.
        """
        nothing = RecalledBlock(keys[0], at)  # a turn that got no block gets none afterwards
        looking = self._recalling.again if turn.followed else self._recalling.only
        due = time.monotonic() + self._settings.deadline

        def look() -> tuple[RecalledBlock, dict[str, RecalledBlock]]:
            if time.monotonic() >= due:  # nobody waits for it any longer
                raise TimeoutError
            standing = self._recalling.standing(user_id, known, unknown) if turn.earlier else {}
            return looking(user_id, turn, keys, at, list(_blocks(standing).values())), standing

        REQUEST_INFO.set(
            replace(REQUEST_INFO.get() or RequestInfo(), size=0)
        )  # the number of look-ups is limited, however long the conversation
        try:
            found, standing = await asyncio.wait_for(self._work.run(look), self._settings.deadline)
        except TimeoutError:
            return Recall("slow", nothing), known
        except NscmaError as error:
            log.warning("nothing was recalled: %s: %s", type(error).__name__, error)
            return Recall("failed", nothing, error=type(error).__name__), known
        except Exception as error:  # whatever it is, the model answers
            log.exception("nothing was recalled")
            return Recall("failed", nothing, error=type(error).__name__), known
        return Recall("recalled" if found.block.text else "nothing", found), standing

    def _keep(self, user_id: str, key: str, recall: Recall, erasures: int) -> None:
        with self._lock:
            if self._erasures != erasures:
                return
            self._kept[user_id, key] = recall
            self._kept.move_to_end((user_id, key))
            while len(self._kept) > self._settings.exchanges:
                self._kept.popitem(last=False)


def _blocks(found: Mapping[str, RecalledBlock]) -> dict[str, Block]:
    return {digest: one.block for digest, one in found.items()}


def _key(user_id: str, digest: str, at: datetime) -> str:
    """Return a key shared by all requests in an exchange on one day. A conversation that begins identically on another
    day has a different key.
    """
    about = hashlib.sha256(f"{user_id}\0{digest}".encode()).hexdigest()
    return f"chat {about[:32]} {at:%Y-%m-%d}"
