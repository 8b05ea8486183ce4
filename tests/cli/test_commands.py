"""Every command as a user would run it: text for people, JSON for programs, exit codes, pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from nscma_torch.cli import app, main
from tests.helpers.json_page import Shapes, prints

CHAT = [
    {"role": "user", "content": "I moved to Porto in March.", "name": "Ana", "timestamp": "2026-03-05T10:00:00Z"},
    {"role": "assistant", "content": "Lovely! How is it?", "name": "Nova", "timestamp": "2026-03-05T10:01:00Z"},
    {"role": "user", "content": "haha ok", "name": "Ana", "timestamp": "2026-03-05T10:02:00Z"},
    {"role": "user", "content": "I'm allergic to peanuts.", "name": "Ana", "timestamp": 1772705000, "session": "s2"},
]
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `nscma …` in an empty folder with light models."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "light.toml").write_text('device = "cpu"\n[embedder]\nmodel = "hash"\n')
    (tmp_path / "chat.jsonl").write_text("\n".join(json.dumps(message) for message in CHAT))
    monkeypatch.setenv("NSCMA_CONFIG", "light.toml")
    monkeypatch.delenv("NSCMA_STORE", raising=False)

    def invoke(*arguments: str, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, list(arguments), input=input)

    return invoke


def ok(result: Result) -> Any:
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def add(run: Run) -> list[dict[str, Any]]:
    ok(run("add", "chat.jsonl"))
    entries: list[dict[str, Any]] = json.loads(ok(run("log", "--json")))
    return entries


def test_records(run: Run, tmp_path: Path) -> None:
    (tmp_path / "light.toml").write_text(
        'device = "cpu"\n[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\nfacts = "none"\n'
        '[gate]\nrule = "everything"\n[records]\nenabled = true\n'
    )
    entries = add(run)
    listed = json.loads(ok(run("records", "--json")))
    assert {one["episode_id"] for one in listed} == {one["id"] for one in entries}
    (asked,) = json.loads(ok(run("records", "--record", "resolution=open", "--json")))
    assert (asked["type"], asked["sentiment"]) == ("question", "positive")
    assert "question" in ok(run("records", "--record", "type=question", "--record", "type=plan"))
    assert "Lovely!" in ok(run("records", "--record", "resolution=open", "--limit", "1"))
    assert "[records]" not in ok(run("records", "--record", "entity=Porto", "--record", "importance=0.1"))
    assert "Porto" not in ok(run("search", "Porto", "--record", "type=question"))
    assert "no matching records" in ok(run("records", "--record", "entity=Rome"))
    assert run("records", "--record", "entity=Rome", "--record", "entity=Oslo").exit_code == 2
    assert "question, open" in ok(run("get", asked["episode_id"]))
    assert json.loads(ok(run("get", asked["episode_id"], "--json")))["record"]["type"] == "question"
    for bad in ("type", "importance=high"):
        assert run("records", "--record", bad).exit_code == 2
    assert run("records", "--record", "type=whim").exit_code == 1


def test_sessions_and_window(run: Run) -> None:
    add(run)
    listed = json.loads(ok(run("sessions", "--json")))
    assert [(one["name"], one["messages"]) for one in listed] == [("s2", 1), (None, 3)]
    assert "I moved to Porto" in ok(run("sessions"))
    assert "peanuts" in ok(run("window", "s2"))
    newest = json.loads(ok(run("window", "--turns", "1", "--json")))
    assert [one["text"] for one in newest] == [CHAT[3]["content"]]
    assert run("window", "s3").exit_code != 0


def test_add_and_log(run: Run) -> None:
    report = json.loads(ok(run("add", "chat.jsonl", "--json")))
    assert (report["added"], report["known"]) == (4, 0)
    assert report["written"] + report["deferred"] == 4
    entries = json.loads(ok(run("log", "--json")))
    assert [entry["text"] for entry in entries] == [message["content"] for message in CHAT]
    assert entries[3]["session"] == "s2"
    assert all(isinstance(entry["write"], bool) and entry["reason"] for entry in entries)
    deferred = json.loads(ok(run("log", "--deferred", "--json")))
    assert "haha ok" in [entry["text"] for entry in deferred]
    assert len(deferred) + len(json.loads(ok(run("log", "--written", "--json")))) == 4
    assert "haha ok" in ok(run("log"))
    again = json.loads(ok(run("add", "chat.jsonl", "--json")))
    assert (again["added"], again["known"]) == (0, 4)


def test_json_is_strict(run: Run) -> None:
    """No NaN or Infinity: other languages refuse them."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    (Path("open.toml")).write_text('[embedder]\nmodel = "hash"\n[gate]\nrule = "everything"\n')
    ok(run("add", "chat.jsonl", "--config", "open.toml"))
    for command in (["log"], ["stats"], ["search", "Porto"], ["ask", "Where is Ana?"]):
        json.loads(ok(run(*command, "--json", "--config", "open.toml")), parse_constant=refuse)


