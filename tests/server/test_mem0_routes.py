"""mem0's paths answer as mem0's own names do (`tests/compat`), for the user of the token."""

from __future__ import annotations

from collections.abc import Callable

from nscma_torch.compat.mem0 import Memory as Mem0
from tests.server.conftest import Served


def test_a_memory_from_beginning_to_end(served: Callable[..., Served]) -> None:
    client, named = (server := served()).client, Mem0.over(server.memory)
    said = [{"role": "user", "content": "I live in Porto."}, {"role": "assistant", "content": "Noted."}]
    body = {"messages": said, "user_id": "ana", "run_id": "r", "metadata": {"topic": "home"}}
    first, second = client.post("/memories", json=body).json()["results"]
    assert (first["memory"], first["event"], second["role"]) == ("I live in Porto.", "ADD", "assistant")
    ana, path = {"user_id": "ana"}, f"/memories/{first['id']}"
    assert client.get(path, params=ana).json() == named.get(first["id"])
    assert client.get("/memories", params={**ana, "top_k": 1}).json() == named.get_all(user_id="ana", top_k=1)
    asked = {"query": "Porto", "filters": {"OR": [{"topic": {"in": ["home"]}}]}, "explain": True, "threshold": 0.2}
    found = client.post("/search", json={**asked, **ana}).json()
    assert found["results"] and found == named.search(**asked, user_id="ana")
    updated = client.put(path, json={"text": "I live in Faro.", "metadata": {"topic": "house"}, **ana})
    assert updated.json() == {"message": "Memory updated successfully!"}
    assert client.put(path, json={"data": "I live in Braga.", "expiration_date": "2099-01-01", **ana}).is_success
    assert client.put(path, json={"data": "a", "text": "b", **ana}).status_code == 422
    item = client.get(path, params=ana).json()
    assert (item["memory"], item["expiration_date"]) == ("I live in Braga.", "2099-01-01")
    assert item["metadata"]["topic"] == "house"
    assert client.delete(path, params=ana).json() == {"message": "Memory deleted successfully!"}
    assert client.get(path, params=ana).json() is None and client.delete(path, params=ana).status_code == 404
    history = client.get(f"{path}/history", params=ana).json()
    assert [one["event"] for one in history][::3] == ["ADD", "DELETE"] and history == named.history(first["id"])
    assert client.delete("/memories", params=ana).json() == {"message": "Memories deleted successfully!"}
    assert client.get("/memories", params=ana).json() == {"results": []}
    assert client.post("/reset").json() == {"message": "All memories reset"}
    assert server.memory.stats().users == 0


def test_blanks_reach_nobody_else(served: Callable[..., Served]) -> None:
    """mem0 cuts blanks from ids; the user of a token is who the token says, to the letter."""
    server = served()
    server.memory.add("The xylophone is Ana's.", user_id="ana")
    neighbour = server.token(" ana ")
    for got in (
        server.client.get("/memories", headers=neighbour),
        server.client.post("/search", json={"query": "xylophone"}, headers=neighbour),
        server.client.post("/memories", json={"messages": "x"}, headers=neighbour),
        server.client.delete("/memories", headers=neighbour),
    ):
        assert got.status_code == 422 and "whitespace" in got.json()["detail"] and "xylophone" not in got.text
    assert server.memory.stats().messages == 1 and len(server.memory.get_all(user_id="ana")) == 1


def test_an_id_is_enough_if_the_request_may_be_about_any_user(served: Callable[..., Served]) -> None:
    server = served(user="default")
    (added,) = server.client.post("/memories", json={"messages": "I love pizza.", "user_id": "al"}).json()["results"]
    path = f"/memories/{added['id']}"
    assert server.client.get(path).json()["memory"] == "I love pizza."
    assert server.client.put(path, json={"text": "I love pasta."}).is_success
    own, app, other = server.token("al"), server.token(None), server.token("eve")
    for headers in (own, app):
        assert server.client.get(path, headers=headers).json()["memory"] == "I love pasta."
        assert server.client.get(f"{path}/history", headers=headers).json()
    assert server.client.get(path, headers=other).json() is None
    assert server.client.delete(path, headers=other).status_code == 404
    assert server.client.get(path, params={"user_id": "eve"}, headers=app).json() is None
    assert server.client.delete(path, headers=app).is_success


def test_arguments_as_mem0s_guides_use_them(served: Callable[..., Served]) -> None:
    client = served().client
    for text in ("I love pizza.", "I love pasta.", "The gutter leaks."):
        client.post("/memories", json={"messages": text, "user_id": "al"})
    assert len(client.get("/memories", params={"user_id": "al", "limit": 2}).json()["results"]) == 2
    asked = {"query": "pizza", "user_id": "al"}
    assert len(client.post("/search", json={**asked, "threshold": None}).json()["results"]) == 3
    (found,) = client.post("/search", json={**asked, "threshold": None, "limit": 1}).json()["results"]
    assert found["memory"] == "I love pizza." and "rerank_score" not in found
