"""Which columns a dataset has when the trainer gets it: what `map`, `rename_column` and their like make of it.

What each method of `datasets.Dataset` does to the columns: https://huggingface.co/docs/datasets/process
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.base.record import replace
from doctor.facts.rows import CONVERSATION, TEXT, Rows
from doctor.readers.script.ast_links import only_return
from doctor.readers.script.ast_names import CannotTell, Spot
from doctor.readers.script.ast_scopes import Binding, FunctionNode, Module
from doctor.readers.script.ast_values import DictEntry, Entries, Values
from doctor.readers.script.data_columns import loaded_columns
from doctor.readers.script.return_kinds import own_nodes

_SAME = frozenset({
    "select", "shuffle", "take", "skip", "train_test_split", "shard", "sort", "flatten_indices", "filter", "repeat",
    "with_format", "to_iterable_dataset",
})  # fmt: skip
_LOADERS = ("load_dataset", "load_from_disk", "Dataset.from_json", "Dataset.from_csv", "Dataset.from_parquet")
_BEFORE_SPLIT = 4  # positional parameters of `load_dataset`: path, name, data_dir, data_files
_OF_TEXT = frozenset({"format", "strip", "lstrip", "rstrip", "join", "replace", "lower", "upper"})


class RowColumns:
    """Follows the expression that a trainer is given as `train_dataset`."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.names = values.names
        self.absent: list[tuple[ast.Subscript, str, tuple[str, ...], Module]] = []

    def of(self, node: ast.expr, spot: Spot) -> Rows | None:
        """The rows behind an expression; None where the source does not show what is done to them."""
        try:
            return self._of(node, spot)
        except (CannotTell, RecursionError):
            return None

    def _of(self, node: ast.AST, spot: Spot) -> Rows:
        if isinstance(node, ast.Name):
            return self._named(node, spot)
        if isinstance(node, ast.Subscript):
            rows = self._of(node.value, spot)
            if not isinstance(node.slice, ast.Constant) or node.slice.value in rows.columns:
                raise CannotTell  # a column, not a split
            return replace(rows, of_splits=False)
        if isinstance(node, ast.Call):
            return self._made(node, spot)
        raise CannotTell

    def _named(self, node: ast.Name, spot: Spot) -> Rows:
        if any(each.base == node.id and not each.attribute for each in spot.module.changes):
            raise CannotTell  # `splits["train"] = ...`
        binding, at = self._latest(node.id, spot)
        if binding.conditional and _keeps_columns(binding.value, node.id):
            return self._named(node, at)  # `if limit: data = data.select(range(limit))`
        if binding.parameter:
            return self._of(*self.names.argument(node.id, at))
        if binding.imported:
            binding, at = self.names.exported(binding.imported, at)
        if binding.value is None or binding.index is not None:
            raise CannotTell
        return self._of(binding.value, at)

    def _latest(self, name: str, spot: Spot) -> tuple[Binding, Spot]:
        """The last binding before a spot in its own scope, which may be conditional if it only leaves rows out."""
        bindings = self.names.all_bindings(name, spot)
        if not bindings or bindings[-1][1].scope is not spot.scope:
            return self.names.binding(name, spot)
        last, at = bindings[-1]
        if last.conditional and not _keeps_columns(last.value, name):
            raise CannotTell
        return last, at

    # --- calls ------------------------------------------------------------------------------------------------

    def _made(self, node: ast.Call, spot: Spot) -> Rows:
        origin = self.names.origin(node.func, spot)
        last_two = ".".join(origin.split(".")[-2:])
        if origin.rpartition(".")[2] in _LOADERS or last_two in _LOADERS:
            of_hub = origin == "datasets.load_dataset"
            columns, published = loaded_columns(node, self.values, spot) if of_hub else (None, False)
            return Rows(
                spot.module.source.place(node), columns or (), complete=columns is not None,
                of_splits=of_hub and _all_splits(node), published=columns is not None and published,
            )  # fmt: skip
        if last_two in {"Dataset.from_dict", "Dataset.from_list"} and node.args:
            return self._literal(node, last_two, spot)
        if isinstance(node.func, ast.Attribute):
            return self._changed(node, node.func, spot)
        return self._through(node, spot)

    def _through(self, node: ast.Call, spot: Spot) -> Rows:
        """A function of the user's with a single `return`."""
        function, at = self._function(node.func, spot)
        value = only_return(function) if not isinstance(function, ast.Lambda) else function.body
        scope = at.module.scopes.get(function)
        if value is None or scope is None:
            raise CannotTell
        return self._of(value, at.at(scope, value.lineno + 1))

    def _literal(self, node: ast.Call, name: str, spot: Spot) -> Rows:
        """`Dataset.from_dict({"prompt": [...]})` and `Dataset.from_list([{...}])`."""
        place = spot.module.source.place(node)
        if name.endswith("from_dict"):
            entries = self.values.entries(node.args[0], spot)
            columns = self._columns(entries)
            prompts = entries.items.get("prompt")
            kind = self._kind_of_all(prompts.value, prompts.spot) if prompts is not None and prompts.value else None
            return Rows(place, columns, complete=True, prompt_kind=kind)
        row, at = self._element(node.args[0], spot)
        entries = self.values.entries(row, at)
        return Rows(place, self._columns(entries), complete=True, prompt_kind=self._kind_in(entries))

    def _changed(self, node: ast.Call, function: ast.Attribute, spot: Spot) -> Rows:
        rows = self._of(function.value, spot)
        method = function.attr
        if method in {"map", "filter"} and node.args and rows.complete and not _takes_columns(node):
            self._note_absent(node.args[0], rows, spot)
        if method in _SAME:
            return replace(rows, of_splits=True) if method == "train_test_split" else rows
        place = spot.module.source.place(node)
        if method == "map":
            return replace(self._mapped(node, rows, function.value, spot), place=place)
        given = [self.values.fold(each, spot) for each in node.args[:2]]
        given += [self.values.fold(each.value, spot) for each in node.keywords if each.arg is not None]
        if method == "rename_column" and len(given) == 2:
            return replace(_renamed(rows, {given[0]: given[1]}), place=place)
        if method == "rename_columns" and len(given) == 1 and isinstance(given[0], dict):
            return replace(_renamed(rows, given[0]), place=place)
        if method == "remove_columns" and len(given) == 1:
            return replace(_without(rows, _listed(given[0])), place=place)
        if method == "select_columns" and len(given) == 1:
            kind = rows.prompt_kind if "prompt" in _listed(given[0]) else None
            return Rows(place, tuple(_listed(given[0])), complete=True, prompt_kind=kind)
        raise CannotTell

    # --- reads --------------------------------------------------------------------------------------------------

    def _note_absent(self, node: ast.expr, rows: Rows, spot: Spot) -> None:
        """Columns that a function reads of its rows, and which these do not have: `row["question"]`."""
        try:
            function, at = self._function(node, spot)
        except CannotTell:
            return
        parameters = (*function.args.posonlyargs, *function.args.args)
        if not parameters:
            return
        row = parameters[0].arg
        nodes = list(ast.walk(function))
        if any(isinstance(each, ast.Try) or _asks_for_key(each, row) for each in nodes):
            return
        read = [each for each in nodes if isinstance(each, ast.Subscript) and _names_alone(each.value, row)]
        written = {_key(each) for each in read if isinstance(each.ctx, ast.Store)}
        bound = any(isinstance(each, ast.Name) and each.id == row and isinstance(each.ctx, ast.Store) for each in nodes)
        for each in read if not bound else ():
            key = _key(each) if isinstance(each.ctx, ast.Load) else None
            if key is not None and key not in rows.columns and key not in written:
                self.absent.append((each, key, rows.columns, at.module))
                return

    # --- map --------------------------------------------------------------------------------------------------

    def _mapped(self, node: ast.Call, rows: Rows, base: ast.expr, spot: Spot) -> Rows:
        given = {each.arg: each.value for each in node.keywords}
        function = node.args[0] if node.args else given.get("function")
        if None in given or function is None or len(node.args) > 1:
            raise CannotTell
        added, kind, certain = self._added(function, spot, batched="batched" in given)
        removed = given.get("remove_columns")
        if removed is not None:
            rows = self._removed(rows, removed, base, spot)
        columns = tuple(dict.fromkeys((*rows.columns, *added)))
        kind = kind if "prompt" in added else rows.prompt_kind
        gone = tuple(each for each in rows.removed if each not in added)
        return replace(rows, columns=columns, removed=gone, complete=rows.complete and certain, prompt_kind=kind)

    def _removed(self, rows: Rows, node: ast.expr, base: ast.expr, spot: Spot) -> Rows:
        if isinstance(node, ast.Attribute) and node.attr == "column_names":
            # of the dataset itself, or of one of its splits
            if ast.unparse(node.value) not in {ast.unparse(base), f"{ast.unparse(base)}['train']"}:
                raise CannotTell
            return replace(rows, columns=(), complete=True, prompt_kind=None, published=False)
        return _without(rows, _listed(self.values.fold(node, spot)))

    def _added(self, node: ast.expr, spot: Spot, *, batched: bool) -> tuple[tuple[str, ...], str | None, bool]:
        """Columns that a mapped function gives, the kind of its prompts, and whether it gives no others."""
        function, at = self._function(node, spot)
        scope = at.scope if isinstance(function, ast.Lambda) else at.module.scopes.get(function)
        if scope is None or not (function.args.posonlyargs or function.args.args):
            raise CannotTell
        row = (*function.args.posonlyargs, *function.args.args)[0].arg
        given = [self._given(value, row, at.at(scope, value.lineno + 1)) for value in _returned(function)]
        if not given:
            raise CannotTell
        columns = [set(each.items) for each in given]
        shared = tuple(name for name in given[0].items if all(name in each for each in columns))
        kinds = {None if batched else self._kind_in(each) for each in given}
        same = all(each == columns[0] for each in columns) and all(each.complete for each in given)
        return shared, kinds.pop() if len(kinds) == 1 else None, same

    def _given(self, node: ast.expr, row: str, spot: Spot) -> Entries:
        """Keys of what a mapped function returns: a dictionary, or its row with keys set."""
        if isinstance(node, ast.Name) and node.id == row:
            return self._set_on(row, spot)
        if isinstance(node, ast.Dict):
            own = [each for each in zip(node.keys, node.values, strict=True) if not _is(*each, row)]
            node = ast.copy_location(ast.Dict([key for key, _ in own], [value for _, value in own]), node)
        entries = self.values.entries(node, spot)
        if not entries.items and not entries.complete:
            raise CannotTell
        return entries

    def _set_on(self, row: str, spot: Spot) -> Entries:
        """`row["prompt"] = ...` in the function itself; one that stands in a branch need not be set."""
        found = Entries()
        for change in spot.module.changes:
            if change.base != row or change.scope is not spot.scope or change.attribute:
                continue
            key = self.values.fold(change.key, spot) if isinstance(change.key, ast.AST) else change.key
            if change.conditional or change.value is None:
                found.complete = False
            else:
                found.items[str(key)] = DictEntry(change.node, change.value, spot)
        return found

    def _function(self, node: ast.expr, spot: Spot) -> tuple[FunctionNode | ast.Lambda, Spot]:
        """A function of the user's, undecorated, and where it is defined.

        Raises:
            CannotTell: it is none.

        """
        if isinstance(node, ast.Lambda):
            return node, spot
        if not isinstance(node, ast.Name):
            raise CannotTell
        binding, at = self.names.binding(node.id, spot)
        if binding.imported:
            binding, at = self.names.exported(binding.imported, at)
        if isinstance(binding.value, ast.Lambda):
            return binding.value, at
        if not isinstance(binding.value, (ast.FunctionDef, ast.AsyncFunctionDef)) or binding.value.decorator_list:
            raise CannotTell
        return binding.value, at

    # --- kinds of prompts -------------------------------------------------------------------------------------

    def _columns(self, entries: Entries) -> tuple[str, ...]:
        if not entries.complete or not entries.items:
            raise CannotTell
        return tuple(entries.items)

    def _kind_in(self, entries: Entries) -> str | None:
        prompt = entries.items.get("prompt")
        return self._kind(prompt.value, prompt.spot) if prompt is not None and prompt.value is not None else None

    def _kind_of_all(self, node: ast.expr, spot: Spot) -> str | None:
        """The kind of the elements of a list."""
        try:
            return self._kind(*self._element(node, spot))
        except CannotTell:
            return None

    def _element(self, node: ast.expr, spot: Spot) -> tuple[ast.expr, Spot]:
        """The expression that the elements of a list are made by; the first where they are written out."""
        if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
            return node.elts[0], spot
        if isinstance(node, ast.ListComp):
            return node.elt, spot
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Add)):
            return self._element(node.left, spot)
        if isinstance(node, ast.Name):
            binding, at = self.names.binding(node.id, spot)
            if isinstance(binding.value, ast.expr) and binding.index is None:
                return self._element(binding.value, at)
        raise CannotTell

    def _kind(self, node: ast.expr, spot: Spot) -> str | None:
        """Whether an expression plainly makes a list of messages or a text."""
        if isinstance(node, ast.List):
            return CONVERSATION if any(map(_is_message, node.elts)) else None
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return TEXT
        if isinstance(node, ast.BinOp):
            return self._kind(node.left, spot) or self._kind(node.right, spot)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return TEXT if node.func.attr in _OF_TEXT or _templated(node) else None
        if isinstance(node, ast.Name):
            try:
                binding, at = self.names.binding(node.id, spot)
            except CannotTell:
                return None
            return self._kind(binding.value, at) if isinstance(binding.value, ast.expr) and not binding.index else None
        return None


