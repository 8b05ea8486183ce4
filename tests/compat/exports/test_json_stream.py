"""Large JSON files: any chunk size gives what `json` gives, and errors name the line."""

from __future__ import annotations

import json
import tracemalloc
from io import BytesIO

import pytest

from nscma_torch.compat.exports import archives, json_stream
from nscma_torch.compat.exports.archives import ExportFile
from nscma_torch.compat.exports.json_stream import JsonStream
from nscma_torch.core.errors import MalformedInputError, TextTooLargeError

VALUE = {
    "n": [0, 1e5, 1.5e-10, -1],
    "a": [1, 23.5, -4e-7, True, None, 'é\ud83d\ude00\n"\\'],
    "b": {"c": [], "d": {}},
    "list": [[1], {"x": "y" * 300}],
    "z": 1234567,
}


def stream(text):
    return JsonStream(ExportFile("big.json", 0, lambda: BytesIO(text.encode("utf-8", "surrogatepass"))))


def walked(one):
    begins = one.begins()
    if begins == "{":
        return {key: walked(one) for key in one.members()}
    return [walked(one) for _ in one.elements()] if begins == "[" else one.value()


@pytest.mark.parametrize("chunk", [1, 2, 7, 64, 1 << 18])
@pytest.mark.parametrize("ascii", [True, False])
def test_it_equals_json(monkeypatch, chunk, ascii):
    monkeypatch.setattr(archives, "_CHUNK", chunk)
    text = json.dumps(json.loads(json.dumps(VALUE)), indent=1, ensure_ascii=ascii)
    assert walked(stream(text)) == json.loads(text) == stream(text).value()
    reader = stream(text)
    assert [reader.value() for key in reader.members() if key == "z"] == [1234567], "what is not read is skipped"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a":\n\n1 2}', "line 3"),
        ('{"a"\n 1}', "expected ':'"),
        ("{1: 2}", "a key is not a string"),
        ('{"a": [1, 2}', "expected ']'|Expecting"),
        ('{"a": "\\x"}', "escape"),
        ('{"a": "x', "Unterminated"),
        ('{"a": ', "ends early"),
        ("[" * 5000, "nested too deeply"),
        ('{"a":' * 5000, "nested too deeply"),
    ],
)
def test_what_is_not_json(monkeypatch, text, words):
    monkeypatch.setattr(archives, "_CHUNK", 5)
    with pytest.raises(MalformedInputError, match=words):
        walked(stream(text))


def test_values_are_bounded(monkeypatch):
    monkeypatch.setattr(json_stream, "MAX_VALUE", 1000)
    monkeypatch.setattr(archives, "_CHUNK", 100)
    long = stream(json.dumps({"a": "x" * 5000}))
    with pytest.raises(TextTooLargeError, match="split the export"):
        walked(long)
    several = stream(json.dumps({"a": ["x" * 500] * 50}))
    assert len(walked(several)["a"]) == 50


def test_memory_does_not_grow_with_the_file():
    def pieces():
        yield b'{"skipped": ['
        yield from (b'{"a": [1, 2, {"b": "text"}]},' * 1000 for _ in range(60))
        yield b'0], "list": ['
        yield from (b'{"id": 1, "text": "hello"},' * 1000 for _ in range(30))
        yield b'{"id": 2}]}'

    class Lazy(BytesIO):
        waiting = pieces()

        def read(self, _=-1):
            return next(self.waiting, b"")

    tracemalloc.start()
    reader = JsonStream(ExportFile("big.json", 0, Lazy))
    ids = (reader.value()["id"] for key in reader.members() if key == "list" for _ in reader.elements())
    assert sum(ids) == 30_002
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 600_000, "of 2.5 MB"


def test_a_long_value_is_tried_few_times(monkeypatch):
    monkeypatch.setattr(archives, "_CHUNK", 100)
    reads = []

    class Counting(JsonStream):
        def _more(self):
            reads.append(1)
            return super()._more()

    text = json.dumps("x" * 100_000)
    assert Counting(ExportFile("big.json", 0, lambda: BytesIO(text.encode()))).value() == "x" * 100_000
    assert len(reads) < 20, "of 1,000 chunks"
