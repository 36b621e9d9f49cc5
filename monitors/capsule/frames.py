"""An exception as a chain of links, the first raise first, each with its frames and the values at their statements."""

from __future__ import annotations

import ast
import collections
import re
import sys
import sysconfig
import time
import types
from collections.abc import Iterator
from typing import Any, Optional

from doctor.base.entries import is_entry
from doctor.base.redact import redact_text
from doctor.monitors.capsule import expressions, looks, source
from doctor.monitors.capsule.looks import UNTOLD, class_name
from doctor.monitors.capsule.values import Fact, Facts, parameters_at

_MOST_LINKS, _MOST_NOTES = 10, 3
#: frames kept of a traceback: its outermost and its innermost
_OUTER, _INNER = 12, 40
#: frames whose values are told: the innermost, and those of the user's own code
_TOLD_INNER, _TOLD_OWN = 10, 8
_LONGEST_MESSAGE, _LONGEST_REMOTE = 4_000, 8_000
_MOST_CONFIGS = 8

_of_cause = BaseException.__dict__["__cause__"].__get__
_of_context = BaseException.__dict__["__context__"].__get__
_is_suppressed = BaseException.__dict__["__suppress_context__"].__get__
_of_traceback = BaseException.__dict__["__traceback__"].__get__
_of_args = BaseException.__dict__["args"].__get__

_LIBRARY = re.compile(r"[\\/](?:site|dist)-packages[\\/]|^<(?!stdin|string|ipython)")
_STDLIB = tuple(
    each for each in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")} if each
)  # fmt: skip
#: names of locals and attributes under which a program keeps its settings
_SETTINGS = ("args", "config", "cfg", "training_args", "script_args", "model_args", "model_config", "generation_config")

_MODULES = ("model", "module", "ref_model")
#: parameters by their number among those that DDP reduces:
#: https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/reducer.cpp#L2130
_INDICES = re.compile(r"indices which did not receive grad for rank \d+: ((?:\d+ ?){1,400})")
_MOST_INDICES = 16

Place = tuple[types.FrameType, int, int]


