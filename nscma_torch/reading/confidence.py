"""Estimate whether a short answer is right, and whether the passages contain an answer at all.

Both are logistic regressions on the reader's scores and the rank of the answer's passage (a calibrator over domains
that the reader wasn't trained on: Kamath et al. 2020, "Selective question answering under domain shift"), the second
for the bundled reader also on its hidden states. Their weights are fitted by eval.experiments.reading.calibration on
chats by authors of whom the reader has read nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from torch import nn

from nscma_torch.core.tensor_files import all_tensors, open_tensors
from nscma_torch.reading.reader import ReadResult
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.short_answer import ShortAnswer

# Weights by feature. Logits are bounded by `logit`; of yes and no, the log shares are 0.
CORRECT = {
    "intercept": -0.393,
    "answerable": 0.094,  # logit of the reader's probability that the passages answer
    "evidence": 0.242,  # logit of the probability that the answer's passage is evidence
    "lead": -0.028,  # of the best passage's logit over the second
    "share": 0.492,  # log share of the best span
    "rival": -0.173,  # log share of the best other value
    "kind": 0.123,  # logit of the probability of the kind of answer
    "verdict": 1.055,  # 1 for yes and no; so on for the kinds below
    "yes": -0.436,
    "list": 0.313,
    "count": 0.722,
    "when": -0.014,
    "others": -0.218,  # see `said_by_others`
    "rank": -0.295,  # log(1 + rank) of the answer's passage among the hits
    "words": -0.394,  # log(1 + words) of the best span
}
# Without the kinds: how many questions of a kind have an answer depends on who asks.
ANSWERABLE = {
    "intercept": 3.055,
    "answerable": 0.545,
    "evidence": 0.123,
    "lead": -0.158,
    "share": 0.047,
    "rival": -0.014,
    "kind": -0.207,
    "others": -3.221,
    "states": 1.0,  # logit that the hidden states add
}
_LEAST = 1e-3  # of a share
_FEATURES = tuple(dict.fromkeys([*CORRECT, *ANSWERABLE]))
BUNDLED = Path(__file__).with_name("weights") / "confidence.safetensors"


class StateLayer(nn.Linear):
    """Adds to the logit of `ANSWERABLE`, [n, 1], from `Outputs.summary`, [n, s]."""

    def __init__(self, size: int) -> None:
        super().__init__(size, 1)

    @classmethod
    def load(cls, path: Path = BUNDLED) -> StateLayer:
        """Load weights that were written by `save_module`, or the bundled ones.

        Raises:
            ModelNotFoundError: the file is missing.
            ModelError: the file has another version.
        """
        missing = f"no weights for the confidence of answers at {path}: install nscma-torch again"
        with open_tensors(path, "weights for the confidence of answers of this version", missing=missing) as file:
            tensors = all_tensors(file)
            layer = cls(tensors["weight"].shape[1])
            layer.load_state_dict(tensors)
        return layer.eval().requires_grad_(False)


bundled_layer = cache(StateLayer.load)


def confidence(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the probability in (0, 1) that features and weights (`CORRECT` or `ANSWERABLE`) give."""
    return 1 / (1 + math.exp(-sum(weight * features[name] for name, weight in weights.items())))


def features_of(
    read: ReadResult,
    found: ShortAnswer | None,
    passages: Sequence[InputPassage],
    others: float,
) -> dict[str, float]:
    """Return the features of a reading and its short answer; `others` is from `said_by_others`."""
    kind = read.kind if found is None else found.kind
    verdict = kind in ("yes", "no")
    best = read.spans[0] if read.spans and not verdict else None
    passage = found.passage if found is not None else best.passage if best is not None else None
    evidence = sorted(map(logit, read.evidence), reverse=True)
    rivals = [s.share for s in read.spans if best is not None and s.text.casefold() != best.text.casefold()]
    values = (
        1.0,
        logit(read.answerable),
        logit(0.0 if passage is None else read.evidence[passage]),
        evidence[0] - evidence[1] if len(evidence) > 1 else 0.0,
        0.0 if best is None else math.log(max(best.share, _LEAST)),
        0.0 if best is None else math.log(max([_LEAST, *rivals])),
        logit(max(read.kinds)),
        float(verdict),
        *(float(kind == name) for name in ("yes", "list", "count", "when")),
        others,
        0.0 if passage is None else math.log1p(passages[passage].rank),
        0.0 if best is None else math.log1p(len(best.text.split())),
        0.0 if read.summary is None else bundled_layer()(read.summary).item(),
    )
    return dict(zip(_FEATURES, values, strict=True))


def logit(probability: float) -> float:
    """Return log(p / (1 - p)), with p bounded away from 0 and 1."""
    inside = min(max(probability, 1e-4), 1 - 1e-4)
    return math.log(inside / (1 - inside))
