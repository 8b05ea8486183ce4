"""An exchange: what is recalled into the newest user turn, what stays, and what is stored when it ends."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import UpstreamConfig
from nscma_torch.core.errors import StoreBusyError
from nscma_torch.server.proxy.block_text import CLOSE, OPEN
from nscma_torch.server.proxy.chat_request import UserTurn
from nscma_torch.server.proxy.keeping import ExchangeWriter
from nscma_torch.server.proxy.recalling import RecalledBlock, TurnRecall
from nscma_torch.server.work import REQUEST_INFO
from tests.helpers.fake_chat_server import Asked, Said, completion
from tests.server.proxy.conftest import Proxied, user

MakeProxied = Callable[..., Proxied]
FACT = "My sister Marta works at the harbour in Porto."
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Porto"}'}}
WANTS_TOOL = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "rain"}


def block_of(text: str) -> str:
    assert text.count(OPEN) == text.count(CLOSE) == 1
    return text[text.index(OPEN) :]


def test_what_was_said_comes_back_in_the_newest_turn_alone(proxied: MakeProxied) -> None:
    proxy = proxied()
    first = proxy.chat(user(FACT))
    assert first.headers["x-nscma-memory"] == "nothing" and proxy.sent() == [user(FACT)]
    earlier = [{"role": "system", "content": "Be brief."}, user("Hello!"), {"role": "assistant", "content": "Hi."}]
    got = proxy.chat(*earlier, user("Where does Marta work?"))
    *before, newest = proxy.sent()
    assert before == earlier and newest["content"].startswith("Where does Marta work?\n\n" + OPEN)
    assert "Marta works at the harbour in Porto." in block_of(newest["content"])
    told = {name: value for name, value in got.headers.items() if name.startswith("x-nscma")}
    (said,) = [one for one in proxy.memory.get_all(user_id="default") if one.text == FACT]
    assert told["x-nscma-memory"] == "recalled" and said.id in told["x-nscma-recalled"].split(",")
    assert 0 < int(told["x-nscma-tokens"]) <= 1024 and float(told["x-nscma-seconds"]) > 0
    assert got.json()["choices"][0]["message"]["content"] == "I read 4 messages."


def test_facts_are_those_that_stand_now(proxied: MakeProxied, open_memory: Any) -> None:
    """A passage may be out of date; the fact beside it is not."""
    proxy = proxied()
    proxy.memory.add("I live in Leeds.", user_id="default", timestamp="2026-01-06")
    proxy.memory.add("I moved from Leeds to Porto.", user_id="default", timestamp="2026-03-05")
    proxy.memory.flush()
    facts = proxy.memory.facts(user_id="default")
    proxy.chat(user("Do you know Leeds?"))
    assert [fact.object for fact in facts] == ["Porto"]
    assert '"fact": "user lives in Porto"' in block_of(proxy.sent()[-1]["content"])


def test_an_exchange_is_stored_once_without_its_block(proxied: MakeProxied) -> None:
    proxy = proxied()
    proxy.memory.add(FACT, user_id="default")
    before = proxy.stored()
    for _ in range(2):  # a client that tries again
        proxy.chat(user("Tell me of my sister Marta, please. I saw her on Monday."))
        assert OPEN in proxy.sent()[-1]["content"]
    asked, reply = proxy.stored()[len(before) :]
    assert asked == ("user", "Tell me of my sister Marta, please. I saw her on Monday.")
    assert reply == ("assistant", "I read 1 messages.")
    kept = {one.role: one for one in proxy.memory.get_all(user_id="default", where=lambda one: one.text != FACT)}
    assert kept["user"].session == kept["assistant"].session and kept["assistant"].metadata["evidence"]


def test_two_equal_turns_of_a_conversation_are_two(proxied: MakeProxied) -> None:
    proxy = proxied()
    said = [user("ok")]
    for _ in range(2):
        reply = proxy.chat(*said).json()["choices"][0]["message"]
        said += [reply, user("ok")]
    assert [text for role, text in proxy.stored() if role == "user"] == ["ok", "ok"]


@pytest.mark.parametrize("restarted", [False, True])
def test_turns_of_tools_get_the_same_block(restarted: bool, proxied: MakeProxied) -> None:
    """Byte for byte, though the memory holds more by then; also where the process does not remember it."""
    calls = [completion(None, tool_calls=[CALL]), completion(None, tool_calls=[CALL]), completion("It rains there.")]
    proxy = proxied(lambda _: calls[len(proxy.upstream.asked) - 1])
    proxy.memory.add(FACT, user_id="default")
    proxy.memory.add("I live in Leeds.", user_id="default")
    proxy.memory.flush()
    turn = user("I am off to see Marta in Leeds. What is the weather?")
    messages = [turn]
    proxy.chat(*messages)
    sent = [proxy.sent()[0]]
    assert FACT in sent[0]["content"]
    for _ in range(2):
        proxy.memory.add("Marta says that the harbour of Leeds is closed. I live in Porto now.", user_id="default")
        proxy.memory.flush()
        if restarted:
            exchanges_of(proxy).forget()
        messages += [WANTS_TOOL, RESULT]
        got = proxy.chat(*messages)
        sent.append(proxy.sent()[0])
        assert proxy.sent()[1:] == messages[1:] and got.headers["x-nscma-memory"] == "recalled"
    assert sent[0] == sent[1] == sent[2]
    exchange = [one for one in proxy.stored() if one[1] in (turn["content"], "It rains there.")]
    assert exchange == [("user", turn["content"]), ("assistant", "It rains there.")]
    assert not any("weather(" in text for _, text in proxy.stored())


def test_turns_of_tools_get_the_same_block_where_nothing_is_stored(proxied: MakeProxied) -> None:
    proxy = proxied()
    proxy.memory.add(FACT, user_id="default")
    token = proxy.served.token("default", "read")
    proxy.chat(user("Where is Marta?"), headers=token)
    before = proxy.sent()[0]
    proxy.memory.add("Where is Marta? She is in Leeds.", user_id="default")
    proxy.chat(user("Where is Marta?"), WANTS_TOOL, RESULT, headers=token)
    assert proxy.sent()[0] == before and FACT in before["content"]


FRIENDS = ("Marta has a boat in Porto.", "Otto has a kiln in Leeds.", "Ida has a bakery in Oslo.")


def talked(proxy: Proxied, *turns: str) -> list[str]:
    """Hold a conversation with calls of tools in its first turn; gives what the model's server was sent."""
    said: list[dict[str, Any]] = []
    for number, turn in enumerate(turns):
        said.append(user(turn))
        for _ in range(3 if number == 0 else 1):
            proxy.chat(*said)
            if number == 0:
                said += [WANTS_TOOL, RESULT]
        said.append({"role": "assistant", "content": "Noted."})
    return [json.dumps(asked.json["messages"])[:-1] for asked in proxy.upstream.asked]


