"""The worked examples of docs/extending.md, followed word for word in a copy of the tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = re.sub(  # with the files that it includes
    r"^--8<-- \"(.+)\"$",
    lambda include: (ROOT / include[1]).read_text(encoding="utf-8").rstrip(),
    (ROOT / "docs" / "extending.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE,
)
STEPS = re.findall(r"^```(python|toml|diff)\n# (\S+)\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)
PARCELS = {
    place: {
        "messages": ["The shop sells stamps.", f"The parcel is in the {place}.", "Nice weather."],
        "question": "Where is the parcel?",
        "answer": place,
        "place": 1,
    }
    for place in ("kitchen", "garden")
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree in which every step was followed."""
    copy = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("results")  # bytecode comes along: compiling it takes a second a program
    for folder in ("nscma_torch", "kernels", "eval", "configs"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    for kind, name, text in STEPS:
        path = copy / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if kind == "diff":
            path.write_text(applied(before, text, name), encoding="utf-8")
        else:
            assert not before or kind == "toml", f"{name} is there already"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{before}\n{text}" if before else text, encoding="utf-8")
    return copy


def applied(before: str, diff: str, name: str) -> str:
    """A file with the lines of a diff added after those that the diff shows unchanged."""
    lines = diff.splitlines(keepends=True)
    old, new = ("".join(line[1:] for line in lines if line[0] in kinds) for kinds in (" -", " +"))
    assert before.count(old) == 1, f"{name} has no such place, or several: {old!r}"
    return before.replace(old, new)


def follow(tree: Path, *arguments: str) -> str:
    """What a Python program prints that takes the packages from the copy."""
    path = os.pathsep.join([str(tree), str(tree / "kernels")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, *arguments], cwd=tree, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


LIBRARY = """
import json
import nscma_torch.search.strategies.newest, nscma_torch.llm.engines.function as function
from nscma_torch import Memory, load_relations
from nscma_torch.llm.engines.contract import LanguageEngine
from nscma_torch.llm.prompted import PromptedTasks

config = {"device": "cpu", "embedder": {"model": "hash"}, "facts": {"relations": "configs/relations.toml"}}
with Memory("library.db", config=config) as memory:
    memory.add("The harbour is closed.", user_id="u", timestamp="2026-01-01")
    memory.add("The harbour at Vigo is closed, the harbour master says.", user_id="u", timestamp="2025-01-01")
    memory.add("The harbour is open.", user_id="u", timestamp="2026-02-01")
    hits = memory.search("Vigo harbour master", user_id="u", strategy="newest", top_k=3)
    print([hit.occurred_at.strftime("%Y-%m") for hit in hits])
    memory.add("Ana's godparent is Marta.", user_id="v")
    memory.flush()
    print([(fact.subject, fact.relation, fact.object) for fact in memory.facts(user_id="v")])
    print(memory.ask("Who is Ana's godparent?", user_id="v").text)

def model(turns, schema):
    assert "open" in turns[-1].content
    (key,) = schema["properties"]
    return json.dumps({key: True if key == "contain_answer" else "It is open."})

def away(turns, schema):
    raise OSError("no route to host")

engine = function.FunctionEngine(model)
tasks = PromptedTasks(engine, relations=load_relations())
with Memory("library.db", config=config, tasks=tasks) as memory:
    print(isinstance(engine, LanguageEngine), memory.ask("Tell me about the harbour!", user_id="u").text)
(error,) = function.FunctionEngine(away).generate([function.Request(())])
print(type(error).__name__, error)
"""


def test_strategy_relation_and_engine(tree: Path) -> None:
    assert follow(tree, "-c", LIBRARY).splitlines() == [
        "['2026-02', '2026-01', '2025-01']",
        "[('Ana', 'godparent', 'Marta')]",
        "Marta",
        "True It is open.",
        "EngineUnavailableError function/away: no route to host",
    ]


SLEEP = """
import json
from nscma_torch import Memory, load_relations
from nscma_torch.core.capabilities import capability
from nscma_torch.llm.engines.function import FunctionEngine
from nscma_torch.llm.prompted import PromptedTasks

def model(turns, schema):
    assert "list the promises" in turns[0].content
    return json.dumps({"lines": [{"text": "Ana promised a cake.", "evidence": [1], "confidence": "high"}]})

config = {"device": "cpu", "embedder": {"model": "hash"}, "promises": {"enabled": True}}
config["gate"] = {"rule": "everything"}
tasks = PromptedTasks(FunctionEngine(model), relations=load_relations())
with Memory("sleep.db", config=config, tasks=tasks) as memory:
    promise = {"role": "user", "name": "Ana", "content": "I promise a cake."}
    said = memory.add([promise], user_id="u", timestamp="2026-01-01", infer=False)[0]
    print(memory.sleep(user_id="u").failures)
    print([text.text for text in memory.derived("promise", user_id="u")])
    rows = capability("bookmarks").rows
    plain = memory.digest()
    with memory.components.database.write("u") as connection:
        rows.add(connection, "u", said.id)
    print(memory.digest() != plain, len(list(memory.export())), memory.verify())
    print(memory.erase(user_id="u", memory_id=said.id).rows["bookmarks"], memory.derived("promise", user_id="u"))
"""


def test_derived_kind_and_capability(tree: Path) -> None:
    failures, derived, kept, erased = follow(tree, "-c", SLEEP).splitlines()
    assert (failures, derived, erased) == ("()", "['Ana promised a cake.']", "1 []")
    assert kept.startswith("True ") and kept.endswith(" []")


def test_task_and_system(tree: Path) -> None:
    (tree / "data").mkdir()
    (tree / "data" / "parcels.json").write_text(json.dumps(PARCELS), encoding="utf-8")
    follow(tree, "-m", "eval.run", "--config", "configs/eval/parcels.toml", "--data", "data", "--out", "out")
    lines = [json.loads(line) for line in (tree / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(line["system"], line["sample"], line["error"]) for line in lines] == [
        ("last mention", "garden", None),
        ("last mention", "kitchen", None),
    ]
    assert all(asked["scores"] == {"accuracy": 1.0, "recall": 1.0} for line in lines for asked in line["questions"])


def test_kernel(tree: Path) -> None:
    printed = follow(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "tests/kernels")
    assert "7 passed" in printed


def test_blocks_are_written_as_the_rest_is(tree: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tree)
    files = sorted({name for _, name, _ in STEPS if name.endswith(".py")})
    follow(tree, "-m", "ruff", "check", "--no-cache", *files)
    follow(tree, "-m", "ruff", "format", "--check", "--no-cache", *files)


def test_the_tests_that_it_names_are_there() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"-m prove (\S+)::(\S+)", guide)
    assert len(named) == 3
    for file, name in named:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {name}(" in source and "pytest.mark.prove" in source, f"{file}::{name}"


def test_each_kind_has_its_example() -> None:
    headings = re.findall(r"^### … (.*)$", GUIDE, flags=re.MULTILINE)
    inside = ["a retrieval strategy", "a kind of derived text", "a capability", "a relation", "a language engine"]
    assert headings == [*inside, "an evaluation task", "an evaluation system", "a kernel"]
    blocks = re.findall(r"^```(?:python|toml|diff)\n", GUIDE, flags=re.MULTILINE)
    assert len(STEPS) == len(blocks), "a block does not name its file in its first line"
