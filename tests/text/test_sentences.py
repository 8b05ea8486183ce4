import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.text.sentences import split_sentences


def sentences(text):
    return [text[span.start : span.end] for span in split_sentences(text)]


@pytest.mark.parametrize(
    "parts",
    [
        ["Hello World.", "My name is Jonas."],
        ["What is it?", "There it is!", "I found it."],
        ["Dr. Ito met Mrs. O'Neil at 5 p.m. in St. Louis.", "They left."],
        ["We meet at 6 p.m.", "Then we eat."],
        ["I live in the U.S.", "How about you?"],
        ["I work for the U.S. Government in Virginia."],
        ["My name is Jonas E. Smith, by J. K. Rowling."],
        ["Take plan B.", "We go."],
        ["See p. 55 and No. 7, e.g. the fig. 3, i.e. that one."],
        ["Is it no. 5?", "No.", "It is not."],
        ["It costs 3.50 or 1,000.25 in v2.0.", "Done."],
        ["Go to https://www.example.com/a.b/c?d=e.f and look.", "Write to jane.doe@example.com.", "Thanks!"],
        ['She said, "This is great."', "Then she left."],
        ['"Really?" he asked.', "(Yes.)", "Fine."],
        ["well... maybe, I wasn't ... sure.", "OK."],
        ["He stopped...", "She left."],
        ["i went home.", "then i slept!", "ok"],
        ["Hello!!", "Who is there?!"],
        ["**Bold.**", "Next one."],
        ["So happy 😊", "We went to the park! 🎉", "See you"],
        ["On Jan. 5 it rained.", "I sat.", "The sun came."],
        ["Paid by Pitt & Co. at noon."],
    ],
)
def test_english(parts):
    assert sentences(" ".join(parts)) == parts


@pytest.mark.parametrize(
    "parts",
    [
        ["我喜欢蓝色。", "你呢？", "真的吗？！", "好；", "走吧"],
        ["他说：“好的。”", "然后走了。"],
        ["（真的。）", "是"],
        ["それは本です。", "はい"],
        ["你好!", "我是小明"],
        ["版本3.5发布了。", "好"],
        ["我想……算了"],
    ],
)
def test_cjk(parts):
    assert sentences("".join(parts)) == parts


def test_lines_and_lists():
    assert sentences("Shopping:\n- milk\n* two eggs\n1. wash rice\n2) cook\nend") == [
        "Shopping:", "- milk", "* two eggs", "1. wash rice", "2) cook", "end",
    ]  # fmt: skip


def test_hard_wrapped_prose_is_joined_and_paragraphs_are_not():
    first = "It is a truth universally acknowledged, that a single man in\npossession of a good fortune, as Mr.\nDarcy."
    wrapped = (
        "It is a truth universally acknowledged, that the single man\nin possession of a fortune must want a wife."
    )
    assert sentences(wrapped + "\n\nNext") == [wrapped, "Next"]
    assert sentences(first)[0].startswith("It is a truth")
    assert len(sentences(first)) < 3
    title = "It was only a very short while ago that we all met with Mr.\nDarcy at the ball."
    assert sentences(title) == [title]


def test_crlf_and_log_lines():
    log = "2023-05-12 10:00:00 ERROR the connection to the database was lost again\r\n2023-05-12 10:00:01 INFO ok"
    assert sentences(log) == log.split("\r\n")


@settings(deadline=None, derandomize=True)
@given(
    st.text(alphabet=st.sampled_from("aB1. !?…。？；\n\r\t\"'”)(-*•😊中が,Mr\u3000\x1c\u2028\x0b"), max_size=200)
    | st.text()
)
def test_spans_cover_everything_but_white_space(text):
    spans = split_sentences(text)
    previous = 0
    for span in spans:
        assert span.start >= previous
        piece = text[span.start : span.end]
        assert piece and piece == piece.strip()
        assert not text[previous : span.start].strip()
        previous = span.end
    assert not text[previous:].strip()


@pytest.mark.parametrize(
    "piece", [".", ". ", ".\n", "!", " ", "\n", "a.", "A. ", "。", '…"', "😊 ", "Mr. ", "1. ", "\t\n", "* "]
)
def test_time_is_linear_in_hostile_text(piece):
    def seconds(repeats):
        text, times = piece * repeats, []
        for _ in range(3):
            began = time.process_time()
            split_sentences(text)
            times.append(time.process_time() - began)
        return min(times)

    assert seconds(40_000) < 50 * max(seconds(4_000), 2e-3)  # quadratic time would be a factor of 100
