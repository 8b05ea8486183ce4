"""Working memory: standing instructions, the active context, and the rolling summary of earlier turns.

It is read from the store, so it survives a restart. The summary is written from the old summary and the turns that
leave the context, never from the whole history. If a turn that it covers is hidden or erased, the summary is rewritten.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from nscma_torch.core.database import user_versions
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.errors import StoreBusyError
from nscma_torch.core.records import DerivedKind, Episode, Scope, Usage
from nscma_torch.curator.store import derived_texts
from nscma_torch.curator.store.derived_texts import DerivedText
from nscma_torch.episodic.log import speakers, streams, turns
from nscma_torch.episodic.log.turns import TurnRow
from nscma_torch.llm.prompts.acting import MOST_INSIGHTS, MOST_OF_DAYS
from nscma_torch.reading.turn_forms import standing_instructions

_CONCLUSIONS: tuple[DerivedKind, ...] = ("insight", "portrait", "reflection")  # kinds of insights
_MOST_RULES = 16  # standing instructions that are followed
_ATTEMPTS = 3  # to read while messages change
_AT_ONCE = 64  # turns that a summarizer is handed at most
_PUT_OFF = 64  # turns that the gate put off, still in view


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message with its replies."""

    turn: Episode
    replies: tuple[Episode, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The state that the controller keeps for a turn.

    Attributes:
        instructions: messages that contain standing instructions, oldest first.
        context: the active context, in the order in which it was said.
        covered: id of the last message covered by the summary; "" if there is no summary.
        spoken: all messages since the first turn in the context, including deferred ones.
        overtaken: ids of the turns in the context that later messages outside it (later in order or time) may have
            updated.
        insights: sleep's conclusions about the user, surest first.
        days: the latest lines in sleep's summary of all days.
        insight_sources: ids of the messages that were visible when `insights` and `days` were written.
        epoch: the user's epoch at the time of reading; if it differs later, messages have changed.
        asker: the person that "I" refers to in a question; see `Asker.name`.
    """

    instructions: tuple[Episode, ...] = ()
    summary: str = ""
    context: tuple[Exchange, ...] = ()
    covered: str = ""
    spoken: tuple[Episode, ...] = ()
    overtaken: frozenset[str] = frozenset()
    epoch: int = 0
    asker: str = "user"
    insights: tuple[DerivedText, ...] = ()
    days: tuple[DerivedText, ...] = ()
    insight_sources: tuple[str, ...] = ()

    @property
    def given(self) -> tuple[tuple[str, str], ...]:
        """Return the standing instructions verbatim, each with the id of the newest message that contains it."""
        found: dict[str, str] = {}
        for episode in reversed(self.instructions):
            own = (episode.text,) if episode.role == "system" else standing_instructions(episode.text)
            for rule in reversed(own):
                found.setdefault(rule, episode.id)
        return tuple(found.items())[:_MOST_RULES][::-1]

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the standing instructions, oldest first, without repetitions. If there are too many, return only the
        newest ones.
        """
        return tuple(rule for rule, _ in self.given)


@dataclass(frozen=True, slots=True)
class Summarized:
    """A new summary that covers the first `taken` exchanges of those given."""

    text: str
    taken: int
    usage: Usage = field(default_factory=Usage)


class Summarizer(Protocol):
    """Writes rolling summaries."""

    def summarize(self, summary: str, leaving: Sequence[Exchange]) -> Summarized:
        """Merge the old summary and the first of the leaving exchanges, at least one, into one new summary."""


@dataclass(slots=True)
class _Read:
    """The stream as last read: its turns, each with its replies, and the keys of the turns that left the context.

    `elsewhere` is the last row number and the latest time of the user's messages outside the stream, up to `heard`.
    """

    epoch: int = -1
    last: int = 0
    groups: list[list[TurnRow]] = field(default_factory=list)
    heard: int = 0
    elsewhere: tuple[int, int] = (0, 0)
    keys: list[str] = field(default_factory=lambda: [streams.derive_id("rolling")])


class WorkingMemoryReader:
    """Reads the working memory for one stream, and has turns summarized as they leave the context.

    Args:
        scope: user, agent and run, which identify the conversation that forms the stream.
        active: K, the number of newest written turns that stay in the context.
        recent: the number of newest turns that stay in the context regardless of the gate's decision.
        batch: the number of turns that leave together, so the context has at most `active + batch - 1` written turns.
    """

    def __init__(self, database: Database, scope: Scope, *, active: int, recent: int, batch: int) -> None:
        self._database = database
        self._scope = scope
        self._active = active
        self._recent = recent
        self._batch = batch
        self._read = _Read()
        self.stream_id = streams.stream_id_of(scope)

    def read(self, summarizer: Summarizer, now: datetime) -> tuple[WorkingMemory, Usage]:
        """Return the current working memory. Raises the summarizer's errors, and then leaves the store unchanged.

        If a message is hidden or erased while its summary is being written, the summary is discarded and everything is
        read again. Raises `StoreBusyError` if this keeps happening.
        """
        usage = Usage()
        for _ in range(_ATTEMPTS):
            memory, cost = self._read_once(summarizer, now)
            usage = added(usage, cost)
            if memory is not None:
                return memory, usage
        raise StoreBusyError("messages kept changing while the conversation was summarized; try again")

    def _read_once(self, summarizer: Summarizer, now: datetime) -> tuple[WorkingMemory | None, Usage]:
        """Return the working memory, or None if messages changed in the meantime."""
        user, at = self._scope.user_id, to_micros(now)
        with self._database.read(user) as connection:
            _, epoch = user_versions.version(connection, user)
            if epoch != self._read.epoch:
                self._read = _Read(epoch)
            for row in turns.turns_after(connection, self.stream_id, self._read.last, at):
                self._append(row)
            instructions = turns.standing(connection, self._scope, at)
            asker = speakers.asker_of(connection, user).name
            scope = Scope(user, self._scope.agent_id)
            known = [one for kind in _CONCLUSIONS for one in derived_texts.of_scope(connection, scope, kind)]
            insights = sorted(known, key=lambda one: (-one.confidence, one.id))[:MOST_INSIGHTS]
            days = derived_texts.of_scope(connection, scope, "global_summary")[-MOST_OF_DAYS:]
            insight_sources = derived_texts.in_view_of(connection, [one.id for one in (*insights, *days)])
            groups = self._read.groups
            written = [group for group in groups if group[0].written]
            keys = self._keys(written[: -self._active])
            stored = turns.rolling_summary(connection, self.stream_id, keys)
        summary, covered = ("", 0) if stored is None else (stored[0], keys.index(stored[1]))
        leaving = written[covered : -self._active]
        usage = Usage()
        while len(leaving) >= self._batch:
            done = summarizer.summarize(summary, self._load(leaving[:_AT_ONCE]))
            summary, covered, leaving = done.text, covered + done.taken, leaving[done.taken :]
            usage = added(usage, done.usage)
            with self._database.write(user) as connection:
                if user_versions.version(connection, user)[1] != self._read.epoch:
                    ids = [row.id for group in written[:covered] for row in group]
                    if turns.missing(connection, user, ids):
                        return None, usage
                turns.keep_rolling_summary(connection, user, self.stream_id, keys[covered], summary)
        kept = {group[0].seq for group in (*written[covered:], *groups[max(0, len(groups) - self._recent) :])}
        shown = [group for group in groups if group[0].seq in kept]
        since = min(kept, default=0)
        put_off = [group[:1] for group in groups if group[0].seq > since and group[0].seq not in kept]
        context = self._load(shown)
        aside = [exchange.turn for exchange in self._load(put_off[-_PUT_OFF:])]
        spoken = sorted([*(exchange.turn for exchange in context), *aside], key=lambda turn: turn.position)
        last = written[covered - 1][-1].id if covered else ""
        return WorkingMemory(
            instructions=tuple(instructions),
            summary=summary,
            context=tuple(context),
            covered=last,
            spoken=tuple(spoken),
            overtaken=self._overtaken([group[0] for group in shown], {turn.id for turn in spoken}, at),
            epoch=self._read.epoch,
            asker=asker,
            insights=tuple(insights),
            days=tuple(days),
            insight_sources=tuple(insight_sources),
        ), usage

    def _overtaken(self, shown: Sequence[TurnRow], in_view: Collection[str], now: int) -> frozenset[str]:
        read = self._read
        with self._database.read(self._scope.user_id) as connection:
            new = turns.newest_elsewhere(connection, self._scope, self.stream_id, read.heard, now)
        read.elsewhere = max(read.elsewhere[0], new[0]), max(read.elsewhere[1], new[1])
        read.heard = max(read.heard, read.last, new[0])
        out_of_view = [group[0] for group in read.groups if group[0].id not in in_view]
        seq = max([read.elsewhere[0], *(row.seq for row in out_of_view)])
        at = max([read.elsewhere[1], *(row.at for row in out_of_view)])
        return frozenset(row.id for row in shown if row.seq < seq or row.at < at)

    def _append(self, row: TurnRow) -> None:
        """Append a reply to the turn before it; the program's messages are skipped."""
        self._read.last = row.seq
        if row.role == "assistant" and self._read.groups:
            self._read.groups[-1].append(row)
        elif row.role in ("user", "assistant"):
            self._read.groups.append([row])

    def _keys(self, left: Sequence[Sequence[TurnRow]]) -> list[str]:
        """Return a key for each number of turns that left, from none to all. Keys are equal only if the turns' texts
        are equal.
        """
        keys = self._read.keys
        for group in left[len(keys) - 1 :]:
            keys.append(streams.derive_id(keys[-1], *(part for row in group for part in (row.id, row.text_hash))))
        return keys

    def _load(self, groups: Sequence[Sequence[TurnRow]]) -> list[Exchange]:
        with self._database.read(self._scope.user_id) as connection:
            found = turns.load(connection, self._scope.user_id, [row.seq for group in groups for row in group])
        there = [[found[row.seq] for row in group if row.seq in found] for group in groups]
        return [Exchange(group[0], tuple(group[1:])) for group in there if group]


def added(one: Usage, other: Usage) -> Usage:
    """Sum two costs."""
    return Usage(one.llm_calls + other.llm_calls, one.tokens + other.tokens, one.seconds + other.seconds)
