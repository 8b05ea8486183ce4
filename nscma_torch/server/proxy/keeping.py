"""Store an exchange when it ends: the user turn without its block, followed by the reply."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import replace
from datetime import UTC, datetime

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import UpstreamConfig
from nscma_torch.core.errors import NscmaError, OverloadedError, TextTooLargeError
from nscma_torch.core.records import Message
from nscma_torch.episodic.log.turns import ECHO, EVIDENCE
from nscma_torch.reading.turn_forms import only_asks
from nscma_torch.server.proxy.block_text import Block
from nscma_torch.server.proxy.chat_request import UserTurn
from nscma_torch.server.proxy.recalling import EXCHANGE, BlockContents, RecalledBlock
from nscma_torch.server.work import REQUEST_INFO, CallPool, RequestInfo
from nscma_torch.text.terms import terms

log = logging.getLogger("nscma.server.proxy")
_THREADS = 4  # at most half of them store long turns
_REPEATED = 0.8  # share of a reply's terms in the turn and the block, from which on it holds nothing new


class ExchangeWriter:
    """Stores exchanges in its own threads. One user's exchanges are stored in the order in which they ended.

    A turn is stored only once, even if its exchange has several requests.
    """

    def __init__(self, memory: Memory, settings: UpstreamConfig) -> None:
        self._memory = memory
        self._work = CallPool(_THREADS, settings.exchanges, in_order=True)
        self._settings = settings

    async def keep(self, user_id: str, turn: UserTurn, found: RecalledBlock, reply: str) -> str:
        """Store an exchange and report the outcome within `upstream.commit` seconds. If that isn't enough, storing
        continues in the background.

        Returns "yes" if the exchange is on disk, "late" if it isn't yet, or "failed; NameOfTheError". It never raises:
        the client gets its answer, and the error is logged.
        """
        try:
            REQUEST_INFO.set(
                replace(REQUEST_INFO.get() or RequestInfo(), user=user_id, size=_size(turn.said) + _size(reply))
            )
            storing = self._work.run(self._kept, user_id, turn, found, reply)
            return await asyncio.wait_for(storing, self._settings.commit)
        except TimeoutError:
            log.warning("storing an exchange takes longer than upstream.commit; it goes on")
            return "late"
        except OverloadedError as error:
            log.error("an exchange was not stored: %s", error)
            return failed(error)

    def close(self) -> None:
        """Wait until pending exchanges are stored."""
        self._work.close()

    def _kept(self, user_id: str, turn: UserTurn, found: RecalledBlock, reply: str) -> str:
        try:
            self._store(user_id, turn, found, reply)
        except NscmaError as error:
            log.error("an exchange was not stored: %s: %s", type(error).__name__, error)
            return failed(error)
        except Exception as error:  # the memory is down; the client gets its answer
            log.exception("an exchange was not stored")
            return failed(error)
        return "yes"

    def _store(self, user_id: str, turn: UserTurn, found: RecalledBlock, reply: str) -> None:
        most = self._memory.config.limits.max_message_bytes
        said, sources = turn.said, found.block.sources
        large = [what for what, text in (("user turn", said), ("reply", reply)) if _size(text) > most]
        if said.strip() and "user turn" not in large:
            about = BlockContents.of(found.block).metadata() | ({ECHO: True} if only_asks(said) else {})
            asked = Message(
                "user", said, found.at, name=turn.name, session=turn.session, metadata=about,
                idempotency_key=found.key,
            )  # fmt: skip
            (added,) = self._memory.add(asked, user_id=user_id)
            sources = [*sources, added.id]
        if reply.strip() and "reply" not in large:
            about = {EXCHANGE: found.key, EVIDENCE: sources}
            if _repeats(reply, turn.text, found.block):
                about[ECHO] = True
            mark = hashlib.sha256(reply.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            answered = Message(
                "assistant", reply, datetime.now(UTC), session=turn.session, metadata=about,
                idempotency_key=f"{found.key} {mark}",
            )  # fmt: skip
            self._memory.add(answered, user_id=user_id, infer=False)  # it may repeat anything, so no facts
        if large:
            raise TextTooLargeError(f"its {' and '.join(large)} is larger than limits.max_message_bytes = {most:,}")
        if turn.fault is not None:
            raise turn.fault


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def failed(error: Exception) -> str:
    """Return the header value for an exchange that is not, or not completely, on disk."""
    return f"failed; {type(error).__name__}"


def _repeats(reply: str, asked: str, block: Block) -> bool:
    """Return True if a reply adds little to the question and the recalled block."""
    if not block.text:
        return False
    said = set(terms(reply))
    known = set(terms(asked)).union(
        *(terms(one.text) for one in block.passages), *(terms(fact.object) for fact in block.facts)
    )
    return not said or len(said & known) >= _REPEATED * len(said)
