"""What `ask` gives the reader to read, and what it makes of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import torch
from torch import Tensor

from nscma_torch.answering import from_facts, reader_qa
from nscma_torch.answering.reader_qa import ReaderQA
from nscma_torch.api.memory import Memory
from nscma_torch.core.config import ReadingConfig
from nscma_torch.core.records import Answer, Evidence, Hit, Message, Scope, UnitKind
from nscma_torch.reading.reader import ReadResult, ReadSpan
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES, KINDS
from nscma_torch.reading.unknown_answer import UNKNOWN
from nscma_torch.search.search_bounds import Bounds

SURE, UNSURE = 0.89, 0.19  # a little below the probabilities that the reader below gives
DAY = datetime(2025, 3, 1, 9, tzinfo=UTC)
NOW = DAY + timedelta(days=40)
SAID = (
    (DAY, "Bo", "how much is the rent now?"),
    (DAY, "Ana", "900 a month, sadly"),
    (DAY + timedelta(days=1), "Ana", "the cat is ill"),
    (DAY + timedelta(days=30), "Bo", "and the rent?"),
    (DAY + timedelta(days=30), "Ana", "they want 950 since yesterday"),
)
QUOTED = Answer(UNKNOWN, True, 0.0, ())


class RecordingReader:
    """Answers "950" wherever it stands, as surely as it is told to be, and keeps what it was given."""

    def __init__(self, answerable: float = 0.9, evidence: float = 0.0) -> None:
        self.answerable = answerable
        self.evidence = evidence  # of each passage with "950"; of others 0
        self.asked: list[str] = []
        self.passages: list[InputPassage] = []

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> list[ReadResult]:
        self.asked += questions
        (own,) = passages
        self.passages += own
        spans = [
            ReadSpan("950", i, p.text.index("950"), p.text.index("950") + 3, True, 0.9)
            for i, p in enumerate(own)
            if "950" in p.text
        ]
        kinds = tuple(float(kind == "span") for kind in KINDS)
        return [ReadResult(tuple(spans), self.answerable, tuple(self.evidence * ("950" in p.text) for p in own), kinds)]

    def changes(self, _: Sequence[str], later: Sequence[Sequence[InputPassage]]) -> Tensor:
        """Nothing changes anything."""
        return torch.tensor([[float(kind == "none") for kind in CHANGES]] * len(later))


@pytest.fixture(autouse=True)
def as_sure_as_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both probabilities are the reader's, less what speakers say whom the question doesn't name."""
    for name in ("CORRECT", "ANSWERABLE"):
        monkeypatch.setattr(reader_qa, name, {"answerable": 1.0, "others": -3.0})


@pytest.fixture
def chat(memory: Memory) -> Memory:
    for at, name, text in SAID:
        memory.add([Message("user", text, at, name)], user_id="ana", now=NOW)
    memory.flush()
    return memory


def asked(chat: Memory, reader: RecordingReader, texts: Sequence[str], **settings: float) -> Answer:
    """What is answered from the messages of these texts, in this order of their ranks."""
    found = {hit.text: hit for hit in chat.search("rent cat month yesterday", user_id="ana", top_k=10, now=NOW)}
    hits: list[Hit] = [found[text] for text in texts]
    qa = ReaderQA(chat._components.database, reader, ReadingConfig(**{"sure": SURE, "answerable": UNSURE, **settings}))  # type: ignore[arg-type]
    return qa.answer("What is the rent?", hits, QUOTED, user_id="ana", now=NOW)


def test_hits_are_read_in_the_order_of_the_conversation_with_the_turns_before_them(chat: Memory) -> None:
    reader = RecordingReader()
    answer = asked(chat, reader, [SAID[4][2], SAID[1][2]])
    assert [(p.speaker, p.text) for p in reader.passages] == [SAID[i][1:] for i in (0, 1, 3, 4)], "not of another day"
    assert [p.context for p in reader.passages] == [True, False, True, False]
    assert [p.rank for p in reader.passages if not p.context] == [1, 0]
    assert answer.text.splitlines()[0] == "950" and answer.evidence[0].text == SAID[4][2]


