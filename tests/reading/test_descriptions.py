"""Descriptions of messages by trained parts: types, entities, sentiment, and what is settled."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch

from nscma_torch.core import extras
from nscma_torch.core.errors import ConfigError, MissingDependencyError, ModelError, ModelNotFoundError, VectorError
from nscma_torch.core.protocols import RecordTasks
from nscma_torch.core.records import Description, Extraction, Scope, Statement, Unit
from nscma_torch.reading import sentiment as sentiment_file
from nscma_torch.reading.descriptions import Descriptions
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.reading.memory_types import CLASSES, CUES, MemoryTypes
from nscma_torch.reading.reader import Reader, ReadResult
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.relations import load_relations
from nscma_torch.reading.sentiment import sentiment
from nscma_torch.text.embedders.minilm_embedder import MiniLMEmbedder

SAID = datetime(2026, 5, 14, 10, tzinfo=UTC)


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    torch.set_num_threads(1)
    return MiniLMEmbedder()


@pytest.fixture(scope="module")
def descriptions(embedder: MiniLMEmbedder) -> Descriptions:
    reader = Reader.from_pretrained()
    return Descriptions(MemoryTypes.load(), embedder, lambda: reader, load_relations())


def unit(text: str, name: str = "Ana") -> Unit:
    return Unit("1", Scope("ada"), "chunk", text, ("1",), SAID, name=name)


def of(
    descriptions: Descriptions, text: str, *statements: Statement, name: str = "Ana", before: Sequence[Unit] = ()
) -> Description | None:
    (found,) = descriptions.describe(
        [unit(text, name)], extractions=[Extraction((), statements)], listeners=["Bo"], before=[before]
    )
    return found


def said(descriptions: Descriptions, text: str, **more: object) -> Description:
    found = of(descriptions, text, **more)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_sentence_of_each_type(descriptions: Descriptions) -> None:
    told = {
        "question": "Where did you put the ladder?",
        "problem": "My laptop is broken and I can't get at my files.",
        "plan": "I'm going to visit my cousin in June.",
        "preference": "I love swimming in cold lakes.",
        "event": "We moved into our new house last Friday.",
        "fact": "My brother is a teacher in Bergen.",
        "remark": "That's wonderful, well done!",
    }
    found = {text: said(descriptions, text) for text in told.values()}
    assert {one.type: text for text, one in found.items()} == told
    assert not any(one.settled for one in found.values())
    solved = said(descriptions, "My laptop is fixed, it works again.")
    assert (solved.type, solved.settled) == ("problem", True)


def test_the_most_salient_sentence_that_tells_anything_decides(descriptions: Descriptions) -> None:
    assert said(descriptions, "Wow, that's great! We moved into our new house on 3 May. How are you?").type == "event"
    assert said(descriptions, "Thanks, that's so kind of you all, Ann and Kim! Where is it?").type == "question"


def test_it_does_not_depend_on_what_is_described_beside_it(descriptions: Descriptions) -> None:
    texts = ["I'm going to visit my cousin in June.", "x" * 900, "Where?", "My laptop is broken. " * 40]
    units = [unit(text) for text in texts]
    nothing = {"extractions": [Extraction()] * 4, "listeners": [""] * 4, "before": [()] * 4}
    together = descriptions.describe(units, **nothing)  # type: ignore[arg-type]
    assert together == [of(descriptions, text) for text in texts]


def test_what_is_no_english_is_not_described(descriptions: Descriptions) -> None:
    assert of(descriptions, "我住在巴黎。") is None
    assert of(descriptions, "12:30 …") is None


def test_entities_are_those_of_statements_then_names(descriptions: Descriptions) -> None:
    text = "Bo, my sister Mina moved to Lyon with Rex in March, and I told Kim on Friday. She is 34."
    statements = (
        Statement("Ana's sister", "age", "34", start=40, end=50),
        Statement("Mina", "lives_in", "Lyon", start=0, end=40),
        Statement("user", "lives_in", "the Lyon", start=0, end=40),
        Statement("Mina", "likes", "the way they bake there", start=0, end=40),
    )
    found = of(descriptions, text, *statements)
    assert found is not None and found.entities == ("Mina", "Lyon", "Ana's sister", "Rex", "Kim")
    assert said(descriptions, "So Ana and Bo and I left on Monday.").entities == ()


def test_a_question_is_settled_by_its_answer(descriptions: Descriptions) -> None:
    asked = unit("Good to see you! Where does your sister Mina live now?", "Bo")
    other = unit("The weather is nice today.", "Bo")
    assert said(descriptions, "She lives in Lyon now.", before=[asked]).settles == (0,)
    assert said(descriptions, "She lives in Lyon now.", before=[other, asked]).settles == (1,)
    assert said(descriptions, "I had soup for lunch.", before=[asked]).settles == ()
    assert said(descriptions, "She lives in Lyon now.", name="Bo", before=[asked]).settles == (), "he asks himself"
    assert said(descriptions, "Mina lives in Lyon.", before=[unit("Mina 住在哪里？", "Bo")]).settles == ()


def test_a_problem_is_settled_by_its_own_speaker(descriptions: Descriptions) -> None:
    broken = unit("My laptop is broken and I can't get at my files.")
    works = "It's fixed, the laptop works again."
    assert said(descriptions, works, before=[broken]).settles == (0,)
    assert said(descriptions, works, name="Bo", before=[broken]).settles == ()
    assert said(descriptions, works, before=[unit("I love swimming in cold lakes.")]).settles == ()
    assert said(descriptions, "I had soup for lunch.", before=[broken]).settles == ()


class Doubting(MemoryTypes):
    """Takes every sentence for `name`, by this probability, and else for an event."""

    def __init__(self, name: str, share: float) -> None:
        super().__init__(384, "")
        self.shares = torch.zeros(1, len(CLASSES))
        self.shares[0, CLASSES.index(name)] = share
        self.shares[0, CLASSES.index("event")] = 0.4

    def probabilities(self, texts: Sequence[str], vectors: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        return self.shares.repeat(len(texts), 1)


@pytest.mark.parametrize("name", ["question", "problem", "solved", "plan"])
def test_what_has_a_resolution_is_none_on_a_suspicion(embedder: MiniLMEmbedder, name: str) -> None:
    def kind(share: float) -> str:
        return said(Descriptions(Doubting(name, share), embedder, None, load_relations()), "I had soup.").type

    assert kind(0.55) == ("problem" if name == "solved" else name)
    assert kind(0.45) == ("plan" if name == "plan" else "event")


@pytest.mark.parametrize(("evidence", "settles"), [(0.9, (0,)), (0.28, (0,)), (0.2, ())])
def test_a_reply_is_read_without_the_turn_that_asks(
    embedder: MiniLMEmbedder, evidence: float, settles: tuple[int, ...]
) -> None:
    class Certain(Reader):
        def __init__(self) -> None:
            self.asked: list[tuple[str, list[str]]] = []

        def read(self, questions: Sequence[str], passages: Sequence[Sequence[InputPassage]]) -> list[ReadResult]:
            self.asked += [(q, [one.text for one in own]) for q, own in zip(questions, passages, strict=True)]
            return [ReadResult((), 0.9, (evidence,), ()) for _ in questions]

    reader = Certain()
    bare = Descriptions(MemoryTypes.load(), embedder, lambda: reader, load_relations())
    asked = unit("Good to see you! Where does Mina live?", "Bo")
    assert said(bare, "In Lyon.", before=[asked]).settles == settles
    assert reader.asked == [("Bo asks: Ana, Where does Mina live?", ["In Lyon."])]


def test_without_a_reader_questions_stay_open(embedder: MiniLMEmbedder) -> None:
    bare = Descriptions(MemoryTypes.load(), embedder, None, load_relations())
    assert said(bare, "She lives in Lyon now.", before=[unit("Where does Mina live?", "Bo")]).settles == ()


def test_sentiment_is_vaders_with_its_authors_thresholds() -> None:
    texts = ("I love it, wonderful!", "This is awful, I hate it.", "The table has four legs.")
    assert [sentiment(text) for text in texts] == ["positive", "negative", "neutral"]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError("no", name=name)

    sentiment_file.analyzer.cache_clear()
    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"nscma-torch\[records\]"):
        sentiment("good")


def test_embedded_tasks_describe_what_they_are_given_for_it(descriptions: Descriptions) -> None:
    tasks = EmbeddedTasks(descriptions=lambda: descriptions)
    assert isinstance(tasks, RecordTasks)
    (found,) = tasks.describe([unit("Where is it?")], extractions=[Extraction()], listeners=[""], before=[()])
    assert found is not None and found.type == "question"
    with pytest.raises(ConfigError, match=r"records\.enabled"):
        EmbeddedTasks().describe([], extractions=[], listeners=[], before=[])


def test_types_are_saved_and_loaded_for_one_embedder(tmp_path: Path, embedder: MiniLMEmbedder) -> None:
    bundled = MemoryTypes.load()
    assert bundled.embedder == embedder.fingerprint
    bundled.save(tmp_path / "types.safetensors")
    vectors = embedder.embed(["I love it."])
    again = MemoryTypes.load(tmp_path / "types.safetensors")
    assert torch.equal(again.probabilities(["x"], vectors), bundled.probabilities(["x"], vectors))
    assert bundled.probabilities([], vectors[:0]).shape == (0, len(CLASSES))
    assert bundled.features(["x"], vectors).shape == (1, 384 + len(CUES))
    with pytest.raises(VectorError, match="384"):
        bundled.probabilities(["x"], torch.zeros(1, 64))
    with pytest.raises(ModelNotFoundError, match=r"train_types\.py"):
        MemoryTypes.load(tmp_path / "none.safetensors")


def test_weights_of_other_classes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = MemoryTypes.load()
    monkeypatch.setattr("nscma_torch.reading.memory_types.CLASSES", CLASSES[::-1])
    bundled.save(tmp_path / "types.safetensors")
    monkeypatch.undo()
    with pytest.raises(ModelError, match="train it again"):
        MemoryTypes.load(tmp_path / "types.safetensors")
