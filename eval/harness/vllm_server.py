"""A real vLLM on the CPU, as a server, with a model of the caller's."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

Server = tuple[str, subprocess.Popen[bytes]]

START_SECONDS = 600
OFFLINE = {"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}


@contextmanager
def vllm_server(python: Path, model: Path, folder: Path, options: Sequence[str] = ()) -> Iterator[Server]:
    """Serve a model under the name "tiny" on a free port of the loopback; gives its address and process.

    Args:
        python: the interpreter of an environment that has vLLM.
        folder: where its log goes.

    Raises:
        RuntimeError: it does not start; with the end of its log.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--dtype", "float32"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", "tiny", "--enforce-eager"]
    command += ["--enable-prefix-caching", "--enable-prompt-tokens-details", *options]
    log, url = folder / "vllm.txt", f"http://127.0.0.1:{port}"
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, cwd=folder, env={**os.environ, **OFFLINE}) as process,
    ):
        try:
            until = time.monotonic() + START_SECONDS
            while not _is_ready(url):
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"vLLM did not start:\n{log.read_text(errors='replace')[-4000:]}")
                time.sleep(1)
            yield url, process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5):
            return True
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False
