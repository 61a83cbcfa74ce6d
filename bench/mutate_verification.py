"""Small faults put into the verifier, one at a time, to see whether its tests notice.

    python bench/mutate_verification.py --draw 300 --seed 1 --minutes 60 --results /tmp/mutants.jsonl

Each fault changes one comparison, connective, operation or number, or drops one statement. They are drawn
over all files of the verifier in proportion to how many each has, and each is held against the tests that run
its line: which those are is found by running all tests once with a trace, and kept for each file of them.
Lines of kernels are seen where these run as Python; a file of tests that takes too long so is traced with its
kernels compiled, and faults in kernels are not held against it. A fault is killed when one of the tests fails
or takes far longer than it did. What was tried stands in the file of results, and is not tried again while
its module stays as it is. Prints each survivor with its line, and the share that was killed with its
interval.

Tests run in a fork of one process that has loaded all libraries, so a fault costs its tests and little else.
It needs ``pip install coverage``, which else every process would load with numba: a tenth of a second.
"""

import argparse
import ast
import hashlib
import importlib
import importlib.machinery
import json
import os
import random
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import accumulate, groupby
from math import sqrt
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROOM = ROOT / "src" / "shoal" / "verification"
_LIBRARIES = (
    "numba", "numpy", "pandas", "pyarrow.parquet", "pydantic", "pyproj", "pytest",
    "shoal.model.trajectories", "shoal.methods", "shoal.synthetic", "shoal.io",
)  # fmt: skip
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_WORKED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}  # fmt: skip
# a switch of these shows only where other code is wrong: they change no result
_DECLARATIONS = frozenset({"frozen", "eq", "repr", "kw_only", "strict", "usedforsecurity"})
_OPEN = "survives its quick tests"
_KEY = ("module", "digest", "node", "change")
_SECONDS_BESIDE_TESTS = 20.0
_TIMES_LONGER = 4.0
_SECONDS_AS_PYTHON = 30

Module = str  # its path inside the room, without the ending
Lines = dict[Module, list[int]]


@dataclass(frozen=True)
class Fault:
    """One change. node: its number in the order of ast.walk; change: which one of that node's."""

    module: Module
    node: int
    change: int
    line: int
    what: str


@dataclass(frozen=True)
class Test:
    """A test, how long it took under the trace, the lines that it ran, and whether kernels ran as Python."""

    name: str
    seconds: float
    lines: Lines
    as_python: bool


# --- faults -------------------------------------------------------------------------------------------------


def faults(module: Module, tree: ast.Module) -> list[Fault]:
    """Every fault that can be put into a module."""
    passed_over = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg in _DECLARATIONS
        for inner in ast.walk(node)
    }
    return [
        Fault(module, number, change, line, what)
        for number, node in enumerate(ast.walk(tree))
        if id(node) not in passed_over
        for change, (what, line, _) in enumerate(_changes(node))
    ]


def with_fault(tree: ast.Module, fault: Fault) -> ast.Module:
    """The module with a fault put in."""
    copy = deepcopy(tree)
    twin = next(node for number, node in enumerate(ast.walk(copy)) if number == fault.node)
    *_, change = list(_changes(twin))[fault.change]
    change(twin)
    return ast.fix_missing_locations(copy)


def _changes(node: ast.AST) -> Iterator[tuple[str, int, Callable[[Any], None]]]:
    line = getattr(node, "lineno", 0)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        other = _COMPARED[type(node.ops[0])]
        yield (
            f"{type(node.ops[0]).__name__} -> {other.__name__}",
            line,
            lambda twin: twin.ops.__setitem__(0, other()),
        )
    if isinstance(node, ast.BoolOp):
        yield (
            "and <-> or",
            line,
            lambda twin: setattr(twin, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And()),
        )
    if isinstance(node, ast.BinOp) and type(node.op) in _WORKED and not _is_text(node):
        worked = _WORKED[type(node.op)]
        yield (
            f"{type(node.op).__name__} -> {worked.__name__}",
            line,
            lambda twin: setattr(twin, "op", worked()),
        )
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign left out", line, lambda twin: setattr(twin, "op", ast.UAdd())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not left out", line, _twice_negated
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        value = (not node.value) if isinstance(node.value, bool) else node.value + 1
        yield f"{node.value!r} -> {value!r}", line, lambda twin: setattr(twin, "value", value)
    for name in ("body", "orelse"):
        statements = getattr(node, name, None)
        for number, statement in enumerate(statements if isinstance(statements, list) else ()):
            if isinstance(statement, (ast.Raise, ast.AugAssign)) or (
                isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant)
            ):
                yield "dropped", statement.lineno, _without(name, number)


