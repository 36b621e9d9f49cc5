"""Words of a shell script: quotes, variables and arithmetic, as far as they are known without running anything.

What is not known keeps its source text (`$(date)`, `${JOB}`): readers of values take such a text for unknown.
The rules are those of https://www.gnu.org/software/bash/manual/bash.html#Shell-Expansions.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from collections.abc import Mapping
from typing import Any, Optional, Union

from doctor.base.patterns import later

ShellNode = Any
Value = Optional[Union[str, list[str]]]

_UNKNOWN = later(r"\$\(|\$\{|`|\$[A-Za-z_]")
_PARAMETER = later(r"\$\{(?P<name>[A-Za-z_]\w*|[0-9@*#?])(?P<operator>:?[-=+?]|%%?|##?)(?P<word>.*)\}", re.DOTALL)
_SLICE = later(r"\$\{(?P<name>\w+|[@*])(?P<all>\[[@*]\])?:\s*(?P<start>\d+)(?::(?P<length>\d+))?\}")
_CHANGE = later(r"\$\{(?P<name>\w+)(?:(?P<case>,,|\^\^)|(?P<sign>//?)(?P<old>(?:\\.|[^/}\\])+)(?:/(?P<new>[^}]*))?)\}")
_ARITHMETIC = later(r"[0-9+\-*/%() ]+")
_DIRECTORY = later(r"(?:cd\s+)?(?:--\s+)?\"?\$\(\s*dirname\s.*\)\"?\s*(?:&>\s*/dev/null\s*)?(?:&&\s*pwd.*)?", re.DOTALL)


def unknown(text: str) -> bool:
    """Whether a text holds what only running the script would tell."""
    return _UNKNOWN.search(text) is not None


class ShellScope:
    """Variables of a script while it is read.

    Args:
        inherited: environment that the script is started with; a variable that is in neither is empty.
        arguments: `$0`, `$1` ...
        set_elsewhere: prefixes of variables that a scheduler sets, whose values nobody knows here.

    `refused`: what `${NAME:?words}` of a variable that is not set says, until somebody takes it.
    """

    def __init__(
        self, inherited: Mapping[str, str], arguments: list[str], folder: str, set_elsewhere: tuple[str, ...] = ()
    ) -> None:
        self.inherited = inherited
        self.arguments = arguments
        self.folder = folder
        self.set_elsewhere = set_elsewhere
        self.values: dict[str, Value] = {}
        self.exported: set[str] = set()
        self.all_exported = False
        self.refused: str | None = None

    def copy(self) -> ShellScope:
        """The same, for a branch that may not be taken."""
        other = ShellScope(self.inherited, list(self.arguments), self.folder, self.set_elsewhere)
        other.values, other.exported = dict(self.values), set(self.exported)
        other.all_exported = self.all_exported
        return other

    def assign(self, name: str, value: Value) -> None:
        """Set a variable; None takes it away."""
        self.values[name] = value
        if self.all_exported and value is not None:
            self.exported.add(name)

    def get(self, name: str) -> Value:
        """Value, "" of one that is not set, its own source text where it is not known."""
        if name in self.values:
            value = self.values[name]
            return "" if value is None else value
        if name.isdigit():
            return self.arguments[int(name)] if int(name) < len(self.arguments) else ""
        if name in {"@", "*"}:
            return self.arguments[1:]
        if name == "#":
            return str(len(self.arguments) - 1)
        if name == "PWD":
            return self.folder
        if name in self.inherited:
            return self.inherited[name]
        if name in {"RANDOM", "SECONDS", "HOSTNAME", "$", "!", "?", "LINENO", "UID", "EUID", "EPOCHSECONDS"}:
            return f"${{{name}}}"
        return f"${{{name}}}" if name.startswith(self.set_elsewhere) and self.set_elsewhere else ""

    def environment(self) -> dict[str, str]:
        """What the script exports."""
        found = {name: self.values.get(name) for name in self.exported | (set(self.inherited) & set(self.values))}
        return {name: value for name, value in found.items() if isinstance(value, str)}


def text_of(node: ShellNode) -> str:
    """Source text."""
    return node.text.decode("utf-8", "replace") if node is not None else ""


def fields(node: ShellNode, scope: ShellScope) -> list[str]:
    """Words that one word of the script becomes."""
    if node.type in {"simple_expansion", "expansion"}:
        value = _expansion(node, scope)
        return list(value) if isinstance(value, list) else _divided(value)
    if node.type == "string":
        inner = [each for each in node.children if each.type in {"simple_expansion", "expansion"}]
        if len(inner) == 1 and text_of(node) == f'"{text_of(inner[0])}"':
            value = _expansion(inner[0], scope)
            if isinstance(value, list):
                return list(value)
    if node.type == "concatenation" and any(each.type in {"simple_expansion", "expansion"} for each in node.children):
        return _joined(node, scope)
    text = one_word(node, scope)
    if node.type == "command_substitution" and not unknown(text):
        return text.split()
    if node.type in {"word", "concatenation", "brace_expression"} and "{" in text_of(node) and not unknown(text):
        return _braces(text)
    return [text]


def _divided(value: str) -> list[str]:
    """The words of an unquoted expansion; what is not known in it (`$(hostname -i)`) is a word, or part of one."""
    if not unknown(value):
        return value.split()
    found, depth, marked = [""], 0, False
    for at, sign in enumerate(value):
        if sign == "`":
            marked = not marked
        elif sign in "({" and (depth or value[at - 1 : at] == "$"):
            depth += 1
        elif sign in ")}" and depth:
            depth -= 1
        if sign.isspace() and not depth and not marked:
            found.append("")
        else:
            found[-1] += sign
    return [each for each in found if each] if not depth and not marked else [value]


def _joined(node: ShellNode, scope: ShellScope) -> list[str]:
    """`a$B"c"`: an unquoted expansion in it is cut at its blanks, the rest is glued on."""
    found, open_end = [""], False
    for child in node.children:
        text = one_word(child, scope)
        if child.type not in {"simple_expansion", "expansion"} or unknown(text) or not any(map(str.isspace, text)):
            found = [*found, text] if open_end else [*found[:-1], found[-1] + text]
            open_end = False
            continue
        parts = text.split()
        glued = parts and not open_end and not text[0].isspace()
        found = [*found[:-1], found[-1] + parts[0], *parts[1:]] if glued else [*found, *parts]
        open_end = bool(text) and text[-1].isspace()
    return [each for each in found if each] if len(found) > 1 else found


def one_word(node: ShellNode, scope: ShellScope) -> str:
    """A word as one text, without splitting."""
    kind = node.type
    if kind in {"simple_expansion", "expansion"}:
        value = _expansion(node, scope)
        return " ".join(value) if isinstance(value, list) else value
    if kind == "command_substitution":
        return _substitution(text_of(node).lstrip(), scope)
    if kind == "arithmetic_expansion":
        return _arithmetic(text_of(node).lstrip(), scope)
    if kind == "raw_string":
        return text_of(node)[1:-1]
    if kind == "ansi_c_string":
        return text_of(node)[2:-1].replace("\\n", "\n").replace("\\t", "\t").replace("\\'", "'")
    if kind == "string":
        return _parts(node, scope, 1, 1)
    if kind in {"concatenation", "heredoc_body"}:
        return _parts(node, scope, 0, 0)
    text = text_of(node)
    if text.startswith("~/") and "HOME" in scope.inherited:
        text = scope.inherited["HOME"] + text[1:]
    return re.sub(r"\\(.)", lambda match: "" if match[1] == "\n" else match[1], text, flags=re.DOTALL)


def _parts(node: ShellNode, scope: ShellScope, left: int, right: int) -> str:
    """Children expanded, what stands between them kept: the grammar leaves spaces and first lines out.

    Of blanks between two expansions it makes a part of the second (`"$A $B"`).
    """
    whole, start = node.text, node.start_byte
    quoted = node.type != "concatenation"
    at, result = left, ""
    for child in node.children:
        if not child.is_named or child.type in {"string_content", "heredoc_content"}:
            continue
        result += _plain(whole[at : child.start_byte - start], quoted=quoted)
        written = text_of(child)
        result += written[: len(written) - len(written.lstrip())] + one_word(child, scope)
        at = child.end_byte - start
    return result + _plain(whole[at : len(whole) - right], quoted=quoted)


def _plain(content: bytes, *, quoted: bool) -> str:
    text = content.decode("utf-8", "replace")
    if not quoted:
        return text
    return re.sub(r'\\(["\\$`\n])', lambda match: "" if match[1] == "\n" else match[1], text)


def _braces(text: str) -> list[str]:
    """`{0..3}` and `{a,b}`, one pair of braces."""
    match = re.fullmatch(r"([^{}]*)\{([^{}]*)\}([^{}]*)", text, re.DOTALL)
    if match is None:
        return [text]
    span = re.fullmatch(r"(\d+)\.\.(\d+)", match[2])
    if span and abs(int(span[2]) - int(span[1])) < 256:
        first, last = int(span[1]), int(span[2])
        items = [str(each) for each in (range(first, last + 1) if first <= last else range(first, last - 1, -1))]
    elif "," in match[2] and '"' not in match[2] and ":" not in match[2]:
        items = match[2].split(",")
    else:
        return [text]
    return [f"{match[1]}{each}{match[3]}" for each in items]


def _expansion(node: ShellNode, scope: ShellScope) -> str | list[str]:
    text = text_of(node).lstrip()
    if node.type == "simple_expansion":
        return _value(text[1:], scope)
    subscript = next((each for each in node.children if each.type == "subscript"), None)
    if subscript is not None and not _SLICE.fullmatch(text):
        return _element(text, subscript, scope)
    plain = re.fullmatch(r"\$\{(\w+|[@*#?])\}", text)
    if plain:
        return _value(plain[1], scope)
    sliced = _SLICE.fullmatch(text)
    if sliced:
        return _sliced(text, sliced, scope)
    match = _PARAMETER.fullmatch(text)
    return _operated(text, match, scope) if match else _rewritten(text, scope)


def _sliced(text: str, match: re.Match[str], scope: ShellScope) -> str | list[str]:
    """`${@:2}`, `${NAME:1:3}` and `${ARRAY[@]:1}`."""
    value = scope.get(match["name"])
    start, length = int(match["start"]), match["length"]
    if isinstance(value, list) and (match["name"] in {"@", "*"} or match["all"]):
        if match["name"] in {"@", "*"}:
            value = [scope.arguments[0], *value]  # `$0` counts
        return value[start : start + int(length)] if length else value[start:]
    if not isinstance(value, str) or unknown(value):
        return text
    return value[start : start + int(length)] if length else value[start:]


def _rewritten(text: str, scope: ShellScope) -> str:
    """`${NAME/old/new}`, `${NAME//old/new}`, `${NAME,,}` and `${NAME^^}`, of plain text."""
    match = _CHANGE.fullmatch(text)
    value = scope.get(match["name"]) if match else None
    if match is None or not isinstance(value, str) or unknown(value):
        return text
    if match["case"]:
        return value.lower() if match["case"] == ",," else value.upper()
    old, new = re.sub(r"\\(.)", r"\1", _expanded_text(match["old"], scope)), _expanded_text(match["new"] or "", scope)
    if not old or any(sign in old for sign in "*?[#%"):
        return text
    return value.replace(old, new) if match["sign"] == "//" else value.replace(old, new, 1)


def _value(name: str, scope: ShellScope) -> str | list[str]:
    value = scope.get(name)
    if isinstance(value, list) and name not in {"@", "*"}:
        return value[0] if value else ""
    return "" if value is None else value


def _element(text: str, subscript: ShellNode, scope: ShellScope) -> str | list[str]:
    match = re.fullmatch(r"\$\{(#?)(\w+)\[([^\]]*)\](.*)\}", text, re.DOTALL)
    value = scope.get(match[2]) if match else None
    items = value if isinstance(value, list) else [value] if isinstance(value, str) and value else []
    if match is None or match[4]:
        return text
    if match[1]:  # a word that is not known may be none, or many
        return text if any(map(unknown, items)) else str(len(items))
    if match[3] in {"@", "*"}:
        return items
    if match[3].isdigit():
        return items[int(match[3])] if int(match[3]) < len(items) else ""
    del subscript
    return text


def _operated(text: str, match: re.Match[str], scope: ShellScope) -> str:
    """`${NAME:-word}` and its kin."""
    name, operator, word = match["name"], match["operator"], _expanded_text(match["word"], scope)
    found = _value(name, scope)
    value = " ".join(found) if isinstance(found, list) else found
    if unknown(value):
        return text
    kind = operator[-1]
    if kind in "-=?":
        if kind == "=" and not value:
            scope.assign(name, word)
        if kind == "?" and not value:
            scope.refused = f"{name}: {word or 'parameter null or not set'}"
        return value or ("" if kind == "?" else word)
    if kind == "+":
        return word if value else ""
    return _trimmed(value, operator, word)


def _trimmed(value: str, operator: str, pattern: str) -> str:
    """`%`, `%%`, `#` and `##`: the shortest or longest match cut off at the end or the beginning."""
    cuts = range(len(value) + 1)
    if operator[0] == "%":
        order = reversed(cuts) if operator == "%" else iter(cuts)
        return next((value[:cut] for cut in order if fnmatch.fnmatchcase(value[cut:], pattern)), value)
    order = iter(cuts) if operator == "#" else reversed(cuts)
    return next((value[cut:] for cut in order if fnmatch.fnmatchcase(value[:cut], pattern)), value)


def _expanded_text(text: str, scope: ShellScope) -> str:
    """A default's word: variables in it, quotes off."""

    def of(match: re.Match[str]) -> str:
        value = _value(match[1] or match[2], scope)
        return " ".join(value) if isinstance(value, list) else value

    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return re.sub(r"\$\{(\w+)\}|\$(\w+)", of, text)


