"""The search for erased bytes finds what plain `bytes.find` finds, at every offset."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.maintenance.file_erasure import fragments, search

texts = st.lists(st.text(alphabet="abcé蓝 \n", max_size=60), max_size=4)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(wanted=texts, kept=texts, front=st.binary(max_size=20), middle=st.binary(max_size=40))
def test_it_finds_what_find_finds(wanted: list[str], kept: list[str], front: bytes, middle: bytes) -> None:
    data = front + middle.join(text.encode() for text in [*kept, *wanted[:2]])
    pieces = fragments(wanted)
    assert search(data, pieces) == {piece for piece in pieces if data.find(piece) >= 0}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(text=st.text(alphabet="abcé蓝 ", min_size=8, max_size=80), cut=st.integers(0, 40))
def test_any_stretch_of_24_bytes_holds_a_fragment(text: str, cut: int) -> None:
    data = text.encode()
    if len(data) - cut >= 24:
        assert search(data[cut : cut + 24], fragments([text]))


def test_short_texts() -> None:
    assert fragments(["ok", ""]) == set()
    assert fragments(["eight by"]) == {b"eight by"}
    assert search(b"", {b"eight by"}) == set()
    assert search(b"..eight by..", {b"eight by"}) == {b"eight by"}
