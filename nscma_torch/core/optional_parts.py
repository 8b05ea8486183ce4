"""Interfaces of capabilities that can be removed with their folders; `core.capabilities` finds the implementations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from sqlalchemy import Connection

from nscma_torch.core.records import Extraction, MemoryRecord, RecordFilter, Scope, Unit
from nscma_torch.core.skill import FoundSkill, Skill


class RecordRows(Protocol):
    """Access to the rows of structured records; see `features.records.memory_records`."""

    def present(self, connection: Connection, episode_seqs: Collection[int]) -> set[int]: ...
    def replace(self, connection: Connection, episode_row: Mapping[Any, Any], new: Any) -> None: ...
    def find(self, connection: Connection, user_id: str, episode_id: str, now: int) -> MemoryRecord | None: ...
    def select_records(
        self, connection: Connection, scope: Scope, wanted: RecordFilter, now: int, *, limit: int | None = None
    ) -> list[MemoryRecord]: ...
    def units_fitting(self, connection: Connection, scope: Scope, wanted: RecordFilter, now: int) -> list[int]: ...


class RecordMaker(Protocol):
    """Makes the structured records of messages; see `features.records.describing`."""

    def records(
        self,
        chunks: Sequence[tuple[int, Unit]],
        extracted: Sequence[Extraction],
        listeners: Mapping[int, str],
        before: Mapping[int, Sequence[Unit]],
    ) -> Mapping[int, Any]: ...


class SkillRows(Protocol):
    """Access to the rows of skills; see `features.skills.rows`."""

    def find(self, connection: Connection, user_id: str, key: str) -> Skill | None: ...
    def texts(self, connection: Connection, user_id: str, key: str) -> list[str]: ...
    def select_skills(self, connection: Connection, scope: Scope, *, archived: bool = False) -> list[Skill]: ...
    def note_outcome(
        self, connection: Connection, user_id: str, key: str, *, success: bool, at: int, withdrawn: bool = False
    ) -> Skill: ...
    def written_after(self, connection: Connection, reply: int) -> list[str]: ...
    def remove(self, connection: Connection, key: str) -> dict[str, int]: ...


class SkillStore(Protocol):
    """The skills of a store; see `features.skills.skills`."""

    def add(self, scope: Scope, name: str, trigger: str, steps: Sequence[str], *, at: datetime) -> Skill: ...
    def learn(
        self,
        scope: Scope,
        name: str,
        trigger: str,
        steps: Sequence[str],
        *,
        behind: Collection[str],
        epoch: int,
        at: datetime,
    ) -> Skill | None: ...
    def find(self, scope: Scope, situation: str, *, top_k: int = 5) -> list[FoundSkill]: ...
    def outcome(self, user_id: str, skill_id: str, *, success: bool, at: datetime) -> Skill: ...
    def set_status(
        self, user_id: str, skill_id: str, status: Literal["active", "archived"], *, at: datetime
    ) -> Skill: ...
