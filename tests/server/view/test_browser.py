"""Smoke test of the page in a real Chromium: every view, a search, a message added and one erased."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.server.view.browser import VIEWS


def test_every_view_and_the_main_actions(page: Callable[..., Any]) -> None:
    """No request leaves the server and the browser reports no error or policy violation."""
    seen, served = page()
    titles = set()
    for view in VIEWS:
        seen.open(view)
        titles.add(seen.text("h1"))
        assert seen.run("return document.documentElement.scrollWidth <= innerWidth"), view
    assert len(titles) == len(VIEWS)

    seen.open("timeline?text=lives", fresh=True)
    (row,) = (row.text for row in seen.all(".row") if "Ana lives in" in row.text)
    assert "Porto" in row and "another value took its place" in row
    seen.open("search?q=live+in+Oslo", fresh=True)
    assert seen.one(".list mark", "Oslo").text == "Oslo", "offsets count code points: an emoji comes before"

    seen.open("", fresh=True)
    seen.one("textarea").send_keys("From the page itself.")
    seen.one("button.primary").click()
    seen.one("#live-messages", "51 messages")
    seen.open("erasure", fresh=True)
    seen.one("input[type=search]").send_keys("Bosch")
    seen.one("button.primary").click()
    seen.one(".list button.danger").click()
    seen.one("dialog input").send_keys("erase\ue007")
    assert "No byte of it was found" in seen.one("dialog .receipt").text
    assert not any("Bosch" in one.text for one in served.memory.log(user_id="default"))

    assert seen.messages() == []
    asked = seen.requests()
    assert len(asked) > 20 and all(url.startswith(f"{seen.base}/") for url in asked)
