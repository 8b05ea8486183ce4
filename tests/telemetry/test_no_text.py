"""Nothing that a caller says is in a span, a metric or an event: texts, questions, answers, users, metadata, errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import NscmaError, ReplyError
from nscma_torch.core.records import Message
from nscma_torch.llm.engines.contract import Reply, Request, Turn
from nscma_torch.llm.engines.lazy import LazyStreamingEngine
from nscma_torch.telemetry.telemetry import Telemetry
from tests.helpers.noting import NotedTasks
from tests.telemetry.test_model_calls import Model

PLANTED = "zanzibar"


def planted(what: str) -> str:
    return f"{PLANTED}-{what}"


class QuotingTasks(NotedTasks):
    """Fails with an error that quotes what was said."""

    def extract(self, units: Any, **more: Any) -> Any:
        if any("fail" in unit.text for unit in units):
            raise ReplyError(f"cannot read {units[0].text!r}")
        return super().extract(units, **more)


def use(memory: Memory) -> None:
    """Call every operation that takes a text or a name, soundly and with bad input."""
    user, agent, run = planted("user"), planted("agent"), planted("run")
    scope = {"user_id": user, "agent_id": agent, "run_id": run}
    said = f"{{{planted('ben')}|lives_in|{planted('oslo')}}}"
    (added,) = memory.add(said, **scope, metadata={planted("key"): planted("value")}, idempotency_key=planted("idem"))
    list(memory.add_many([Message("user", planted("many"), name=planted("name"), session=planted("session"))], **scope))
    memory.add(planted("fail"), user_id=user)
    memory.flush()
    assert memory.stats().jobs_failed, "a job fails with an error that quotes the text"
    assert memory.facts(user_id=user, agent_id=agent), "there is something to tell"
    assert memory.search(planted("oslo"), user_id=user, filters={planted("key"): planted("value")})
    memory.ask(f"Where does {planted('ben')} live?", user_id=user)
    memory.get(added.id, user_id=user)
    memory.window(user_id=user, session=planted("session"))
    memory.timeline(planted("ben"), "lives_in", user_id=user, agent_id=agent)
    memory.update(added.id, planted("new"), user_id=user, metadata={planted("key"): planted("other")})
    memory.add_skill(planted("skill"), trigger=planted("when"), steps=[planted("step")], user_id=user)
    memory.sleep(user_id=user)
    list(memory.export(user_id=user))
    for call in (
        lambda: memory.history(planted("id"), user_id=user),
        lambda: memory.delete(planted("id"), user_id=user),
        lambda: memory.search("", user_id=user),
        lambda: memory.search(planted("query"), user_id=user, strategy=planted("strategy")),
        lambda: memory.derived(planted("kind"), user_id=user),  # type: ignore[arg-type]
        lambda: memory.add(planted("x"), user_id=user, timestamp=planted("time")),
        lambda: memory.facts(user_id=user, relation=planted("relation")),
        lambda: list(memory.import_([planted("line")])),  # type: ignore[call-overload]
    ):
        with suppress(NscmaError):
            call()
    memory.erase(user_id=user, memory_id=added.id)
    memory.reset()


def test_no_text_of_an_operation_is_recorded(open_observed: Callable[..., Memory], recorded: Any) -> None:
    use(open_observed({"worker": {"max_attempts": 1}}, tasks=QuotingTasks()))
    sent = recorded.everything()
    failed = {span.name for span in recorded.spans() if "error.type" in span.attributes}
    assert {"history", "search_memory", "create_memory", "job extract"} <= failed, "errors were recorded, too"
    assert "create_memory" in sent and "gen_ai.client.operation.duration" in sent
    assert PLANTED not in sent


@pytest.mark.usefixtures("recorded")
def test_no_prompt_or_reply_is_recorded(recorded: Any) -> None:
    engine = LazyStreamingEngine(
        "http/llama",
        lambda: Model(Reply(planted("reply"), 3, 2, finished=True), ReplyError(f"it began {planted('bad')}")),
    )
    engine.observer = Telemetry(LlmConfig(engine="http")).models
    asked = Request((Turn("system", planted("system")), Turn("user", planted("user"))), schema={planted("key"): {}})
    engine.generate([asked, asked])
    with pytest.raises(ReplyError):
        list(engine.stream(asked))
    assert len(recorded.spans("chat llama-3")) == 2
    assert PLANTED not in recorded.everything()
