"""Who may see what: hierarchies by user and agent, runs, times, and messages that stay out."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import ScopeError
from nscma_torch.core.records import Message
from nscma_torch.episodic.index.unit_schema import units
from tests.hierarchy.lively import (
    LIVELY,
    NOW,
    Open,
    said,
    summaries,
    text_of,
    word_of,
)


def test_users_and_agents_have_hierarchies_of_their_own(open_lively: Open, assert_whole: Any) -> None:
    together, alone = open_lively("together.db"), open_lively("alone.db")
    for memory, scopes in ((together, (("ada", None), ("ada", "cook"), ("bob", None))), (alone, (("ada", "cook"),))):
        for user, agent in scopes:
            first = {"ada": 0, "bob": 100}[user] + 50 * (agent is not None)
            list(memory.add_many(said(range(first, first + 20)), user_id=user, agent_id=agent, now=NOW))
        memory.flush()
    trees = {}
    for user, agent in (("ada", None), ("ada", "cook"), ("bob", None)):
        assert_whole(together, user, agent)
        trees[user, agent] = together.tree(user_id=user, agent_id=agent)
        assert sum(not node.level for node in trees[user, agent]) == 20
    ids = [{node.id for node in nodes} for nodes in trees.values()]
    assert not ids[0] & ids[1] and not ids[0] & ids[2]
    assert [n.text for n in trees["ada", "cook"]] == [n.text for n in alone.tree(user_id="ada", agent_id="cook")]
    assert together.tree(user_id="bob", agent_id="cook") == together.tree(user_id="nobody") == []

    def found(**scope: Any) -> set[str]:
        return {h.text for h in together.search("sister Ana", kinds=("summary",), top_k=999, **scope)}

    texts = {key: {n.text for n in nodes if n.level} for key, nodes in trees.items()}
    assert found(user_id="ada", agent_id="cook") <= texts["ada", "cook"]
    assert found(user_id="bob") <= texts["bob", None]
    assert found(user_id="ada") & texts["ada", None] and found(user_id="ada") & texts["ada", "cook"]
    before = together.digest(user_id="bob"), together.tree(user_id="ada", agent_id="cook")
    together.delete(together.log(user_id="ada")[0].id, user_id="ada")
    together.flush()
    assert (together.digest(user_id="bob"), together.tree(user_id="ada", agent_id="cook")) == before


def test_a_run_narrows_to_what_belongs_to_it(open_lively: Open) -> None:
    """A summary is of many runs: a search within one must not show what others said."""
    memory = open_lively()
    for run in ("r1", "r2"):
        first = 0 if run == "r1" else 50
        list(memory.add_many(said(range(first, first + 20)), user_id="ada", run_id=run))
    memory.flush()
    other = {e.text for e in memory.log(user_id="ada", run_id="r2")}
    for hit in memory.search("sister Ana", user_id="ada", run_id="r1", kinds=("summary", "chunk"), top_k=999):
        assert not set(hit.text.split("\n")) & other
    assert memory.search("sister Ana", user_id="ada", kinds=("summary",))


def test_what_is_deferred_waits_until_it_is_recalled(open_memory: Open) -> None:
    memory = open_memory(config={"hierarchy": LIVELY})
    list(memory.add_many(said(range(20)), user_id="ada"))
    put_off = memory.add("haha ok", user_id="ada", now=NOW)[0]
    memory.flush()
    assert put_off.decision is not None and not put_off.decision.write

    def leaves() -> set[str]:
        return {i for node in memory.tree(user_id="ada") for i in node.episode_ids}

    assert leaves() == {e.id for e in memory.log(user_id="ada", deferred=False)}
    assert memory.search("haha ok", user_id="ada", top_k=1)[0].id == put_off.id
    assert put_off.id not in leaves()
    memory.flush()
    assert put_off.id in leaves()


def test_what_was_added_without_inference_never_goes_in(open_lively: Open) -> None:
    memory = open_lively()
    plain = memory.add(text_of(0), user_id="ada", infer=False)[0]
    list(memory.add_many(said(range(1, 15)), user_id="ada"))
    memory.search(text_of(0), user_id="ada", top_k=1)
    memory.flush()
    memory.delete(plain.id, user_id="ada")
    memory.restore(plain.id, user_id="ada")
    memory.update(plain.id, text_of(90), user_id="ada")
    memory.rebuild(user_id="ada")
    memory.flush()
    assert plain.id not in {i for node in memory.tree(user_id="ada") for i in node.episode_ids}
    assert not any(word_of(0) in text or word_of(90) in text for text in summaries(memory))


def test_as_of_and_expiry_reach_the_summaries(open_lively: Open) -> None:
    """At no time does a summary say what was said later, or what has expired."""
    memory = open_lively()
    rng = random.Random(4)
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=500)
    times: dict[str, tuple[datetime, datetime | None]] = {}
    for i in range(45):
        at = start + timedelta(days=rng.randrange(400))
        until = start + timedelta(days=600 + rng.randrange(400)) if rng.random() < 0.1 else None
        memory.add(Message("user", text_of(i), at), user_id="ada", expiration_date=until)
        times[text_of(i)] = (at, until)
        if i in (20, 35):
            memory.flush()
    memory.flush()
    shown = 0
    for day in range(0, 1050, 50):
        moment = start + timedelta(days=day)
        for hit in memory.search("sister Ana", user_id="ada", kinds=("summary",), top_k=999, as_of=moment):
            shown += 1
            for line in hit.text.split("\n"):
                at, until = times[line]
                assert at <= moment, "a summary tells what was said later"
                assert until is None, "a summary tells what is to expire"
    assert shown > 30
    with memory.components.database.read(ALL_USERS) as connection:
        rows = connection.execute(select(units.c.expires_at).where(units.c.kind == "summary")).scalars().all()
    assert rows and not any(rows)


def test_an_expired_message_is_not_in_the_tree(open_lively: Open) -> None:
    """`expiration_date`: from then on it is in no read."""
    memory = open_lively()
    past = datetime.now(UTC) - timedelta(hours=1)
    list(memory.add_many(said(range(12)), user_id="ada"))
    memory.add(Message("user", text_of(15), NOW), user_id="ada", expiration_date=past)
    memory.flush()
    assert not any(word_of(15) in node.text for node in memory.tree(user_id="ada"))


@pytest.mark.parametrize("agent", ["", " ", "a\nb"])
def test_a_malformed_agent_is_refused(agent: str, open_lively: Open) -> None:
    memory = open_lively()
    for call in (memory.tree, memory.rebuild):
        with pytest.raises(ScopeError, match="agent_id"):
            call(user_id="ada", agent_id=agent)