def test_add_from_a_pipe(run: Run) -> None:
    assert "added" in ok(run("add", "-", input="# Notes\n\nThe door code is 4711.\n"))
    assert "4711" in ok(run("search", "door code"))


def test_errors_say_which_file(run: Run) -> None:
    Path("wrong.jsonl").write_text('{"role": "user", "content": "It rains.", "timestamp": "yesterdayish"}')
    result = run("add", "chat.jsonl", "wrong.jsonl")
    assert result.exit_code == 1 and str(result.exception).startswith("wrong.jsonl: line 1: 'yesterdayish'")
    result = run("add", "-", "--format", "jsonl", input="{")
    assert result.exit_code == 1 and str(result.exception).startswith("stdin: line 1: not JSON")


def test_a_command_that_fails_in_a_piped_chat_loses_nothing_that_follows(run: Run) -> None:
    result = run("chat", input="/forget nobody\n/nonsense\nI have a dog called Rex.\n")
    assert result.exit_code == 1 and "error:" in result.stderr
    assert "Rex" in ok(run("log"))


def test_what_was_read_is_read_again(run: Run) -> None:
    add(run)
    assert "messages again" in ok(run("reextract"))
    assert json.loads(ok(run("reextract", "--json")))["messages"] > 0


def test_add_text_with_role_name_and_time(run: Run) -> None:
    ok(run("add", "--text", "The lift is broken", "--name", "Bo", "--timestamp", "2026-01-02"))
    (hit,) = json.loads(ok(run("search", "lift", "--json")))
    assert hit["name"] == "Bo"
    assert hit["occurred_at"].startswith("2026-01-02")


def test_search_scopes_filters_and_explain(run: Run) -> None:
    add(run)
    hits = json.loads(ok(run("search", "peanuts", "--json", "--explain", "-k", "2")))
    assert hits[0]["text"] == "I'm allergic to peanuts."
    assert {"id", "text", "occurred_at", "score", "parts"} <= set(hits[0])
    assert "lexical_rank" in hits[0]["parts"]
    assert json.loads(ok(run("search", "peanuts", "--user", "somebody-else", "--json"))) == []
    assert json.loads(ok(run("search", "peanuts", "--as-of", "2026-01-01", "--json"))) == []
    assert "nothing found" in ok(run("search", "peanuts", "--filter", "x=1"))
    assert run("search", "peanuts", "--filter", "oops").exit_code == 2


def test_ask_shows_evidence_or_abstains(run: Run) -> None:
    entries = add(run)
    answer = json.loads(ok(run("ask", "What is Ana allergic to?", "--json")))
    assert {"answer", "abstained", "evidence", "confidence", "trace", "usage"} <= set(answer)
    assert not answer["abstained"]
    assert {"id", "text", "occurred_at", "score"} <= set(answer["evidence"][0])
    assert answer["evidence"][0]["id"] in {entry["id"] for entry in entries}
    assert "peanuts" in answer["answer"]
    unknown = json.loads(ok(run("ask", "Which submarine did Zebulon pilot?", "--json")))
    assert unknown["abstained"]
    assert unknown["evidence"] == []
    assert "don't know" in ok(run("ask", "Which submarine did Zebulon pilot?"))


def test_get_update_delete_restore_history(run: Run) -> None:
    (first, *_) = add(run)
    assert "Porto" in ok(run("get", first["id"]))
    assert json.loads(ok(run("update", first["id"], "I moved to Lisbon in March.", "--json")))["text"].startswith(
        "I moved to L"
    )
    ok(run("delete", first["id"]))
    assert "Lisbon" not in ok(run("search", "Lisbon", "--json"))
    ok(run("restore", first["id"]))
    assert [e["event"] for e in json.loads(ok(run("history", first["id"], "--json")))] == [
        "ADD",
        "UPDATE",
        "DELETE",
        "RESTORE",
    ]
    assert "Porto" in ok(run("history", first["id"]))
    assert run("get", "nonsense").exit_code == 1


