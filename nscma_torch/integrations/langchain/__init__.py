"""A retriever and a chat history for LangChain that use a `Memory`. See docs/integrations.md."""

from __future__ import annotations

from nscma_torch.core.extras import require

require("langchain_core.retrievers", extra="langchain", purpose="a LangChain retriever or history")

from nscma_torch.integrations.langchain.history import NscmaChatMessageHistory  # noqa: E402 - after the line above
from nscma_torch.integrations.langchain.retriever import NscmaRetriever  # noqa: E402

__all__ = ["NscmaChatMessageHistory", "NscmaRetriever"]
