"""Chats with the controller, of which each turn has a label: questions, things to keep, instructions, small talk.

    python -m eval.experiments.model.controller_chats [--url URL] [--model NAME] [--chats FILE] --out FILE.jsonl
        [--threshold T] [--embedded]

For each chat the earlier messages are stored without a language model; then the controller, with the served model or
with its rules (`--embedded`), replies to the turns one after the other. Turns are scored by kind:

- a question to memory, to the chat, or about the world: the reply contains an accepted answer as a word;
- about what was never told, or was to be forgotten: the reply says that it is not known, and nothing forgotten;
- something told, or to be reminded of: it can be found afterwards, by the word that it is known by;
- an instruction: the replies after it in the chat that keep to it;
- small talk: answered without a search and without a note.

Turns are appended to FILE.jsonl as they come. Chats that are complete there are not repeated.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.model.served_model import served_model
from eval.reporting.shares import wilson
from nscma_torch import Memory, Message, load_config
from nscma_torch.controller.controller import Controller
from nscma_torch.core.config import Config
from nscma_torch.core.errors import ReplyError
from nscma_torch.episodic.log.turns import ECHO
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.llm.engines.contract import LanguageEngine

CHATS = Path("eval/data/language_tasks/test/chats.jsonl")
KINDS = ("ask_memory", "ask_context", "ask_unknown", "world", "tell", "remind", "instruct", "thanks", "forget")
LEVEL = 0.95
_UNKNOWN = re.compile(
    r"\b(?:do not|don['’]t|does not|doesn['’]t|did not|didn['’]t|cannot|can['’]t|could not|couldn['’]t|have not"
    r"|haven['’]t|has not|hasn['’]t)\b.{0,40}?\b(?:know|find|tell|told|mentioned|contain|recall|say|said|have|provided?"
    r"|information|record)\b|\bno (?:memor|information|record|mention)|\bunknown\b|\bnot (?:mentioned|known|specified"
    r"|provided)\b|\bnothing\b.{0,30}\b(?:remember|answers)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """One turn with its reply.

    Attributes:
        right: whether it is scored right; None if nothing in it is scored.
        searched: whether the controller searched the memory.
        calls: requests to the model.
    """

    chat: str
    turn: int
    kind: str
    said: str
    reply: str
    right: bool | None
    draft_uncertainty: float | None
    searched: bool
    calls: int
    tokens: int
    seconds: float
    steps: tuple[str, ...]


def run_chat(chat: Mapping[str, Any], config: Config, engine: LanguageEngine | None, store: Path) -> list[ScoredTurn]:
    """Store the earlier messages, conduct the chat, and score its turns."""
    user = str(chat["user"])
    with Memory(store, config=config) as memory:
        now = _store(memory, chat["stored"], user)
        controller = Controller(memory, engine, user_id=user, run_id="chat", flush=False)
        turns: list[ScoredTurn] = []
        for number, turn in enumerate(chat["turns"]):
            turns.append(_turn(controller, str(chat["id"]), number, turn, now + timedelta(minutes=number)))
        found = [_kept(memory, turn, user, now + timedelta(days=1)) for turn in chat["turns"]]
    return [_scored(one, number, chat["turns"], turns, found[number]) for number, one in enumerate(turns)]


def _store(memory: Memory, stored: Sequence[Mapping[str, str]], user: str) -> datetime:
    at = datetime(2000, 1, 1, tzinfo=UTC)
    messages = []
    for message in stored:
        at = max(at + timedelta(minutes=1), datetime.fromisoformat(message["day"]).replace(hour=9, tzinfo=UTC))
        messages.append(Message("user", message["text"], at, name=message["by"], session=message["day"]))
    list(memory.add_many(messages, user_id=user, now=at))
    memory.flush()
    return at + timedelta(days=2)


def _turn(controller: Controller, chat: str, number: int, turn: Mapping[str, Any], at: datetime) -> ScoredTurn:
    begun = time.perf_counter()
    try:
        answer = controller.turn(turn["say"], now=at)
    except ReplyError as error:
        seconds = time.perf_counter() - begun
        return ScoredTurn(
            chat, number, turn["kind"], turn["say"], f"no reply: {error}", None, None, False, 0, 0, seconds, ()
        )
    return ScoredTurn(
        chat,
        number,
        turn["kind"],
        turn["say"],
        answer.short,
        None,
        answer.draft_uncertainty,
        answer.retrievals > 0,
        answer.usage.llm_calls,
        answer.usage.tokens,
        round(time.perf_counter() - begun, 2),
        tuple(map(str, answer.steps)),
    )


def _kept(memory: Memory, turn: Mapping[str, Any], user: str, now: datetime) -> bool:
    """Return True if what a turn tells is found by its word in what the controller searches, other than in a reply."""
    if "keep" not in turn:
        return False
    memory.flush()
    hits = memory.search(turn["keep"], user_id=user, now=now)[:5]
    found = [memory.get(id_, user_id=user, now=now) for hit in hits for id_ in hit.unit.episode_ids]
    said = [one for one in found if one is not None and one.role == "user" and not one.metadata.get(ECHO)]
    return any(_contains(one.text, turn["keep"]) for one in said)


def _scored(
    one: ScoredTurn, number: int, turns: Sequence[Mapping[str, Any]], replies: Sequence[ScoredTurn], kept: bool
) -> ScoredTurn:
    turn = turns[number]
    right: bool | None
    if one.kind in ("ask_memory", "ask_context", "world"):
        right = any(_contains(one.reply, accepted) for accepted in turn["right"])
    elif one.kind == "ask_unknown":
        right = unknown(one.reply) and not any(
            _contains(one.reply, before["gone"]) for before in turns[:number] if "gone" in before
        )
    elif one.kind in ("tell", "remind"):
        right = kept
    elif one.kind == "instruct":
        after = [reply.reply for reply in replies[number + 1 :]]
        right = all(_follows(reply, turn["check"]) for reply in after) if after else None
    elif one.kind == "forget":
        after = [reply.reply for reply in replies[number + 1 :]]
        right = not any(_contains(reply, turn["gone"]) for reply in after)
    else:
        right = not one.steps
    return ScoredTurn(**{**asdict(one), "right": right})


def unknown(reply: str) -> bool:
    """Return True if a reply says that something isn't known."""
    return _UNKNOWN.search(reply) is not None


