import base64
import random
import re
from itertools import pairwise

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nscma_torch.core.errors import ConfigError
from nscma_torch.text.chunker import Chunker
from nscma_torch.text.segmentation import Segmentation

SPECIAL = 2


def by_pieces(texts):
    """A counter like WordPiece: four letters, or one mark, a token; two special tokens."""
    return [SPECIAL + len(re.findall(r"\w{1,4}|[^\w\s]", text)) for text in texts]


def by_bytes(texts):
    return [len(text.encode("utf-8", "surrogatepass")) for text in texts]


def superadditive(texts):
    """Joined texts cost more than the sum of their parts, as no greedy sum foresees."""
    return [len(text) + len(text.split()) ** 2 // 4 for text in texts]


def shrill(text):
    """Nats of each byte: upper case and what is not ASCII surprise."""
    return torch.tensor([3.0 if byte > 127 or 65 <= byte <= 90 else 1.0 for byte in text.encode("utf-8")])


def at_peaks(counter, limit, least=6, gamma=1.0, window=8):
    return Chunker(counter, limit, strategy="surprise", segmentation=Segmentation(shrill, gamma, window, least))


def check(text, chunks, limit, counter):
    previous = 0
    for chunk in chunks:
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.n_tokens == counter([chunk.text])[0] <= limit
        assert not text[previous : chunk.start].strip()
        assert chunk.end > previous
        previous = chunk.end
    assert not text[previous:].strip()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.text(alphabet=st.sampled_from("ab cd. E,f;\n中文。，😊é\u0301\u200d!A1/+="), max_size=400)
    | st.text(max_size=200),
    st.integers(6, 40),
    st.integers(0, 3),
    st.sampled_from([by_pieces, by_bytes, superadditive]),
)
@example("1。11111111 1", 10, 1, superadditive)
def test_no_chunk_is_too_long_and_nothing_is_lost(text, limit, overlap, counter):
    check(text, Chunker(counter, limit, overlap).chunk(text), limit, counter)
    check(text, Chunker(counter, limit, strategy="fixed").chunk(text), limit, counter)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.text(alphabet=st.sampled_from("ab cd. E,f;\n中文。，😊é!A1/+="), max_size=300),
    st.integers(6, 40),
    st.sampled_from([by_pieces, by_bytes, superadditive]),
)
def test_peaks_keep_to_the_limit_and_lose_nothing(text, limit, counter):
    check(text, at_peaks(counter, limit).chunk(text), limit, counter)


def test_whole_sentences_are_packed_greedily():
    text = "One two three. Four five six. Seven eight nine. Ten."
    chunks = Chunker(by_pieces, SPECIAL + 10).chunk(text)
    assert [chunk.text for chunk in chunks] == ["One two three. Four five six.", "Seven eight nine. Ten."]


def test_short_text_is_one_chunk_counted_once():
    calls = []

    def counter(texts):
        calls.append(list(texts))
        return by_pieces(texts)

    chunker = Chunker(counter, 64)
    calls.clear()
    assert [chunk.text for chunk in chunker.chunk("  Hi there. How are you?\n")] == ["Hi there. How are you?"]
    assert len(calls) == 1


def test_overlap_repeats_sentences_where_they_fit():
    text = "One two. Three four. Five six. Seven eight."
    limit = SPECIAL + 8
    chunks = Chunker(by_pieces, limit, overlap_sentences=1).chunk(text)
    starts = [chunk.text.split(". ")[0] for chunk in chunks]
    assert chunks[0].text == "One two. Three four."
    assert starts[1].startswith("Three four")
    assert chunks[-1].text.endswith("Seven eight.")
    assert all(chunk.n_tokens <= limit for chunk in chunks)


def test_long_sentence_is_cut_at_clauses_then_words():
    text = "red apples and pears, green plums and figs, " + "w " * 30 + "end."
    chunks = Chunker(by_pieces, SPECIAL + 12).chunk(text)
    assert chunks[0].text == "red apples and pears,"
    check(text, chunks, SPECIAL + 12, by_pieces)
    assert all(not chunk.text[:1].isspace() for chunk in chunks)


def test_number_with_a_comma_is_not_cut():
    text = "word " * 6 + "1,000 " + "word " * 6
    assert any("1,000" in chunk.text for chunk in Chunker(by_pieces, SPECIAL + 9).chunk(text))


