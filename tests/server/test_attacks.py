"""Every operation of the OpenAPI document, by everybody who must not: none is forgotten, as none is named here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from starlette.routing import Mount

from nscma_torch.api.memory import Memory
from nscma_torch.core.protocols import Embedder
from nscma_torch.server.app_context import RouteGroupFactory
from nscma_torch.server.notice import PROOF
from nscma_torch.server.proxy.routes import NOT_SERVED
from tests.conftest import LIGHT
from tests.helpers.fake_chat_server import Asked, Said, completion, fake_chat_server
from tests.helpers.noting import NotedTasks
from tests.server.conftest import Served, route_groups_of_serve, serving
from tests.server.operations import PUBLIC, Operation, operations

FAST = {"rate": 1e6, "burst": 1_000_000}
SECRET = "xylophone"  # a word of Ben's memory alone
NOT_OF_MEMORY = {"backup", "close", "as_module", "components"}
OTHER_NAMES = {"import_": "import"}
OF_THE_MODEL = {
    "chat_completions",
    "models",
    "model",
    "embeddings",
    "responses",
    "anthropic_messages",
    "count_tokens",
}  # they need no name of a user: the token says whose memory it is
OF_NOBODY = {"relations"}  # what the relation file says
PAGES = [("GET", "/"), ("GET", "/docs"), ("GET", "/openapi.json"), ("HEAD", "/openapi.json")]  # of nobody
OTHERS = [("POST", "/mcp")]  # mcp/test_attacks.py has its tools and resources
UNSERVED = [f"/v1/{name.split('/{')[0]}" for name in NOT_SERVED]

Bens = tuple[Served, list[Operation], dict[str, str]]


def echo(asked: Asked) -> Said:
    """A model's server that says what it was sent, so that whatever a block brings comes back."""
    return completion(asked.body.decode())


@pytest.fixture(scope="module")
def route_groups() -> Iterator[list[RouteGroupFactory]]:
    """All that `nscma serve` mounts, in front of a model's server."""
    with fake_chat_server(echo) as upstream:
        yield route_groups_of_serve(upstream.url)


@pytest.fixture
def bens_own(served: Callable[..., Served], route_groups: list[RouteGroupFactory]) -> Bens:
    """A server with a memory of Ben's, its operations, and the ids of what is Ben's."""
    return filled(served(FAST, floor=-1.0, route_groups=route_groups))


@pytest.fixture(scope="module")
def bens(
    tmp_path_factory: pytest.TempPathFactory,
    light_surprise: Any,
    embedder: Embedder,
    route_groups: list[RouteGroupFactory],
) -> Iterator[Bens]:
    """The same, of all tests that must leave it as it is."""
    folder, config = (
        tmp_path_factory.mktemp("ben"),
        {**LIGHT, "gate": {"rule": "everything"}, "retrieval": {"floor": -1.0}, "server": FAST},
    )
    with (
        Memory(
            folder / "store.db", config=config, surprise_model=light_surprise, embedder=embedder, tasks=NotedTasks()
        ) as memory,
        serving(memory, folder / "tokens", route_groups=route_groups) as server,
    ):
        yield filled(server)


def filled(server: Served) -> Bens:
    memory = server.memory
    said = memory.add(f"My {SECRET} is in Porto. {{Ben|lives_in|Lisbon}}", user_id="ben")[0]
    memory.add("I live in Braga now {Ben|lives_in|Braga}.", user_id="ben")
    memory.flush()
    skill = memory.add_skill(f"tune the {SECRET}", trigger="it is out of tune", steps=["listen"], user_id="ben")
    (decision, *_) = memory.decisions(user_id="ben")
    ids = {"memory_id": said.id, "skill_id": skill.id, "decision_id": decision.id, "proposal_id": decision.id}
    return server, list(operations(server.client.get("/openapi.json").json())), {**ids, "kind": "insight", "model": "m"}


def test_every_method_of_memory_has_an_operation(bens: Bens) -> None:
    _, all_, _ = bens
    methods = {name for name, one in vars(Memory).items() if not name.startswith("_") and callable(one)}
    assert {OTHER_NAMES.get(name, name) for name in methods - NOT_OF_MEMORY} <= {one.id for one in all_}
    assert len({one.id for one in all_}) == len(all_)


