"""The page and its endpoints as a part of the server."""

from __future__ import annotations

from nscma_torch.server.rooms import House, Room
from nscma_torch.server.view import files, routes


def room(_: House) -> Room:
    """The page at /, its files below /view/, and what it reads below /v1/view/."""
    pages = files.load()
    return Room((files.router_of(pages), routes.router), public=frozenset(pages))
