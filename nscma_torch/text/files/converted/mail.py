"""Read e-mail: single messages (.eml, RFC 5322 and MIME) and mailboxes (.mbox, RFC 4155)."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import parseaddr

from nscma_torch.core.errors import MalformedInputError
from nscma_torch.core.records import Message
from nscma_torch.text.files.documents import text_messages

_POSTMARK = b"From "
_SHOWN = ("From", "To", "Cc", "Subject", "Date")


def email_messages(data: bytes, max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    """Yield the number (from 1) and message of each part of an e-mail; `name` is its sender, `timestamp` its date.

    The text is the plain one, else the HTML one. Attachments are left out, and named in the metadata.

    Raises `MalformedInputError` if there is no header.
    """
    found = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(found, EmailMessage)
    if not found.keys() or not found["From"]:
        raise MalformedInputError("this is no e-mail: it has no line 'From: …' at its beginning")
    yield from enumerate(_parts(found, max_message_bytes), start=1)


def mbox_messages(data: bytes, max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a mailbox like `email_messages`. Raises `MalformedInputError` if it isn't one."""
    if not data.startswith(_POSTMARK):
        raise MalformedInputError("this is no mailbox: its first line doesn't begin with 'From '")
    number = 0
    for one in data.replace(b"\r\n", b"\n")[len(_POSTMARK) :].split(b"\n\n" + _POSTMARK):
        _, _, own = one.partition(b"\n")
        for _, message in email_messages(own.replace(b"\n>From ", b"\nFrom "), max_message_bytes):
            number += 1
            yield number, message


def _parts(found: EmailMessage, max_message_bytes: int) -> Iterator[Message]:
    name, address = parseaddr(str(found["From"]))
    attached = [part.get_filename() or part.get_content_type() for part in found.iter_attachments()]
    metadata = {key.lower(): str(found[key]) for key in _SHOWN if found[key]}
    if attached:
        metadata["attachments"] = ", ".join(attached)
    subject = str(found["Subject"] or "").strip()
    text = "\n\n".join(filter(None, (f"Subject: {subject}" if subject else "", _text(found).strip())))
    for _, message in text_messages(text, max_message_bytes):
        yield replace(
            message, name=name or address or None, timestamp=_date(found), metadata={**metadata, **message.metadata}
        )


def _text(found: EmailMessage) -> str:
    body = found.get_body(preferencelist=("plain", "html"))
    if body is None:
        return ""
    try:
        content = body.get_content()
    except (LookupError, UnicodeDecodeError):  # an encoding that is unknown or not what it says
        payload = body.get_payload(decode=True)
        content = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""
    if body.get_content_subtype() == "html":
        from nscma_torch.text.files.converted.web_pages import markdown_of

        return markdown_of(content)
    return str(content)


def _date(found: EmailMessage) -> datetime | None:
    date = getattr(found["Date"], "datetime", None)
    if not isinstance(date, datetime):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
