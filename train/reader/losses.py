"""What the reader is trained to lower. Legend: B rows, L tokens."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from nscma_torch.reading.reader_model import KINDS, Outputs
from train.reader.batches import Batch, Group

_LIST = KINDS.index("list")


def losses(out: Outputs, batch: Batch) -> dict[str, Tensor]:
    """The mean loss of each part that the batch has labels for."""
    parts: dict[str, list[Tensor]] = {}
    start = 0
    for group in batch.groups:
        rows = slice(start, start + len(group.rows))
        example = group.example
        if example.task == "read":
            if any(row.answers for row in group.rows):
                for logits, end in ((out.first, 0), (out.last, 1)):
                    parts.setdefault("span", []).append(_span_loss(logits[rows], batch.spannable[rows], group, end))
            for i, row in enumerate(group.rows, start=start):
                if row.evidence:
                    ends = [end for end, _ in row.evidence]
                    told = [holds for _, holds in row.evidence]
                    parts.setdefault("evidence", []).append(_binary_loss(out.evidence[i, ends], told))
                if row.holds is not None:
                    parts.setdefault("answerable", []).append(_binary_loss(out.answerable[i, None], [row.holds]))
            held = next((i for i, row in enumerate(group.rows, start=start) if row.holds), None)
            if held is not None and example.kind is not None:
                parts.setdefault("kind", []).append(_class_loss(out.kind[held], example.kind))
            if held is not None and example.label is not None:
                parts.setdefault("stance", []).append(_class_loss(out.stance[held], example.label))
        elif example.label is not None:
            logits = out.stance if example.task == "stance" else out.change
            parts.setdefault(example.task, []).append(_class_loss(logits[start], example.label))
        start = rows.stop
    return {name: torch.stack(own).mean() for name, own in parts.items()}


def _span_loss(logits: Tensor, spannable: Tensor, group: Group, end: int) -> Tensor:
    """-log of the share that right tokens have among all tokens of all passages of the question.

    Where several tokens are right, any of them will do: the shares are summed (Clark & Gardner 2018, shared-norm). Of a
    list each is to have its share: the mean of -log.
    """
    right = torch.zeros_like(spannable)
    for i, row in enumerate(group.rows):
        right[i, [pair[end] for pair in row.answers]] = True
    total = torch.logsumexp(logits[spannable], 0)
    return total - (logits[right].mean() if group.example.kind == _LIST else torch.logsumexp(logits[right], 0))


def _binary_loss(logits: Tensor, truth: list[bool]) -> Tensor:
    return F.binary_cross_entropy_with_logits(logits, torch.tensor(truth, dtype=logits.dtype, device=logits.device))


def _class_loss(logits: Tensor, label: int) -> Tensor:
    return F.cross_entropy(logits[None], torch.tensor([label], device=logits.device))
