"""Convert EPUB e-books to Markdown: the documents of the spine in their order (EPUB 3.3, sections 4.2 and 5.7)."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree import ElementTree

from nscma_torch.core.errors import MalformedInputError, TextTooLargeError
from nscma_torch.core.records import Message
from nscma_torch.text.files.converted.archives import check_size
from nscma_torch.text.files.converted.web_pages import markdown_of
from nscma_torch.text.files.documents import markdown_messages

_CONTAINER = "META-INF/container.xml"


def epub_messages(data: bytes, max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    """Yield the sections of an e-book, like `markdown_messages`. Raises `MalformedInputError` if it isn't one."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_size(archive)
            pages = [markdown_of(archive.read(name)) for name in _spine(archive)]
    except TextTooLargeError:
        raise
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, OSError, RuntimeError) as error:
        raise MalformedInputError(f"this is not an EPUB e-book: {error}; protected ones can't be read") from error
    return markdown_messages("\n\n".join(pages), max_message_bytes)


def _spine(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the documents in reading order."""
    container = ElementTree.fromstring(archive.read(_CONTAINER))
    root = container.find(".//{*}rootfile")
    if root is None:
        raise KeyError("no root file")
    package = root.attrib["full-path"]
    book = ElementTree.fromstring(archive.read(package))
    paths = {item.attrib["id"]: item.attrib["href"] for item in book.iterfind(".//{*}manifest/{*}item")}
    order = [item.attrib["idref"] for item in book.iterfind(".//{*}spine/{*}itemref")]
    folder = posixpath.dirname(package)
    return [posixpath.normpath(posixpath.join(folder, unquote(paths[one]))) for one in order]
