"""The log as JSON lines: what was logged, in which trace, and never the text of an exception."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from typer.testing import CliRunner

from nscma_torch.cli import app as cli
from nscma_torch.server.json_log import json_log
from tests.server.conftest import serving
from tests.telemetry.conftest import observed as observed
from tests.telemetry.conftest import open_observed as open_observed
from tests.telemetry.conftest import recorded as recorded

PLANTED = "zanzibar"
log = logging.getLogger("nscma.server")


@contextmanager
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Writes the log as JSON; gives its lines so far."""
    stream = io.StringIO()
    with json_log(stream):
        yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_has_time_level_logger_and_message() -> None:
    before = datetime.now(UTC)
    with lines() as read:
        log.info("%d of %s", 3, "Größe\n")
        log.debug("too fine")
        logging.getLogger("another").info("too fine")
    (line,) = read()
    assert abs((datetime.fromisoformat(line.pop("time")) - before).total_seconds()) < 60
    assert line == {"level": "INFO", "logger": "nscma.server", "message": "3 of Größe\n"}
    assert log.getEffectiveLevel() == logging.WARNING, "it is as before"


def test_no_text_of_an_exception_is_logged() -> None:
    with lines() as read:
        try:
            raise ValueError(f"cannot read {PLANTED!r}")
        except ValueError as error:
            log.error("%s: %s", type(error).__name__, error)
            log.exception("an exchange was not stored")
            log.warning(error)
            log.error("%(why)s", {"why": error})
    named, traced, alone, mapped = read()
    assert PLANTED not in json.dumps([named, traced, alone, mapped])
    assert named["message"] == "ValueError: ValueError" and alone["message"] == mapped["message"] == "ValueError"
    assert traced["error"] == "ValueError" and "test_json_log.py" in traced["stack"][0]


def test_a_line_of_a_request_names_its_trace(
    observed: Any, tmp_path: Path, recorded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        log.error("in a thread of its own")
        raise RuntimeError(PLANTED)

    monkeypatch.setattr(type(observed.components), "retriever", property(fail))
    with lines() as read, serving(observed, tmp_path / "tokens") as served:
        served.client.post("/v1/search", json={"query": PLANTED})
    (search,) = recorded.spans("search_memory")
    (line,) = [one for one in read() if one["message"] == "in a thread of its own"]
    ids = f"{search.context.trace_id:032x}", f"{search.context.span_id:016x}"
    assert (line["trace_id"], line["span_id"]) == ids


def test_the_command_writes_json_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line on stderr is an object: events, what is logged meanwhile, and an error that ends the command."""

    def run(*_: Any, started: Callable[[], None]) -> None:
        started()
        log.error("at work")

    monkeypatch.setattr("nscma_torch.server.running.run", run)
    store = tmp_path / "store.db"
    command = ["serve", "--log-format", "json", "--port", "0", "--store"]
    served = CliRunner().invoke(cli, [*command, str(store)])
    said = [(line["level"], line["logger"], line["message"]) for line in map(json.loads, served.stderr.splitlines())]
    assert (served.exit_code, served.stdout, [level for level, *_ in said]) == (0, "", ["INFO", "ERROR", "INFO"])
    assert {logger for _, logger, _ in said} == {"nscma.server"}
    assert said[0][2].startswith(f"serving: {store} at http://127.0.0.1:") and said[1][2] == "at work"
    assert said[2][2].startswith(f"stopped: {store} at ")
    failed = CliRunner().invoke(cli, [*command, str(tmp_path / "no" / "store.db")])
    (line,) = map(json.loads, failed.stderr.splitlines())
    assert isinstance(failed.exception, SystemExit), "the command line doesn't report it again, as text"
    assert (failed.exit_code, line["level"]) == (1, "ERROR") and "does not exist; create it" in line["message"]
    told = CliRunner().invoke(cli, [*command, str(store), "--json"])
    assert [json.loads(line)["event"] for line in told.stdout.splitlines()] == ["serving", "stopped"]
    assert [json.loads(line)["message"] for line in told.stderr.splitlines()] == ["at work"]
