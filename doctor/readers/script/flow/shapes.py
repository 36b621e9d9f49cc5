"""Shapes of a script's tensors, by the names of their axes: rows, tokens, vocabulary, and lengths cut off by slices.

Only what the text shows has a shape. Everything else has none, and nothing follows from it.
https://docs.pytorch.org/docs/stable/notes/broadcasting.html
https://huggingface.co/docs/transformers/main_classes/output
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.readers.script.flow.axes import ONE, Axis, Shape, broadcast, cut, grouped, reduced, repeated
from doctor.readers.script.flow.program import ELEMENT, PARAMETER, named, text_of
from doctor.readers.script.flow.roles import Origin, Roles
from doctor.readers.script.flow.values import At, Stack, Values

ROWS, TOKENS, VOCABULARY, HIDDEN = "rows", "tokens", "vocabulary", "hidden"
#: keys of a batch that are one number a token
_OF_TOKENS = later(r"^(?:(?P<part>prompt|completion|response|chosen|rejected)_)?(?:input_ids|attention_mask|ids|mask)$")
_LABELS = later(r"^labels$")
_SAME = frozenset({
    "log_softmax", "softmax", "exp", "log", "abs", "clamp", "clip", "float", "double", "half", "bfloat16", "to", "cuda",
    "cpu", "detach", "neg", "contiguous", "sigmoid", "logsigmoid", "relu", "tanh", "nan_to_num", "masked_fill",
    "zeros_like", "ones_like", "clone", "long", "int", "bool", "square", "sqrt", "cumsum", "type_as", "requires_grad_",
    "clamp_min", "clamp_max", "softplus", "expm1", "log1p", "pow", "flip", "ne", "eq", "gt", "lt", "dropout",
})  # fmt: skip
_REDUCES = frozenset({
    "mean", "sum", "std", "var", "amax", "amin", "logsumexp", "argmax", "argmin", "prod", "all", "any", "nanmean",
    "nansum",
})  # fmt: skip
_BOTH = frozenset({"minimum", "maximum", "min", "max", "where", "mul", "add", "sub", "div", "logaddexp"})
_SCALARS = later(r"(?i)(?:reward|score|advantage|return)s?(?:_list)?$")
#: names of one token's number, which masks are made with
_ID = later(r"(?i)(?:^|[._])(?:\w*_)?(?:pad|eos|bos|pad_token|eos_token)(?:_id|_token_id)?$|ignore_index$")
_CLASSIFIES = later(r"Classification|RewardModel|BertModel|num_labels|Vision|pixel_values")
#: methods of a text that answer yes or no, or count
_OF_STRINGS = frozenset({"isdigit", "isalpha", "isalnum", "isspace", "isupper", "islower", "startswith", "endswith"})
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)
_DEEPEST = 30


class _Key(NamedTuple):
    node: int
    stack: tuple[int, ...]


@dataclass(eq=False, repr=False)
class Shapes:
    """Asks the values of a program for their shapes."""

    values: Values
    roles: Roles
    text: str
    _known: dict[_Key, Shape | None] = field(default_factory=dict)
    _open: set[_Key] = field(default_factory=set)
    _read: frozenset[tuple[int, str]] | None = None

    def of(self, at: At) -> Shape | None:
        """The axes of a tensor, () for a number; None where the text does not show them."""
        key = _Key(id(at.node), tuple(map(id, at.stack)))
        if key not in self._known:
            if key in self._open or len(self._open) > _DEEPEST:
                return None
            self._open.add(key)
            self._known[key] = self._of(at.node, at.stack)
            self._open.discard(key)
        return self._known[key]

    def _of(self, node: ast.AST, stack: Stack) -> Shape | None:
        if isinstance(node, ast.Constant):
            return () if isinstance(node.value, (int, float)) else None
        if isinstance(node, ast.UnaryOp):
            return self.of(At(node.operand, stack))
        if isinstance(node, ast.BinOp):
            return broadcast(self.of(At(node.left, stack)), self.of(At(node.right, stack)))
        if isinstance(node, ast.Compare):
            left, right = (At(each, stack) for each in (node.left, node.comparators[0]))
            return self.of(left) if _ID.search(text_of(right.node)) else broadcast(self.of(left), self.of(right))
        if isinstance(node, ast.Subscript):
            return self._part(node, stack)
        if isinstance(node, ast.Call):
            return self._call(node, stack)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, stack)
        return self._name(node, stack) if isinstance(node, ast.Name) else None

    def _all(self, ats: Iterable[At]) -> Shape | None:
        """The shape that several values have in common."""
        found = [self.of(each) for each in ats]
        first = found[0] if found else None
        return first if all(each == first for each in found) else None

    # --- names --------------------------------------------------------------------------------------------------

    def _name(self, node: ast.expr, stack: Stack) -> Shape | None:
        if id(node) in self.values.program.bound:
            return None
        held: list[At] = []
        for each in self.values.reaching(node):
            if each.kind == PARAMETER:
                given = list(self.values.given(each, stack))
                if not given:
                    by_key = self._of_batch(each.name, f"{getattr(each.step.scope, 'name', '')}()")
                    return by_key if by_key is not None else self._of_model(node)
                held += given
            elif each.kind == ELEMENT or each.index or each.value is None:
                return None
            elif not each.weak:
                held.append(At(each.value, stack))
        found = self._all(held)
        return found if found is not None or len(held) > 1 else self._of_model(node)

    def _of_model(self, node: ast.expr) -> Shape | None:
        """Rows and tokens of a name that a model is given in the same function, whatever made it."""
        if self._read is None:
            calls = [each for each in self.values.program.calls if self.roles.is_forward(each)]
            self._read = frozenset(self._scoped(given) for each in calls if (given := _input(each)) is not None)
        name = self._scoped(node)
        if name not in self._read or not isinstance(node, ast.Name):
            return None
        return (Axis(f"{ROWS}:{node.id}"), Axis(f"{TOKENS}:{node.id}"))

    def _scoped(self, node: ast.expr) -> tuple[int, str]:
        step = self.values.step(node)
        return (id(step.scope) if step is not None else 0, text_of(node))

    def _of_batch(self, key: str, source: str) -> Shape | None:
        """What a batch holds under a key."""
        found = _OF_TOKENS.search(key)
        if found is not None:
            return (Axis(f"{ROWS}:{source}"), Axis(f"{TOKENS}:{found['part'] or ''}{source}"))
        if _LABELS.search(key) and not _CLASSIFIES.search(self.text):
            return (Axis(f"{ROWS}:{source}"), Axis(f"{TOKENS}:{source}"))
        return None

    def _attribute(self, node: ast.Attribute, stack: Stack) -> Shape | None:
        if node.attr == "logits":
            return self._logits(node.value, stack)
        if node.attr == "last_hidden_state":
            return self._hidden(node.value, stack)
        if node.attr in {"values", "data"}:
            return self.of(At(node.value, stack))
        if node.attr == "T":
            shape = self.of(At(node.value, stack))
            return shape[::-1] if shape is not None and len(shape) == 2 else None
        named_so = self._name(node, stack)
        return named_so if named_so is not None else self._of_batch(node.attr, text_of(node.value))

    # --- models -------------------------------------------------------------------------------------------------

    def _logits(self, output: ast.expr, stack: Stack) -> Shape | None:
        call = self._forward(output, stack)
        base = self._inputs(call) if call is not None else None
        if call is None or base is None:
            return None
        made = self.roles.origins(At(call.node.func, call.stack)) if isinstance(call.node, ast.Call) else None
        classes = {text_of(each.call) for each in made or ()}
        if any("ForSequenceClassification" in each for each in classes):
            one = all("ForSequenceClassification" in each for each in classes) and all(map(_gives_one, made or ()))
            return (base[0], ONE.kept()) if one else None
        causal = all("ForCausalLM" in each for each in classes) and not _CLASSIFIES.search(self.text)
        return (*base, Axis(VOCABULARY)) if causal else None

    def _hidden(self, output: ast.expr, stack: Stack) -> Shape | None:
        call = self._forward(output, stack)
        base = self._inputs(call) if call is not None else None
        return (*base, Axis(HIDDEN)) if base is not None else None

    def _forward(self, output: ast.expr, stack: Stack) -> At | None:
        """The call of a model that gave an output."""
        held = [At(output, stack)]
        if isinstance(output, (ast.Name, ast.Attribute)):
            held = list(self.values.held(held[0]))
        if len(held) == 1 and isinstance(held[0].node, ast.Call) and self.roles.is_forward(held[0].node):
            return held[0]
        return None

    def _inputs(self, call: At) -> Shape | None:
        """Rows and tokens that a model is given."""
        node = call.node
        if not isinstance(node, ast.Call):
            return None
        given = _input(node)
        if given is not None:
            shape = self.of(At(given, call.stack))
            return shape if shape is not None and len(shape) == 2 else None
        opened = [each.value for each in node.keywords if each.arg is None]
        source = text_of(opened[0]) if len(opened) == 1 else ""
        return (Axis(f"{ROWS}:{source}"), Axis(f"{TOKENS}:{source}")) if source else None

    # --- parts --------------------------------------------------------------------------------------------------

    def _part(self, node: ast.Subscript, stack: Stack) -> Shape | None:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            if node.slice.value == "logits":
                return self._logits(node.value, stack)
            put = [each for each in self.values.parts(At(node, stack)) if each.node is not node.value]
            found = self._all(put) if put and not any(isinstance(each.node, ast.Constant) for each in put) else None
            return found if found is not None else self._of_batch(node.slice.value, text_of(node.value))
        if isinstance(node.value, ast.Attribute) and node.value.attr == "hidden_states":
            return self._hidden(node.value.value, stack)
        return cut(self.of(At(node.value, stack)), node.slice)

    # --- calls --------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, stack: Stack) -> Shape | None:
        if self.values.function(node) is not None:
            parts = list(self.values.parts(At(node, stack)))
            return self._all(parts) if parts and parts[0].stack != stack else None
        name = named(node)
        subject, rest = self._subject(node)
        if name in {"tensor", "as_tensor", "FloatTensor", "stack"}:
            return self._made(name, node, stack)
        shape = self.of(At(subject, stack)) if subject is not None else None
        if shape is None:
            return None
        if name in _SAME:
            return shape
        if name in _BOTH and rest and not (name in {"min", "max"} and _number(rest[0]) is not None):
            others = [self.of(At(each, stack)) for each in rest]
            return broadcast(*others[-2:]) if name == "where" and len(others) == 2 else broadcast(shape, others[0])
        if name in _REDUCES or name in {"min", "max"}:
            return reduced(shape, _argument(node, rest, 0, "dim"), _argument(node, rest, 1, "keepdim"))
        return self._moved(name, node, rest, shape, stack)

    def _moved(self, name: str, node: ast.Call, rest: Sequence[ast.expr], shape: Shape, stack: Stack) -> Shape | None:
        """What changes the order, the number or the length of axes."""
        first = _number(_argument(node, rest, 0, "dim"))
        if name == "unsqueeze" and first is not None and -len(shape) <= first + 1 <= len(shape) + 1:
            place = first if first >= 0 else len(shape) + 1 + first
            return (*shape[:place], ONE, *shape[place:])
        if name == "squeeze":
            return _squeezed(shape, first, given=bool(rest or node.keywords))
        if name == "gather":
            index = _argument(node, rest, 1, "index")
            found = self.of(At(index, stack)) if index is not None else None
            return None if found is None else tuple(each.kept() if each.name == ONE.name else each for each in found)
        if name in {"view", "reshape"}:
            return grouped(shape, rest)
        if name == "repeat_interleave" and rest:
            return repeated(shape, rest[0], _argument(node, rest, 1, "dim"))
        if name == "flatten" and not rest:
            return grouped(shape, [ast.UnaryOp(ast.USub(), ast.Constant(1))])
        if name == "transpose" and len(rest) == 2 and len(shape) == 2:
            return shape[::-1]
        return self._head(node, stack)

    def _head(self, node: ast.Call, stack: Stack) -> Shape | None:
        """A linear layer with one output: `nn.Linear(hidden, 1)`."""
        made = self.roles.origins(At(node.func, stack))
        if not made or not node.args or not all(named(each.call) == "Linear" for each in made):
            return None
        if not all(isinstance(each.call, ast.Call) and _number_at(each.call, 1) == 1 for each in made):
            return None
        shape = self.of(At(node.args[0], stack))
        return (*shape[:-1], ONE.kept()) if shape else None

    def _made(self, name: str, node: ast.Call, stack: Stack) -> Shape | None:
        """A tensor of a list: of numbers it has one axis, of tensors one more than they have."""
        given = node.args[0] if node.args else None
        if given is None or (name == "stack" and (len(node.args) > 1 or node.keywords)):
            return None
        rows = Axis(f"{ROWS}:{ast.unparse(given)[:40]}")
        if isinstance(given, ast.ListComp) and len(given.generators) == 1:
            if name != "stack":
                return _of_numbers(given.elt, rows)
            inner = self.of(At(given.elt, stack))
            return None if inner is None else (rows, *inner)
        return (rows,) if name != "stack" and _SCALARS.search(text_of(given)) else None

    def _subject(self, node: ast.Call) -> tuple[ast.expr | None, list[ast.expr]]:
        """The tensor that a method or a function is asked of, and the other arguments."""
        func = node.func
        functional = isinstance(func, ast.Attribute) and text_of(func.value) in {
            "torch", "F", "torch.nn.functional", "nn.functional",
        }  # fmt: skip
        if isinstance(func, ast.Attribute) and not functional:
            return func.value, list(node.args)
        return (node.args[0], list(node.args[1:])) if node.args else (None, [])


def _input(call: ast.Call) -> ast.expr | None:
    """What a model is given as its tokens."""
    given = next((each.value for each in call.keywords if each.arg == "input_ids"), None)
    return given if given is not None else call.args[0] if call.args else None


def _gives_one(origin: Origin) -> bool:
    """Whether a classifier is made for one label."""
    given = origin.call.keywords if isinstance(origin.call, ast.Call) else ()
    return any(each.arg == "num_labels" and _number(each.value) == 1 for each in given)


def _argument(node: ast.Call, rest: Sequence[ast.expr], position: int, name: str) -> ast.expr | None:
    given = next((each.value for each in node.keywords if each.arg in {name, "axis" if name == "dim" else name}), None)
    return given if given is not None else rest[position] if position < len(rest) else None


def _number(node: ast.expr | None) -> int | None:
    """A whole number that stands in the text."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    found = node.value if isinstance(node, ast.Constant) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _number_at(call: ast.Call, position: int) -> int | None:
    return _number(call.args[position]) if position < len(call.args) else None


