"""What the page reads, without a browser: pages that together are the whole, for nobody but the token's user."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Message
from nscma_torch.episodic.log.turns import EVIDENCE
from nscma_torch.server.view import route_group
from nscma_torch.server.view.reading import PATH as FILE
from tests.conftest import LIGHT
from tests.helpers.noting import NotedTasks, day
from tests.server.conftest import Served, serving
from tests.server.operations import operations
from tests.server.view.conftest import life

FAST = {"rate": 1e6, "burst": 1_000_000}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, light_surprise: Any, embedder: Any) -> Iterator[Served]:
    folder, config = tmp_path_factory.mktemp("view"), {**LIGHT, "gate": {"rule": "everything"}, "server": FAST}
    with (
        Memory(
            folder / "store.db", config=config, surprise_model=light_surprise, embedder=embedder, tasks=NotedTasks()
        ) as memory,
        serving(memory, folder / "none.tokens", route_groups=[route_group]) as made,
    ):
        life(memory)
        life(memory, "ben", messages=8)
        memory.add("Of Ana, to an agent.", user_id="ana", agent_id="scout")
        yield made


def read(server: Served, path: str, **asked: Any) -> Any:
    got = server.client.get(f"/v1/view/{path}", params=asked)
    assert got.status_code == 200, got.text
    return got.json()


def ids(page: Any) -> list[str]:
    return [one["id"] for one in page["items"]]


def test_pages_of_messages_are_the_log(server: Served) -> None:
    log = [one.id for one in server.memory.log(user_id="default")]
    newest = read(server, "messages", limit=7)
    assert ids(newest) == log[-7:] and (newest["skipped"], newest["total"]) == (43, 50)
    backwards, page = list(ids(newest)), newest
    while page["skipped"]:
        page = read(server, "messages", limit=7, before=page["items"][0]["id"])
        backwards = ids(page) + backwards
    assert backwards == log
    forwards = read(server, "messages", limit=7, after=log[10])
    assert ids(forwards) == log[11:18] and forwards["skipped"] == 11
    middle = read(server, "messages", limit=7, at=log[20])
    assert ids(middle) == log[17:24]
    assert ids(read(server, "messages", limit=7, at=log[0])) == log[:4]
    week = [one.id for one in server.memory.log(user_id="default") if one.session == "week 1"]
    assert ids(read(server, "messages", of=week[3])) == week
    assert read(server, "messages", deferred=True)["total"] == 0
    assert read(server, "messages", deferred=False)["total"] == 50


def test_a_message_of_another_user_is_no_place(server: Served) -> None:
    (first, *_) = server.memory.log(user_id="ben")
    for name in ("of", "before", "after", "at"):
        got = server.client.get("/v1/view/messages", params={name: first.id})
        assert got.status_code == 404 and "newest page" in got.json()["detail"]


def test_conversations(server: Served) -> None:
    first, second = (read(server, "conversations", limit=5, offset=offset) for offset in (0, 5))
    both = first["items"] + second["items"]
    assert first["total"] == len(both) == len({(one["session"]) for one in both})
    assert sum(one["messages"] for one in both) == 50
    for one in both:
        assert read(server, "messages", of=one["first"])["total"] == one["messages"]


def test_pages_of_facts_are_all_facts(server: Served) -> None:
    every = {one.id for one in server.memory.facts(user_id="default", archived=True)}
    total = read(server, "facts", limit=1)["total"]
    found = [group for at in range(0, total, 2) for group in read(server, "facts", limit=2, offset=at)["items"]]
    assert len(found) == total
    assert {one["id"] for facts in found for one in facts} == every
    assert all(len({(one["subject"], one["relation"], one["topic"]) for one in facts}) == 1 for facts in found)
    (moved,) = read(server, "facts", text="porto")["items"]
    assert [one["object"] for one in moved] == ["Oslo", "Porto"]
    assert all(len(facts) > 1 for facts in read(server, "facts", changed=True)["items"])
    assert read(server, "facts", text="%")["total"] == 0
    extent = read(server, "facts")["extent"]
    assert extent["begin"] <= min(one["valid_from"] for facts in found for one in facts) <= extent["end"]
    assert read(server, "facts", known_at=(day(0) - timedelta(days=9)).isoformat())["total"] == 0


def test_the_graph_around_an_entity(server: Served) -> None:
    most = read(server, "entities")["items"]
    assert most[0][0] == "Ana" and most[0][1] == max(number for _, number in most)
    assert [name for name, _ in read(server, "entities", text="mar")["items"]] == ["Marta"]
    graph = read(server, "graph")
    assert graph["name"] == "Ana" and graph["total"] == most[0][1]
    told = {(one["subject"], one["relation"], one["object"]) for one in graph["facts"]}
    assert ("Ana", "lives_in", "Porto") in told and ("Marta", "works_at", "Bosch") in told
    assert ("Ana", "lives_in", "Oslo") not in told
    assert not any(one["subject"] == "Dora" for one in graph["facts"])
    alone = read(server, "graph", entity="ANA", further=0, limit=1)
    assert len(alone["facts"]) == 1 and alone["total"] == most[0][1]
    then = read(server, "graph", entity="Ana", as_of=day(0.5).isoformat())
    assert [one["object"] for one in then["facts"]] == ["Oslo"]
    assert read(server, "graph", entity="Nobody") == {"name": "Nobody", "facts": [], "total": 0}
    assert read(server, "graph", user_id="nobody") == {"name": None, "facts": [], "total": 0}


def test_the_tree_opened_from_its_roots_is_the_whole_tree(server: Served) -> None:
    nodes = {node.id: node for node in server.memory.tree(user_id="default")}
    above = {member: node for node in nodes.values() for member in node.members}
    roots = [node for node in nodes.values() if node.level and node.id not in above]
    page = read(server, "tree", limit=200)
    assert page["total"] == len(page["items"]) == len(roots)
    assert sorted((one["level"], one["text"], one["members"]) for one in page["items"]) == sorted(
        (node.level, node.text, len(node.members)) for node in roots
    )
    assert sum(page["levels"]) == len(nodes)
    seen, waiting = [], list(page["items"])
    while waiting:
        one = waiting.pop()
        below, offset = [], 0
        while one["level"] and offset < one["members"]:
            found = read(server, "tree", level=one["level"], number=one["number"], limit=3, offset=offset)
            assert found["total"] == one["members"]
            below, offset = below + found["items"], offset + len(found["items"])
        seen += [child["text"] for child in below]
        waiting += below
    assert sorted(set(seen)) == sorted({nodes[i].text for i in above})
    leaf = next(one for one in read(server, "tree", level=1, number=page_number(server))["items"])
    assert server.memory.get(leaf["message"], user_id="default") is not None


def page_number(server: Served) -> int:
    """A node of level 1."""
    items = read(server, "tree")["items"]
    while items[0]["level"] > 1:
        items = read(server, "tree", level=items[0]["level"], number=items[0]["number"])["items"]
    return int(items[0]["number"])


def test_decisions_and_conflicts(server: Served) -> None:
    every = [one.id for one in server.memory.decisions(user_id="default", limit=None)]
    page = read(server, "decisions", limit=3, offset=2)
    assert ids(page) == every[2:5] and page["total"] == len(every)
    changes = {one["action"] for one in read(server, "decisions", changes=True)["items"]}
    assert "UPDATE" in changes and changes.isdisjoint({"ADD", "NOOP"})
    (sides,) = read(server, "conflicts")["items"]
    assert {one["object"] for one in sides} == {"Bonn", "Kyoto"}
    assert read(server, "conflicts", offset=1) == {"items": [], "total": 1}


def test_decisions_on_facts_and_open_proposals(served: Callable[..., Served]) -> None:
    server = served(FAST, route_groups=[route_group])
    memory = server.memory
    for text in ("{Konstantin|lives_in|Lima}", "{Konstantyn|lives_in|Lima}", "{Ana|likes|tea} {Ana|likes|jazz}"):
        memory.add(Message("user", text, day(0), "Ana"), user_id="default")
    memory.flush()
    memory.sleep(user_id="default")
    tea, jazz = memory.facts(user_id="default", relation="likes")
    (one,) = read(server, "decisions", fact=tea.id)["items"]
    assert (one["action"], one["fact_ids"]) == ("ADD", [tea.id])
    assert read(server, "decisions", fact=[tea.id, jazz.id])["total"] == 2
    assert read(server, "decisions", fact="%")["total"] == 0
    (proposal,) = read(server, "decisions", proposals=True)["items"]
    merge = memory.merge(proposal["id"], user_id="default")
    assert read(server, "decisions", proposals=True)["total"] == 0, "accepted"
    memory.undo(merge.id, user_id="default")
    assert ids(read(server, "decisions", proposals=True)) == [proposal["id"]]
    memory.undo(proposal["id"], user_id="default")
    assert read(server, "decisions", proposals=True)["total"] == 0, "dismissed"


def test_facts_say_what_is_in_doubt_now(served: Callable[..., Served]) -> None:
    server = served(FAST, route_groups=[route_group])
    for n, text in ((0, "{Ana|works_at|Bosch}"), (1, "{Ana|manager|Petra}"), (60, "{Ana|works_at|Siemens}")):
        server.memory.add(Message("user", text, day(n), "Ana"), user_id="default")
    server.memory.flush()
    ((petra,),) = read(server, "facts", text="petra")["items"]
    assert petra["in_doubt"] == 'in doubt since 1 March 2024, when "Ana works at Bosch" ended'
    jobs = {one["object"]: one["in_doubt"] for one in read(server, "facts", text="works")["items"][0]}
    assert jobs == {"Bosch": "", "Siemens": ""}


def test_what_rests_on_a_message_is_what_an_erasure_takes(served: Callable[..., Served]) -> None:
    server = served(FAST, route_groups=[route_group])
    memory = server.memory
    first, *_ = memory.add(Message("user", "{Ana|likes|tea} {Ana|likes|jazz}", day(0), "Ana"), user_id="default")
    memory.add(Message("user", "{Ana|likes|tea}", day(1), "Ben"), user_id="default")
    reply = Message("assistant", "You like {Ana|likes|jazz}.", day(2), metadata={EVIDENCE: [first.id]})
    (answer,) = memory.add(reply, user_id="default")
    memory.flush()
    found = read(server, "resting", memory_id=first.id)
    assert [one["object"] for one in found["gone"]] == ["jazz"]
    assert [one["object"] for one in found["kept"]] == ["tea"]
    assert found["replies"] == [answer.id]
    memory.erase(user_id="default", memory_id=first.id)
    memory.flush()
    assert [one.object for one in memory.facts(user_id="default")] == ["tea"]
    assert memory.get(answer.id, user_id="default") is None
    assert server.client.get("/v1/view/resting", params={"memory_id": first.id}).status_code == 404


def test_a_summary_rests_on_each_of_its_messages(server: Served) -> None:
    leaf = next(one for one in read(server, "tree", level=1, number=page_number(server))["items"])
    assert read(server, "resting", memory_id=leaf["message"])["texts"] >= 1


def test_a_file_is_read_and_not_stored(server: Served) -> None:
    def sent(name: str, data: bytes, **headers: str) -> Any:
        return server.client.post(FILE, params={"name": name}, content=data, headers=headers)

    before = server.memory.digest()
    got = sent("plan.md", b"# Plan\n\nBuy bread.\n\n# Later\n\nBake.\n")
    assert got.status_code == 200 and got.json()["source"] == "plan.md"
    first, second = got.json()["messages"]
    assert (first["role"], first["name"], first["content"]) == ("document", "Plan", "# Plan\n\nBuy bread.")
    assert second["metadata"]["headings"] == ["Later"] and first["idempotency_key"] != second["idempotency_key"]
    other = sent("other.md", b"# Plan\n\nBuy bread.\n").json()["messages"][0]
    assert other["idempotency_key"] != first["idempotency_key"], "of another file"
    chat = sent("chat.jsonl", b'{"role": "user", "content": "Hi"}').json()
    assert chat["source"] is None and chat["messages"][0]["content"] == "Hi"
    for name, data, status in (
        ("tool.exe", b"x", 422),
        ("empty.txt", b"", 422),
        ("../notes.md", b"x", 422),
        ("a\nb.md", b"x", 422),
        ("a.pdf", b"%PDF-", 422),
        ("bad.jsonl", b'{"role": "user"}', 422),
        ("big.txt", b"x" * (server.memory.config.server.max_body + 1), 413),
    ):
        got = sent(name, data)
        assert got.status_code == status and got.json()["detail"], name
    many = b"[" + b"1," * 60_000 + b"1]"
    assert "values" not in sent("many.txt", many).text, "a file is no JSON body"
    assert server.memory.digest() == before


def test_access_tells_of_others_only_where_any_user_may_be_named(server: Served) -> None:
    everybody = read(server, "access")
    assert everybody["users"] == ["ana", "ben", "default"] and everybody["store"] == "store.db"
    assert (everybody["user"], everybody["rights"]) == ("default", ["read", "write", "erase"])
    assert read(server, "access", user_id="ana")["agents"] == ["scout"]


def test_no_endpoint_of_the_page_serves_another_user(served: Callable[..., Served]) -> None:
    server = served(FAST, route_groups=[route_group])
    server.memory.add("A xylophone of Ben's.", user_id="ben")
    asked = [one for one in operations(server.client.get("/openapi.json").json()) if one.id.startswith("view_")]
    asked = [one for one in asked if one.id != "view_file"]
    assert len(asked) == 10
    ana, writer, reader = server.token("ana"), server.token("ben", "write"), server.token("ana", "read")
    for headers, status in ((writer, 200), (reader, 403), ({}, 401)):
        got = server.client.post(FILE, params={"name": "a.txt"}, content=b"A note.", headers=headers)
        assert got.status_code == status
    other = server.client.post(FILE, params={"name": "a.txt", "user_id": "ben"}, content=b"A note.", headers=ana)
    assert other.status_code == 403
    bens = server.memory.log(user_id="ben")[0].id
    got = server.client.get("/v1/view/resting", headers=ana, params={"memory_id": bens})
    assert got.status_code == 404 and "xylophone" not in got.text
    asked = [one for one in asked if one.id != "view_resting"]
    for one in asked:
        assert server.client.get(one.path).status_code == 401
        assert server.client.get(one.path, headers=writer).status_code == 403
        other = server.client.get(one.path, headers=ana, params={"user_id": "ben"})
        assert other.status_code == 403 and "xylophone" not in other.text, one.id
        own = server.client.get(one.path, headers=ana)
        assert own.status_code == 200 and "ben" not in own.text and "xylophone" not in own.text, one.id
        assert server.client.get(one.path, headers=ana, params={"limit": 0, "offset": -1}).status_code == 422
    told = server.client.get("/v1/view/access", headers=server.token("ana", "read")).json()
    assert told == {
        **{"user": "ana", "any_user": False, "rights": ["read"], "users": []},
        **{"more_users": False, "agents": [], "store": None},
    }


def test_the_page_is_in_what_is_installed(tmp_path: Path) -> None:
    import tomllib

    root = Path(__file__).parents[3]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    patterns = project["package-data"]["nscma_torch.server.view.page"]
    folder = root / "nscma_torch" / "server" / "view" / "page"
    listed = {path.name for pattern in patterns for path in folder.glob(pattern)}
    assert listed == {path.name for path in folder.iterdir() if path.is_file()}
