"""Mixing two opinions: the gradient's zero, the size of steps, and that trust follows who was right."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from nscma_torch.surprise.byte_model.byte_counts import LEVELS
from nscma_torch.surprise.byte_model.byte_mixer import FADING, HEDGE, NUMBERS, START, STIFFNESS, Mixture, Read, hedged


def opinions(size: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.log_softmax(3 * torch.randn(size, 2, 256, generator=generator), -1)


def read(mixture: Mixture, said: Tensor, level: Tensor, target: Tensor) -> tuple[Mixture, float]:
    told = mixture.read(said[:, 0], said[:, 1], level, target)
    return mixture.learned(told, len(target)), -float(told.chance.log().mean())


def test_mixing_is_a_weighted_sum_of_logarithms() -> None:
    said, level, target = opinions(9), torch.arange(9) % LEVELS, torch.arange(9) * 20
    mixture = Mixture(torch.rand(LEVELS, 2), Mixture.initial(torch.device("cpu")).curvature)
    for shift in (0.0, -7.5):  # neither opinion needs to be normalised
        chance = mixture.read(said[:, 0] + shift, said[:, 1] - shift, level, target).chance
        for t, k in enumerate(level.tolist()):
            w = mixture.weights[k]
            expected = torch.softmax(w[0] * said[t, 0] + w[1] * said[t, 1], -1)
            torch.testing.assert_close(chance[t], expected[target[t]])


def test_reading_in_parts_is_reading() -> None:
    said, level = opinions(60), torch.arange(60) % LEVELS
    target = torch.randint(0, 256, (60,), generator=torch.Generator().manual_seed(1))
    mixture = Mixture.initial(torch.device("cpu"))
    parts = [mixture.read(said[s, 0], said[s, 1], level[s], target[s]) for s in (slice(0, 7), slice(7, 60))]
    whole = mixture.read(said[:, 0], said[:, 1], level, target)
    torch.testing.assert_close(tuple(Read.joined(parts)), tuple(whole), rtol=1e-4, atol=1e-3)


def test_a_step_is_newtons() -> None:
    """Gradient and curvature are those that autograd finds for the sum of the surprise."""
    said, level = opinions(40), torch.full((40,), 2)
    target = torch.randint(0, 256, (40,), generator=torch.Generator().manual_seed(1))
    mixture = Mixture.initial(torch.device("cpu"))

    def surprise(weights: Tensor) -> Tensor:
        mixed = torch.log_softmax((weights[:, None] * said).sum(1), -1)
        return -mixed.gather(1, target[:, None]).sum()

    start = torch.tensor(START)
    slope = torch.autograd.functional.jacobian(surprise, start)
    curvature = STIFFNESS * torch.eye(2) + torch.autograd.functional.hessian(surprise, start)
    after, _ = read(mixture, said, level, target)
    torch.testing.assert_close(after.weights[2], start - torch.linalg.solve(curvature, slope), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(after.curvature[2], curvature, rtol=1e-4, atol=1e-2)
    assert torch.equal(after.weights[[0, 1, 3, 4]], mixture.weights[[0, 1, 3, 4]])


@pytest.mark.parametrize("size", [1, 50, 4096])
def test_trust_goes_to_who_is_right_however_messages_are_cut(size: int) -> None:
    said = opinions(4096, 3)
    target = torch.multinomial(said[:, 1].exp(), 1, generator=torch.Generator().manual_seed(2))[:, 0]
    level, mixture = torch.zeros(4096, dtype=torch.int64), Mixture.initial(torch.device("cpu"))
    for at in range(0, 4096 if size > 1 else 200, size):
        part = slice(at, at + size)
        mixture, _ = read(mixture, said[part], level[part], target[part])
    network, counts = mixture.weights[0].tolist()
    assert counts > START[1] and network < START[0] and torch.isfinite(mixture.weights).all()
    if size == 50:  # a single step, however much it has read, goes no farther than `FARTHEST`
        assert counts > 0.7 and network < 0.2


def test_what_is_wrong_all_along_does_not_lead_astray() -> None:
    """The network is sure and wrong, as in a script that it never saw: trust in it goes, and no farther."""
    said = opinions(400, 3)
    target = said[:, 0].argmin(-1)
    level, mixture = torch.full((400,), 2), Mixture.initial(torch.device("cpu"))
    for _ in range(5):
        mixture, _ = read(mixture, said, level, target)
    assert torch.isfinite(mixture.weights).all() and (mixture.weights >= 0).all() and (mixture.weights <= 2).all()
    assert mixture.weights[2, 0] < START[0]


def test_curvature_fades_to_where_it_began() -> None:
    mixture = Mixture.initial(torch.device("cpu"))
    grown = mixture._replace(curvature=mixture.curvature + 1e6)
    size = 4096
    flat = torch.zeros(size, 2, 256)  # opinions without a difference have no curvature
    after, _ = read(grown, flat, torch.zeros(size, dtype=torch.int64), torch.zeros(size, dtype=torch.int64))
    left = (after.curvature - mixture.curvature) / 1e6
    torch.testing.assert_close(left, torch.full_like(left, float(torch.tensor(-size / FADING).exp())))
    assert torch.equal(after.weights, mixture.weights)


def test_a_hedged_byte_has_a_price_limit() -> None:
    mixed = torch.log_softmax(30 * torch.randn(50, 256, generator=torch.Generator().manual_seed(4)), -1)
    said = hedged(mixed.exp())
    torch.testing.assert_close(said.exp().sum(-1), torch.ones(50))
    torch.testing.assert_close(said.exp(), (1 - HEDGE) * mixed.exp() + HEDGE / 256)
    limit = math.log(256) + math.log(1 / HEDGE)
    assert float(mixed.min()) < -100 and float(said.min()) >= -limit - 1e-5
    assert float((mixed - said).max()) <= 1.01 * HEDGE
    assert float(hedged(torch.tensor([0.0]))) == pytest.approx(-limit)


def test_packed_and_unpacked_it_is_the_same() -> None:
    mixture, _ = read(Mixture.initial(torch.device("cpu")), opinions(30), torch.arange(30) % LEVELS, torch.arange(30))
    numbers = torch.cat([part.flatten() for part in mixture])
    assert len(numbers) == NUMBERS
    again = Mixture.unpacked(numbers)
    assert torch.equal(again.weights, mixture.weights) and torch.equal(again.curvature, mixture.curvature)
