"""Drills: true replies over what a prompt shows, labels on them alone; and fresh weights with which a Llama copies."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from nscma_torch.llm.prompts.acting import Act, SearchAct
from train.controller.controller_base import tiny_llama, tokenizer_of
from train.controller.controller_dialogues import Wording, made_up
from train.controller.controller_drills import Drills, drill
from train.controller.controller_examples import IGNORED
from train.controller.controller_traces import Trace

ROOT = Path(__file__).parents[2]
WORDING = Wording.load(ROOT / "configs/train/controller_dialogues.toml")
SHAPE = {
    "hidden_size": 128,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "initializer_range": 0.05,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
}


def traces(count: int = 60) -> list[Trace]:
    """Drills of one question, as traces."""
    rng = random.Random(1)
    made = []
    for _ in range(count):
        system, user, assistant = drill(rng, WORDING, "train", rng.randint(1, 8))[:3]
        words = tuple({made_up(rng, "train") for _ in range(20)})
        made.append(Trace("Act", "in context", (system, user), json.loads(assistant.content), words))
    return made


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """One in which a syllable is a token."""
    torch.set_num_threads(1)
    return tokenizer_of(traces(), 900, 1024)


def test_replies_of_a_drill_are_what_its_prompt_shows() -> None:
    rng, seen = random.Random(0), set()
    for _ in range(80):
        system, *turns = drill(rng, WORDING, "train", 4)
        assert system.role == "system" and [turn.role for turn in turns] == ["user", "assistant"] * (len(turns) // 2)
        head, *rest = turns[0].content.split("\n")
        if head == "Messages:":
            texts = [json.loads(line) for line in rest[: rest.index("")]]
        else:
            texts = [item["text"] for item in json.loads(rest[0])["earlier_turns"]]
        assert 1 <= len(texts) <= 4
        for asked, reply in zip(turns[::2], turns[1::2], strict=True):
            given = json.loads(reply.content)
            if "short_answer" in given:
                assert any(given["short_answer"] in text for text in texts)
                seen.add("short_answer")
                continue
            if "contain_answer" in given:
                seen.add(given["contain_answer"])
                continue
            said = json.loads(asked.content.partition("says now: ")[2].partition("\n")[0])
            act = (SearchAct if said.endswith("?") else Act).model_validate_json(reply.content).act
            seen.add(act.action)
            if act.action == "memorize":
                assert act.content in said and act.content not in texts
            if act.action == "retrieve_semantic":
                assert act.entity in (*said.replace("'", " ").replace("?", " ").split(), "user")
    actions = {"answer", "memorize", "retrieve_semantic", "retrieve_episodic"}
    assert seen == {"short_answer", True, False, *actions}


def test_only_the_first_turn_of_a_drill_shows_its_facts() -> None:
    rng = random.Random(3)
    for _ in range(40):
        _, first, *rest = drill(rng, WORDING, "train", 4)
        assert first.content.startswith(("DATA (", "Messages:"))
        assert not any("DATA (" in turn.content or "Messages:" in turn.content for turn in rest)


def test_only_replies_and_repetitions_have_labels(tokenizer: Any) -> None:
    drills = Drills(tokenizer, WORDING, "train")
    turns = drill(random.Random(2), WORDING, "train", 3)
    ids, labels = drills.conversation(turns)
    assert len(ids) == len(labels)
    learned = tokenizer.decode([label for label in labels if label != IGNORED])
    assert learned == "".join(turn.content + "<|end|>" for turn in turns if turn.role == "assistant")
    again, marked = drills.copies(400, "a", 5)
    assert all(torch.equal(one, other) for one, other in zip((again, marked), drills.copies(400, "a", 5), strict=True))
    for row, own in zip(again, marked, strict=True):
        start = int((own != IGNORED).nonzero()[0])
        assert set(own[own != IGNORED].tolist()) <= set(row[:start].tolist())


def test_plain_facts_are_asked_for_by_name(tokenizer: Any) -> None:
    """Every label is part of an answer, every answer stands in a statement; kinds are told of several people."""
    drills = Drills(tokenizer, WORDING, "train")
    several = 0
    for seed in "abcdef":
        ids, labels = drills.plain(600, seed, 8)
        for row, own in zip(ids, labels, strict=True):
            text = tokenizer.decode(row[row != tokenizer.pad_token_id])
            told, *asked = text.rstrip("\n").split("\n")
            answers = [line.partition("? ")[2] for line in asked]
            assert tokenizer.decode(own[own != IGNORED]) == "".join(answer + "\n" for answer in answers)
            assert all(answer and answer in told for answer in answers) and len(set(answers)) == len(answers)
            several += len({line.split(" ")[0] for line in asked}) < len(asked)
    assert several > 5


def test_drills_are_the_same_for_the_same_seed(tokenizer: Any) -> None:
    drills = Drills(tokenizer, WORDING, "train")
    ids, labels = drills.batch(2000, "a", 4)
    assert ids.shape == labels.shape and ids.shape[0] > 1
    assert torch.equal(ids, drills.batch(2000, "a", 4)[0])
    other = drills.batch(2000, "b", 4)[0]
    assert other.shape != ids.shape or not torch.equal(other, ids)


def test_fresh_weights_look_back_and_go_on_as_before(tokenizer: Any) -> None:
    """Of the tokens said twice, fresh weights give the right next one far more often than chance, 1 of 900."""
    model = tiny_llama(tokenizer, SHAPE, 1024, seed=0)
    said = torch.randperm(len(tokenizer), generator=torch.Generator().manual_seed(0))[:20]
    ids = torch.cat([said, said])[None]
    model.set_attn_implementation("eager")
    with torch.no_grad():
        out = model(input_ids=ids, output_attentions=True)
    late = torch.arange(25, 40)
    for head in range(4):
        assert out.attentions[0][0, head, late, late - head - 1].min() > 0.9
    assert out.attentions[2][0, 0, late, late - 19].mean() > 0.2
    assert (out.logits[0, 20:-1].argmax(-1) == ids[0, 21:]).float().mean() > 0.05
