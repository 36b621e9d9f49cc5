"""Calls that every process must make, where the script makes them on one rank alone: the others never arrive.

A branch on the rank in which a collective stands is right only where the other ranks make the same call elsewhere.
Which calls these are: https://docs.pytorch.org/docs/stable/distributed.html#collective-functions,
https://github.com/deepspeedai/DeepSpeed/pull/801 (`save_checkpoint`),
https://huggingface.co/docs/accelerate/concept_guides/deferring_execution
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from doctor.base.evidence import Place
from doctor.base.patterns import later
from doctor.base.record import distinct
from doctor.facts.script import LoneCall
from doctor.readers.script.ast_names import Names, Spot
from doctor.readers.script.ast_scopes import Module, dotted_text

_RANK = later(r"(?:^|[^a-z_])(?:get_)?(?:local_|global_|world_)?rank\b|\b(?:local_)?process_index\b")
_MAIN = later(
    r"(?:^|\.)is_(?:local_)?(?:main(?:_process|_rank)?|master|rank_?(?:zero|0)|world_process_zero|global_zero)$"
)
_DISTRIBUTED = frozenset({
    "barrier", "monitored_barrier", "all_reduce", "all_gather", "all_gather_object", "all_gather_into_tensor",
    "reduce_scatter", "reduce_scatter_tensor", "all_to_all", "all_to_all_single", "broadcast", "broadcast_object_list",
    "gather", "gather_object", "scatter", "scatter_object_list", "reduce",
})  # fmt: skip
_CHECKPOINT = frozenset(
    {"save", "load", "async_save", "get_model_state_dict", "get_state_dict", "get_optimizer_state_dict"}
)
_OF_ACCELERATOR = frozenset({"gather", "gather_for_metrics", "reduce", "pad_across_processes", "wait_for_everyone"})
_OF_TRAINER = frozenset({"train", "evaluate", "predict"})
#: which only sharded weights make a collective of
_SHARDED = {"accelerator": frozenset({"save_state", "get_state_dict"}), "trainer": frozenset({"save_model"})}
_OF_ENGINE = frozenset({"save_checkpoint", "load_checkpoint", "save_16bit_model"})
_LEAVES = (ast.Return, ast.Continue, ast.Break, ast.Raise)
_GROUP_BEHIND = 2  # positional arguments of a collective, behind which its group may stand


@distinct
class _Seen:
    """A collective in a scope. `first`: on the first rank alone, or on all others alone; None: on every rank."""

    node: ast.Call
    name: str
    first: bool | None
    test: ast.expr | None
    sharded: bool


class RankBranches:
    """Reads one module."""

    def __init__(self, module: Module, names: Names, spot: Spot) -> None:
        self._module, self._names, self._spot = module, names, spot
        self._with_deepspeed = any(each.dotted.split(".")[0] == "deepspeed" for each in module.imports)
        self._seen: list[_Seen] = []
        self._everywhere: dict[str, _Seen] = {}

    def lone_calls(self) -> Iterator[LoneCall]:
        """Collectives that the first rank makes and no other does, or the reverse."""
        bodies: list[tuple[str | None, list[ast.stmt]]] = [(None, self._module.source.tree.body)]
        functions = [each for each in self._module.scopes if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
        for function in functions:  # what a function of the user's does on every rank that calls it
            for each in self._in(function.body):
                if each.first is None:
                    self._everywhere.setdefault(function.name, each)
        bodies += [(each.name, each.body) for each in functions]
        for name, body in bodies:
            yield from self._alone(list(self._in(body, name)))

    def _alone(self, seen: Sequence[_Seen]) -> Iterator[LoneCall]:
        for each in seen:
            if each.first is None or each.test is None:
                continue
            if any(other.first is (not each.first) and other.name == each.name for other in seen):
                continue  # the others make it, too
            yield LoneCall(
                name=each.name,
                place=self._place(each.node),
                test=self._module.source.segment(each.test),
                test_place=self._place(each.test),
                sharded=each.sharded,
            )

    def _place(self, node: ast.AST) -> Place:
        return self._module.source.place(node)

    # --- statements -------------------------------------------------------------------------------------------

    def _in(self, body: Sequence[ast.stmt], name: str | None = None) -> Iterator[_Seen]:
        yield from self._block(body, None, None, name)

    def _block(
        self, body: Sequence[ast.stmt], first: bool | None, test: ast.expr | None, name: str | None
    ) -> Iterator[_Seen]:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if first is not None:  # it is called later, on this side: enough to answer the other one
                    yield from self._block(statement.body, first, None, name)
                continue
            if isinstance(statement, ast.ClassDef):
                continue
            side = is_first_rank(statement.test) if isinstance(statement, ast.If) else None
            if not isinstance(statement, ast.If) or side is None:
                yield from self._statement(statement, first, test, name)
                continue
            yield from self._block(statement.body, side, statement.test, name)
            yield from self._block(statement.orelse, not side, statement.test, name)
            if first is None and not statement.orelse and isinstance(statement.body[-1], _LEAVES):
                first, test = not side, statement.test  # the rest is left to the others

    def _statement(
        self, statement: ast.stmt, first: bool | None, test: ast.expr | None, name: str | None
    ) -> Iterator[_Seen]:
        blocks = [value for _, value in ast.iter_fields(statement) if _is_block(value)]
        inner = {id(each) for block in blocks for each in block}
        handlers = getattr(statement, "handlers", [])
        for node in _own(statement, inner | {id(each) for each in handlers}):
            if isinstance(node, ast.Call):
                yield from self._call(node, first, test, name)
        for block in (*blocks, *(each.body for each in handlers)):
            yield from self._block(block, first, test, name)

    def _call(self, node: ast.Call, first: bool | None, test: ast.expr | None, name: str | None) -> Iterator[_Seen]:
        found = self._collective(node)
        if found is not None:
            yield _Seen(node, found[0], first, test, found[1])
        elif first is not None and isinstance(node.func, ast.Name) and node.func.id != name:
            inside = self._everywhere.get(node.func.id)
            if inside is not None:
                yield _Seen(node, inside.name, first, test, inside.sharded)

    def _collective(self, node: ast.Call) -> tuple[str, bool] | None:
        """The name of a collective, and whether it is one only under sharded weights."""
        origin = self._names.origin(node.func, self._spot)
        owner, _, last = origin.rpartition(".")
        if owner in {"torch.distributed", "torch.distributed.distributed_c10d"} and last in _DISTRIBUTED:
            return None if _in_a_group(node, last) else (origin, False)
        if owner.startswith("torch.distributed.checkpoint") and last in _CHECKPOINT:
            return origin, False
        text = dotted_text(node.func)
        if text is None or "." not in text:
            return None
        base, _, method = text.rpartition(".")
        last_of_base = base.rpartition(".")[2].lower()
        if last_of_base.endswith("accelerator") and method in _OF_ACCELERATOR | _SHARDED["accelerator"]:
            return f"accelerator.{method}", method in _SHARDED["accelerator"]
        if last_of_base.endswith("trainer") and method in _OF_TRAINER | _SHARDED["trainer"]:
            return f"trainer.{method}", method in _SHARDED["trainer"]
        if self._with_deepspeed and method in _OF_ENGINE:
            return f"{last_of_base}.{method}", False
        return None


def is_first_rank(test: ast.expr) -> bool | None:
    """Whether a condition holds on the first rank alone (of all, or of each machine), or on all others alone."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inside = is_first_rank(test.operand)
        return (True if _is_rank(test.operand) else None) if inside is None else not inside
    if isinstance(test, ast.BoolOp):
        sides = [is_first_rank(each) for each in test.values]
        if isinstance(test.op, ast.And):
            return next((each for each in sides if each is not None), None)
        return sides[0] if len(set(sides)) == 1 else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and _is_rank(test.left):
        return _compared(test.ops[0], test.comparators[0])
    named = test.func if isinstance(test, ast.Call) and not test.args else test
    text = dotted_text(named)
    return True if text is not None and _MAIN.search(text.lower()) else None


def _compared(op: ast.cmpop, value: ast.expr) -> bool | None:
    try:
        known = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return None
    if isinstance(op, (ast.Eq, ast.NotEq)) and known in (0, "0"):
        return isinstance(op, ast.Eq)
    if isinstance(op, ast.Gt) and known == 0:
        return False
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(known, (list, tuple, set)) and set(known) in ({0, -1}, {0}):
        return isinstance(op, ast.In)
    return None


def _is_rank(node: ast.expr) -> bool:
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        return False
    return _RANK.search(ast.unparse(node).lower()) is not None


def _in_a_group(node: ast.Call, name: str) -> bool:
    """Whether it may be a collective of a part of the ranks."""
    named = any(each.arg in {"group", None} for each in node.keywords)
    return named or len(node.args) > (0 if name.endswith("barrier") else _GROUP_BEHIND)


def _is_block(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], ast.stmt)


def _own(statement: ast.stmt, left_out: set[int]) -> Iterator[ast.AST]:
    """Nodes of a statement without its blocks, and without what functions in it do later."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        stack += [
            each for each in ast.iter_child_nodes(node) if id(each) not in left_out and not isinstance(each, ast.Lambda)
        ]
