"""A LangGraph store: agents' long-term memory, stored as messages of a `Memory`. See docs/integrations.md."""

from __future__ import annotations

from nscma_torch.core.extras import require

require("langgraph.store.base", extra="langgraph", purpose="a LangGraph store")

from nscma_torch.integrations.langgraph.store import NscmaStore  # noqa: E402 - after what says how to install it

__all__ = ["NscmaStore"]