def test_export_import_stats_digest(run: Run) -> None:
    add(run)
    ok(run("export", "all.jsonl"))
    assert ok(run("export")) == Path("all.jsonl").read_text(encoding="utf-8")
    ok(run("import", "all.jsonl", "--store", "copy.db"))
    one, other = (json.loads(ok(run("stats", "--json", *store))) for store in ([], ["--store", "copy.db"]))
    assert one["digest"] == other["digest"]
    assert one["messages"] == 4
    assert "4 (" in ok(run("stats"))


def test_erase_asks_first(run: Run) -> None:
    (first, *_) = add(run)
    assert run("erase", first["id"], input="n\n").exit_code == 1
    receipt = json.loads(ok(run("erase", first["id"], "--yes", "--json")))
    assert receipt["found"] == 0
    assert b"Porto" not in Path("nscma.db").read_bytes()
    assert "none found" in ok(run("erase", "--yes"))


def test_reembed_and_doctor(run: Run) -> None:
    add(run)
    assert json.loads(ok(run("reembed", "--json")))["vectors"] >= 4
    report = json.loads(ok(run("doctor", "--json")))
    assert report["problems"] == []
    assert "no problems found" in ok(run("doctor", "--store", "nowhere.db"))
    assert not Path("nowhere.db").exists()


def test_replay_under_other_rules(run: Run) -> None:
    add(run)
    Path("paper.toml").write_text('[gate]\nrule = "everything"\n')
    dry = json.loads(ok(run("replay", "--gate", "paper.toml", "--json")))
    assert dry["decided"] == 4
    assert all(change["write"] for change in dry["changed"])
    assert "haha ok" in [change["text"] for change in dry["changed"]]
    assert json.loads(ok(run("log", "--deferred", "--json")))
    ok(run("replay", "--gate", "paper.toml", "--apply"))
    assert json.loads(ok(run("log", "--deferred", "--json"))) == []
    assert "0 jobs" in ok(run("retry"))


def test_missing_store_is_a_usage_error(run: Run) -> None:
    for command in (["search", "x"], ["ask", "x"], ["log"], ["stats"], ["export"], ["get", "x"]):
        result = run(*command)
        assert result.exit_code == 2, command
        assert not Path("nscma.db").exists()


