"""Systems with a language engine: every call of it is counted, and it stays open."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.harness.contract import Cost
from eval.harness.metered_engine import MeteredEngine
from eval.systems.catalogue import make_system
from eval.systems.costs import Meter, together
from nscma_torch.llm.engines.contract import Request, Turn
from tests.eval.systems.rig import ASKED, Clerk, conversation, places, shared


@pytest.mark.parametrize("answering", ["controller", "ask"])
def test_a_memory_reads_and_answers_by_the_runs_engine(tmp_path: Path, answering: str) -> None:
    clerk = Clerk()
    config = {"hierarchy": {"enabled": False}, "reading": {"instead_of_model": 1.0}}
    section = {"kind": "nscma", "answering": answering, "config": config}
    with make_system(section, shared(engine=clerk)).open(tmp_path) as session:
        read = session.read(conversation())
        reading = clerk.asked.count("ExtractionOfSchema")
        assert (read.llm_calls, read.tokens_in, read.tokens_out) == (reading, 10 * reading, 2 * reading)
        assert reading == len(conversation()) == len(clerk.asked)
        reply = session.ask("What is my dog called?", options=(), now=ASKED)
    assert reply.text == "Biscuit" and reply.cost.llm_calls == 2 and places(reply)[0] == 1


def test_without_graph_the_engine_is_not_asked_for_facts(tmp_path: Path) -> None:
    clerk = Clerk()
    section = {"kind": "nscma", "graph": False, "config": {"hierarchy": {"enabled": False}}}
    with make_system(section, shared(engine=clerk)).open(tmp_path) as session:
        assert session.read(conversation()).llm_calls == 0


@pytest.mark.parametrize("answering", ["controller", "ask", "reader"])
def test_whoever_answers_keeps_to_the_configured_temperature(tmp_path: Path, answering: str) -> None:
    clerk = Clerk()
    llm = {"engine": "http", "base_url": "http://127.0.0.1:9", "temperature": 0.5}
    run = shared({"llm": llm, "hierarchy": {"enabled": False}}, engine=clerk)
    with make_system({"kind": "nscma", "answering": answering}, run).open(tmp_path) as session:
        session.read(conversation())
        session.ask("What is my dog called?", options=(), now=ASKED)
    assert {temperature for _, temperature in clerk.limits} == {0.5}


def test_a_meter_counts_from_its_beginning() -> None:
    engine = MeteredEngine(Clerk())
    engine.generate([Request((Turn("user", "a\nb\nc"),))])
    meter = Meter(engine)
    with meter.stage("x"):
        engine.generate([Request((Turn("user", "a\nb\nc"),))] * 2)
    cost = meter.cost()
    assert (cost.llm_calls, cost.tokens_in, cost.tokens_out) == (2, 20, 4) and set(cost.seconds) == {"x"}


def test_costs_add_up_by_stage() -> None:
    one = Cost(1, 2, 3, {"a": 1.0, "b": 2.0})
    assert together(one, Cost(10, 20, 30, {"b": 0.5, "c": 4.0})) == Cost(11, 22, 33, {"a": 1.0, "b": 2.5, "c": 4.0})
