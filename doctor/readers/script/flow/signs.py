"""With which sign quantities of RL come into a loss: sums of products, followed to the names that say what they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.readers.script.flow.program import named, text_of
from doctor.readers.script.flow.roles import Roles
from doctor.readers.script.flow.values import At, Values

LOGP, OLD, DETACHED, REFERENCE, ADVANTAGE, KL, CHOSEN, REJECTED, OTHER = (
    "logp", "old", "detached", "reference", "advantage", "kl", "chosen", "rejected", "other",
)  # fmt: skip
_LOGP = later(r"(?i)log_?p(?:rob)?s?(?:$|_|\d)|log_?likelihood|^lp$|_lp$")
_OLD = later(r"(?i)(?:^|_)(?:old|rollout|behav\w*|sampl\w*|prev|gen|ref\w*|base|teacher)(?:_|$)")
_REF = later(r"(?i)(?:^|_)(?:ref\w*|base)(?:_|$)")
_ADVANTAGE = later(
    r"(?i)^(?:\w+_)?(?:adv|advs|advantages?|returns?|rewards?|reward_\w+)(?:_\w+)?$|^(?:adv|rew|r)_?[tbi]?$"
)
_KL = later(r"(?i)(?:^|_)kls?(?:_(?:div|loss|term|penalty|per_token|mean|t))?$|per_token_kl")
_THROUGH = frozenset({
    "mean", "sum", "clamp", "clip", "exp", "view", "reshape", "unsqueeze", "squeeze", "float", "to", "contiguous",
    "logsigmoid", "sigmoid", "masked_mean", "nanmean", "masked_select", "flatten", "min", "max", "minimum", "maximum",
    "stack", "cat", "where", "log", "gather_for_metrics", "tanh", "median", "expand", "expand_as", "type_as", "nansum",
})  # fmt: skip
_BOTH = frozenset({"min", "max", "minimum", "maximum"})
_NEGATIVE = frozenset({"cross_entropy", "nll_loss", "CrossEntropyLoss"})
#: a reward that is reduced to one number is a baseline
_REDUCES = frozenset({"mean", "sum", "median", "nanmean", "min", "max", "std"})
_STATISTIC = later(
    r"(?i)(?:^|_)(?:mean|avg|average|std|var|baseline|max|min|norm|fn|func|funcs|model|coef|weight)(?:_|$)"
)
_MOST = 64
_DEEPEST = 24


class Term(NamedTuple):
    """A product: its sign, and what its factors are."""

    sign: int
    factors: frozenset[str]


class CannotTellError(Exception):
    """The expression has a shape whose signs are not followed."""


@dataclass(eq=False, repr=False)
class Signs:
    """Reads the signs of expressions."""

    values: Values
    roles: Roles

    def of(self, at: At, depth: int = 0) -> list[Term]:
        """The terms of a sum.

        Raises:
            CannotTellError: its signs cannot be told.

        """
        if depth > _DEEPEST:
            raise CannotTellError
        node = at.node
        if isinstance(node, ast.Constant):
            negative = isinstance(node.value, (int, float)) and node.value < 0
            return [Term(-1 if negative else 1, frozenset())]
        if isinstance(node, ast.UnaryOp):
            return _negated(self._down(at, node.operand, depth)) if isinstance(node.op, ast.USub) else [_other()]
        if isinstance(node, ast.BinOp):
            return self._operation(at, node, depth)
        if isinstance(node, ast.IfExp):
            return self._down(at, node.body, depth) + self._down(at, node.orelse, depth)
        if isinstance(node, ast.Subscript):
            return (
                self._down(at, node.value, depth)
                if not isinstance(node.slice, ast.Constant)
                else [_keyed(node.slice.value)]
            )
        if isinstance(node, ast.Call):
            return self._call(at, node, depth)
        if isinstance(node, (ast.Tuple, ast.List)):
            return [term for each in node.elts for term in self._down(at, each, depth)]
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._name(at, depth)
        return [_other()]

    def _down(self, at: At, node: ast.AST, depth: int) -> list[Term]:
        return self.of(At(node, at.stack), depth + 1)

    def _operation(self, at: At, node: ast.BinOp, depth: int) -> list[Term]:
        if isinstance(node.op, ast.Pow):
            return [_other()]
        left, right = self._down(at, node.left, depth), self._down(at, node.right, depth)
        if isinstance(node.op, ast.Add):
            return _few(left + right)
        if isinstance(node.op, ast.Sub):
            if _is_one(node.left) and not any(each.factors - {OTHER} for each in right):
                return [_other()]  # what is left of a share: above 0
            return _few(left + _negated(right))
        if isinstance(node.op, ast.Mult):
            return _few([Term(a.sign * b.sign, a.factors | b.factors) for a in left for b in right])
        if isinstance(node.op, ast.Div):
            sign = right[0].sign if len(right) == 1 else 1
            return [Term(each.sign * sign, each.factors) for each in left]
        return [_other()]

    def _call(self, at: At, node: ast.Call, depth: int) -> list[Term]:
        name = named(node)
        if self.values.function(node) is not None:
            found = [term for each in self.values.parts(at) for term in self.of(each, depth + 1)]
            label = _label(name)
            return found if any(t.factors - {OTHER} for t in found) or label is None else [Term(1, frozenset({label}))]
        if name in _NEGATIVE or (isinstance(node.func, ast.Call) and named(node.func) in _NEGATIVE):
            return [Term(-1, frozenset({self._trained(at)}))]
        if name in {"log_softmax", "selective_log_softmax", "log_prob"}:
            return [Term(1, frozenset({self._trained(at)}))]
        method = isinstance(node.func, ast.Attribute) and text_of(node.func.value) not in {
            "torch",
            "F",
            "functional",
            "np",
        }
        base = node.func.value if method and isinstance(node.func, ast.Attribute) else None
        if name == "detach" and base is not None:
            return [_of_old(each) for each in self._down(at, base, depth)]
        if name in {"gather", "index_select", "clone"} and (base is not None or node.args):
            return self._down(at, base if base is not None else node.args[0], depth)
        if name == "where" and len(node.args) == 3:
            return self._down(at, node.args[1], depth) + self._down(at, node.args[2], depth)
        if name not in _THROUGH:
            label = _label(name)
            return [Term(1, frozenset({label or OTHER}))]
        inner = [base] if base is not None else list(node.args[:1])
        inner += list(node.args[len(inner) - (base is not None) :][:1]) if name in _BOTH else []
        found = _few([term for each in inner if each is not None for term in self._down(at, each, depth)])
        if name == "exp":  # it rises with what is trained, and what is not only scales it
            found = [each for each in found if each.factors & {LOGP, DETACHED, CHOSEN, REJECTED}]
        elif name in _REDUCES:
            found = [each if each.factors - {ADVANTAGE, OTHER} else _other() for each in found]
        return found or [_other()]

    def _trained(self, at: At) -> str:
        """Whether log probabilities pass a gradient on to a model; what comes from elsewhere is taken to."""
        if any(True for _ in self.roles.forwards(at, trained=True)):
            return LOGP
        return DETACHED if any(True for _ in self.roles.forwards(at)) else LOGP

    def _name(self, at: At, depth: int) -> list[Term]:
        text = text_of(at.node).rpartition(".")[2]
        if isinstance(at.node, ast.Attribute) and text == "loss":
            return [Term(-1, frozenset({LOGP}))]  # of a model that was given labels
        label = _label(text)
        if label in {CHOSEN, REJECTED}:
            return [Term(1, frozenset({label}))]
        held = list(self.values.held(at))
        if label in {ADVANTAGE, KL}:
            return [Term(self._turned(label, held, depth), frozenset({label}))]
        if label is not None:
            return [Term(1, frozenset({self._trained(at) if label == LOGP else label}))]
        if len(held) != 1:
            if any(not _is_number(each.node) for each in held):
                raise CannotTellError
            return [_other()]
        found = self.of(held[0], depth + 1)
        return [_of_old(each) for each in found] if _OLD.search(text) else found

    def _turned(self, label: str, held: Sequence[At], depth: int) -> int:
        """-1 where what is called an advantage falls with the reward, or a KL is the reference's minus the policy's."""
        if len(held) != 1:
            return 1
        at = held[0]
        if label == ADVANTAGE:
            inside = list(_names_in(at.node))
            if not any(_label(each) == ADVANTAGE for each in inside):
                return 1
        elif any(
            isinstance(each, ast.Call) and named(each) in {"exp", "expm1", "square"} for each in ast.walk(at.node)
        ):
            return 1  # an estimate that is never negative
        try:
            found = self.of(at, depth + 1)
        except CannotTellError:
            return 1
        wanted = {ADVANTAGE} if label == ADVANTAGE else {LOGP}
        signs = {t.sign for t in found if t.factors & wanted}
        return -1 if signs == {-1} and self._is_plain(label, found) else 1

    def _is_plain(self, label: str, found: Sequence[Term]) -> bool:
        return label == ADVANTAGE or any(t.sign == 1 and t.factors & {REFERENCE, OLD} for t in found)


def _label(name: str) -> str | None:
    """What a name says that it holds."""
    lowered = name.lower()
    if "chosen" in lowered or "reject" in lowered:
        return REFERENCE if _REF.search(name) else CHOSEN if "chosen" in lowered else REJECTED
    if _KL.search(name):
        return KL
    if _LOGP.search(name):
        return REFERENCE if _REF.search(name) else OLD if _OLD.search(name) else LOGP
    return ADVANTAGE if _ADVANTAGE.search(name) and not _STATISTIC.search(name) else None


def is_reward(name: str) -> bool:
    """Whether a name says that it holds rewards, returns or advantages."""
    return _label(name) == ADVANTAGE


def is_divergence(name: str) -> bool:
    """Whether a name says that it holds a divergence."""
    return _label(name) == KL


def is_policys(name: str) -> bool:
    """Whether a name says that it holds log probabilities of the policy."""
    return _label(name) == LOGP


def is_reference(name: str) -> bool:
    """Whether a name says that it is of the reference."""
    return _REF.search(name) is not None


def _keyed(key: object) -> Term:
    return Term(1, frozenset({_label(str(key)) or OTHER}))


def _names_in(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def _is_one(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _of_old(term: Term) -> Term:
    """A term whose log probabilities are those of an earlier policy."""
    return Term(term.sign, frozenset(OLD if each == LOGP else each for each in term.factors))


def _other() -> Term:
    return Term(1, frozenset({OTHER}))


def _negated(terms: list[Term]) -> list[Term]:
    return [Term(-each.sign, each.factors) for each in terms]


def _few(terms: list[Term]) -> list[Term]:
    if len(terms) > _MOST:
        raise CannotTellError
    return terms
