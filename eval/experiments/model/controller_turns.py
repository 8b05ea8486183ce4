"""A short chat with the controller: the actions of each turn, and whether the controller accepted them.

Facts and summaries of its turns are left to the next sleep: otherwise each turn renews the summaries of its clusters.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from eval.experiments.model.faults import Faults
from nscma_torch import Memory
from nscma_torch.controller.controller import Controller
from nscma_torch.llm.engines.contract import LanguageEngine

TURNS = (
    "Change of plan: the first trip goes to Herdla, not to Askoy.",
    "Where does Jonas live now?",
    "From now on answer in one word.",
    "What is our boat called?",
    "Thanks!",
    "Remind me to bring the sails back to aunt Sigrid on 12 June.",
)


def chat(memory: Memory, engine: LanguageEngine, user: str, begun: datetime, faults: Faults) -> list[str]:
    """Conduct the chat, and print it. Returns the ids of the messages that it stored."""
    controller = Controller(memory, engine, user_id=user, run_id="chat", flush=False)
    stored: list[str] = []
    for minute, said in enumerate(TURNS, start=1):
        print(f"  {user}: {said}")
        with faults.caught(said):
            answer = controller.turn(said, now=begun + timedelta(minutes=minute))
            unsure = "-" if answer.draft_uncertainty is None else f"{answer.draft_uncertainty:.2f}"
            print(f"    draft: uncertainty {unsure}, threshold {answer.threshold:.2f}")
            for step in answer.steps:
                print(f"    {'refused' if step.refused else 'valid'}: {step}")
            print(f"    {'kept; ' if answer.memorized else ''}reply: {answer.text}", flush=True)
            stored += [answer.turn_id, answer.reply_id, *answer.decision_ids]
    return stored