@pytest.mark.parametrize("restarted", [False, True])
def test_each_request_of_a_conversation_begins_as_the_one_before(restarted: bool, proxied: MakeProxied) -> None:
    """So that the model server's prefix cache holds through a loop of tools and the turns after it."""
    proxy = proxied()
    for text in FRIENDS:
        proxy.memory.add(text, user_id="default")
    turns = ("Where is Marta's boat?", "And what has Otto in Leeds?", "What has Ida in Oslo?")
    if restarted:
        talked(proxy, *turns[:2])
        exchanges_of(proxy).forget()
        proxy.upstream.asked.clear()
    sent = talked(proxy, *turns)
    assert all(after.startswith(before) for before, after in pairwise(sent)), "nothing sent before changes"
    assert sent[-1].count(OPEN) >= 1 and all(sent[-1].count(text) == 1 for text in FRIENDS), "nothing is shown twice"


def test_a_block_of_an_earlier_turn_loses_what_is_deleted(proxied: MakeProxied) -> None:
    proxy = proxied()
    (secret,) = proxy.memory.add("Marta's number is 5550123.", user_id="default")
    proxy.memory.add("Marta has a boat.", user_id="default")
    said = [user("Call Marta, please."), {"role": "assistant", "content": "I will."}]
    proxy.chat(said[0])
    assert "5550123" in proxy.sent()[0]["content"]
    proxy.memory.delete(secret.id, user_id="default")
    proxy.chat(*said, user("Thanks."))
    assert "5550123" not in json.dumps(proxy.sent()) and "boat" in proxy.sent()[0]["content"]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (
            "### Task:\nSuggest 3-5 follow-ups.\n### Output:\nJSON\n### Chat History:\n"
            "<chat_history>\nUSER: I live in Faro.\n</chat_history>",
            {},
        ),
        ("Write the title of this conversation.\n\nUser: I live in Faro.\nAI: Nice.", {}),
        ("USER: I live in Faro.", {"metadata": {"task": "title_generation", "chat_id": "1"}}),
    ],
)
def test_a_chat_clients_own_requests_are_not_the_users_words(
    text: str, more: dict[str, Any], proxied: MakeProxied
) -> None:
    proxy = proxied()
    proxy.memory.add(FACT, user_id="default")
    proxy.chat(user("Where does Marta work?"))
    before = proxy.stored()
    got = proxy.chat(user("Where does Marta work?"), {"role": "assistant", "content": "There."}, user(text), **more)
    assert proxy.sent()[-1] == user(text) and FACT in proxy.sent()[0]["content"]
    assert (got.headers["x-nscma-memory"], got.headers["x-nscma-stores"]) == ("off", "no") and proxy.stored() == before


