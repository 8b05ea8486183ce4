"""Controller training: traces in the controller's own format, labels on replies alone, adapters that engines load."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

from eval.harness.tiny_llama import build
from nscma_torch.core.config import ControllerConfig, load_config
from nscma_torch.core.errors import ConfigError, InvalidInputError
from nscma_torch.llm.engines.contract import Reply, Request
from nscma_torch.llm.engines.local import TransformersEngine
from nscma_torch.llm.engines.structured import schema_of
from nscma_torch.llm.loading import load_causal_lm
from nscma_torch.llm.prompts.acting import Act, Conclusion, Desk, DraftForm, SearchAct, conclusion_turns
from nscma_torch.llm.prompts.answering import ContainedForm, ShortAnswerForm
from train.controller.controller_base import tokenizer_of
from train.controller.controller_dialogues import Fact, Said, Split, Wording, made_up
from train.controller.controller_examples import IGNORED, Examples, spelled
from train.controller.controller_sft import ReplyLoss, run
from train.controller.controller_traces import Oracle, Trace, traces_of

ROOT = Path(__file__).parents[2]
WORDING = ROOT / "configs/train/controller_dialogues.toml"
FORMS = {form.__name__: form for form in (DraftForm, Act, SearchAct, ContainedForm, ShortAnswerForm, Conclusion)}


def traced(folder: Path, split: Split = "train", dialogues: int = 5, **keys: Any) -> list[Trace]:
    settings = ControllerConfig(active_turns=4, summary_batch=8, **keys)
    return list(traces_of(folder / "traces.db", settings, Wording.load(WORDING), split, dialogues=dialogues, seed=5))


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Trace]:
    torch.set_num_threads(1)
    return traced(tmp_path_factory.mktemp("traces"))


def shown_in(trace: Trace) -> dict[str, Any]:
    """Return the data that a prompt quotes, or the lines of a prompt for an answer."""
    head, *rest = trace.turns[-1].content.split("\n")
    if head == "Messages:":
        return {"lines": [json.loads(line) for line in rest[: rest.index("")]]}
    shown: dict[str, Any] = json.loads(rest[0])
    return shown


def test_made_up_words_and_held_out_wording_are_apart() -> None:
    rng = random.Random(0)
    ours, theirs = ({made_up(rng, split) for _ in range(2000)} for split in ("train", "held out"))
    assert not ours & theirs and min(len(ours), len(theirs)) > 1000
    usual, other = Wording.load(WORDING), Wording.load(WORDING, only_held_out=True)
    texts = [
        {turn.text for _ in range(60) for turn in wording.dialogue(rng, "train").turns if turn.situation == "talk"}
        for wording in (usual, other)
    ]
    assert texts[0] and texts[1] and not texts[0] & texts[1]


def test_right_replies_fill_the_forms_and_rest_on_what_the_prompt_shows(traces: list[Trace]) -> None:
    assert {trace.situation for trace in traces} == {"talk", "told", "remember", "in context", "in memory", "unknown"}
    assert {trace.form for trace in traces} >= FORMS.keys() - {"Conclusion"}
    contained = set()
    for trace in traces:
        FORMS[trace.form].model_validate(trace.reply, strict=False)
        assert [turn.role for turn in trace.turns] == ["system", "user"]
        shown, reply = shown_in(trace), trace.reply
        if trace.form == "DraftForm":
            assert reply["known"] == (trace.situation != "remember")
        if trace.form == "ShortAnswerForm":
            assert any(reply["short_answer"] in line for line in shown["lines"])
        if trace.form == "ContainedForm":
            contained.add((trace.situation, reply["contain_answer"]))
        if trace.form == "Conclusion" and trace.situation == "unknown":
            assert reply["text"] == "I do not know."
        if trace.form == "Act":
            remembers = trace.situation == "remember" and "done" not in shown
            assert reply["act"]["action"] == ("memorize" if remembers else "answer")
    assert {("in context", True), ("in memory", True), ("in memory", False), ("unknown", False)} <= contained
    assert ("unknown", True) not in contained
    searches = {trace.reply["act"]["action"] for trace in traces if trace.form == "SearchAct"}
    assert searches == {"retrieve_semantic", "retrieve_episodic"}


def test_the_reply_is_forced_where_no_step_is_left(tmp_path: Path) -> None:
    replies = [trace.reply for trace in traced(tmp_path, "held out", 2, max_steps=1) if trace.form == "Conclusion"]
    assert replies == [{"text": "I will keep that in mind.", "evidence": []}]


def test_a_general_question_is_answered_from_what_was_found() -> None:
    oracle, prompts = Oracle("I do not know."), []
    fact = Fact("boiler", "", "Klado", "The boiler needs a Klado.", "", "retrieve_episodic", "user", "boiler")
    oracle.said = Said("What does the boiler need?", "in memory", "Klado", fact)
    for texts in (["A Brevu is here.", fact.said], ["A Brevu is here."]):
        found = tuple({"who": "user", "day": "2 March 2026", "text": text} for text in texts)
        prompts.append(Request(conclusion_turns(Desk("", oracle.said.text, found=found)), schema_of(Conclusion)))
    oracle.generate(prompts)
    assert [trace.reply for trace in oracle.traces] == [
        {"text": "Klado", "evidence": [2]},
        {"text": "I do not know.", "evidence": []},
    ]


def test_traces_survive_a_file_and_take_new_names(traces: list[Trace]) -> None:
    again = [Trace.of_line(trace.line()) for trace in traces]
    assert again == traces
    for trace in traces:
        other = trace.renamed(random.Random(1), "held out")
        texts = " ".join(turn.content for turn in other.turns) + json.dumps(other.reply)
        assert not any(word in texts.replace('"', " ").split() for word in trace.words)
        assert len(texts.split()) == len((" ".join(t.content for t in trace.turns) + json.dumps(trace.reply)).split())


def test_only_the_reply_has_labels(traces: list[Trace], tmp_path: Path) -> None:
    tokenizer = load_causal_lm(build(tmp_path / "model")).tokenizer
    some = traces[::8]
    examples = Examples(some, tokenizer, context=4096, rename=None)
    for trace in some:
        for compact in (True, False):
            ids, labels = examples.example(trace, compact=compact)
            reply = spelled(trace, compact=compact)
            messages = [{"role": turn.role, "content": turn.content} for turn in trace.turns]
            whole = tokenizer.apply_chat_template(
                [*messages, {"role": "assistant", "content": reply}], tokenize=False, add_generation_prompt=False
            )
            assert tokenizer.decode(ids) == whole
            learned = [i for i, label in enumerate(labels) if label != IGNORED]
            assert learned == list(range(learned[0], len(ids)))
            assert [labels[i] for i in learned] == ids[learned[0] :]
            assert tokenizer.decode(ids[learned[0] :]) == reply + tokenizer.eos_token
    with pytest.raises(InvalidInputError, match="the longest trace"):
        Examples(some, tokenizer, context=100, rename=None)
    with pytest.raises(InvalidInputError, match="no traces"):
        Examples([], tokenizer, context=100, rename=None)


def test_batches_keep_their_budget_and_come_again(traces: list[Trace]) -> None:
    tokenizer = tokenizer_of(traces, 600, 2048)
    examples = Examples(traces, tokenizer, context=2048, rename="train")
    ids, labels = examples.batch(3000, "a")
    assert ids.shape == labels.shape and ids.shape[0] > 1 and ids.numel() < 3600
    assert all(torch.equal(one, other) for one, other in zip(examples.batch(3000, "a"), (ids, labels), strict=True))
    assert not torch.equal(examples.batch(3000, "b")[0], ids)
    assert examples.batch(3000, "a", reach=0.1)[0].shape[1] < examples.longest // 2


def small(name: str, steps: int) -> dict[str, Any]:
    config = tomllib.loads((ROOT / f"configs/train/{name}.toml").read_text(encoding="utf-8"))
    config["dialogues"] |= {"train": 2, "wording": str(WORDING)}
    config["controller"] = {"active_turns": 4, "summary_batch": 8, "top_k": 3, "prompt_tokens": 1024}
    config["train"] |= {"steps": steps, "batch_tokens": 1024, "warmup": 1, "lr": 0.01, "log_every": 1, "save_every": 2}
    return config


def tiny(steps: int) -> dict[str, Any]:
    config = small("controller_tiny", steps)
    config["scratch"]["shape"] |= {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1}
    config["scratch"]["shape"] |= {"num_attention_heads": 2, "num_key_value_heads": 2}
    config["drills"] |= {"copies": 1, "plain": 1, "facts": 2}
    return config


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_a_tiny_controller_learns_and_serves(tmp_path: Path) -> None:
    run(tiny(6), tmp_path / "whole", cpu=True)
    losses = [row["loss"] for row in rows(tmp_path / "whole") if "loss" in row]
    assert len(losses) == 6 and losses[-1] < losses[0] - 1
    engine = TransformersEngine(tmp_path / "whole" / "model", dtype=torch.float32)
    served = load_config(tmp_path / "whole" / "controller.toml")
    assert (served.llm.engine, served.controller.top_k) == ("transformers", 3)
    trace = Trace.of_line((tmp_path / "whole" / "traces.jsonl").read_text().splitlines()[0])
    (reply,) = engine.generate([Request(trace.turns, schema_of(DraftForm), max_tokens=32)])
    assert isinstance(reply, Reply) and reply.text.startswith('{"known":')


def test_a_stopped_run_goes_on_with_the_batches_it_would_have_had(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    config = tiny(4)
    run(config, whole, cpu=True)
    run(config | {"train": config["train"] | {"stop": 2}}, parts, cpu=True)
    run(config, parts, cpu=True)
    one, other = (load_file(folder / "model" / "model.safetensors") for folder in (whole, parts))
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def lora(base: Path, quantization: str) -> dict[str, Any]:
    config = small("controller_sft", 4)
    config["model"] |= {"base": str(base), "quantization": quantization, "dtype": "float32"}
    config["lora"] |= {"r": 4, "lora_dropout": 0.0}
    return config


@pytest.mark.parametrize("quantization", ["none", "nf4"])
def test_an_adapter_lowers_the_loss_and_loads_in_the_engine(tmp_path: Path, quantization: Any) -> None:
    base = build(tmp_path / "base", max_position_embeddings=4096, scale=1.0)
    weights = (base / "model.safetensors").read_bytes()
    run(lora(base, quantization), tmp_path / "out", cpu=True)
    losses = [row["loss"] for row in rows(tmp_path / "out") if "loss" in row]
    assert losses[-1] < losses[0]
    assert (base / "model.safetensors").read_bytes() == weights
    trace = Trace.of_line((tmp_path / "out" / "traces.jsonl").read_text().splitlines()[0])
    request = Request(trace.turns, max_tokens=4, logprobs=True)
    replies = []
    for adapter in (None, tmp_path / "out" / "adapter"):
        engine = TransformersEngine(base, dtype=torch.float32, quantization=quantization, adapter=adapter)
        (reply,) = engine.generate([request])
        assert isinstance(reply, Reply)
        replies.append(reply)
    assert replies[0].tokens != replies[1].tokens


@pytest.mark.parametrize("adapted", [False, True])
def test_the_loss_is_that_of_all_logits(tmp_path: Path, adapted: bool) -> None:
    model: Any = load_causal_lm(build(tmp_path / "base", scale=1.0), device=torch.device("cpu")).model
    if adapted:
        peft = pytest.importorskip("peft")
        model = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", r=4, init_lora_weights=False))
    ids = torch.randint(0, 200, (3, 20), generator=torch.Generator().manual_seed(0))
    labels = ids.clone()
    labels[:, :12], labels[1, 15:] = IGNORED, IGNORED
    whole = model(input_ids=ids, labels=labels).loss
    torch.testing.assert_close(ReplyLoss(model)(ids, labels), whole)


def test_contradictory_configurations_are_refused(tmp_path: Path, traces: list[Trace]) -> None:
    config = tiny(2) | {"lora": {"r": 4}}
    (tmp_path / "traces.jsonl").write_text(traces[0].line() + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="leave one out"):
        run(config, tmp_path, cpu=True)
    config = small("controller_sft", 2) | {"drills": {"copies": 1, "plain": 1, "until": 0.5, "facts": 2}}
    with pytest.raises(ConfigError, match="can read already"):
        run(config, tmp_path, cpu=True)
