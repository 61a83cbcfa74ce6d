"""Small faults put into the verifier, one at a time, to see whether its tests notice.

    python bench/mutate_verification.py --minutes 30 --seed 1 files/pages files/layout

Each mutant changes one comparison, connective, operation, number, or drops one statement. It is killed when a
test of its module fails. The tests run in a fork of one process that has loaded all libraries, so a mutant
costs its tests and little else. Prints each survivor with its line.
"""

import argparse
import ast
import importlib.machinery
import os
import random
import resource
import sys
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROOM = ROOT / "src" / "shoal" / "verification"
TESTS = {
    "files/thrift": ["test_hidden_bytes"],
    "files/pages": ["test_hidden_bytes"],
    "files/layout": ["test_hidden_bytes"],
    "files/stated": ["test_manifest"],
    "files/plane": ["test_plane"],
    "files/written": ["test_folder_once", "test_manifest", "test_verify_damages"],
    "files/folder": ["test_folder_once", "test_manifest", "test_plane", "test_verify_damages"],
    "files/precision": ["test_verify_leaks", "test_verify_damages"],
    "files/streamed": ["test_verify_streamed"],
    "leaks/digests": ["test_digests"],
    "leaks/look_alikes": ["test_look_alikes"],
    "leaks/identifiers": ["test_verify_leaks"],
    "leaks/order": ["test_verify_leaks"],
    "leaks/lint": ["test_verify_leaks", "test_manifest", "test_verify_damages"],
    "boxes/classes": ["test_verify_criterion", "test_verify_damages"],
    "boxes/records": ["test_verify_criterion", "test_verify_damages"],
    "boxes/k_anonymity": ["test_verify_criterion", "test_verify_damages"],
}
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_WORKED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}  # fmt: skip


def mutants(tree: ast.Module) -> Iterator[tuple[int, str, ast.Module]]:
    """(line, what was changed, the changed module) for every fault that can be put in."""
    for place, node in enumerate(ast.walk(tree)):
        for what, change in _changes(node):
            copy = deepcopy(tree)
            twin = next(each for number, each in enumerate(ast.walk(copy)) if number == place)
            change(twin)
            yield getattr(node, "lineno", 0), what, ast.fix_missing_locations(copy)


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        other = _COMPARED[type(node.ops[0])]
        yield (
            f"{type(node.ops[0]).__name__} -> {other.__name__}",
            lambda twin: twin.ops.__setitem__(0, other()),
        )
    if isinstance(node, ast.BoolOp):
        yield (
            "and <-> or",
            lambda twin: setattr(twin, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And()),
        )
    if isinstance(node, ast.BinOp) and type(node.op) in _WORKED and not _is_text(node):
        worked = _WORKED[type(node.op)]
        yield f"{type(node.op).__name__} -> {worked.__name__}", lambda twin: setattr(twin, "op", worked())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign left out", lambda twin: setattr(twin, "op", ast.UAdd())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not left out", _twice_negated
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        value = (not node.value) if isinstance(node.value, bool) else node.value + 1
        yield f"{node.value!r} -> {value!r}", lambda twin: setattr(twin, "value", value)
    for name in ("body", "orelse"):
        statements = getattr(node, name, None)
        if isinstance(statements, list):
            for number, statement in enumerate(statements):
                if isinstance(statement, (ast.Raise, ast.AugAssign)) or (
                    isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant)
                ):
                    yield (
                        f"line {statement.lineno} dropped",
                        lambda twin, name=name, number=number: getattr(twin, name).__setitem__(
                            number, ast.Pass()
                        ),
                    )


def _twice_negated(twin: ast.UnaryOp) -> None:
    """`not x` as `not not x`: the opposite of what stood there."""
    twin.operand = ast.UnaryOp(op=ast.Not(), operand=twin.operand)


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(isinstance(side, (ast.JoinedStr, ast.List, ast.Tuple)) for side in sides) or any(
        isinstance(side, ast.Constant) and isinstance(side.value, (str, bytes)) for side in sides
    )


def survives(path: Path, tree: ast.Module, tests: list[str]) -> bool:
    """Whether all tests pass with this module in place of the one in the file."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    loaded = importlib.machinery.SourceFileLoader.get_code

    def changed(self: Any, name: str) -> Any:
        return compile(tree, self.path, "exec") if Path(self.path) == path else loaded(self, name)

    setattr(importlib.machinery.SourceFileLoader, "get_code", changed)  # noqa: B010  (of the library)
    import pytest

    files = [str(ROOT / "tests" / "verification" / f"{name}.py") for name in tests]
    os._exit(int(pytest.main(["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--assert", "plain", *files])))


def main() -> int:
    """Try mutants until the time is over."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("modules", nargs="*", default=list(TESTS))
    words.add_argument("--minutes", type=float, default=30.0)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--most", type=int, default=10**6, help="mutants of each module, drawn by the seed")
    asked = words.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))  # the modules that are changed, not those of an installation
    for name in (
        "numba",
        "numpy",
        "pandas",
        "pyarrow.parquet",
        "pydantic",
        "pyproj",
        "pytest",
        "plotly",
    ):
        importlib.import_module(name)
    for name in ("shoal.model.trajectories", "shoal.methods.glove.glove"):
        importlib.import_module(name)
    assert not any(name.startswith("shoal.verification") for name in sys.modules)
    ends = time.monotonic() + 60 * asked.minutes
    for module in asked.modules:
        path = ROOM / f"{module}.py"
        tree = ast.parse(path.read_text())
        if not survives(path, tree, TESTS[module]):
            print(f"{module}: its tests fail without any fault", flush=True)
            continue
        every = list(mutants(tree))
        drawn = random.Random(asked.seed).sample(every, min(asked.most, len(every)))
        done, left = 0, []
        for line, what, changed in drawn:
            if time.monotonic() > ends:
                break
            done += 1
            if survives(path, changed, TESTS[module]):
                left.append((line, what))
                print(f"  survives: {module} line {line}: {what}", flush=True)
        share = 1 - len(left) / done if done else float("nan")
        print(
            f"{module}: {len(every)} mutants, {done} tried, {done - len(left)} killed ({share:.1%})",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