def _follows(reply: str, check: Mapping[str, Any]) -> bool:
    if "most_words" in check:
        return len(reply.split()) <= int(check["most_words"])
    return _contains(reply, check["contains"])


def _contains(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words.casefold())}", text.casefold()) is not None


def print_table(turns: Sequence[ScoredTurn]) -> None:
    """Print, by kind, the share that is right, searches, calls and seconds."""
    table = Table(title="turns by kind", title_justify="left")
    table.add_column("kind")
    for name in ("n", "right", "95 %", "searched", "calls", "tokens", "s each"):
        table.add_column(name, justify="right")
    for kind in (*KINDS, "all"):
        own = [one for one in turns if kind in (one.kind, "all")]
        if not own:
            continue
        scored = np.array([float(one.right) for one in own if one.right is not None])
        low, high = wilson(scored, LEVEL)
        table.add_row(
            kind,
            str(len(own)),
            f"{scored.mean():.3f}",
            f"[{low:.2f}, {high:.2f}]",
            f"{np.mean([one.searched for one in own]):.2f}",
            f"{np.mean([one.calls for one in own]):.1f}",
            f"{np.mean([one.tokens for one in own]):.0f}",
            f"{np.mean([one.seconds for one in own]):.1f}",
        )
    Console(width=120).print(table)


def main() -> None:
    """Conduct the chats that the file lacks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="the server's address; default: the usual ports on this machine")
    parser.add_argument("--model", help="model to use; default: the only model served")
    parser.add_argument("--chats", type=Path, default=CHATS, help="file of labelled chats")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.jsonl")
    parser.add_argument("--threshold", type=float, help="uncertainty above which the controller retrieves")
    parser.add_argument("--embedded", action="store_true", help="the controller by rules, without a model")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    llm = None if arguments.embedded else served_model(arguments.url, arguments.model)
    controller = {} if arguments.threshold is None else {"threshold": arguments.threshold}
    config = load_config({"controller": controller, "hierarchy": {"enabled": False}})
    lines = arguments.out.read_text().splitlines() if arguments.out.exists() else []
    done = [ScoredTurn(**json.loads(line)) for line in lines]
    with ExitStack() as stack:
        engine = None if llm is None else choose_engine(llm, lambda: torch.device("cpu"))
        if engine is not None:
            stack.callback(engine.close)
        for line in arguments.chats.read_text(encoding="utf-8").splitlines():
            chat = json.loads(line)
            if any(one.chat == chat["id"] for one in done):
                continue
            with tempfile.TemporaryDirectory() as folder:
                turns = run_chat(chat, config, engine, Path(folder) / "store.db")
            with arguments.out.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in turns)
            done += turns
            print(f"{chat['id']}: {sum(one.right is True for one in turns)} of {len(turns)} right", flush=True)
    print_table(done)


if __name__ == "__main__":
    main()
