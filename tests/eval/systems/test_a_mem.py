"""A-MEM: links, the evolution of neighbours, and what is read along a link."""

from __future__ import annotations

import json

from eval.systems.a_mem import AMem, AMemOptions
from eval.systems.documents import default_chunker, passages_of
from eval.systems.language import Language
from nscma_torch.core.records import Message
from nscma_torch.llm.engines.contract import Request
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, BEGUN, SAID, Scripted, conversation, shared


def clerk(request: Request) -> str:
    """Files each note under its number of letters; links the porcelain with the kiln, which is about pottery then."""
    assert request.schema is not None
    shown = request.turns[-1].content
    if request.schema["title"] == "NoteForm":
        return json.dumps({"keywords": ["thing"], "context": "Something.", "tags": ["misc"]})
    data = json.loads(shown.split("\n", 1)[1])
    numbers = [int(number) for number, note in data["notes"].items() if "kiln" in note["content"]]
    if "porcelain" not in data["new"]["content"] or not numbers:
        return json.dumps({"links": [], "tags": data["new"]["tags"], "neighbours": []})
    evolved = [{"number": numbers[0], "context": "For firing porcelain.", "tags": ["pottery"]}]
    return json.dumps({"links": numbers[:1], "tags": ["pottery", "beginner"], "neighbours": evolved})


def test_a_new_note_is_linked_and_its_neighbour_evolves() -> None:
    engine = Scripted(clerk)
    embedder = HashEmbedder()
    box = AMem(Language(shared(engine=engine), engine), embedder, AMemOptions(k=1))
    box.keep(passages_of(conversation(), default_chunker(embedder)))
    assert [note.links for note in box.notes] == [set(), set(), {3}, {2}, set(), set()]
    kiln, porcelain, later = box.notes[2], box.notes[3], box.notes[5]
    assert (kiln.context, kiln.tags) == ("For firing porcelain.", ("pottery",)), "evolved by what was said after it"
    assert porcelain.tags == ("pottery", "beginner") and later.tags == ("misc",)
    assert kiln.embedded == f"Rita: {SAID[2]}\nthing\npottery\nFor firing porcelain."
    assert len(engine.asked) == 6 + 5, "one request a note, and one for each that has neighbours"
    found = box.find("For firing porcelain in the kiln that is set to 900 degrees: pottery", ASKED)
    assert [passage.place for passage in found.passages] == [2, 3], "what it is linked with is read beside the nearest"
    assert found.passages[0].text == f"{SAID[2]}\n(context: For firing porcelain.; keywords: thing; tags: pottery)"


def test_without_a_model_notes_above_the_threshold_are_linked() -> None:
    texts = ("My sister Ana has a kiln.", "The weather is fine.", "My sister Ana has a new kiln since Monday.")
    embedder = HashEmbedder()
    box = AMem(Language(shared(), None), embedder, AMemOptions(k=1, linked=0.4))
    box.keep(passages_of([Message("user", text, BEGUN) for text in texts], default_chunker(embedder)))
    assert [note.links for note in box.notes] == [{2}, set(), {0}]
    assert {"person"} <= set(box.notes[0].tags) and {"change", "date"} <= set(box.notes[0].tags), "tags of the new one"
    assert "weather" in box.notes[1].keywords and "kiln" in box.notes[0].keywords
    assert [passage.text for passage in box.find("Has Ana a kiln?", ASKED).passages] == [texts[0], texts[2]]
