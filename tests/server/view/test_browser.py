"""The page in a real Chromium: every view, the keyboard, what can be changed, and what a token allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.core.records import Message
from tests.helpers.noting import day
from tests.server.view.browser import VIEWS

Opens = Callable[..., Any]


def test_every_view_at_every_width(page: Opens) -> None:
    """No request leaves the server, the browser complains of nothing, nothing is cut off, every control has a name."""
    seen, _ = page()
    titles = set()
    for width in (1400, 380):
        for view in VIEWS:
            seen.open(view, width=width)
            titles.add(seen.text("h1"))
            assert seen.run("return document.title").startswith(seen.text("h1"))
            assert seen.text("nav [aria-current=page]") in seen.text("nav")
            assert seen.run("return document.documentElement.scrollWidth <= innerWidth"), (view, width)
            assert width == 380 or (seen.nameless() == [] and seen.slips() == []), view
            seen.shot(f"fifty-{view or 'overview'}-{width}")
    assert len(titles) == len(VIEWS)
    assert seen.messages() == []
    asked = seen.requests()
    assert len(asked) > 20 and all(url.startswith(f"{seen.base}/") for url in asked)


def test_what_the_views_show(page: Opens) -> None:
    seen, served = page()
    seen.open("timeline?text=lives", fresh=True)
    rows = {row.find_element("css selector", "h3").text: row.text for row in seen.all(".row")}
    assert "Porto" in rows["Ana lives in"] and "another value took its place" in rows["Ana lives in"]
    seen.open("graph?entity=Ana")
    assert "Bosch" in seen.text(".graph-drawing") and "Marta" in seen.text("table")
    seen.open("hierarchy")
    seen.one(".tree summary").click()
    seen.one(".tree .tree li")
    seen.open("gate")
    assert "1–50 of 50" in seen.text(".pager")
    assert len(seen.all(".log tbody tr")) == len(seen.all(".curve circle")) == 50
    seen.open("conflicts")
    assert {one.text for one in seen.all(".sides .value")} == {"Bonn", "Kyoto"}
    assert str(served.memory.stats(user_id="default").messages) in seen.text("#live")


def test_both_clocks(page: Opens) -> None:
    """What held at another time is marked; what was believed before a statement came is what the list shows."""

    def fill(memory: Any) -> None:
        for text, at in (("{Ana|lives_in|Oslo}", 0), ("{Ana|lives_in|Porto}", 20)):
            memory.add(Message("user", text, day(at), "Ana"), user_id="default", now=day(at))
            memory.flush()

    seen, _ = page(fill)
    seen.open("timeline")
    assert "holds" in seen.one(".value-line", "Porto").get_attribute("class")
    world, known = seen.all(".clock input[type=range]")
    seen.run("arguments[0].focus()", world)
    seen.press("\ue010", "\ue012")  # End, arrow left: the last thousandth before the end
    seen.until(lambda: world.get_attribute("aria-valuetext") != "now")
    exact = seen.all(".exact input")[0]
    seen.run("arguments[0].value = '2024-01-10T00:00'; arguments[0].dispatchEvent(new Event('change'))", exact)
    assert "holds" in seen.one(".value-line", "Oslo").get_attribute("class")
    assert "past" in seen.one(".value-line", "Porto").get_attribute("class")
    exact = seen.all(".exact input")[1]
    seen.run(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))", exact, "2024-01-10T00:00"
    )
    seen.until(lambda: [one.text for one in seen.all(".value-line .value")] == ["Oslo"])
    assert known.get_attribute("aria-valuetext") != "now"
    seen.all(".exact button")[1].click()
    seen.one(".value-line", "Porto")


def test_an_answer_marks_its_evidence(page: Opens) -> None:
    """Offsets count code points; an emoji before them moves nothing."""
    seen, served = page()
    seen.open("search", fresh=True)
    seen.one("input[type=search]").send_keys("harbour boat number 17")
    seen.one("button.primary").click()
    seen.one(".answer")
    seen.one("button", "Search").click()
    seen.one(".list mark", "17")
    hits = served.memory.search("live in Oslo", user_id="default", top_k=3)
    assert any(hit.text.startswith("🏠") for hit in hits)
    seen.open("search?q=live+in+Oslo", fresh=True)
    assert seen.one(".list mark", "Oslo").text == "Oslo"
    text = "🏠🏠 in Oslo, 住在波尔图。"
    at = text.index("Oslo")
    shown = seen.later(
        "const {marked, found} = await import('/view/highlight.js');"
        "const told = (nodes) => nodes.filter((one) => one.tagName === 'MARK').map((one) => one.textContent);"
        f"const text = {text!r}, spans = [[[{at}, {at + 4}]], found(text, 'the oslo'), found(text, '波尔')];"
        "return spans.map((some) => told(marked(text, some)));"
    )
    assert shown == [["Oslo"], ["Oslo"], ["波尔"]]


def test_the_keyboard_goes_everywhere(page: Opens) -> None:
    seen, _ = page()
    seen.open("", fresh=True)
    tab, enter, escape = "\ue004", "\ue007", "\ue00c"
    seen.run("document.activeElement.blur()")
    seen.press(tab)
    assert seen.focused().startswith("a#skip")
    seen.press(enter)
    assert seen.focused().startswith("main#main")
    seen.run("document.querySelector('#nav a').focus()")
    seen.press(tab, tab)
    assert "Timeline" in seen.focused()
    seen.press(enter)
    seen.until(lambda: seen.focused().startswith("h1") and "Timeline" in seen.focused())
    seen.settle()
    seen.run("document.querySelector('.row h3 a').focus()")
    seen.press(enter)
    seen.until(lambda: "Graph" in seen.focused())
    seen.settle()
    middle = seen.text(".node.middle")
    seen.run("document.querySelector('.node:not(.middle)').focus()")
    seen.press(enter)
    seen.until(lambda: seen.all(".node.middle") and seen.text(".node.middle") != middle)
    seen.settle()
    seen.run("document.querySelector('table button').focus()")
    opener = seen.focused()
    seen.press(enter)
    seen.one("dialog[open] blockquote")
    seen.press(*[tab] * 8)
    assert seen.run("return !!document.activeElement.closest('dialog') || document.activeElement === document.body")
    seen.press(escape)
    seen.until(lambda: not seen.all("dialog"))
    assert seen.focused() == opener


def test_a_decision_is_taken_back(page: Opens) -> None:
    seen, served = page()
    seen.open("conflicts?changes=1")
    row = seen.one(".decision", "Porto")
    row.find_element("css selector", "button").click()
    seen.until(lambda: any("taken back" in one.text and "Porto" in one.text for one in seen.all(".decision")))
    stands = served.memory.facts(user_id="default", subject="Ana", relation="lives_in")
    assert [fact.object for fact in stands] == ["Oslo"]


def test_what_cannot_be_taken_back_says_why(page: Opens) -> None:
    """The server's own message stands beside the button."""
    seen, served = page()
    seen.open("conflicts")
    (decision,) = (one for one in served.memory.decisions(user_id="default") if one.object == "Porto")
    row = seen.one(".decision", "Porto")
    served.memory.undo(decision.id, user_id="default")  # elsewhere, in the meantime
    row.find_element("css selector", "button").click()
    assert "undone" in seen.one(".decision .problem").text


