"""Browser page at / that shows a memory. All its files are served by this server."""

from nscma_torch.server.view.routes import route_group

__all__ = ["route_group"]
