"""Text of books, sentence by sentence, for facts to be hidden in.

The construction of `SentenceSampler` in booydar/babilong, babilong/babilong_utils.py @ 34f8445a: sentences follow each
other as in the book, those of under 10 tokens are left out, and the last one is cut so that the tokens are exactly as
many as asked for. As in data/create_tasks.py @ 2b54e1ee, where the published samples come from, reading begins at a
random place of a random book. Deviations: it goes on with the following book where one ends, and does not draw another;
sentences are those of `nscma_torch.text.sentences` in place of NLTK's Punkt, of text whose lines are joined first: to
Punkt, the end of a line is no end of a sentence. Who changes that splitter changes the texts: a sample's digest tells.

Tokens are those of a `tokenizer.json`. GPT-2's, which the published samples were measured with, is not among this
project's files; without a path the WordPiece tokenizer of the bundled all-MiniLM-L6-v2 counts: over four of the novels
of `data/novels` it makes a token of 4.0 to 4.4 bytes of English prose.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tokenizers import Encoding, Tokenizer

from nscma_torch.core.errors import ConfigError
from nscma_torch.text.embedders.minilm import bundled_folder
from nscma_torch.text.sentences import Span, split_sentences

LEAST = 10  # tokens of a sentence that is taken
_KEPT_BOOKS = 64
_BLANK = re.compile(r"\n\s*\n")


@dataclass
class _Book:
    text: str
    sentences: list[Span]
    tokens: dict[int, int] = field(default_factory=dict)

    def sentence(self, i: int) -> str:
        """Sentence i."""
        span = self.sentences[i]
        return self.text[span.start : span.end]


class Background:
    """The books of a folder: its `*.txt` files in the order of their names, read when they are needed.

    Raises `ConfigError` where there is no book, or no such tokenizer.
    """

    def __init__(self, folder: Path, tokenizer: Path | None = None) -> None:
        self._paths = sorted(folder.glob("*.txt"))
        if not self._paths:
            raise ConfigError(f"{folder} holds no book; put at least one *.txt there, or name another folder")
        path = bundled_folder() / "tokenizer.json" if tokenizer is None else tokenizer
        if not path.is_file():
            raise ConfigError(f"{path} is no tokenizer.json; give the path of one, or '' for the bundled one")
        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._book = lru_cache(maxsize=_KEPT_BOOKS)(self._read)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._encoded(text).ids)

    def sample(self, tokens: int, generator: random.Random) -> list[str]:
        """Consecutive sentences of that many tokens in all, from a random place on; none of 0 or less.

        Raises `ConfigError` where no sentence of any book is long enough.
        """
        if tokens <= 0:
            return []
        place = generator.randrange(len(self._paths))
        number = int(generator.random() * len(self._book(place).sentences))
        taken: list[str] = []
        left, barren = tokens, 0
        while barren <= len(self._paths):
            book, before = self._book(place), len(taken)
            for i in range(number, len(book.sentences)):
                count = self._count(book, i)
                if count < LEAST:
                    continue
                if count >= left:
                    taken.append(self._cut(book.sentence(i), left))
                    return taken
                taken.append(book.sentence(i))
                left -= count
            barren = 0 if len(taken) > before else barren + 1
            place, number = (place + 1) % len(self._paths), 0
        raise ConfigError(f"no sentence of {self._paths[0].parent} has {LEAST} tokens; use books of whole sentences")

    def _read(self, place: int) -> _Book:
        paragraphs = _BLANK.split(self._paths[place].read_text(encoding="utf-8"))
        text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        return _Book(text, split_sentences(text))

    def _count(self, book: _Book, i: int) -> int:
        if i not in book.tokens:
            book.tokens[i] = self.count(book.sentence(i))
        return book.tokens[i]

    def _cut(self, sentence: str, tokens: int) -> str:
        return sentence[: self._encoded(sentence).offsets[tokens - 1][1]]

    def _encoded(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)
