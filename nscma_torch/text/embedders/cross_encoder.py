"""Cross-encoders from sentence-transformers, which read a question and a text together and return one score.

They load from a folder or the local Hugging Face cache; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from safetensors import SafetensorError

from nscma_torch.core.errors import ModelError
from nscma_torch.core.extras import require
from nscma_torch.text.embedders.model_folder import model_folder

_PURPOSE = "retrieval.reranker"
_BATCH = 32  # pairs read at once


class CrossEncoder:
    """A model that scores texts as answers to a question.

    Args:
        name: a model folder, or the name of a model in the local Hugging Face cache.

    Raises:
        MissingDependencyError: sentence-transformers is not installed.
        ModelNotFoundError: the model is not on this machine.
        ModelError: the files aren't a cross-encoder.
    """

    def __init__(self, name: str, device: str | torch.device) -> None:
        library = require("sentence_transformers", extra="hf", purpose=_PURPOSE)
        folder = model_folder(name, kind="cross-encoder", purpose=_PURPOSE)
        try:
            self._model = library.CrossEncoder(
                str(folder), device=str(device), local_files_only=True, activation_fn=torch.nn.Sigmoid()
            )
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise ModelError(f"{folder} is not a cross-encoder that sentence-transformers can load: {error}") from error

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return each text's score as an answer to the question, in [0, 1]. Raises `ModelError` for NaN."""
        if not texts:
            return []
        pairs = [(question, text) for text in texts]
        scores = torch.as_tensor(
            self._model.predict(pairs, batch_size=_BATCH, show_progress_bar=False), dtype=torch.float32
        )
        if scores.shape != (len(texts),):
            raise ModelError(f"a reranker must return one score per pair, but this one returns {[*scores.shape[1:]]}")
        if not bool(torch.isfinite(scores).all()):
            raise ModelError("the reranker returned NaN or infinity; check the model's weights")
        return [float(score) for score in scores]