class Teller:
    """Tells exceptions and stacks of one capsule.

    Args:
        until_s: of the monotonic clock; frames for which there is no time left are told by place alone.
        text: characters of the user's data that may be told.

    """

    def __init__(self, until_s: float, text: int = 0) -> None:
        self._until_s = until_s
        self._facts = Facts(until_s, text)
        self._sources = source.Sources(until_s)
        self.configs: list[Fact] = []
        self.modules: list[Fact] = []
        self._seen: set[int] = set()
        self._wrapped: list[tuple[Any, Fact]] = []

    def chain(self, error: BaseException) -> list[Fact]:
        """Links of an exception's chain, the first raise first."""
        links = list(_links(error))[::-1]
        told = {0, 1, len(links) - 1}
        return [self._link(each, relation, place in told) for place, (each, relation) in enumerate(links)]

    def _link(self, error: BaseException, relation: str, values: bool) -> Fact:
        told: Fact = {
            "type": class_name(type(error)), "message": redact_text(message_of(error)), "relation": relation,
        }  # fmt: skip
        notes = looks.own(error).get("__notes__")
        if type(notes) is list:
            told["notes"] = [redact_text(each[:500]) for each in notes[:_MOST_NOTES] if type(each) is str]
        remote = looks.own(error).get("tb", looks.own(error).get("traceback_str"))
        if type(remote) is str:
            told["remote"] = redact_text(remote[-_LONGEST_REMOTE:])
        places, left_out = _places(_of_traceback(error))
        told["frames"] = self.frames(places, values=values)
        self._name_indices(told["message"])
        if left_out:
            told["frames_left_out"] = left_out
        return told

    def stack(self, frame: Optional[types.FrameType]) -> list[Fact]:
        """Frames of a thread that stands somewhere, innermost first."""
        places: list[Place] = []
        while frame is not None and len(places) < _INNER:
            places.append((frame, frame.f_lasti, frame.f_lineno or 0))
            frame = frame.f_back
        return self.frames(places, values=True)

    def frames(self, places: list[Place], *, values: bool) -> list[Fact]:
        """Frames, innermost first; with the values of some of them."""
        told: list[Fact] = []
        inner = own = 0
        for frame, lasti, line in places:
            fact = _place(frame, line)
            inner += 1
            own += fact["own"]
            if fact["module"].startswith("doctor.monitors."):  # wraps a function of the program; says nothing of it
                told.append(fact)
                continue
            wanted = inner <= _TOLD_INNER or (fact["own"] and own <= _TOLD_OWN)
            if values and wanted and time.monotonic() < self._until_s:
                try:
                    fact.update(self._values(frame, lasti, line))
                    self._settings(frame)
                except Exception as trouble:  # noqa: BLE001 - one frame costs itself, not the others
                    fact["trouble"] = class_name(type(trouble))
            told.append(fact)
        return told

    def _values(self, frame: types.FrameType, lasti: int, line: int) -> Fact:
        code = frame.f_code
        span = source.span_of(code, lasti, line)
        told: Fact = {"span": list(span)}
        scope = expressions.Scope(frame.f_locals, frame.f_globals)
        lines = self._sources.lines(code)
        tree = None
        if lines and self._sources.changed(code):
            told["changed"] = True
        elif lines:
            tree = self._sources.tree(code)
        statement, conditions = source.statement_at(tree, line, code.co_name) if tree is not None else (None, [])
        if statement is None:
            told["values"] = self._named(code, scope)
            return told
        told["statement"], told["lines"] = source.text_of(statement, lines)
        heads = source.head_of(statement, span)
        told["values"] = self._told([part for head in heads for part in expressions.parts(head)], scope, lines)
        told["conditions"] = [self._condition(each, scope, lines) for each in conditions]
        made = list(self._made(told["values"], tree, code, line, scope))
        if made:
            told["made_by"] = made
        return told

    def _made(
        self, values: list[list[Any]], tree: Any, code: types.CodeType, line: int, scope: expressions.Scope
    ) -> Iterator[list[Any]]:
        """[expression, what was called for it, facts of that] where None came out of a call."""
        for text, fact in values:
            if fact.get("type") == "NoneType" and time.monotonic() < self._until_s:
                called = source.maker_of(tree, text, code.co_firstlineno, line)
                if called is not None:
                    name = redact_text(ast.unparse(called)[:200])
                    yield [text, name, self._facts.of(expressions.value_of(called, scope), name, 0)]

    def _told(self, nodes: list[ast.AST], scope: expressions.Scope, lines: list[str]) -> list[list[Any]]:
        """[expression, facts] of the nodes whose value says something, each expression once."""
        found: dict[str, Fact] = {}
        for node in nodes:
            text = expressions.text_of(node, lines)
            if len(found) >= expressions.MOST or time.monotonic() > self._until_s:
                break
            if not text or len(text) > 200 or text in found or text.startswith("__"):
                continue
            value = expressions.value_of(node, scope)
            if expressions.is_telling(node, value):
                found[text] = self._facts.of(value, text)
        return [[redact_text(text), fact] for text, fact in found.items()]

    def _condition(self, condition: source.Condition, scope: expressions.Scope, lines: list[str]) -> Fact:
        node = condition.node
        now = expressions.truth(expressions.value_of(node, scope))
        return {
            "text": redact_text(ast.unparse(node)[:500]), "line": node.lineno, "kind": condition.kind,
            "taken": condition.taken, "now": None if now is UNTOLD else now,
            "values": self._told(list(expressions.parts(node)), scope, lines),
        }  # fmt: skip

    def _named(self, code: types.CodeType, scope: expressions.Scope) -> list[list[Any]]:
        """Local names alone, where the source cannot be read or is another by now."""
        names = (*code.co_varnames, *code.co_freevars, *code.co_cellvars)[:20]
        pairs = ((name, scope.local[name]) for name in names if name in scope.local)
        return [
            [name, self._facts.of(value, name, 1)] for name, value in pairs if expressions.is_telling(_NO_NODE, value)
        ]

    def _settings(self, frame: types.FrameType) -> None:
        """Configurations and modules that the frame can see: where a value comes from stands in them."""
        scope = expressions.Scope(frame.f_locals, {})
        there = [name for name in ("self", "model", "trainer") if name in scope.local]
        if looks.is_of(scope.local.get("self"), "torch.nn.parallel.distributed.DistributedDataParallel"):
            self._keep("self", scope.local["self"])
        holders = [("", scope.local), *((f"{name}.", looks.own(scope.local[name])) for name in there)]
        for prefix, names in holders:
            for name in (*_SETTINGS, *_MODULES):
                value = dict.get(names, name, UNTOLD)
                if value is not UNTOLD and id(value) not in self._seen:
                    self._keep(prefix + name, value)

    def _name_indices(self, message: str) -> None:
        """Name the parameters that DDP knows by number only, in the modules that the frames could see."""
        named = _INDICES.search(message)
        indices = [int(each) for each in named[1].split()][:_MOST_INDICES] if named else []
        for value, fact in self._wrapped if indices else ():
            names = parameters_at(value, indices)
            if names:
                fact["without_gradient"] = names

    def _keep(self, name: str, value: Any) -> None:
        fact = self._facts.of(value, name, 1)
        for kind, kept in (("config", self.configs), ("module", self.modules)):
            if fact.get(kind) and len(kept) < _MOST_CONFIGS:
                self._seen.add(id(value))
                kept.append({"name": name, **fact})
                if kind == "module":
                    self._wrapped.append((value, kept[-1]))


