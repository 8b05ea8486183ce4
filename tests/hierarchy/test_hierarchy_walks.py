"""The hierarchy as a graph over units."""

from __future__ import annotations

import pytest
from sqlalchemy import delete

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.hierarchy.store import hierarchy_walks
from nscma_torch.hierarchy.store.hierarchies import hierarchy_id, units_of
from nscma_torch.hierarchy.store.hierarchy_schema import links, node_units
from tests.hierarchy.lively import LIVELY, NOW, Open, said


@pytest.fixture
def memory(open_memory: Open, light_surprise: object) -> Memory:
    memory = open_memory(
        "tree.db", surprise_model=light_surprise, config={"hierarchy": LIVELY, "gate": {"rule": "everything"}}
    )
    list(memory.add_many(said(range(24)), user_id="ada", now=NOW))
    memory.flush()
    return memory


def test_children_and_roots_are_those_of_the_tree(memory: Memory) -> None:
    nodes = {node.id: node for node in memory.tree(user_id="ada")}
    with memory.components.database.read(ALL_USERS) as connection:
        every = sorted(seq for own in units_of(connection, hierarchy_id("ada", None)).values() for seq in own)
        children = hierarchy_walks.children(connection, "ada", None, every)
        roots = hierarchy_walks.roots(connection, "ada", None)
        some = hierarchy_walks.children(connection, "ada", None, every[-3:])
    text = {seq: unit.text for seq, unit in memory.components.searcher.load(every, "ada").items()}
    of_tree = {(node.text, nodes[member].text) for node in nodes.values() for member in node.members}
    of_graph = {(text[seq], text[child]) for seq, own in children.items() for child in own}
    assert of_graph == of_tree and of_tree
    assert some == {seq: own for seq, own in children.items() if seq in every[-3:]} and some
    held = {member for node in nodes.values() for member in node.members}
    assert {text[seq] for seq in roots} == {node.text for node in nodes.values() if node.id not in held}


def test_peers_are_those_that_links_join(memory: Memory) -> None:
    key = hierarchy_id("ada", None)
    with memory.components.database.read(ALL_USERS) as connection:
        own = units_of(connection, key)
        every = sorted(seq for seqs in own.values() for seq in seqs)
        peers = hierarchy_walks.peers(connection, "ada", None, every)
        some = hierarchy_walks.peers(connection, "ada", None, every[:2])
        joined = {
            pair
            for level, a, b in connection.execute(links.select().with_only_columns(links.c.level, links.c.a, links.c.b))
            for one in own.get((level, a), ())
            for other in own.get((level, b), ())
            for pair in ((one, other), (other, one))
        }
    assert {(seq, peer) for seq, found in peers.items() for peer in found} == joined and joined
    assert some == {seq: found for seq, found in peers.items() if seq in every[:2]} and some


def test_nobody_has_a_hierarchy_and_one_of_another_user_is_not_entered(memory: Memory) -> None:
    with memory.components.database.read(ALL_USERS) as connection:
        every = [seq for own in units_of(connection, hierarchy_id("ada", None)).values() for seq in own]
        for user, agent in (("nobody", None), ("ada", "other")):
            assert hierarchy_walks.roots(connection, user, agent) == []
            assert hierarchy_walks.children(connection, user, agent, every) == {}
            assert hierarchy_walks.peers(connection, user, agent, every) == {}


def test_what_lost_its_summary_is_a_root(memory: Memory) -> None:
    with memory.components.database.write(ALL_USERS) as connection:
        roots = hierarchy_walks.roots(connection, "ada", None)
        summaries = [seq for seq in roots if hierarchy_walks.children(connection, "ada", None, [seq])]
        below = hierarchy_walks.children(connection, "ada", None, summaries[:1])[summaries[0]]
        connection.execute(delete(node_units).where(node_units.c.unit_seq == summaries[0]))
        after = hierarchy_walks.roots(connection, "ada", None)
    assert summaries[0] not in after
    assert set(below) & set(after)
