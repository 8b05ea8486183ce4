"""HTML and SVG as a tree, so that all text in it is escaped when it is written."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

Element = ET.Element
Child = Element | str


def element(tag: str, *children: Child | Iterable[Child], **attributes: str | float) -> Element:
    """An element; `class_` is the attribute class, and other underscores are hyphens. Numbers have two decimals."""
    named = {key.rstrip("_").replace("_", "-"): _told(value) for key, value in attributes.items()}
    made = ET.Element(tag, named)
    last: Element | None = None
    for child in _flat(children):
        if isinstance(child, str):
            if last is None:
                made.text = (made.text or "") + child
            else:
                last.tail = (last.tail or "") + child
        else:
            made.append(child)
            last = child
    return made


def page(root: Element) -> str:
    """The text of a page."""
    return "<!doctype html>\n" + ET.tostring(root, encoding="unicode", method="html") + "\n"


def _flat(children: Iterable[Child | Iterable[Child]]) -> Iterable[Child]:
    for child in children:
        if isinstance(child, str | Element):
            yield child
        else:
            yield from child


def _told(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
