"""The gate of messages: the paper's rule by its formula, the composition on real wording, pure state."""

from __future__ import annotations

import math
import random
import statistics
import uuid
from collections.abc import Iterable
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.core.config import GateConfig, GateWeightsConfig, load_config
from nscma_torch.core.errors import ConfigError, InvalidInputError
from nscma_torch.core.records import Decision
from nscma_torch.reading.cues import salience
from nscma_torch.surprise import ByteSurpriseModel, GateState, MessageGate, Observation, observe
from nscma_torch.surprise.rules import PRIORS, RULES, Statistics

PLAIN = Observation(
    tokens=80, mean=1.4, nats=110.0, memory_nats=260.0, code_share=0.0, salience=0.5, repeat=False, script="latin"
)
CHAT = [
    "Hey! Long time no see, how have you been?",
    "Pretty good, thanks! Work keeps me busy as always.",
    "What are you up to these days?",
    "I started a pottery class in Porto two weeks ago, it's every Thursday.",
    "That sounds lovely, I'd like to see what you make.",
    "Sure, I'll send you some photos later.",
]
rng = random.Random(7)
LOGS = "\n".join(
    f"2024-05-{day:02}T12:00:11Z INFO [worker-{day}] id={uuid.UUID(int=rng.getrandbits(128))} took {day} ms"
    for day in range(1, 9)
)
observations = st.builds(
    Observation,
    tokens=st.integers(1, 5000),
    mean=st.floats(0, 12),
    nats=st.floats(0, 1e5),
    memory_nats=st.floats(0, 1e5),
    code_share=st.floats(0, 1),
    salience=st.floats(0, 1),
    repeat=st.booleans(),
    script=st.sampled_from(["latin", "cjk", "cyrillic"]),
    answers=st.booleans(),
    learned=st.none() | st.floats(-4, 4),
    nearest=st.none() | st.floats(-1, 1),
    news=st.none() | st.floats(0, 50),
)


@pytest.fixture(scope="module")
def surprise_model() -> ByteSurpriseModel:
    return ByteSurpriseModel.load()


def decide(
    surprise_model: ByteSurpriseModel, text: str, before: list[str], config: GateConfig = GateConfig()
) -> Decision:
    gate = MessageGate(config)
    (score,) = surprise_model.score([[*before, text]], [None])
    seen = [
        observe(message, nll, "\n".join(before[:i]), salience(message))
        for i, (message, nll) in enumerate(zip([*before, text], score.nll, strict=True))
    ]
    return decisions_of(gate, seen)[-1]


def decisions_of(gate: MessageGate, observations: Iterable[Observation]) -> list[Decision]:
    """Of a stream, in order."""
    decisions, state = [], GateState()
    for observation in observations:
        decision, state = gate.decide(observation, state)
        decisions.append(decision)
    return decisions


def surprises(means: list[float], script: str = "latin") -> list[Observation]:
    return [replace(PLAIN, mean=mean, script=script) for mean in means]


@pytest.mark.parametrize("lam", [-0.5, 0.0, 1.0])
def test_paper_rule_is_its_formula(lam: float) -> None:
    draw = random.Random(3)
    means = [draw.uniform(0.5, 3.0) for _ in range(60)]
    gate = MessageGate(GateConfig(rule="paper", lam=lam, window=20, warmup=5))
    decisions = decisions_of(gate, surprises(means))
    assert all(decision.write for decision in decisions[:5])
    for i in range(5, 60):
        last = means[max(i - 20, 0) : i]
        threshold = statistics.fmean(last) + lam * statistics.pstdev(last)
        assert decisions[i].threshold == pytest.approx(threshold)
        assert decisions[i].write == (means[i] > threshold)


def test_statistics_are_those_of_the_inputs_and_a_prior_that_counts_as_some() -> None:
    """A prior that counts as two inputs is two inputs, one standard deviation below and one above its mean."""
    values = [4.0, 9.0, 2.5]
    found = Statistics.of(values, prior=(3.0, 0.5), weight=2)
    population = [2.5, 3.5, *values]
    assert found.mean == pytest.approx(statistics.fmean(population))
    assert found.sd == pytest.approx(statistics.pstdev(population))
    assert Statistics.of([], prior=(3.0, 0.5), weight=2) == Statistics(3.0, 0.5)
    assert all(sd > 0 for priors in PRIORS.values() for _, sd in priors), "scores are divided by it"


def test_scripts_keep_their_own_threshold() -> None:
    gate = MessageGate(GateConfig(rule="paper", warmup=2))
    english = surprises([1.0, 1.1, 0.9, 1.05])
    chinese = surprises([6.0, 6.5, 7.0], "cjk")
    order = [english[0], chinese[0], english[1], chinese[1], english[2], chinese[2], english[3]]
    mixed = decisions_of(gate, order)
    assert [mixed[i] for i in (0, 2, 4, 6)] == decisions_of(gate, english)


