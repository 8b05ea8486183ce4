"""The page at /: what a person wants to see of a memory, in the browser, from this server alone."""

from nscma_torch.server.view.room import room

__all__ = ["room"]
