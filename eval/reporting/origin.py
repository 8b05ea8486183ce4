"""Where the lines of a run come from: it may have gone on several times, by other commands and at other commits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from eval.reporting.results import Results
from eval.systems.options import merged

_UNKNOWN = "not recorded"
_QUOTED = re.compile(r"\n[^\n:]{1,80}, \d{1,2} [A-Z][a-z]+ \d{4}: ")  # a passage below the first line
_QUOTING = (
    "**Evidence, not answers.** Replies quote their evidence below the answer. Scores by a reply's words (F1, EM, "
    "ROUGE, current and outdated values) count right words of the quotations: they measure the evidence shown."
)
_BABILONG = (
    "BABILong is not held out: stories that the networks of facts were trained on have the wordings of bAbI's "
    "statements, and weights and thresholds were chosen by its results (nscma_torch/reading/weights/README.md). This "
    "holds for every system here that reads by the bundled networks, and for both halves."
)


def head(results: Results) -> str:
    """What made the lines, where and when, in one line."""
    commands, commits, attempts = _commands(results), _commits(results), _attempts(results)
    days = sorted(attempt["started"][:10] for attempt in attempts if attempt.get("started"))
    told = [
        f"`{commands[0]}`" if len(commands) == 1 else f"{len(commands)} commands",
        f"commit {commits[0]}" if len(commits) == 1 else f"{len(commits)} commits",
    ]
    machines = dict.fromkeys(attempt["machine"] for attempt in attempts if attempt.get("machine"))
    when = " to ".join(dict.fromkeys((days[0], days[-1])))
    return f"{' at '.join(told)}, {'; '.join(machines)}, {when}{_rescored_by(results)}"


def _rescored_by(results: Results) -> str:
    """Where the scores are later than the lines (`eval.rescore`)."""
    later = results.run.get("rescored")
    return f"; scores by `{later['command']}` at commit {_short(later['commit'])}" if later else ""


def remarks(results: Results) -> list[str]:
    """Paragraphs on data that is not held out, on quotations that were scored, and on several commits and commands."""
    told = []
    if reason := not_held_out(results):
        told += [f"**Not held out.** {reason}", ""]
    if quotes_evidence(results):
        told += [_QUOTING, ""]
    if len(_commits(results)) > 1:
        told += ["**Of several commits.** Lines, each of one system on one sample, by the commit that made them:", ""]
        told += [*(f"- {task}: {_counted(results, task)}" for task in results.tasks), ""]
    if len(commands := _commands(results)) > 1:
        told += ["**By several commands**, the first one first:", "", "```", *commands, "```", ""]
    return told


def not_held_out(results: Results) -> str:
    """Why scores of the run are not of held-out data, "" if they are."""
    run = (
        one.get("kind") for one in results.config.get("tasks", ()) if one.get("name", one.get("kind")) in results.tasks
    )
    return _BABILONG if "babilong" in (*run, *results.config.get("report", {})) else ""


def quotes_evidence(results: Results) -> bool:
    """Whether replies quote their evidence below the answer, as those of the embedded tasks did up to 7a65de02."""
    if results.run.get("rescored"):
        return False
    replies = [asked.reply for lines in results.lines.values() for line in lines for asked in line.questions]
    return sum(bool(_QUOTED.search(reply)) for reply in replies) > len(replies) / 100


def engine_of(results: Results, system: str = "") -> str:
    """The language engine of a system, and its model; of the run where no system is named."""
    engine = _memory(results, system).get("llm", {})
    named = " ".join(str(engine[key]) for key in ("engine", "model") if engine.get(key))
    return named or "embedded (rules, no model)"


def embedder_of(results: Results, system: str) -> str:
    """The model that embeds for a system."""
    return str(_memory(results, system).get("embedder", {}).get("model", "the default of its commit"))


def _memory(results: Results, system: str) -> Mapping[str, Any]:
    """[memory] of the run under that of the system's own section."""
    own: Mapping[str, Any] = results.section("systems", system).get("memory", {}) if system else {}
    return merged(results.config.get("memory", {}), own)


def _attempts(results: Results) -> Sequence[Mapping[str, Any]]:
    return [*results.run.get("earlier", ()), results.run]


def _commands(results: Results) -> list[str]:
    """Each once; older records do not say any."""
    known = dict.fromkeys(attempt["command"] for attempt in _attempts(results) if attempt.get("command"))
    return list(known) or [f"command {_UNKNOWN}"]


def _commits(results: Results) -> list[str]:
    """Of the lines, or of the run where these do not say any."""
    made = {line.commit for own in results.lines.values() for line in own}
    return [results.run["commit"]] if made == {None} else sorted(commit or _UNKNOWN for commit in made)


def _counted(results: Results, task: str) -> str:
    made = Counter(line.commit for system in results.systems[task] for line in results.lines[task, system])
    return ", ".join(f"{_short(commit)} {count:,}" for commit, count in made.most_common())


def _short(commit: str | None) -> str:
    """As git shortens it, with the plus of a checkout that was changed."""
    return _UNKNOWN if commit is None else commit[:7] + "+" * commit.endswith("+")
