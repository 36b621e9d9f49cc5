"""Which objects of a script are models, optimizers and schedules, and where gradients pass."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.readers.script.flow.events import Event, decorated
from doctor.readers.script.flow.program import named, text_of
from doctor.readers.script.flow.values import At, Stack, Values

OPTIMIZER = later(r"^(?:\w*(?:Adam|AdamW|SGD|Adafactor|Lion|RMSprop|Adagrad|Muon|LAMB)\w*)$")
SCHEDULE = later(r"(?:LR|WarmRestarts)$|^get_\w*(?:schedule|scheduler)\w*$|^get_scheduler$")
MODEL = later(r"(?i)(?:^|[._])(?:\w*model|policy|actor|critic|reference|ref|net|lm|llm|student|teacher|engine)\d?$")
CREATES = later(r"^(?:from_pretrained|from_config)$|(?:Model|ForCausalLM|LMHead\w*|Policy|Net|Actor|Critic|LM|MLP)$")
#: methods and functions that give the same parameters again
_SAME_METHODS = frozenset({
    "to", "cuda", "cpu", "half", "bfloat16", "float", "train", "eval", "requires_grad_", "prepare_model", "compile",
})  # fmt: skip
_SAME = frozenset({
    "DistributedDataParallel", "DDP", "DataParallel", "compile", "unwrap_model", "prepare", "prepare_model",
})  # fmt: skip
_WRAPPED = frozenset({"module"})
_DETACHING = frozenset({
    "detach", "item", "tolist", "numpy", "argmax", "generate", "no_grad", "inference_mode", "argsort", "topk", "sample",
    "multinomial",
})  # fmt: skip
_OUTSIDE = frozenset({"float", "int", "bool", "len", "str", "tensor", "as_tensor", "from_numpy", "range", "zeros_like"})
_NO_GRAD = frozenset({"no_grad", "inference_mode"})


class Origin(NamedTuple):
    """Where an object is made: the call, and by which calls of the script's own functions it was reached."""

    call: ast.AST
    stack: Stack