@pytest.mark.parametrize(
    "text",
    [
        "I'm vegetarian",
        "I have two cats",
        "My sister's name is Ana.",
        "I no longer work at Google",
        "my birthday is June 3",
        "Remember my wifi code is 4711",
        "我对花生过敏",
        "我搬到上海了",
        "我女儿叫小雨，今年五岁",
    ],
)
@pytest.mark.parametrize("before", [[], CHAT])
def test_short_vital_statements_are_written(surprise_model: ByteSurpriseModel, text: str, before: list[str]) -> None:
    decision = decide(surprise_model, text, before)
    assert decision.write and decision.reason.startswith("written: ")


@pytest.mark.parametrize(
    "text",
    [
        "haha ok",
        "thanks!",
        "lol",
        "Sounds good, see you!",
        "How are you?",
        "good morning",
        "好的",
        "好的，谢谢",
        "哈哈哈",
    ],
)
@pytest.mark.parametrize("before", [[], CHAT])
def test_small_talk_is_deferred(surprise_model: ByteSurpriseModel, text: str, before: list[str]) -> None:
    decision = decide(surprise_model, text, before)
    assert not decision.write and decision.reason.startswith("deferred: ")


def test_a_verbatim_repeat_is_deferred_and_says_so(surprise_model: ByteSurpriseModel) -> None:
    assert decide(surprise_model, CHAT[3], CHAT[:3]).write
    again = decide(surprise_model, CHAT[3], CHAT)
    assert not again.write and "already said" in again.reason and again.parts["repeat"] < 0


@pytest.mark.parametrize("text", [LOGS, LOGS.split("id=")[1][:36], "Zm9vYmFyYmF6" * 30 + "9Q=="])
def test_codes_do_not_win_by_entropy(surprise_model: ByteSurpriseModel, text: str) -> None:
    decision = decide(surprise_model, text, CHAT)
    assert not decision.write and "codes" in decision.reason


def test_a_fact_beside_a_code_is_still_written(surprise_model: ByteSurpriseModel) -> None:
    text = "Remember that my new order number is 7f3a9c1e-11d2-4c8b-9d2e-55aa01b2c3d4, it arrives on Friday."
    assert decide(surprise_model, text, CHAT).write


