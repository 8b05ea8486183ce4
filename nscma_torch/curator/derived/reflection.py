"""Reflections: conclusions drawn from memories, which become memories to reflect on themselves.

Generative Agents (Park et al. 2023, the section on reflection, as others quote it): an agent reflects when the total
importance of the latest events exceeds a threshold (150, with each event rated from 1 to 10). A language model gets the
100 most recent memories and names the 3 most salient questions that they answer; for each question, memories including
reflections are retrieved, and 5 insights are inferred that cite them. The result is a tree with observations as leaves.
The published code retrieves 30 memories per question.

Here, messages are cut into stretches in order of arrival, and a stretch ends where the sum exceeds the threshold. The
next sleep reflects on the stretch, using the memory's state at the end of the stretch, and does so again if its
messages change or if a reflection among its inputs is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from nscma_torch.core.config import ReflectionConfig
from nscma_torch.core.errors import JobError
from nscma_torch.core.protocols import MOST_IMPORTANT, ReflectionTasks
from nscma_torch.core.records import Scope, Unit
from nscma_torch.curator.derived.deriver import Deriver, DeriverContext, DuePart
from nscma_torch.curator.derived.sourced_texts import Groups, answered, first_of_each_wording, new_text
from nscma_torch.curator.store import derived_sources, derived_texts
from nscma_torch.curator.store.derived_sources import Heard, Source, basis_of, heard
from nscma_torch.curator.store.derived_texts import NewText, Part, Run
from nscma_torch.extraction.ratings import importances
from nscma_torch.semantic.store import namespaces

_ROLES = ("user",)  # roles whose messages are observations
_KIND = "reflection"


def deriver(needs: DeriverContext) -> Deriver:
    """Derive reflections as configured in `[reflection]`; the configured search finds the memories."""
    settings = needs.config.reflection
    tasks = needs.tasks_with(ReflectionTasks, _KIND)

    def recall(question: str, scope: Scope, now: datetime) -> list[Source]:
        found = needs.search(question, scope, now, ("chunk", _KIND), settings.memories)
        namespace = namespaces.namespace_id(scope.user_id, scope.agent_id)
        with needs.database.read(scope.user_id) as connection:
            return derived_sources.behind(connection, namespace, found, roles=_ROLES)

    return Reflections(tasks, recall, settings, needs.rate)


class Reflections:
    """Derives reflections.

    Args:
        recall: finds memories for a question, in a scope and up to a time, best first.
        rate: rates the importance of reflections from 1 to 10; None to use the importance of the cited sources.
    """

    in_turn = True

    def __init__(
        self,
        tasks: ReflectionTasks,
        recall: Callable[[str, Scope, datetime], Sequence[Source]],
        settings: ReflectionConfig,
        rate: Callable[[Sequence[Unit]], list[int]] | None = None,
    ) -> None:
        self._tasks = tasks
        self._recall = recall
        self._settings = settings
        self._rate = rate

    def due(self, connection: Connection, namespace: str, now: datetime) -> Sequence[DuePart]:
        """Return a part for each new or changed stretch of messages, in order."""
        said = [one for one in heard(connection, namespace, now, roles=_ROLES) if not one.echo]
        runs = derived_texts.runs(connection, namespace, _KIND)
        stretches = self._stretches(said, runs)
        due = []
        for number, (first, end) in enumerate(stretches):
            part, basis = _part(said[first:end]), basis_of(said[first:end])
            if part not in runs or runs[part].basis != basis:
                read = partial(self._memories, namespace, said, stretches, number)
                due.append(DuePart(Part(namespace, _KIND, part), basis, read))
        return due

    def write(self, parts: Sequence[Groups]) -> list[list[NewText]]:
        """Write the reflections on each stretch, based on memories found for the questions that recent memories
        raise.
        """
        found = []
        recent_ones = [[source.unit for source in recent] for recent, _ in parts]
        questions = self._tasks.questions(recent_ones, self._settings.questions)
        if len(questions) != len(parts):
            raise JobError(f"questions was given {len(parts)} groups and returned {len(questions)} results; correct it")
        for (recent, stretch), own in zip(parts, questions, strict=True):
            asked = [(question, self._found(question, recent, stretch)) for question in own]
            asked = [(question, group) for question, group in asked if group]
            units = [(question, [source.unit for source in group]) for question, group in asked]
            lines = self._tasks.reflections(units, self._settings.insights) if asked else []
            groups, besides = [group for _, group in asked], (*recent, *stretch)
            new = [
                new_text(line, group, besides=besides)
                for group, some in zip(groups, answered(lines, groups), strict=True)
                for line in some[: self._settings.insights]
            ]
            found.append(self._rated(first_of_each_wording(new), recent[-1].unit))
        return found

    def _stretches(self, said: Sequence[Heard], runs: Mapping[str, Run]) -> list[tuple[int, int]]:
        """Return the first and one-past-last position of each stretch; stretches already reflected on stay unchanged.

        Otherwise changing a message's importance later, or hiding a message, would move all stretches after it.
        Messages can be left over before such a stretch because it lost messages or because others were restored; they
        join the stretch cut there, or form a stretch by themselves regardless of their importance.
        """
        places = {one.id: place for place, one in enumerate(said)}
        ends = map(derived_texts.stretch_ends, runs)
        standing = {places[first]: places[last] + 1 for first, last in ends if first in places and last in places}
        found: list[tuple[int, int]] = []
        settled = begin = place = 0
        total = 0.0
        while place < len(said):
            if place in standing:
                if begin < place:
                    first = found.pop()[0] if len(found) > settled else begin
                    found.append((first, place))
                found.append((place, standing[place]))
                settled = len(found)
                begin = place = standing[place]
                total = 0.0
                continue
            total += 1 + said[place].importance * (MOST_IMPORTANT - 1)
            place += 1
            if total > self._settings.threshold:
                found.append((begin, place))
                begin, total = place, 0.0
        return found

    def _memories(
        self,
        namespace: str,
        said: Sequence[Heard],
        stretches: Sequence[tuple[int, int]],
        number: int,
        connection: Connection,
    ) -> tuple[list[Source], list[Source]]:
        """Return the most recent memories as of a stretch's last message, and the stretch itself."""
        first, end = stretches[number]
        newest = max(0, min(first, end - self._settings.recent))
        earlier: dict[str, int] = {}  # of each stretch that ended among these messages, the place of its last one
        for begin, after in reversed(stretches[:number]):
            if after <= newest:
                break
            earlier[_part((said[begin], said[after - 1]))] = after - 1
        reflections = derived_sources.texts(connection, namespace, _KIND, list(earlier))
        user_id = namespaces.owner(connection, namespace).user_id
        own = derived_sources.messages(connection, user_id, [one.seq for one in said[newest:end]])
        placed = [*enumerate(own, start=newest), *((earlier[source.part], source) for source in reflections)]
        recent = [source for _, source in sorted(placed, key=lambda pair: pair[0])]  # a reflection after its stretch
        return recent[-self._settings.recent :], own[first - newest :]

    def _found(self, question: str, recent: Sequence[Source], stretch: Sequence[Source]) -> list[Source]:
        """Search the memory as it was when the stretch ended, excluding reflections on this stretch."""
        scope = recent[-1].unit.scope
        now = max(source.unit.occurred_at for source in recent)
        last = max(row for source in recent for row in source.seen.messages)
        part = _part([source.unit for source in stretch])
        found = self._recall(question, Scope(scope.user_id, scope.agent_id), now)
        return [source for source in found if max(source.seen.messages) <= last and source.part != part]

    def _rated(self, texts: list[NewText], like: Unit) -> list[NewText]:
        if self._rate is None or not texts:
            return texts
        units = [replace(like, id="", kind=_KIND, text=text.text, role="memory") for text in texts]
        rated = zip(texts, importances(self._rate, units), strict=True)
        return [text._replace(importance=importance) for text, importance in rated]


def _part(stretch: Sequence[Heard | Unit]) -> str:
    return derived_texts.stretch_part(stretch[0].id, stretch[-1].id)