def test_an_answer_may_stand_in_a_turn_before_a_hit(chat: Memory) -> None:
    chat.add([Message("user", "oh dear", SAID[4][0], "Bo")], user_id="ana", now=NOW)
    chat.flush()
    found = chat.search("oh dear", user_id="ana", top_k=10, now=NOW)
    (hit,) = [hit for hit in found if hit.text == "oh dear"]
    qa = ReaderQA(chat._components.database, RecordingReader(), ReadingConfig(sure=SURE, answerable=UNSURE))  # type: ignore[arg-type]
    answer = qa.answer("What is the rent?", [hit], QUOTED, user_id="ana", now=NOW)
    assert answer.text.splitlines()[0] == "950"
    assert answer.evidence[0].hit.unit.episode_ids and answer.evidence[0].text == SAID[4][2]
    assert (answer.evidence[0].start, answer.evidence[0].end) == (0, len(SAID[4][2]))


@pytest.mark.parametrize("kind", ["summary", "atomic_fact"])
def test_summaries_and_facts_reach_the_reader_each_by_itself(chat: Memory, kind: UnitKind) -> None:
    """Summaries were left out, and of several units of one message only the last was read."""
    (own,) = [hit for hit in chat.search("950", user_id="ana", now=NOW) if "950" in hit.text]
    ids = ("one", "two") if kind == "summary" else own.unit.episode_ids * 2
    hits = [
        replace(own, unit=replace(own.unit, id=f"u{i}", kind=kind, text=text, episode_ids=(episode,), start=0))
        for i, (text, episode) in enumerate(zip(("The rent is 950.", "Bo asked."), ids, strict=True))
    ]
    reader = RecordingReader()
    qa = ReaderQA(chat._components.database, reader, ReadingConfig(sure=SURE, answerable=UNSURE))  # type: ignore[arg-type]
    answer = qa.answer("What is the rent?", hits, QUOTED, user_id="ana", now=NOW)
    assert [p.text for p in reader.passages if not p.context] == ["The rent is 950.", "Bo asked."]
    assert answer.text.splitlines()[0] == "950" and answer.evidence[0].hit.unit.kind == kind


@pytest.mark.parametrize(("answerable", "first"), [(0.9, "950"), (0.2, UNKNOWN)])
def test_what_is_not_sure_enough_is_no_answer(chat: Memory, answerable: float, first: str) -> None:
    answer = asked(chat, RecordingReader(answerable), [SAID[4][2]], sure=SURE, answerable=SURE - 0.01)
    assert answer.text.splitlines()[0] == first and answer.abstained == (first != "950")


@pytest.mark.parametrize(("question", "abstained"), [("What rent has Ana?", False), ("What rent has Bo?", True)])
def test_what_another_said_than_the_one_asked_about_is_less_sure(chat: Memory, question: str, abstained: bool) -> None:
    (hit,) = [hit for hit in chat.search("950", user_id="ana", now=NOW) if "950" in hit.text]
    qa = ReaderQA(chat._components.database, RecordingReader(), ReadingConfig(sure=SURE, answerable=SURE))  # type: ignore[arg-type]
    answer = qa.answer(question, [hit], QUOTED, user_id="ana", now=NOW)
    assert answer.abstained == abstained and (answer.confidence < SURE) == abstained


def test_what_is_unsure_for_another_reason_replaces_no_fact() -> None:
    assert reader_qa.UNSURE < from_facts.REPLACES


class Rejecting:
    """Rejects every passage."""

    def reason(self, *_: object) -> str:
        return "about Bo"


