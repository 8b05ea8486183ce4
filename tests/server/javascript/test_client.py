"""The JavaScript client, run by node, against a server on a socket."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from docs.clients.generate import CLIENT, document
from tests.server.conftest import Served
from tests.server.operations import LINES, sample

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
ADDRESS = "http://127.0.0.1:8765"
DOCUMENTED = {
    name: re.findall(r"^```js\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for name in ("docs/server.md", "docs/clients/javascript/README.md")
}
Listening = Callable[..., tuple[Served, int]]
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder in which the package is installed as `npm install` of a folder does."""
    modules = tmp_path / "project" / "node_modules"
    modules.mkdir(parents=True)
    (modules / "nscma-client").symlink_to(CLIENT, target_is_directory=True)
    return modules.parent


def run(project: Path, program: str, given: str = "", **environment: str) -> str:
    """The output of a program."""
    (project / "program.mjs").write_text(program, encoding="utf-8")
    done = subprocess.run(
        ["node", "program.mjs"], cwd=project, input=given, env={**os.environ, **environment},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_node
def test_a_conversation_with_a_server(listening: Listening, project: Path) -> None:
    served, port = listening()
    tokens = {
        name: served.tokens.add(user, rights)[0]
        for name, user, rights in (
            ("ANA", "ana", ["read", "write", "erase"]),
            ("READER", "ana", ["read"]),
            ("STORE", None, ["read", "write", "erase"]),
        )
    }
    program = (HERE / "conversation.mjs").read_text(encoding="utf-8")
    assert run(project, program, ADDRESS=f"http://127.0.0.1:{port}", **tokens) == "the end\n"
    assert [one.text for one in served.memory.get_all(user_id="ana")][-1] == "Line 3."
    assert served.memory.verify() == []


@needs_node
def test_requests_are_as_the_document_describes_them(project: Path) -> None:
    """Each operation with all of its arguments; the ids hold what a path must not."""
    described = document()
    asked = []
    for path, verbs in described["paths"].items():
        for verb, said in verbs.items():
            if said["tags"] != ["mem0"]:
                asked.append(asked_of(verb, path, said, described))
    sent = json.loads(run(project, (HERE / "requests.mjs").read_text(encoding="utf-8"), json.dumps(asked)))
    assert len(sent) == len(asked) > 50
    for one, request in zip(asked, sent, strict=True):
        url = urlsplit(request["url"])
        assert (request["method"], url.path) == (one["verb"], f"/base{one['path']}"), one
        assert sorted(parse_qsl(url.query, keep_blank_values=True)) == sorted(one["query"]), one
        assert request["headers"].get("authorization") == "Bearer secret"
        assert request["headers"].get("content-type") == one["type"], one
        body = request["body"]
        assert (json.loads(body) if one["type"] == "application/json" else body) == one["body"], one


def asked_of(verb: str, path: str, said: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    """A call of a method, and the request that it must make."""
    parameters = said.get("parameters", [])
    params = {one["name"]: sample(one["schema"], described) for one in parameters if one["in"] == "query"}
    content = said.get("requestBody", {}).get("content", {})
    arguments: list[Any] = ["a/é?" for one in parameters if one["in"] == "path"]
    body: Any = None
    for kind, one in content.items():
        body = sample(one["schema"], described)
        arguments.append(body)
        assert kind in (LINES, "application/json")
    status, answer = next(iter(said["responses"].items()))
    return {
        "name": re.sub("_(.)", lambda found: found[1].upper(), said["operationId"]),
        "arguments": [*arguments, *([params] if params else [])],
        "status": int(status),
        "answers": next(iter(answer.get("content", {})), "text/plain"),
        "verb": verb.upper(),
        "path": re.sub(r"{\w+}", "a%2F%C3%A9%3F", path),
        "query": [
            (name, value if isinstance(value, str) else json.dumps(value))
            for name, values in params.items()
            for value in (values if isinstance(values, list) else [values])
        ],
        "type": next(iter(content), None),
        "body": body,
    }


@needs_node
def test_answers_of_other_kinds(project: Path) -> None:
    """Lines in pieces, errors in the middle, pages of a proxy: by a `fetch` of the program's own."""
    assert run(project, (HERE / "answers.mjs").read_text(encoding="utf-8")) == "the end\n"


@needs_node
@pytest.mark.parametrize("page", DOCUMENTED)
def test_documented_examples_run(listening: Listening, project: Path, page: str) -> None:
    served, port = listening()
    token = served.tokens.add("ana", ["read", "write"])[0]
    (code,) = DOCUMENTED[page]
    assert ADDRESS in code
    printed = run(project, code.replace(ADDRESS, f"http://127.0.0.1:{port}"), TOKEN=token)
    assert printed.splitlines() == re.findall(r"// → (.*)", code) != []


@pytest.mark.skipif(shutil.which("tsc") is None, reason="no tsc")
def test_types_fit(project: Path) -> None:
    """The declarations are right TypeScript, accept what they should, and refuse what they should."""
    shutil.copy(HERE / "types.ts", project)
    options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"]
    done = subprocess.run(["tsc", *options, "types.ts"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm")
def test_the_package_that_npm_makes(tmp_path: Path) -> None:
    environment = {**os.environ, "npm_config_cache": str(tmp_path / "cache"), "npm_config_update_notifier": "false"}
    command = ["npm", "pack", "--json", "--dry-run", str(CLIENT)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    made = json.loads(done.stdout)
    (package,) = made if isinstance(made, list) else made.values()
    names = sorted(one["path"] for one in package["files"])
    assert names == ["README.md", "nscma.d.ts", "nscma.js", "package.json"]