def _asks_for_key(node: ast.AST, name: str) -> bool:
    """`"context" in row`, `row.keys()`."""
    if isinstance(node, ast.Compare):
        return any(isinstance(each, (ast.In, ast.NotIn)) for each in node.ops) and any(
            _names_alone(each, name) for each in node.comparators
        )
    return isinstance(node, ast.Attribute) and node.attr == "keys" and _names_alone(node.value, name)


def _names_alone(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _key(node: ast.Subscript) -> str | None:
    return node.slice.value if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) else None


def _takes_columns(node: ast.Call) -> bool:
    """Whether the function is handed columns instead of rows, or the call is not shown whole."""
    return any(each.arg in {"input_columns", None} for each in node.keywords)


def _keeps_columns(value: ast.AST | None, name: str) -> bool:
    """Whether an expression is the dataset of a name with fewer rows, or in another order."""
    function = value.func if isinstance(value, ast.Call) else None
    if not isinstance(function, ast.Attribute) or function.attr not in _SAME - {"train_test_split"}:
        return False
    return isinstance(function.value, ast.Name) and function.value.id == name


def _all_splits(node: ast.Call) -> bool:
    """Whether `load_dataset` is asked for no split; its fifth argument is one."""
    named = {each.arg for each in node.keywords}
    starred = any(isinstance(each, ast.Starred) for each in node.args)
    return not (named & {"split", None} or starred or len(node.args) > _BEFORE_SPLIT)