def test_passages_that_are_all_rejected_tell_nothing(chat: Memory) -> None:
    (hit,) = [hit for hit in chat.search("950", user_id="ana", now=NOW) if "950" in hit.text]
    settings = ReadingConfig(sure=SURE, answerable=UNSURE)
    qa = ReaderQA(chat._components.database, RecordingReader(0.9), settings, Rejecting())  # type: ignore[arg-type]
    attempt = qa.attempt("What is the rent?", [hit], user_id="ana", now=NOW)
    assert (
        attempt.found is None and attempt.answerable <= reader_qa.UNSURE and "'950' rejected: about Bo" in attempt.trace
    )


def test_the_time_that_a_question_names_counts(chat: Memory) -> None:
    chat.add([Message("user", "they want 950 too", DAY - timedelta(days=60), "Ana")], user_id="ana", now=NOW)
    chat.flush()
    hits = [hit for hit in chat.search("950", user_id="ana", now=NOW) if "950" in hit.text]
    qa = ReaderQA(chat._components.database, RecordingReader(), ReadingConfig(sure=SURE, answerable=UNSURE))  # type: ignore[arg-type]
    texts = []
    for question in ("What did they want on 31 March 2025?", "What did they want on 31 December 2024?"):
        answer = qa.answer(question, hits, QUOTED, user_id="ana", now=NOW)
        texts.append(answer.evidence[0].text)
    assert texts == [SAID[4][2], "they want 950 too"]


def test_between_sure_and_unsure_the_answer_says_so(chat: Memory) -> None:
    reader = RecordingReader(0.2)
    (hit,) = [hit for hit in chat.search("950", user_id="ana", now=NOW) if "950" in hit.text]
    qa = ReaderQA(chat._components.database, reader, ReadingConfig(sure=SURE, answerable=UNSURE - 0.01))  # type: ignore[arg-type]
    quoted = Answer("they want 950", False, 0.5, ())
    answer = qa.answer("What is the rent?", [hit], quoted, user_id="ana", now=NOW)
    assert answer.text.splitlines()[0] == "950 (not sure)" and answer.short == "950" and not answer.abstained
    assert answer.text.count("\n") == len(answer.evidence) == answer.quotes > 0


def test_relevance_is_the_score_weighed_by_the_evidence(chat: Memory) -> None:
    """(0.001 + 0.999 p)^0.1 of the score among the best one; what is not read counts as no evidence."""
    found = chat.search("rent cat month yesterday", user_id="ana", top_k=10, now=NOW)
    told = next(hit for hit in found if "950" in hit.text)
    others = [hit for hit in found if hit is not told]
    hits = [replace(told, score=4.0), replace(others[0], score=2.0), *[replace(others[1], score=8.0)] * 19]
    reader = RecordingReader(evidence=0.5)
    qa = ReaderQA(chat._components.database, reader, ReadingConfig(sure=SURE, answerable=UNSURE, passages=1))  # type: ignore[arg-type]
    bounds = Bounds(Scope("ana"), NOW)
    scores = qa.relevance("What is the rent?", hits, bounds)
    assert reader.asked == ["What is the rent?"] or "What is the rent?" in reader.asked[0]
    assert scores[0] == pytest.approx(0.5 * (0.001 + 0.999 * 0.5) ** 0.1)
    assert scores[1:3] == [pytest.approx(0.25 * 0.001**0.1), pytest.approx(0.001**0.1)]
    assert len(scores) == 21
    beyond = qa.relevance("What is the rent?", [hits[1]] * 20 + [hits[0]], bounds)
    assert beyond[20] == pytest.approx(0.001**0.1), "the twenty-first is not read"
    assert qa.relevance("What is the rent?", [replace(told, score=0.0)], bounds) == [0.0]


class SurerWithMore(RecordingReader):
    """Answers with the first number of the passages, as surely as it is told for the texts that it was given."""

    def __init__(self, sure: dict[str, float]) -> None:
        super().__init__()
        self.sure = sure  # answerable, by the text of the last passage

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> list[ReadResult]:
        self.asked += questions
        (own,) = passages
        if not own:
            return [ReadResult((), 0.0, (), tuple(float(kind == "span") for kind in KINDS))]
        text = own[-1].text
        word = next(iter(text.split()))
        span = ReadSpan(word, len(own) - 1, 0, len(word), True, 0.9)
        kinds = tuple(float(kind == "span") for kind in KINDS)
        return [ReadResult((span,), self.sure[text], (0.0,) * len(own), kinds)]


