"""mem0's paths answer in mem0's forms."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from tests.server.conftest import Served


def test_a_memory_from_beginning_to_end(served: Callable[..., Served]) -> None:
    client = (server := served()).client
    said = [{"role": "user", "content": "I live in Porto."}, {"role": "assistant", "content": "Noted."}]
    added = client.post("/memories", json={"messages": said, "user_id": "ana", "metadata": {"topic": "home"}}).json()
    first, _ = added["results"]
    assert first == {"id": first["id"], "memory": "I live in Porto.", "event": "ADD"}
    path = f"/memories/{first['id']}"
    ana = {"user_id": "ana"}
    item = client.get(path, params=ana).json()
    assert item["memory"] == "I live in Porto." and item["metadata"] == {"topic": "home"} and item["user_id"] == "ana"
    assert item["hash"] == hashlib.md5(b"I live in Porto.").hexdigest() and item["created_at"]
    assert [one["id"] for one in client.get("/memories", params={**ana, "top_k": 1}).json()["results"]] == [first["id"]]
    found = client.post("/search", json={"query": "Porto", **ana, "top_k": 1, "filters": {"topic": "home"}}).json()
    assert found["results"][0]["memory"] == "I live in Porto." and found["results"][0]["score"] > 0
    assert client.put(path, json={"text": "I live in Faro.", **ana}).json() == {
        "message": "Memory updated successfully!"
    }
    assert client.put(path, json={"data": "I live in Braga.", **ana}).status_code == 200
    assert client.put(path, json={"data": "a", "text": "b", **ana}).status_code == 422
    assert client.delete(path, params=ana).json() == {"message": "Memory deleted successfully!"}
    assert client.get(path, params=ana).json() is None
    history = client.get(f"{path}/history", params=ana).json()
    assert [(one["event"], one["old_memory"], one["new_memory"], one["is_deleted"]) for one in history] == [
        ("ADD", None, "I live in Porto.", False),
        ("UPDATE", "I live in Porto.", "I live in Faro.", False),
        ("UPDATE", "I live in Faro.", "I live in Braga.", False),
        ("DELETE", "I live in Braga.", None, True),
    ]
    assert len({one["id"] for one in history}) == 4
    assert client.delete("/memories", params=ana).json() == {"message": "Memories deleted successfully!"}
    assert client.get("/memories", params=ana).json() == {"results": []}
    assert client.post("/reset").json() == {"message": "All memories reset"}
    assert server.memory.stats().users == 0
