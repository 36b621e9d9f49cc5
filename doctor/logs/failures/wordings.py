"""Exceptions that Python, numpy, torch and json word about values: which expression of the line held what is wrong.

The words are fixed (https://docs.python.org/3/library/exceptions.html); only with the line that raised do they tell a
cause: `int(args.machine_rank)` was not given, `text.split("<answer>")[1]` has no such part.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.catalogue.unrecognised import Asked
from doctor.logs.failures import expressions as line
from doctor.logs.failures.frames import Frame


class Shown(NamedTuple):
    """What an exception shows; the fields are those of `doctor.catalogue.unrecognised.Mismatch`."""

    case: Asked
    name: str = ""
    of: str = ""
    subject: str = ""
    given: str = ""
    taken: str = ""


class _Asked(NamedTuple):
    """An exception about a value, its message and the line that raised."""

    match: re.Match[str]
    tree: ast.AST | None
    code: str
    frame: Frame | None


#: objects that hold what was given on a command line or in a configuration
_OPTIONS = later(r"(?i)(?:^|_)(?:args|arguments|cfg|config|conf|opts?|options|params|hparams|settings|flags)$")
_READ_OF_ENVIRONMENT = frozenset({"getenv"})
_SEARCHES = frozenset({"nonzero", "where", "argwhere", "flatnonzero"})
_CONVERSIONS = ("int", "float", "tensor", "as_tensor", "array", "asarray", "Decimal", "range", "len", "sum")
_PATHS = (
    "join", "open", "Path", "exists", "isdir", "isfile", "listdir", "makedirs", "fspath", "load", "from_pretrained",
    "abspath", "expanduser", "basename", "dirname", "realpath", "normpath",
)  # fmt: skip


def shown_by(kind: str, message: str, code: str, frame: Frame | None) -> Shown | None:
    """What an exception's fixed words show, with the line that raised.

    Args:
        kind: its class, without the module.
        message: in one line, without secrets.
        code: the line that raised, "" where none is shown.
        frame: that asked.

    """
    for of, pattern, function in _WORDS:
        match = pattern.search(message) if kind == of else None
        if match is not None:
            return function(_Asked(match, line.parsed(code), code, frame))
    return None


# None where a value is required ---------------------------------------------------------------------------------------


def returned_none(code: str, name: str) -> Shown | None:
    """Of an attribute asked of None: the call that returned it, or the option that was not given."""
    owner = line.one(line.owners(line.parsed(code), name)) if name else None
    return _of_none(owner, name) if isinstance(owner, (ast.Call, ast.Await)) or _option(owner) else None


def _of_none(node: ast.expr | None, name: str = "") -> Shown | None:
    """What is None: an option, the result of a call, a variable."""
    node = node.value if isinstance(node, ast.Await) else node
    if node is None:
        return None
    if option := _option(node):
        return Shown("none_option", option, subject=line.shown(node))
    if isinstance(node, ast.Call):
        if variable := _variable(node):
            return Shown("key_variable", variable)
        return Shown("none_returned", name, line.shown(node.func), line.shown(node))
    known = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
    return Shown("none_value", name, subject=line.shown(node)) if known else None


def _option(node: ast.expr | None) -> str:
    """The option that an expression reads: `args.machine_rank` or `cfg["machine_rank"]`; "" for any other."""
    if isinstance(node, ast.Attribute) and _OPTIONS.search(line.name_of(node.value)):
        return node.attr
    if isinstance(node, ast.Subscript) and _OPTIONS.search(line.name_of(node.value)):
        return str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""
    return ""


def _variable(call: ast.Call) -> str:
    """The variable that `os.getenv("X")` or `os.environ.get("X")` reads."""
    environment = isinstance(call.func, ast.Attribute) and line.name_of(call.func.value) == "environ"
    if line.name_of(call.func) not in _READ_OF_ENVIRONMENT and not environment:
        return ""
    first = call.args[0] if call.args else None
    return str(first.value) if isinstance(first, ast.Constant) else ""


def _converted(asked: _Asked) -> Shown | None:
    """`int(x)`, `torch.tensor(xs)`: None among what becomes a number."""
    found = line.arguments(line.calls(asked.tree, *_CONVERSIONS))
    node = line.one(found)
    if line.name_of(node).startswith(("reward", "output_reward")) if node is not None else False:
        return Shown("none_reward", subject=line.shown(node))
    return _of_none(node)


def _path_of_none(asked: _Asked) -> Shown | None:
    return _of_none(line.one(line.arguments(line.calls(asked.tree, *_PATHS))))


def _operated(asked: _Asked) -> Shown | None:
    """An operator between two, one of which is None or a text."""
    left, right = asked.match["left"], asked.match["right"]
    of = left if right == "int" else right if left == "int" else ""
    summed = line.one(line.arguments(line.calls(asked.tree, "sum", "fsum")))
    if summed is not None and of in _MANY and asked.match["operator"] == "+":
        return Shown("summed", of=of, subject=line.shown(summed))
    pairs = line.operands(asked.tree)
    if len(pairs) != 1:  # of several the exception names the operator
        pairs = line.operands_of(asked.tree, asked.match["operator"] or asked.match["compared"] or "")
    if len(pairs) != 1:
        return None
    place = 0 if left == "NoneType" else 1 if right == "NoneType" else None
    if place is not None and left != right:
        return _of_none(pairs[0][place])
    if {left, right} in ({"str", "int"}, {"str", "float"}):
        text = pairs[0][0 if left == "str" else 1]
        return Shown("number_as_text", _option(text), subject=line.shown(text))
    return None


def _multiplied(asked: _Asked) -> Shown | None:
    """A text times a number; of two variables nothing tells which is the text."""
    options = [each for pair in line.operands(asked.tree) for each in pair if _option(each)]
    option = line.one(options)
    return Shown("number_as_text", _option(option), subject=line.shown(option)) if options else None


# positions and counts -------------------------------------------------------------------------------------------------


def _beyond(asked: _Asked) -> Shown | None:
    """A position that a list does not have."""
    taken = line.positions(asked.tree)
    different = {ast.dump(each[0]): each for each in taken}
    if len(different) != 1:
        return None
    what, position = next(iter(different.values()))
    if isinstance(what, ast.Attribute) and what.attr == "argv":
        return Shown("index_argument", line.shown(position))
    if isinstance(what, ast.Call) and line.name_of(what.func) in {"split", "rsplit", "splitlines", "findall"}:
        return Shown("index_split", line.shown(what.args[0] if what.args else None), subject=line.shown(what))
    first = line.shown(position) in {"0", "-1"}
    return Shown("index_empty" if first else "index_beyond", line.shown(position), subject=line.shown(what))


def _beyond_size(asked: _Asked) -> Shown | None:
    index, size = int(asked.match["index"]), int(asked.match["size"])
    places = line.positions(asked.tree)
    taken = {line.shown(what): what for what, _ in places}
    if len(taken) > 1:  # of several the one with that number
        taken = {line.shown(what): what for what, position in places if line.shown(position) == str(index)}
    subject = next(iter(taken)) if len(taken) == 1 else ""
    if not size:
        searched = _searched(taken[subject]) if subject else None
        if searched is not None:
            return searched
        return Shown("index_empty", str(index), subject=subject)
    return Shown("index_size", str(index), subject=subject, given=str(index), taken=str(size))


def _searched(what: ast.expr) -> Shown | None:
    """An entry of the places where a comparison holds, which are none: `(ids != pad).nonzero()`."""
    if not any(
        line.name_of(each.func) in _SEARCHES for each in line.every(what, ast.Call) if isinstance(each, ast.Call)
    ):
        return None
    compared = [each for each in line.every(what, ast.Compare) if isinstance(each, ast.Compare)]
    if len(compared) != 1 or len(compared[0].ops) != 1:
        return None
    subject, sought = line.shown(compared[0].left), line.shown(compared[0].comparators[0])
    if isinstance(compared[0].ops[0], ast.NotEq):
        return Shown("index_only", sought, subject=subject)
    return Shown("index_nowhere", sought, subject=subject) if isinstance(compared[0].ops[0], ast.Eq) else None


def _popped(asked: _Asked) -> Shown | None:
    owners = [*line.owners(asked.tree, "pop"), *line.owners(asked.tree, "popleft")]
    subject = line.shown(line.one(owners))
    return Shown("index_empty", subject=subject) if subject and asked.frame is not None and asked.frame.own else None


def _unpacked(asked: _Asked) -> Shown | None:
    node = line.unpacked(asked.tree)
    groups = asked.match.groupdict()
    taken, given = groups.get("expected") or "", groups.get("got") or ""
    if isinstance(node, ast.Call) and line.name_of(node.func) in {"split", "rsplit", "partition"}:
        return Shown("index_split", line.shown(node.args[0] if node.args else None), subject=line.shown(node))
    return Shown("unpacked", subject=line.shown(node), given=given, taken=taken) if node is not None else None


def _zipped(asked: _Asked) -> Shown | None:
    """Two of what `zip(..., strict=True)` walks together, of which one ends first."""
    walked = line.calls(asked.tree, "zip")
    first, second = int(asked.match["other"]) - 1, int(asked.match["one"]) - 1
    if len(walked) != 1 or max(first, second) >= len(walked[0].args):
        return None
    long, short = (second, first) if asked.match["how"] == "longer" else (first, second)
    names = [line.shown(walked[0].args[at]) for at in (long, short)]
    return Shown("zip_unequal", of=names[1], subject=names[0]) if all(names) else None


def _divided(asked: _Asked) -> Shown | None:
    node = line.one(line.divisors(asked.tree))
    if isinstance(node, ast.Call) and line.name_of(node.func) == "len" and node.args:
        return Shown("zero_length", subject=line.shown(node.args[0]))
    return Shown("zero_value", subject=line.shown(node)) if node is not None else None


def _no_tensors(asked: _Asked) -> Shown | None:
    subject = line.shown(line.one(line.arguments(line.calls(asked.tree, "cat", "stack", "concatenate", "vstack"))))
    return Shown("index_empty", subject=subject) if subject else None


# texts, files and ids -------------------------------------------------------------------------------------------------


def _number(asked: _Asked) -> Shown | None:
    node = line.one(line.arguments(line.calls(asked.tree, "int", "float")))
    if option := _option(node):
        return Shown("number_option", option, given=asked.match["text"])
    return Shown("number_of_text", asked.match["text"], subject=line.shown(node))


def _no_json(asked: _Asked) -> Shown | None:
    subject = line.shown(line.one(line.arguments(line.calls(asked.tree, "loads", "load"))))
    extra = asked.match["what"] == "Extra data"
    return Shown("json_lines" if extra else "json_text", subject=subject)


def _not_json(asked: _Asked) -> Shown | None:
    subject = line.shown(line.one(line.arguments(line.calls(asked.tree, "dumps", "dump"))))
    return Shown("json_object", of=asked.match["of"], subject=subject)


#: the first byte of a file that is no pickle, and what it is: `version https://git-lfs...`, `<html>`
#: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
_FIRST_BYTES: dict[str, Asked] = {"v": "pickle_pointer", "<": "pickle_page"}


def _no_pickle(asked: _Asked) -> Shown | None:
    groups = asked.match.groupdict()
    if not groups.get("key"):
        return Shown("pickle_empty")
    return Shown(_FIRST_BYTES.get(groups["key"], "pickle_other"), groups["key"])


def _negative_ids(asked: _Asked) -> Shown | None:
    decoded = line.calls(asked.tree, "decode", "batch_decode", "_batch_decode", "_decode", "convert_ids_to_tokens")
    return Shown("ids_negative", subject=line.shown(line.one(line.arguments(decoded)))) if decoded else None


def _text_as_tensor(asked: _Asked) -> Shown | None:
    names = ("tensor", "as_tensor", "array", "asarray")
    if line.calls(asked.tree, "apply_chat_template"):
        return Shown("tensor_of_keys", "apply_chat_template")
    return Shown("tensor_of_text", subject=line.shown(line.one(line.arguments(line.calls(asked.tree, *names)))))


# calls ----------------------------------------------------------------------------------------------------------------


def _abstract(asked: _Asked) -> Shown | None:
    return Shown("abstract", asked.match["name"], asked.match["of"])


def _twice_given(asked: _Asked) -> Shown | None:
    return Shown("call_twice", asked.match["name"], asked.match["of"])


def _ended_with(asked: _Asked) -> Shown | None:
    command = " ".join(each.strip(" '\"") for each in asked.match["command"].strip("'[]").split(","))
    return Shown("program_failed", command[:120].replace("`", "'"), given=asked.match["code"])


def _not_written(asked: _Asked) -> Shown | None:
    return Shown("not_written", asked.frame.function) if asked.frame is not None and asked.frame.package else None


def _required(asked: _Asked) -> Shown | None:
    """An assertion without a message that compares two named things."""
    node = line.asserted(asked.tree)
    compared = isinstance(node, ast.Compare) and not any(
        isinstance(each, ast.Constant) and each.value is None for each in node.comparators
    )
    return Shown("asserted", subject=line.shown(node)) if compared else None


def _several(asked: _Asked) -> Shown | None:
    subject = line.shown(line.one(line.owners(asked.tree, "item")))
    return Shown("item_of_several", subject=subject, given=asked.match["count"]) if subject else None


def _without_dimensions(asked: _Asked) -> Shown | None:
    """A tensor of a single number where one with rows is needed: which of the values that the line goes through."""
    divided = line.one(line.arguments(line.calls(asked.tree, *_ROWS)))
    return Shown("no_dimension", subject=line.shown(divided)) if divided is not None else None


#: what `sum()` cannot add to the 0 that it begins with
_MANY = frozenset({"dict", "list", "tuple", "str", "set"})
#: functions that go through the first dimension
_ROWS = ("chunk", "split", "index_select", "narrow", "unbind", "cat", "stack", "concat", "gather", "select", "size")
_NONE_AS_NUMBER = later(
    r"argument must be (?:a string|a number)[^\n]{0,60}, not '?NoneType'?|must be real number, not NoneType"
    r"|^Could not infer dtype of NoneType"
)
_NONE_AS_PATH = later(r"^expected str, bytes or os\.PathLike object, not NoneType")
_OPERANDS = later(
    r"^(?:unsupported operand type\(s\) for (?P<operator>[^\s:]{1,6}(?: or [\w()]{1,8})?):"
    r"|'(?P<compared>[<>=!]{1,2})' not supported between instances of) '(?P<left>\w{1,40})' and '(?P<right>\w{1,40})'"
)
_TEXT_TIMES_NUMBER = later(r"^can't multiply sequence by non-int of type 'float'")
_NOT_JSON = later(r"^Object of type (?P<of>\w{1,80}) is not JSON serializable")
_ABSTRACT = later(
    r"^Can't instantiate abstract class (?P<of>\w{1,80}) with(?:out an implementation for)? abstract methods? "
    r"'?(?P<name>\w{1,80})"
)
_TWICE = later(
    r"^(?P<of>[A-Za-z_][\w.<>]{0,160})\(\) got multiple values for (?:keyword )?argument '(?P<name>\w{1,80})'"
)
_SHORTER = later(r"^(?:list|string|tuple) index out of range$")
_OUT_OF_SIZE = later(
    r"^index (?P<index>-?\d{1,12}) is out of bounds for (?:dimension|axis) \d with size (?P<size>\d{1,12})"
)
_NO_ROWS = later(r"^Dimension specified as -?\d but tensor has no dimensions")
_EMPTY = later(r"^pop from (?:an )?empty (?:list|deque|set)")
_TOO_FEW = later(r"^not enough values to unpack \(expected (?P<expected>[\w ]{1,20}), got (?P<got>\d{1,6})\)")
_TOO_MANY = later(r"^too many values to unpack \(expected (?P<expected>\d{1,6})(?:, got (?P<got>\d{1,6}))?\)")
#: https://peps.python.org/pep-0618/
_UNEQUAL = later(r"^zip\(\) argument (?P<one>\d{1,3}) is (?P<how>longer|shorter) than arguments? (?P<other>\d{1,3})")
_NO_FLOAT = later(r"^could not convert string to float: ['\"]?(?P<text>[^\n]{0,80}?)['\"]?$")
_NO_INTEGER = later(r"^invalid literal for int\(\) with base 10: ['\"](?P<text>[^\n]{0,80}?)['\"]$")
_BY_ZERO = later(r"(?:division|modulo)\b.{0,12}\bby zero")
_OF_TEXT = later(r"^too many dimensions 'str'")
_NO_TENSORS = later(r"expected a non-empty (?:list of Tensors|TensorList)|need at least one array to")
_SEVERAL = later(r"^a Tensor with (?P<count>\d{1,12}) elements cannot be converted to Scalar")
_NO_JSON = later(r"^(?P<what>Extra data|Expecting value|Expecting property name|Unterminated string)")
_NO_PICKLE = later(r"^invalid load key, ['\"](?P<key>[^'\"\n]{1,8})['\"]")
_NOTHING_LEFT = later(r"^Ran out of input$")
_NO_IDS = later(r"^(?:out of range integral type conversion attempted|can't convert negative int to unsigned)")
_ENDED = later(
    r"^Command (?P<command>\[[^\n]{1,300}?\]|'[^\n]{1,300}?') returned non-zero exit status (?P<code>\d{1,3})"
)
_NO_WORDS = later(r"^$")
#: class, words, and who reads them; the first whose reader sees something counts
_WORDS: Sequence[tuple[str, re.Pattern[str], Callable[[_Asked], Shown | None]]] = (
    ("TypeError", _NONE_AS_NUMBER, _converted),
    ("TypeError", _NONE_AS_PATH, _path_of_none),
    ("TypeError", _OPERANDS, _operated),
    ("TypeError", _TEXT_TIMES_NUMBER, _multiplied),
    ("TypeError", _NOT_JSON, _not_json),
    ("TypeError", _ABSTRACT, _abstract),
    ("TypeError", _TWICE, _twice_given),
    ("IndexError", _SHORTER, _beyond),
    ("IndexError", _OUT_OF_SIZE, _beyond_size),
    ("IndexError", _EMPTY, _popped),
    ("IndexError", _NO_ROWS, _without_dimensions),
    ("ValueError", _TOO_FEW, _unpacked),
    ("ValueError", _TOO_MANY, _unpacked),
    ("ValueError", _UNEQUAL, _zipped),
    ("ValueError", _NO_FLOAT, _number),
    ("ValueError", _NO_INTEGER, _number),
    ("ValueError", _OF_TEXT, _text_as_tensor),
    ("ValueError", _NO_TENSORS, _no_tensors),
    ("RuntimeError", _NO_TENSORS, _no_tensors),
    ("RuntimeError", _SEVERAL, _several),
    ("RuntimeError", _NONE_AS_NUMBER, _converted),
    ("ZeroDivisionError", _BY_ZERO, _divided),
    ("JSONDecodeError", _NO_JSON, _no_json),
    ("UnpicklingError", _NO_PICKLE, _no_pickle),
    ("EOFError", _NOTHING_LEFT, _no_pickle),
    ("OverflowError", _NO_IDS, _negative_ids),
    ("CalledProcessError", _ENDED, _ended_with),
    ("NotImplementedError", _NO_WORDS, _not_written),
    ("AssertionError", _NO_WORDS, _required),
)