def hopped(
    chat: Memory, sure: dict[str, float], found: Sequence[Sequence[str]], **settings: float
) -> tuple[Answer, list[str], SurerWithMore]:
    """The answer of a search that finds the first of these lists of texts, and each next one when it searches again."""
    stored = {hit.text: hit for hit in chat.search("rent cat month yesterday", user_id="ana", top_k=10, now=NOW)}
    lists = [[stored[text] for text in texts] for texts in found]
    reader, queries = SurerWithMore(sure), list[str]()

    def again(query: str) -> list[Hit]:
        queries.append(query)
        return lists[len(queries)]

    qa = ReaderQA(chat._components.database, reader, ReadingConfig(**{"sure": SURE, "answerable": 0.05, **settings}))  # type: ignore[arg-type]
    answer = qa.answer("What is the rent?", lists[0], QUOTED, user_id="ana", now=NOW, search_again=again)
    return answer, queries, reader


ILL, RENT, NEW = SAID[2][2], SAID[1][2], SAID[4][2]


def test_the_first_answer_goes_into_the_second_query_and_the_surer_answer_is_kept(chat: Memory) -> None:
    answer, queries, reader = hopped(chat, {ILL: 0.3, NEW: 0.9}, [[ILL], [NEW]], hops=2)
    assert queries == ["What is the rent? the"] and len(reader.asked) == 2 and reader.asked[0] == reader.asked[1]
    assert answer.text.splitlines()[0] == "they" and answer.evidence[0].text == NEW
    hop = next(line for line in answer.trace if line.startswith("hop 2: "))
    assert "'the'" in hop and "'they'" in hop and hop.endswith("kept")


def test_a_sure_answer_pays_for_no_hop(chat: Memory) -> None:
    answer, queries, reader = hopped(chat, {NEW: 0.95}, [[NEW]], hops=3)
    assert not queries and len(reader.asked) == 1 and not any("hop" in line for line in answer.trace)


def test_an_answer_that_is_hardly_surer_is_left(chat: Memory) -> None:
    answer, queries, _ = hopped(chat, {ILL: 0.3, NEW: 0.31}, [[ILL], [NEW], [RENT]], hops=3)
    assert len(queries) == 1, "nothing is gained, so nothing more is asked"
    assert answer.text.splitlines()[0] == "the (not sure)"
    assert any(line.startswith("hop 2: ") and line.endswith("rejected") for line in answer.trace)


@pytest.mark.parametrize(("hops", "queries"), [(1, []), (2, ["the"]), (3, ["the", "900"])])
def test_there_are_at_most_so_many_readings(chat: Memory, hops: int, queries: list[str]) -> None:
    sure = {ILL: 0.1, RENT: 0.3, NEW: 0.6}
    answer, asked, _ = hopped(chat, sure, [[ILL], [RENT], [NEW], [ILL]], hops=hops)
    assert asked == [f"What is the rent? {word}" for word in queries]
    assert answer.evidence[0].text == (ILL, RENT, NEW)[hops - 1]


def test_where_nothing_is_read_there_is_nothing_to_search_with(chat: Memory) -> None:
    answer, queries, _ = hopped(chat, {}, [[], [NEW]], hops=3)
    assert answer.abstained and not queries


