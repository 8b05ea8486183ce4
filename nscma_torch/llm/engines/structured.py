"""Request replies in a form: JSON for a pydantic model. An invalid reply is requested once more, and then raises a
clear error.

A form is bounded: every part that a model could continue forever has a maximum, so a small model can't fill its token
limit with one string or list. A JSON object is extracted from the reasoning, code fence or sentences around it. Nothing
is completed or converted to another type.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from nscma_torch.core.errors import EngineError, InvalidInputError, ReplyError
from nscma_torch.core.records import Usage
from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request, Token, Turn
from nscma_torch.llm.engines.json_in_text import json_objects
from nscma_torch.llm.engines.protocol_schemas import shown

_CONTROLS = dict.fromkeys(range(32), " ")  # xgrammar lets them into strings, and JSON does not
_LOWER = {"minimum", "exclusiveMinimum"}
_UPPER = {"maximum", "exclusiveMaximum"}


class ReplyForm(BaseModel):
    """Base class for forms, with exact types, no unknown keys, and no blanks around strings.

    Strings and lists need `max_length`; integers need a lower and an upper limit. Floats aren't allowed, because
    llguidance lets their digits run on within any limits ("0.3333…"); use an integer percentage or an enum of steps.
    Keep `max_length` below 2000 (the maximum in llama.cpp's grammar), and don't combine it with `pattern` (xgrammar,
    which vLLM uses, accepts only one of them). A string that must not be blank has `min_length=1`.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, str_strip_whitespace=True, allow_inf_nan=False)


FormT = TypeVar("FormT", bound=ReplyForm)


@dataclass(frozen=True, slots=True)
class Filled(Generic[FormT]):
    """A filled form, and the reply from which it was read."""

    form: FormT
    reply: Reply


def fill(
    engine: LanguageEngine, form: type[FormT], requests: Sequence[Request]
) -> tuple[list[Filled[FormT] | EngineError], Usage]:
    """Request a form with each request. Return a form or an error for each request, in order, and the total cost.

    Unusable replies are requested once more, all in one batch, with a prompt that says what was wrong. Failed requests
    aren't sent again, because engines retry them themselves. Raises `InvalidInputError` for a form without bounds.
    """
    started = time.perf_counter()
    schema = schema_of(form)
    asked = [replace(request, schema=schema) for request in requests]
    replies: list[Reply] = []
    outcomes = _attempt(engine, form, asked, replies)
    again = {i: _told(asked[i], o.problem) for i, o in enumerate(outcomes) if isinstance(o, _Failure) and o.problem}
    if again:
        for i, outcome in zip(again, _attempt(engine, form, list(again.values()), replies), strict=True):
            outcomes[i] = outcome
    tokens = sum(reply.prompt_tokens + reply.completion_tokens for reply in replies)
    usage = Usage(len(asked) + len(again), tokens, time.perf_counter() - started)
    return [outcome.error if isinstance(outcome, _Failure) else outcome for outcome in outcomes], usage


@cache
def schema_of(form: type[ReplyForm]) -> Mapping[str, Any]:
    """Return the JSON schema of a form. Raises `InvalidInputError` if a part of it is unbounded."""
    schema = form.model_json_schema()
    problems = list(_unbounded(schema, form.__name__, schema.get("$defs", {}), frozenset()))
    if problems:
        raise InvalidInputError(f"this form lets a model write without end: {'; '.join(problems)}")
    return schema


@dataclass(frozen=True, slots=True)
class _Failure:
    """The reason why a form is missing. `problem` is the feedback for the model, or "" if asking again doesn't help."""

    error: EngineError
    problem: str = ""


def _attempt(
    engine: LanguageEngine, form: type[FormT], requests: Sequence[Request], replies: list[Reply]
) -> list[Filled[FormT] | _Failure]:
    """Try each request once, and append all replies, usable or not, to `replies`."""
    outcomes: list[Filled[FormT] | _Failure] = []
    results = engine.generate(requests)
    if len(results) != len(requests):
        raise EngineError(f"the engine was given {len(requests)} requests and returned {len(results)} results")
    for result in results:
        if isinstance(result, Reply):
            replies.append(result)
            outcomes.append(_read(result, form))
        else:
            problem = "it could not be read" if isinstance(result, ReplyError) else ""
            outcomes.append(_Failure(result, problem))
    return outcomes


