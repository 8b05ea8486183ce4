"""An embedder without weights: a random projection of a text's index terms and their character trigrams.

Each feature is projected to d = 256 signs, the bits of its BLAKE2b hash (Achlioptas 2003, "Database-friendly random
projections"), so the cosine of two texts estimates the cosine of their bags to about 1/sqrt(d). It captures spelling
but not meaning, so it is meant for tests and for machines without model weights.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812

from nscma_torch.core.erasable_cache import erasable_cache
from nscma_torch.text.embedders.vector_checks import refuse_empty, refuse_longer, refuse_unencodable
from nscma_torch.text.terms import terms

DIMENSION = 256
MAX_TOKENS = 256
TRIGRAM_WEIGHT = 0.3
VERSION = 1  # part of the fingerprint: raise it when the vectors change

_TOKEN = re.compile(r"\w{1,16}|[^\w\s]")


def _signs(feature: str) -> npt.NDArray[np.float32]:
    """Return the projection [256] of a feature, with entries -1 or 1."""
    digest = hashlib.blake2b(feature.encode(), digest_size=DIMENSION // 8).digest()
    return np.unpackbits(np.frombuffer(digest, np.uint8)).astype(np.float32) * 2 - 1


@erasable_cache(1 << 14)
def _term_vector(term: str) -> npt.NDArray[np.float32]:
    """Return the projection [256] of one index term and of the trigrams of `^term$`."""
    framed = f"^{term}$"
    trigrams = [_signs("trigram " + framed[start : start + 3]) for start in range(len(framed) - 2)]
    projected: npt.NDArray[np.float32] = _signs("term " + term) + np.float32(TRIGRAM_WEIGHT) * np.sum(trigrams, axis=0)
    return projected


class HashEmbedder:
    """An `Embedder` without a model. Term frequencies are damped as 1 + ln(tf); vectors don't depend on the batch."""

    def __init__(self, *, device: str | torch.device = "cpu") -> None:
        self._device = torch.device(device)

    @property
    def fingerprint(self) -> str:
        return f"hash-{DIMENSION} v{VERSION}"

    @property
    def dimension(self) -> int:
        return DIMENSION

    @property
    def max_tokens(self) -> int:
        return MAX_TOKENS

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        refuse_unencodable(texts)
        return [len(_TOKEN.findall(text)) for text in texts]

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors [n, 256]; raises `EmptyTextError`, `EncodingError` or `TextTooLongError`."""
        refuse_empty(texts)
        refuse_longer(self.count_tokens(texts), MAX_TOKENS)
        sums = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in enumerate(texts):
            # A text of stop words or symbols alone has no index terms; its words are its features then.
            for term, count in Counter(terms(text) or text.split()).items():
                sums[row] += (1 + np.log(count)) * _term_vector(term)
        return F.normalize(torch.from_numpy(sums), dim=-1).to(self._device)

    def embed_query(self, text: str) -> torch.Tensor:
        """Return a unit vector [256]."""
        return self.embed([text])[0]
