"""Gemini's activity in Google Takeout."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nscma_torch.core.errors import InvalidInputError, MalformedInputError
from nscma_torch.core.records import Message
from tests.compat.exports.conftest import Reading


def activity(title, time="2025-01-15T10:00:00.250Z", html="", conversation="", **more):
    own = {"header": "Gemini Apps", "title": title, "time": time, "products": ["Gemini Apps"]}
    if html:
        own["safeHtmlItem"] = [{"html": html}]
    if conversation:
        own["details"] = [{"name": "chat", "url": f"https://gemini.google.com/app/{conversation}"}]
    return own | more


ACTIVITIES = [
    activity("Prompted And Porto?", "2025-01-15T10:01:00.000Z", "<p>In <b>Portugal</b>.</p>", "3f2a1b9c00000000"),
    activity("Prompted Where is Leeds?", html="<p>In Yorkshire.</p><ul><li>North</li></ul>"),
    activity("Gave feedback: Good response"),
    activity("Searched for shoes", header="Search", products=["Search"]),
    activity("Leeds について教えて", "2025-01-14T09:00:00Z", "<p>はい</p>"),
    activity("Something in another language", "2025-01-14T09:00:00Z"),
    activity("Said hello", "soon"),
    None,
]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("Takeout/My Activity/Gemini Apps/MyActivity.json", "t.zip"),
        ("내 활동/Gemini 앱/내활동.json", "Takeout"),
        ("MyActivity.json", "g"),
    ],
)
def test_gemini(files, path, name):
    found = Reading("gemini", files({path: ACTIVITIES, "Takeout/My Activity/Search/MyActivity.json": "{"}, name=name))
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "hello"),
        ("user", "Leeds について教えて"),
        ("assistant", "はい"),
        ("user", "Where is Leeds?"),
        ("assistant", "In Yorkshire.\n\n* North"),
        ("user", "And Porto?"),
        ("assistant", "In **Portugal**."),
    ]
    assert found.messages[5].session == "Gemini (3f2a1b9c)"
    assert found.messages[3] == Message(
        "user",
        "Where is Leeds?",
        datetime(2025, 1, 15, 10, 0, 0, 250000, UTC),
        session="Gemini 2025-01-15",
        idempotency_key=found.keys[3],
    )
    assert len(set(found.keys)) == 7
    assert "left out: 2 activities that are not prompts, 1 activities of other products" in found.reports
    assert any("'soon' is not a time" in one for one in found.reports)
    assert any("activity 8 is not an object" in one for one in found.reports)


def test_a_newer_export_keeps_the_keys(files):
    older = Reading("gemini", files({"MyActivity.json": ACTIVITIES}, name="a"))
    branched = activity("Branched Where is Leeds?", html="<p>In Yorkshire.</p>", conversation="aaaaaaaaaaaaaaaa")
    newest = activity("Prompted Where is Leeds?", "2025-02-01T00:00:00Z")
    newer = Reading("gemini", files({"MyActivity.json": [newest, ACTIVITIES[0], branched]}, name="b"))
    assert newer.keys[:4] == older.keys[3:] and newer.keys[4] not in older.keys


def test_what_cannot_be_read(files):
    with pytest.raises(InvalidInputError, match="the format JSON"):
        Reading("gemini", files({"My Activity/Gemini Apps/MyActivity.html": "<html>"}))
    with pytest.raises(MalformedInputError, match="not a list"):
        Reading("gemini", files({"MyActivity.json": {}}, name="b"))
    with pytest.raises(InvalidInputError, match="--zone does not apply"):
        Reading("gemini", files({"MyActivity.json": ACTIVITIES}, name="c"), zone="Europe/Rome")
    attached = {"Gemini Apps/MyActivity.json": ACTIVITIES[:1], "Gemini Apps/data-1.json": {"a": 1}}
    assert len(Reading("gemini", files(attached, name="d")).messages) == 2