_NO_NODE = ast.Name(id="", ctx=ast.Load())


def _links(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """An exception and what it came from, the outermost first, each with how it came."""
    seen: set[int] = set()
    relation = "raised"
    current: Optional[BaseException] = error
    while current is not None and id(current) not in seen and len(seen) < _MOST_LINKS:
        seen.add(id(current))
        yield current, relation
        current, relation = _before(current)


def _before(error: BaseException) -> tuple[Optional[BaseException], str]:
    group = looks.attribute(error, "exceptions") if looks.is_of(error, "BaseExceptionGroup") else None
    if type(group) is tuple and group:
        return group[0], "group"
    cause = _of_cause(error)
    if cause is not None:
        return cause, "cause"
    wrapped = looks.own(error).get("cause")  # Ray's RayTaskError
    if looks.derives(wrapped, BaseException) and "ray" in class_name(type(error)).lower():
        return wrapped, "remote"
    context = None if _is_suppressed(error) else _of_context(error)
    return context, "context"


def message_of(error: BaseException) -> str:
    """What an exception says, where C words it; its plain arguments otherwise."""
    args = _of_args(error)
    plain = type(args) is tuple and all(looks.one_of(type(each), looks.PLAIN) for each in args)
    worded = looks.of_class(type(error), "__str__")
    if plain and type(worded) is types.WrapperDescriptorType:
        try:
            return str(worded.__get__(error)())[:_LONGEST_MESSAGE]
        except Exception:  # noqa: BLE001 - an exception that was made without its arguments
            return ""
    told = [str(each) for each in args[:5] if looks.one_of(type(each), looks.PLAIN)] if type(args) is tuple else []
    return ", ".join(told)[:_LONGEST_MESSAGE]


def _places(trace: Optional[types.TracebackType]) -> tuple[list[Place], int]:
    """Places of a traceback, innermost first, and how many were left out of a long one."""
    outer: list[Place] = []
    inner: collections.deque[Place] = collections.deque(maxlen=_INNER)
    count = 0
    while trace is not None:
        place = (trace.tb_frame, trace.tb_lasti, trace.tb_lineno or 0)
        count += 1
        if len(outer) < _OUTER:
            outer.append(place)
        else:
            inner.append(place)
        trace = trace.tb_next
    kept = [*outer, *inner]
    return kept[::-1], count - len(kept)


def _place(frame: types.FrameType, line: int) -> Fact:
    code = frame.f_code
    module = dict.get(frame.f_globals, "__name__", "")
    return {
        "file": redact_text(code.co_filename), "line": line, "function": code.co_name,
        "qualname": getattr(code, "co_qualname", code.co_name), "module": module if type(module) is str else "",
        "own": is_own(code.co_filename),
    }  # fmt: skip


def is_own(path: str) -> bool:
    """Whether a file is the user's: neither installed nor the standard library's, nor the doctor's."""
    if _LIBRARY.search(path) or path.startswith(_STDLIB) or is_entry(path):
        return False
    module: Any = sys.modules.get("doctor")
    root = getattr(module, "__file__", None)
    return not (root and path.startswith(root.rpartition("/")[0] + "/"))
