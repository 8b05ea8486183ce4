"""The `setup` command, which finds a model server and writes the `[llm]` section for it."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import plain, print_json, say

if TYPE_CHECKING:
    from nscma_torch.doctor.servers import ModelServer

_BUNDLED_FIRST = (("facts", "instead_of_model"), ("reading", "instead_of_model"))
_SMALL = 7_000_000_000  # parameters below which a model reads worse than the bundled networks; one of 1.5B does
_UNREPORTED = 4096  # tokens of context if the server doesn't report them: the least that Ollama starts with


@o.app.command()
def setup(
    file: Annotated[Path, typer.Argument(help="Configuration file to create or update.")] = Path("nscma.toml"),
    *,
    url: Annotated[
        str | None, typer.Option("--url", help="The server's address; default: the usual ports on this machine.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Model to use; default: the only model served.")] = None,
    key: Annotated[
        str,
        typer.Option("--api-key-env", help="Environment variable that contains the server's API key.", metavar="NAME"),
    ] = "",
    json: o.Json = False,
) -> None:
    """Find a running model server, test it with one structured reply, and write the `[llm]` section.

    It looks for Ollama, LM Studio, vLLM and llama.cpp on their default ports on this machine. If the test fails,
    nothing is written.
    """
    from nscma_torch.core.config import load_config
    from nscma_torch.core.errors import ConfigError
    from nscma_torch.doctor.servers import DEFAULT_URLS, find_servers
    from nscma_torch.llm.engines.choose import api_key
    from nscma_torch.server.mcp.settings_files import SetKey, SettingsEdit

    if file.exists():
        load_config(file)  # raises before a request is sent
    secret = api_key(key)
    servers = find_servers((url,) if url else DEFAULT_URLS, api_key=secret)
    if not servers:
        where = url or ", ".join(DEFAULT_URLS)
        raise ConfigError(f"no OpenAI-compatible server responds at {where}; start one, or give its address with --url")
    if not json:
        _list(servers)
    server = _choose(servers, model)
    chosen = server.model(model)
    section: dict[str, Any] = {
        "engine": "http",
        "server": server.kind,
        "base_url": server.url,
        "model": chosen.name,
    }
    if key:
        section["api_key_env"] = key
    context = chosen.context
    if server.kind == "other":
        section["context"] = context or _UNREPORTED
    reply, seconds = _test_reply(section)
    if server.kind == "other" and context is None:  # Ollama and LM Studio report it once the model is loaded
        (again,) = find_servers((server.url,), api_key=secret)
        context = again.model(chosen.name).context
        section["context"] = context or _UNREPORTED
    edits = [SetKey(("llm",), section)]
    small = chosen.parameters is not None and chosen.parameters < _SMALL
    networks = [key for key in _BUNDLED_FIRST if small and not _sets(file, *key)]
    edits += [SetKey(key, 0.0) for key in networks]
    plan = SettingsEdit(file, "toml", edits).planned()
    backup = plan.write() if plan else None
    if json:
        print_json({"servers": servers, "llm": section, "reply": reply, "seconds": seconds, "file": file})
        return
    say(f"structured reply in {seconds:.1f} s: {plain(str(reply))}")
    if server.kind == "other" and context is None:
        say(f"[yellow]the context length is not reported; {_UNREPORTED} tokens assumed (llm.context)[/]")
    if networks:
        keys = ", ".join(f"{section}.{key} = 0" for section, key in networks)
        say(
            f"the bundled networks go first ({keys}), and the model does what they can't: one of "
            f"{(chosen.parameters or 0) / 1e9:.1f} billion parameters extracts and answers worse"
        )
    kept = f" (before: {plain(str(backup))})" if backup else ""
    say(f"wrote \\[llm] to {plain(str(file))}{kept}; use it with --config {plain(str(file))} or NSCMA_CONFIG")


def _sets(file: Path, section: str, key: str) -> bool:
    """Return True if a configuration file sets a key."""
    return file.exists() and key in tomllib.loads(file.read_text(encoding="utf-8")).get(section, {})


def _list(servers: list[ModelServer]) -> None:
    for server in servers:
        say(f"[bold]{server.program}[/] at {plain(server.url)}")
        for one in server.models:
            say(f"  {plain(one.name)}" + (f"  {one.context:,} tokens" if one.context else ""))


def _choose(servers: list[ModelServer], model: str | None) -> ModelServer:
    """Return the first server that serves the model; if no model is named, the first server that serves any model."""
    named = [one for one in servers if any(model in (None, served.name) for served in one.models)]
    return named[0] if named else servers[0]


def _test_reply(section: dict[str, Any]) -> tuple[dict[str, str], float]:
    """Request a small structured reply; return it with the seconds it took. Raises `EngineError` if the server can't
    give one.
    """
    from pydantic import Field

    from nscma_torch.core.config import LlmConfig
    from nscma_torch.core.errors import ConfigError, EngineError
    from nscma_torch.llm.engines.choose import choose_engine
    from nscma_torch.llm.engines.contract import Request, Turn
    from nscma_torch.llm.engines.structured import ReplyForm, fill

    class ResidenceForm(ReplyForm):
        name: str = Field(min_length=1, max_length=40)
        city: str = Field(min_length=1, max_length=40)

    engine = choose_engine(LlmConfig.model_validate(section), lambda: None)  # type: ignore[arg-type, return-value]
    assert engine is not None
    prompt = 'Who lives where? "Ana lives in Porto." Reply with a JSON object with the keys name and city.'
    begun = time.perf_counter()
    try:
        (filled,), _ = fill(engine, ResidenceForm, [Request((Turn("user", prompt),), max_tokens=64)])
    finally:
        engine.close()
    if isinstance(filled, EngineError):
        raise ConfigError(
            f"{section['model']} gave no usable structured reply ({filled}); choose another --model"
        ) from filled
    return filled.form.model_dump(), time.perf_counter() - begun
