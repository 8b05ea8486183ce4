"""The page as a tool, in a real Chromium: editing, hiding, erasing, facts, files, questions, and what a reader may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import NOT_SURE, Answer, Evidence, Message
from tests.helpers.noting import day

ESCAPE, ENTER, TAB = "\ue00c", "\ue007", "\ue004"
HOSTILE = "<img src=x onerror=window.pwned=1></textarea><script>window.pwned=1</script>"


def told(memory: Memory, n: float, text: str, name: str = "Ana") -> str:
    return memory.add(Message("user", text, day(n), name), user_id="default")[0].id


def employed(memory: Memory) -> None:
    """A manager who is in doubt, since the employer has changed; two names that may mean one."""
    told(memory, 0, "I work at Bosch {Ana|works_at|Bosch}.")
    told(memory, 1, f"My manager is Petra {{Ana|manager|Petra}}. {HOSTILE}")
    told(memory, 60, "I work at Siemens now {Ana|works_at|Siemens}.")
    told(memory, 61, "{Konstantin|lives_in|Lima}")
    told(memory, 62, "{Konstantyn|lives_in|Lima}")
    memory.flush()
    memory.sleep(user_id="default")


def the(memory: Memory, words: str) -> Any:
    (found,) = (one for one in memory.log(user_id="default") if words in one.text)
    return found


def rewrite(seen: Any, text: str) -> None:
    """Put a text in the place of the one in the form."""
    seen.run("const a = document.querySelector('dialog textarea'); a.value = ''; a.focus()")
    seen.press(text)


def test_a_message_is_edited_hidden_restored_and_erased_by_keyboard(page: Callable[..., Any]) -> None:
    seen, served = page(employed)
    memory = served.memory
    seen.open("gate", fresh=True)
    seen.run("arguments[0].focus()", seen.one(".log button", "Petra"))
    seen.press(ENTER)
    seen.one("dialog button", "Edit")
    assert seen.text("dialog blockquote").endswith(HOSTILE) and seen.focus() == "Message"

    seen.press(TAB, ENTER)  # the first control is Edit
    assert seen.run("return document.activeElement.value").endswith(HOSTILE)
    seen.press("Not yet saved.", ESCAPE)
    assert "not saved" in seen.one("dialog [role=alert]", "saved").text
    seen.press(ESCAPE)  # gives the change up, and leaves the dialog open
    seen.until(lambda: not seen.all("dialog textarea"))
    assert seen.focus() == "Edit" and the(memory, "Petra").text.endswith(HOSTILE)

    seen.press(ENTER)
    rewrite(seen, "My manager is Paul {Ana|manager|Paul}.")
    seen.driver.switch_to.active_element.send_keys("\ue009" + ENTER)  # Ctrl+Enter
    seen.one("dialog .note.good", "Saved")
    edited = the(memory, "Paul")
    assert [one.event for one in memory.history(edited.id, user_id="default")] == ["ADD", "UPDATE"]
    assert HOSTILE in seen.text("dialog .before")

    seen.one("dialog button", "Hide").click()
    seen.one("dialog button", "Restore")
    assert the(memory, "Paul").status == "deleted"
    seen.one("dialog button", "Restore").click()
    seen.one("dialog .note.good", "Restored")
    assert the(memory, "Paul").status == "active"
    seen.one("dialog button", "Helpful").click()
    seen.one("dialog .badge", "feedback")
    memory.flush()

    seen.one("dialog button", "Erase…").click()
    plan = seen.one("dialog .will-go", "fact").text
    assert "with its earlier texts" in plan and "Ana manager Paul" in plan
    assert seen.all("dialog button.filled")[0].get_attribute("disabled")
    seen.press("erase", ENTER)
    seen.one("dialog .receipt", "No byte of it was found")
    seen.press(ESCAPE)
    seen.until(lambda: not seen.all("dialog"))
    assert seen.focus() == "Gate"
    assert not any("Paul" in one.text or "Petra" in one.text for one in memory.log(user_id="default"))
    assert seen.run("return window.pwned") is None and seen.messages() == []


def test_a_change_of_another_tab_is_not_overwritten_unseen(page: Callable[..., Any]) -> None:
    seen, served = page(lambda memory: told(memory, 0, "We meet on Monday."))
    memory, key = served.memory, the(served.memory, "Monday").id
    seen.open("", fresh=True)
    seen.one("main button", "Details").click()
    seen.one("dialog button", "Edit").click()
    memory.update(key, "We meet on Tuesday. <b>", user_id="default")  # the other tab
    rewrite(seen, "We meet on Friday.")
    seen.one("dialog button", "Save").click()
    assert "We meet on Tuesday. <b>" in seen.one("dialog .conflict").text
    assert the(memory, "We meet").text == "We meet on Tuesday. <b>"
    seen.one("dialog button", "Edit the new text").click()
    assert seen.run("return document.querySelector('dialog textarea').value") == "We meet on Tuesday. <b>"
    memory.update(key, "We meet on Sunday.", user_id="default")
    rewrite(seen, "We meet on Friday.")
    seen.one("dialog button", "Save").click()
    assert "Sunday" in seen.one("dialog .conflict").text
    seen.one("dialog button", "Save mine instead").click()
    seen.one("dialog .note.good", "Saved")
    assert the(memory, "We meet").text == "We meet on Friday."

    update = memory.update

    def late(memory_id: str, *args: Any, **options: Any) -> Any:
        update(memory_id, "We meet at noon.", user_id="default")  # between the page's check and its change
        return update(memory_id, *args, **options)

    seen.one("dialog button", "Edit").click()
    rewrite(seen, "We meet on Saturday.")
    memory.update = late
    seen.one("dialog button", "Save").click()
    assert "yours replaced it" in seen.one("dialog .note.warn").text
    assert "We meet at noon." in seen.text("dialog")


def test_a_fact_is_shown_with_its_doubt_and_its_decision_undone(page: Callable[..., Any]) -> None:
    seen, served = page(employed)
    memory = served.memory
    seen.open("timeline?text=Ana", fresh=True)
    seen.one(".value-line .badge.wait", "in doubt")
    seen.run("arguments[0].focus()", seen.one("button[aria-label='History of Ana manager']"))
    seen.press(ENTER)
    said = seen.one("dialog .values").text
    assert 'when "Ana works at Bosch" ended' in said
    assert all(one in said for one in ("Petra", "holds", "held in the world", "since 2 Jan 2024", "believed here"))
    seen.press(ESCAPE)
    seen.until(lambda: not seen.all("dialog"))
    assert seen.focus() == "History of Ana manager"

    seen.one("button[aria-label='History of Ana works at']").click()
    assert "1 Jan 2024 to 1 Mar 2024" in seen.one("dialog .values").text
    seen.one("dialog button[aria-label='Undo: replaced ana works at Siemens']").click()
    seen.until(lambda: "Siemens" not in seen.text("dialog .values"))
    assert [one.object for one in memory.facts(user_id="default", relation="works_at")] == ["Bosch"]
    seen.press(ESCAPE)
    seen.until(lambda: not seen.all("dialog") and not seen.all(".value-line .badge.wait"))

    seen.open("graph?entity=Konstantin", fresh=True)
    seen.one("button", "Merge them").click()
    seen.until(lambda: not [one for one in seen.all("button") if one.text == "Merge them"])
    assert len({one.subject for one in memory.facts(user_id="default", relation="lives_in")}) == 1
    seen.open("conflicts", fresh=True)
    seen.one("section", "No proposals")
    seen.one("button[aria-label^='Undo: merged']").click()
    seen.one("button", "They differ").click()
    seen.one("section", "No proposals")
    assert {one.subject for one in memory.facts(user_id="default", relation="lives_in")} == {"Konstantin", "Konstantyn"}
    assert seen.messages() == []


def test_files_are_added_and_the_result_says_what_became_of_them(page: Callable[..., Any], tmp_path: Any) -> None:
    config = {"redaction": {"kinds": ["email", "card"]}, "limits": {"max_message_bytes": 4000}}
    seen, served = page(Memory.flush, config=config)  # which is empty
    chosen = tmp_path / "notes.md"
    chosen.write_text("# Notes\n\nMail me at ana@example.org.\n\n## Plan\n\nBuy bread.\n")
    seen.open("", width=400, fresh=True)
    seen.one("input[type=file]").send_keys(str(chosen))
    seen.one("dialog button", "Close")
    said = seen.text("dialog")
    assert "2 messages added: 2 written" in said and "Masked before it was stored: 1 email." in said
    assert [one.text for one in served.memory.log(user_id="default")] == [
        "# Notes\n\nMail me at [email].",
        "## Plan\n\nBuy bread.",
    ]
    assert served.memory.log(user_id="default")[0].source == "notes.md"
    seen.press(ENTER)
    seen.until(lambda: not seen.all("dialog"))

    far = '{"role": "user", "content": "From the future.", "timestamp": "2999-01-01T00:00:00Z"}'
    lines = [f'{{"role": "user", "content": "Line {i}."}}' for i in range(3)]
    files = (
        ("notes.md", chosen.read_text()),
        (f"{HOSTILE[:33]}.txt", HOSTILE),
        ("chat.jsonl", "\n".join([*lines, far])),
        ("tool.exe", "x"),
    )
    seen.drop(*files)
    seen.one("dialog button", "Close")
    known, hostile, chat, tool = (one.text for one in seen.all("dialog .outcome"))
    assert "2 messages known already" in known and "1 message added" in hostile
    assert "3 messages added" in chat and "1 message refused" in chat and "From the future." in chat
    assert "in the future" in chat and "Refused: files of type '.exe' are not supported" in tool
    assert the(served.memory, "<script>").source == f"{HOSTILE[:33]}.txt"
    assert seen.run("return window.pwned") is None and seen.run("return document.documentElement.scrollWidth") <= 400
    assert not [one for one in seen.messages() if "/v1/" not in one]  # what was refused is logged by the browser


def test_an_answer_has_its_mark_its_evidence_and_its_trace(page: Callable[..., Any], monkeypatch: Any) -> None:
    seen, served = page(lambda memory: told(memory, 0, f"I live in Oslo. {HOSTILE}"))
    (hit,) = served.memory.search("Oslo", user_id="default")
    evidence = Evidence(hit, "I live in Oslo.", 0, 15, 0.9)
    answers = [
        Answer(f"Oslo{NOT_SURE}\n“I live in Oslo.”", False, 0.4, (evidence,), ("asked the reader",), quotes=1),
        Answer("I don't know", True, 0.1, (), ("asked the reader",)),
    ]
    asked: list[str] = []

    def ask(question: str, **_: Any) -> Answer:
        asked.append(question)
        return answers[min(len(asked), len(answers)) - 1]

    monkeypatch.setattr(served.memory, "ask", ask)
    seen.open("search", fresh=True)
    seen.run("arguments[0].focus()", seen.one("input[type=search]"))
    seen.press("Where do I live?", ENTER)
    assert seen.one(".answer-text").text == "Oslo not sure"
    assert seen.one(".results mark").text == "I live in Oslo." and HOSTILE in seen.text(".results .said")
    assert "asked the reader" not in seen.text(".results")
    seen.one("summary", "How it was found").click()
    assert "asked the reader" in seen.text(".results")
    seen.one(".results button", "Open the message").click()
    seen.one("dialog button", "Hide").click()  # asks again, since what it rested on is gone
    seen.until(lambda: "I don't know" in seen.text(".results"))
    assert "Nothing stored answers it." in seen.text(".results") and asked == ["Where do I live?"] * 2
    assert seen.run("return window.pwned") is None


def test_a_token_that_may_only_read_sees_no_controls_and_is_refused(page: Callable[..., Any]) -> None:
    seen, served = page(employed)
    token = served.token("default", "read")["Authorization"].removeprefix("Bearer ")
    key, decision = the(served.memory, "Petra").id, served.memory.decisions(user_id="default")[0].id
    seen.open("", fresh=True, wait=False)
    seen.one("dialog input[type=password]")
    seen.press(ESCAPE)
    seen.one("main .problem button", "Try again").click()
    seen.one("dialog input[type=password]").send_keys(token, ENTER)
    seen.one(".tiles .tile")
    seen.settle()
    assert not seen.all("textarea, input[type=file]")
    seen.drop(("notes.txt", "A note."))
    assert "lacks the right to write" in seen.one("dialog").text
    seen.press(ENTER)
    seen.until(lambda: not seen.all("dialog"))
    seen.one("main button", "Details").click()
    seen.one("dialog .id")
    assert not {"Edit", "Hide", "Erase…", "Helpful"} & {one.text for one in seen.all("dialog button")}
    seen.press(ESCAPE)
    for view in ("conflicts", "graph?entity=Konstantin", "erasure"):
        seen.open(view)
        assert not {"Undo", "Merge them", "Sleep now", "Erase everything…"} & {one.text for one in seen.all("button")}
    before = served.memory.digest()
    for method, path, body in (
        ("PATCH", f"v1/messages/{key}", {"text": "Other."}),
        ("DELETE", f"v1/messages/{key}", None),
        ("POST", f"v1/messages/{key}/restore", None),
        ("POST", f"v1/decisions/{decision}/undo", None),
        ("POST", "v1/view/file?name=notes.txt", {"a": 1}),
        ("POST", "v1/erase", {"memory_id": key}),
    ):
        status, said = seen.run(
            """
            const [method, path, body] = arguments;
            const headers = { "Authorization": `Bearer ${sessionStorage.getItem("nscma.token")}` };
            if (body) headers["Content-Type"] = "application/json";
            const got = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
            return [got.status, (await got.json()).detail];
            """,
            method,
            path,
            body,
        )
        assert status == 403 and "the token lacks the right to" in said, path
    assert served.memory.digest() == before


@pytest.mark.parametrize(
    ("scheme", "views"), [("light", ("", "timeline?text=Ana", "conflicts")), ("dark", ("erasure", "search?q=Petra"))]
)
def test_it_works_by_keyboard_at_400_pixels(page: Callable[..., Any], scheme: str, views: tuple[str, ...]) -> None:
    """Tab goes through every control once, each with a name and a visible focus, and back to the browser."""
    seen, _ = page(employed)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    seen.command("Emulation.setEmulatedMedia", features=features)
    try:
        for view in views:
            seen.open(view, width=400, fresh=True)
            check_controls(seen, "body", view)
        seen.open("gate", width=400, fresh=True)
        seen.one(".log button", "Petra").click()
        seen.one("dialog button", "Edit").click()
        check_controls(seen, "dialog", "message")
    finally:
        seen.command("Emulation.setEmulatedMedia", features=[])


CONTROLS = """
return [...document.querySelector(arguments[0]).querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter((one) => one.checkVisibility() && !one.disabled).length
"""
FOCUSED = """
const one = document.activeElement;
const style = getComputedStyle(one);
window.walked ??= new Set();
const part = one === window.last; // of a date, which is one control whose button has its own outline
const again = window.walked.has(one) && !part;
window.walked.add(one);
window.last = one;
const box = one.getBoundingClientRect();
return [again, one === document.body, part || style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
  box.left >= -1 && box.right <= innerWidth + 1, one.outerHTML.slice(0, 120)];
"""


def check_controls(seen: Any, within: str, where: str) -> None:
    assert seen.run("return document.documentElement.scrollWidth <= innerWidth"), where
    nodes = seen.command("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "slider", "dialog", "progressbar"}
    unnamed = [
        one["role"]["value"]
        for one in nodes
        if not one.get("ignored") and one["role"]["value"] in roles and not one.get("name", {}).get("value")
    ]
    assert unnamed == [], where
    expected = seen.run(CONTROLS, within)
    seen.run("window.walked = undefined; document.querySelector(arguments[0]).focus()", within)
    for _ in range(3 * expected + 20):
        seen.tab()
        again, outside, outlined, inside, what = seen.run(FOCUSED)
        if again or outside:
            break
        assert outlined and inside, (where, what)
    walked = seen.run("window.walked.delete(document.body); return window.walked.size")
    assert walked >= expected, (where, walked, expected)
