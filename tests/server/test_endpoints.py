"""What the endpoints answer is what `Memory` says, with its messages where it refuses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter

from nscma_torch.core.errors import EngineUnavailableError, MissingDependencyError, StoreBusyError, StoreFullError
from nscma_torch.core.records import Answer, Fact, FactQuery
from nscma_torch.server.app_context import AppContext, RouteGroup
from tests.server.conftest import Served


@pytest.fixture
def server(served: Callable[..., Served]) -> Served:
    return served()


def test_messages_there_and_back(server: Served) -> None:
    client, memory = server.client, server.memory
    body = {
        "messages": [
            {"role": "user", "content": "I live in Porto.", "mood": "glad", "timestamp": "2026-01-02T03:04:05Z"},
            {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]},
        ],
        "user_id": "ana",
        "run_id": "r",
        "metadata": {"chat": 7},
        "idempotency_key": "k",
    }
    first, second = client.post("/v1/messages", json=body).json()["results"]
    assert (first["event"], second["text"]) == ("ADD", "Noted.")
    assert [one["event"] for one in client.post("/v1/messages", json=body).json()["results"]] == ["NOOP", "NOOP"]
    kept = memory.get(first["id"], user_id="ana")
    assert kept is not None and kept.metadata == {"chat": 7, "mood": "glad"} and kept.scope.run_id == "r"
    got = client.get(f"/v1/messages/{first['id']}", params={"user_id": "ana"}).json()
    assert (got["text"], got["occurred_at"]) == ("I live in Porto.", "2026-01-02T03:04:05Z")
    listed = client.post("/v1/messages/query", json={"user_id": "ana", "filters": {"mood": "glad"}}).json()
    assert [one["id"] for one in listed] == [first["id"]]
    path, ana = f"/v1/messages/{first['id']}", {"user_id": "ana"}
    assert client.patch(path, json={"text": "I live in Faro.", **ana}).json()["text"] == "I live in Faro."
    assert client.delete(path, params=ana).json() == {"changed": True}
    assert client.get(path, params=ana).status_code == 404
    assert client.post(f"{path}/restore", params=ana).json() == {"changed": True}
    events = [one["event"] for one in client.get(f"{path}/history", params=ana).json()]
    assert events == ["ADD", "UPDATE", "DELETE", "RESTORE"]
    assert client.delete("/v1/messages", params=ana).json() == {"count": 2}
    assert client.get("/v1/log", params=ana).json()[0]["status"] == "deleted"


def test_ids_in_a_query(server: Served) -> None:
    said = server.memory.add(["Ben lives in Porto. {Ben|lives_in|Porto}", "B", "C"], user_id="default")
    server.memory.flush()
    wanted = [one.id for one in said[:2]]
    for ids in (wanted, wanted[:1]):
        assert [one["id"] for one in server.client.get("/v1/log", params={"ids": ids}).json()] == ids
    (fact,) = server.memory.facts(user_id="default")
    assert [one["id"] for one in server.client.get("/v1/facts", params={"ids": ["x", fact.id]}).json()] == [fact.id]
    assert server.client.get("/v1/facts", params={"ids": "x"}).json() == []
    assert server.client.get("/v1/log", params={"ids": ["x"] * 1001}).status_code == 422


def test_search_and_ask_give_what_memory_gives(server: Served) -> None:
    server.memory.add("Ben lives in Porto. {Ben|lives_in|Porto}", user_id="default", metadata={"place": True})
    server.memory.add("My cat is called Miso.", user_id="default", agent_id="vet")
    server.memory.flush()
    hits = server.client.post("/v1/search", json={"query": "Where is Porto?", "explain": True, "top_k": 2}).json()
    expected = server.memory.search("Where is Porto?", user_id="default", explain=True, top_k=2)
    assert [(one["id"], one["score"], one["parts"]) for one in hits] == [(o.id, o.score, o.parts) for o in expected]
    narrow = {"query": "Miso", "filters": {"agent_id": "vet"}}
    assert [one["text"] for one in server.client.post("/v1/search", json=narrow).json()] == ["My cat is called Miso."]
    answer = server.client.post("/v1/ask", json={"question": "Where does Ben live?"}).json()
    asked = server.memory.ask("Where does Ben live?", user_id="default")
    assert (answer["text"], answer["confidence"]) == (asked.text, asked.confidence)
    assert [one["text"] for one in answer["evidence"]] == [one.text for one in asked.evidence]


def test_a_question_follows_another(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The query of an answer comes back as it went out, and its facts go out as they are."""
    server.memory.add("{Ben|lives_in|Porto}", user_id="default")
    server.memory.flush()
    (fact,) = server.memory.facts(user_id="default")
    query = FactQuery("object", ("sister", "lives_in"), "user", previous=True, as_of=datetime(2026, 1, 2, tzinfo=UTC))
    follows: list[Answer | None] = []

    def ask(*_: object, follows_: list[Answer | None] = follows, **named: Any) -> Answer:
        follows_.append(named["follows"])
        return Answer("Porto", False, 0.9, (), facts=(fact,), query=query)

    monkeypatch.setattr("nscma_torch.api.memory.Memory.ask", ask)
    first = server.client.post("/v1/ask", json={"question": "Where does my sister live?"}).json()
    assert TypeAdapter(Fact).validate_python(first["facts"][0]) == fact
    body = {"question": "And before that?", "follows": first["query"]}
    assert server.client.post("/v1/ask", json=body).status_code == 200
    assert follows[0] is None and follows[1] is not None and follows[1].query == query


