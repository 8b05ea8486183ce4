"""Events and log of `nscma serve`: lines of text, or of JSON."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from nscma_torch.cli.output import print_line, warn
from nscma_torch.core.database.store_path import name_of
from nscma_torch.core.errors import NscmaError

_log = logging.getLogger("nscma.server")


class LogFormat(StrEnum):
    """Formats of the log on stderr."""

    TEXT = "text"
    JSON = "json"


@contextmanager
def logged(log_format: LogFormat) -> Iterator[None]:
    """Write the log in this format. As JSON, an error that ends the command is logged, too."""
    if log_format is LogFormat.TEXT:
        yield
        return
    from nscma_torch.server.json_log import json_log

    with json_log():
        try:
            yield
        except NscmaError as error:  # of opening the store or the port, so it quotes no message
            _log.error("%s", str(error))
            raise SystemExit(1) from error


def tell(store: str, json: bool, log_format: LogFormat, event: str, url: str) -> None:
    """Report an event: on stdout if `json`, else in the log."""
    if json:
        print_line({"event": event, "url": url, "store": name_of(store)})
    elif log_format is LogFormat.JSON:
        _log.info("%s: %s at %s", event, name_of(store), url)
    else:
        warn(f"{event}: {name_of(store)} at {url}")
