"""WhatsApp's chats: forms of iOS and Android, clocks, orders of dates, lines that continue, system lines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from nscma_torch.compat.exports import archives
from nscma_torch.core.errors import EmptyTextError, InvalidInputError, MalformedInputError, TextTooLargeError
from tests.compat.exports.conftest import Reading

IOS = (
    "\ufeff[31.12.23, 23:59:07] Ana & Bob: \u200eMessages and calls are end-to-end encrypted.\r\n"
    "[31.12.23, 23:59:08] Ana: Happy new year!\r\n\r\nSee you on the 2nd?\r\n"
    "\u200e[01.01.24, 00:01:00] ~\u202fBob: \u200eimage omitted\r\n"
    "[01.01.24, 00:01:10] ~\u202fBob: Look \u200e<attached: 00000012-PHOTO.jpg>\r\n"
    "[01.01.24, 00:02:00] Ana: @\u2068Bob\u2069 nice \u200e<This message was edited>\r\n"
    "[01.01.24, 00:02:00] Ana: \u200eYou deleted this message.\r\n"
)
ANDROID = (
    "12/31/23, 11:59\u202fPM - Messages and calls are end-to-end encrypted. Tap to learn more.\n"
    "12/31/23, 11:59\u202fPM - Bob changed the subject from “A: b” to “C”\n"
    "12/31/23, 11:59\u202fPM - Ana: ok\n"
    "12/31/23, 11:59\u202fPM - Ana: ok\n"
    "1/1/24, 12:05\u202fAM - Bob: <Media omitted>\n"
    "1/1/24, 12:06\u202fAM - Bob: IMG-20240101-WA0001.jpg (file attached)\nThe lake\n"
    "1/1/24, 1:00\u202fPM - Bob: I moved: to Rome\n"
)


def test_ios(files):
    path = files({"_chat.txt": IOS}, name="WhatsApp Chat - Ana & Bob.zip")
    found = Reading("whatsapp", path, me=["ana"], zone="Europe/Berlin")
    assert found.said == [
        ("user", None, "Happy new year!\n\nSee you on the 2nd?"),
        ("user", "Bob", "Look"),
        ("user", None, "@Bob nice"),
    ]
    first, second, _ = found.messages
    assert first.timestamp == datetime(2023, 12, 31, 22, 59, 8, tzinfo=UTC)
    assert first.timestamp.utcoffset() == timedelta(hours=1)
    assert first.session == "Ana & Bob (WhatsApp)" and first.metadata == {"title": "Ana & Bob", "speaker": "Ana"}
    assert second.metadata == {"title": "Ana & Bob"}
    assert found.reports == ["left out: 3 media, calls and deleted messages"]


def test_android(files):
    path = files({"WhatsApp Chat with Bob (1).txt": ANDROID, "Notes.txt": "not a chat"})
    found = Reading("whatsapp", path, me=["Ana"])
    assert found.said == [
        ("user", None, "ok"),
        ("user", None, "ok"),
        ("user", "Bob", "The lake"),
        ("user", "Bob", "I moved: to Rome"),
    ]
    assert [one.timestamp.hour for one in found.messages] == [23, 23, 0, 13]
    assert {one.session for one in found.messages} == {"Bob (WhatsApp)"}
    assert len(set(found.keys)) == 4, "equal messages of one minute"
    assert "left out: 2 system lines, 1 media, calls and deleted messages" in found.reports


def test_a_newer_export_keeps_the_keys(files):
    older = Reading("whatsapp", files({"WhatsApp Chat with Bob.txt": ANDROID}, name="a"), me=["Ana"], zone="Asia/Tokyo")
    later = ANDROID.partition("- Ana: ok\n")[2].replace("Bob:", "Robert:") + "2/1/24, 9:00\u202fAM - Ana: ok\n"
    newer = Reading("whatsapp", files({"WhatsApp Chat with Bob.txt": later}, name="b"), me=["Ana"])
    assert newer.keys[:3] == [older.keys[0], *older.keys[2:]]
    assert newer.keys[3] not in older.keys


def chat(*dates, by=", 10:00 - "):
    return "".join(f"{date}{by}{'AB'[i % 2]}: text {i}\n" for i, date in enumerate(dates))


@pytest.mark.parametrize(
    ("dates", "options", "days"),
    [
        (["3/4/24", "13/4/24"], {}, ["2024-04-03", "2024-04-13"]),
        (["3/4/24", "4/13/24"], {}, ["2024-03-04", "2024-04-13"]),
        (["28.04.2024", "02.05.2024"], {}, ["2024-04-28", "2024-05-02"]),
        (["02.05.2024"], {}, ["2024-05-02"]),
        (["2024-05-02", "2024/05/03"], {}, ["2024-05-02", "2024-05-03"]),
        (["2024. 5. 2."], {}, ["2024-05-02"]),
        (["5/5/24"], {}, ["2024-05-05"]),
        (["10/1/24", "1/2/24"], {}, ["2024-01-10", "2024-02-01"]),  # else from October back to January
        (["1/10/24", "2/1/24"], {}, ["2024-01-10", "2024-02-01"]),
        (["3/4/24"], {"dates": "day-first"}, ["2024-04-03"]),
        (["3/4/24"], {"dates": "month-first"}, ["2024-03-04"]),
        (["13/4/24", "4/13/24", "1/2/24"], {"dates": "day-first"}, ["2024-04-13", "2024-02-01"]),
    ],
)
def test_the_order_of_dates(files, dates, options, days):
    found = Reading("whatsapp", files({"WhatsApp.txt": chat(*dates)}) / "WhatsApp.txt", me=["A"], **options)
    assert [one.timestamp.date().isoformat() for one in found.messages] == days


@pytest.mark.parametrize(
    ("text", "options", "error", "words"),
    [
        (chat("1/2/24", "2/2/24"), {}, InvalidInputError, "pass --dates day-first or --dates month-first"),
        (chat("13/4/24", "4/13/24"), {}, MalformedInputError, "'13/4/24, 10:00' and '4/13/24, 10:00'"),
        (chat("13/4/24"), {"dates": "month-first"}, MalformedInputError, "excludes"),
        (chat("13/4/24"), {"dates": "us"}, InvalidInputError, "day-first or month-first, not 'us'"),
        (chat("13/4/24"), {"zone": "Mars"}, InvalidInputError, "Europe/Berlin"),
        (chat("13/4/24", "14/4/24"), {"me": []}, InvalidInputError, "--me NAME, with one of: 'A', 'B'"),
        (chat("13/4/24", "14/4/24"), {"me": ["C"]}, InvalidInputError, "nobody is called 'C'"),
        ("Dear Ana,\nhello", {}, MalformedInputError, "no line that begins with a date"),
        ("13/4/24, 10:00 - A: <Media omitted>", {}, EmptyTextError, "no messages"),
        ("13/4/24, 25:00 - A: x", {}, MalformedInputError, "'13/4/24, 25:00' is not a time"),
        (b"13/4/24, 10:00 - A: \xff".decode("latin-1"), {}, None, ""),
    ],
)
def test_what_cannot_be_read(files, text, options, error, words):
    path = files({"WhatsApp.txt": text})
    if error is None:
        assert Reading("whatsapp", path, me=["A"]).said == [("user", None, "ÿ")]
        return
    with pytest.raises(error, match=words):
        Reading("whatsapp", path, **({"me": ["A"]} | options))


@pytest.mark.parametrize(
    ("line", "hour"),
    [
        ("[2024/05/02 下午3:04:05] A: x", 15),
        ("2024. 5. 2. 오전 12:04 - A: x", 0),
        ("[2.5.2024 klo 14.08.18] A: x", 14),
        ("02/05/2024 16:00 - A: x", 16),
        ("13/05/24, 3:04 p.\u00a0m. - A: x", 15),
    ],
)
def test_times_of_other_regions(files, line, hour):
    found = Reading("whatsapp", files({"WhatsApp.txt": line}), me=["A"], dates="day-first")
    assert [(one.timestamp.hour, one.content) for one in found.messages] == [(hour, "x")]


def test_files_that_are_too_large_or_not_text(files, tmp_path, monkeypatch):
    path = files({"_chat.txt": chat("13/4/24") + "x" * 5000}, name="bomb.zip")
    monkeypatch.setattr(archives, "MAX_STREAMED_BYTES", 1000)
    with pytest.raises(TextTooLargeError, match="split it"):
        Reading("whatsapp", path, me=["A"])
    monkeypatch.undo()
    monkeypatch.setattr(archives, "MAX_LINE", 1000)
    monkeypatch.setattr(archives, "_CHUNK", 100)
    with pytest.raises(TextTooLargeError, match="line of more than"):
        Reading("whatsapp", path, me=["A"])
    (tmp_path / "WhatsApp.txt").write_bytes(b"13/4/24, 10:00 - A: \xff")
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        Reading("whatsapp", tmp_path / "WhatsApp.txt", me=["A"])