def _substitution(text: str, scope: ShellScope) -> str:
    """The few commands in `$(...)` that say what is known: the folder, parts of a path."""
    inner = (text[2:-1] if text.startswith("$(") else text[1:-1]).strip()
    script = scope.arguments[0]
    if inner == "pwd":
        return scope.folder
    if ("BASH_SOURCE" in inner or "$0" in inner) and _DIRECTORY.fullmatch(inner):
        return os.path.dirname(os.path.join(scope.folder, script))  # noqa: PTH118, PTH120 - no file is touched
    try:
        words = shlex.split(_expanded_text(inner.replace("${BASH_SOURCE[0]}", script), scope))
    except ValueError:
        return text
    if len(words) == 2 and words[0] in {"dirname", "basename", "realpath"} and not unknown(" ".join(words[1:])):
        path = os.path.join(scope.folder, words[1])  # noqa: PTH118
        if words[0] == "realpath":
            return os.path.normpath(path)
        return os.path.dirname(words[1]) or "." if words[0] == "dirname" else os.path.basename(words[1])  # noqa: PTH119, PTH120
    if words[:1] == ["echo"] and not unknown(inner) and "|" not in inner:
        return " ".join(words[1:])
    if words[:1] == ["seq"] and 2 <= len(words) <= 3 and all(each.isdigit() for each in words[1:]):
        first = int(words[1]) if len(words) == 3 else 1
        return " ".join(map(str, range(first, min(int(words[-1]), first + 255) + 1)))
    return text


def _arithmetic(text: str, scope: ShellScope) -> str:
    """Whole numbers with + - * / %; anything else stays as it is."""
    inner = text[3:-2] if text.startswith("$((") else text

    def of(match: re.Match[str]) -> str:
        value = _value(match[1], scope)
        return (value or "0") if isinstance(value, str) else "?"

    expanded = re.sub(r"\$?\{?([A-Za-z_]\w*)\}?", of, inner)
    if len(expanded) > 200 or "**" in expanded or not _ARITHMETIC.fullmatch(expanded):
        return text
    try:
        # digits, operators and parentheses only, by the pattern above
        return str(int(eval(expanded.replace("/", "//"), {"__builtins__": {}})))  # noqa: S307
    except (SyntaxError, ZeroDivisionError, ValueError, TypeError):
        return text
