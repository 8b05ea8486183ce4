"""Requests to forget something that was said, and which message they mean."""

from __future__ import annotations

import pytest
import torch

from nscma_torch.api.forget_requests import ASKED
from nscma_torch.reading.forget_requests import ForgetLayers, ForgetRequests
from nscma_torch.reading.reader import Reader


@pytest.fixture(scope="module")
def requests() -> ForgetRequests:
    reader = Reader.from_pretrained()
    return ForgetRequests(lambda: reader, lambda: ForgetLayers.load().embedder)


@pytest.mark.parametrize(
    "text",
    [
        "Please forget what I said about the gate code.",
        "Please don't keep anything about my divorce in your notes.",
        "pls delete what i told you about my salary",
        "The address I gave you yesterday should not stay in your notes.",
    ],
)
def test_a_request_is_recognised(text: str, requests: ForgetRequests) -> None:
    assert requests.asked(text) >= ASKED


@pytest.mark.parametrize(
    "text",
    [
        "Don't forget what I said about the gate code.",
        "Forget the milk, we have enough.",
        "She told me to forget what I said.",
        "We delete the old branches on Fridays.",
        "Forget it, I'll walk.",
        "请忘记我说过的密码。",
    ],
)
def test_other_messages_are_no_requests(text: str, requests: ForgetRequests) -> None:
    assert requests.asked(text) < ASKED


def test_the_message_that_is_meant_is_likeliest(requests: ForgetRequests) -> None:
    earlier = ["I pay 900 a month for the flat.", "My doctor thinks it is my heart.", "The flat has two rooms."]
    likely = requests.meant("What I said about my health was private, please don't keep it.", earlier)
    assert max(range(3), key=likely.__getitem__) == 1


def test_a_vector_of_another_embedder_tells_nothing() -> None:
    other = ForgetRequests(lambda: pytest.fail("nothing is read"), lambda: "another embedder")
    assert other.suspects(torch.zeros(1, 7))


def test_an_unlikely_vector_is_not_suspected(requests: ForgetRequests) -> None:
    weight = requests.layers.suspected.weight[0]
    assert requests.suspects(weight[None] / weight.norm())
    assert not requests.suspects(-weight[None] / weight.norm())
