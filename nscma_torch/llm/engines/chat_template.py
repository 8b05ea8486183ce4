"""Convert turns to the model's token ids in such a way that no text can forge a turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jinja2 import TemplateError

from nscma_torch.core.errors import EngineRefusedError, ModelError
from nscma_torch.llm.engines.contract import Request, Turn

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class ChatTemplate:
    """A tokenizer's chat template.

    Special tokens spelled out in a turn's content are split by a space, so a text can't forge a turn.

    Attributes:
        special: ids of the special tokens.

    Raises `ModelError` for a tokenizer without a template.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, name: str) -> None:
        if tokenizer.chat_template is None:
            raise ModelError(
                f"the tokenizer of {name} has no chat template: name an instruct or chat model, "
                "or add a chat_template.jinja to its folder"
            )
        self._tokenizer = tokenizer
        self._name = name
        special = {id_: token for id_, token in tokenizer.added_tokens_decoder.items() if token.special}
        self.special = frozenset(special)
        self._forging = _any_of({token.content for token in special.values()})

    def encode(self, turns: Sequence[Turn]) -> list[int]:
        """Return the token ids of a prompt that the assistant continues. Raises `EngineRefusedError` if the template
        rejects the turns.
        """
        messages = [{"role": turn.role, "content": self._forging.sub(_split, turn.content)} for turn in turns]
        try:
            text = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            ids: list[int] = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        except (TemplateError, UnicodeEncodeError, TypeError) as error:
            raise EngineRefusedError(f"the chat template of {self._name} rejects the prompt: {error}") from error
        return ids

    def fitting(self, request: Request, context: int) -> list[int]:
        """Return the token ids of a request's prompt. Raises `EngineRefusedError` for an invalid limit, or if the
        request exceeds the context.
        """
        if request.max_tokens < 1 or not 0 <= request.temperature < float("inf"):
            raise EngineRefusedError(
                f"max_tokens must be at least 1 and temperature at least 0: {request.max_tokens}, {request.temperature}"
            )
        prompt = self.encode(request.turns)
        if len(prompt) + request.max_tokens > context:
            raise EngineRefusedError(
                f"the prompt of {len(prompt)} tokens and a reply of {request.max_tokens} exceed the context of "
                f"{context} tokens of {self._name}"
            )
        return prompt


def _any_of(words: set[str]) -> re.Pattern[str]:
    longest_first = sorted((word for word in words if len(word) > 1), key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def _split(found: re.Match[str]) -> str:
    word = found.group()
    return f"{word[0]} {word[1:]}"
