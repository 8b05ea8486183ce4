"""Names are those of OpenTelemetry's package, so far as it has them."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.attributes import error_attributes, http_attributes, server_attributes, url_attributes
from opentelemetry.semconv.metrics import http_metrics

from nscma_torch.api.operations import OPERATIONS
from nscma_torch.telemetry import names

MODULES = (
    gen_ai_attributes, gen_ai_metrics, error_attributes, http_attributes, server_attributes, url_attributes,
    http_metrics,
)  # fmt: skip
# Of the conventions for memory, which no package has.
MEMORY = {"gen_ai.memory.store.id", "gen_ai.memory.record.count"}
OF_MEMORY = {
    "create_memory", "update_memory", "upsert_memory", "search_memory", "delete_memory", "create_memory_store",
    "delete_memory_store",
}  # fmt: skip


def test_names_are_of_the_conventions_or_our_own() -> None:
    known = {value for module in MODULES for value in vars(module).values() if isinstance(value, str)}
    ours = {value for name, value in vars(names).items() if name.isupper()}
    assert len(ours) > 20
    strange = {name for name in ours - known - MEMORY if not re.fullmatch(r"nscma(\.[a-z_]+)+", name)}
    assert strange == set()


def test_operations_are_of_the_conventions() -> None:
    assert {one.gen_ai for one in OPERATIONS.values()} - {""} <= OF_MEMORY


def test_the_page_lists_every_name() -> None:
    page = (Path(__file__).parents[2] / "docs" / "deployment.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([a-z_.]+)`", page))
    ours = {value for name, value in vars(names).items() if name.isupper()} - {names.ADDRESS, names.PORT}
    assert ours <= listed
    assert {one.gen_ai for one in OPERATIONS.values()} - {""} <= listed
    assert {name for name in listed if name.startswith(("gen_ai.", "nscma.", "http."))} <= ours
    assert version("opentelemetry-semantic-conventions") in page
