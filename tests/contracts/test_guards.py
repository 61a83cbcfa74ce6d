"""No test passes because a loop had nothing to go through: each asserts something whatever the data.

A test whose every assertion stands inside a loop or an ``if`` passes when the loop is empty or the condition
false; ``assert all(...)`` and ``assert not any(...)`` are such loops, too. It needs a guard beside the loop,
such as ``assert len(found) == 3``. Loops over what the test itself writes out, and an ``if`` that asserts on
both sides, need none. Nor may a test return before its assertions: Hypothesis counts what ``assume`` refuses.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
CONTEXTS = frozenset({"raises", "warns", "deprecated_call"})  # of pytest
KEEP_LENGTH = frozenset({"enumerate", "list", "reversed", "sorted", "tuple", "zip"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_in(tree: ast.AST) -> Iterator[Function]:
    """Every function, the methods of classes among them."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def called(node: ast.AST) -> str:
    """The last part of the name that is called: ``raises`` of ``pytest.raises(...)``; empty for no call."""
    if not isinstance(node, ast.Call):
        return ""
    target = node.func
    return (
        target.attr
        if isinstance(target, ast.Attribute)
        else target.id
        if isinstance(target, ast.Name)
        else ""
    )


class Reader:
    """Whether code asserts whatever the data.

    asserting: names of functions known to do so when they are called. written: names that the file binds to
    something it writes out, not empty.
    """

    def __init__(self, asserting: frozenset[str], written: frozenset[str]) -> None:
        self.asserting, self.written = asserting, written

    def is_full(self, node: ast.expr) -> bool:
        """Whether what a loop goes through is written out and not empty."""
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return any(not isinstance(each, ast.Starred) or self.is_full(each.value) for each in node.elts)
        if isinstance(node, ast.Dict):
            return bool(node.keys)
        if isinstance(node, ast.Constant):
            return isinstance(node.value, str | bytes) and bool(node.value)
        if isinstance(node, ast.Name):
            return node.id in self.written
        if isinstance(node, ast.Call) and called(node) == "range":
            numbers = [each.value if isinstance(each, ast.Constant) else None for each in node.args]
            return None not in numbers and len(range(*numbers)) > 0  # type: ignore[arg-type]  # a range written out
        if isinstance(node, ast.Call) and called(node) in {"items", "keys", "values"}:
            return isinstance(node.func, ast.Attribute) and self.is_full(node.func.value)
        if isinstance(node, ast.Call) and called(node) in KEEP_LENGTH:
            strict = any(word.arg == "strict" and ast.unparse(word.value) == "True" for word in node.keywords)
            full = [self.is_full(each) for each in node.args]
            return any(full) if strict else bool(full) and all(full)
        return False

    def asserts(self, body: Iterable[ast.stmt]) -> bool:
        """Whether one of these statements asserts whatever the data, before a branch may end the test."""
        for node in body:
            if self.one_asserts(node):
                return True
            if isinstance(node, ast.If) and any(map(self.ends_silently, (node.body, node.orelse))):
                return False
        return False

    def ends_silently(self, branch: list[ast.stmt]) -> bool:
        """Whether a branch returns without an assertion."""
        return any(isinstance(node, ast.Return) for node in branch) and not self.asserts(branch)

    def one_asserts(self, node: ast.stmt) -> bool:
        match node:
            case ast.Assert():
                return not self.may_pass_empty(node.test)
            case ast.With() | ast.AsyncWith():
                entered = [item.context_expr for item in node.items]
                return any(called(each) in CONTEXTS or self.calls(each) for each in entered) or self.asserts(
                    node.body
                )
            case ast.For() | ast.AsyncFor():
                return self.is_full(node.iter) and self.asserts(node.body)
            case ast.While():
                return (
                    isinstance(node.test, ast.Constant) and bool(node.test.value) and self.asserts(node.body)
                )
            case ast.If():
                return self.asserts(node.body) and self.asserts(node.orelse)
            case ast.Match():
                return all(self.asserts(case.body) for case in node.cases)
            case ast.Try():
                return self.asserts((*node.body, *node.orelse, *node.finalbody))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return False
            case _:
                return self.calls(node)

    def may_pass_empty(self, test: ast.expr) -> bool:
        """Whether this is true of nothing at all: ``all(...)`` or ``not any(...)`` of what may be empty."""
        if isinstance(test, ast.BoolOp):
            parts = [self.may_pass_empty(each) for each in test.values]
            return all(parts) if isinstance(test.op, ast.And) else any(parts)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return called(test.operand) == "any" and self.may_be_empty(test.operand)
        return called(test) == "all" and self.may_be_empty(test)

    def may_be_empty(self, call: ast.expr) -> bool:
        """Whether ``all`` or ``any`` of Python, not of an array, is asked of what may be empty."""
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            return False
        (asked,) = call.args
        if isinstance(asked, ast.GeneratorExp | ast.ListComp | ast.SetComp):
            return any(each.ifs or not self.is_full(each.iter) for each in asked.generators)
        return not self.is_full(asked)

    def calls(self, node: ast.AST) -> bool:
        """Whether a function that asserts is called here, outside of any comprehension."""
        if isinstance(
            node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda | ast.IfExp
        ):
            return False
        name = called(node)
        known = name in self.asserting or (name.startswith("assert_") and is_of_numpy(node)) or name == "fail"
        return known or any(self.calls(child) for child in ast.iter_child_nodes(node))


