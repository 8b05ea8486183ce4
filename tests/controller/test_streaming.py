"""Streaming: the value grows as it is written, whatever stands around it, and the reply is the same as without."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.controller.controller import Controller
from nscma_torch.controller.streaming import ShowingEngine, written
from nscma_torch.core.errors import EngineUnavailableError
from nscma_torch.llm.engines.contract import LanguageEngine, Request, StreamingEngine, Token
from tests.controller.scripted import ScriptedEngine, act, answering


class Streaming(ScriptedEngine):
    """A `ScriptedEngine` that streams."""

    broken = False

    def stream(self, request: Request) -> Iterator[Token]:
        (reply,) = self.generate([request])
        assert not isinstance(reply, Exception)
        for number, character in enumerate(reply.text):
            if self.broken and number == 20:
                raise EngineUnavailableError("the connection ended")
            yield Token(character, self.logprob)


@settings(deadline=None, derandomize=True)
@given(st.text(max_size=20), st.text(max_size=20), st.booleans())
def test_what_is_shown_only_grows(before: str, value: str, ascii_only: bool) -> None:
    text = json.dumps({"act": {"action": before, "text": value, "evidence": [1]}}, ensure_ascii=ascii_only)
    shown = [written(text[:end], "text") for end in range(len(text) + 1)]
    whole = text.rindex('"text"') + len('"text": ') + len(json.dumps(value, ensure_ascii=ascii_only))
    assert shown[whole - 1] == value and shown[0] == ""
    assert all(later.startswith(earlier) for earlier, later in pairwise(shown[:whole]))


def test_drafts_and_replies_are_shown_while_they_are_written(converse: Callable[..., Controller]) -> None:
    script = {"DraftForm": {"known": False, "text": "Guess"}, "Act": act("answer", text='It is "Porto"\n', evidence=[])}
    engine = Streaming(lambda form, *_: script[form])
    assert isinstance(engine, StreamingEngine)
    shown: list[str] = []
    plain = converse(engine)
    streaming = Controller(plain.memory, engine, user_id="ada", show=shown.append)
    answer = streaming.consider("Go on.")
    assert answer.text == plain.consider("Go on.").text
    assert shown[:2] == ["G", "Gu"] and 'It is "Porto"' in shown[-1] and shown.index("I") > shown.index("Guess")
    assert answer.uncertainty == pytest.approx(plain.consider("Go on.").uncertainty)


def test_a_short_answer_is_shown_while_it_is_written(converse: Callable[..., Controller]) -> None:
    engine = Streaming(lambda form, quoted, _: answering(form, quoted, "Porto", "Porto"))
    shown: list[str] = []
    memory = converse(engine).memory
    memory.add("I like Porto best.", user_id="ada", run_id="chat")
    answer = Controller(memory, engine, user_id="ada", show=shown.append).consider("Which town do I like best?")
    assert answer.text == "Porto" and shown == ["P", "Po", "Por", "Port", "Porto"]


def test_a_stream_that_breaks_is_an_error(converse: Callable[..., Controller]) -> None:
    engine = Streaming(lambda *_: {"known": True, "text": "Hello there, how are you?"})
    engine.broken = True
    controller = converse(ShowingEngine(engine, lambda _: None))
    with pytest.raises(EngineUnavailableError, match="connection ended"):
        controller.turn("Hi")
    assert controller.memory.stats().messages == 0


def test_showing_is_an_engine_like_any_other() -> None:
    engine = Streaming(lambda *_: "x")
    showing = ShowingEngine(engine, lambda _: None)
    assert isinstance(showing, LanguageEngine) and showing.name == "scripted" and showing.context == engine.context
    showing.close()
