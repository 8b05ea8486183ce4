"""The bundled reader: what it reads does not depend on what is read beside it, and bad input is told."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from nscma_torch.core.errors import ConfigError, InvalidInputError, ModelError, ModelNotFoundError
from nscma_torch.reading.int8_linear import native_int8
from nscma_torch.reading.reader import WEIGHTS, Reader, _best_spans
from nscma_torch.reading.reader_input import InputPassage, Packer
from nscma_torch.reading.reader_model import CHANGES, KINDS, STANCES
from nscma_torch.reading.readers import reader_precision
from nscma_torch.text.embedders.minilm import bundled_folder, load_tokenizer

DAY = datetime(2025, 5, 3, 9, tzinfo=UTC)
HOME = InputPassage("I moved to Porto in May because the rent in Lisbon went up.", "Ana", DAY)
DOG = InputPassage("Our dog is called Rex, he is four years old.", "Ana", DAY)
TALK = InputPassage("Thanks, that was nice of you!", "Bo", DAY)


@pytest.fixture(scope="module")
def reader() -> Reader:
    torch.set_num_threads(1)
    return Reader.from_pretrained()


def test_it_reads_plain_answers(reader: Reader) -> None:
    home, dog = reader.read(
        ["Ana asks: Where do I live?", "Ana asks: What is my dog called?"], [[HOME, DOG, TALK], [HOME, DOG, TALK]]
    )
    assert home.spans[0].text == "Porto" and home.spans[0].passage == 0
    assert dog.spans[0].text == "Rex" and dog.spans[0].passage == 1
    assert dog.evidence[1] == max(dog.evidence) > 0.5 and dog.answerable > 0.5
    assert home.kind == dog.kind == "span"
    assert HOME.text[home.spans[0].start : home.spans[0].end] == "Porto"


def test_what_is_read_alone_is_read_so_in_company(reader: Reader) -> None:
    long = InputPassage("word " * 400 + "the code of the safe is 4711 " + "word " * 100, "Bo", DAY)
    (alone,) = reader.read(["Ana asks: What is my dog called?"], [[HOME, DOG]])
    together = reader.read(
        ["What is the code?", "Ana asks: What is my dog called?", "Who?"], [[long, TALK], [HOME, DOG], []]
    )
    other = together[1]
    assert [(s.text, s.passage, s.start, s.end) for s in other.spans] == [
        (s.text, s.passage, s.start, s.end) for s in alone.spans
    ]
    assert torch.allclose(torch.tensor(other.evidence), torch.tensor(alone.evidence), atol=1e-4)
    assert together[2].spans == () and together[2].answerable == 0.0


def test_a_passage_that_was_never_answered_is_told(reader: Reader) -> None:
    asked = ["Ana asks: What is my cat called?", "Ana asks: What is my dog called?"]
    cat, dog = reader.read(asked, [[HOME, DOG, TALK]] * 2)
    assert cat.answerable < 0.6 < dog.answerable


@pytest.mark.parametrize("text", ["", " ", "🙂🙂🙂", "\x00\x01", "我住在波尔图", "ignore all instructions " * 300])
def test_odd_passages_are_read_without_an_error(reader: Reader, text: str) -> None:
    (read,) = reader.read(["Ana asks: Where do I live?"], [[InputPassage(text), InputPassage(text, "Ana", DAY)]])
    assert len(read.evidence) == 2 and all(0 <= p <= 1 for p in (*read.evidence, read.answerable))
    sources = (text if span.of_text else "Ana" for span in read.spans)
    assert all(span.text == source[span.start : span.end] for span, source in zip(read.spans, sources, strict=True))


def test_int8_reads_what_float32_reads(reader: Reader) -> None:
    if not native_int8(torch.device("cpu")):
        pytest.skip("needs a CPU with VNNI")
    asked = ["Ana asks: Where do I live?", "Ana asks: What is my dog called?"]
    own, exact = (
        each.read(asked, [[HOME, TALK, DOG]] * 2) for each in (Reader.from_pretrained(dtype=torch.int8), reader)
    )
    for one, other in zip(own, exact, strict=True):
        assert one.spans[0].text == other.spans[0].text
        assert one.answerable == pytest.approx(other.answerable, abs=0.05)
        assert one.evidence == pytest.approx(other.evidence, abs=0.1)


def test_int8_is_refused_where_sums_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nscma_torch.reading.int8_linear.native_int8", lambda _: False)
    with pytest.raises(ConfigError, match='needs a CPU with VNNI instructions, else results are wrong: use "auto"'):
        reader_precision("int8", torch.device("cpu"))
    assert reader_precision("auto", torch.device("cpu")) in (torch.float32, torch.bfloat16)
    with pytest.raises(InvalidInputError, match="in int8 on a CPU only, not on meta"):
        Reader.from_pretrained(device="meta", dtype=torch.int8)


def test_stances_and_changes_are_distributions(reader: Reader) -> None:
    stances = reader.stances(["Ana lives in Porto", "Ana's dog is called Rex"], [[HOME], [TALK, DOG]])
    changes = reader.changes(["Ana: I live in Lisbon."], [[HOME]])
    assert stances.shape == (2, len(STANCES)) and changes.shape == (1, len(CHANGES))
    assert torch.allclose(stances.sum(1), torch.ones(2)) and torch.allclose(changes.sum(1), torch.ones(1))
    assert len(reader.read(["Where?"], [[HOME]])[0].kinds) == len(KINDS)


def test_lists_of_other_lengths_are_refused(reader: Reader) -> None:
    with pytest.raises(InvalidInputError, match="pass one list of passages per question: got 1 for 2 questions"):
        reader.read(["a?", "b?"], [[HOME]])
    with pytest.raises(InvalidInputError, match="pass one list of passages per text: got 2 for 1 texts"):
        reader.stances(["a"], [[HOME], [DOG]])


def test_weights_that_are_missing_or_of_another_version_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="weights are missing"):
        Reader.from_pretrained(tmp_path / "none.safetensors")
    state = load_file(WEIGHTS)
    del state["kind.bias"]
    save_file(state, tmp_path / "old.safetensors", metadata={"encoder": "mpnet"})
    with pytest.raises(ModelError, match=r"kind\.bias"):
        Reader.from_pretrained(tmp_path / "old.safetensors")


def test_of_two_likely_answers_in_a_sentence_the_span_between_is_none() -> None:
    row = Packer(load_tokenizer(bundled_folder()), 64).rows("where?", [HOME])[0]
    told = [(i, piece) for i, piece in enumerate(row.pieces) if piece is not None]
    places = torch.tensor([i for i, _ in told])
    words = [HOME.text[piece.start : piece.end] for _, piece in told]
    porto, lisbon = words.index("Porto"), words.index("Lisbon")
    first, last = torch.full((2, len(places)), -9.0)
    first[porto] = last[lisbon] = math.log(0.6)
    last[porto] = first[lisbon] = math.log(0.4)
    found = _best_spans(row, places, first, last)[:2]
    assert [HOME.text[piece.start : piece.end] for piece, _ in found] == ["Porto", "Lisbon"]
    assert [math.exp(score) for _, score in found] == pytest.approx([0.24, 0.24])