def _without(part: str, number: int) -> Callable[[Any], None]:
    """Puts ``pass`` in the place of one statement of a body."""

    def change(twin: Any) -> None:
        getattr(twin, part)[number] = ast.Pass()

    return change


def _twice_negated(twin: ast.UnaryOp) -> None:
    """`not x` as `not not x`: the opposite of what stood there."""
    twin.operand = ast.UnaryOp(op=ast.Not(), operand=twin.operand)


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(isinstance(side, (ast.JoinedStr, ast.List, ast.Tuple)) for side in sides) or any(
        isinstance(side, ast.Constant) and isinstance(side.value, (str, bytes)) for side in sides
    )


def drawn(every: dict[Module, list[Fault]], n: int, seed: int) -> list[Fault]:
    """n faults in proportion to how many each module has (largest remainders), in random order."""
    total = sum(map(len, every.values()))
    shares = {module: n * len(own) / total for module, own in every.items()}
    counts = {module: int(share) for module, share in shares.items()}
    by_rest = sorted(every, key=lambda module: counts[module] - shares[module])
    for module in by_rest[: n - sum(counts.values())]:
        counts[module] += 1
    found = [
        fault
        for module, own in every.items()
        for fault in random.Random(f"{seed} {module}").sample(own, counts[module])
    ]
    random.Random(seed).shuffle(found)
    return found


# --- tests --------------------------------------------------------------------------------------------------


def tests_with_their_lines(paths: Sequence[str], to: Path, *, as_python: bool) -> None:
    """Run all tests once under a trace; write what each took and ran, kernels included if Python, as JSON."""
    import coverage
    import pytest

    found: list[dict[str, Any]] = []
    trace = coverage.Coverage(data_file=None, include=[f"{ROOM}/*"], config_file=False)
    trace.set_option("run:disable_warnings", ["no-data-collected"])  # a test may run no line of the verifier

    class Watch:
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
            trace.erase()
            started = time.process_time()
            trace.start()
            yield
            trace.stop()
            ran = trace.get_data()
            lines = {
                Path(name).relative_to(ROOM).with_suffix("").as_posix(): sorted(ran.lines(name) or ())
                for name in ran.measured_files()
            }
            seconds = time.process_time() - started
            found.append({"name": item.nodeid, "seconds": seconds, "lines": lines, "as_python": as_python})

    if as_python:
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS_AS_PYTHON, _SECONDS_AS_PYTHON + 5))
        _plain_kernels()
    words = ["-q", "-n", "0", "-p", "no:cacheprovider", "--assert", "plain", *paths]
    code = pytest.main(words, plugins=[Watch()])
    if not code:
        to.write_text(json.dumps(found))
    os._exit(int(code))


def tests_of(fault: Fault, tree: ast.Module, tests: Sequence[Test]) -> list[Test]:
    """The tests that run a fault's statement, those of the quickest file first.

    What runs when a module is loaded is run by every test of the module.
    """
    lines, inside = _statement(tree, fault.line)
    of_module = [
        test
        for test in tests
        if fault.module in test.lines and (test.as_python or not in_kernel(tree, fault.line))
    ]
    if inside:
        chosen = [test for test in of_module if not lines.isdisjoint(test.lines[fault.module])]
    else:
        chosen = of_module or [test for test in tests if _names(test, fault.module)]
    by_file: dict[str, list[Test]] = defaultdict(list)
    for test in chosen:
        by_file[test.name.partition("::")[0]].append(test)
    files = sorted(by_file.values(), key=lambda own: min(test.seconds for test in own))
    return [test for own in files for test in sorted(own, key=lambda test: test.seconds)]


