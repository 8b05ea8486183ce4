"""Mutants of a module: its syntax tree with one small change that a test should notice.

The kinds of change: a comparison, a boolean operator or a negation, a condition, an arithmetic operator, a number or a
truth value, a statement removed, a return value. Annotations, docstrings, decorators, f-strings, assertions (among
them `strict=` of `zip`) and blocks for type checkers are left as they are: a test could not notice, or should not.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_PLAIN_CONDITIONS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)  # other conditions have mutants of their own
_REMOVABLE = (ast.Raise, ast.Continue, ast.Break, ast.AugAssign)


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    path: str  # of the module, from the root of the checkout
    function: str  # qualified name of the innermost function around the change; "" for the module or a class
    line: int
    kind: str
    change: str  # "before → after", as source text
    number: int  # among the mutants of the module
    key: str  # "path function kind change place", where place counts equal changes in one function

    def rank(self, seed: int) -> str:
        """Mutants with the smallest ranks are the sample of `seed`: a change elsewhere leaves the sample as it is."""
        return hashlib.sha256(f"{seed} {self.key}".encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.kind}: {self.change}"


def mutants_of(root: Path, path: str) -> list[Mutant]:
    """All mutants of the module at `path` under `root`."""
    tree = ast.parse((root / path).read_text(encoding="utf-8"))
    mutants: list[Mutant] = []
    places: dict[str, int] = {}
    for number, change in enumerate(_changes(tree)):
        start = f"{path} {change.function} {change.kind} {change}"
        places[start] = places.get(start, -1) + 1
        key = f"{start} {places[start]}"
        mutants.append(Mutant(path, change.function, change.old.lineno, change.kind, str(change), number, key))
    return mutants


def mutated(root: Path, mutant: Mutant) -> ast.Module:
    """The syntax tree of the mutant's module with its change made."""
    tree = ast.parse((root / mutant.path).read_text(encoding="utf-8"))
    change = list(_changes(tree))[mutant.number]
    if change.index is None:
        setattr(change.parent, change.field, change.new)
    else:
        getattr(change.parent, change.field)[change.index] = change.new
    return ast.fix_missing_locations(tree)


@dataclass(frozen=True)
class _Change:
    """`parent.field`, or its item `index`, is `old`; the mutant has `new` there."""

    parent: ast.AST
    field: str
    index: int | None
    old: ast.expr | ast.stmt
    new: ast.AST
    kind: str
    function: str

    def __str__(self) -> str:
        before, after = (" ".join(ast.unparse(node).split()) for node in (self.old, self.new))
        return f"{before} → {after}"


def _changes(tree: ast.Module) -> list[_Change]:
    return list(_below(tree, scope="", function=""))


def _below(parent: ast.AST, scope: str, function: str) -> Iterator[_Change]:
    """Changes of everything under `parent`. `scope` is the prefix of qualified names there."""
    for field, value in ast.iter_fields(parent):
        if field in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        items = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for index, node in items:
            if not isinstance(node, ast.AST) or _is_untestable(node):
                continue
            if isinstance(node, ast.expr | ast.stmt):
                for new, kind in _replacements(node, parent, field):
                    yield _Change(parent, field, index, node, ast.copy_location(new, node), kind, function)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{scope}{node.name}"
                yield from _below(node, f"{name}.<locals>.", name)
            elif isinstance(node, ast.ClassDef):
                yield from _below(node, f"{scope}{node.name}.", "")
            else:
                yield from _below(node, scope, function)


def _is_untestable(node: ast.AST) -> bool:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    assertion = isinstance(node, ast.Assert) or (isinstance(node, ast.keyword) and node.arg == "strict")
    return docstring or for_types or assertion or isinstance(node, ast.JoinedStr)


def _replacements(node: ast.expr | ast.stmt, parent: ast.AST, field: str) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if type(operator) in _OPPOSITE:
                new = copy.deepcopy(node)
                new.ops[place] = _opposite(operator)  # type: ignore[assignment]
                yield new, "comparison"
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(_opposite(node.op), node.values), "boolean"  # type: ignore[arg-type]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand, "boolean"
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPPOSITE:
        yield ast.BinOp(node.left, _opposite(node.op), node.right), "arithmetic"  # type: ignore[arg-type]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value), "constant"
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1), "constant"
        if node.value:
            yield ast.Constant(0), "constant"
    elif isinstance(node, ast.Return) and not (node.value is None or _is_none(node.value)):
        yield ast.Return(ast.Constant(None)), "return"
    elif isinstance(node, _REMOVABLE) or _is_effect(node):
        yield ast.Pass(), "removed"
    if field in {"test", "ifs"} and isinstance(node, _PLAIN_CONDITIONS) and not isinstance(parent, ast.While):
        yield ast.UnaryOp(ast.Not(), node), "condition"  # type: ignore[arg-type]


def _opposite(operator: ast.AST) -> ast.AST:
    return _OPPOSITE[type(operator)]()


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_effect(node: ast.AST) -> bool:
    """Whether a statement is a call for its effect, or sets an attribute or an item."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    return isinstance(node, ast.Assign) and all(isinstance(to, ast.Attribute | ast.Subscript) for to in node.targets)
