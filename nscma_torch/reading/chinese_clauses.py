"""Find the asserting Chinese clauses of a message, omitting questions, hypotheticals and reported speech.

Matching is superlinear in the text's length, so sentences above `LONGEST_SENTENCE` characters and clauses above
`LONGEST_CLAUSE` are skipped: the total cost is then at most linear in the text's length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nscma_torch.reading.chinese import asserted
from nscma_torch.reading.corrections import corrects, without_correction
from nscma_torch.reading.quotation_marks import without_speech
from nscma_torch.text.scripts import HANZI, script
from nscma_torch.text.sentences import split_sentences

LONGEST_SENTENCE = 1000
LONGEST_CLAUSE = 100

_UNREAL = re.compile(  # the whole sentence states nothing
    r"如果|要是|假如|假设|万一|倘若|但愿|听说|据说|开玩笑|梦见|梦到|差点|才不信|要不|说不定|是不是|会不会|有没有|能不能|想象|的话|除非|^等[我你他她]"
    r"|^(?:请|帮我|麻烦|给我)?(?:再)?写一?[个篇首段封]|故事|小说里|电影里|剧里|翻译成|吹牛|真希望"
)
_SPLIT = re.compile(r"[，,；;。！!：～~\n]+|:(?!\d)|(?:但是|不过|所以|因为|而且|然后|但)")
_FILLERS = 2  # words beside a correction mark that state nothing: a lone mark
_CALLED = re.compile(rf"(?<=[{HANZI}])[，,](?:(?:它的?|他的?|她的?)?(?:名字|名)叫|(?<=[只条匹][{HANZI}]{{2}}[，,])叫)")
_QUESTION = re.compile(r"(?!.*[还才可正][^，,]*呢\W*$).*[吗呢么]\W*$", re.DOTALL)
_FIRM = re.compile(
    r"一家[^，,。]*?(?:公司|店|工作室|学校|医院|律所|餐厅|酒店)(?P<rest>[^，,。]{0,4})[，,](?:名字)?叫(?P<name>[^，,。！!\s]{2,12})"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause, with the `start`, `end` and text of its sentence."""

    text: str
    start: int
    end: int
    sentence: str
    correction: bool = False


def clauses(text: str) -> list[Clause]:
    """Return the asserting clauses of the Chinese sentences of a text, in order."""
    if text.isascii():  # most messages: nothing in them is Chinese
        return []
    found: list[Clause] = []
    masked = without_speech(text)
    carried = False  # a sentence that only says that it corrects: "我说错了。"
    for span in split_sentences(masked):
        sentence = " ".join(masked[span.start : span.end].replace("’", "'").split())
        if len(sentence) > LONGEST_SENTENCE or script(sentence) != "cjk":
            carried = False
            continue
        alone = corrects(sentence) and len(without_correction(sentence).split()) <= _FILLERS
        correction, carried = carried or corrects(sentence), alone
        if _is_question(sentence) or _UNREAL.search(sentence):
            continue
        found += [
            Clause(part, span.start, span.end, sentence, correction)
            for part in _parts(sentence)
            if "\x00" not in part and any(map(str.isalnum, part)) and len(part) <= LONGEST_CLAUSE
        ]
    return found


def _parts(sentence: str) -> list[str]:
    named = _FIRM.sub(r"\g<name>\g<rest>", _CALLED.sub("叫", sentence))
    return asserted([part.strip() for part in _SPLIT.split(named)])


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'”)] ").endswith(("?", "？")) or bool(_QUESTION.match(sentence))
