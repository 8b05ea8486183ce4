"""Derived texts that rest on derived texts: they go with whatever is below them, and are derived again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS, next_seqs
from nscma_torch.core.records import Message
from nscma_torch.curator.store import derived_sources, derived_texts
from nscma_torch.curator.store.derived_schema import derived_links
from nscma_torch.curator.store.derived_sources import Source
from nscma_torch.curator.store.derived_texts import NewText, Part, Rows
from nscma_torch.semantic.store import namespaces
from tests.helpers.telling import day

NAMESPACE = namespaces.namespace_id("ada", None)


class Tree:
    """A memory with three messages, and short ways to derive from them."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        said = [Message("user", f"I planted tree number {i}.", day(i)) for i in range(3)]
        list(memory.add_many(said, user_id="ada", now=day(9)))
        with memory.components.database.write(ALL_USERS) as connection:
            namespaces.ensure(connection, "ada", None)
        self.ids = [episode.id for episode in memory.get_all(user_id="ada", now=day(9))]

    def messages(self, *places: int) -> list[Source]:
        with self.memory.components.database.read(ALL_USERS) as connection:
            said = derived_sources.heard(connection, NAMESPACE, day(9), roles=("user",))
            return derived_sources.messages(connection, "ada", [said[place].seq for place in places])

    def derived(self, *names: str) -> list[Source]:
        with self.memory.components.database.read(ALL_USERS) as connection:
            found = derived_sources.texts(connection, NAMESPACE, "insight")
        return [source for name in names for source in found if source.part == name]

    def derive(
        self, name: str, text: str, *cited: Source, seen: tuple[Source, ...] = (), importance: float = 0.25
    ) -> int:
        rows, view = Rows(frozenset()), Rows(frozenset())
        for source in cited:
            rows |= source.cited
        for source in (*cited, *seen):
            view |= source.seen
        new = NewText(text, 0.5, rows, view, cited[0].since, cited[-1].until, importance)
        part, components = Part(NAMESPACE, "insight", name), self.memory.components
        origin = derived_texts.origin(part, cited[0].unit.scope, 0, new)
        made = components.indexer.units("insight", [text], [origin])
        with components.database.write(ALL_USERS) as connection:
            return derived_texts.replace(connection, part, [new], made, basis=text, at=1).texts

    @property
    def parts(self) -> list[str]:
        """Of the texts that are there."""
        return [one.part for one in self.memory.derived("insight", user_id="ada")]

    @property
    def runs(self) -> list[str]:
        with self.memory.components.database.read(ALL_USERS) as connection:
            return sorted(derived_texts.runs(connection, NAMESPACE, "insight"))


@pytest.fixture
def tree(memory: Memory) -> Tree:
    """c rests on a and b, and d on c; a, b and e on messages."""
    tree = Tree(memory)
    tree.derive("a", "of the first", *tree.messages(0))
    tree.derive("b", "of the second, with the third in view", *tree.messages(1), seen=(*tree.messages(2),))
    tree.derive("c", "of a and b", *tree.derived("a", "b"))
    tree.derive("d", "of c", *tree.derived("c"))
    tree.derive("e", "of the first, too", *tree.messages(0))
    return tree


def test_a_text_cites_texts_and_the_messages_behind_them(tree: Tree) -> None:
    found = {one.part: one for one in tree.memory.derived("insight", user_id="ada")}
    assert found["c"].derived_ids == (found["a"].id, found["b"].id)
    assert found["d"].derived_ids == (found["c"].id,) and found["a"].derived_ids == ()
    assert list(found["d"].episode_ids) == tree.ids[:2], "what was only in view is not cited"
    assert (found["d"].since, found["d"].until) == (day(0), day(1))
    (hit,) = [
        hit for hit in tree.memory.search("of c", user_id="ada", kinds=["insight"], now=day(9)) if hit.text == "of c"
    ]
    assert hit.unit.episode_ids == found["d"].episode_ids
    (source,) = tree.derived("d")
    assert source.importance == 0.25
    assert tree.memory.verify() == []


@pytest.mark.parametrize(
    ("hurt", "left"), [(0, ["b"]), (1, ["a", "e"]), (2, ["a", "e"])], ids=["cited", "cited far below", "only in view"]
)
@pytest.mark.parametrize("how", ["erase", "delete", "update"])
def test_all_above_a_changed_message_goes(tree: Tree, how: str, hurt: int, left: list[str]) -> None:
    target = tree.ids[hurt]
    if how == "erase":
        receipt = tree.memory.erase(user_id="ada", memory_id=target)
        assert not receipt.found and receipt.rows["derived_links"] == 3
    elif how == "delete":
        tree.memory.delete(target, user_id="ada")
    else:
        tree.memory.update(target, "I like tea.", user_id="ada")
    assert tree.parts == tree.runs == left
    assert tree.memory.verify() == []


def test_all_above_a_text_that_is_derived_anew_goes(tree: Tree) -> None:
    assert tree.derive("a", "of the first", *tree.messages(0)) == 0
    assert tree.parts == ["a", "b", "c", "d", "e"], "the same text changes nothing"
    assert tree.derive("a", "of the first, in other words", *tree.messages(0)) == 1
    assert tree.parts == tree.runs == ["a", "b", "e"]
    assert tree.memory.verify() == []


def test_what_a_text_rests_on_is_part_of_what_it_is(tree: Tree) -> None:
    assert tree.derive("d", "of c", *tree.derived("c"), seen=(*tree.derived("e"),)) == 1
    assert tree.derive("d", "of c", *tree.derived("c"), seen=(*tree.derived("e"),)) == 0


def test_a_new_importance_is_stored(tree: Tree) -> None:
    assert tree.derive("d", "of c", *tree.derived("c"), importance=0.75) == 1
    assert tree.derived("d")[0].importance == 0.75
    assert tree.derive("d", "of c", *tree.derived("c"), importance=0.75) == 0
    assert tree.memory.verify() == []


def test_an_export_keeps_the_tree_in_place(tree: Tree, open_memory: Callable[..., Memory]) -> None:
    other = open_memory("other.db")
    other.add("I am somebody else.", user_id="bob", now=day(9))
    with other.components.database.write(ALL_USERS) as connection:
        next_seqs(connection, "derived_texts", 7)
    other.import_(list(tree.memory.export()))
    assert other.verify() == []
    kept = other.derived("insight", user_id="ada")
    assert kept == tree.memory.derived("insight", user_id="ada")
    other.erase(user_id="bob")
    assert other.digest() == tree.memory.digest()
    other.erase(user_id="ada")
    assert other.derived("insight", user_id="ada") == []


def test_the_digest_tells_trees_apart(tree: Tree) -> None:
    before = tree.memory.digest()
    with tree.memory.components.database.write(ALL_USERS) as connection:
        connection.execute(derived_links.update().values(cited=False))
    assert tree.memory.digest() != before


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            "INSERT INTO derived_links SELECT source_seq, derived_seq, user_id, cited FROM derived_links",
            "which is newer",
        ),
        (
            "DELETE FROM derived_sources WHERE derived_seq = (SELECT max(derived_seq) FROM derived_links)",
            "not on all of that text's messages",
        ),
        ("UPDATE derived_links SET user_id = 'bob'", "another namespace"),
    ],
)
def test_verify_finds_what_is_wrong_with_a_tree(tree: Tree, broken: str, said: str) -> None:
    with tree.memory.components.database.write(ALL_USERS) as connection:
        connection.exec_driver_sql(broken)
    assert any(said in problem for problem in tree.memory.verify())