def test_facts_and_what_the_curator_decided(server: Served) -> None:
    for text in ("{user|lives_in|Lisbon}", "I moved. {user|lives_in|Porto}"):
        server.memory.add(text, user_id="default")
    server.memory.flush()
    get = server.client.get
    facts = get("/v1/facts", params={"relation": "lives_in"}).json()
    assert [one["object"] for one in facts] == ["Porto"]
    everything = {"subject": "user", "relation": "lives_in"}
    assert [one["object"] for one in get("/v1/timeline", params=everything).json()] == ["Lisbon", "Porto"]
    newest = get("/v1/decisions", params={"limit": 1}).json()[0]
    assert server.client.post(f"/v1/decisions/{newest['id']}/undo").json()["undone"] is True
    assert server.client.post(f"/v1/decisions/{newest['id']}/undo").status_code == 422


def test_an_erasure_says_what_it_erases(server: Served) -> None:
    said = server.memory.add("I live in Porto.", user_id="default")[0]
    server.memory.add("I keep bees.", user_id="default")
    for body in ({}, {"everything": True, "memory_id": said.id}, {"memory_id": said.id, "skill_id": "x"}):
        assert server.client.post("/v1/erase", json=body).status_code == 422
    assert server.memory.stats().messages == 2
    receipt = server.client.post("/v1/erase", json={"memory_id": said.id}).json()
    assert (receipt["item_id"], receipt["found"]) == (said.id, 0)
    assert server.memory.stats().messages == 1
    assert server.client.post("/v1/erase", json={"everything": True}).json()["user_id"] == "default"
    assert server.memory.stats().users == 0


def test_an_export_is_an_import(server: Served) -> None:
    server.memory.add("I live in Porto.", user_id="ana")
    server.memory.add("I live in Faro.", user_id="ben")
    before = server.memory.digest()
    ana, both = server.client.get("/v1/export", params={"user_id": "ana"}), server.client.get("/v1/store/export")
    assert ana.text.splitlines() == list(server.memory.export(user_id="ana"))
    assert int(both.headers["content-length"]) == len(both.content)
    assert server.client.get("/v1/export", params={"user_id": "zoe"}).status_code == 404
    refused = server.client.post("/v1/store/import", content=both.content)
    assert refused.status_code == 422 and "already contains user" in refused.json()["detail"]
    assert server.client.post("/v1/store/reset").status_code == 204
    for content in (both.content[:-200], b"\xff\xfe", b""):
        assert server.client.post("/v1/store/import", content=content).status_code == 422
        assert server.memory.stats().users == 0
    assert server.client.post("/v1/store/import", content=both.content).json()["count"] > 2
    assert server.memory.digest() == before


