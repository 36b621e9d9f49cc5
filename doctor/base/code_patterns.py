"""Patterns of Python code with holes, held against a syntax tree; nothing is run.

`$NAME` is a hole: any expression, the same one wherever the name stands in an idiom; `$_` is another one each time. A
call is met by one that has at least its arguments, `f(..., $X)` by one that is given X anywhere, `f($K=$V)` by one with
any named argument. A dictionary is met by one with at least its entries. A name is met by the last part of a dotted
one: `SFTTrainer()` by `trl.SFTTrainer()`. The body `...` of a function, a class, a branch or a loop is any body, a body
that begins with `...` any that ends with the rest, and a function without parameters any function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from keyword import iskeyword
from typing import NamedTuple, Optional, Union

from doctor.base.patterns import later

_HOLE = later(r"\$(\w+)")
#: a name, or without one what holds none: a hole, a string, whose quotes and escapes differ from text to text
_NAME = later(r"\$\w+|'[^']*'|\"[^\"]*\"|([^\W\d]\w*)")
_PREFIX = "hole__"
_ANY = "_"
#: fields of a node that say nothing of what it means
_IGNORED = frozenset({"ctx", "lineno", "col_offset", "end_lineno", "end_col_offset", "type_comment", "kind"})
_BODIES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With)

#: what stands beside a body, and need not be the same
_BESIDE = frozenset({"decorator_list", "orelse", "returns", "type_params", "keywords"})

#: what holes hold, as source text
Held = Mapping[str, str]


class PatternPiece(NamedTuple):
    """One pattern of an idiom.

    Args:
        code: the pattern.
        where: hole -> what its text must hold, as a regular expression.
        alone: the expression is a statement of its own, so that its value is dropped.
        within: the piece stands inside of what the first piece met.
        outside: a pattern; the piece stands inside of nothing that meets it.
        later: the piece stands on a later line than the one before it.

    """

    code: str
    where: Mapping[str, str] = {}
    alone: bool = False
    within: bool = False
    outside: str = ""
    later: bool = False


class CodeForm(NamedTuple):
    """One way to write an idiom: pieces that all stand in the code, and pieces of which none does.

    `mentions` is a regular expression that the text of the script meets as well; `model` one that the name of a model
    which it loads meets.
    """

    code: Sequence[PatternPiece]
    unless: Sequence[PatternPiece] = ()
    mentions: str = ""
    model: str = ""


class Tree:
    """The nodes of a syntax tree by their kind, and which of them meet which piece by itself.

    Many forms are held against one tree, and share pieces; a form of which one piece is met nowhere is done with that.
    """

    def __init__(self, tree: ast.AST) -> None:
        """Walk it once."""
        self.inside: dict[int, dict[type, list[ast.AST]]] = {}
        self.top = tree
        nodes = self.nodes(tree)
        self.dropped = {id(each.value) for each in nodes.get(ast.Expr, ()) if isinstance(each, ast.Expr)}
        self._met: dict[tuple[str, str], bool] = {}

    def nodes(self, top: ast.AST) -> dict[type, list[ast.AST]]:
        """The nodes below one, itself among them, by kind, in the order of `ast.walk`."""
        known = self.inside.get(id(top))
        if known is None:
            known = self.inside[id(top)] = {}
            for each in ast.walk(top):
                known.setdefault(type(each), []).append(each)
        return known

    def may_meet(self, piece: PatternPiece) -> bool:
        """Whether any node meets a piece, whatever its holes hold elsewhere."""
        key = (piece.code, repr(piece.where))
        if key not in self._met:
            lone = PatternPiece(piece.code, piece.where)
            self._met[key] = next(_of(lone, self, self.top, {}), None) is not None
        return self._met[key]


#: ways to meet the pieces of a form that are tried at most: a script that repeats itself has millions of them
_MOST_TRIED = 20_000


def first_match(tree: Union[ast.AST, Tree], form: CodeForm) -> Optional[tuple[Held, ast.AST]]:
    """What the holes hold and the node of the last piece, where code holds the whole of a form."""
    whole = tree if isinstance(tree, Tree) else Tree(tree)
    if not all(map(whole.may_meet, form.code)):
        return None
    for held, node in _all_of(form.code, whole, {}, None, [_MOST_TRIED]):
        if not any(next(_of(each, whole, whole.top, held), None) for each in form.unless if whole.may_meet(each)):
            return held, node
    return None


@lru_cache(maxsize=1024)
def words_of(code: str) -> frozenset[str]:
    """Names that every text with this pattern holds, by which a text is told to be without it.

    They are read from the pattern's text: few patterns are ever held against a tree, and only these are parsed.
    """
    return frozenset(each for each in _NAME.findall(code) if each and not iskeyword(each))


def _all_of(
    pieces: Sequence[PatternPiece], tree: Tree, held: Held, outer: Optional[ast.AST], left: list[int], line: int = 0
) -> Iterator[tuple[Held, ast.AST]]:
    """Ways in which all pieces are met: what the holes hold, and the node of the last piece.

    `outer` is what the first piece met, `line` where the piece before stands, `left` how many ways may still be tried.
    """
    first, rest = pieces[0], pieces[1:]
    top = outer if first.within and outer is not None else tree.top
    for found, node in _of(first, tree, top, held):
        left[0] -= 1
        if left[0] < 0:
            return
        here = getattr(node, "lineno", 0)
        if first.later and here <= line:
            continue
        if not rest:
            yield found, node
        else:
            yield from _all_of(rest, tree, found, outer or node, left, here)


def _of(piece: PatternPiece, tree: Tree, top: ast.AST, held: Held) -> Iterator[tuple[Held, ast.AST]]:
    """Nodes below `top` that one piece is met by."""
    pattern, meeting = _compiled(piece.code), _Meeting(piece.where)
    inside: set[int] = set()
    if piece.outside:
        around = [node for _, node in _of(PatternPiece(piece.outside), tree, tree.top, {})]
        inside = {id(each) for node in around for each in ast.walk(node)}
    for node in tree.nodes(top).get(type(pattern), ()):
        if id(node) not in inside and not (piece.alone and id(node) not in tree.dropped):
            found = meeting.met(pattern, node, dict(held))
            if found is not None:
                yield found, node


@lru_cache(maxsize=1024)
def _compiled(code: str) -> ast.AST:
    """The node of a pattern: its statement, or the expression that it is.

    Raises:
        SyntaxError: it is no Python.

    """
    (node,) = ast.parse(_HOLE.sub(rf"{_PREFIX}\1", code)).body
    return node.value if isinstance(node, ast.Expr) else node


def _hole(pattern: object) -> str:
    name = pattern if isinstance(pattern, str) else getattr(pattern, "id", "") if isinstance(pattern, ast.Name) else ""
    return name[len(_PREFIX) :] if name.startswith(_PREFIX) else ""


class _Meeting:
    """One pattern held against nodes; `where` says what its holes may hold. None is no meeting, as everywhere here."""

    def __init__(self, where: Mapping[str, str]) -> None:
        self._where = where

    def met(self, pattern: object, node: object, held: dict[str, str]) -> Optional[dict[str, str]]:
        """What the holes hold where a node meets a pattern."""
        if hole := _hole(pattern):
            return self._filled(hole, node, held)
        if isinstance(pattern, ast.Constant) and pattern.value is ...:
            return held
        if isinstance(pattern, ast.Name) and isinstance(node, ast.Attribute):
            return held if node.attr == pattern.id else None
        if type(pattern) is not type(node):
            return None
        if isinstance(pattern, ast.Call) and isinstance(node, ast.Call):
            return self._call(pattern, node, held)
        if isinstance(pattern, ast.Dict) and isinstance(node, ast.Dict):
            return self._entries(pattern, node, held)
        if isinstance(pattern, list) and isinstance(node, list):
            return self._each(pattern, node, held) if len(pattern) == len(node) else None
        if isinstance(pattern, ast.AST):
            return self._fields(pattern, node, held)
        return held if pattern == node else None

    def _filled(self, hole: str, node: object, held: dict[str, str]) -> Optional[dict[str, str]]:
        text = node if isinstance(node, str) else ast.unparse(node) if isinstance(node, ast.expr) else None
        if text is None or (hole != _ANY and held.get(hole, text) != text):
            return None
        if hole in self._where and not re.search(self._where[hole], text):
            return None
        return held if hole == _ANY else {**held, hole: text}

    def _each(
        self, patterns: Sequence[object], nodes: Sequence[object], held: dict[str, str]
    ) -> Optional[dict[str, str]]:
        found: Optional[dict[str, str]] = held
        for pattern, node in zip(patterns, nodes):  # noqa: B905 - Python 3.9; both are of a length
            found = self.met(pattern, node, found) if found is not None else None
        return found

    def _fields(self, pattern: ast.AST, node: object, held: dict[str, str]) -> Optional[dict[str, str]]:
        found: Optional[dict[str, str]] = held
        free = isinstance(pattern, _BODIES)
        for name, value in ast.iter_fields(pattern):
            open_end = (name == "body" and _is_open(value)) or (name == "args" and not getattr(value, "args", True))
            if name in _IGNORED or (free and (name in _BESIDE or open_end)):
                continue
            wanted, there = value, getattr(node, name, None)
            if free and name == "body" and _is_open(value[:1]) and isinstance(there, list):
                wanted, there = value[1:], there[1 - len(value) :]
            found = self.met(wanted, there, found) if found is not None else None
        return found

    def _call(self, pattern: ast.Call, node: ast.Call, held: dict[str, str]) -> Optional[dict[str, str]]:
        found = self.met(pattern.func, node.func, held)
        wanted = list(pattern.args)
        if wanted and isinstance(wanted[0], ast.Constant) and wanted[0].value is ...:
            given = [*node.args, *(each.value for each in node.keywords)]
            for each in wanted[1:]:
                found = self._among(each, given, found)
        elif len(node.args) < len(wanted):
            return None
        elif found is not None:
            found = self._each(wanted, node.args[: len(wanted)], found)
        for keyword in pattern.keywords:
            found = self._keyword(keyword, node, found) if found is not None else None
        return found

    def _keyword(self, pattern: ast.keyword, node: ast.Call, held: dict[str, str]) -> Optional[dict[str, str]]:
        """The first argument that has this name, or any name that the hole takes, and this value."""
        for each in node.keywords:
            if not _hole(pattern.arg):
                found: Optional[dict[str, str]] = held if each.arg == pattern.arg else None
            else:
                found = self._filled(_hole(pattern.arg), each.arg, held)
            found = self.met(pattern.value, each.value, found) if found is not None else None
            if found is not None:
                return found
        return None

    def _entries(self, pattern: ast.Dict, node: ast.Dict, held: dict[str, str]) -> Optional[dict[str, str]]:
        found: Optional[dict[str, str]] = held
        there = [(key, value) for key, value in zip(node.keys, node.values) if key is not None]  # noqa: B905
        for key, value in zip(pattern.keys, pattern.values):  # noqa: B905 - Python 3.9; both are of a length
            found = self._among(value, [each for name, each in there if self.met(key, name, {}) is not None], found)
        return found

    def _among(
        self, pattern: object, nodes: Sequence[object], held: Optional[dict[str, str]]
    ) -> Optional[dict[str, str]]:
        """What the first of several nodes that meets a pattern leaves in the holes."""
        if held is None:
            return None
        return next((found for each in nodes if (found := self.met(pattern, each, held)) is not None), None)


def _is_open(body: object) -> bool:
    return isinstance(body, list) and len(body) == 1 and ast.dump(body[0]) == ast.dump(ast.Expr(ast.Constant(...)))
