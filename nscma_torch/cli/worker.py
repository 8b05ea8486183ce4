"""The `worker` command, which runs background jobs alongside an application."""

from __future__ import annotations

import signal
from datetime import UTC, datetime

from nscma_torch.cli import options as o
from nscma_torch.cli.output import opened, print_line, warn

_LOOK = 0.2  # seconds between two checks for a stop


@o.app.command()
def worker(store: o.Store = o.STORE, config: o.Config = None, json: o.Json = False) -> None:
    """Extract facts and run sleep alongside an application, until stopped (SIGTERM or Ctrl-C).

    Events are printed one per line, on stderr or, with `--json`, on stdout. When stopped, the current batch is
    finished; queued work stays queued.
    """

    def tell(line: str) -> None:
        if json:
            print_line({"at": datetime.now(UTC).isoformat(), "event": line})
        else:
            warn(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {line}")

    told: list[int] = []  # signals; a handler must not set an Event, on which this thread may be waiting
    before = {one: signal.signal(one, lambda number, _: told.append(number)) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        with opened(store, config, must_exist=False) as memory:
            beside = memory.components.background(notify=tell)
            beside.start()
            ended = False
            while not (told or ended):
                ended = beside.wait(_LOOK)
            beside.stop()
        if beside.error is not None:
            raise beside.error
        tell("stopped; queued jobs stay queued")
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
