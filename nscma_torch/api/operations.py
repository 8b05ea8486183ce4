"""The table of operations: `Memory`'s methods with their endpoints, rights and MCP tools.

The REST endpoints are generated from this table; MCP, mem0's paths and the command line look up rights, threads and
paths in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Right = Literal["read", "write", "erase"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation in the table.

    Args:
        id: the operation id, which is the method's name for the method's first endpoint.
        right: the required right.
        endpoint: HTTP method and path below /v1; empty if available only in Python.
        method: the name of the method of `Memory`, if it differs from `id`.
        mcp: the MCP tool or resource that runs it.
        store: applies to all users, or to one user if the caller names one; needs a token for any user.
        slow: run it in the threads for long calls.
        now: the caller may set the clock.
        missing: noun for the `NotFoundError` that is raised if the method returns None.
        unless_dry_run: an additional right that is required without `dry_run`.
        streamed: has a hand-written endpoint, as its request or response is a stream.
        gen_ai: its `gen_ai.operation.name`, if OpenTelemetry's conventions name such an operation.
    """

    id: str
    right: Right
    endpoint: str = ""
    method: str = ""
    mcp: str = ""
    store: bool = False
    slow: bool = False
    now: bool = False
    missing: str = ""
    unless_dry_run: Right | None = None
    streamed: bool = False
    gen_ai: str = ""

    @property
    def name(self) -> str:
        """Return the name of the method of `Memory`."""
        return self.method or self.id

    @property
    def verb(self) -> str:
        """Return the HTTP method."""
        return self.endpoint.partition(" ")[0]

    @property
    def path(self) -> str:
        """Return the path of the endpoint."""
        return "/v1" + self.endpoint.partition(" ")[2]


_MESSAGE, _SKILL = "/messages/{memory_id}", "/skills/{skill_id}"
GROUPS: dict[str, tuple[Operation, ...]] = {
    "messages": (
        Operation("add", "write", "POST /messages", mcp="remember", now=True, gen_ai="create_memory"),
        Operation("add_many", "write", "POST /messages/stream", streamed=True, gen_ai="create_memory"),
        Operation("get_all", "read", "GET /messages", now=True),
        Operation("query", "read", "POST /messages/query", method="get_all", now=True),
        Operation("delete_all", "write", "DELETE /messages", gen_ai="delete_memory"),
        Operation("get", "read", f"GET {_MESSAGE}", missing="active message"),
        Operation("update", "write", f"PATCH {_MESSAGE}", gen_ai="update_memory"),
        Operation("delete", "write", f"DELETE {_MESSAGE}", mcp="forget", gen_ai="delete_memory"),
        Operation("restore", "write", f"POST {_MESSAGE}/restore", mcp="forget"),
        Operation("history", "read", f"GET {_MESSAGE}/history", mcp="history"),
        Operation("record", "read", f"GET {_MESSAGE}/record", missing="structured record of a message"),
        Operation("feedback", "write", f"POST {_MESSAGE}/feedback"),
        Operation("log", "read", "GET /log"),
        Operation("records", "read", "GET /records"),
        Operation("sessions", "read", "GET /sessions", mcp="nscma://sessions"),
        Operation("window", "read", "GET /window", mcp="nscma://sessions/{name}"),
    ),
    "search": (
        Operation("search", "read", "POST /search", mcp="recall", now=True, gen_ai="search_memory"),
        Operation("ask", "read", "POST /ask", mcp="ask", now=True),
        Operation("as_module", "read"),
    ),
    "facts": (
        Operation("facts", "read", "GET /facts", mcp="facts", now=True),
        Operation("related_facts", "read", "POST /facts/related", now=True),
        Operation("timeline", "read", "GET /timeline", mcp="history"),
        Operation("due", "read", "GET /due", mcp="due", now=True),
        Operation("conflicts", "read", "GET /conflicts"),
        Operation("profile", "read", "GET /profile", mcp="nscma://profile", now=True),
        Operation("derived", "read", "GET /derived/{kind}"),
        Operation("tree", "read", "GET /tree"),
    ),
    "curation": (
        Operation("decisions", "read", "GET /decisions"),
        Operation("undo", "write", "POST /decisions/{decision_id}/undo"),
        Operation("merge", "write", "POST /decisions/{proposal_id}/merge"),
        Operation("sleep", "write", "POST /sleep", slow=True, now=True),
        Operation("replay", "read", "POST /replay", slow=True, unless_dry_run="write"),
        Operation("reextract", "write", "POST /reextract", slow=True),
        Operation("rebuild", "write", "POST /rebuild", slow=True),
        Operation("stats", "read", "GET /stats"),
        Operation("digest", "read", "GET /digest", slow=True),
        Operation("erase", "erase", "POST /erase", slow=True, mcp="forget", gen_ai="delete_memory"),
    ),
    "skills": (
        Operation("add_skill", "write", "POST /skills"),
        Operation("skills", "read", "GET /skills"),
        Operation("find_skills", "read", "POST /skills/find"),
        Operation("skill_outcome", "write", f"POST {_SKILL}/outcome"),
        Operation("archive_skill", "write", f"POST {_SKILL}/archive"),
        Operation("restore_skill", "write", f"POST {_SKILL}/restore"),
    ),
    "store": (
        Operation("export", "read", "GET /export", slow=True, streamed=True),
        Operation("export_store", "read", "GET /store/export", "export", store=True, slow=True, streamed=True),
        Operation("import", "write", "POST /store/import", "import_", store=True, slow=True, streamed=True),
        Operation("stats_of_store", "read", "GET /store/stats", "stats", store=True),
        Operation("digest_of_store", "read", "GET /store/digest", "digest", store=True, slow=True),
        Operation("verify", "read", "GET /store/verify", store=True, slow=True),
        Operation("sleep_all", "write", "POST /store/sleep", "sleep", store=True, slow=True, now=True),
        Operation("flush", "write", "POST /store/flush", store=True, slow=True),
        Operation("retry_failed", "write", "POST /store/retry", store=True),
        Operation("reembed", "write", "POST /store/reembed", store=True, slow=True),
        Operation("reset", "erase", "POST /store/reset", store=True, slow=True, gen_ai="delete_memory_store"),
        Operation("backup", "read"),  # names a file on the machine
        Operation("close", "write"),
    ),
}
OPERATIONS = {operation.id: operation for operations in GROUPS.values() for operation in operations}