def _names(test: Test, module: Module) -> bool:
    """Whether the file of a test takes something from a module, which may be a table that runs no line."""
    dotted = f"shoal.verification.{module.replace('/', '.')} import "
    return dotted in (ROOT / test.name.partition("::")[0]).read_text()


def in_kernel(tree: ast.Module, line: int) -> bool:
    """Whether a line is in a kernel."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    kernels = [
        one for one in functions if any("compiled" in ast.unparse(each) for each in one.decorator_list)
    ]
    around = [one for one in functions if one.lineno <= line <= (one.end_lineno or one.lineno)]
    return any(one in kernels for one in around)


def _statement(tree: ast.Module, line: int) -> tuple[set[int], bool]:
    """(the lines of the innermost statement at a line, without those of its body; whether in a function)."""
    best, inside = set(range(line, line + 1)), False
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if isinstance(body, list) else node.end_lineno or node.lineno
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and line > end:
                inside = True
            if line <= max(end, node.lineno):
                best = set(range(node.lineno, max(end, node.lineno) + 1))
    return best, inside


def _plain_kernels() -> None:
    """Let the verifier's own kernels run as Python, so that a fault in them needs no compiler."""
    import shoal.runtime.compiled as room

    for name in ("compiled", "compiled_for_many"):
        setattr(room, name, _unless_of_verifier(getattr(room, name)))


