"""Stored markup and script stay text in every view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Message
from tests.helpers.noting import day
from tests.server.view.browser import VIEWS

CORPUS = (
    "<script>window.pwned = 1</script>",
    "<img src=x onerror=window.pwned=1>",
    '"><svg onload=window.pwned=1>',
    "'><iframe srcdoc='<script>parent.pwned=1</script>'>",
    "<a href=javascript:window.pwned=1>here</a>",
    "</title><style>*{display:none}</style>",
    "<details open ontoggle=window.pwned=1>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=window.pwned=1>",
    "{{constructor.constructor('window.pwned=1')()}} ${window.pwned=1}",
    "&lt;b&gt; &#60;script&#62; %3Cscript%3E \\u003cscript\\u003e",
    "<base href=https://elsewhere.example/><link rel=stylesheet href=//elsewhere.example/x.css>",
    "\u202e\u2066rtl<b>\u0007\u200b",
    "__proto__",
    "constructor",
)
USER = '"><img src=x onerror=window.pwned=1>'
_NAME = "<u>{}</u>"


def fill(memory: Memory) -> None:
    for i, text in enumerate(CORPUS):
        subject, value = f"<i onclick=window.pwned=1>{i}</i>", text.translate({ord(c): " " for c in "{}|"})
        said = f"{text} {{{subject}|favourite/<b>{i}</b>|{value}}} {{{subject}|lives_in|{value}}}"
        message = Message("user", said, day(i), text[:60] if text.isprintable() else _NAME, f"<s>{i}</s>")
        memory.add(message, user_id=USER, agent_id="<em>agent</em>", metadata={text: text})
        elsewhere = f"{{{subject}|lives_in|<h1>Oslo {i}</h1>}}"
        memory.add(Message("user", elsewhere, day(i), "Ben"), user_id=USER, agent_id="<em>agent</em>")
    memory.flush()
    memory.sleep(user_id=USER)


FOREIGN = ", ".join(
    f"main {tag}" for tag in ("script", "img", "style", "base", "math", "i", "u", "em", "b", "s", "iframe")
)


def test_stored_markup_stays_text(page: Callable[..., Any]) -> None:
    seen, served = page(fill)
    seen.open("", fresh=True)
    seen.until(lambda: seen.all("#whose input"))
    seen.until(lambda: seen.run("return document.querySelector('#whose input').value") == USER)

    def check(where: str) -> None:
        assert seen.run("return window.pwned") is None, where
        assert [one.tag_name for one in seen.all(FOREIGN)] == [], where
        assert seen.run("return document.documentElement.scrollWidth <= innerWidth"), where

    for view in VIEWS:
        seen.open(view if view != "search" else "search?q=script+onerror", width=380)
        check(view)
        assert view != "search" or "<script>" in seen.text(".results")
    facts = served.memory.facts(user_id=USER)
    assert len(facts) > len(CORPUS)
    for fact in facts[:2]:
        seen.run("location.hash = `#/graph?entity=${encodeURIComponent(arguments[0])}`", fact.subject)
        seen.until(lambda: seen.all(".node.middle"))
        seen.settle()
        check(fact.subject)
    opened = seen.all("main button[data-opens^='history of' i]")
    seen.run("arguments[0].click()", opened[0])
    seen.one("dialog .values")
    seen.settle()
    check("a fact")
    seen.press("\ue00c")
    seen.until(lambda: not seen.all("dialog"))
    seen.open("gate")
    for button in seen.all(".log tbody tr:nth-child(odd) button")[:3]:
        seen.run("arguments[0].click()", button)
        said = seen.one("dialog blockquote").text
        check(said)
        assert any(said.startswith(text.split()[0]) for text in CORPUS)
        seen.one("dialog button", "Edit").click()
        assert seen.run("return document.querySelector('dialog textarea').value").split() == said.split()
        check(said)
        seen.press("\ue00c")
        seen.one("dialog button", "Erase…").click()
        seen.one("dialog .will-go")
        check(said)
        seen.press("\ue00c")
        seen.until(lambda: len(seen.all("dialog")) == 1)
        seen.press("\ue00c")
        seen.until(lambda: not seen.all("dialog"))
    seen.one(".chooser summary").click()
    seen.one(".choice")
    check("conversations")
    assert seen.messages() == []
    assert all(url.startswith(f"{seen.base}/") for url in seen.requests())