def test_an_upload_has_a_limit(served: Callable[..., Served]) -> None:
    server = served({"max_upload": 1000})
    got = server.client.post("/v1/store/import", content=(b"x" * 100 for _ in range(11)))
    assert got.status_code == 413 and "server.max_upload = 1,000" in got.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/v1/messages", {"messages": "  "}, 422, "content is empty or only whitespace"),
        ("/v1/messages", {"messages": {"role": "boss", "content": "x"}}, 422, "role must be one of"),
        ("/v1/messages", {"messages": "x", "timestamp": "tomorrow"}, 422, "is not a time; use ISO 8601"),
        ("/v1/messages", {"messages": "x", "user_id": "\n"}, 422, "user_id must be"),
        ("/v1/messages", {"messages": "x" * 1_048_577}, 413, "limits.max_message_bytes"),
        ("/v1/search", {"query": "x" * 17_000}, 413, "limits.max_question_characters"),
        ("/v1/search", {"query": "x", "strategy": "guess"}, 422, "guess"),
        ("/v1/search", {"query": "x", "topk": 3}, 422, "body.topk: Extra inputs"),
        ("/v1/decisions/nix/undo", {}, 404, "nix"),
    ],
)
def test_errors_keep_their_messages(server: Served, path: str, body: Any, status: int, said: str) -> None:
    got = server.client.post(path, json=body)
    told = got.json()
    assert got.status_code == told["status"] == status and said in told["detail"], told
    assert got.headers["content-type"] == "application/problem+json" and told["type"].startswith("urn:nscma:")


@pytest.mark.parametrize(
    ("error", "status", "shown"),
    [
        (StoreBusyError("held"), 503, "held"),
        (StoreFullError("full"), 507, "full"),
        (EngineUnavailableError("away"), 503, "away"),
        (MissingDependencyError("install x"), 501, "install x"),
        (RuntimeError("SELECT 'secret'"), 500, "an error of the server's own; its log says more"),
    ],
)
def test_failures_have_a_status(
    server: Served, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, shown: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("nscma_torch.api.memory.Memory.search", fails)
    got = server.client.post("/v1/search", json={"query": "x"})
    assert (got.status_code, got.json()["detail"]) == (status, shown)
    assert ("retry-after" in got.headers) is (status == 503)


def test_paths_that_are_none(server: Served) -> None:
    for method, path, status in (("GET", "/v2/x", 404), ("PUT", "/v1/search", 405), ("GET", "/v1/messages/", 404)):
        got = server.client.request(method, path, follow_redirects=False)
        assert got.status_code == status and got.headers["content-type"] == "application/problem+json", got.text


def test_health_and_metrics(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    client = server.client
    secret = "zanzibar"
    client.post("/v1/messages", json={"messages": f"I was in {secret}.", "user_id": secret})
    client.get(f"/v1/messages/{secret}", params={"user_id": secret})
    client.request(secret.upper(), f"/{secret}", headers={"X-Name": secret})
    text = client.get("/metrics").text
    assert secret not in text.lower()
    assert 'nscma_requests_total{method="GET",route="/v1/messages/{memory_id}",status="404"} 1.0' in text
    assert 'nscma_requests_total{method="other",route="other",status="404"} 1.0' in text
    assert "nscma_messages 1.0" in text and "nscma_jobs_queued 1.0" in text
    server.token("ana")
    for path, status in (("/health/live", 200), ("/health/ready", 200), ("/docs", 200), ("/metrics", 401)):
        assert client.get(path).status_code == status
    assert client.get("/metrics", headers=server.token("ana")).status_code == 403
    server.memory.close()
    assert client.get("/health/live").status_code == 200
    assert client.get("/health/ready").status_code == 503


def test_the_page_of_the_document(server: Served) -> None:
    document = server.client.get("/openapi.json").json()
    page = server.client.get("/docs")
    assert "default-src 'none'" in page.headers["content-security-policy"] and "<script" not in page.text
    for path, methods in document["paths"].items():
        for said in methods.values():
            assert path in page.text and said["operationId"] and said["description"], path


def test_a_room_is_built_in(served: Callable[..., Served]) -> None:
    """A mounted application is authenticated, knows its caller, and is opened and closed with the server."""
    from contextlib import asynccontextmanager

    from starlette.responses import JSONResponse

    from nscma_torch.server.access import principal_of

    told: list[str] = []

    async def mounted(scope: Any, receive: Any, send: Any) -> None:
        await JSONResponse(principal_of(scope).user_id)(scope, receive, send)

    @asynccontextmanager
    async def lifespan() -> Any:
        told.append("opened")
        yield
        told.append("closed")

    def route_group(context: AppContext) -> RouteGroup:
        told.append(context.settings.user)
        return RouteGroup(mounts={"/mounted": mounted}, lifespan=lifespan)

    server = served(route_groups=[route_group])
    assert told == ["default", "opened"]
    ana = server.token("ana")
    assert server.client.get("/mounted/x", headers=ana).json() == "ana"
    assert server.client.get("/mounted/x").status_code == 401
    server.client.__exit__(None, None, None)
    assert told == ["default", "opened", "closed"]
    server.client.__enter__()
