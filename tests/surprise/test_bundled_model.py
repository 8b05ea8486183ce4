"""The bundled surprise model: exact carry-over, refusal of foreign states, long messages, language knowledge."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
import torch

from nscma_torch.core.errors import EmptyTextError, EncodingError, ModelError, ModelNotFoundError, StateMismatchError
from nscma_torch.surprise.byte_model.bundled_model import BLOCK, ByteSurpriseModel
from nscma_torch.surprise.byte_model.byte_counts import REACH
from nscma_torch.surprise.byte_model.byte_lm import ByteLM, ByteLMConfig
from nscma_torch.surprise.byte_model.byte_mixer import HEDGE, NUMBERS

SMALL = ByteLMConfig(layers=2, width=24, table_bits=8, table_width=4, match_width=4, reach=256)
MESSAGES = [
    "Hi! How was your weekend?",
    "I moved to Lisbon in March, and I'm vegetarian now.",
    "我对花生过敏。",
    "ok",
    "line one\nline two",
    "I moved to Lisbon in March, and I'm vegetarian now.",
    "🙂" * 40,
]


@pytest.fixture(scope="module")
def surprise_model() -> ByteSurpriseModel:
    return ByteSurpriseModel.load()


@pytest.fixture(scope="module")
def small() -> ByteSurpriseModel:
    torch.manual_seed(0)
    model = ByteLM(SMALL)
    torch.nn.init.normal_(model.head.weight)
    return ByteSurpriseModel(model)


def nats(surprise_model: ByteSurpriseModel, *messages: str) -> list[float]:
    return [float(nll.sum()) for nll in surprise_model.score([messages], [None])[0].nll]


def test_one_value_per_byte_and_one_for_the_end(surprise_model: ByteSurpriseModel) -> None:
    (score,) = surprise_model.score([MESSAGES], [None])
    assert [len(nll) for nll in score.nll] == [len(message.encode()) + 1 for message in MESSAGES]
    for nll in score.nll:
        assert nll.dtype == torch.float32 and nll.device.type == "cpu"
        assert torch.isfinite(nll).all() and (nll >= 0).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_message_is_scored_by_one_thread(
    surprise_model: ByteSurpriseModel, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(torch, "set_num_threads", seen.append)
    surprise_model.score([MESSAGES[:1]], [None])
    assert seen == ([] if threads == 1 else [1, threads])


def test_grouping_into_calls_changes_no_bit(surprise_model: ByteSurpriseModel) -> None:
    (whole,) = surprise_model.score([MESSAGES], [None])
    state, single = None, []
    for message in MESSAGES:
        (score,) = surprise_model.score([[message]], [state])
        single += score.nll
        state = score.state
    beside = surprise_model.score([["something else"], MESSAGES[:3], []], [None, None, None])
    (rest,) = surprise_model.score([MESSAGES[3:]], [beside[1].state])
    assert all(torch.equal(a, b) for a, b in zip(whole.nll, single, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(whole.nll, beside[1].nll + rest.nll, strict=True))
    assert whole.state == state == rest.state


def test_no_message_leaves_the_state_alone(surprise_model: ByteSurpriseModel) -> None:
    (before,) = surprise_model.score([["hello"]], [None])
    (after,) = surprise_model.score([[]], [before.state])
    assert after.nll == [] and after.state == before.state


def test_history_lowers_the_surprise_of_what_it_holds(surprise_model: ByteSurpriseModel) -> None:
    fact = "My locker code at the climbing hall is 4711."
    first, _, again = nats(surprise_model, fact, "Nice weather today.", fact)
    assert again < 0.4 * first


def test_language_is_expected_and_noise_is_not(surprise_model: ByteSurpriseModel) -> None:
    text = "I think we should have a meeting about it tomorrow."
    noise = "qX7 vprz Wk0 ejjh Zqt lddw Ooa xkcv 8bq Nmm ytrw ec"
    (said,), (typed,) = nats(surprise_model, text), nats(surprise_model, noise)
    assert said / len(text) < 1.6 < typed / len(noise)


def test_two_streams_do_not_see_each_other(surprise_model: ByteSurpriseModel) -> None:
    secret = "The safe opens with 99-31-07."
    alone = surprise_model.score([[secret]], [None])[0].nll[0]
    beside = surprise_model.score([[secret, secret], [secret]], [None, None])
    assert torch.equal(beside[1].nll[0], alone)


def test_blocks_of_a_long_message_are_counted_from_its_start(small: ByteSurpriseModel) -> None:
    text = ("0123456789abcdef" * 700).encode()[: 2 * BLOCK + 77]
    whole, end = small.score_bytes(text, None)
    state, parts = None, []
    for at in range(0, len(text), BLOCK):
        part, state = small.score_bytes(text[at : at + BLOCK], state)
        parts.append(part)
    assert torch.equal(whole, torch.cat(parts)) and end == state
    assert len(end) == 20 + 4 * (SMALL.layers * SMALL.width + NUMBERS) + len(text) + 1


def test_a_state_stops_growing_and_forgets_what_is_further_back(small: ByteSurpriseModel) -> None:
    secret = b"The safe opens with 99-31-07.\n"
    text = secret + b"the day was long and nothing was said of it\n" * (REACH // 44 + 1)
    (_, state) = small.score_bytes(text, None)
    assert len(state) == 20 + 4 * (SMALL.layers * SMALL.width + NUMBERS) + REACH
    assert secret[4:20] not in state and b"nothing was said" in state


def test_a_network_that_knows_nothing_learns_the_stream(small: ByteSurpriseModel) -> None:
    """The head of `small` is noise: what it says well it has from the stream alone."""
    line = "Petra keeps her bees behind the old mill in Zell. "
    costs = nats(small, *[line] * 4)
    assert costs[1] < 0.8 * costs[0] and costs[2] < 0.5 * costs[0] and costs[3] < 0.1 * costs[0]


def test_probabilities_sum_to_one(small: ByteSurpriseModel) -> None:
    (_, state) = small.score_bytes(b"some text before", None)
    total = sum(math.exp(-float(small.score_bytes(bytes([byte]), state)[0][0])) for byte in range(256))
    assert total == pytest.approx(1.0, abs=1e-4)


def test_empty_and_undecodable_messages_are_refused(small: ByteSurpriseModel) -> None:
    with pytest.raises(EmptyTextError, match="empty"):
        small.score([["fine", ""]], [None])
    with pytest.raises(EncodingError, match="UTF-8"):
        small.score([["\ud800"]], [None])


def test_state_of_another_surprise_model_or_damaged_state_is_refused(
    surprise_model: ByteSurpriseModel, small: ByteSurpriseModel
) -> None:
    state = small.score([["hello"]], [None])[0].state
    with pytest.raises(StateMismatchError, match=surprise_model.fingerprint):
        surprise_model.score([["hello"]], [state])
    infinite = state[:20] + struct.pack("<f", math.inf) + state[24:]
    for damaged in (b"", state[:-1], state + b"x", state[:30], infinite):
        with pytest.raises(StateMismatchError):
            small.score([["hello"]], [damaged])


def test_matrices_are_rounded_to_bfloat16_and_vectors_are_not(small: ByteSurpriseModel) -> None:
    model = ByteLM(small._config)
    for weight in model.parameters():
        torch.nn.init.constant_(weight, 1 + 2**-12)
    kept = ByteSurpriseModel(model)._weights
    assert {weight.ndim > 1 for weight in kept.values()} == {True, False}
    for name, weight in kept.items():
        if name in dict(model.named_parameters()):
            rounded = weight.ndim > 1
            assert weight.dtype == (torch.bfloat16 if rounded else torch.float32)
            assert bool((weight.float() == (1 if rounded else 1 + 2**-12)).all())


def test_fingerprint_covers_weights_and_configuration(small: ByteSurpriseModel) -> None:
    torch.manual_seed(0)
    model = ByteLM(SMALL)
    torch.nn.init.normal_(model.head.weight)
    assert ByteSurpriseModel(model).fingerprint == small.fingerprint
    with torch.no_grad():
        model.head.weight[0, 0] += 1
    assert ByteSurpriseModel(model).fingerprint != small.fingerprint
    shorter = ByteLM(replace(SMALL, reach=128))
    shorter.load_state_dict(model.state_dict())
    assert ByteSurpriseModel(shorter).fingerprint != ByteSurpriseModel(model).fingerprint


def test_saved_and_loaded_it_is_the_same(small: ByteSurpriseModel, tmp_path: Path) -> None:
    small.save(tmp_path / "proxy.safetensors")
    loaded = ByteSurpriseModel.load(tmp_path / "proxy.safetensors")
    assert loaded.fingerprint == small.fingerprint
    assert torch.equal(loaded.score([["hello"]], [None])[0].nll[0], small.score([["hello"]], [None])[0].nll[0])


def test_missing_and_foreign_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"train/proxy/proxy_lm\.py"):
        ByteSurpriseModel.load(tmp_path / "none.safetensors")
    (tmp_path / "other.safetensors").write_bytes(b"not weights at all")
    with pytest.raises(ModelError, match="does not contain"):
        ByteSurpriseModel.load(tmp_path / "other.safetensors")


def test_bundled_weights_are_small() -> None:
    weights = resources.files("nscma_torch.surprise") / "weights" / "proxy.safetensors"
    assert len(weights.read_bytes()) <= 8_000_000


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_both_precisions_agree(dtype: torch.dtype, surprise_model: ByteSurpriseModel) -> None:
    reference = ByteSurpriseModel.load(dtype=torch.float32)
    other = ByteSurpriseModel.load(dtype=dtype)
    assert other.fingerprint == surprise_model.fingerprint
    ours, theirs = (torch.cat(p.score([MESSAGES], [None])[0].nll).mean() for p in (other, reference))
    assert float(ours) == pytest.approx(float(theirs), rel=0.02)


def test_a_script_that_the_network_never_saw_does_not_spoil_the_next_message() -> None:
    surprise_model = ByteSurpriseModel.load()
    english = "We should meet on Friday, my sister comes home late."
    korean = "저는 지난주에 서울에서 부산으로 이사했고 새 아파트에는 레몬나무가 있습니다."
    assert nats(surprise_model, korean, korean[::-1], english)[2] < 2 * nats(surprise_model, english)[0]


def test_no_byte_costs_more_than_the_hedge(surprise_model: ByteSurpriseModel) -> None:
    amharic = "እኔ በአዲስ አበባ ከሁለት ልጆቼ ጋር እኖራለሁ። የምወደው ቀለም አረንጓዴ ነው።"
    (score,) = surprise_model.score([[amharic, bytes(range(32, 127)).decode() * 3]], [None])
    nll = torch.cat(score.nll)
    assert float(nll.max()) <= math.log(256) + math.log(1 / HEDGE) + 1e-4
    assert float(score.nll[0].mean()) < 9.5
