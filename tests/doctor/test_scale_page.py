"""The page on scale shows what the command prints, and the command refuses what is no plan."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nscma_torch.cli import app, output
from nscma_torch.doctor.plan import card_bytes
from nscma_torch.doctor.rates import load_rates

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
WIDTH = 132


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["doctor", *arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def test_the_page_shows_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output.console, "width", WIDTH)
    blocks = re.findall(
        r"^```console\n\$ nscma doctor ([^\n]*)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    assert blocks
    for command, shown in blocks:
        lines = [line.rstrip() for line in printed(*shlex.split(command)).splitlines()]
        assert [line.rstrip() for line in shown.splitlines()] == lines


def test_the_page_names_where_the_rates_come_from() -> None:
    page, rates = PAGE.read_text(encoding="utf-8"), load_rates()
    for said in (rates.source.date, rates.source.commit, rates.source.machine, f"{rates.writers.file:.0f} messages"):
        assert said in page, said
    for texts in rates.texts:
        assert f"{texts.text:,.0f} bytes" in page
    for point in rates.search:
        assert f"{point.units:,}" in page


def test_json_has_bytes_and_seconds_and_people_have_gibibytes_and_days() -> None:
    sizes = ("--plan", "--users", "1000", "--messages", "100000")
    (made,) = json.loads(printed(*sizes, "--json"))["scales"]
    found = {figure["name"]: figure for figure in made["figures"]}
    assert found["messages"]["value"] == 10**8
    for name, unit, step in (("SQLite file", "bytes", 2**30), ("file, 1 core", "seconds", 86_400)):
        value, shown = found[name]["value"], "GiB" if unit == "bytes" else "days"
        assert found[name]["unit"] == unit
        (line,) = (line for line in printed(*sizes).splitlines() if line.startswith(f"│ {name}"))
        (number,) = re.findall(rf"([\d.,]+) {shown}", line)
        assert float(number.replace(",", "")) == pytest.approx(value / step, rel=0.01)


def test_rates_of_ones_own_and_cards_beside(tmp_path: Path) -> None:
    rates = load_rates()
    path = tmp_path / "mine.json"
    path.write_text(rates.model_copy(update={"index": rates.index.model_copy(update={"load": 7.0})}).model_dump_json())
    sizes = ("--plan", "--users", "2", "--messages", "10", "--json", "--card", "12", "--units", "5")
    report = json.loads(printed(*sizes, "--rates", str(path)))
    (made,) = report["scales"]
    found = {figure["name"]: figure["value"] for figure in made["figures"]}
    assert found["loading a user's"] == pytest.approx(7 * found["searchable units"] / 2)
    (fit,) = report["card"]["fits"]
    assert fit["card"] == card_bytes(12) and fit["problems"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plan", "--users", "3"], "as many --users as --messages"),
        (["--users", "3", "--messages", "4"], "goes with --plan"),
        (["--plan", "--cores", "4"], "as many --users as --messages"),
        (["--plan", "--users", "3", "--users", "4", "--messages", "5"], "as many --users as --messages"),
    ],
)
def test_half_a_plan_is_refused(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["doctor", *arguments])
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


@pytest.mark.parametrize("wrong", [["0", "5"], ["5", "-1"]])
def test_no_users_and_no_messages_are_refused(wrong: list[str]) -> None:
    users, messages = wrong
    result = CliRunner().invoke(app, ["doctor", "--plan", "--users", users, "--messages", messages])
    assert result.exit_code != 0 and result.exception is not None
    assert "must be above 0" in str(result.exception)
