"""The files of the page over HTTP and as they are: policy, types, nothing from elsewhere, enough contrast."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from nscma_torch.server.view import files, route_group
from tests.server.conftest import Served

FOLDER = Path(str(resources.files("nscma_torch.server.view"))) / "page"
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir() if path.suffix in (".html", ".js")}
STYLE = (FOLDER / "style.css").read_text(encoding="utf-8")
PAGES = files.load()


def test_every_file_is_served_without_a_token_and_under_the_policy(served: Callable[..., Served]) -> None:
    server = served(route_groups=[route_group])
    server.token("ana")
    for path, file in PAGES.items():
        got = server.client.get(path)
        assert (got.status_code, got.content) == (200, file.content), path
        assert got.headers["content-type"] == file.type
        assert got.headers["x-content-type-options"] == "nosniff"
        policy = dict(one.split(" ", 1) for one in got.headers["content-security-policy"].split("; "))
        assert set(policy) >= {"default-src", "script-src", "style-src", "connect-src", "frame-ancestors"}
        assert {policy[one] for one in ("default-src", "script-src", "style-src", "connect-src")} == {"'self'"}
        assert {policy[one] for one in ("object-src", "base-uri", "form-action", "frame-ancestors")} == {"'none'"}
        assert "unsafe" not in got.headers["content-security-policy"]
        assert server.client.head(path).status_code == 200
        assert server.client.get(path, headers={"if-none-match": got.headers["etag"]}).status_code == 304
        assert server.client.post(path).status_code == 401
    assert set(PAGES) >= {"/", "/view/main.js", "/view/style.css", "/view/icon.svg"}


def test_nothing_else_is_served_beside_them(served: Callable[..., Served]) -> None:
    server = served(route_groups=[route_group])
    for path in ("/view", "/view/", "/view/index.html", "/view/..%2froutes.py", "/view/%2e%2e/files.py", "/view/x.js"):
        assert server.client.get(path).status_code == 404, path
    server.token("ana")
    assert server.client.get("/view/x.js").status_code == 401
    assert server.client.get("/", headers={"host": "elsewhere.example"}).status_code == 403


def test_the_page_names_only_files_that_there_are() -> None:
    html = SOURCES["index.html"]
    named = set(re.findall(r'(?:href|src)="(view/[^"]+)"', html))
    assert named and {f"/{one}" for one in named} <= set(PAGES)
    for name, text in SOURCES.items():
        for other in re.findall(r'from "\./([^"]+)"', text):
            assert other in SOURCES, f"{name} imports {other}"
    reached, waiting = {"index.html", "main.js"}, ["main.js"]
    while waiting:
        for other in re.findall(r'from "\./([^"]+)"', SOURCES[waiting.pop()]):
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    assert reached == set(SOURCES), "a script that nothing imports"


def test_what_is_imported_is_there_and_used() -> None:
    for name, text in SOURCES.items():
        for names, other in re.findall(r'import \{ ([^}]+) \} from "\./([^"]+)"', text):
            for one in names.split(", "):
                assert re.search(rf"export (?:async )?(?:function|const|class) {one}\b", SOURCES[other]), (name, one)
                assert len(re.findall(rf"\b{one}\b", text)) > 1, f"{name} imports {one} for nothing"


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_no_source_parses_text_or_reaches_elsewhere(name: str) -> None:
    text = SOURCES[name].replace("http://www.w3.org/2000/svg", "")
    for never in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"):
        assert never not in text, never
    for never in ("http://", "https://", "localStorage", "document.cookie", "indexedDB", "style=", "javascript:"):
        assert never not in text, never
    if name == "index.html":
        assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=", text)


def _colours(block: str) -> dict[str, str]:
    return {name: value.lower() for name, value in re.findall(r"--([\w-]+): (#[0-9a-fA-F]{3,6})", block)}


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(one * 2 for one in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_have_the_contrast_of_wcag_aa(dark: bool) -> None:
    """4.5 to 1 for texts, 3 to 1 for the lines of controls (WCAG 2.2, 1.4.3 and 1.4.11)."""
    light, night = re.findall(r":root \{(.*?)\}", STYLE, flags=re.DOTALL)
    colours = _colours(light) | (_colours(night) if dark else {})
    grounds = ("ground", "surface", "sunken")
    texts = [(one, ground, 4.5) for one in ("text", "muted", "accent", "bad") for ground in grounds]
    texts += [(one, f"{one}-soft", 4.5) for one in ("accent", "good", "wait", "bad")]
    texts += [("on-accent", "accent", 4.5), ("surface", "bad", 4.5), ("text", "mark", 4.5)]
    texts += [("strong-line", ground, 3.0) for ground in ("ground", "surface")]
    for front, back, least in texts:
        one, other = sorted((_luminance(colours[front]), _luminance(colours[back])), reverse=True)
        assert (one + 0.05) / (other + 0.05) >= least, (front, back)
