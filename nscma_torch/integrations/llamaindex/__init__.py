"""A memory block and a retriever for LlamaIndex that use a `Memory`. See docs/integrations.md."""

from __future__ import annotations

from nscma_torch.core.extras import require

require("llama_index.core.memory", extra="llamaindex", purpose="a LlamaIndex memory block or retriever")

from nscma_torch.integrations.llamaindex.memory_block import NscmaMemoryBlock  # noqa: E402 - after the line above
from nscma_torch.integrations.llamaindex.retriever import NscmaRetriever  # noqa: E402

__all__ = ["NscmaMemoryBlock", "NscmaRetriever"]