def _of_numbers(element: ast.expr, rows: Axis) -> Shape | None:
    """A tensor of a list of numbers, or of lists with one number each: `[[score(t)] for t in texts]` is a column."""
    if isinstance(element, ast.List) and len(element.elts) == 1 and _is_number(element.elts[0]):
        return (rows, ONE.kept())
    return (rows,) if _is_number(element) else None


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is surely one number."""
    if isinstance(node, ast.Call):
        return named(node) in {"float", "int", "len", *_OF_STRINGS} or _folds_numbers(node)
    if isinstance(node, ast.IfExp):
        return _is_number(node.body) and _is_number(node.orelse)
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Constant) and not isinstance(node.value, str))


def _folds_numbers(call: ast.Call) -> bool:
    """`sum(c.isdigit() for c in text)`, and `min` and `max` of numbers."""
    if not isinstance(call.func, ast.Name) or call.keywords or not call.args:
        return False
    if call.func.id in {"min", "max"}:
        return len(call.args) > 1 and all(map(_is_number, call.args))
    inner = call.args[0]
    return call.func.id == "sum" and isinstance(inner, (ast.GeneratorExp, ast.ListComp)) and _is_number(inner.elt)


def _squeezed(shape: Shape, place: int | None, *, given: bool) -> Shape | None:
    if not given:
        return tuple(each for each in shape if each.name != ONE.name)
    if place is None or not -len(shape) <= place < len(shape):
        return None
    place %= len(shape)
    return shape if shape[place].name != ONE.name else (*shape[:place], *shape[place + 1 :])
