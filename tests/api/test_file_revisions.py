"""What is stored of a file follows the file: what is new is added, what was edited replaces the old text."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nscma_torch.api.file_revisions import Revised, revise
from nscma_torch.api.memory import Memory
from nscma_torch.text.files.file_readers import read_messages

Add = Callable[..., Revised]
JANUARY = "2026-01-01T10:00:00+00:00"


def said(*texts: str, times: bool = False) -> str:
    """JSON lines, by default without a time."""
    stamp = {"timestamp": JANUARY} if times else {}
    return "\n".join(json.dumps({"role": "user", "content": text, **stamp}) for text in texts)


@pytest.fixture
def add(memory: Memory, tmp_path: Path) -> Add:
    """`add("chat.jsonl", content)`: write the file and add it, as the command does."""

    def add_file(name: str, content: str) -> Revised:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        revised = revise(memory, path, read_messages, user_id="ana")
        list(memory.add_many(read_messages(path), user_id="ana"))
        return revised

    return add_file


def texts(memory: Memory) -> list[str]:
    return sorted(" ".join(one.text.split()) for one in memory.get_all(user_id="ana", limit=None))


@pytest.mark.parametrize("times", [False, True])
@pytest.mark.parametrize(
    ("before", "after", "kept", "updated"),
    [
        (["a", "ok", "ok"], ["a", "ok", "ok", "b"], [], 0),  # grown; equal lines live side by side
        (["a", "b"], ["a", "x", "b"], [], 0),  # a line put in
        (["a", "b", "c"], ["a", "x", "c"], [], 1),  # edited between two lines that stay
        (["I live in Porto now.", "b"], ["I live in Braga now.", "b"], [], 1),  # at the beginning
        (["b", "I live in Porto now."], ["b", "I live in Braga now."], [], 1),  # at the end
        (["I live in Porto now."], ["I live in Braga now."], [], 1),  # the only line
        (["a", "b", "c"], ["a", "c"], [], 0),  # taken out between two lines that stay
        (["a", "b", "c"], ["c", "d"], ["a", "b"], 0),  # a log that was rotated keeps its past
        (["ok", "ok", "ok"], ["ok"], ["ok", "ok"], 0),
    ],
)
def test_message_files(
    before: list[str], after: list[str], kept: list[str], updated: int, times: bool, add: Add, memory: Memory
) -> None:
    add("chat.jsonl", said(*before, times=times))
    first = {one.text: one.id for one in memory.get_all(user_id="ana")}
    revised = add("chat.jsonl", said(*after, times=times))
    assert texts(memory) == sorted(after + kept) and len(revised.updated) == updated
    if updated:
        old = next(text for text in before if text not in after)
        events = memory.history(first[old], user_id="ana")
        assert [(one.event, one.old_text) for one in events] == [("ADD", None), ("UPDATE", old)]
    assert add("chat.jsonl", said(*after, times=times)) == Revised()
    assert texts(memory) == sorted(after + kept) and memory.verify() == []


def test_a_file_of_which_only_the_name_was_known_is_known_by_its_path(add: Add, memory: Memory) -> None:
    data = b"# A\n\nOne.\n\n# B\n\nTwo.\n"
    list(memory.add_many(read_messages(io.BytesIO(data), name="notes.md"), user_id="ana"))
    before = texts(memory)
    assert add("notes.md", data.decode()) == Revised() and texts(memory) == before
    assert len(add("notes.md", "# A\n\nOne.\n\n# B\n\nTwo, edited.\n").updated) == 1
    assert memory.verify() == []


def test_a_rewritten_conversation_is_another_one(add: Add, memory: Memory) -> None:
    """Without a line that stays nothing tells an edit from a new conversation under the same name."""
    add("chat.jsonl", said("Where is the ferry?", "I like tea."))
    add("chat.jsonl", said("Bake bread at 230 degrees.", "Thank you so much!"))
    assert len(texts(memory)) == 4


DOCUMENT = "# Home\n\nThe door code is 1111.\n\n# Work\n\nThe printer is on floor 2.\n"


@pytest.mark.parametrize("name", ["n.md", "n.markdown"])
def test_sections_of_documents(name: str, add: Add, memory: Memory) -> None:
    add(name, DOCUMENT)
    assert len(add(name, "# Intro\n\nHello.\n\n" + DOCUMENT.replace("1111", "2222")).updated) == 1
    home, intro, work = sorted(memory.get_all(user_id="ana"), key=lambda one: one.text)
    assert "2222" in home.text and [one.metadata["line"] for one in (home, intro, work)] == [5, 1, 9]
    assert len(add(name, DOCUMENT.partition("# Work")[0]).hidden) == 2
    assert texts(memory) == ["# Home The door code is 1111."]
    assert memory.history(work.id, user_id="ana")[-1].reason == "its file does not hold it any more"
    assert add(name, DOCUMENT).restored == (work.id,), "what comes back into the file comes back"
    memory.delete(work.id, user_id="ana")
    add(name, DOCUMENT)
    assert texts(memory) == ["# Home The door code is 1111."], "what the user has deleted stays deleted"
    assert memory.verify() == []


def test_paragraphs_of_texts(add: Add, memory: Memory) -> None:
    add("n.txt", f"{'a' * 3000}\n\n{'b' * 3000}\n\nThe code is 1.")
    revised = add("n.txt", f"{'a' * 3000}\n\n{'c' * 3000}\n\nThe code is 2.")
    assert len(revised.updated) == 1 and len(texts(memory)) == 2


def test_files_of_one_name_are_two(add: Add, memory: Memory, tmp_path: Path) -> None:
    add("a/README.md", "# One\n\nApples.\n")
    assert add("b/README.md", "# One\n\nPears.\n") == Revised()
    assert texts(memory) == ["# One Apples.", "# One Pears."]


def test_a_file_that_moved_or_was_added_by_an_older_version_is_known(add: Add, memory: Memory, tmp_path: Path) -> None:
    """Its keys were made of the hash of the file, and of the number of the message."""
    content = said("a", "ok", "ok")
    keys = [f"{hashlib.sha256(content.encode()).hexdigest()}:{number}" for number in (1, 2, 3)]
    for text, key in zip(("a", "ok", "ok"), keys, strict=True):
        memory.add(text, user_id="ana", idempotency_key=key)
    add("old.jsonl", content)
    add("new.jsonl", content)
    add("new.jsonl", content + "\n" + said("b"))
    assert texts(memory) == ["a", "b", "ok", "ok"]


def test_what_the_user_corrected_stays_corrected(add: Add, memory: Memory) -> None:
    add("chat.jsonl", said("I live in Porto.", "ok"))
    (porto,) = (one for one in memory.get_all(user_id="ana") if "Porto" in one.text)
    memory.update(porto.id, "I live in Braga.", user_id="ana")
    add("chat.jsonl", said("I live in Porto.", "ok", "Bye."))
    assert texts(memory) == ["Bye.", "I live in Braga.", "ok"]