def test_what_the_conversation_says_is_not_recalled(proxied: MakeProxied) -> None:
    proxy = proxied()
    proxy.memory.add(FACT, user_id="default")
    proxy.memory.add("Marta has a boat.", user_id="default")
    proxy.chat(user(f"Listen: {FACT}"), {"role": "assistant", "content": "Yes?"}, user("Where does Marta work?"))
    assert "Marta has a boat." in proxy.sent()[-1]["content"] and FACT not in proxy.sent()[-1]["content"]


def exchanges_of(proxy: Proxied) -> Any:
    """The exchanges that a proxy keeps; erasing reaches them by this registry."""
    from nscma_torch.core import erasable_cache
    from nscma_torch.server.proxy.exchanges import Exchanges

    (found,) = [
        one for one in erasable_cache._keepers if isinstance(one, Exchanges) and one._recalling._memory is proxy.memory
    ]
    return found


def test_what_is_erased_leaves_the_exchange(proxied: MakeProxied) -> None:
    proxy = proxied(lambda _: completion(None, tool_calls=[CALL]))
    (secret,) = proxy.memory.add("Marta's number is 5550123.", user_id="default")
    turn = user("Call Marta, please.")
    proxy.chat(turn)
    assert "5550123" in proxy.sent()[0]["content"]
    proxy.memory.erase(user_id="default", memory_id=secret.id)
    proxy.chat(turn, WANTS_TOOL, RESULT)
    assert "5550123" not in proxy.upstream.asked[-1].body.decode()


def test_turns_of_tools_have_no_block_where_their_turn_had_none(proxied: MakeProxied, monkeypatch: Any) -> None:
    proxy = proxied(lambda _: completion(None, tool_calls=[CALL]))
    proxy.memory.add(FACT, user_id="default")
    with monkeypatch.context() as patch:
        patch.setattr(TurnRecall, "_chosen", failing(StoreBusyError("held")))
        proxy.chat(user("Where is Marta?"))
    assert proxy.stored()[1:] == [("user", "Where is Marta?")]
    proxy.chat(user("Where is Marta?"), WANTS_TOOL, RESULT)
    assert proxy.sent()[0] == user("Where is Marta?")
    proxy.chat(user("Where is Marta?"))  # asked again
    assert FACT in proxy.sent()[0]["content"]


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def test_it_is_the_same_block_for_the_same_memory(proxied: MakeProxied) -> None:
    proxy = proxied()
    for i in range(20):
        proxy.memory.add(f"Marta's boat number {i} lies in Porto.", user_id="default")
    token = proxy.served.token("default", "read")
    blocks = set()
    for _ in range(3):
        proxy.chat(user("Which boats does Marta have?"), headers=token)
        blocks.add(proxy.sent()[-1]["content"])
    assert len(blocks) == 1 and blocks.pop().count("boat number") == 6


