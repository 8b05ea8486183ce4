"""A run gives the same results however many ranks there are, and however often it is killed."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from eval.harness.contract import Shared
from eval.harness.raw_lines import RawLines, cut_torn, read_all
from eval.harness.run_config import read_config
from eval.harness.sample_run import Stopped, digest, failed
from eval.run import Options, run
from nscma_torch.core.errors import (
    ConfigError,
    JobError,
    MalformedInputError,
    MissingDependencyError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreFullError,
)
from tests.eval import tiny_run

CONFIG = """
# {comment}
seed = 3
[memory]
embedder = {{ model = "hash" }}
device = "cpu"
[[tasks]]
kind = "tiny"
name = "kitchen"
samples = {samples}
[[tasks]]
kind = "tiny"
name = "garden"
samples = 3
lost = "s2"
[[systems]]
kind = "tiny"
name = "plain"
{plain}
[[systems]]
kind = "tiny"
name = "kitchen alone"
tasks = ["kitchen"]
{alone}
"""


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., str]:
    def write(name: str = "run.toml", **values: Any) -> str:
        path = tmp_path / name
        path.write_text(CONFIG.format(**{"comment": "", "samples": 5, "plain": "", "alone": "", **values}))
        return str(path)

    return write


def results(out: Path, *, timed: bool = False) -> list[dict[str, Any]]:
    """The merged lines; without seconds, and without what names the configuration, the commit and the attempt."""
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    for line in lines if not timed else ():
        line.pop("config")
        line.pop("commit")
        line.pop("attempt")
        line.pop("took")
        for cost in (line.get("read"), *(question["cost"] for question in line["questions"])):
            if cost is not None:
                del cost["seconds"]
    return lines


def torchrun(config: str, out: Path, log: Path, rank: str = "tiny_run.py") -> subprocess.Popen[bytes]:
    """Two processes of a program beside this file."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{root}:{root / 'kernels'}"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    program = str(Path(__file__).parent / rank)
    with log.open("wb") as said:
        command += [program, config, str(out)]
        return subprocess.Popen(command, env=environment, stdout=said, stderr=subprocess.STDOUT)


def test_two_ranks_of_which_one_is_killed_give_what_one_rank_gives(config: Callable[..., str], tmp_path: Path) -> None:
    """SIGKILL of the rank that holds a sample, a torn line, and a restart: nothing is lost, nothing done twice."""
    gate, log = tmp_path / "gate", tmp_path / "log.txt"
    broken = {"plain": 'poisoned = "s3"', "alone": f'waits = "s4"\ngate = "{gate}"'}
    both = tmp_path / "both"
    with torchrun(config(**broken), both, log) as killed:
        until = time.monotonic() + 600
        while not gate.with_suffix(".pid").exists() or len(list(raw_lines(both))) < 12:
            assert killed.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.02)
        os.kill(int(gate.with_suffix(".pid").read_text()), signal.SIGKILL)
        assert killed.wait(timeout=600) != 0
    before = list(raw_lines(both))
    assert len(before) == 12  # all but the one that waited, in either task
    assert not (both / "results.jsonl").exists()
    with (both / "raw-1.jsonl").open("ab") as file:
        file.write(b'{"task": "kitchen", "system": "kitchen alone", "sample": "s4", "questions": [{"id"')

    gate.touch()
    with torchrun(config(**broken, comment="another comment"), both, log) as restarted:
        assert restarted.wait(timeout=600) == 1, log.read_text()
    after = list(raw_lines(both))
    assert len(after) == 13
    assert set(before) < set(after)
    assert "2 failed" in log.read_text()

    one = tmp_path / "one"
    assert tiny_run.started(config(**broken), str(one)) == 1
    assert results(one) == results(both)
    assert len({line["questions"][0]["confidence"] for line in results(one) if line["questions"]}) > 5  # all drew


def raw_lines(out: Path) -> list[str]:
    return [line for path in out.glob("raw-*.jsonl") for line in path.read_text().splitlines(keepends=True)]