def test_a_message_is_hidden_and_restored(page: Opens) -> None:
    seen, served = page()
    seen.open("gate", fresh=True)
    seen.one(".log button", "boat number 9.").click()
    seen.one("dialog button", "Hide").click()
    seen.one("dialog .note", "hidden")
    assert seen.nameless() == seen.slips() == []
    assert not served.memory.search("boat number 9", user_id="default", where=lambda one: "number 9." in one.text)
    seen.one("dialog button", "Restore").click()
    seen.until(lambda: not seen.all("dialog .note"))
    assert "restore" in seen.text("dialog")
    seen.one("dialog button", "Erase…").click()
    seen.one("dialog input").send_keys("erase\ue007")
    seen.one("dialog .receipt")
    seen.press("\ue007")
    seen.until(lambda: "1–49 of 49" in seen.text(".pager") and "boat number 9." not in seen.text(".log"))


def test_a_message_is_erased_with_a_receipt(page: Opens) -> None:
    seen, served = page()
    seen.open("erasure", fresh=True)
    seen.one("input[type=search]").send_keys("Bosch")
    seen.one("button.primary").click()
    seen.one(".list button.danger").click()
    go = seen.one("dialog button.filled")
    assert "Bosch" in seen.text("dialog") and not go.is_enabled()
    seen.one("dialog input").send_keys("eras")
    assert not go.is_enabled()
    seen.one("dialog input").send_keys("e\ue007")
    receipt = seen.one("dialog .receipt")
    assert "No byte of it was found" in receipt.text and "store.db" in receipt.text
    assert seen.focused().startswith("button") and "Close" in seen.focused()
    seen.shot("receipt-1400")
    seen.press("\ue007")
    seen.one("#receipts")
    left = served.memory.log(user_id="default")
    assert len(left) == 49 and not any("Bosch" in one.text for one in left)
    assert not served.memory.facts(user_id="default", subject="Marta", archived=True)


