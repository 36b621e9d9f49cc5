"""Which expressions of the line that raised have the two sizes that do not fit, and where the log printed them before.

"The size of tensor a must match the size of tensor b" names neither; the quoted line does, where it has one operation
of two (https://docs.pytorch.org/docs/stable/notes/broadcasting.html: `a` is the left side, `b` the right one).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.record import replace
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding
from doctor.logs.failures import expressions as line
from doctor.logs.failures.asked import code_of, raised_at
from doctor.logs.failures.case import Case
from doctor.logs.failures.raised import Raised

_PROBLEM = "TOR052"
_SIZES, _OF_LIST = ("one", "two", "dim"), ("one", "two", "along")
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr, ast.Lt, ast.Gt, ast.LtE, ast.GtE, ast.Eq)
#: functions of torch that put two tensors together element by element
_OF_TWO = (
    "logical_and", "logical_or", "logical_xor", "minimum", "maximum", "add", "sub", "mul", "div", "eq", "masked_fill",
)  # fmt: skip
_JOINS = ("cat", "concat", "concatenate", "stack", "vstack", "hstack")
_NAME = later(r"[A-Za-z_]\w*")
_NUMBER = later(r"(?<![\w.])\d{1,9}(?![\w.]*\d)")
_LINES, _LONGEST, _LEAST_LETTERS = 200, 400, 6


def told(findings: Sequence[Finding], case: Case) -> tuple[Finding, ...]:
    """The findings, the first, where it is about two sizes, with the expressions that have them.

    Args:
        findings: root cause first.
        case: what the logs say.

    """
    first = findings[0] if findings else None
    if first is None or first.problem.id != _PROBLEM:
        return tuple(findings)
    of_two, of_list = (all(each in first.values for each in names) for names in (_SIZES, _OF_LIST))
    raised = raised_at(first, case) if of_two or of_list else None
    pair = None
    if raised is not None:
        pair = _listed(raised) if of_list else _sides(redact_text(code_of(raised, case), homes=False))
    if raised is None or pair is None:
        return tuple(findings)
    left, right = map(line.shown, pair)
    sized = {left: str(first.values["one"]), right: str(first.values["two"])}
    printed = tuple(filter(None, (_printed(each, size, case, raised) for each, size in sized.items())))
    values = {**first.values, "left": left, "right": right}
    return (replace(first, values=values, evidence=(*first.evidence, *dict.fromkeys(printed))), *findings[1:])


def _sides(code: str) -> tuple[ast.expr, ast.expr] | None:
    """The two sides of the only operation of a line; None where it has several, or none of two named things."""
    tree = line.parsed(code)
    pairs = [
        (each.left, each.right)
        for each in line.every(tree, ast.BinOp)
        if isinstance(each, ast.BinOp) and isinstance(each.op, _ARITHMETIC)
    ]
    pairs += [
        (each.left, each.comparators[0])
        for each in line.every(tree, ast.Compare)
        if isinstance(each, ast.Compare) and len(each.ops) == 1 and isinstance(each.ops[0], _ARITHMETIC)
    ]
    for call in line.calls(tree, *_OF_TWO):
        method = isinstance(call.func, ast.Attribute) and line.name_of(call.func.value) not in {"torch", "F"}
        both = [call.func.value, *call.args] if method and isinstance(call.func, ast.Attribute) else call.args
        pairs += [(both[0], both[1])] if len(both) > 1 else []
    pairs = [pair for pair in pairs if not any(isinstance(each, ast.Constant) for each in pair)]
    return pairs[0] if len(pairs) == 1 and line.shown(pairs[0][0]) != line.shown(pairs[0][1]) else None


def _listed(raised: Raised) -> tuple[ast.expr, ast.expr] | None:
    """The two of a list that the innermost frame which writes one out joins: `cat([batch, first_batch])`."""
    for frame in reversed(raised.frames):
        lists = line.arguments(line.calls(line.parsed(redact_text(frame.code, homes=False)), *_JOINS))
        if lists and isinstance(lists[0], (ast.List, ast.Tuple)):
            both = lists[0].elts
            return (both[0], both[1]) if len(both) == len(_SIZES) - 1 else None
    return None


def _printed(expression: str, size: str, case: Case, raised: Raised) -> Observed | None:
    """The last line before the exception that prints this size beside the name of what has it."""
    names = {each for each in _NAME.findall(expression) if len(each) >= _LEAST_LETTERS and each != "inputs"}
    names |= {part for each in names for part in each.split("_") if len(part) >= _LEAST_LETTERS}
    if not names or not case.kept:
        return None
    before = [(number, text) for number, text in case.kept[raised.line.source] if number < raised.line.number]
    for number, text in reversed(before[-_LINES:]):
        if text.startswith("  ") or not names & set(re.findall(_NAME.pattern, text[:_LONGEST])):
            continue
        if size in _NUMBER.findall(text[:_LONGEST]):
            return Observed.quoted(raised.line.file, redact_text(text.strip())[:300], number)
    return None
