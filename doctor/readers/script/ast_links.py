"""Follows a value in the user's source back to the call that makes it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from doctor.base.evidence import UNKNOWN, Observed
from doctor.base.record import replace
from doctor.facts.script import Link
from doctor.readers.script.ast_classes import PARSE_METHODS
from doctor.readers.script.ast_names import CannotTell, Spot
from doctor.readers.script.ast_scopes import AttributeChange, Binding, FunctionNode
from doctor.readers.script.ast_settings import arguments_of, setting_of
from doctor.readers.script.ast_values import DictEntry, Values

#: methods of datasets.Dataset that keep every column and only choose or order rows
#: (https://huggingface.co/docs/datasets/process)
_SAME_COLUMNS = frozenset({"select", "shuffle", "take", "skip", "train_test_split", "shard", "sort", "flatten_indices"})
_COPIES = frozenset({"copy.copy", "copy.deepcopy", "typing.cast"})

ParsedClasses = Callable[[ast.Call, Spot], tuple[str, ...]]
Recorded = Callable[[ast.Call, Spot], bool]


class Links:
    """Finds the recorded call (or the parser's result) behind an expression."""

    def __init__(self, values: Values, recorded: Recorded, parsed_classes: ParsedClasses) -> None:
        self.values = values
        self.names = values.names
        self._recorded = recorded
        self._parsed_classes = parsed_classes

    def link(self, node: ast.AST, spot: Spot, index: int | None = None) -> Link | None:
        """The call that a value comes from, None when that is not seen. `index`: which part of a tuple."""
        try:
            return self._link(node, spot, index)
        except (CannotTell, RecursionError):
            return None

    def _link(self, node: ast.AST, spot: Spot, index: int | None) -> Link | None:
        if isinstance(node, ast.Call):
            return self._of_call(node, spot, index)
        if isinstance(node, ast.Name):
            return self._of_name(node, spot)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node, spot)
        if isinstance(node, ast.Subscript):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            return self.link(node.value, spot, key if isinstance(key, int) else index)
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            choices = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
            found = next(filter(None, (self.link(each, spot, index) for each in choices)), None)
            return replace(found, sure=False) if found else None
        return None

    # --- calls ------------------------------------------------------------------------------------------------

    def _of_call(self, node: ast.Call, spot: Spot, index: int | None) -> Link | None:
        place = spot.module.source.place(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in {*PARSE_METHODS, "parse"}:
            classes = self._parsed_classes(node, spot)
            position = 0 if index is None and len(classes) == 1 else index
            if position is not None and -len(classes) <= position < len(classes):
                return Link(place, classes[position])
            if classes or node.func.attr in PARSE_METHODS:
                return None
        if self._recorded(node, spot):
            return Link(place)
        origin = self.names.origin(node.func, spot)
        if origin in {"dataclasses.replace", "replace"} and node.args:
            return self._replaced(node, spot)
        if origin in _COPIES and node.args:
            return self.link(node.args[-1], spot, index)
        through = self._through_function(node, spot, index)
        if through is not None:
            return through
        return self._through_method(node, spot)

    def _replaced(self, node: ast.Call, spot: Spot) -> Link | None:
        found = self.link(node.args[0], spot)
        if found is None:
            return None
        added = arguments_of(self.values, ast.Call(node.func, [], node.keywords), "replace", spot)
        return replace(
            found,
            changes={**found.changes, **added.settings},
            replaced=found.replaced | frozenset(added.settings),
            sure=found.sure and not added.hidden,
        )

    def _through_function(self, node: ast.Call, spot: Spot, index: int | None) -> Link | None:
        """Follow `build_config()` into a function of the user's with a single `return`."""
        if not isinstance(node.func, ast.Name):
            return None
        try:
            binding, at = self.names.binding(node.func.id, spot)
            if binding.imported:
                binding, at = self.names.exported(binding.imported, at)
        except CannotTell:
            return None
        function = binding.value
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        value = only_return(function)
        scope = at.module.scopes.get(function)
        if value is None or scope is None:
            return None
        return self._returned(value, at.at(scope, value.lineno + 1), index)

    def _returned(self, value: ast.expr, spot: Spot, index: int | None) -> Link | None:
        if isinstance(value, ast.Tuple) and index is not None and -len(value.elts) <= index < len(value.elts):
            return self.link(value.elts[index], spot)
        return self.link(value, spot, index)

    def _through_method(self, node: ast.Call, spot: Spot) -> Link | None:
        """`dataset.map(...)`, `model.to(...)`, `tokenize(dataset)`: the same object, changed."""
        if isinstance(node.func, ast.Attribute):
            found = self.link(node.func.value, spot)
            same = node.func.attr in _SAME_COLUMNS
            return replace(found, direct=found.direct and same) if found else None
        if isinstance(node.func, ast.Name) and node.args and not node.func.id[:1].isupper():
            found = self.link(node.args[0], spot)
            return replace(found, direct=False) if found else None
        return None

    # --- names ------------------------------------------------------------------------------------------------

    def _of_name(self, node: ast.Name, spot: Spot) -> Link | None:
        try:
            binding, at = self.names.binding(node.id, spot)
            return self._with_changes(self._of_binding(binding, at, node.id), node.id, spot, at)
        except CannotTell:
            for binding, at in reversed(self.names.all_bindings(node.id, spot)):
                found = self._of_binding(binding, at, node.id)
                if found is not None:
                    changed = self._with_changes(found, node.id, spot, at)
                    return replace(changed, sure=False) if changed else None
            return None

    def _of_binding(self, binding: Binding, at: Spot, name: str) -> Link | None:
        if binding.parameter:
            try:
                value, caller = self.names.argument(name, at)
            except CannotTell:
                return None
            return self.link(value, caller)
        if binding.imported:
            binding, at = self.names.exported(binding.imported, at)
        if binding.value is None or isinstance(binding.value, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        return self.link(binding.value, at, binding.index)

    def _of_attribute(self, node: ast.Attribute, spot: Spot) -> Link | None:
        """`self.config` where the class sets it exactly once; `module.config` of a module beside the script."""
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            found = [
                each
                for each in spot.module.changes
                if each.base == "self" and each.key == node.attr and each.attribute and _same_class(each, spot)
            ]
            if len(found) == 1 and found[0].value is not None:
                line = getattr(found[0].node, "lineno", 0)
                return self.link(found[0].value, spot.at(found[0].scope, line))
            return None
        binding, at = self.names.exported(self.names.origin(node, spot), spot)
        return self._of_binding(binding, at, node.attr)

    # --- attributes set later ---------------------------------------------------------------------------------

    def _with_changes(self, found: Link | None, name: str, spot: Spot, at: Spot) -> Link | None:
        if found is None:
            return None
        changes, sure = dict(found.changes), found.sure
        for change in spot.module.changes:
            if change.base != name or not change.attribute or change.scope not in (spot.scope, at.scope):
                continue
            line = getattr(change.node, "lineno", 0)
            if (change.scope is spot.scope and line > spot.line) or (change.scope is at.scope and line < at.line):
                continue
            if isinstance(change.key, str):
                changes[change.key] = self.change_setting(change, spot)
            else:
                sure = False
        return replace(found, changes=changes, sure=sure)

    def change_setting(self, change: AttributeChange, spot: Spot) -> Observed:
        """`config.bf16 = True` as a setting; unknown when it stands in a branch."""
        line = getattr(change.node, "lineno", 0)
        here = Spot(spot.module, change.scope, line, spot.depth)
        setting = setting_of(self.values, str(change.key), DictEntry(change.node, change.value, here), here)
        return replace(setting, value=UNKNOWN) if change.conditional else setting


def _same_class(change: AttributeChange, spot: Spot) -> bool:
    return change.scope.parent is not None and change.scope.parent is spot.scope.parent


def only_return(function: FunctionNode) -> ast.expr | None:
    """The value of a function's only `return`, nested functions left aside."""
    found: list[ast.expr | None] = []
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, ast.Return):
            found.append(node.value)
        stack.extend(ast.iter_child_nodes(node))
    return found[0] if len(found) == 1 else None
