"""Derive texts at sleep: read the due parts, run the language tasks, and store the texts with their sources.

Sources are messages and previously derived texts. No transaction is open while the tasks run. If a message is changed,
hidden or erased meanwhile, the results are dropped, and the next sleep derives them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from importlib import import_module

from sqlalchemy import Connection

from nscma_torch.core.database import user_versions
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.derived_kinds import DERIVED_KINDS, is_derived
from nscma_torch.core.errors import EngineUnavailableError, JobError, NscmaError, StoreBusyError
from nscma_torch.core.records import Scope
from nscma_torch.curator.derived.deriver import Deriver, DeriverContext, DuePart
from nscma_torch.curator.derived.sourced_texts import Groups
from nscma_torch.curator.store import derived_texts
from nscma_torch.curator.store.derived_texts import Changed, NewText, Part
from nscma_torch.episodic.index import fingerprint
from nscma_torch.episodic.log import streams
from nscma_torch.hierarchy.summaries import UnitMaker
from nscma_torch.semantic.store import namespaces


def derivers(needs: DeriverContext) -> list[Deriver]:
    """Return the derivers for the kinds that the configuration enables.

    Raises `ConfigError` if the language tasks lack a method that a kind needs.
    """
    return [
        import_module(f"nscma_torch.curator.derived.{kind}").deriver(needs)
        for kind in DERIVED_KINDS
        if is_derived(needs.config, kind)
    ]


class Derivations:
    """Derives all enabled kinds in the given order, so that a kind can use those before it.

    Args:
        units: builds the units by which search finds the texts.
    """

    def __init__(self, database: Database, units: Callable[[], UnitMaker], derivers: Sequence[Deriver]) -> None:
        self._database = database
        self._units = units
        self._derivers = derivers

    def count_due(self, connection: Connection, user_id: str, now: datetime) -> int:
        """Count the parts that are due, as far as can be known before other texts are derived."""
        own = namespaces.of_user(connection, user_id) if self._derivers else ()
        return sum(len(deriver.due(connection, namespace, now)) for deriver in self._derivers for namespace in own)

    def run(self, user_id: str, now: datetime) -> tuple[int, list[str]]:
        """Derive the texts that are due for a user; return how many were written, changed or dropped, and the
        failures.
        """
        changed = 0
        failures: list[str] = []
        if not self._derivers:
            return changed, failures
        with self._database.write(user_id) as connection:
            own = namespaces.of_user(connection, user_id)
        for deriver in self._derivers:
            for namespace in own:
                try:
                    for texts in self._derive(deriver, user_id, namespace, now):
                        changed += texts
                except NscmaError as error:
                    failures.append(f"{type(error).__name__}: {error}")
                    if isinstance(error, EngineUnavailableError):  # the others would wait as long, for nothing
                        return changed, failures
        return changed, failures

    def _derive(self, deriver: Deriver, user_id: str, namespace: str, now: datetime) -> Iterator[int]:
        """Derive one kind in one namespace, either all due parts together or one after another.

        Due parts are listed once, and again if messages changed meanwhile or if later parts lost texts based on earlier
        parts. Yields, for each part, the number of texts that changed. Raises errors from the tasks; texts already
        stored stay.
        """
        done: set[Part] = set()
        while True:
            with self._database.read(user_id) as connection:
                scope = namespaces.owner(connection, namespace)
                epoch = user_versions.version(connection, scope.user_id)[1]
                due = [one for one in deriver.due(connection, namespace, now) if one.part not in done]
            together = [due] if due else []
            for batch in [[one] for one in due] if deriver.in_turn else together:
                groups = self._read(batch, scope, epoch)
                if groups is None:
                    break
                above = 0
                for one, texts in zip(batch, _written(deriver, groups), strict=True):
                    changed = self._store(one, texts, scope, epoch, now)
                    above += changed.above
                    yield changed.texts
                done.update(one.part for one in batch)
                if deriver.in_turn and above:
                    break
            else:
                return

    def _read(self, batch: Sequence[DuePart], scope: Scope, epoch: int) -> list[Groups] | None:
        """Read the sources of the parts; return None if messages changed since the due parts were listed."""
        with self._database.read(scope.user_id) as connection:
            same = user_versions.version(connection, scope.user_id)[1] == epoch
            return [one.read(connection) for one in batch] if same else None

    def _store(self, due: DuePart, found: list[NewText], scope: Scope, epoch: int, now: datetime) -> Changed:
        texts = [text for text in found if not text.said_by]
        omitted_for = {text.said_by for text in found if text.said_by}
        origins = [derived_texts.origin(due.part, scope, number, text) for number, text in enumerate(texts)]
        maker = self._units()
        made = maker.units(due.part.kind, [text.text for text in texts], origins) if texts else []
        with self._database.write(scope.user_id) as connection:
            if user_versions.version(connection, scope.user_id)[1] != epoch:
                raise StoreBusyError("messages changed while texts were derived from them; run sleep again")
            if texts:
                fingerprint.bind(connection, maker.fingerprint)
            changed = derived_texts.replace(
                connection, due.part, texts, made, basis=due.basis, at=to_micros(now), omitted_for=omitted_for
            )
            if changed.texts:
                streams.touch_user(connection, scope.user_id)
        return changed


def _written(deriver: Deriver, parts: Sequence[Groups]) -> list[list[NewText]]:
    found = deriver.write(parts)
    if len(found) != len(parts):
        raise JobError(f"texts were written for {len(found)} of {len(parts)} parts")
    return found
