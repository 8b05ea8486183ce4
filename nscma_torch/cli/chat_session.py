"""Process lines that are typed or piped into `nscma chat`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

from rich.live import Live
from rich.text import Text

from nscma_torch.api.memory import Memory
from nscma_torch.cli.json_objects import jsonable
from nscma_torch.cli.messages import flush
from nscma_torch.cli.output import console, fail, one_line, plain, print_line, say
from nscma_torch.controller.controller import Controller
from nscma_torch.controller.passages import shown_fact
from nscma_torch.controller.trace import ControllerAnswer
from nscma_torch.core.errors import NotFoundError, NscmaError
from nscma_torch.reading.turn_forms import standing_instructions
from nscma_torch.text.calendar.timestamps import format_day
from nscma_torch.text.files.decoding import decode

_HELP = """/why      show the steps that led to the last reply
/good     rate the last reply as helpful; a skill may be learnt from it (controller.write_skills)
/bad      rate the last reply as unhelpful
/facts    show the facts known so far
/memory   show standing instructions, the summary, and the turns in context
/forget ID  hide a message from memory (`nscma restore ID` undoes this)
/quit     end the chat; its messages stay stored"""
_SHORT = 8  # digits of an id that are shown


def converse(memory: Memory, *, user: str, agent: str | None, run: str, json: bool) -> bool:
    """Process lines until the input ends; return False if a piped command failed."""
    live = Live(console=console, transient=True, auto_refresh=False)

    def writing() -> AbstractContextManager[object]:
        """Return a live display for the answer while it is written; without a terminal, it does nothing."""
        live.update(Text())
        return live if console.is_terminal and not json else nullcontext()

    controller = Controller(
        memory,
        user_id=user,
        agent_id=agent,
        run_id=run,
        show=lambda text: live.update(Text.from_markup(plain(text), emoji=False), refresh=True),
        flush=False,
    )
    typed = sys.stdin.isatty()
    session = ChatSession(controller, writing, json=json, typed=typed)
    if typed:
        messages = memory.stats(user_id=user).messages
        say(f"[dim]{plain(controller.policy.name)}, {messages} messages remembered; /help, /quit[/]")
    for line in _typed() if typed else _piped():
        if not session.take(line.strip()):
            break
    return typed or not session.failed


def _typed() -> Iterator[str]:
    while True:
        try:
            yield console.input("[bold]> [/]")
        except EOFError:
            return


def _piped() -> Iterator[str]:
    """Yield the piped lines. Raises `EncodingError` if they are not UTF-8."""
    offset = 0
    for number, line in enumerate(sys.stdin.buffer, 1):
        yield decode(line, offset, number)
        offset += len(line)


class ChatSession:
    """The state of one `nscma chat` run."""

    def __init__(
        self, controller: Controller, writing: Callable[[], AbstractContextManager[object]], *, json: bool, typed: bool
    ) -> None:
        self._writing = writing
        self._controller = controller
        self._memory: Memory = controller.memory
        self._scope = controller.scope
        self._json = json
        self._typed = typed
        self._last: ControllerAnswer | None = None
        self.failed = False

    def take(self, line: str) -> bool:
        """Process a line; return False to end the chat. An error is shown, and ends the chat if the line was piped."""
        command, _, argument = line.partition(" ")
        try:
            match command:
                case "":
                    return True
                case "/quit" | "/exit":
                    return False
                case "/why":
                    self._why()
                case "/good" | "/bad":
                    self._feedback(helpful=command == "/good")
                case "/facts":
                    self._facts()
                case "/memory":
                    self._working_memory()
                case "/forget":
                    self._forget(argument.strip())
                case "/help":
                    say(_HELP)
                case _ if command.startswith("/"):
                    say(f"{plain(command)} is not a command; nothing was stored. Commands:\n{_HELP}")
                case _:
                    self._reply(line)
        except NscmaError as error:
            if not self._typed and not command.startswith("/"):
                raise
            self.failed = True
            fail(error)
        return True

    def _reply(self, said: str) -> None:
        with self._writing():
            answer = self._controller.turn(said)
        self._last = answer
        if self._json:
            flush(self._memory)
            print_line(jsonable(answer))
            return
        say(plain(answer.text))
        for item in answer.evidence:
            day = format_day(item.hit.occurred_at.date())
            say(f"[dim]  ↳ {item.hit.id[:_SHORT]}  {day}  {plain(one_line(item.text, 100))}[/]")
        for rule in standing_instructions(said):
            say(f"[dim]  + always: {plain(rule)} ({answer.turn_id[:_SHORT]})[/]")
        flush(self._memory)
        scope = self._scope
        for fact in self._memory.facts(user_id=scope.user_id, agent_id=scope.agent_id):
            if answer.turn_id in fact.episode_ids:
                say(f"[dim]  + {plain(shown_fact(fact)['text'])}[/]")

    def _why(self) -> None:
        if self._last is None:
            say("no message yet")
            return
        for line in self._last.trace:
            say(f"[dim]  {plain(line)}[/]")
        usage = self._last.usage
        say(f"[dim]  {usage.llm_calls} calls, {usage.tokens} tokens[/]")
        stored = self._memory.get(self._last.turn_id, user_id=self._scope.user_id)
        if stored is not None and stored.decision is not None:
            say(f"[dim]  stored as {stored.id[:_SHORT]}: {plain(stored.decision.reason)}[/]")

    def _feedback(self, *, helpful: bool) -> None:
        if self._last is None:
            raise NotFoundError("no message yet to give feedback on")
        learnt = self._controller.feedback(self._last, helpful=helpful)
        say(f"[dim]  {plain(learnt.reason)}[/]")
        for step in learnt.skill.steps if learnt.skill is not None else ():
            say(f"[dim]  - {plain(step)}[/]")

    def _facts(self) -> None:
        found = self._memory.facts(user_id=self._scope.user_id, agent_id=self._scope.agent_id)
        for fact in found:
            shown = shown_fact(fact)
            say(f"  {plain(shown['text'])}  [dim]{shown['day']}[/]")
        if not found:
            say("no facts yet")

    def _working_memory(self) -> None:
        memory = self._controller.working_memory()
        for rule, given_by in memory.given:
            say(f"  [dim]{given_by[:_SHORT]}[/]  always: {plain(rule)}")
        for insight in memory.insights:
            say(f"  {insight.kind}: {plain(insight.text)}")
        for line in memory.days:
            say(f"  day: {plain(line.text)}")
        if memory.summary:
            say(f"  summary: {plain(memory.summary)}")
        for exchange in memory.context:
            say(f"  [dim]{exchange.turn.id[:_SHORT]}[/]  {plain(one_line(exchange.turn.text, 100))}")

    def _forget(self, prefix: str) -> None:
        """Hide the single message whose id has this prefix."""
        if not prefix:
            raise NotFoundError("/forget needs a message id; /memory and the lines below a reply show the ids")
        user = self._scope.user_id
        found = [episode.id for episode in self._memory.get_all(user_id=user, limit=None)]
        fitting = [memory_id for memory_id in found if memory_id.startswith(prefix)]
        if len(fitting) != 1:
            many = f"{len(fitting)} messages have" if fitting else "no message has"
            raise NotFoundError(f"{many} an id that begins with {prefix!r}; use an id as shown")
        self._memory.delete(fitting[0], user_id=user)
        flush(self._memory)
        say(f"hidden; `nscma restore {fitting[0]}` undoes this")
