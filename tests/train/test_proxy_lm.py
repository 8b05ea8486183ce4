"""train/proxy/proxy_lm.py: a run that was stopped ends as one that was not, on one process or on two."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from nscma_torch.surprise.byte_model.byte_lm import ByteLM, ByteLMConfig
from train.proxy import proxy_lm
from train.proxy.proxy_lm import take_over
from train.proxy.proxy_texts import SEGMENTS, Lanes, as_chat, read_meetings, spaced, synthetic

ROOT = Path(__file__).parents[2]
SIZES = {"layers": 1, "width": 16, "table_bits": 6, "table_width": 4, "match_width": 4, "reach": 256}
SHARES = {"meetings": 0.3, "meetings_as_chat": 0.3, "novels": 0.2, "novels_spaced": 0.1, "synthetic": 0.1}
TRAIN = {
    "seed": 3,
    "steps": 8,
    "streams": 2,
    "window": 2048,
    "warmup": 0.2,
    "decay": 0.5,
    "matrix_lr": 0.003,
    "other_lr": 0.004,
    "weight_decay": 0.05,
    "clip": 1.0,
    "log_steps": 2,
    "evaluate_steps": 4,
}


@pytest.fixture(scope="module")
def texts() -> dict[str, bytes]:
    return {name: b"\n" + synthetic(random.Random(name), 50_000).encode() for name in SHARES}


def run(texts: dict[str, bytes], out: Path, until: int | None = None) -> dict[str, torch.Tensor]:
    """Train to `until` in this process; the weights."""
    torch.manual_seed(TRAIN["seed"])
    model = ByteLM(ByteLMConfig(**SIZES))
    lanes = Lanes(texts, SHARES, model.config, TRAIN["seed"], range(TRAIN["streams"]))
    proxy_lm.Run(model, lanes, b"held out\n" * 20, TRAIN, out, "cpu", proxy_lm.Ranks()).train(until)
    return {name: weight.detach().clone() for name, weight in model.state_dict().items()}


def test_a_narrower_network_takes_over_the_tables_of_a_wider_one() -> None:
    torch.manual_seed(3)
    wide, narrow = ByteLM(ByteLMConfig(**{**SIZES, "width": 32})), ByteLM(ByteLMConfig(**SIZES))
    before = {name: weight.clone() for name, weight in narrow.state_dict().items()}
    fresh = take_over(narrow, wide.state_dict())
    for name, weight in narrow.state_dict().items():
        assert torch.equal(weight, before[name] if name in fresh else wide.state_dict()[name])
    assert {"tables.weight", "matched.weight"} <= before.keys() - set(fresh) and "join.weight" in fresh
    with pytest.raises(ValueError, match="no parameter of the configured shapes"):
        take_over(narrow, {"tables.weight": torch.zeros(2, 2)})


def test_a_stopped_run_ends_as_an_unbroken_one(texts: dict[str, bytes], tmp_path: Path) -> None:
    whole = run(texts, tmp_path / "whole")
    start = run(texts, tmp_path / "parts", until=3)  # in the middle of a text
    rest = run(texts, tmp_path / "parts")
    assert [name for name, weight in whole.items() if not torch.equal(weight, rest[name])] == []
    assert [name for name, weight in whole.items() if not torch.equal(weight, start[name])] != []
    logs = [
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted(tmp_path.glob("*.jsonl"))
    ]
    parts, unbroken = ({row["step"]: row for row in log} for log in logs)
    assert list(unbroken) == [2, 4, 6, 8] and list(parts) == [2, 3, 4, 6, 8]
    assert {**parts[8], "seconds": 0} == {**unbroken[8], "seconds": 0}
    assert unbroken[8]["bytes"] == 8 * 2 * 2048 and unbroken[8]["dev"] > 0 and "dev" not in unbroken[6]
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()


def test_a_finished_run_is_left_alone(texts: dict[str, bytes], tmp_path: Path) -> None:
    first = run(texts, tmp_path / "run", until=2)
    again = run(texts, tmp_path / "run", until=2)
    assert all(torch.equal(weight, again[name]) for name, weight in first.items())


def test_lanes_read_the_same_however_they_are_dealt_out(texts: dict[str, bytes]) -> None:
    sizes = ByteLMConfig(**SIZES)
    together = Lanes(texts, SHARES, sizes, 1, range(3))
    apart = [Lanes(texts, SHARES, sizes, 1, [number]) for number in range(3)]
    for _ in range(2 + max(SEGMENTS) // 4096):
        fresh, context, target = together.windows(4096)
        for i, lane in enumerate(apart):
            own_fresh, own, own_target = lane.windows(4096)
            assert own_fresh[0] == fresh[i] and torch.equal(own_target[0], target[i])
            assert all(torch.equal(a[0], b[i]) for a, b in zip(own, context, strict=True))
    assert together.state() == {number: lane.state()[number] for number, lane in enumerate(apart)}


def test_a_resumed_reader_goes_on_in_the_middle_of_a_text(texts: dict[str, bytes]) -> None:
    one, other = (Lanes(texts, SHARES, ByteLMConfig(**SIZES), 1, range(2)) for _ in range(2))
    one.windows(2048)
    other.resume(json.loads(json.dumps(one.state()), object_hook=lambda d: {int(k): v for k, v in d.items()}))
    for _ in range(12):
        (fresh, context, target), (fresh_2, context_2, target_2) = one.windows(2048), other.windows(2048)
        assert torch.equal(fresh, fresh_2) and torch.equal(target, target_2)
        assert all(torch.equal(a, b) for a, b in zip(context, context_2, strict=True))


def test_a_text_too_short_and_lanes_that_cannot_be_shared_are_refused(texts: dict[str, bytes]) -> None:
    with pytest.raises(ValueError, match="'novels' has 5 bytes"):
        Lanes({**texts, "novels": b"short"}, SHARES, ByteLMConfig(**SIZES), 1, range(1))
    with pytest.raises(ValueError, match="change `streams`"):
        proxy_lm.Ranks(0, 3).lanes(8)
    assert [list(proxy_lm.Ranks(rank, 2).lanes(4)) for rank in range(2)] == [[0, 1], [2, 3]]


def test_transcripts_read_as_chat_and_prose_as_corpora(tmp_path: Path) -> None:
    assert as_chat("PhD A: Yeah , I do n't {disfmarker} know .\nB: {vocalsound}") == "Yeah, I don't know."
    assert spaced('He said, "Go."') == 'He said , " Go . " '
    (tmp_path / "qmsum_train_meetings.txt").write_text("\n\n".join(f"A: {i}" for i in range(9)))
    kept, held_out = read_meetings(tmp_path, 3)
    assert held_out.split("\n") == ["A: 1", "A: 4", "A: 7"]
    assert set(kept.split("\n")) == {f"A: {i}" for i in range(9)} - set(held_out.split("\n"))


def folder_and_config(tmp_path: Path) -> tuple[Path, Path]:
    """A tiny `lm_text/` and its configuration."""
    folder = tmp_path / "data" / "lm_text"
    folder.mkdir(parents=True)
    rng = random.Random(5)
    speech = ["A: " + synthetic(rng, 7_000).replace("\n", "\nB: ") for _ in range(9)]
    (folder / "qmsum_train_meetings.txt").write_text("\n\n".join(speech), encoding="utf-8")
    (folder / "ENG1_tiny.txt").write_text(synthetic(rng, 50_000), encoding="utf-8")
    for name in ("valid", "test"):
        (folder / f"wikitext2_{name}.txt").write_text(synthetic(rng, 2_000), encoding="utf-8")
    tables = {"model": SIZES, "train": TRAIN, "data": {**SHARES, "synthetic_bytes": 40_000, "dev_every": 9}}
    lines = [f"[{name}]\n" + "\n".join(f"{key} = {value}" for key, value in t.items()) for name, t in tables.items()]
    config = tmp_path / "tiny.toml"
    config.write_text("\n".join(lines), encoding="utf-8")
    return tmp_path / "data", config


@pytest.mark.prove
def test_two_processes_learn_what_one_does(tmp_path: Path) -> None:
    data, config = folder_and_config(tmp_path)
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    program = ["-m", "train.proxy.proxy_lm", "--config", str(config), "--data", str(data), "--device", "cpu"]
    many = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]

    def train(out: str, launcher: list[str], *arguments: str) -> str:
        command = [sys.executable, *launcher, *program, "--out", str(tmp_path / out), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    train("two", many, "--stop", "5")
    printed = train("two", [])  # a run of two processes goes on with one
    assert "WikiText-2 test" in printed
    train("one", [])
    one, two = load_file(tmp_path / "one"), load_file(tmp_path / "two")
    torch.manual_seed(TRAIN["seed"])
    begun = ByteLM(ByteLMConfig(**SIZES))
    for name, weight in begun.state_dict().items():
        moved = (one[name].float() - weight).norm()
        assert float((one[name].float() - two[name].float()).norm()) < 0.1 * float(moved), name