@dataclass(eq=False, repr=False)
class Roles:
    """Asks the values of a program what they are."""

    values: Values
    _optimizers: list[ast.Call] | None = None

    def origins(self, at: At, seen: frozenset[tuple[int, Stack]] = frozenset()) -> frozenset[Origin] | None:
        """The calls that may have made an object's parameters; None where that is not known.

        Wrappers that keep the parameters are passed through. What changes them, or has new ones, is an origin itself.
        """
        node, stack = at
        if (id(node), stack) in seen:
            return frozenset()
        seen |= {(id(node), stack)}
        if isinstance(node, ast.Call):
            inner = self._kept(node)
            if inner is not None:
                return self.origins(At(inner, stack), seen)
            if self.values.function(node) is None:
                return frozenset({Origin(node, stack)})
        if isinstance(node, ast.Attribute) and node.attr in _WRAPPED:
            return self.origins(At(node.value, stack), seen)
        if isinstance(node, ast.IfExp):
            return _joined(self.origins(At(each, stack), seen) for each in (node.body, node.orelse))
        if isinstance(node, (ast.Name, ast.Attribute)):
            held = list(self._held(At(node, stack)))
        elif isinstance(node, ast.Call):
            held = list(self.values.parts(at))
        else:
            held = []
        return _joined(self.origins(each, seen) for each in held) if held else None

    def _held(self, at: At) -> Iterator[At]:
        """What a name holds, and of `a, b = accelerator.prepare(a, b)` its own part."""
        for each in self.values.reaching(at.node) if isinstance(at.node, ast.expr) else ():
            value = each.value
            if isinstance(value, ast.Call) and named(value) == "prepare" and len(each.index) == 1 and not each.weak:
                if each.index[0] < len(value.args):
                    yield At(value.args[each.index[0]], at.stack)
            elif not each.weak and each.value is not None and not each.index:
                yield At(each.value, at.stack)
            elif each.value is None:
                yield from self.values.given(each, at.stack) if each.kind == "parameter" else ()

    def _kept(self, call: ast.Call) -> ast.expr | None:
        """What is given to a wrapper that keeps its parameters."""
        name = named(call)
        if name in _SAME and call.args and not isinstance(call.args[0], ast.Starred):
            return call.args[0] if len(call.args) == 1 or name != "prepare" else None
        if name in _SAME_METHODS and isinstance(call.func, ast.Attribute) and text_of(call.func.value) != "torch":
            return call.func.value
        return None

    # --- gradients ----------------------------------------------------------------------------------------------

    def without_gradient(self, node: ast.AST, stack: Stack) -> bool:
        """Whether nothing behind a node gets a gradient from what it is a part of."""
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.Attribute) and node.attr in {"data", "shape", "device", "dtype", "grad"}:
            return True
        if isinstance(node, ast.Call):
            name = named(node)
            method = isinstance(node.func, ast.Attribute)
            if (method and name in _DETACHING) or (name in _OUTSIDE and not (method and name == "float")):
                return True
        return self.in_no_grad(node, stack)

    def in_no_grad(self, node: ast.AST, stack: Stack) -> bool:
        """Whether a node runs without recording a graph."""
        for each in (node, *stack):
            step = self.values.step(each)
            if step is None:
                continue
            if any(named(one) in _NO_GRAD for one in step.entered):
                return True
            scope = step.scope
            if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and decorated(scope, *_NO_GRAD):
                return True
        return False

    def forwards(self, at: At, *, trained: bool = False) -> Iterator[At]:
        """Calls of models that a value is made of; `trained`: those alone that get a gradient from it."""
        pruned = self.without_gradient if trained else lambda *_: False
        for each in self.values.made_of(at.node, at.stack, pruned):
            if isinstance(each.node, ast.Call) and self.is_forward(each.node):
                yield each

    def made_with_gradient(self, at: At) -> set[tuple[int, Stack]]:
        """Nodes that get a gradient from a value."""
        return {(id(each.node), each.stack) for each in self.values.made_of(at.node, at.stack, self.without_gradient)}

    def is_forward(self, call: ast.Call) -> bool:
        """Whether a call runs a model, by its name or its arguments."""
        if self.values.function(call) is not None or isinstance(call.func, ast.Call):
            return False
        given = {each.arg for each in call.keywords}
        if isinstance(call.func, ast.Name) and {"input_ids", "attention_mask"} & given:
            return not call.func.id[:1].isupper()
        return MODEL.search(text_of(call.func)) is not None and not named(call)[:1].isupper()

    # --- optimizers ---------------------------------------------------------------------------------------------

    def optimizers(self) -> Iterator[ast.Call]:
        """Calls that make an optimizer of parameters."""
        if self._optimizers is None:
            self._optimizers = [call for call in self.values.program.calls if _is_optimizer(call)]
        yield from self._optimizers

    def owners(self, optimizer: ast.Call, stack: Stack = ()) -> Iterator[At]:
        """Models whose `parameters()` an optimizer is given."""
        given = optimizer.args[0] if optimizer.args else next(e.value for e in optimizer.keywords if e.arg == "params")
        for each in self.values.made_of(given, stack):
            func = each.node.func if isinstance(each.node, ast.Call) else None
            if isinstance(func, ast.Attribute) and func.attr in {"parameters", "named_parameters"}:
                yield At(func.value, each.stack)

    def is_optimizer(self, at: At) -> bool:
        """Whether an object is an optimizer, by what made it or by its name."""
        return self._is(at, OPTIMIZER, "optim")

    def is_schedule(self, at: At) -> bool:
        """Whether an object is a schedule of learning rates."""
        return self._is(at, SCHEDULE, "sched")

    def _is(self, at: At, made_by: re.Pattern[str], word: str) -> bool:
        if word in text_of(at.node).lower().rpartition(".")[2]:
            return True
        found = self.origins(at)
        return found is not None and bool(found) and all(made_by.search(named(each.call)) for each in found)


def _is_optimizer(call: ast.Call) -> bool:
    has_parameters = bool(call.args) or any(each.arg == "params" for each in call.keywords)
    return has_parameters and OPTIMIZER.search(named(call)) is not None


def losses(events: list[Event]) -> Iterator[tuple[Event, At]]:
    """What gradients are taken of: `loss.backward()`, `accelerator.backward(loss)`, `scaler.scale(loss).backward()`."""
    for event in events:
        if event.name != "backward" or event.base is None:
            continue
        base = event.base.node
        if isinstance(base, ast.Call) and named(base) == "scale" and base.args:
            yield event, At(base.args[0], event.stack)
        elif event.call.args and not isinstance(event.call.args[0], ast.Starred) and _gives(text_of(base)):
            yield event, At(event.call.args[0], event.stack)
        else:
            yield event, event.base


def _gives(name: str) -> bool:
    last = name.rpartition(".")[2].lower()
    return any(word in last for word in ("accelerator", "engine", "fabric", "model", "strategy", "optimizer", "scaler"))


def _joined(found: Iterator[frozenset[Origin] | None]) -> frozenset[Origin] | None:
    made: frozenset[Origin] = frozenset()
    for each in found:
        if each is None:
            return None
        made |= each
    return made
