"""Convert HTML to Markdown, with the libraries Beautiful Soup and markdownify."""

from __future__ import annotations

from collections.abc import Iterator

from nscma_torch.core.errors import MalformedInputError
from nscma_torch.core.extras import require
from nscma_torch.core.records import Message
from nscma_torch.text.files.documents import markdown_messages

_NOT_TEXT = ("script", "style", "noscript", "template", "svg", "head", "nav", "iframe")


def html_messages(data: bytes, max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    """Yield the sections of an HTML page, like `markdown_messages`; the encoding is the one that the page declares."""
    return markdown_messages(markdown_of(data), max_message_bytes)


def markdown_of(html: bytes | str) -> str:
    """Return the text of HTML as Markdown: headings, lists, tables and code, without links' targets, images, scripts,
    styles and navigation. Raises `MalformedInputError` if it is nested too deeply.
    """
    library = require("bs4", extra="files", purpose="reading HTML")
    soup = library.BeautifulSoup(html, "html.parser")
    for part in soup.find_all(_NOT_TEXT):
        part.decompose()
    markup = library.element.PreformattedString  # comments, declarations, processing instructions
    for part in soup.find_all(string=lambda text: isinstance(text, markup)):
        part.extract()
    converter = require("markdownify", extra="files", purpose="reading HTML").MarkdownConverter(
        heading_style="ATX", strip=["a", "img"], escape_underscores=False, escape_asterisks=False, escape_misc=False
    )
    try:
        return str(converter.convert_soup(soup))
    except RecursionError as error:
        raise MalformedInputError("this HTML is nested too deeply; save its text as Markdown") from error