def test_all_of_a_user_is_erased_by_the_typed_name(page: Opens) -> None:
    seen, served = page()
    served.memory.add("Another's.", user_id="other")
    seen.open("erasure", fresh=True)
    seen.one("button", "Erase everything…").click()
    seen.one("dialog input").send_keys("default\ue007")
    assert "all of default" in seen.one("dialog .receipt").text
    assert not served.memory.log(user_id="default") and served.memory.log(user_id="other")


def test_counts_follow_what_is_added(page: Opens) -> None:
    seen, served = page(lambda memory: memory.add("The first.", user_id="default"))
    seen.open("", fresh=True)
    assert "1 message" in seen.one("#live-messages", "1 message").text
    seen.one("textarea").send_keys("From the page itself.")
    seen.one("button.primary").click()
    seen.one("#live-messages", "2 messages")
    served.memory.add("From elsewhere.", user_id="default")
    seen.one("#live-messages", "3 messages")
    seen.has("From elsewhere.")


def test_an_empty_memory_says_what_to_do(page: Opens) -> None:
    seen, _ = page(lambda _: None)
    for view in VIEWS:
        seen.open(view)
        if view != "erasure":
            assert len(seen.one(".empty").text.split()) > 4, view
    seen.open("search?q=anything", fresh=True)
    assert "Nothing was found" in seen.text()
    assert seen.messages() == []


def test_a_token_opens_the_page_and_bounds_it(page: Opens) -> None:
    seen, served = page(lambda memory: memory.add("Ana's own.", user_id="ana"))
    reader = served.token("ana", "read")["Authorization"].removeprefix("Bearer ")
    seen.open("", fresh=True)
    field = seen.one("dialog input[type=password]")
    seen.press("\ue00c")  # Escape does not pass by
    field.send_keys("nscma_guess\ue007")
    assert "not known" in seen.one("dialog .problem").text
    seen.one("dialog input[type=password]").send_keys(f"{reader}\ue007")
    seen.has("Ana's own.")
    assert "ana" in seen.text("#whose") and not seen.all("#whose input")
    assert not seen.all("textarea")
    seen.one("main button", "Details").click()
    assert {one.text for one in seen.all("dialog .actions > *")} == {"Show it in its conversation"} or seen.until(
        lambda: {one.text for one in seen.all("dialog .actions > *")} == {"Show it in its conversation"}
    )
    seen.open("erasure")
    assert "does not give the right to erase" in seen.text()
    kept = seen.run("return [document.cookie, localStorage.length, Object.values({...sessionStorage})]")
    assert kept[:2] == ["", 0] and reader in kept[2]
    assert not any(reader in url for url in seen.requests())
    messages = [one for one in seen.messages() if "401" not in one]
    assert messages == []


def test_a_token_for_any_user_chooses_whose_memory(page: Opens) -> None:
    def fill(memory: Any) -> None:
        memory.add("Ana's own.", user_id="ana", agent_id="scout")
        memory.add("Ben's own.", user_id="ben")

    seen, served = page(fill)
    token = served.token(None)["Authorization"].removeprefix("Bearer ")
    seen.open("", fresh=True)
    seen.one("dialog input[type=password]").send_keys(f"{token}\ue007")
    seen.has("Ana's own.")
    assert [one.text for one in seen.all("#whose option")][-2:] == ["all", "scout"]
    user = seen.one("#whose input")
    user.clear()
    user.send_keys("ben\ue007")
    seen.has("Ben's own.")
    assert "Ana's own." not in seen.text()


def test_a_server_that_is_away_is_said(page: Opens) -> None:
    seen, _ = page()
    seen.open("timeline")
    seen.command("Network.enable")
    seen.command("Network.setBlockedURLs", urls=["*/v1/*"])
    try:
        seen.open("graph", wait=False)
        assert "not reached" in seen.one(".problem").text
    finally:
        seen.command("Network.setBlockedURLs", urls=[])
    seen.one(".problem button", "Try again").click()
    seen.settle()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_schemes(page: Opens, scheme: str) -> None:
    seen, _ = page(lambda memory: memory.add("Seen by day and by night.", user_id="default"))
    seen.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    try:
        seen.open("", fresh=True)
        ground = seen.run("return getComputedStyle(document.body).backgroundColor")
        light = sum(int(one) for one in ground.removeprefix("rgb(").rstrip(")").split(",")) > 380
        assert light is (scheme == "light")
        seen.shot(f"scheme-{scheme}")
    finally:
        seen.command("Emulation.setEmulatedMedia", features=[])
