"""RetrievalAttention: equal to dense attention over the keys it should find, in one call or many, within capacity."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.neural.retrieval_attention import RetrievalAttention

B, T, D, H, S = 2, 23, 8, 2, 4


def module(*, k: int = 3, capacity: int | None = None) -> RetrievalAttention:
    torch.manual_seed(0)
    return RetrievalAttention(D, heads=H, k=k, segment=S, capacity=capacity).double()


def inputs() -> Tensor:
    return torch.randn(B, T, D, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def dense(own: RetrievalAttention, x: Tensor, stored: Tensor) -> Tensor:
    """The definition, written out: a softmax over the k largest of all scores that a token may see."""
    x = functional.rms_norm(x, (D,))

    def heads(linear: torch.nn.Linear) -> Tensor:
        return linear(x).view(B, T, H, D // H).transpose(1, 2)

    q, k, v = heads(own.to_queries), heads(own.to_keys), heads(own.to_values)
    q, k = functional.rms_norm(q, (D // H,)), functional.rms_norm(k, (D // H,))
    scores = q @ k.mT / (D // H) ** 0.5
    segment = torch.arange(T) // S
    seen = (segment[None] < segment[:, None]) & stored[:, None, None]
    if own.capacity is not None:
        seen = seen & (segment[None] >= segment[:, None] - own.capacity // S)
    scores = scores.masked_fill(~seen, -torch.inf)
    kept = scores >= scores.topk(min(own.k, T), dim=-1).values[..., -1:]
    weights = scores.masked_fill(~(kept & seen), -torch.inf).softmax(-1).nan_to_num(0.0)
    return own.combine((weights @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize(("k", "capacity"), [(3, None), (3, 8), (50, None), (50, 8)])
def test_it_is_attention_to_the_nearest_of_the_segments_before(k: int, capacity: int | None) -> None:
    own, x, mask = module(k=k, capacity=capacity), inputs(), torch.ones(B, T, dtype=torch.bool)
    mask[1, 1:6] = False
    y, state = own(x, own.init_state(B), store_mask=mask)
    torch.testing.assert_close(y, dense(own, x, mask))
    assert state.stored.shape[1] == (T if capacity is None else capacity + T % S)
    parts, state = [], own.init_state(B)
    for at, until in ((0, 1), (1, 6), (6, 7), (7, T)):
        part, state = own(x[:, at:until], state, store_mask=mask[:, at:until])
        parts.append(part)
    torch.testing.assert_close(torch.cat(parts, 1), y)
    swapped, _ = own(x[[1, 0, 1]], state.select(torch.tensor([1, 0, 1]), B))
    torch.testing.assert_close(swapped[:2], own(x, state)[0][[1, 0]])


def test_a_token_taken_out_is_as_one_that_was_never_stored() -> None:
    own, x, mask = module(capacity=8), inputs(), torch.ones(B, T, dtype=torch.bool)
    _, state = own(x, own.init_state(B))
    tokens = torch.tensor([14, 18])  # the first one cached is number 12
    mask[1, tokens] = False
    _, never = own(x, own.init_state(B), store_mask=mask)
    torch.testing.assert_close(own(x, state.without(1, tokens))[0], own(x, never)[0])
    assert (own(x, state)[0] - own(x, never)[0]).abs().max() > 1e-3


def test_gradients() -> None:
    own = module()
    assert torch.autograd.gradcheck(lambda x: own(x, own.init_state(1))[0], inputs()[:1, :11].requires_grad_())


def test_errors() -> None:
    for wrong in ({"heads": 3}, {"k": 0}, {"segment": None}, {"capacity": 65}, {"segment": True}):
        with pytest.raises(InvalidInputError):
            RetrievalAttention(D, **wrong)  # type: ignore[arg-type]