def is_of_numpy(call: ast.AST) -> bool:
    """Whether this calls ``np.testing.assert_...``."""
    return isinstance(call, ast.Call) and ast.unparse(call.func).startswith("np.testing.")


def may_assert(function: Function) -> bool:
    """Whether there is any assertion in a function."""
    return any(isinstance(node, ast.Assert) or called(node) in CONTEXTS for node in ast.walk(function))


def written_out(body: Iterable[ast.stmt], known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Names that a file or a function binds, outside loops, to something written out that is not empty."""
    found = set(known)
    for node in body:
        if isinstance(node, ast.With):
            found |= written_out(node.body, frozenset(found))
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if Reader(frozenset(), frozenset(found)).is_full(node.value):
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


@dataclass(frozen=True)
class Found:
    """A function with its file, and the names that are written out around its statements."""

    file: str
    function: Function
    written: frozenset[str]

    def asserts(self, helpers: "Helpers") -> bool:
        """Whether it asserts whatever the data, when these helpers do."""
        return Reader(helpers.at_hand(self.file), self.written).asserts(self.function.body)


@dataclass(frozen=True)
class Helpers:
    """The functions that assert whatever the data, as (file, name), among all that there are."""

    asserting: frozenset[tuple[str, str]]
    there: frozenset[tuple[str, str]]

    @cache  # noqa: B019  (one for each round of the search for helpers; all of them are short-lived)
    def at_hand(self, file: str) -> frozenset[str]:
        """Names that mean such a function in a file: its own come first; others must all be such ones."""
        hidden = {name for home, name in self.there if home == file}
        hidden |= {name for home, name in self.there - self.asserting if home != file}
        return frozenset(name for home, name in self.asserting if home == file or name not in hidden)


def helpers_among(functions: list[Found]) -> Helpers:
    """Functions that assert whatever the data, those that call such a function among them."""
    there = frozenset((one.file, one.function.name) for one in functions)
    known, doubted = Helpers(frozenset(), there), functions
    while True:
        doubted = [one for one in doubted if not one.asserts(known)]  # who asserts once does so ever after
        grown = Helpers(there - {(one.file, one.function.name) for one in doubted}, there)
        if grown == known:
            return known
        known = grown


def unguarded(trees: dict[str, ast.Module]) -> list[str]:
    """Tests whose every assertion stands inside a loop or an ``if``."""
    functions = [
        Found(file, function, written_out(function.body, written_out(tree.body)))
        for file, tree in trees.items()
        for function in functions_in(tree)
    ]
    helpers = helpers_among(functions)
    return [
        f"{one.file}: {one.function.name}"
        for one in functions
        if one.function.name.startswith("test_") and may_assert(one.function) and not one.asserts(helpers)
    ]


def trees_in(folder: Path) -> dict[str, ast.Module]:
    """Every file of the tests."""
    return {
        str(path.relative_to(folder)): ast.parse(path.read_text()) for path in sorted(folder.rglob("*.py"))
    }


def test_every_test_asserts_whatever_the_data() -> None:
    trees = trees_in(TESTS)
    assert len(trees) > 50
    assert unguarded(trees) == []


GUARDED = {
    "beside the loop": "for x in found(): assert x\nassert found()",
    "before the loop": "with pytest.raises(ValueError): f()\nfor x in found(): assert x",
    "written out": "for x in (1, 2): assert x",
    "written out with others": "for x in (*found(), 2): assert x",
    "a range": "for x in range(3): assert x",
    "as long as what is written out": "for x, y in zip([1], found(), strict=True): assert x",
    "written at the top": "for x, y in enumerate(TOP.items()): assert x",
    "written in the test": "own = [*found(), 1]\nfor x in own: assert x",
    "both sides": "if found():\n    assert a\nelse:\n    assert b",
    "within a context": "with opened():\n    assert a",
    "by a helper": "helper(found())",
    "by a helper of a helper": "second(found())",
    "by a helper of another file": "elsewhere(found())",
    "by numpy": "np.testing.assert_array_equal(a, b)",
    "nothing asserted": "run()",
    "all of what is written out": "assert all(x for x in TOP)",
    "all beside a guard": "assert all(x for x in found())\nassert found()",
    "all and more": "assert all(x for x in found()) and found()",
    "any": "assert any(x for x in found())",
    "of an array": "assert found().all()",
    "a return behind an assertion": "if found():\n    assert a\n    return\nassert b",
}
UNGUARDED = {
    "a loop": "for x in found(): assert x",
    "a loop of raises": "for x in found():\n    with pytest.raises(ValueError): f(x)",
    "a while": "while found(): assert x",
    "an if": "if found(): assert x",
    "an else": "if found():\n    pass\nelse:\n    assert x",
    "an empty list": "for x in []: assert x",
    "an empty list of its own": "own = []\nfor x in own: assert x",
    "an empty range": "for x in range(0): assert x",
    "as long as the shortest": "for x, y in zip([1], found()): assert x",
    "within a function": "def inner():\n    assert x",
    "by a helper that only loops": "for x in found(): assert x\nloops(found())",
    "all": "assert all(x for x in found())",
    "all of a list": "assert all(found())",
    "all of those that": "assert all(x for x in TOP if x > 1)",
    "not any": "assert not any(x for x in found())",
    "all or more": "assert all(x for x in found()) or found()",
    "all twice": "assert all(x for x in found()) and all(found())",
    "a return before it": "if found():\n    return\nassert x",
    "an except": "try:\n    run()\nexcept ValueError:\n    assert x",
}
HELPERS = """
TOP = {"a": 1}
def helper(x): assert x
def second(x): helper(x)
def loops(xs):
    for x in xs: assert x
"""


OTHERS = "def helper(x): pass\ndef elsewhere(x): assert x"


def tree_of(body: str) -> dict[str, ast.Module]:
    code = f"{HELPERS}\ndef test_it():\n    " + body.replace("\n", "\n    ")
    return {"test_x.py": ast.parse(code), "others.py": ast.parse(OTHERS)}


def test_the_rule_tells_guarded_from_unguarded() -> None:
    assert [name for name, body in GUARDED.items() if unguarded(tree_of(body))] == []
    assert [
        name for name, body in UNGUARDED.items() if unguarded(tree_of(body)) != ["test_x.py: test_it"]
    ] == []
