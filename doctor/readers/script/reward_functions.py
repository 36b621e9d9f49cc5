"""Reward functions passed to a trainer: parameters and kinds of what they return, only where the source proves it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.base.record import distinct, replace
from doctor.facts.script import RewardFunction
from doctor.readers.script.ast_names import CannotTell, Names, Spot
from doctor.readers.script.ast_scopes import FunctionNode
from doctor.readers.script.completion_reads import reads_of
from doctor.readers.script.keyword_reads import keys_asked, keys_demanded
from doctor.readers.script.return_kinds import return_kinds, returns_lists_of_one

#: decorators that change neither parameters nor what comes back
_TRANSPARENT = frozenset({
    "staticmethod", "functools.wraps", "functools.lru_cache", "functools.cache", "torch.no_grad",
    "torch.inference_mode", "typing.no_type_check", "override", "typing.override",
})  # fmt: skip


@distinct
class _Bound:
    """What the call site has filled in already: names of keywords, number of positional arguments."""

    keywords: frozenset[str] = frozenset()
    positional: int = 0


class RewardFunctions:
    """Follows the expression given as `reward_funcs` to functions in the source."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def of(self, node: ast.AST, spot: Spot) -> list[RewardFunction]:
        """Every function that an expression stands for, as far as its definition is seen."""
        try:
            return list(self._of(node, spot, _Bound()))
        except (CannotTell, RecursionError):
            return []

    def _of(self, node: ast.AST, spot: Spot, bound: _Bound) -> Iterator[RewardFunction]:
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            for each in node.elts:
                inner = each.value if isinstance(each, ast.Starred) else each
                yield from self.of(inner, spot)
        elif isinstance(node, ast.Lambda):
            yield _described(node, "<lambda>", spot, bound)
        elif isinstance(node, ast.Name):
            yield from self._of_name(node, spot, bound)
        elif isinstance(node, ast.Attribute):
            yield from self._of_attribute(node, spot, bound)
        elif isinstance(node, ast.Call):
            yield from self._of_call(node, spot, bound)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield from self.of(node.left, spot)
            yield from self.of(node.right, spot)

    def _of_name(self, node: ast.Name, spot: Spot, bound: _Bound) -> Iterator[RewardFunction]:
        binding, at = self.names.binding(node.id, spot)
        if binding.parameter:
            value, caller = self.names.argument(node.id, at)
            yield from self._of(value, caller, bound)
            return
        if binding.imported:
            binding, at = self.names.exported(binding.imported, at)
        value = binding.value  # type: ignore[assignment]
        if isinstance(value, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from self._function(value, at, bound)
        elif binding.index is None and value is not None:
            yield from self._of(value, at, bound)
            if isinstance(value, (ast.List, ast.Tuple)):
                yield from self._appended(node.id, spot)

    def _appended(self, name: str, spot: Spot) -> Iterator[RewardFunction]:
        """`reward_funcs.append(f)` and `.extend([f, g])`."""
        for site in spot.module.calls:
            function = site.node.func
            if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
                continue
            if function.value.id == name and function.attr in {"append", "extend"} and len(site.node.args) == 1:
                here = Spot(spot.module, site.scope, site.node.lineno, spot.depth)
                yield from self.of(site.node.args[0], here)

    def _of_attribute(self, node: ast.Attribute, spot: Spot, bound: _Bound) -> Iterator[RewardFunction]:
        """`rewards.accuracy` of a module, `self.reward` and `judge.score` of an object of a class in the source."""
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            definition: ast.AST | None = spot.scope.parent.node if spot.scope.parent else None
            at = spot
        elif self.names.imported(getattr(node.value, "id", ""), spot):
            binding, at = self.names.exported(self.names.origin(node, spot), spot)
            if isinstance(binding.value, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from self._function(binding.value, at, bound)
            return
        else:
            definition, at = self._class_of(node.value, spot)
        yield from self._method(definition, node.attr, at, bound)

    def _class_of(self, node: ast.AST, spot: Spot) -> tuple[ast.AST | None, Spot]:
        """Class of `judge` (`judge = Judge()`), of `Judge()` and of `Judge` itself."""
        if isinstance(node, ast.Call):
            return self._class_of(node.func, spot)
        if not isinstance(node, ast.Name):
            raise CannotTell
        binding, at = self.names.binding(node.id, spot)
        if binding.imported:
            binding, at = self.names.exported(binding.imported, at)
        if isinstance(binding.value, ast.Call):
            return self._class_of(binding.value, at)
        return binding.value, at

    def _method(self, definition: ast.AST | None, name: str, spot: Spot, bound: _Bound) -> Iterator[RewardFunction]:
        if not isinstance(definition, ast.ClassDef):
            return
        found = [each for each in definition.body if getattr(each, "name", None) == name]
        if len(found) != 1 or not isinstance(found[0], (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        method = found[0]
        static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in method.decorator_list)
        inside = spot.at(spot.module.scopes[definition], method.lineno)
        hidden = bound if static else replace(bound, positional=bound.positional + 1)
        for each in self._function(method, inside, hidden):
            yield replace(each, name=each.name if name != "__call__" else definition.name)

    def _of_call(self, node: ast.Call, spot: Spot, bound: _Bound) -> Iterator[RewardFunction]:
        origin = self.names.origin(node.func, spot)
        if origin == "functools.partial" and node.args:
            names = frozenset(each.arg for each in node.keywords if each.arg)
            filled = _Bound(bound.keywords | names, bound.positional + len(node.args) - 1)
            if all(each.arg for each in node.keywords):
                yield from self._of(node.args[0], spot, filled)
            return
        if origin in {"list", "tuple"} and len(node.args) == 1:
            yield from self._of(node.args[0], spot, bound)
            return
        try:
            definition, at = self._class_of(node.func, spot)
        except CannotTell:
            return
        if isinstance(definition, ast.ClassDef):
            yield from self._method(definition, "__call__", at, bound)
        elif isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from self._made_by(definition, at, bound)

    def _made_by(self, factory: FunctionNode, spot: Spot, bound: _Bound) -> Iterator[RewardFunction]:
        """`make_reward(8)`, where the factory ends by returning a function that it defines."""
        last = factory.body[-1]
        scope = spot.module.scopes.get(factory)
        if isinstance(last, ast.Return) and isinstance(last.value, (ast.Name, ast.Lambda)) and scope is not None:
            yield from self._of(last.value, spot.at(scope, last.lineno + 1), bound)

    def _function(self, node: FunctionNode, spot: Spot, bound: _Bound) -> Iterator[RewardFunction]:
        for decorator in node.decorator_list:
            callee = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self.names.origin(callee, spot) not in _TRANSPARENT:
                return  # it may take and give anything
        yield _described(node, node.name, spot, bound)


def _described(node: FunctionNode | ast.Lambda, name: str, spot: Spot, bound: _Bound) -> RewardFunction:
    source = spot.module.source
    kinds, nodes = return_kinds(node)
    return RewardFunction(
        name=name,
        place=source.place(node),
        parameters=_parameters(node.args, bound),
        required=_required(node.args, bound),
        demanded=tuple(each for each in keys_demanded(node) if each not in bound.keywords),
        asked=() if bound.keywords else keys_asked(node),
        has_var_keyword=node.args.kwarg is not None,
        returns=kinds,
        return_places=tuple(source.place(each) for each in nodes),
        is_async=isinstance(node, ast.AsyncFunctionDef),
        reads=reads_of(node),
        of_one=returns_lists_of_one(node),
    )


def _parameters(arguments: ast.arguments, bound: _Bound) -> tuple[str, ...]:
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)][bound.positional :]
    names = [*positional, *(each.arg for each in arguments.kwonlyargs)]
    return tuple(each for each in names if each not in bound.keywords)


def _required(arguments: ast.arguments, bound: _Bound) -> tuple[str, ...]:
    """Parameters that a call must fill: those without a default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    optional = {each.arg for each in positional[len(positional) - len(arguments.defaults) :]}
    filled = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    optional |= {each.arg for each, default in filled if default is not None}
    return tuple(each for each in _parameters(arguments, bound) if each not in optional)
