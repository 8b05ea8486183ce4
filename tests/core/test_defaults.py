"""A default of the configuration stands in `nscma_torch/core/config` alone, so that no two places can differ."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nscma_torch.core.config import Config, Section
from nscma_torch.surprise import SurpriseGate

PACKAGE = Path(__file__).parents[2] / "nscma_torch"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent.name != "config")
PLAIN = (None, 0, 1, "", (), {}, "none", "auto", "cpu")  # of many meanings; True and False are 1 and 0
OTHERS = {  # the same name and value for another thing
    ("surprise/gate_module.py", "window"),  # usable without a configuration; compared below
    ("surprise/gate_module.py", "warmup"),
    ("reading/relevance.py", "words"),  # of a passage that is read for names, not of one that an answer shows
    ("text/chunker.py", "strategy"),  # what a chunker that is told nothing does
    ("text/embedders/cross_encoder.py", "batch_size"),  # pairs of texts, not jobs
}


def defaults(section: Section) -> Iterator[tuple[str, Any]]:
    """Each key with its default, those of sections inside it too."""
    for key in type(section).model_fields:
        value = getattr(section, key)
        if isinstance(value, Section):
            yield from defaults(value)
        else:
            yield key, value


def assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Names with the expressions of their defaults: parameters, fields of classes, and constants of the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            places = [*given.posonlyargs, *given.args]
            yield from zip(
                (one.arg for one in places[len(places) - len(given.defaults) :]), given.defaults, strict=True
            )
            for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
                if default is not None:
                    yield one.arg, default
        elif isinstance(node, ast.ClassDef | ast.Module):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value is not None:
                    yield line.target.id, line.value
                elif isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                    yield line.targets[0].id, line.value


def value_of(expression: ast.expr) -> Any:
    """What a literal or a computation of literals comes to; None for anything else."""
    literal = (ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
    if not all(isinstance(node, literal) for node in ast.walk(expression)):
        return None
    return eval(compile(ast.Expression(expression), "", "eval"))


def test_no_default_of_the_configuration_stands_a_second_time() -> None:
    known = {(key, value) for key, value in defaults(Config()) if value not in PLAIN}
    twice = []
    for path in FILES:
        place = path.relative_to(PACKAGE).as_posix()
        for name, expression in assigned(ast.parse(path.read_text(encoding="utf-8"))):
            key = name.strip("_").lower()
            if (key, value_of(expression)) in known and (place, key) not in OTHERS:
                twice.append(f"{place}: {name} = {ast.unparse(expression)}")
    assert not twice, "these stand in config/ too: take them from there"


def test_what_is_usable_without_a_configuration_has_its_defaults() -> None:
    own = inspect.signature(SurpriseGate).parameters
    for key in ("lam", "window", "warmup"):
        assert own[key].default == getattr(Config().gate, key)