@pytest.mark.parametrize(
    "text",
    [base64.b64encode(random.Random(0).randbytes(7500)).decode(), "我喜欢蓝色的天空和大海" * 900],
    ids=["base64", "cjk"],
)
def test_unbroken_text_fills_its_chunks(text):
    limit = 64
    chunks = Chunker(by_bytes, limit).chunk(text)
    check(text, chunks, limit, by_bytes)
    assert sum(chunk.n_tokens for chunk in chunks) / len(chunks) > 0.7 * limit


def test_combined_characters_stay_whole():
    text = "👩\u200d👩\u200d👧" * 200
    family = len("👩\u200d👩\u200d👧")
    chunks = Chunker(lambda texts: [len(t) for t in texts], 32).chunk(text)
    assert all(chunk.start % family == 0 for chunk in chunks)


def test_fixed_ignores_sentences():
    text = "One two three. " * 20
    chunks = Chunker(by_pieces, SPECIAL + 8, strategy="fixed").chunk(text)
    assert {chunk.n_tokens for chunk in chunks[:-1]} <= {SPECIAL + 7, SPECIAL + 8}
    assert any(not chunk.text.endswith(".") for chunk in chunks)


QUIET = "it is as ever here. and so it went on. as one may say. it is so again. "
LOUD = "THE WAR BROKE OUT THEN. "


def test_a_peak_of_surprise_begins_a_chunk():
    text = QUIET + LOUD + QUIET + LOUD + QUIET
    chunks = at_peaks(by_pieces, SPECIAL + 40).chunk(text)
    check(text, chunks, SPECIAL + 40, by_pieces)
    assert [chunk.text for chunk in chunks] == [QUIET.strip(), (LOUD + QUIET).strip(), (LOUD + QUIET).strip()]
    assert at_peaks(by_pieces, SPECIAL + 40).chunk(text) == chunks


def test_what_fits_one_chunk_is_not_cut_and_not_scored():
    def unasked(text):
        raise AssertionError(text)

    chunker = Chunker(by_pieces, 256, strategy="surprise", segmentation=Segmentation(unasked))
    assert len(chunker.chunk(QUIET + LOUD + QUIET)) == 1


def test_segments_keep_their_size_bounds():
    text = (QUIET + LOUD + LOUD + LOUD) * 6 + LOUD
    for least in (SPECIAL + 8, SPECIAL + 30):
        chunks = at_peaks(by_pieces, SPECIAL + 60, least, window=20).chunk(text)
        check(text, chunks, SPECIAL + 60, by_pieces)
        ends = [chunk.n_tokens for chunk, following in pairwise(chunks) if following.text.startswith("THE")]
        assert ends and min(ends) >= least
    one_long_sentence = "it goes, on and on, " * 60
    check(one_long_sentence, at_peaks(by_pieces, SPECIAL + 60).chunk(one_long_sentence), SPECIAL + 60, by_pieces)


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_empty(text):
    assert Chunker(by_pieces, 16).chunk(text) == []
    assert at_peaks(by_pieces, 16).chunk(text) == []


def test_bad_settings():
    with pytest.raises(ConfigError, match="max_tokens"):
        Chunker(by_pieces, SPECIAL)
    with pytest.raises(ConfigError, match="strategy"):
        Chunker(by_pieces, 9, strategy="words")
    with pytest.raises(ConfigError, match="overlap"):
        Chunker(by_pieces, 9, -1)
    with pytest.raises(ConfigError, match="overlap"):
        Chunker(by_pieces, 9, 1, strategy="fixed")
    with pytest.raises(ConfigError, match="overlap"):
        Chunker(by_pieces, 9, 1, "surprise", Segmentation(shrill, min_tokens=3))
    with pytest.raises(ConfigError, match="segmentation"):
        Chunker(by_pieces, 9, strategy="surprise")
    with pytest.raises(ConfigError, match="segmentation"):
        Chunker(by_pieces, 9, segmentation=Segmentation(shrill))
    with pytest.raises(ConfigError, match="min_tokens"):
        Chunker(by_pieces, 9, strategy="surprise", segmentation=Segmentation(shrill))
    with pytest.raises(ConfigError, match="too small"):
        Chunker(by_bytes, 2).chunk("中文字")


@pytest.mark.parametrize("piece", ["word ", "clause, ", "A sentence. ", "QUJD", "蓝"])
def test_counting_is_batched_and_linear(piece):
    calls, characters = 0, 0

    def counter(texts):
        nonlocal calls, characters
        calls += 1
        characters += sum(map(len, texts))
        return by_pieces(texts)

    text = piece * 30_000
    Chunker(counter, 64).chunk(text)
    assert calls <= 30
    assert characters <= 6 * len(text)