@given(st.lists(observations, max_size=30), st.sampled_from(sorted(RULES)), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_state_is_bounded_pure_and_survives_storage(seen: list[Observation], rule: str, window: int) -> None:
    gate = MessageGate(GateConfig(rule=rule, window=window, warmup=2))
    state, decisions = GateState(), []
    for observation in seen:
        stored = state.to_bytes()
        decision, state_after = gate.decide(observation, GateState.from_bytes(stored))
        assert state.to_bytes() == stored
        assert all(len(values) <= window for series in state_after.series.values() for values in series.values())
        assert math.isfinite(decision.score) and math.isfinite(decision.threshold)
        assert decision.write or decision.score <= decision.threshold
        assert decision.reason.startswith("written: " if decision.write else "deferred: ")
        state = state_after
        decisions.append(decision)
    assert decisions == decisions_of(gate, seen)


def test_a_state_without_some_quantities_keeps_the_others() -> None:
    gate, state = MessageGate(GateConfig(rule="memory", warmup=1)), GateState()
    for observation in [*surprises([1.0, 2.0]), *surprises([3.0], "cjk")]:
        _, state = gate.decide(observation, state)
    less = GateState.from_bytes(state.without("surprise", "information").to_bytes())
    assert {len(series["surprise"]) + len(series["information"]) for series in less.series.values()} == {0}
    assert {script: series["memory"] for script, series in less.series.items()} == {
        script: series["memory"] for script, series in state.series.items()
    }
    for rule in RULES:
        MessageGate(GateConfig(rule=rule)).decide(surprises([1.0])[0], less)


def test_composition_score_is_the_sum_of_its_parts() -> None:
    decision, _ = MessageGate(GateConfig()).decide(
        replace(PLAIN, salience=0.8, code_share=0.2, repeat=True), GateState()
    )
    assert decision.score == pytest.approx(sum(decision.parts.values()))
    assert set(decision.parts) == {"surprise", "information", "memory", "salience", "code", "repeat"}


def test_the_learned_head_and_an_answer_have_their_terms() -> None:
    plain, _ = MessageGate(GateConfig()).decide(PLAIN, GateState())
    assert not {"learned", "answer"} & set(plain.parts), "a term that nothing is known for is not there"
    told, _ = MessageGate(GateConfig()).decide(replace(PLAIN, learned=2.0, answers=True), GateState())
    weights = GateWeightsConfig()
    assert told.parts == {**plain.parts, "answer": weights.answer, "learned": 2.0 * weights.learned}
    assert told.write and "may be asked about" in told.reason
    idle, _ = MessageGate(GateConfig()).decide(replace(PLAIN, learned=-2.0), GateState())
    assert idle.parts["learned"] == -told.parts["learned"]
    assert not idle.write and "nothing to ask about" in idle.reason
    code, _ = MessageGate(GateConfig()).decide(replace(PLAIN, learned=2.0, code_share=1.0), GateState())
    assert code.parts["learned"] == 0.0, "a vector does not speak for an id"


def test_small_talk_that_answers_is_deferred_all_the_same(surprise_model: ByteSurpriseModel) -> None:
    for text in ("haha ok", "thanks!", "lol", "good morning", "好的"):
        assert not decide(surprise_model, text, [*CHAT, "So, did you like it?"]).write, text
    answer = "In Porto, near the river."
    asked, told = (decide(surprise_model, answer, [*CHAT, before]) for before in ("Where is it?", "That is nice."))
    assert asked.parts["answer"] > 0 and "answer" not in told.parts


@pytest.mark.parametrize(
    ("nearest", "news", "restated"),
    [
        (0.9, 0.0, True),
        (0.65, 0.0, True),
        (0.64, 0.0, False),
        (0.9, 1.0, False),
        (0.9, None, False),
        (None, None, False),
    ],
)
def test_a_restatement_is_near_and_no_news(nearest: float | None, news: float | None, restated: bool) -> None:
    decision, _ = MessageGate(GateConfig()).decide(
        replace(PLAIN, salience=0.8, nearest=nearest, news=news), GateState()
    )
    assert ("restatement" in decision.parts) == restated != decision.write
    assert ("in other words" in decision.reason) == restated


def test_the_words_of_an_earlier_message_do_not_speak_against_the_news_in_them() -> None:
    plain = replace(PLAIN, mean=0.0, memory_nats=1.0)
    copied, alone, told = (
        MessageGate(GateConfig()).decide(replace(plain, nearest=near, news=news), GateState())[0].parts
        for near, news in ((0.9, 1.0), (0.5, 1.0), (0.9, 0.0))
    )
    assert copied["surprise"] == copied["memory"] == 0.0
    assert alone["surprise"] < 0 and alone["memory"] < 0 and told["memory"] < 0


def test_a_verbatim_repeat_is_not_counted_twice() -> None:
    seen = replace(PLAIN, repeat=True, nearest=1.0, news=0.0)
    assert "restatement" not in MessageGate(GateConfig()).decide(seen, GateState())[0].parts


def test_replay_under_another_rule_decides_again() -> None:
    seen = surprises([1.0] * 10 + [3.0])
    assert [d.write for d in decisions_of(MessageGate(GateConfig(rule="everything")), seen)] == [True] * 11
    paper = [d.write for d in decisions_of(MessageGate(GateConfig(rule="paper", warmup=2)), seen)]
    assert paper == [True, True] + [False] * 8 + [True]


def test_unusable_configuration_is_refused() -> None:
    with pytest.raises(ConfigError, match="composition"):
        load_config({"gate": {"rule": "papper"}})
    for key in ("window", "warmup", "prior"):
        with pytest.raises(ConfigError, match=rf"gate\.{key}"):
            load_config({"gate": {key: 0}})
    with pytest.raises(ConfigError, match=r"gate: low is 3; it must be at most 'high', 2\.5$"):
        load_config({"gate": {"low": 3.0}})


def test_each_rule_has_a_name_in_the_configuration() -> None:
    assert get_args(GateConfig.model_fields["rule"].annotation) == tuple(RULES)


@pytest.mark.parametrize(
    "stored", [b"", b"{}", b"[1]", b"\xff", b'{"version":1,"series":{"latin":{}}}', b'{"version":9,"series":{}}']
)
def test_unusable_state_is_refused(stored: bytes) -> None:
    with pytest.raises(InvalidInputError, match="gate state"):
        GateState.from_bytes(stored)


def test_the_prior_of_bytes_says_nothing_of_longer_tokens() -> None:
    """A language model's tokens cost more nats than bytes; a stream's first messages are not surprising for that."""
    gate = MessageGate(GateConfig())
    seen = Observation(12, 4.2, 50.0, 80.0, 0.0, 0.5, False, "latin", bytewise=False)
    decision, state = gate.decide(seen, GateState())
    assert decision.parts["surprise"] == 0.0
    later, _ = gate.decide(replace(seen, mean=6.0), state)
    assert later.parts["surprise"] > 0.0
    assert gate.decide(replace(seen, bytewise=True), GateState())[0].parts["surprise"] > 0.0
