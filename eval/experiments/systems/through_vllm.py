"""All systems of a configuration through a real vLLM: it extracts, summarises, answers and judges.

    python -m eval.experiments.systems.through_vllm --vllm PYTHON --data DIR --out DIR [--model FOLDER] [--limit 1]

PYTHON is the interpreter of an environment with vLLM. It serves a model, a tiny one with random weights where FOLDER
names none, runs `eval.run` with that engine on the first samples of each task, then `eval.judge`, and tells of each
system its units, failures, calls, tokens and verdicts. A tiny model knows nothing: what it replies means nothing, and
no score is shown. What is shown is that prompts, forms and judgements go through a server to their end.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.harness.tiny_llama import build
from eval.harness.vllm_server import vllm_server
from eval.reporting.results import Judged, raw_lines, read_lines

SYSTEMS = Path("configs/eval/systems.toml")
CONTEXT = 32_768  # tokens of a few bytes each, of a tokenizer that was made from four sentences
SERVED = (
    *("--max-model-len", str(CONTEXT), "--hf-overrides", f'{{"max_position_embeddings": {CONTEXT}}}'),
    *("--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}'),
    *("--override-generation-config", '{"repetition_penalty": 1.5}'),
)
WIDTH = 128
CLOSING = {'"': 7.0, "]}": 2.5}  # standard deviations that what closes a string, and a list or an object, is likelier
ENGINE = """
[memory.llm]
engine = "http"
base_url = "{url}"
model = "tiny"
max_tokens = {max_tokens}

[judge.llm]
engine = "http"
base_url = "{url}"
model = "tiny"
"""


@dataclass
class Told:
    """What the lines of one system tell."""

    units: int = 0
    calls: int = 0
    tokens: int = 0
    errors: list[str] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)


def told(out: Path) -> dict[str, Told]:
    """By system, in the order of the lines."""
    systems: dict[str, Told] = defaultdict(Told)
    for line in raw_lines(out):
        own = systems[line.system]
        own.units += 1
        if line.error is not None:
            own.errors.append(f"{line.error.type}: {line.error.message}")
        for cost in (line.read, *(asked.cost for asked in line.questions)):
            own.calls += cost.llm_calls
            own.tokens += cost.tokens_in + cost.tokens_out
    for _, text in read_lines(out / "judged.jsonl"):
        one = Judged.model_validate_json(text)
        systems[one.system].verdicts[one.verdict] += 1
    return dict(systems)


def shown(systems: dict[str, Told]) -> Table:
    """A row for each system."""
    table = Table("system", "units", "failed", "calls", "tokens", "judged", "first error")
    for name, own in systems.items():
        numbers = (own.units, len(own.errors), own.calls, own.tokens, own.verdicts.total())
        table.add_row(name, *(f"{number:,}" for number in numbers), own.errors[0] if own.errors else "")
    return table


def closing_model(folder: Path) -> Path:
    """A tiny Llama with random weights that ends what it writes, while other random ones repeat a word without end.

    A direction that all tokens share, longer than what tells them apart, raises the logits of those that close a
    string above most others, and of those that close a list or an object a little.
    """
    from safetensors.torch import load_file, save_file

    build(folder, hidden_size=WIDTH, max_position_embeddings=CONTEXT)
    weights = load_file(folder / "model.safetensors")
    vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    direction = torch.nn.functional.normalize(torch.randn(WIDTH, generator=torch.Generator().manual_seed(1)), dim=0)
    tokens, logits = weights["model.embed_tokens.weight"], weights["lm_head.weight"]
    tokens += direction * 4 * tokens.norm(dim=1).mean()
    spread = logits.std()
    for characters, strength in CLOSING.items():
        logits[[row for token, row in vocabulary.items() if token[0] in characters]] += direction * strength * spread
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def program(name: str, *words: str) -> int:
    """Run one of eval's programs; its exit status, which is 1 where a sample failed."""
    status = subprocess.run([sys.executable, "-m", name, *words]).returncode
    if status not in (0, 1):
        raise SystemExit(status)
    return status


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve, run, judge and tell; the exit status is 1 where a sample failed or a reply could not be judged."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vllm", type=Path, required=True, help="interpreter of an environment with vLLM")
    parser.add_argument("--model", type=Path, help="folder of a model")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--config", type=Path, default=SYSTEMS, help="whose systems and tasks")
    parser.add_argument("--limit", type=int, default=1, help="samples of each task")
    parser.add_argument("--tasks", nargs="+", default=(), help="only these, by name")
    parser.add_argument("--systems", nargs="+", default=(), help="only these, by name")
    parser.add_argument("--max-tokens", type=int, default=1024, help="of one reply of the model")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    named = {"--tasks": given.tasks, "--systems": given.systems}
    only = [word for option, names in named.items() if names for word in (option, *names)]
    model = given.model or closing_model(given.out / "tiny")
    with vllm_server(given.vllm, model.absolute(), given.out.absolute(), SERVED) as (url, _):
        config = given.out / "run.toml"
        engine = ENGINE.format(url=url, max_tokens=given.max_tokens)
        config.write_text(given.config.read_text(encoding="utf-8") + engine, encoding="utf-8")
        run = given.out / "run"
        words = ("--config", str(config), "--data", str(given.data), "--out", str(run), "--limit", str(given.limit))
        failed = program("eval.run", *words, *only)
        failed |= program("eval.judge", str(run), "--config", str(config))
    Console(width=160).print(shown(told(run)))
    sys.exit(failed)


if __name__ == "__main__":
    main()
