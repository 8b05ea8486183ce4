"""What the reader is trained to lower. Legend: B rows, L tokens."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from nscma_torch.reading.reader_model import Outputs
from train.reader.batches import Batch, Group


def losses(out: Outputs, batch: Batch) -> dict[str, Tensor]:
    """The mean loss of each part that the batch has labels for."""
    parts: dict[str, list[Tensor]] = {}
    holds: list[tuple[int, float]] = []
    start = 0
    for group in batch.groups:
        rows = slice(start, start + len(group.rows))
        if group.task == "read":
            holds += [(start + i, float(row.holds)) for i, row in enumerate(group.rows) if row.holds is not None]
            if any(row.answers for row in group.rows):
                for logits, end in ((out.first, 0), (out.last, 1)):
                    parts.setdefault("span", []).append(_span_loss(logits[rows], batch.spannable[rows], group, end))
            told = [start + i for i, row in enumerate(group.rows) if row.holds][:1]
            for name, logits, label in (("kind", out.kind, group.kind), ("tense", out.tense, group.tense)):
                if label is not None:
                    parts.setdefault(name, []).extend(_class_loss(logits[i], label) for i in told)
        elif group.label is not None:
            logits = out.stance if group.task == "stance" else out.change
            parts.setdefault(group.task, []).append(_class_loss(logits[start], group.label))
        start = rows.stop
    mean = {name: torch.stack(own).mean() for name, own in parts.items() if own}
    if holds:
        places = torch.tensor([place for place, _ in holds], device=out.answerable.device)
        truth = torch.tensor([value for _, value in holds], device=out.answerable.device)
        mean["answerable"] = F.binary_cross_entropy_with_logits(out.answerable[places], truth)
    return mean


def _span_loss(logits: Tensor, spannable: Tensor, group: Group, end: int) -> Tensor:
    """-log of the share that right tokens have among all tokens of all passages of the question.

    Where several tokens are right, any of them will do: the shares are summed (Clark & Gardner 2018, shared-norm).
    """
    allowed = spannable.clone()
    right = torch.zeros_like(spannable)
    for i, row in enumerate(group.rows):
        for pair in row.outdated:
            allowed[i, pair[end]] = False
        for pair in row.answers:
            right[i, pair[end]] = allowed[i, pair[end]] = True
    return torch.logsumexp(logits[allowed], 0) - torch.logsumexp(logits[right], 0)


def _class_loss(logits: Tensor, label: int) -> Tensor:
    return F.cross_entropy(logits[None], torch.tensor([label], device=logits.device))
