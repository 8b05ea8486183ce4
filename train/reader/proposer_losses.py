"""What the proposer is trained to lower. Legend: B rows, L tokens, C relations of a batch, N objects that are judged.

The relations of a batch are those of the schema, and the predicates of its open statements as relations of their own,
which are known by their words alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from nscma_torch.reading.fact_questions import open_object_question
from nscma_torch.reading.proposer_model import POINTERS, UNTOLD, ProposerModel
from nscma_torch.reading.reader_input import padded_rows, target_tokens
from train.reader.proposer_examples import Fact, Message

ELSEWHERE = 0.2  # weight of a predicate's tokens in messages that it is not labelled in: a like one may state it
UNTOLD_WEIGHT = 0.5  # of a negative among the objects that are judged
NEAR, LIKELY = 1, 2  # negatives of each fact, the likeliest other relation of its object, and of each message
_LONGEST = 8  # tokens of an object that is a negative


class Judged(NamedTuple):
    """An object of a row: its tokens, the relation, the class of stance, and the fact, None for a negative."""

    row: int
    first: int
    last: int
    relation: int
    stance: int
    fact: Fact | None


class Relations(NamedTuple):
    """The relations of a schema in the order of the model's: their words, and the number of the open one."""

    names: tuple[str, ...]
    words: Tensor  # [R, d]
    open: int


def losses(
    model: ProposerModel,
    batch: Sequence[Message],
    relations: Relations,
    words: Callable[[list[str]], Tensor],
    keep: float,
) -> dict[str, Tensor]:
    """The mean loss of each part over the facts of a batch.

    Args:
        words: makes [n, d] unit vectors of texts.
        keep: share of the schema's relations that are read with their own vectors, the others by their words alone.
    """
    device = model.own.device
    rows = [message.row for message in batch]
    ids, mask, _ = padded_rows(rows, 16)
    inside = torch.zeros_like(mask)
    for i, own_row in enumerate(rows):
        inside[i, [j for j, piece in enumerate(own_row.pieces) if piece is not None]] = True
    predicates = sorted({fact.relation for message in batch for fact in message.facts if fact.open})
    count = len(relations.names)
    known = {name: i for i, name in enumerate(relations.names)}
    spoken = {predicate: count + i for i, predicate in enumerate(predicates)}  # some are named like a relation
    asked = [open_object_question(predicate) for predicate in predicates]
    places = torch.tensor([*range(count), *[-1] * len(predicates)], device=device)
    kept = torch.rand(len(places)) < keep
    kept[relations.open] = True
    vectors = model.vectors(torch.cat([relations.words, words(asked)]).to(device), places, kept.to(device))
    x = model.hidden(ids.to(device), mask.to(device), target_tokens(rows, ids.shape[1]).to(device))
    logits = model.objects(x, vectors)

    def of(fact: Fact) -> list[int]:
        return [relations.open, spoken[fact.relation]] if fact.open else [known[fact.relation]]

    facts = max(1, sum(len(message.facts) for message in batch))
    truth, weight = _labels(batch, inside, tuple(logits.shape), relations, of)
    own = F.binary_cross_entropy_with_logits(logits, truth.to(device), reduction="none") * weight.to(device)
    parts = {"object": own.sum() / facts / 2}
    seen = logits.detach().cpu()
    judged = [one for i, message in enumerate(batch) for one in _judged(i, message, seen[i], inside[i], relations, of)]
    if judged:
        row, first, last, relation, stance = (torch.tensor([one[i] for one in judged], device=device) for i in range(5))
        points, stances = model.about(x, row, first, last, vectors[relation])
        negative = stance == UNTOLD
        told = F.cross_entropy(stances, stance, reduction="none")
        parts["stance"] = torch.where(negative, UNTOLD_WEIGHT * told, told).sum() / facts
        points = points.masked_fill(~inside.to(device)[row, :, None], -torch.inf).log_softmax(1)
        parts |= _pointed(points, judged, facts)
    return parts


def _labels(
    batch: Sequence[Message],
    inside: Tensor,
    shape: tuple[int, ...],
    relations: Relations,
    of: Callable[[Fact], list[int]],
) -> tuple[Tensor, Tensor]:
    """Which tokens are ends of objects of which relation, and what each of these counts, [B, L, 2, C] both."""
    truth, weight = torch.zeros(shape), torch.zeros(shape)
    count = len(relations.names)
    for i, message in enumerate(batch):
        tokens = inside[i].float()[:, None, None]
        weight[i, :, :, :count] = tokens * message.schema_known
        weight[i, :, :, relations.open] = tokens[:, 0] * message.open_known
        weight[i, :, :, count:] = tokens * ELSEWHERE
        for fact in message.facts:
            if fact.open:
                weight[i, :, :, of(fact)[1]] = tokens[:, 0]
        for fact in message.facts:
            for column in of(fact):
                for first, last in fact.objects:
                    for token, end in ((first, 0), (last, 1)):
                        truth[i, token, end, column] = weight[i, token, end, column] = 1
    return truth, weight


def _judged(
    row: int, message: Message, logits: Tensor, inside: Tensor, relations: Relations, of: Callable[[Fact], list[int]]
) -> Iterator[Judged]:
    """The facts of a message, and what the model takes for facts of the schema though it is none; logits [L, 2, C]."""
    known = [i for i in range(len(relations.names)) if i != relations.open]
    told = [(column, *tokens) for fact in message.facts for column in of(fact) for tokens in fact.objects]
    for fact in message.facts:
        first, last = fact.objects[0]
        for column in of(fact):
            yield Judged(row, first, last, column, fact.stance, fact)
        if message.schema_known:
            free = [c for c in known if not any(c == r and a <= last and first <= b for r, a, b in told)]
            for place in logits[first, 0, free].topk(NEAR).indices.tolist():
                yield Judged(row, first, last, free[place], UNTOLD, None)
    if message.schema_known:
        starts = logits[:, 0, known].masked_fill(~inside[:, None], -torch.inf).clone()
        for column, first, last in told:
            if column in known:
                starts[max(0, first - 1) : last + 1, known.index(column)] = -torch.inf
        for place in starts.flatten().topk(LIKELY).indices.tolist():
            first, column = place // len(known), known[place % len(known)]
            reach = first + 1
            while reach < min(len(inside), first + _LONGEST) and inside[reach]:
                reach += 1
            yield Judged(row, first, first + int(logits[first:reach, 1, column].argmax()), column, UNTOLD, None)


def _pointed(points: Tensor, judged: Sequence[Judged], facts: int) -> dict[str, Tensor]:
    """-log of the share of the tokens that are right, those of subjects and topics; [N, L, len(POINTERS)]."""
    parts: dict[str, list[Tensor]] = {}
    for i, one in enumerate(judged):
        if one.fact is None:
            continue
        for pointer, name in enumerate(POINTERS):
            what, end = name.split()
            right = [tokens[end == "last"] for tokens in (one.fact.subjects if what == "subject" else one.fact.topics)]
            if right:
                parts.setdefault(what, []).append(-points[i, right, pointer].logsumexp(0))
    return {what: torch.stack(own).sum() / facts / 2 for what, own in parts.items()}
