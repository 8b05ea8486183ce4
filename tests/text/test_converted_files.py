"""Documents of other programs: samples written by fpdf2, python-docx, EbookLib and Python's mailbox, and by hand."""

from __future__ import annotations

import io
import mailbox
import zipfile
from datetime import UTC, datetime, timedelta, timezone
from email.message import EmailMessage
from pathlib import Path

import pytest

pytest.importorskip("pypdf")
pytest.importorskip("mammoth")
pytest.importorskip("markdownify")

from nscma_torch.core.errors import EmptyTextError, InvalidInputError, MalformedInputError, TextTooLargeError
from nscma_torch.core.records import Message
from nscma_torch.text.files.converted import archives
from nscma_torch.text.files.file_readers import read_messages

SAMPLES = Path(__file__).parent / "samples"
HTML = """<!doctype html><html><head><title>x</title><style>p {}</style></head><body><nav>Home</nav>
<h1>Bread</h1><p>Knead <b>ten</b> minutes, says <a href="https://a.example">Rosa</a>.</p><script>alert(1)</script>
<h2>Oven</h2><ul><li>240 degrees</li><li>a_b*c</li></ul>
<table><tr><th>Loaf</th><th>Minutes</th></tr><tr><td>Rye</td><td>50</td></tr></table></body></html>"""
SRT = """1\n00:00:01,000 --> 00:00:03,000\nWelcome to the <i>mill</i>.\n\n2\n00:00:04,000 --> 00:00:05,000
The wheel turns.\n\n3\n00:01:10,500 --> 00:01:12,000\nTom &amp; Ana grind rye.\n"""
VTT = """WEBVTT - a talk\n\nNOTE not spoken\n\nSTYLE\n::cue {}\n\nintro\n00:01.000 --> 00:02.000 align:start
<v.loud Ana>Good morning.\n\n00:02.000 --> 00:03.000\n<v Ana>Good morning.

01:00:01.000 --> 01:00:02.000\n<c>Bye.</c>\n"""


def texts(messages: object) -> list[str]:
    return [message.content for message in messages]  # type: ignore[attr-defined]


def of(data: str | bytes, format: str) -> list[Message]:
    raw = data.encode() if isinstance(data, str) else data
    return list(read_messages(io.BytesIO(raw), format=format))


def test_a_pdf_is_read_page_by_page() -> None:
    found = list(read_messages(SAMPLES / "lease.pdf"))
    assert [(one.name, one.metadata["page"], one.source, one.role) for one in found] == [
        ("page 1", 1, "lease.pdf", "document"),
        ("page 2", 2, "lease.pdf", "document"),
    ]
    assert "640 euros a month" in found[0].content and "Costa & Filhos" in found[1].content


def test_a_pdf_without_text_or_with_a_password_says_what_to_do() -> None:
    with pytest.raises(EmptyTextError, match="run a text recognition"):
        read_messages(SAMPLES / "scan.pdf")
    with pytest.raises(MalformedInputError, match="needs a password"):
        read_messages(SAMPLES / "locked.pdf")
    with pytest.raises(MalformedInputError, match="can't be read"):
        of(b"%PDF-1.7 nothing", "pdf")


def test_a_word_document_keeps_headings_lists_and_tables() -> None:
    whole, packing = read_messages(SAMPLES / "trip.docx")
    assert whole.name == "Trip to Lisbon" and "night train" in whole.content
    assert packing.name == "Trip to Lisbon > Packing"
    assert "* Rain jacket" in packing.content and "Casa Amarela" in packing.content and "85 euros" in packing.content


def test_an_e_book_is_read_in_its_order() -> None:
    spring, autumn = read_messages(SAMPLES / "bees.epub")
    assert (spring.name, autumn.name) == ("Spring", "Autumn")
    assert "wakes in March" in spring.content and "first frost" in autumn.content


@pytest.mark.parametrize(("format", "told"), [("docx", "not a Word document"), ("epub", "not an EPUB")])
def test_another_archive_is_refused(format: str, told: str) -> None:
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("letter.txt", "Dear Ana")
    for data in (b"no archive", other.getvalue()):
        with pytest.raises(MalformedInputError, match=told):
            of(data, format)


