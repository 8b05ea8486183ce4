"""Convert Word documents (.docx) to Markdown, with the library mammoth."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

from nscma_torch.core.errors import MalformedInputError, TextTooLargeError
from nscma_torch.core.extras import require
from nscma_torch.core.records import Message
from nscma_torch.text.files.converted.archives import check_size
from nscma_torch.text.files.documents import markdown_messages


def docx_messages(data: bytes, max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    """Yield the sections of a Word document, like `markdown_messages`.

    Raises `MalformedInputError` if it isn't one.
    """
    from nscma_torch.text.files.converted.web_pages import markdown_of

    mammoth = require("mammoth", extra="files", purpose="reading Word documents")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_size(archive)
        html = mammoth.convert_to_html(io.BytesIO(data), convert_image=mammoth.images.img_element(lambda _: {})).value
    except TextTooLargeError:
        raise
    except (zipfile.BadZipFile, KeyError, OSError, SyntaxError, ValueError) as error:
        raise MalformedInputError(f"this is not a Word document (.docx): {error}; save it again as .docx") from error
    return markdown_messages(markdown_of(html), max_message_bytes)
