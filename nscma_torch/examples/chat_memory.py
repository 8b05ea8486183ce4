"""A conversation with memory: facts, an update, the evidence for an answer, and an erasure with its receipt.

    python -m nscma_torch.examples.chat_memory

It needs no GPU, language model or network: answers come from the memory itself. `chat_memory.ipynb`, next to this file,
is the notebook version. It prints:

    Where do I live? Lisbon
    And now? Porto | evidence: Last week I moved to Porto.
    Where does my sister work? Bosch
    What is my blood type? I don't know: nothing I remember answers that.
    allergic_to  nuts     active
    lives_in     Lisbon   archived
    lives_in     Porto    active
    sibling      Marta    active
    erased 14 messages; traces left in the files: 0
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from nscma_torch import Controller, Memory


def main() -> None:
    """Chat, change a fact, show evidence and history, and erase the user."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "chat.db") as memory:
        # Every turn is stored, and its statements about the user become facts.
        chat = Controller(memory, user_id="ana")
        chat.turn("I live in Lisbon and I am allergic to nuts.")
        chat.turn("My sister Marta works at Bosch.")
        print("Where do I live?", chat.turn("Where do I live?").text)

        # A newer statement replaces the old value; the reply cites its source message.
        chat.turn("Last week I moved to Porto.")
        reply = chat.turn("Where do I live?")
        print("And now?", reply.text, "| evidence:", reply.evidence[0].text)

        # Facts are chained, and unknown answers are not made up.
        print("Where does my sister work?", chat.turn("Where does my sister work?").text)
        print("What is my blood type?", chat.turn("What is my blood type?").text)

        # The old value is archived, not lost.
        for fact in memory.facts(user_id="ana", subject="user", archived=True):
            print(f"{fact.relation:12} {fact.object:8} {fact.status}")

        # `erase` deletes permanently, and searches the files for remains of the text.
        receipt = memory.erase(user_id="ana")
        print(f"erased {receipt.rows['episodes']} messages; traces left in the files: {receipt.found}")


if __name__ == "__main__":
    main()
