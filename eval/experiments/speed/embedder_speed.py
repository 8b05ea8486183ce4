"""What running all-MiniLM-L6-v2 costs on a CPU, by implementation, precision, threads and batch.

    python -m eval.experiments.speed.embedder_speed --data DIR

Each row is a process of its own. `start` is the time from the start of the process to its first vector, imports and
checksum included; `one text` is the median latency of one message after that; `texts/s` is the throughput at a batch
size, with texts sorted by length or padded as they come; `1-cos` is the largest distance to the first row's vectors;
`batch` is the largest change of a coordinate between a text alone and the same text in a batch of 32. `--recall` adds
evidence R@10 on LoCoMo's even-indexed conversations by vectors alone. The ONNX row needs onnx, onnxscript and
onnxruntime, and exports the model itself. Compare rows of one run only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_BATCHES = ((1, "sorted"), (8, "sorted"), (32, "sorted"), (32, "as they come"), (128, "sorted"), (128, "as they come"))

Encode = Callable[[Sequence[str]], "torch.Tensor"]  # one padded batch to unit vectors [B, 384]


def _sentence_transformers() -> Encode:
    from sentence_transformers import SentenceTransformer

    from nscma_torch.text.minilm import bundled_folder

    model = SentenceTransformer(str(bundled_folder()), device="cpu", local_files_only=True)
    return lambda texts: model.encode(
        list(texts), batch_size=len(texts), convert_to_tensor=True, show_progress_bar=False
    ).clone()


def _padded() -> Callable[[Sequence[str]], tuple[torch.Tensor, torch.Tensor]]:
    """Tokenizer of one batch: ids and mask, both [B, L] int64."""
    import torch
    from tokenizers import Tokenizer

    from nscma_torch.text.minilm import bundled_folder

    tokenizer = Tokenizer.from_file(str(bundled_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def pad(texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [torch.tensor(tokenizer.encode(text).ids) for text in texts]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return ids, (torch.arange(ids.shape[1]) < torch.tensor([len(row) for row in rows])[:, None]).long()

    return pad


def _transformers() -> Encode:
    import torch
    from transformers import BertModel

    from nscma_torch.text.minilm import bundled_folder

    pad = _padded()
    model: Any = BertModel.from_pretrained(str(bundled_folder()), local_files_only=True)
    model.eval()

    def encode(texts: Sequence[str]) -> torch.Tensor:
        ids, mask = pad(texts)
        with torch.inference_mode():
            hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).float()
        return torch.nn.functional.normalize((hidden * weight).sum(1) / weight.sum(1), dim=-1)

    return encode


def _own(dtype: str, *, compiled: bool = False) -> Encode:
    import torch

    from nscma_torch.text.minilm import MiniLM, bundled_folder, verify

    verify(bundled_folder())
    pad = _padded()
    module = MiniLM.from_checkpoint(bundled_folder() / "model.safetensors").to(dtype=getattr(torch, dtype))
    model: Any = torch.compile(module, dynamic=True) if compiled else module

    def encode(texts: Sequence[str]) -> torch.Tensor:
        ids, mask = pad(texts)
        with torch.no_grad():
            vectors: torch.Tensor = model(ids, mask.bool())
        return vectors

    return encode


def _onnx(folder: Path) -> Encode:
    import torch

    onnxruntime = import_module("onnxruntime")
    pad = _padded()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    session = onnxruntime.InferenceSession(str(folder / "minilm.onnx"), options, providers=["CPUExecutionProvider"])

    def encode(texts: Sequence[str]) -> torch.Tensor:
        ids, mask = pad(texts)
        (hidden,) = session.run(None, {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})
        weight = mask.unsqueeze(-1).float()
        return torch.nn.functional.normalize((torch.from_numpy(hidden) * weight).sum(1) / weight.sum(1), dim=-1)

    return encode


def _export_onnx(folder: Path) -> None:
    import torch

    from nscma_torch.text.minilm import MiniLM, bundled_folder

    class LastHidden(torch.nn.Module):
        """The encoder without pooling and without its shortcut for batches that need no mask."""

        def __init__(self, model: MiniLM) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            x: torch.Tensor = self.model.norm(
                self.model.word(input_ids) + self.model.position.weight[: input_ids.shape[1]]
            )
            for layer in self.model.layers:
                x = layer(x, attention_mask.bool()[:, None, None, :])
            return x

    sample = torch.ones(2, 16, dtype=torch.long)
    axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(
        LastHidden(MiniLM.from_checkpoint(bundled_folder() / "model.safetensors")).eval(),
        (sample, sample.clone()),  # one tensor given twice is exported as one input
        str(folder / "minilm.onnx"),
        input_names=["input_ids", "attention_mask"],
        output_names=["hidden"],
        dynamic_shapes={"input_ids": axes, "attention_mask": axes},
        dynamo=True,
        external_data=False,
        verbose=False,
    )


_BACKENDS: dict[str, Callable[[Path], Encode]] = {
    "sentence-transformers fp32": lambda _: _sentence_transformers(),
    "transformers BertModel fp32": lambda _: _transformers(),
    "nscma MiniLM fp32": lambda _: _own("float32"),
    "nscma MiniLM bf16": lambda _: _own("bfloat16"),
    "nscma MiniLM fp32 compiled": lambda _: _own("float32", compiled=True),
    "onnxruntime fp32": _onnx,
}


def _run(encode: Encode, texts: Sequence[str], batch: int, order: str) -> tuple[torch.Tensor, float]:
    """Vectors [n, 384] in the order of `texts`, and seconds."""
    import torch

    began = time.perf_counter()
    places = sorted(range(len(texts)), key=lambda i: len(texts[i])) if order == "sorted" else list(range(len(texts)))
    vectors = torch.empty(len(texts), 384)
    for start in range(0, len(places), batch):
        chosen = places[start : start + batch]
        vectors[chosen] = encode([texts[i] for i in chosen])
    return vectors, time.perf_counter() - began


def measure(backend: str, folder: Path, started: float) -> None:
    """One row, in a process of its own: print it as JSON and keep the vectors in `folder`."""
    encode = _BACKENDS[backend](folder)
    encode(["Where did we go last summer?"])
    row: dict[str, Any] = {"start_s": time.time() - started}

    import torch

    texts: list[str] = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    latencies = []
    for text in texts[:40]:
        began = time.perf_counter()
        encode([text])
        latencies.append(time.perf_counter() - began)
    row["one_text_ms"] = 1e3 * statistics.median(latencies)
    row["texts_per_s"] = []
    for batch, order in _BATCHES:
        _run(encode, texts[: 2 * batch], batch, order)
        row["texts_per_s"].append(len(texts) / min(_run(encode, texts, batch, order)[1] for _ in range(3)))
    alone, together = _run(encode, texts, 1, "sorted")[0], _run(encode, texts, 32, "sorted")[0]
    row["batch"] = float((alone - together).abs().max())
    reference = folder / "reference.pt"
    if not reference.exists():
        torch.save(alone.double(), reference)
    row["cos"] = float((1 - torch.nn.functional.cosine_similarity(alone.double(), torch.load(reference))).abs().max())
    print(json.dumps(row))


def recall(data: Path, dtype: str) -> float:
    """R@10 of evidence turns on LoCoMo's even-indexed conversations, by cosine alone."""
    import torch

    from eval.metrics.retrieval_metrics import mean, recall_at
    from eval.tasks.locomo import load

    encode = _own(dtype)
    found = []
    for conversation in load(data)[::2]:
        turns, _ = _run(encode, [message.content for message in conversation.messages], 32, "sorted")
        questions, _ = _run(encode, [question.text for question in conversation.questions], 32, "sorted")
        for scores, question in zip(questions @ turns.T, conversation.questions, strict=True):
            found.append(recall_at(torch.topk(scores, 10).indices.tolist(), question.evidence, 10))
    return mean(found)