def _templated(node: ast.Call) -> bool:
    """`apply_chat_template(..., tokenize=False)` gives a text."""
    assert isinstance(node.func, ast.Attribute)  # noqa: S101 - its caller asked
    if node.func.attr != "apply_chat_template":
        return False
    return any(each.arg == "tokenize" and getattr(each.value, "value", None) is False for each in node.keywords)


def _is_message(node: ast.AST) -> bool:
    return isinstance(node, ast.Dict) and any(getattr(each, "value", None) == "role" for each in node.keys)


def _is(key: ast.expr | None, value: ast.expr, name: str) -> bool:
    """Whether an item of a dictionary is `**name`."""
    return key is None and isinstance(value, ast.Name) and value.id == name


def _returned(function: FunctionNode | ast.Lambda) -> Iterator[ast.expr]:
    if isinstance(function, ast.Lambda):
        yield function.body
        return
    for node in own_nodes(function.body):
        if isinstance(node, ast.Return):
            if node.value is None:
                raise CannotTell
            yield node.value


def _listed(value: object) -> list[str]:
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, (list, tuple, set)) or not all(isinstance(each, str) for each in found):
        raise CannotTell
    return list(found)


def _without(rows: Rows, names: list[str]) -> Rows:
    columns = tuple(each for each in rows.columns if each not in names)
    kind = rows.prompt_kind if "prompt" not in names else None
    return replace(rows, columns=columns, removed=tuple(dict.fromkeys((*rows.removed, *names))), prompt_kind=kind)


def _renamed(rows: Rows, names: dict[str, str]) -> Rows:
    kept = tuple(names.get(each, each) for each in rows.columns)
    columns = tuple(dict.fromkeys((*kept, *names.values())))
    gone = (*rows.removed, *(each for each in names if each not in names.values()))
    touched = "prompt" in names or "prompt" in names.values()
    removed = tuple(each for each in gone if each not in columns)
    return replace(rows, columns=columns, removed=removed, prompt_kind=None if touched else rows.prompt_kind)