@pytest.mark.parametrize("budget", [1, 150, 180, 1024])
def test_the_budget(budget: int, proxied: MakeProxied) -> None:
    """Passages are whole or left out."""
    proxy = proxied(upstream={"tokens": budget})
    texts = [f"Marta's boat number {i} lies in {town}." for i, town in enumerate(["Porto", "Leeds", "Oslo", "Rome"])]
    for text in texts:
        proxy.memory.add(text, user_id="default")
    got = proxy.chat(user("Which boats does Marta have?"))
    content = proxy.sent()[-1]["content"]
    shown = sum(text in content for text in texts)
    assert content.count("boat number") == shown and int(got.headers.get("x-nscma-tokens", 0)) <= budget
    assert (shown == 0, shown == 4) == (budget == 1, budget == 1024)


def test_replies_that_repeat_and_questions_are_not_recalled(proxied: MakeProxied) -> None:
    proxy = proxied(lambda _: completion("Your sister Marta works at the harbour in Porto."))
    proxy.memory.add(FACT, user_id="default")
    for _ in range(3):
        proxy.chat(user("Where does my sister Marta work?"), user("Well?"), user("Where does Marta work?"))
        proxy.chat(user("Marta?"))
    content = block_of(proxy.sent()[-1]["content"])
    assert content.count("harbour") == 1 and '"who": "assistant"' not in content


def test_recall_counts_as_short_and_storing_by_what_is_stored(proxied: MakeProxied, monkeypatch: Any) -> None:
    """A long conversation goes on with each of its requests, and neither looks it up nor stores it."""
    proxy, sizes = proxied(), []
    only, add = TurnRecall.only, Memory.add

    def noted(call: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*arguments: Any, **more: Any) -> Any:
            asked = REQUEST_INFO.get()
            assert asked is not None
            sizes.append((asked.size, asked.user))
            return call(*arguments, **more)

        return noting

    monkeypatch.setattr(TurnRecall, "only", noted(only))
    monkeypatch.setattr(Memory, "add", noted(add))
    proxy.chat(user("x" * 100_000), {"role": "assistant", "content": "Yes?"}, user("Hi Marta."), user="ana")
    assert sizes[0] == (0, "ana") and len(sizes) == 3
    assert all(0 < size < 100 and who == "ana" for size, who in sizes[1:])


def test_an_erased_messages_pending_recall_is_never_counted(proxied: MakeProxied) -> None:
    failing = [True]

    def answer(_: Asked) -> Said:
        return replace(completion("Yes."), status=500 if failing else 200)

    proxy = proxied(answer)
    (fact,) = proxy.memory.add(FACT, user_id="default")
    proxy.chat(user("Where does Marta work?"))
    assert proxy.stored() == [("user", FACT)], "nothing of a failed exchange is stored, so its recall is pending"
    proxy.memory.erase(user_id="default")
    failing.clear()
    (again,) = proxy.memory.add(FACT, user_id="default")
    proxy.chat(user("And Marta's street?"))
    proxy.memory.flush()
    assert again.id == fact.id
    assert [one.accesses for one in proxy.memory.log(user_id="default") if one.id == fact.id] == [1]


def test_what_waits_to_be_stored_holds_up_no_answer_and_is_not_lost(
    open_memory: Callable[..., Memory], light_surprise: Any, monkeypatch: Any
) -> None:
    settings = UpstreamConfig(commit=0.05)
    memory = open_memory(surprise_model=light_surprise)
    keeping = ExchangeWriter(memory, settings)
    go, add = threading.Event(), Memory.add

    def slow(*arguments: Any, **more: Any) -> Any:
        assert go.wait(30)
        return add(*arguments, **more)

    async def keep_many() -> None:
        turns = [UserTurn(f"Boat {i}.", f"Boat {i}.", None, "", f"{i}", "chat") for i in range(50)]
        at = datetime.now(UTC)
        await asyncio.gather(*(keeping.keep("ana", turn, RecalledBlock(turn.digest, at), "") for turn in turns))

    monkeypatch.setattr(Memory, "add", slow)
    asyncio.run(keep_many())
    assert memory.get_all(user_id="ana") == []
    go.set()
    keeping.close()
    assert len(memory.get_all(user_id="ana", limit=None)) == 50