def test_the_time_spent_is_added_and_chinese_is_left_as_it_is_quoted(chat: Memory) -> None:
    (hit,) = [hit for hit in chat.search("950", user_id="ana", now=NOW) if "950" in hit.text]
    qa = ReaderQA(chat._components.database, RecordingReader(), ReadingConfig(sure=SURE, answerable=UNSURE))  # type: ignore[arg-type]
    quoted = replace(QUOTED, usage=replace(QUOTED.usage, seconds=5.0))
    more = {"user_id": "ana", "now": NOW}
    assert 5.0 < qa.answer("What is the rent?", [hit], quoted, **more).usage.seconds < 65.0  # type: ignore[arg-type]
    assert qa.answer("房租是多少？", [hit], quoted, **more) is quoted  # type: ignore[arg-type]


def test_a_chinese_passage_about_a_relative_is_not_quoted_of_who_asks(chat: Memory) -> None:
    (hit,) = [hit for hit in chat.search("950", user_id="ana", now=NOW) if "950" in hit.text]
    qa = ReaderQA(chat._components.database, RecordingReader(), ReadingConfig(sure=SURE, answerable=UNSURE))  # type: ignore[arg-type]
    more = {"user_id": "ana", "now": NOW}
    own, other = (Evidence(hit, text, 0, len(text), 0.7) for text in ("我有哮喘。", "我妈妈有糖尿病。"))
    quoted = replace(QUOTED, abstained=False, evidence=(other, own), quotes=1)
    both = qa.answer("我有糖尿病吗？", [hit], quoted, **more)  # type: ignore[arg-type]
    assert both.evidence == (own,) and "妈妈" not in both.text and not both.abstained
    alone = qa.answer("我有糖尿病吗？", [hit], replace(quoted, evidence=(other,)), **more)  # type: ignore[arg-type]
    assert alone.abstained and alone.evidence == ()


def test_a_question_of_a_day_alone_is_answered_by_what_tells_of_it(chat: Memory) -> None:
    last = SAID[4][0]
    for at, name, text in ((last, "Ana", "Gym today was great."), (last, "Bo", "My bike broke today.")):
        chat.add([Message("user", text, at, name)], user_id="ana", now=NOW)
    chat.flush()
    hits = chat.search("gym bike rent", user_id="ana", top_k=10, now=NOW)
    qa = ReaderQA(chat._components.database, RecordingReader(0.2), ReadingConfig(sure=SURE, answerable=SURE - 0.01))  # type: ignore[arg-type]

    def first(question: str) -> str:
        now = last + timedelta(days=1)
        return qa.answer(question, hits, QUOTED, user_id="ana", now=now).text.splitlines()[0]

    assert first("What did Ana do yesterday?") == "Gym today [31 March 2025] was great. (not sure)"
    assert first("What did Bo do yesterday?") == "My bike broke today [31 March 2025]. (not sure)"
    assert first("What did Ana do two weeks ago?") == first("Which gym did Ana try yesterday?") == UNKNOWN


@pytest.mark.parametrize(
    ("texts", "question", "first"),
    [
        (["I pay 950 at Rossi.", "In 2012 I paid 950 at Bianchi."], "What rent do I pay?", "950"),
        (["In 2012 I paid 950 at Bianchi."], "What rent do I pay?", "950 (not sure)"),
        (["In 2012 I signed for 950."], "What rent do I pay?", "950"),
        (["In 2012 I paid 950 at Bianchi."], "What rent did I pay?", "950"),
    ],
)
def test_years_ago_answer_no_question_of_the_present(
    texts: list[str], question: str, first: str, memory: Memory
) -> None:
    for hours, text in enumerate(texts):
        memory.add([Message("user", text, DAY - timedelta(hours=hours))], user_id="ana", now=NOW)
    memory.flush()
    hits = memory.search("rent pay paid signed", user_id="ana", top_k=5, now=NOW)
    qa = ReaderQA(memory._components.database, RecordingReader(), ReadingConfig(sure=SURE, answerable=UNSURE))  # type: ignore[arg-type]
    answer = qa.answer(question, hits, QUOTED, user_id="ana", now=NOW)
    assert answer.text.splitlines()[0] == first
    assert answer.evidence[0].hit.text == texts[0]
