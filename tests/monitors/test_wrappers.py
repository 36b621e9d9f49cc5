"""What stands around functions of the program does nothing beside them that could end the run.

A wrapper calls the program's function by the name `original`. Everything else in it that may raise (a call, an
attribute or an item of an object of the program's, a comparison with one, a loop over one) is to be behind a shield: in
a function that is shielded, or in a `try` that keeps every Exception. Read from the syntax, so that it holds for
wrappers that are not yet written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pytest

from tests.each import for_each

MONITORS = Path(__file__).resolve().parents[2] / "monitors"
FOLDERS = ("guard", "inject", "rehearse", "witness", "capsule")

_OF_CLASSES = ("__init__", "__enter__", "__exit__")
Defined = tuple[str, "ast.FunctionDef | ast.AsyncFunctionDef"]
Function = (ast.FunctionDef, ast.AsyncFunctionDef)

#: decorators that let no exception out
SHIELDS = frozenset({"shielded", "shielded_event"})

PLAIN = frozenset({"str", "int", "float", "bool", "Path"})

#: what raises nothing, whatever it is given
HARMLESS = frozenset({"isinstance", "id", "type", "callable", "iter", "next"})
#: of our own containers, and of `args` and `kwargs`
OF_CONTAINERS = frozenset({"get", "pop", "clear", "append", "add", "remove", "items", "values", "copy"})
#: of the standard library, given nothing of the program's
OF_THE_LIBRARY = frozenset(
    {
        "time.monotonic",
        "time.time_ns",
        "time.perf_counter",
        "threading.get_ident",
        "os.getpid",
        "functools.wraps",
        "traceback.format_exc",
        "sys.exc_info",
    }
)

#: calls that are made outside of shields, and why they may be
ALLOWED_CALLS = {
    "journal.phase": "what it writes keeps all that fails; it must not keep what the program raises inside",
    "tried.timed": "likewise",
    "wanted": "a function of ours, which compares a flag",
}
#: (file, function): why what stands in it need not be shielded
ALLOWED = {
    (
        "guard/canary.py",
        "load_weights",
    ): "a list or a tuple is copied; what is none is passed on one by one, as it comes",
    ("guard/norms.py", "total"): "a compiler traces it: torch's own question and two attributes of torch, nothing else",
    ("guard/phase_marks.py", "scored"): "torch's own question for its mode",
    ("guard/trainer_hooks.py", "compute_loss"): "a copy of what is exactly a dict",
    ("rehearse/data.py", "select"): "the program's own indices, which it hands over to be gone through",
    ("rehearse/outside.py", "save"): "raises what refuses to overwrite a file of the user's",
    (
        "rehearse/server.py",
        "init",
    ): "binds the program's arguments to its function, as the call would; ends the rehearsal",
    ("rehearse/trainers.py", "train"): "ends the rehearsal",
    ("rehearse/verl.py", "rehearsed"): "raises what veRL says of its configuration, and ends the rehearsal",
    ("witness/openrlhf.py", "save_logs_and_checkpoints"): "the guard's policy ends the run there",
    ("witness/received.py", "load_weights"): "what is no list is passed on one by one, as it comes",
    ("capsule/hooks.py", "excepthook"): "fields of a structure of Python's",
}


@dataclass(frozen=True)
class Wrapper:
    """A function of ours that calls one of the program's."""

    file: str
    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    ours: frozenset[str] = field(
        default_factory=frozenset
    )  # names of what is our own: closures and locals made of literals


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a function itself, and not in functions inside it."""
    for each in ast.iter_child_nodes(node):
        yield each
        if not isinstance(each, (*Function, ast.Lambda)):
            yield from own_nodes(each)


def calls_original(node: ast.AST) -> bool:
    return any(map(is_original, own_nodes(node)))


def is_original(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "original"


@lru_cache(maxsize=1)
def trees() -> dict[str, ast.Module]:
    return {
        each.relative_to(MONITORS).as_posix(): ast.parse(each.read_text("utf-8"))
        for folder in FOLDERS
        for each in sorted((MONITORS / folder).rglob("*.py"))
    }


@lru_cache(maxsize=1)
def functions() -> dict[str, list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]]:
    """All functions and methods by name, with their file."""
    found: dict[str, list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]] = {}
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                found.setdefault(node.name, []).append((file, node))
            elif isinstance(node, ast.ClassDef):  # to make one, or to enter and leave it
                made = [each for each in node.body if isinstance(each, Function) and each.name in _OF_CLASSES]
                found.setdefault(node.name, []).extend((file, each) for each in made)
    return found


def wrappers() -> Iterator[Wrapper]:
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, Function) and calls_original(node) and not is_shielded(node):
                yield Wrapper(file, node.name, node)


def is_shielded(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {ast.unparse(each).rsplit(".", 1)[-1] for each in node.decorator_list}
    return bool(names & SHIELDS)


def keeps_all(node: ast.Try) -> bool:
    """Whether every Exception of its body stays in it."""
    for each in node.handlers:
        kinds = (
            {"BaseException"} if each.type is None else {n.id for n in ast.walk(each.type) if isinstance(n, ast.Name)}
        )
        if kinds & {"Exception", "BaseException"}:
            return not any(isinstance(n, ast.Raise) for n in ast.walk(each))
    return False


def suppresses_all(node: ast.With) -> bool:
    return any(ast.unparse(each.context_expr) == "suppress(Exception)" for each in node.items)


class Doubts(ast.NodeVisitor):
    """What in a function may raise something that is not the program's own."""

    def __init__(self, file: str, node: ast.FunctionDef | ast.AsyncFunctionDef, deep: int = 0) -> None:
        self.file, self.found, self.deep = file, list[str](), deep
        arguments = node.args
        self.varied = {each.arg for each in (arguments.vararg, arguments.kwarg) if each}
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        plain = {each.arg for each in named if each.annotation and ast.unparse(each.annotation) in PLAIN}
        self.theirs = {each.arg for each in named} - plain - ({"self"} if deep else set())
        self.results = set[str]()
        for statement in node.body:
            self.visit(statement)

    def doubt(self, node: ast.AST) -> None:
        self.found.append(f"{self.file}:{getattr(node, 'lineno', 0)}: {ast.unparse(node)[:110]}")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Called by nobody here."""

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Likewise."""

    def visit_Try(self, node: ast.Try) -> None:
        if not keeps_all(node):
            for each in node.body:
                self.visit(each)
        for part in (*(s for h in node.handlers for s in h.body), *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_With(self, node: ast.With) -> None:
        if suppresses_all(node):
            return
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if self.is_theirs(node.value):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.results.add(target.id)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if not is_original(node) and not self.is_safe(node):
            self.doubt(node)
        for each in (*node.args, *(k.value for k in node.keywords)):
            self.visit(each)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self.is_theirs(node.value):
            self.doubt(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if self.is_theirs(node.value):
            self.doubt(node)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        plain = all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
        if not plain and any(self.is_theirs(each) for each in (node.left, *node.comparators)):
            self.doubt(node)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        if self.is_theirs(node.iter):
            self.doubt(node.iter)
        self.generic_visit(node)

    def is_theirs(self, node: ast.AST) -> bool:
        """Whether an expression is an object of the program's."""
        if isinstance(node, ast.Await):
            return self.is_theirs(node.value)
        if isinstance(node, ast.Name):
            return node.id in self.theirs or node.id in self.results
        if isinstance(node, (ast.Tuple, ast.List)):
            return any(map(self.is_theirs, node.elts))
        if isinstance(node, (ast.Subscript, ast.Starred)):
            return (isinstance(node.value, ast.Name) and node.value.id in self.varied) or self.is_theirs(node.value)
        if isinstance(node, ast.Call):
            of_keywords = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in self.varied
            return is_original(node) or of_keywords
        if isinstance(node, ast.Attribute):  # `self.engine.global_steps` of ours that hold one of theirs
            return self.is_theirs(node.value) or node.attr in {"engine", "trainer", "model", "optimizer"}
        return False

    def is_safe(self, node: ast.Call) -> bool:
        text = ast.unparse(node.func)
        if text in HARMLESS or text in OF_THE_LIBRARY:
            return True
        if not node.args and text in {"set", "dict", "list"}:
            return True
        if text in {"len", "list", "dict", "bool", "str", "all", "any", "getattr", "hasattr", "setattr"}:
            return not any(self.is_theirs(each) for each in node.args)
        if isinstance(node.func, ast.Attribute) and node.func.attr in OF_CONTAINERS:
            return not self.is_theirs(node.func.value)
        named = self.named(node.func)
        if text in ALLOWED_CALLS or any(calls_original(each) for _, each in named):
            return True  # the latter is a wrapper itself
        return bool(named) and all(lets_nothing_out(file, each, self.deep) for file, each in named)

    def named(self, called: ast.expr) -> list[Defined]:
        """What a call may come to: of this file, of the module that it names, or all that have the name."""
        if isinstance(called, ast.Name):
            found = functions().get(called.id, [])
            return [each for each in found if each[0] == self.file] or found
        if not isinstance(called, ast.Attribute):
            return []
        found, before = functions().get(called.attr, []), ast.unparse(called.value)
        here = [each for each in found if before == "self" and each[0] == self.file]
        stem = before.rpartition(".")[2].strip("_")
        return here or [each for each in found if Path(each[0]).stem == stem] or found


_SEEN: dict[int, bool] = {}


def lets_nothing_out(file: str, node: ast.FunctionDef | ast.AsyncFunctionDef, deep: int = 0) -> bool:
    """Whether a function of ours is shielded, or has nothing in it that may raise."""
    if is_shielded(node) or deep > 6:
        return is_shielded(node)
    if id(node) not in _SEEN:
        _SEEN[id(node)] = False  # of what calls itself
        _SEEN[id(node)] = not Doubts(file, node, deep + 1).found
    return _SEEN[id(node)]


@for_each(
    "wrapper", [(f"{each.file}:{each.name}", each) for each in wrappers()], group=lambda case: case.partition("/")[0]
)
def test_a_wrapper_does_nothing_unshielded(wrapper: Wrapper) -> None:
    doubts = Doubts(wrapper.file, wrapper.node).found
    assert not doubts or (wrapper.file, wrapper.name) in ALLOWED


PLANTED = {
    "an attribute of the program's": ("size = args[0].size", 1),
    "its length": ("size = len(args[0])", 1),
    "an item of it": ("first = batch[0]", 1),
    "a loop over it": ("for each in batch: pass", 1),
    "the answer compared": ("made = original(batch)\nif made == 3: pass", 1),
    "a keyword compared": ("kwargs.get('x') in (1, 2)", 1),
    "what nobody knows": ("unknown(batch)", 1),
    "a try that keeps too little": ("try: unknown(batch)\nexcept ValueError: pass", 1),
    "a try that raises again": ("try: unknown(batch)\nexcept Exception: raise", 1),
    "behind a try": ("try: unknown(batch)\nexcept Exception: pass", 0),
    "what is asked of a name alone": ("if batch is None: pass", 0),
    "the count of arguments": ("n = len(args)", 0),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_may_raise_is_seen(name: str) -> None:
    text, expected = PLANTED[name]
    body = "\n".join(f"    {line}" for line in (*text.splitlines(), "return original(batch, *args, **kwargs)"))
    (node,) = ast.parse(f"def wrapper(batch, *args, **kwargs):\n{body}").body
    assert isinstance(node, ast.FunctionDef)
    assert calls_original(node)
    assert len(Doubts("planted.py", node).found) == expected


def test_every_wrapper_that_needs_no_shield_is_there() -> None:
    assert {(each.file, each.name) for each in wrappers()} >= set(ALLOWED)
    assert len(list(wrappers())) > 70


def test_events_of_callbacks_are_shielded() -> None:
    """A trainer calls these itself, between its own steps."""
    events = [
        (file, node)
        for name, found in functions().items()
        for file, node in found
        if re.match(r"on_(?:train|step|epoch|log|pre|opt|eval|save|pred)", name)
    ]
    assert len(events) > 10
    assert [f"{file}:{node.name}" for file, node in events if not is_shielded(node)] == []
