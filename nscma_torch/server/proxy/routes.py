"""Routes of the proxy: chats in three dialects get recalled memories; /v1/models, /v1/embeddings and Anthropic's count
of tokens are passed on unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx2
from fastapi import APIRouter, HTTPException, Request, Response

from nscma_torch.core.errors import ScopeError
from nscma_torch.server.access import Principal, Reader
from nscma_torch.server.app_context import AppContext, RouteGroup, RouteGroupFactory
from nscma_torch.server.proxy.chat_request import ChatRequest
from nscma_torch.server.proxy.dialects import ANTHROPIC, DIALECTS, Dialect
from nscma_torch.server.proxy.exchanges import OFF, Exchanges
from nscma_torch.server.proxy.keeping import ExchangeWriter, failed
from nscma_torch.server.proxy.recalling import TurnRecall
from nscma_torch.server.proxy.relay import Ended, Relay
from nscma_torch.server.proxy.upstream_server import UpstreamServer

MODELS = "/v1/models"
_SHORT_BODY = 1 << 16  # bytes that are parsed on the event loop
_ANSWER_FACTOR = 16  # bytes of an answer in JSON, events and log-probabilities, for one of its text
_COUNT = "/count_tokens"
PASSED_ON = {"/v1/embeddings": "/v1/embeddings", ANTHROPIC.route + _COUNT: ANTHROPIC.path + _COUNT}  # unread
NOT_SERVED = (  # some store requests under an id, for anybody with the model server's key
    *("completions", "moderations", "rerank", "score", "tokenize", "batches", "files"),
    *("audio/{rest:path}", "images/{rest:path}", "fine_tuning/{rest:path}", "responses/{rest:path}"),
    *("chat/completions/{rest:path}", "assistants", "threads", "uploads", "vector_stores", "conversations"),
)
_NO_MEMORY = {"x-nscma-memory": "off", "x-nscma-stores": "no"}
_BODY = {"application/json": {"schema": {"type": "object", "additionalProperties": True}}}
_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "what the model's server answers",
        "content": {"application/json": {}, "text/event-stream": {}},
    }
}


def route_group(url: str, key: str | None = None) -> RouteGroupFactory:
    """Return the route group of a proxy for a server. Arguments and errors are those of `UpstreamServer`."""

    def made(context: AppContext) -> RouteGroup:
        proxy = ChatProxy(context, UpstreamServer(url, key, context.config.upstream))
        return RouteGroup((proxy.router(),), unread=frozenset(PASSED_ON), lifespan=proxy.lifespan)

    return made


class ChatProxy:
    """Forwards requests to one server."""

    def __init__(self, context: AppContext, server: UpstreamServer) -> None:
        settings = context.config.upstream
        self._context = context
        self._server = server
        self._exchanges = Exchanges(TurnRecall(context.memory, settings), context.work, settings)
        self._keeping = ExchangeWriter(context.memory, settings)
        self._client: httpx2.AsyncClient | None = None

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Keep the connections to the server open. At the end, wait until all exchanges are stored."""
        async with self._server.client() as self._client:
            try:
                yield
            finally:
                self._keeping.close()

    def router(self) -> APIRouter:
        """Return the proxy's endpoints."""
        router = APIRouter(tags=["proxy"])

        for dialect in DIALECTS:
            router.add_api_route(
                dialect.route, self._chat_in(dialect), methods=["POST"], operation_id=dialect.operation,
                response_class=Response, responses=_ANSWER,
                openapi_extra={"requestBody": {"required": True, "content": _BODY}},
            )  # fmt: skip

        @router.get(MODELS, operation_id="models", response_class=Response, responses=_ANSWER)
        async def models(request: Request, _: Reader) -> Response:
            """List the models that the model's server offers."""
            return Relay(self._open, self._sent_on(request, MODELS, None), {})

        @router.get(MODELS + "/{model:path}", operation_id="model", response_class=Response, responses=_ANSWER)
        async def one_model(model: str, request: Request, _: Reader) -> Response:
            """Describe one model that the model's server offers."""
            if {".", ".."}.intersection(model.split("/")):
                raise HTTPException(404, f"{model!r} is not a model name")
            return Relay(self._open, self._sent_on(request, f"{MODELS}/{quote(model)}", None), {})

        async def passed_on(request: Request, _: Reader) -> Response:
            """Pass on the request and the model server's response, without adding or storing anything."""
            body = await request.body()
            return Relay(self._open, self._sent_on(request, PASSED_ON[request.url.path], body), _NO_MEMORY)

        for path in PASSED_ON:
            router.add_api_route(
                path, passed_on, methods=["POST"], operation_id=path.rpartition("/")[2], response_class=Response,
                responses=_ANSWER, openapi_extra={"requestBody": {"required": True, "content": _BODY}},
            )  # fmt: skip

        async def unserved(_: Request) -> Response:
            served = ", ".join((*(dialect.route for dialect in DIALECTS), MODELS, *PASSED_ON))
            raise HTTPException(
                404, f"only {served} are forwarded to the model's server; request other paths from it directly"
            )

        for path in NOT_SERVED:
            router.add_api_route(
                f"/v1/{path}", unserved, methods=["GET", "POST", "PUT", "DELETE"], include_in_schema=False
            )
        return router

    def _chat_in(self, dialect: Dialect) -> Callable[[Request, Reader], Awaitable[Response]]:
        async def chat(request: Request, caller: Reader) -> Response:
            """Forward a chat, adding memories recalled for the newest user turn.

            Response headers describe the recall. The field `user` (Anthropic's `metadata.user_id`) names the user if
            the token doesn't.
            """
            return await self._chat(request, caller, dialect)

        return chat

    async def _chat(self, request: Request, caller: Principal, dialect: Dialect) -> Response:
        body = await request.body()
        if len(body) <= _SHORT_BODY:
            asked = ChatRequest.read(body, dialect)
        else:
            asked = await asyncio.to_thread(ChatRequest.read, body, dialect)
        user, turn = _user_of(caller, request, asked), asked.turn
        recall = OFF if turn is None else await self._exchanges.recall(user, turn)
        ended: Ended | None = None
        if turn is not None and recall.found is not None and "write" in caller.rights:
            ended = partial(self._keeping.keep, user, turn, recall.found)
        fault = None if turn is None else turn.fault
        stores = "no" if ended is None else "yes" if fault is None else failed(fault)
        headers = recall.headers() | {"x-nscma-stores": stores}
        sent_body = asked.body if turn is None else asked.with_blocks(recall.blocks(turn))
        sent = self._sent_on(request, dialect.path, sent_body)
        most = _ANSWER_FACTOR * self._context.config.limits.max_message_bytes
        return Relay(self._open, sent, headers, dialect=dialect, ended=ended, most=most)

    @property
    def _open(self) -> httpx2.AsyncClient:
        assert self._client is not None  # the lifespan has begun
        return self._client

    def _sent_on(self, request: Request, path: str, body: bytes | None) -> httpx2.Request:
        headers = self._server.headers_on(request.headers.items(), anthropic=path.startswith(ANTHROPIC.path))
        params = httpx2.QueryParams(request.url.query).remove("user_id")  # the model doesn't need the user's id
        return self._open.build_request(request.method, path, params=params, content=body, headers=headers)


def _user_of(caller: Principal, request: Request, asked: ChatRequest) -> str:
    """Return the token's user, or the user named in the request if the token is for any user or absent."""
    if caller.user_id is not None:
        return caller.user_id
    try:
        return caller.user(request.query_params.get("user_id"), asked.user)
    except ScopeError as error:
        raise ScopeError(f"{error}, here the field `user` of the request") from error