def main() -> None:
    """Print one row for each backend and number of threads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder that holds locomo/")
    parser.add_argument("--texts", type=int, default=256, help="messages to embed, taken evenly from LoCoMo")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, separated by commas")
    parser.add_argument("--only", default="", help="measure only backends whose name contains this, and the first row")
    parser.add_argument("--recall", action="store_true", help="also R@10 in float32 and bfloat16")
    parser.add_argument("--measure", nargs=3, metavar=("BACKEND", "FOLDER", "STARTED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        backend, folder, started = arguments.measure
        measure(backend, Path(folder), float(started))
        return
    if arguments.data is None:
        parser.error("--data is required")

    from rich.console import Console
    from rich.table import Table

    from eval.tasks.locomo import load

    messages = [message.content for conversation in load(arguments.data)[::2] for message in conversation.messages]
    texts = messages[:: max(1, len(messages) // arguments.texts)][: arguments.texts]
    headers = [f"{batch} {'sorted' if order == 'sorted' else 'padded'}" for batch, order in _BATCHES]
    table = Table("backend", "threads", "start s", "one text ms", *headers, "1-cos", "batch", title="texts/s by batch")
    console = Console(width=170)
    first, *others = _BACKENDS
    backends = [first, *(name for name in others if arguments.only in name)]
    if "onnxruntime fp32" in backends and not all(find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime")):
        backends.remove("onnxruntime fp32")
        console.print("onnxruntime fp32: left out, pip install onnx onnxscript onnxruntime")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        if "onnxruntime fp32" in backends:
            _export_onnx(folder)
        for threads in arguments.threads.split(","):
            for backend in backends:
                environment = {**os.environ, "OMP_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "false"}
                command = [
                    sys.executable,
                    "-m",
                    "eval.experiments.speed.embedder_speed",
                    "--measure",
                    backend,
                    name,
                    str(time.time()),
                ]
                output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
                row = json.loads(output.splitlines()[-1])
                cells = (
                    *(backend, threads, f"{row['start_s']:.1f}", f"{row['one_text_ms']:.1f}"),
                    *(f"{rate:.0f}" for rate in row["texts_per_s"]),
                    *(f"{row['cos']:.0e}", f"{row['batch']:.0e}"),
                )
                print(*cells, sep="\t", file=sys.stderr)
                table.add_row(*cells)
    console.print(table)
    if arguments.recall:
        for dtype in ("float32", "bfloat16"):
            console.print(
                f"R@10, even-indexed conversations, vectors only, {dtype}: {recall(arguments.data, dtype):.4f}"
            )


if __name__ == "__main__":
    main()
