"""Stores an exchange when it ends: the user turn without its block, and the reply."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from datetime import UTC, datetime

from nscma_torch.config import Upstream
from nscma_torch.errors import NscmaError
from nscma_torch.memory import Memory
from nscma_torch.reading.turn_forms import only_asks
from nscma_torch.records import Message
from nscma_torch.server.proxy.block import Block
from nscma_torch.server.proxy.chat_request import Turn
from nscma_torch.server.proxy.recalling import EXCHANGE, Choice, Found, Recalling
from nscma_torch.server.work import Work
from nscma_torch.storage.turns import ECHO, EVIDENCE
from nscma_torch.text.terms import terms

log = logging.getLogger("nscma.server.proxy")
_REPEATED = 0.8  # share of a reply's terms in the turn and the block, from which on it holds nothing new


class Keeping:
    """Stores exchanges, one after the other in a thread of its own, as a store has one writer.

    A turn is stored once, however many requests its exchange has.
    """

    def __init__(self, memory: Memory, recalling: Recalling, settings: Upstream) -> None:
        self._memory = memory
        self._recalling = recalling
        self._work = Work(1, settings.exchanges)
        self._settings = settings

    async def keep(self, user_id: str, turn: Turn, found: Found, reply: str) -> None:
        """Store it; after the deadline that goes on alone. It raises nothing: the answer is out, and the log says."""
        try:
            storing = self._work.run(self._store, user_id, turn, found, reply)
            await asyncio.wait_for(storing, self._settings.deadline)
        except TimeoutError:
            log.warning("storing an exchange takes longer than upstream.deadline; it goes on")
        except NscmaError as error:
            log.error("an exchange was not stored: %s: %s", type(error).__name__, error)
        except Exception:  # the memory is down; the client has its answer
            log.exception("an exchange was not stored")

    def close(self) -> None:
        """Wait until what waits is stored."""
        self._work.close()

    def _store(self, user_id: str, turn: Turn, found: Found, reply: str) -> None:
        self._recalling.queue()
        most = self._memory.config.limits.max_message_bytes
        said, sources = turn.said, found.block.sources
        if said.strip() and _fits(said, most, "user turn"):
            about = Choice.of(found.block).metadata() | ({ECHO: True} if only_asks(said) else {})
            asked = Message(
                "user", said, found.at, name=turn.name, session=turn.session, metadata=about,
                idempotency_key=found.key,
            )  # fmt: skip
            (added,) = self._memory.add(asked, user_id=user_id)
            sources = [*sources, added.id]
        if reply.strip() and _fits(reply, most, "reply"):
            about = {EXCHANGE: found.key, EVIDENCE: sources}
            if _repeats(reply, turn.text, found.block):
                about[ECHO] = True
            mark = hashlib.sha256(reply.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            answered = Message(
                "assistant", reply, datetime.now(UTC), session=turn.session, metadata=about,
                idempotency_key=f"{found.key} {mark}",
            )  # fmt: skip
            self._memory.add(answered, user_id=user_id, infer=False)  # it may repeat anything, so no facts


def _fits(text: str, most: int, what: str) -> bool:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > most:
        log.warning("a %s of %d bytes was not stored: limits.max_message_bytes is %d", what, size, most)
    return size <= most


def _repeats(reply: str, asked: str, block: Block) -> bool:
    """Whether a reply says little that is not in its question or in what was recalled."""
    if not block.text:
        return False
    said = set(terms(reply))
    known = set(terms(asked)).union(
        *(terms(one.text) for one in block.passages), *(terms(fact.object) for fact in block.facts)
    )
    return not said or len(said & known) >= _REPEATED * len(said)