def test_one_clear_error_and_exit_code_one(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.jsonl").write_text('{"role": "user", "content": "fine"}\n{"role": ')
    monkeypatch.setattr(sys, "argv", ["nscma", "add", "broken.jsonl"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert "line 2" in capsys.readouterr().err


def test_stored_text_cannot_steer_the_terminal(run: Run) -> None:
    ok(run("add", "--text", "evil \x1b[31mred\x1b[0m [bold]markup[/bold] text"))
    shown = ok(run("search", "evil"))
    assert "\x1b" not in shown
    assert "[bold]markup[/bold]" in shown


def test_output_can_be_cut_by_its_reader(run: Run) -> None:
    add(run)
    line = f"{sys.executable} -m nscma_torch export | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_demo_runs_on_its_own_conversation(run: Run) -> None:
    with Path("light.toml").open("a") as config:
        config.write('[reading]\nmodel = "none"\nfacts = "none"\n')  # `make demo` runs it with all its models
    result = json.loads(ok(run("demo", "--json")))
    Shapes().compare(result, prints()["demo"], "demo")
    assert result["messages"] >= 240
    assert result["sessions"] >= 12
    assert result["questions"] == 20
    assert result["right"] + result["wrong"] == 20 and result["answerable"] == 18
    assert 0 < result["evidence_shown"] <= 18
    assert result["right"] <= 5, "without a reader all but the abstentions are quotations"
    assert result["written"] + result["deferred"] == result["messages"]


def test_doctor_reports_models_that_cannot_be_used(run: Run) -> None:
    served = '[llm]\nengine = "http"\nserver = "vllm"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "nowhere"\n'
    for text, word in (
        (f'{served}[surprise]\nengine = "llm"\nmodel = "nowhere"\n', "nowhere"),
        ('[surprise]\nmodel = "nowhere.safetensors"\n', "nowhere.safetensors"),
    ):
        Path("bad.toml").write_text(f'device = "cpu"\n[embedder]\nmodel = "hash"\n{text}')
        result = run("doctor", "--config", "bad.toml", "--json")
        assert result.exit_code == 1, (result.output, result.exception)
        report = json.loads(result.stdout)
        assert report["surprise"] == f"{word} cannot be used"
        assert [problem for problem in report["problems"] if word in problem]
        assert bool(served in text) == any("127.0.0.1:9" in problem for problem in report["problems"])
    Path("bad.toml").write_text('device = "cpu"\n[embedder]\nmodel = "nowhere"\n')
    report = json.loads(run("doctor", "--config", "bad.toml", "--json").stdout)
    assert report["embedder"] == "nowhere cannot be used" and len(report["problems"]) == 1


@pytest.mark.parametrize(
    "text", [r"The regex is \[/a-z]+ here.", r"C:\[bold] and :warning: and [/dim]", "A folder C:\\data\\"]
)
def test_stored_text_is_shown_as_it_was_said(run: Run, text: str) -> None:
    with Path("light.toml").open("a") as config:
        config.write('[reading]\nmodel = "none"\n')  # what is found is quoted
    ok(run("add", "--text", text))
    assert text in ok(run("log")) and text in ok(run("search", text)) and text in ok(run("ask", f"What is {text}?"))
    assert text in ok(run("chat", input="What is the " + text.replace("The ", "") + "?\n"))


def test_piped_chat_ends_as_it_should(run: Run) -> None:
    ended = run("chat", input="/forget zzz\n/quit\n")
    assert ended.exit_code == 1 and isinstance(ended.exception, SystemExit)
    odd = run("chat", input=b"hello \xff there\n")
    assert "line 1: byte 0xff at offset 6 is not UTF-8" in str(odd.exception)


@pytest.mark.parametrize(
    "arguments",
    [("add", "latin.txt"), ("add", "chat.jsonl", "--format", "bogus"), ("import", "nofile"), ("erase", "--user", "x")],
)
def test_what_fails_at_once_makes_no_store(run: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    assert run(*arguments).exit_code != 0
    assert not (tmp_path / "nscma.db").exists()


def test_version(run: Run) -> None:
    assert ok(run("--version")).startswith("nscma 0.")


@pytest.mark.parametrize("command", [("log",), ("ask", "Where do I live?"), ("search", "Porto"), ("facts",)])
def test_who_forgets_whose_memory_it_is_is_told(run: Run, command: tuple[str, ...]) -> None:
    ok(run("add", "chat.jsonl", "--user", "tom"))
    assert "user 'default' has nothing in this store, another user has" in run(*command).stderr
    assert "another user" not in run(*command, "--user", "tom").stderr


def test_skills_are_listed_archived_and_erased(run: Run) -> None:
    for name in ("Kintsugi", "Bread"):
        ok(run("add", "--text", f"I know {name}."))
        ok(run("skills", "--add", name, "--trigger", f"{name} is wanted", "--step", "begin"))
    skills = json.loads(ok(run("skills", "--json")))
    assert [one["skill"]["name"] for one in skills] == ["Kintsugi", "Bread"]
    first = skills[0]["skill"]["id"][:8]
    assert "0 worked, 0 failed, archived" in ok(run("skills", "--archive", first))
    assert "Kintsugi" not in ok(run("skills")) + ok(run("skills", "Kintsugi"))
    assert "Kintsugi" in ok(run("skills", "--archived"))
    assert "archived" not in ok(run("skills", "--restore", first))
    assert "Kintsugi" in ok(run("skills"))
    assert "1 worked, 0 failed" in ok(run("skills", "--worked", first))
    assert "1 worked, 1 failed" in ok(run("skills", "--failed", first))
    for both in (("skills", "--archive", first, "--restore", first), ("skills", "bread", "--archived"),
                 ("erase", "a", "--skill", first)):  # fmt: skip
        assert run(*both).exit_code == 2
    refused = run("erase", "--skill", first, input="n\n")
    assert refused.exit_code == 1 and "skill" in refused.stderr
    receipt = json.loads(ok(run("erase", "--skill", first, "--yes", "--json")))
    assert (receipt["found"], receipt["rows"]["skills"]) == (0, 1)
    assert "Bread" in ok(run("skills")) and "Kintsugi" not in ok(run("skills", "--archived"))
    assert run("erase", "--skill", first, "--yes").exit_code != 0
    assert len(json.loads(ok(run("log", "--json")))) == 2


def test_the_files_of_a_folder_are_added(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    for name, text in (
        ("bread.md", "# Bread\n\nThe rye loaf needs 50 minutes."),
        ("plants/garden.csv", "plant,bought\nfig,2024\n"),
        ("plants/photo.png", "no text"),
        (".obsidian/notes.md", "# Settings\n\nof the program"),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert "added 2 messages" in ok(run("add", str(folder)))
    assert {one["source"] for one in json.loads(ok(run("log", "--json")))} == {"bread.md", "garden.csv"}
    assert "2 known already" in ok(run("add", str(folder)))
    (tmp_path / "empty").mkdir()
    refused = run("add", str(tmp_path / "empty"))
    assert refused.exit_code == 1 and "contains no file of type .json" in str(refused.exception)