def test_a_line_tells_everything(config: Callable[..., str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert tiny_run.started(config(), str(out), tasks=["kitchen"], systems=["plain"], limit=2) == 0
    line, other = results(out, timed=True)
    assert (line["index"], line["half"], other["half"]) == (0, "even", "odd")
    assert (line["seed"], line["metrics"], line["messages"]) == (3, ["accuracy", "draw"], 2)
    sample = tiny_run.TinyTask({"name": "kitchen", "samples": 2}).sample("s0")
    assert line["data"] == digest(sample) != other["data"]
    assert digest(replace(sample, questions=sample.questions[:1])) != digest(sample)
    assert line["bytes"] == len("The parcel of s0 is in the kitchen.So it is 世界.".encode())
    assert line["store_bytes"] > 0
    assert line["error"] is None
    assert line["read"]["seconds"]["ingest"] > 0
    assert [question["id"] for question in line["questions"]] == ["q0", "q1"]
    first = line["questions"][0]
    assert (first["reply"], first["answers"], first["evidence"]) == ("kitchen", ["kitchen"], [0])
    assert first["scores"] == {"accuracy": 1.0, "draw": first["confidence"]}
    assert first["cost"]["llm_calls"], first["cost"]["tokens_out"] == (1, 3)
    record = json.loads((out / "run.json").read_text())
    assert record["sha256"] == line["config"] == read_config(tmp_path / "run.toml").sha256
    assert record["config"]["seed"] == 3
    assert record["ranks"] == 1
    assert record["ended"] is not None
    assert record["commit"] == line["commit"]
    assert line["attempt"] == 1
    assert record["planned"] == {
        "kitchen": {"samples": 5, "systems": ["plain", "kitchen alone"]},
        "garden": {"samples": None, "systems": ["plain"]},  # not made, for nobody asked for it
    }


def test_a_run_goes_on_with_more_samples_and_leaves_failures_until_they_are_asked_for(
    config: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, gate = tmp_path / "out", tmp_path / "gate"
    given = config(plain='poisoned = "s1"')
    assert tiny_run.started(given, str(out), tasks=["kitchen"], limit=1) == 0
    assert tiny_run.started(given, str(out), tasks=["kitchen"], limit=3) == 1
    assert "a poisoned sample" in capsys.readouterr().out
    assert len(raw_lines(out)) == 6
    assert tiny_run.started(given, str(out), tasks=["kitchen"], limit=3) == 1
    assert len(raw_lines(out)) == 6
    assert tiny_run.started(given, str(out), tasks=["kitchen"], limit=3, retry_failed=True) == 1
    assert len(raw_lines(out)) == 7
    lines = {(line["system"], line["sample"]): line for line in results(out, timed=True)}
    assert len(lines) == 6
    failures = [key for key, line in lines.items() if line["error"] is not None]
    assert failures == [("plain", "s1")]
    error = lines["plain", "s1"]["error"]
    assert (error["type"], error["message"][:17]) == ("ValueError", "a poisoned sample")
    assert lines["plain", "s1"]["questions"] == []
    unanswered = lines["plain", "s1"]["unanswered"]
    assert [(one["id"], one["category"], one["scores"]) for one in unanswered] == [
        (id_, "", {"accuracy": 0.0, "draw": 0.0}) for id_ in ("q0", "q1")
    ]
    assert lines["plain", "s1"]["attempt"] == 4
    assert len(json.loads((out / "run.json").read_text())["earlier"]) == 3
    assert not gate.exists()


def test_a_retry_that_succeeds_replaces_the_failure(tmp_path: Path) -> None:
    line = {"task": "t", "system": "s", "sample": "1", "error": {"type": "ValueError"}}
    with RawLines(tmp_path, 1) as raw:
        raw.append(line)
    with RawLines(tmp_path, 0) as raw:  # read before the failure
        raw.append({**line, "error": None})
    assert [found["error"] for found in read_all(tmp_path).values()] == [None]
    with RawLines(tmp_path, 2) as raw:
        raw.append({**line, "error": None})
    with pytest.raises(MalformedInputError, match="done twice"):
        read_all(tmp_path)


def test_of_two_failures_the_last_attempt_counts(tmp_path: Path) -> None:
    line = {"task": "t", "system": "s", "sample": "1"}
    for rank, attempt in ((0, 3), (1, 2), (2, 1)):
        with RawLines(tmp_path, rank) as raw:
            raw.append({**line, "attempt": attempt, "error": {"type": f"of attempt {attempt}"}})
    assert [found["error"]["type"] for found in read_all(tmp_path).values()] == ["of attempt 3"]


def test_a_worker_that_outlived_its_run_keeps_the_next_from_beginning(tmp_path: Path) -> None:
    with RawLines(tmp_path, 1) as raw:
        raw.append({"n": 1})
        with pytest.raises(StoreBusyError, match="earlier run still writes"):
            cut_torn(tmp_path)
        with pytest.raises(StoreBusyError, match="earlier run still writes"):
            RawLines(tmp_path, 1)
    cut_torn(tmp_path)


def test_a_disk_that_takes_no_line_is_full(tmp_path: Path) -> None:
    Path(tmp_path, "raw-0.jsonl").symlink_to("/dev/full")
    with RawLines(tmp_path, 0) as raw, pytest.raises(StoreFullError, match="cannot be written"):
        raw.append({"n": 1})


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("no such key"),
        MissingDependencyError("install the extra"),
        StoreFullError("no room"),
        StoreError("the helper process ended"),
        OSError(errno.ENOSPC, "No space left on device"),
        JobError("background work failed: OSError: [Errno 28] No space left on device"),
        JobError("background work failed: ConfigError: no such key"),
    ],
)
def test_what_would_fail_every_sample_stops_the_run(error: Exception) -> None:
    with pytest.raises(Stopped, match=re.escape(str(error))):
        failed(error, [])


@pytest.mark.parametrize(
    "error", [ValueError("odd"), FileNotFoundError(errno.ENOENT, "gone"), StoreFormatError("corrupt"), JobError("odd")]
)
def test_what_is_a_samples_own_fault_is_its_line(error: Exception) -> None:
    try:
        raise error
    except type(error) as caught:
        line = failed(caught, [{"id": "q0"}])
    assert (line["error"]["type"], line["unanswered"]) == (type(error).__name__, [{"id": "q0"}])


@pytest.mark.parametrize("torn", [b"", b"{", b'{"a": 1}', b"x" * 200_000])
def test_what_follows_the_last_whole_line_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    for number, whole in enumerate((b"", b'{"n": 1}\n', b'{"n": 1}\n{"n": 2}\n')):
        (tmp_path / f"raw-{number}.jsonl").write_bytes(whole + torn)
    cut_torn(tmp_path)
    assert [path.read_bytes() for path in sorted(tmp_path.glob("raw-*"))] == [
        b"",
        b'{"n": 1}\n',
        b'{"n": 1}\n{"n": 2}\n',
    ]


@pytest.mark.parametrize("how", ["down", "job_down"])
def test_an_engine_that_is_down_stops_the_run_and_fails_nothing(
    config: Callable[..., str], tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert tiny_run.started(config(alone=f'{how} = "s1"'), str(out)) == 2
    assert "no engine is there" in capsys.readouterr().out
    lines = results(out)
    assert [(line["system"], line["sample"]) for line in lines] == [
        ("kitchen alone", "s0"),
        ("plain", "s0"),
        ("plain", "s1"),
    ]
    assert json.loads((out / "run.json").read_text())["ended"] is None


def test_samples_are_chosen_by_their_ids(config: Callable[..., str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert tiny_run.started(config(), str(out), tasks=["kitchen"], systems=["plain"], samples=["s[13]"]) == 0
    chosen = results(out)
    assert [(line["sample"], line["index"], line["half"]) for line in chosen] == [("s1", 1, "odd"), ("s3", 3, "odd")]
    assert "--samples 's[13]'" in (out / "run.json").read_text()
    assert tiny_run.started(config(), str(out), tasks=["kitchen"], systems=["plain"]) == 0
    everyone = tmp_path / "everyone"
    assert tiny_run.started(config(), str(everyone), tasks=["kitchen"], systems=["plain"]) == 0
    assert [line for line in results(everyone) if line["sample"] in {"s1", "s3"}] == chosen
    assert [line["sample"] for line in results(out)] == [line["sample"] for line in results(everyone)]


def test_another_configuration_is_refused(config: Callable[..., str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert tiny_run.started(config(), str(out), tasks=["kitchen"], limit=1) == 0
    before = (out / "results.jsonl").read_bytes()
    with pytest.raises(ConfigError, match="holds results of another configuration"):
        tiny_run.started(config(samples=6), str(out))
    assert (out / "results.jsonl").read_bytes() == before
    assert tiny_run.started(config(comment="another"), str(out), tasks=["kitchen"], limit=1) == 0


def test_two_runs_in_one_folder_are_refused(config: Callable[..., str], tmp_path: Path) -> None:
    from eval.harness.run_record import alone

    with alone(tmp_path / "out"), pytest.raises(StoreBusyError, match="another run"):
        tiny_run.started(config(), str(tmp_path / "out"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed = 1", "at least one"),
        ("sed = 1", "unknown key 'sed'"),
        ("seed =", "is not TOML"),
        ('[[tasks]]\nkind = "a"', "needs its name"),
        ('[[tasks]]\nkind="a"\nname="b"\n[[tasks]]\nkind="a"\nname="b"', "two .*called 'b'"),
        ('[[tasks]]\nkind="a"\nname="b"\n[[systems]]\nkind="s"\nname="s"\ntasks=["c"]', "'c', which there is not"),
    ],
)
def test_a_configuration_that_is_none_is_one_error(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_config(path)


def test_names_and_limits_are_checked(config: Callable[..., str], tmp_path: Path) -> None:
    for wrong in ({"tasks": ["cellar"]}, {"systems": ["best"]}, {"limit": 0}, {"samples": ["t*"]}):
        with pytest.raises(ConfigError):
            tiny_run.started(config(), str(tmp_path / "out"), **wrong)
    assert not (tmp_path / "out").exists()
    with pytest.raises(ConfigError, match="cannot read"):
        read_config(tmp_path / "none.toml")


def test_a_configuration_that_failed_is_mended_in_its_folder(config: Callable[..., str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    faulty = Path(config("faulty.toml"))
    faulty.write_text(faulty.read_text().replace("model =", "modle ="))
    with pytest.raises(ConfigError, match="modle"):
        tiny_run.started(str(faulty), str(out), tasks=["kitchen"], limit=1)
    assert (out / "run.json").exists()
    assert tiny_run.started(config(), str(out), tasks=["kitchen"], limit=1) == 0


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("[report.babilon]", "babilon"),
        ('[report.differences]\nreference = "plane"', "plane"),
        ('[report.overview]\ntasks = ["x"]', "overview"),
        ('[report.grid]\ntasks = ["chicken"]', "chicken"),
    ],
)
def test_a_report_that_cannot_be_made_is_refused_before_the_run(
    section: str, said: str, config: Callable[..., str], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        tiny_run.started(config(alone=f"\n{section}\n"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_system_may_have_models_of_its_own(config: Callable[..., str], tmp_path: Path) -> None:
    path = config(
        plain="memory = { answer = { passages = 1 } }", alone='vary = { a = [1, 2], "memory.answer.words" = [9] }'
    )
    seen: dict[str, Shared] = {}

    def make_system(section: Mapping[str, Any], shared: Shared) -> tiny_run.TinySystem:
        seen[section["name"]] = shared
        return tiny_run.TinySystem(section, shared)

    options = Options(Path(path), Path(), tmp_path / "out", limit=2)
    assert run(options, tiny_run.make_task, make_system, Console()) == 0
    one, two = (seen[f"kitchen alone, a = {value}, words = 9"] for value in (1, 2))
    assert one is two and one is not seen["plain"]
    assert [own.config["answer"] for own in (one, seen["plain"])] == [{"words": 9}, {"passages": 1}]
    assert {line["system"] for line in results(tmp_path / "out")} == seen.keys()