def routes(found: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Method and path of all that an application answers, those of the routers in it too."""
    for one in found:
        if hasattr(one, "original_router"):
            yield from routes(one.original_router.routes)
        elif isinstance(one, Mount):
            yield "any", f"{one.path}/*"
        else:
            yield from ((method, one.path) for method in one.methods or ("any",))


def test_no_route_is_forgotten(bens: Bens) -> None:
    """What is answered is an operation of the document, which the tests here ask for all users, or is named here."""
    server, all_, _ = bens
    known = {(one.method, one.path) for one in all_} | set(PAGES) | set(OTHERS)
    unknown = {
        (method, path)
        for method, path in routes(server.app.routes)
        if (method, path.replace(":path}", "}")) not in known
        and not open_to_all(method, path)
        and not any(fits(path, one) for one in UNSERVED)
    }
    assert not unknown, "a route that no test attacks: put it into the document, or name it here with a test"


def fits(path: str, beginning: str) -> bool:
    return path == beginning or path.startswith((f"{beginning}/", f"{beginning}{{"))


def test_only_pages_are_open(bens: Bens) -> None:
    """Of all routes, in the document or not, by every method: what is answered without a token tells nothing of Ben."""
    server, _, ids = bens
    server.token("ana")
    paths = {path for _, path in routes(server.app.routes)}
    for path in sorted(paths):
        url = re.sub(r"\{rest:path\}", "x", path).replace("{", "%7B").replace("}", "%7D")
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "X"):
            got = server.client.request(method, url, headers={"Authorization": "Bearer nscma_guess"})
            assert got.status_code == 401 or open_to_all(method, path), (method, path, got.status_code)
            assert SECRET not in got.text and not any(id in got.text for id in ids.values() if len(id) > 20)


def open_to_all(method: str, path: str) -> bool:
    public = path in ("/health/live", "/health/ready", PROOF) or path.startswith("/view/") or ("GET", path) in PAGES
    return public and method in ("GET", "HEAD")


def test_every_operation_needs_a_token(bens: Bens) -> None:
    server, all_, ids = bens
    assert {one.id for one in all_ if not one.rights} == PUBLIC
    server.token("ana")
    for headers in ({}, {"Authorization": "Bearer nscma_guess"}, {"Authorization": "Basic YTpi"}, {"X-API-Key": "x"}):
        for one in all_:
            request = one.request(ids, "ben")
            got = server.client.request(**{**request, "headers": {**request.get("headers", {}), **headers}})
            assert (got.status_code == 401) is (one.id not in PUBLIC), (one.id, headers, got.text)
            assert SECRET not in got.text
            if got.status_code == 401:
                assert got.headers["content-type"] == "application/problem+json"
                assert got.headers["www-authenticate"].startswith("Bearer")


def test_no_operation_serves_another_user(bens: Bens) -> None:
    """Ana has all rights over her own memory, and knows all ids of Ben's."""
    server, all_, ids = bens
    ana = server.token("ana")
    before = server.memory.digest(user_id="ben"), [*server.memory.export(user_id="ben")]
    for one in all_:
        if one.id in PUBLIC:
            continue
        for user in (None, "ben"):  # by the ids alone, and by name
            request = one.request(ids, user)
            got = server.client.request(**{**request, "headers": {**request.get("headers", {}), **ana}})
            assert SECRET not in got.text, one.id
            assert got.status_code < 500, (one.id, got.text)
            if user and one.takes_user:
                assert got.status_code == 403, (one.id, got.text)
            if not user and not one.takes_user and not one.lines and one.id not in OF_THE_MODEL | OF_NOBODY:
                assert got.status_code == 403, f"{one.id} is about the whole store: {got.text}"
        request = one.request(ids)
        request["params"] = {**request["params"], "user_id": "ben"}  # whatever the endpoint takes
        got = server.client.request(**{**request, "headers": {**request.get("headers", {}), **ana}})
        assert got.status_code == 403 and SECRET not in got.text, (one.id, got.text)
    assert (server.memory.digest(user_id="ben"), [*server.memory.export(user_id="ben")]) == before


@pytest.mark.parametrize("path", ["/v1/search", "/v1/ask", "/v1/messages/query", "/search"])
def test_no_filter_names_another_user(bens: Bens, path: str) -> None:
    server, _, _ = bens
    text = {"question": SECRET} if path == "/v1/ask" else {} if path.endswith("query") else {"query": SECRET}
    for wanted, status in (("ben", 403), (["ben"], 422), ({"in": ["ben"]}, 422)):
        body = {**text, "filters": {"user_id": wanted}}
        got = server.client.post(path, json=body, headers=server.token("ana"))
        assert got.status_code == status and SECRET not in got.text.replace(json.dumps(body), ""), got.text


def test_each_right_gives_its_own_operations_alone(bens: Bens) -> None:
    server, all_, ids = bens
    for right in ("read", "write", "erase"):
        others = ",".join({"read", "write", "erase"} - {right})
        for user in ("ben", None):
            headers = server.token(user, others)
            for one in all_:
                if one.rights == [right]:
                    request = one.request(ids, "ben")
                    got = server.client.request(**{**request, "headers": {**request.get("headers", {}), **headers}})
                    assert got.status_code == 403 and "right" in got.json()["detail"], (one.id, got.text)


def test_to_replace_decisions_takes_the_right_to_write(bens: Bens) -> None:
    server, _, _ = bens
    reader = server.token("ben", "read")
    assert server.client.post("/v1/replay", json={}, headers=reader).status_code == 200
    assert server.client.post("/v1/replay", json={"dry_run": False}, headers=reader).status_code == 403
    got = server.client.post("/v1/replay", json={"gate": {"rules": "x"}}, headers=reader)
    assert got.status_code == 422 and "unknown key 'rules'" in got.json()["detail"]  # not the server's fault


def test_every_operation_works_for_whom_it_is_meant(bens_own: Bens) -> None:
    """So that what is refused above is not refused to everybody. What ends a memory comes last."""
    server, all_, ids = bens_own
    anyone, ben = server.token(None), server.token("ben")
    order = ["chat_completions", "", "undo", "mem0_delete", "delete", "delete_all", "mem0_delete_all", "erase", "reset"]
    order += ["mem0_reset"]
    expected = {"record": 404, "merge": 422, "import": 422}  # there is no record, no proposal, and no export sent
    for one in sorted(all_, key=lambda one: order.index(one.id if one.id in order else "")):
        request = one.request(ids, "ben")
        of_one = one.id in OF_THE_MODEL or (one.takes_user and "/store/" not in one.path)
        headers = {**request.get("headers", {}), **(ben if of_one else anyone)}
        got = server.client.request(**{**request, "headers": headers})
        assert got.status_code in (expected.get(one.id, 200), 204), (one.id, got.text)
        if one.id == "chat_completions":
            assert SECRET in got.text  # the model's server gets, and says, what a user's own block holds
    assert server.memory.stats().users == 0