def _unless_of_verifier(compile_kernel: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def perhaps(function: Any) -> Any:
        own = function.__module__.startswith("shoal.verification")
        return function if own else compile_kernel(function)

    return perhaps


def survives(path: Path, tree: ast.Module, tests: Sequence[Test], *, as_python: bool) -> bool:
    """Whether all tests pass with this module in place of the one in the file."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    longest = _SECONDS_BESIDE_TESTS + _TIMES_LONGER * sum(test.seconds for test in tests)
    resource.setrlimit(resource.RLIMIT_CPU, (int(longest), int(longest) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    signal.alarm(int(10 * longest))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    loaded = importlib.machinery.SourceFileLoader.get_code

    def changed(self: Any, name: str) -> Any:
        return compile(tree, self.path, "exec") if Path(self.path) == path else loaded(self, name)

    setattr(importlib.machinery.SourceFileLoader, "get_code", changed)  # noqa: B010  (of the library)
    if as_python:
        _plain_kernels()
    import pytest

    words = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--assert", "plain"]
    for _, own in groupby([test.name for test in tests], key=lambda name: name.partition("::")[0]):
        if code := pytest.main([*words, *own]):
            os._exit(int(code))
    os._exit(0)


# --- the run ------------------------------------------------------------------------------------------------


def interval(killed: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson)."""
    z = 1.96
    middle = (killed + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(killed * (1 - killed) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def main() -> int:
    """Try what was drawn until the time is over."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("modules", nargs="*", help="such as files/pages; all without")
    words.add_argument("--draw", type=int, default=300, help="faults over all modules")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--minutes", type=float, default=30.0)
    words.add_argument("--quick", type=float, help="seconds of tests a fault, by the trace; all without")
    words.add_argument("--results", type=Path, default=Path("mutants.jsonl"))
    words.add_argument("--tests", nargs="*", default=["tests/verification"])
    asked = words.parse_args()
    os.chdir(ROOT)
    results = asked.results.resolve()
    sys.path.insert(0, str(ROOT / "src"))  # the modules that are changed, not those of an installation
    for name in _LIBRARIES:
        importlib.import_module(name)
    assert not any(name.startswith("shoal.verification") for name in sys.modules)
    ends = time.monotonic() + 60 * asked.minutes
    tests = _mapped(asked.tests, results.with_suffix(".tests"))
    paths = {path.relative_to(ROOM).with_suffix("").as_posix(): path for path in sorted(ROOM.rglob("*.py"))}
    trees = {module: ast.parse(path.read_text()) for module, path in paths.items()}
    every = {module: found for module in paths if (found := faults(module, trees[module]))}
    n_faults = sum(map(len, every.values()))
    digests = {module: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for module, path in paths.items()}
    done = {key: told for key, told in _earlier(results).items() if asked.quick or told != _OPEN}
    tried: list[tuple[Fault, str]] = []
    for fault in drawn(every, min(asked.draw, n_faults), asked.seed):
        if asked.modules and fault.module not in asked.modules:
            continue
        key = fault.module, digests[fault.module], fault.node, fault.change
        if key not in done and time.monotonic() < ends:
            tree = trees[fault.module]
            chosen = tests_of(fault, tree, tests)
            done[key] = outcome_of(paths[fault.module], tree, fault, chosen, asked.quick)
            about = {"line": fault.line, "what": fault.what, "outcome": done[key], "tests": len(chosen)}
            with results.open("a") as file:
                file.write(json.dumps(dict(zip(_KEY, key, strict=True)) | about) + "\n")
            if done[key] != "killed":
                print(f"  {done[key]}: {fault.module} line {fault.line}: {fault.what}", flush=True)
        if key in done:
            tried.append((fault, done[key]))
    _report(tried, n_faults)
    return 0


def outcome_of(
    path: Path, tree: ast.Module, fault: Fault, tests: Sequence[Test], quick_s: float | None
) -> str:
    """What became of a fault: killed, survives, or that no test runs it.

    quick_s: seconds of its quickest tests; who survives these is tried with all of them by a run without.
    """
    if not tests:
        return "no test runs it"
    as_python = in_kernel(tree, fault.line)
    taken = accumulate(test.seconds for test in tests)
    quick = [test for test, s in zip(tests, taken, strict=True) if quick_s is None or s <= quick_s]
    if len(quick) < len(tests):
        lives = not quick or survives(path, with_fault(tree, fault), quick, as_python=as_python)
        return _OPEN if lives else "killed"
    return "survives" if survives(path, with_fault(tree, fault), tests, as_python=as_python) else "killed"


def _mapped(paths: Sequence[str], kept: Path) -> list[Test]:
    """All tests with their lines; of each file from an earlier run on this verifier, if there was one."""
    kept.mkdir(exist_ok=True)
    verifier = b"".join(path.read_bytes() for path in sorted(ROOM.rglob("*.py")))
    found: list[Test] = []
    for path in paths:
        there = Path(path)
        for file in [there] if there.is_file() else sorted(there.rglob("test_*.py")):
            to = kept / f"{file.stem}-{hashlib.sha256(file.read_bytes() + verifier).hexdigest()[:16]}.json"
            if not (to.exists() or _traced(file, to, as_python=True) or _traced(file, to, as_python=False)):
                raise SystemExit(f"{file} fails without any fault")
            found += [Test(**each) for each in json.loads(to.read_text())]
    return found


def _traced(file: Path, to: Path, *, as_python: bool) -> bool:
    """Whether a file of tests passed under the trace, in the time that it has where kernels are Python."""
    child = os.fork()
    if not child:
        tests_with_their_lines([str(file)], to, as_python=as_python)
    return os.waitpid(child, 0)[1] == 0


def _earlier(results: Path) -> dict[tuple[Any, ...], str]:
    """What became of faults in earlier runs."""
    told = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return {tuple(each[name] for name in _KEY): each["outcome"] for each in told}


def _report(tried: Sequence[tuple[Fault, str]], n_faults: int) -> None:
    by_module: dict[Module, list[str]] = defaultdict(list)
    for fault, outcome in tried:
        by_module[fault.module].append(outcome)
    for module, outcomes in sorted(by_module.items()):
        print(f"{module:28} {len(outcomes):4} tried, {outcomes.count('killed'):4} killed")
    n, killed = len(tried), sum(outcome == "killed" for _, outcome in tried)
    if n:
        low, high = interval(killed / n, n)
        print(
            f"{n} of {n_faults:,} faults tried, {killed} killed: {killed / n:.1%} (95 % interval "
            f"{low:.1%} to {high:.1%})"
        )


if __name__ == "__main__":
    sys.exit(main())
