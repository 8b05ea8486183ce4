"""Read tables of comma- or tab-separated values: each row as lines of its columns' names and values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from nscma_torch.core.errors import EmptyTextError, MalformedInputError
from nscma_torch.core.records import Message
from nscma_torch.text.files.decoding import decode
from nscma_torch.text.files.documents import text_messages

_SNIFFED = 1 << 16  # characters by which the separator is told


def csv_messages(data: bytes, max_message_bytes: int) -> Iterator[tuple[int, Message]]:
    """Yield the rows of a table whose first row names the columns, several in a message up to its usual size.

    Raises `EmptyTextError` if there is no row, and `MalformedInputError` for a row with more values than columns.
    """
    text = decode(data)
    try:
        dialect: type[csv.Dialect] | str = csv.Sniffer().sniff(text[:_SNIFFED], delimiters=",;\t|")
    except csv.Error:  # one column
        dialect = "excel"
    blocks = []
    try:
        rows = csv.reader(io.StringIO(text, newline=""), dialect, strict=True)
        names = [name.strip() for name in next(rows, ())]
        for values in rows:
            if len(values) > len(names):
                raise MalformedInputError(
                    f"line {rows.line_num} has {len(values)} values, but the first line names {len(names)} columns"
                )
            told = [f"{name}: {value.strip()}" for name, value in zip(names, values, strict=False) if value.strip()]
            blocks.append("\n".join(" ".join(line.split()) for line in told))
    except csv.Error as error:
        raise MalformedInputError(f"line {rows.line_num}: {error}") from error
    if not any(blocks):
        raise EmptyTextError("the table has no row below its first line, which names the columns")
    return text_messages("\n\n".join(blocks), max_message_bytes)