def _read(reply: Reply, form: type[FormT]) -> Filled[FormT] | _Failure:
    if not reply.finished:
        problem = f"it was cut off at {reply.completion_tokens} tokens; write less"
    elif not reply.text.strip():
        problem = "it was empty"
    else:
        try:
            return Filled(form.model_validate_json(reply.text.translate(_CONTROLS)), reply)
        except ValidationError as error:
            found = _taken_out(reply, form, error)
        if not isinstance(found, str):
            return found
        problem = found
    return _Failure(ReplyError(f"the model's reply cannot be used: {problem}; it began {shown(reply.text)}"), problem)


def _taken_out(reply: Reply, form: type[FormT], error: ValidationError) -> Filled[FormT] | str:
    """Return the form from a JSON object within the reply, or a description of the problem. Several different objects
    are invalid.
    """
    found: list[Filled[FormT]] = []
    for start, end in json_objects(reply.text):
        try:
            one = form.model_validate_json(reply.text[start:end].translate(_CONTROLS))
        except ValidationError as inner:
            error = inner
        else:
            found.append(Filled(one, _part(reply, start, end)))
            if one != found[0].form:
                return "it holds several different JSON objects"
    return found[0] if found else _explained(error)


def _part(reply: Reply, start: int, end: int) -> Reply:
    """Return only the part of the reply from `start` to `end`."""
    tokens, place = [], 0
    for token in reply.tokens:
        text = token.text[max(0, start - place) : max(0, end - place)]
        place += len(token.text)
        tokens += [Token(text, token.logprob)] if text else []
    return replace(reply, text=reply.text[start:end], tokens=tuple(tokens))


def _explained(error: ValidationError) -> str:
    """Describe the first problems without quoting the reply, because its text must not come back as an instruction."""
    problems = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False)[:3]:
        if problem["type"] == "json_invalid":
            return "it is not JSON, or not JSON alone"
        unknown = problem["type"] == "extra_forbidden"
        place = problem["loc"][:-1] if unknown else problem["loc"]  # the last is the key that the model made up
        where = ".".join(str(part) for part in place) or "the object"
        problems.append(f"{where}: {problem['type'].replace('_', ' ')}")
    return ", ".join(problems)


def _told(request: Request, problem: str) -> Request:
    """Append a remark to the request's last turn, since not every chat template accepts two turns from one speaker."""
    remark = f"Your last reply could not be used: {problem}. Reply again with nothing but the JSON object."
    *before, last = request.turns
    if last.role != "user":
        return replace(request, turns=(*request.turns, Turn("user", remark)))
    return replace(request, turns=(*before, Turn("user", f"{last.content}\n\n{remark}")))


def _unbounded(
    node: Mapping[str, Any], where: str, definitions: Mapping[str, Any], inside: frozenset[str]
) -> Iterator[str]:
    """Yield the parts of a JSON schema that have no maximum. `inside` are the definitions that contain this node."""
    if "$ref" in node:
        name = node["$ref"].removeprefix("#/$defs/")
        if name in inside:
            yield f"{where} may contain itself"
        else:
            yield from _unbounded(definitions[name], where, definitions, inside | {name})
        return
    branches = [branch for key in ("anyOf", "oneOf", "allOf") for branch in node.get(key, ())]
    for branch in branches:
        yield from _unbounded(branch, where, definitions, inside)
    if branches or "enum" in node or "const" in node:
        return
    match node.get("type"):
        case "string" if "maxLength" not in node:
            yield f"{where} needs max_length"
        case "integer" if not (node.keys() & _LOWER and node.keys() & _UPPER):
            yield f"{where} needs a lower and an upper limit (ge, le)"
        case "number":
            yield f"{where} may have digits without end; take an integer percentage, or an enum of steps"
        case "array":
            if "maxItems" not in node:
                yield f"{where} needs max_length"
            for item in (*node.get("prefixItems", ()), node.get("items")):
                if isinstance(item, Mapping):
                    yield from _unbounded(item, f"{where}[]", definitions, inside)
        case "object":
            if node.get("additionalProperties") is not False:
                yield f"{where} takes any key; derive it from ReplyForm"
            for name, inner in node.get("properties", {}).items():
                yield from _unbounded(inner, f"{where}.{name}", definitions, inside)
        case "string" | "integer" | "boolean" | "null":
            return
        case _:
            yield f"{where} may be anything"
