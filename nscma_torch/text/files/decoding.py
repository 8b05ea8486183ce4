"""Decode UTF-8, with errors that name the position and the remedy."""

from __future__ import annotations

from nscma_torch.core.errors import EncodingError

UTF8_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe": "UTF-16LE", b"\xfe\xff": "UTF-16BE"}


def decode(raw: bytes, offset: int = 0, line: int | None = None) -> str:
    """Decode `raw` as UTF-8. It starts at byte `offset` in its file; a byte order mark at offset 0 is dropped.

    Raises `EncodingError` with the invalid byte's offset in the file, and the line if known.
    """
    where = "" if line is None else f"line {line}: "
    if offset == 0:
        for bom, encoding in _OTHER_BOMS.items():
            if raw.startswith(bom):
                raise EncodingError(f"this is {encoding}, not UTF-8; convert it: iconv -f {encoding} -t UTF-8")
    skipped = len(UTF8_BOM) if offset == 0 and raw.startswith(UTF8_BOM) else 0
    try:
        text = raw[skipped:].decode()
    except UnicodeDecodeError as error:
        at = skipped + error.start
        raise EncodingError(
            f"{where}byte {raw[at]:#04x} at offset {offset + at} is not UTF-8; "
            "save the file as UTF-8, or convert it: iconv -f ISO-8859-1 -t UTF-8"
        ) from error
    if (at := text.find("\0")) >= 0:
        at = offset + skipped + len(text[:at].encode())
        raise EncodingError(f"{where}a NUL byte at offset {at}: this is a binary file or UTF-16; save it as UTF-8 text")
    return text