def test_an_archive_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 1000)
    for name in ("trip.docx", "bees.epub"):
        with pytest.raises(TextTooLargeError, match="unpacks to"):
            read_messages(SAMPLES / name)


def test_html_is_text_without_scripts_and_navigation() -> None:
    bread, oven = of(HTML, "html")
    assert bread.content == "# Bread\n\nKnead **ten** minutes, says Rosa."
    assert oven.name == "Bread > Oven" and "* a_b*c" in oven.content and "| Rye | 50 |" in oven.content
    latin = '<meta charset="iso-8859-1"><p>Käse</p>'.encode("latin-1")
    assert texts(of(latin, "html")) == ["Käse"]


def test_html_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(MalformedInputError, match="nested too deeply"):
        of("<div>" * 3000 + "x", "html")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_rows_have_the_names_of_their_columns(separator: str) -> None:
    rows = (("plant", "bought", "note"), ("fig", "2024-03-02", '"two\nlines"'), ("olive", "2025-04-01", ""))
    (found,) = of("\n".join(separator.join(row) for row in rows), "csv")
    assert found.content == "plant: fig\nbought: 2024-03-02\nnote: two lines\n\nplant: olive\nbought: 2025-04-01"


def test_wrong_tables_are_refused() -> None:
    with pytest.raises(EmptyTextError, match="no row"):
        of("plant,bought\n", "csv")
    with pytest.raises(MalformedInputError, match="line 2 has 3 values"):
        of("plant,bought\nfig,2024,x\n", "csv")


def mail(subject: str, html: str = "") -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Rosa Studer <rosa@puppets.example>", "ana@mill.example", subject
    made["Date"] = datetime(2026, 3, 5, 10, tzinfo=timezone(timedelta(hours=2)))
    made.set_content("The show is on 9 May.\nFrom then on we rest.\n\nRosa ✿")
    if html:
        made.add_alternative(html, subtype="html")
    made.add_attachment(b"x", maintype="image", subtype="png", filename="poster.png")
    return made


def test_an_e_mail_has_its_sender_and_date() -> None:
    (found,) = of(mail("Café show", "<p>other</p>").as_bytes(), "email")
    assert found.content == "Subject: Café show\n\nThe show is on 9 May.\nFrom then on we rest.\n\nRosa ✿"
    assert (found.name, found.timestamp) == ("Rosa Studer", datetime(2026, 3, 5, 8, tzinfo=UTC))
    assert found.metadata["attachments"] == "poster.png" and found.metadata["to"] == "ana@mill.example"
    alone = b"From: a@b.example\nContent-Type: text/html\n\n<h1>Hi</h1><p>There</p>"
    (page,) = of(alone, "email")
    assert page.content == "# Hi\n\nThere" and page.name == "a@b.example" and page.timestamp is None
    with pytest.raises(MalformedInputError, match="no e-mail"):
        of("Just a text.", "email")


def test_a_mailbox_has_all_its_messages(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "in.mbox")
    for number in range(3):
        box.add(mailbox.mboxMessage(mail(f"Show {number}")))
    box.close()
    found = list(read_messages(tmp_path / "in.mbox"))
    assert [one.content.split("\n")[0] for one in found] == [f"Subject: Show {number}" for number in range(3)]
    assert all("\nFrom then on we rest." in one.content and one.source == "in.mbox" for one in found)
    with pytest.raises(MalformedInputError, match="no mailbox"):
        of("Just a text.", "mbox")


def test_subtitles_are_paragraphs_with_times() -> None:
    assert texts(of(SRT, "subtitles")) == [
        "[00:00:01] Welcome to the mill. The wheel turns.\n\n[00:01:10] Tom & Ana grind rye."
    ]
    assert texts(of(VTT, "subtitles")) == ["[00:00:01] Ana: Good morning.\n\n[01:00:01] Bye."]
    with pytest.raises(MalformedInputError, match="no line with times"):
        of("Hello.", "subtitles")


def test_a_picture_is_no_text() -> None:
    for format in ("text", "markdown", "csv", "subtitles"):
        with pytest.raises(InvalidInputError):
            of(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", format)
