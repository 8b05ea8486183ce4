"""The hierarchy as a graph over units."""

from __future__ import annotations

import pytest

from nscma_torch.memory import Memory
from nscma_torch.storage.structure import structure
from tests.hierarchy.lively import LIVELY, NOW, Open, said


@pytest.fixture
def memory(open_memory: Open, light_proxy: object) -> Memory:
    memory = open_memory("tree.db", proxy=light_proxy, config={"hierarchy": LIVELY, "gate": {"rule": "everything"}})
    list(memory.add_many(said(range(40)), user_id="ada", now=NOW))
    memory.flush()
    return memory


def test_children_are_those_of_the_tree(memory: Memory) -> None:
    nodes = {node.id: node for node in memory.tree(user_id="ada")}
    with memory.parts.database.read() as connection:
        found = structure(connection, "ada", None)
        everything = {*found.children, *found.roots}
        units = memory.parts.searcher.load(sorted(everything), "ada")
    text = {seq: unit.text for seq, unit in units.items()}
    of_tree = {(node.text, nodes[member].text) for node in nodes.values() for member in node.members}
    of_graph = {(text[seq], text[child]) for seq, own in found.children.items() for child in own}
    assert of_graph == of_tree and of_tree
    held = {member for node in nodes.values() for member in node.members}
    assert {text[seq] for seq in found.roots} == {node.text for node in nodes.values() if node.id not in held}


def test_peers_are_mutual_and_of_one_level(memory: Memory) -> None:
    with memory.parts.database.read() as connection:
        found = structure(connection, "ada", None)
        units = memory.parts.searcher.load(sorted(found.peers), "ada")
    assert any(found.peers.values())
    for seq, peers in found.peers.items():
        for peer in peers:
            assert seq in found.peers[peer]
            assert units[seq].kind == units[peer].kind


def test_nobody_has_an_empty_one(memory: Memory) -> None:
    with memory.parts.database.read() as connection:
        found = structure(connection, "nobody", None)
    assert (found.children, found.peers, found.roots) == ({}, {}, ())
