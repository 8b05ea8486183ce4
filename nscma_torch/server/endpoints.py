"""Endpoints for the operations of `Memory`, generated from the table `OPERATIONS`. Streaming endpoints are written by
hand.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from nscma_torch.api.memory import Memory
from nscma_torch.api.operations import GROUPS, OPERATIONS, Operation
from nscma_torch.core.errors import NotFoundError
from nscma_torch.core.skill import FoundSkill
from nscma_torch.ingest.replay import Redecision
from nscma_torch.server.access import Caller, Principal, Reader, needs
from nscma_torch.server.app_context import AppContext, Context
from nscma_torch.server.parameters import parameters_of
from nscma_torch.server.results import RelationOut, result_of

_LATE = {"FoundSkill": FoundSkill, "Redecision": Redecision}  # imported by `Memory` for type checkers alone
Endpoint = Callable[..., Any]


def route(router: APIRouter, name: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
    """Decorate the endpoint for an operation, so that it requires the operation's right."""
    operation = OPERATIONS[name]
    options |= {"operation_id": name, "name": name, "dependencies": [needs(name)]}
    return router.api_route(operation.path, methods=[operation.verb], **options)


def _add(router: APIRouter, operation: Operation) -> None:
    method = getattr(Memory, operation.name)
    signature = inspect.signature(method, locals=_LATE, eval_str=True)
    places = re.findall(r"{(\w+)}", operation.path)
    params, in_body = parameters_of(operation, signature, places)
    result = result_of(signature.return_annotation, store=operation.store)

    async def endpoint(caller: Principal, context: AppContext, asked: Any = None, **ids: str) -> Response:
        if operation.store:
            caller.any_user()
            arguments = {} if asked is None else asked.model_dump(include={"user_id"})
        else:
            arguments = asked.scope(caller)
        if operation.unless_dry_run and not asked.dry_run:
            caller.need(operation.unless_dry_run)
        if "progress" in signature.parameters:
            arguments["progress"] = context.go_on

        def answered() -> Any:
            own = {} if asked is None else asked.arguments()
            found = getattr(context.memory, operation.name)(**ids, **arguments, **own)
            if found is None and operation.missing:
                raise NotFoundError(
                    f"there is no {operation.missing} with id {ids['memory_id']!r}; GET /v1/log lists the ids"
                )
            return found if result is None else result.fields(found)

        pool = context.pool(operation.id)
        if result is not None:
            return await pool.json(result.kind, answered)
        await pool.run(answered)
        return Response(status_code=204)

    kinds: dict[str, Any] = {name: signature.parameters[name].annotation for name in places}
    if params is not None:
        kinds["asked"] = params if in_body else Annotated[params, Query()]
    kinds |= {"caller": Caller, "context": Context}
    keyword = inspect.Parameter.KEYWORD_ONLY
    endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, keyword, annotation=kind) for name, kind in kinds.items()]
    )
    told = (inspect.getdoc(method) or "").partition("\n\n")[0]
    endpoint.__doc__ = f"{told} Over HTTP, None is a 404." if operation.missing else told
    answer: dict[str, Any] = {"response_model": None, "response_class": Response, "status_code": 204}
    route(router, operation.id, **(answer if result is None else {"response_model": result.kind}))(endpoint)


def _routers() -> Iterator[APIRouter]:
    """Yield one router for each group of operations."""
    for tag, operations in GROUPS.items():
        router = APIRouter(tags=[tag])
        for operation in operations:
            if operation.endpoint and not operation.streamed:
                _add(router, operation)
        yield router


ROUTERS = tuple(_routers())
relations_router = APIRouter(prefix="/v1", tags=["facts"])


@relations_router.get("/relations", operation_id="relations", response_model=list[RelationOut])
async def relations(_: Reader, context: Context) -> Response:
    """Return the relations of facts, as in the relation file."""
    schema = context.memory.components.relations
    return await context.work.json(list[RelationOut], lambda: [*schema.relations.values()])
