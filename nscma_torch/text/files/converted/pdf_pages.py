"""Read the text of PDF files page by page, with the library pypdf."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from dataclasses import replace

from nscma_torch.core.errors import EmptyTextError, MalformedInputError
from nscma_torch.core.extras import require
from nscma_torch.core.records import Message
from nscma_torch.text.files.documents import text_messages


def pdf_messages(data: bytes, max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    """Yield the number (from 1) and message of each part of a page; `name` is the page, as in "page 3".

    Raises `MalformedInputError` if it isn't a PDF or needs a password, and `EmptyTextError` if no page has text.
    """
    pypdf = require("pypdf", extra="files", purpose="reading PDF")
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it reports each irregularity that it could read over
    try:
        document = pypdf.PdfReader(io.BytesIO(data))
        if document.is_encrypted and not document.decrypt(""):
            raise MalformedInputError("this PDF needs a password; save it without one")
        pages = [page.extract_text() for page in document.pages]
    except (pypdf.errors.PyPdfError, KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise MalformedInputError(f"this PDF can't be read: {error}; print it to a new PDF") from error
    if not any(page.strip() for page in pages):
        raise EmptyTextError("no page of this PDF has text: it may be a scan; run a text recognition (OCR) first")
    number = 0
    for place, page in enumerate(pages, start=1):
        for _, message in text_messages(page, max_message_bytes):
            number += 1
            yield number, replace(message, name=f"page {place}", metadata={"page": place, **message.metadata})
