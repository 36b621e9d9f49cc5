"""A shell script read by the grammar of bash, never run: the commands that it would start, in order.

Branches whose condition is known are followed, others are all read and what they start is uncertain. Functions are read
where they are called, loops over known words a few times.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Optional

from doctor.base.evidence import Place
from doctor.base.patterns import later
from doctor.base.record import record, replace
from doctor.facts.launch import Cut
from doctor.readers.script.shell_cut import cut_of
from doctor.readers.script.shell_words import ShellNode, ShellScope, fields, one_word, text_of, unknown

_MOST_COMMANDS = 400
_MOST_ROUNDS = 8
_MOST_TURNS = 64
_DEEPEST = 12
_MOST_MADE = 300
_LONGEST_NAME = 200
Read = Callable[[str], Optional[str]]


class NoGrammar(Exception):  # noqa: N818 - an answer, not an error
    """The grammar of bash cannot be loaded here."""


@record
class Started:
    """A command of a script.

    Args:
        words: after expansion, assignments in front of it included; what is not known keeps its source text.
        environment: what the script exports at that point.
        folder: where it runs.
        file, line: where it stands.
        certain: False within a branch or loop that may not be taken.
        stdin: text of a here-document.
        cut: where the shell ends it before its last line as written.
        made: files and folders, in full, that commands before it write or are told of.
        said: of an `exit` with a code other than 0, what the script printed just before.

    """

    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    folder: str
    file: str
    line: int
    certain: bool = True
    stdin: str | None = None
    cut: Cut | None = None
    made: tuple[str, ...] = ()
    said: str = ""


class _End(Exception):  # noqa: N818 - `exit`, which ends the reading
    pass


@cache
def _parser() -> Any:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError as exc:
        msg = f"`{exc.name}` is not installed beside the doctor"
        raise NoGrammar(msg) from None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


#: https://slurm.schedmd.com/srun.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES
_OF_TASKS = ("SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURMD_NODENAME", "SLURM_TASK_PID", "SLURM_GTIDS")
_TEXT_OPTION = later(r"-[a-z]*c")
#: names of files in a program that stands in the script itself
_QUOTED = later(r"[\"']([\w./\-]{1,120}[./][\w\-]{1,60})[\"']")
_NAME = later(rb"[A-Za-z_]\w*")


def _parsed(source: bytes) -> tuple[bytes, ShellNode]:
    """The tree of a script, and the script with braces around names that the grammar cuts off (`$A/b_$C.yaml`)."""
    for _ in range(_MOST_ROUNDS):
        root = _parser().parse(source).root_node
        names = [match for at in sorted(_cut_off(root), reverse=True) if (match := _NAME.match(source, at + 1))]
        if not names:
            break
        for name in names:
            source = source[: name.start()] + b"{" + name[0] + b"}" + source[name.end() :]
    return source, root


def _cut_off(root: ShellNode) -> list[int]:
    """Places of dollar signs that ended up alone within a word."""
    found, left = [], [root]
    while left:
        node = left.pop()
        left += node.children
        if node.type == "concatenation":
            found += [each.start_byte for each in node.children if each.type == "$"]
    return found


def commands(text: str, file: str, scope: ShellScope, read: Read) -> list[Started]:
    """Commands of a script in the order in which they would start.

    Args:
        text: content.
        file: its path, for places.
        read: gives the text of a sourced file, or None.
        scope: variables at its beginning; changed as the script does.

    Raises:
        NoGrammar: tree-sitter-bash is not there.

    """
    reader = _Reader(file, scope, read)
    with suppress(_End, RecursionError):
        reader.text(text, certain=True)
    return reader.found


class _Reader:
    def __init__(self, file: str, scope: ShellScope, read: Read) -> None:
        self.file = file
        self.scope = scope
        self.read = read
        self.found: list[Started] = []
        self.functions: dict[str, ShellNode] = {}
        self.made: dict[str, None] = {}
        self.depth = 0
        self.line = 0
        self.said = ""
        #: something happened by which what follows may not, or with other variables and files: no `exit` is sure
        self.unsure = False
        self.source = b""

    # --- structure ---

    def text(self, text: str, *, certain: bool) -> None:
        """A text of its own: the script, a file that it sources, what `eval` is given."""
        outer = self.source
        self.source, root = _parsed(text.encode("utf-8", "replace"))
        self.block(root, certain=certain)
        self.source = outer

    def block(self, node: ShellNode, *, certain: bool) -> None:
        """Statements one after another."""
        for child in node.named_children:
            self.statement(child, certain=certain)

    def statement(self, node: ShellNode, *, certain: bool, stdin: str | None = None) -> bool | None:
        """One statement; whether it succeeds, where that is known."""
        if len(self.found) > _MOST_COMMANDS:
            raise _End
        handler = getattr(self, f"_{node.type}", None)
        if handler is not None:
            answer: bool | None = handler(node, certain)
            return answer
        if node.type == "command":
            return self.command(node, certain=certain, stdin=stdin)
        if node.type == "subshell":
            count = len(self.found)
            with suppress(_End):  # which ends the subshell alone
                self.block(node, certain=certain)
            self.found[count:] = [each for each in self.found[count:] if each.words[0] != "exit"]
        elif node.type in {"compound_statement", "do_group", "else_clause", "negated_command"}:
            self.block(node, certain=certain)
        return None

    def _pipeline(self, node: ShellNode, certain: bool) -> None:
        for child in node.named_children:
            self.statement(child, certain=certain)

    def _list(self, node: ShellNode, certain: bool) -> bool | None:
        left, right = node.named_children[0], node.named_children[-1]
        operator = next((each.type for each in node.children if each.type in {"&&", "||"}), "&&")
        went = self.statement(left, certain=certain)
        if went is None and left.type in {
            "command",
            "redirected_statement",
            "variable_assignment",
            "declaration_command",
        }:
            went = True  # a preparation that fails ends the script in another way
        if went is None:
            self._maybe(lambda: self.statement(right, certain=False))
            return None
        if went == (operator == "&&"):
            return self.statement(right, certain=certain)
        return went

    def _if_statement(self, node: ShellNode, certain: bool) -> None:
        """Branches up to the first whose condition is known to hold."""
        for condition, body in self._branches(node):
            holds = True if condition is None else self._holds(condition)
            if holds is False:
                continue
            if holds is True and certain:
                for each in body:
                    self.statement(each, certain=True)
                return
            certain = False  # this branch or a later one
            self._maybe(functools.partial(self._all_of, body))
            if holds is True:
                return

    def _all_of(self, statements: list[ShellNode]) -> None:
        """Statements that may be carried out."""
        for each in statements:
            self.statement(each, certain=False)

    def _round(self, name: str, body: ShellNode) -> None:
        """A round of a loop over words that are not known."""
        self.scope.assign(name, f"${{{name}}}")
        self.block(body, certain=False)

    @staticmethod
    def _branches(node: ShellNode) -> list[tuple[ShellNode | None, list[ShellNode]]]:
        found: list[tuple[ShellNode | None, list[ShellNode]]] = []
        condition: ShellNode | None = None
        body: list[ShellNode] = []
        for child in node.named_children:
            if child.type == "elif_clause":
                found.append((child.named_children[0], list(child.named_children[1:])))
            elif child.type == "else_clause":
                found.append((None, list(child.named_children)))
            elif condition is None:
                condition = child
            else:
                body.append(child)
        return [(condition, body), *found]

    def _for_statement(self, node: ShellNode, certain: bool) -> None:
        name = text_of(node.child_by_field_name("variable"))
        body = next((each for each in node.named_children if each.type == "do_group"), None)
        values = [each for each in node.named_children if each.type not in {"variable_name", "do_group", "comment"}]
        words = [word for each in values for word in fields(each, self.scope)]
        if body is None:
            return
        if any(map(unknown, words)) or not words:
            self._maybe(functools.partial(self._round, name, body))
            return
        for word in words[:_MOST_ROUNDS]:
            self.scope.assign(name, word)
            self.block(body, certain=certain)

    def _c_style_for_statement(self, node: ShellNode, certain: bool) -> None:
        del certain
        body = next((each for each in node.named_children if each.type == "do_group"), None)
        if body is not None:
            self._maybe(lambda: self.block(body, certain=False))

    def _while_statement(self, node: ShellNode, certain: bool) -> None:
        condition, body = node.named_children[0], node.named_children[-1]
        if self._holds(condition) is True and text_of(condition) in {"true", ":"}:
            self.block(body, certain=certain)  # a loop that starts the run again when it dies
            return
        for _ in range(_MOST_TURNS):  # over the words that the script was given, `while [[ $# -gt 0 ]]`
            holds = self._holds(condition)
            if holds is False:
                return
            before = (dict(self.scope.values), list(self.scope.arguments))
            if holds is True:
                self.block(body, certain=certain)
            if holds is None or before == (self.scope.values, self.scope.arguments):
                break
        self._maybe(lambda: self.block(body, certain=False))

    def _case_statement(self, node: ShellNode, certain: bool) -> None:
        value = one_word(node.named_children[0], self.scope)
        for item in (each for each in node.named_children if each.type == "case_item"):
            patterns, body = self._case_parts(item)
            matched = any(fnmatch.fnmatchcase(value, each) for each in patterns)
            if unknown(value):
                self._maybe(functools.partial(self._all_of, body))
            elif matched:
                for each in body:
                    self.statement(each, certain=certain)
                return

    def _case_parts(self, item: ShellNode) -> tuple[list[str], list[ShellNode]]:
        patterns, body, closed = [], [], False
        for child in item.children:
            if child.type == ")" and not closed:
                closed = True
            elif child.is_named and not closed:
                patterns.append(one_word(child, self.scope))
            elif child.is_named:
                body.append(child)
        return patterns, body

    def _function_definition(self, node: ShellNode, certain: bool) -> None:
        del certain
        name = next((each for each in node.named_children if each.type == "word"), None)
        self.functions[text_of(name)] = node.named_children[-1]

    def _maybe(self, work: Callable[[], Any]) -> None:
        """Read what may not happen: variables that differ afterwards are not known."""
        before, self.scope = self.scope, self.scope.copy()
        try:
            work()
        except _End:  # an `exit` of a branch ends that branch
            self.unsure = True
        after, self.scope = self.scope, before
        for name, value in after.values.items():
            if before.values.get(name, before.get(name)) != value:
                before.values[name] = f"${{{name}}}"
                if name in after.exported:
                    before.exported.add(name)

    # --- conditions ---

    def _holds(self, node: ShellNode) -> bool | None:
        """Whether a condition holds; None where only running it would tell."""
        text = text_of(node)
        if text in {"true", ":"}:
            return True
        if text == "false":
            return False
        if node.type == "negated_command":
            inner = self._holds(node.named_children[-1])
            return None if inner is None else not inner
        if node.type != "test_command" or not node.named_children:
            return None
        return self._test(node.named_children[0])

    def _test(self, node: ShellNode) -> bool | None:
        if node.type == "unary_expression":
            return self._unary(text_of(node.children[0]), node.named_children[-1])
        if node.type == "parenthesized_expression":
            return self._test(node.named_children[0])
        if node.type != "binary_expression" or len(node.children) < 3:
            return None
        operator = text_of(node.children[1])
        if operator in {"&&", "||"}:
            one, two = self._test(node.children[0]), self._test(node.children[2])
            decided = operator == "||"
            if decided in (one, two):
                return decided
            return None if None in (one, two) else not decided
        left = one_word(node.children[0], self.scope)
        right = "".join(self._pattern(each, operator) for each in node.children[2:])  # `*"--help"*` is three of them
        if unknown(left) or unknown(right):
            return None
        return _compared(left, operator, right)

    def _pattern(self, node: ShellNode, operator: str) -> str:
        """A part of what is compared with; what stands in quotes is no pattern."""
        text = one_word(node, self.scope)
        if operator in {"=", "==", "!="} and node.type in {"string", "raw_string"}:
            return re.sub(r"[\[*?]", lambda sign: f"[{sign[0]}]", text)
        return text

    def _unary(self, operator: str, node: ShellNode) -> bool | None:
        if operator == "!":
            inner = self._test(node)
            return None if inner is None else not inner
        value = one_word(node, self.scope)
        if unknown(value):
            return None
        if operator in {"-z", "-n"}:
            return (value == "") == (operator == "-z")
        path = os.path.join(self.scope.folder, value)  # noqa: PTH118
        tests = {"-f": os.path.isfile, "-d": os.path.isdir, "-e": os.path.exists}
        self.unsure = self.unsure or bool(self.found)  # which may make or delete files
        return tests[operator](path) if operator in tests else None

    def _test_command(self, node: ShellNode, certain: bool) -> bool | None:
        del certain
        return self._holds(node)

    # --- assignments ---

    def _variable_assignment(self, node: ShellNode, certain: bool) -> None:
        name, value = self._assignment(node)
        self._refused(certain, node)
        if name:
            self.scope.assign(name, value)

    def _variable_assignments(self, node: ShellNode, certain: bool) -> None:
        for child in node.named_children:
            self._variable_assignment(child, certain)

    def _assignment(self, node: ShellNode) -> tuple[str, str | list[str]]:
        target, value = node.named_children[0], node.named_children[-1]
        name = text_of(target)
        if target.type == "subscript":
            return "", ""
        appended = any(each.type == "+=" for each in node.children)
        if len(node.named_children) == 1:
            return name, ""
        if value.type == "array":
            items = (each for each in value.named_children if each.type != "comment")
            new: str | list[str] = [word for each in items for word in fields(each, self.scope)]
        else:
            new = one_word(value, self.scope)
        return name, self._appended(name, new) if appended else new

    def _appended(self, name: str, new: str | list[str]) -> str | list[str]:
        old = self.scope.get(name)
        if isinstance(old, list) or isinstance(new, list):
            before = old if isinstance(old, list) else [old] if old else []
            return [*before, *(new if isinstance(new, list) else [new])]
        return f"{old or ''}{new}"

    def _declaration_command(self, node: ShellNode, certain: bool) -> None:
        kind = text_of(node.children[0])
        options = [text_of(each) for each in node.named_children if each.type == "word"]
        exported = kind == "export" or any("x" in each for each in options if each.startswith("-"))
        for child in node.named_children:
            if child.type == "variable_assignment":
                name, value = self._assignment(child)
                self._refused(certain, child)
                self.scope.assign(name, value)
            elif child.type == "variable_name":
                name = text_of(child)
            else:
                continue
            if exported:
                self.scope.exported.add(name)

    def _unset_command(self, node: ShellNode, certain: bool) -> None:
        del certain
        for child in node.named_children:
            self.scope.assign(text_of(child), None)
            self.scope.exported.discard(text_of(child))

    # --- commands ---

    def _redirected_statement(self, node: ShellNode, certain: bool) -> bool | None:
        body = next((each for each in node.named_children if each.type == "heredoc_redirect"), None)
        text = None
        if body is not None:
            content = next((each for each in body.named_children if each.type == "heredoc_body"), None)
            quoted = (
                text_of(next((each for each in body.named_children if each.type == "heredoc_start"), None))[:1]
                in "'\"\\"
            )
            text = "" if content is None else text_of(content) if quoted else one_word(content, self.scope)
        target = node.named_children[0]
        answer = self.statement(target, certain=certain, stdin=text)
        for child in node.named_children:
            if child.type == "file_redirect" and text_of(child.children[0]).startswith((">", "&>")):
                self._note_made([one_word(child.named_children[-1], self.scope)])
        for child in body.named_children if body is not None else ():  # `cat <<EOF | command`
            if child.type in {"pipeline", "command"}:
                self.statement(child, certain=certain)
        return answer

    def command(self, node: ShellNode, *, certain: bool, stdin: str | None = None) -> bool | None:
        """A simple command: a builtin is done, a function read, all others noted."""
        front: list[str] = []
        words: list[str] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                name, value = self._assignment(child)
                front.append(f"{name}={value if isinstance(value, str) else ' '.join(value)}")
            elif child.type == "command_name":
                words += fields(child.named_children[0], self.scope) if child.named_children else [text_of(child)]
            elif child.type not in {"file_redirect", "herestring_redirect", "heredoc_redirect", "comment"}:
                words += fields(child, self.scope)
        if not words:
            return None
        self._refused(certain, node)
        self.line = node.start_point[0] + 1
        count = len(self.found)
        answer = self._run(front, words, node.start_point[0] + 1, certain, stdin)
        if self.found[count:] and self.found[-1].words == (*front, *words):
            self.found[-1] = replace(self.found[-1], cut=cut_of(node, self.source, self.file))
        return answer

    def _run(self, front: list[str], words: list[str], line: int, certain: bool, stdin: str | None) -> bool | None:
        while words[0] in {"exec", "builtin", "command", "time"} and len(words) > 1 and not words[1].startswith("-"):
            words = words[1:]
        name = words[0]
        builtin = _BUILTINS.get(name)
        if builtin is not None:
            return builtin(self, words[1:], certain)
        self.said = ""
        self.unsure = self.unsure or name in _SET_VARIABLES
        if name in self.functions and self.depth < _DEEPEST:
            arguments, self.scope.arguments = self.scope.arguments, [self.scope.arguments[0], *words[1:]]
            self.depth += 1
            self.block(self.functions[name], certain=certain)
            self.depth -= 1
            self.scope.arguments = arguments
            return None
        if self._in_shell(front, words, line, certain):
            return None
        where = (self.scope.folder, self.file, line)
        environment = tuple(sorted(self.scope.environment().items()))
        self.found.append(Started((*front, *words), environment, *where, certain, stdin, made=tuple(self.made)))
        self._note_made(words[1:], stdin)
        return None

    def _note_made(self, words: list[str], stdin: str | None = None) -> None:
        """What a command may write: where its output goes, what it is told of, and what a text that it runs quotes."""
        for word in [*words, *_QUOTED.findall(stdin or "")]:
            name = word.rpartition("=")[2]
            if len(self.made) < _MOST_MADE and 0 < len(name) < _LONGEST_NAME and name[0] != "-" and not unknown(name):
                self.made[os.path.normpath(os.path.join(self.scope.folder, name))] = None  # noqa: PTH118

    def _in_shell(self, front: list[str], words: list[str], line: int, certain: bool) -> bool:
        """`srun bash -c '...'`: the commands of the text, in a shell of its own that has what is exported."""
        at = next((at for at in range(len(words) - 2) if _runs_text(words[at], words[at + 1])), None)
        if at is None or self.depth >= _DEEPEST:
            return False
        outer, count = self.scope, len(self.found)
        not_known = {name for name, value in outer.values.items() if isinstance(value, str) and unknown(value)}
        self.scope = ShellScope(outer.inherited, words[at + 3 :] or [words[at]], outer.folder, outer.set_elsewhere)
        self.scope.exported = set(outer.environment())
        self.scope.values = {name: outer.values[name] for name in self.scope.exported | not_known}
        if "srun" in words[:at]:  # each task has its own
            self.scope.values.update({name: f"${{{name}}}" for name in _OF_TASKS})
        self.depth += 1
        with suppress(_End):
            self.text(words[at + 2], certain=certain)
        self.depth -= 1
        self.scope = outer
        for number in range(count, len(self.found)):
            each = self.found[number]
            cut = each.cut and replace(each.cut, place=Place(self.file, line))
            self.found[number] = replace(each, words=(*front, *words[:at], *each.words), line=line, cut=cut)
        return len(self.found) > count

    def do_cd(self, words: list[str], certain: bool) -> None:
        del certain
        plain = [each for each in words if each != "--" and not each.startswith("-")]
        if plain and not unknown(plain[0]):
            self.scope.folder = os.path.normpath(os.path.join(self.scope.folder, plain[0]))  # noqa: PTH118

    def do_set(self, words: list[str], certain: bool) -> None:
        del certain
        if words[:1] == ["--"]:
            self.scope.arguments = [self.scope.arguments[0], *words[1:]]
            return
        for index, word in enumerate(words):
            named = index + 1 < len(words) and words[index + 1] == "allexport"
            if word[:1] in {"-", "+"} and ("a" in word[1:] or (word[1:] == "o" and named)):
                self.scope.all_exported = word[0] == "-"

    def do_shift(self, words: list[str], certain: bool) -> None:
        del certain
        count = int(words[0]) if words and words[0].isdigit() else 1
        self.scope.arguments = [self.scope.arguments[0], *self.scope.arguments[1 + count :]]

    def do_read(self, words: list[str], certain: bool) -> None:
        del certain
        for name in (each for each in words if each.isidentifier()):
            self.scope.assign(name, f"${{{name}}}")

    def do_source(self, words: list[str], certain: bool) -> None:
        """A file of variables or functions, and a virtual environment's `activate`."""
        if not words or unknown(words[0]):
            self.unsure = True
            return
        if words[0] == "activate":  # conda's own, of its older releases
            self._run([], ["conda", *words], 0, certain, None)
            return
        path = os.path.normpath(os.path.join(self.scope.folder, words[0]))  # noqa: PTH118
        if os.path.basename(path) == "activate":  # noqa: PTH119
            prefix = os.path.dirname(os.path.dirname(path))  # noqa: PTH120
            self.scope.assign("VIRTUAL_ENV", prefix)
            self.scope.assign("PATH", f"{prefix}/bin:{self.scope.get('PATH')}")
            self.scope.exported |= {"VIRTUAL_ENV", "PATH"}
            return
        text = self.read(path) if self.depth < _DEEPEST else None
        if text is None:
            self.unsure = True
            return
        self.depth += 1
        file, self.file = self.file, path
        self.text(text, certain=certain)
        self.file = file
        self.depth -= 1

    def do_eval(self, words: list[str], certain: bool) -> None:
        text = " ".join(words)
        self.unsure = self.unsure or unknown(text)
        if self.depth < _DEEPEST:
            self.depth += 1
            self.text(text, certain=certain)
            self.depth -= 1

    def do_echo(self, words: list[str], certain: bool) -> bool:
        del certain
        self.said = " ".join(each for each in words if each not in {"-e", "-n", "-en", "-ne"})
        return True

    def do_exit(self, words: list[str], certain: bool) -> None:
        """End the reading; an exit with a code of its own is noted where nothing else can happen."""
        code = words[0] if words and words[0].isdigit() else "0"
        if certain and code.strip("0") and not self.unsure:
            where = (self.scope.folder, self.file, self.line)
            self.found.append(Started(("exit", code), (), *where, said=self.said))
        raise _End

    def _refused(self, certain: bool, node: ShellNode) -> None:
        """`${NAME:?words}` of a variable that is not set ends the script with the words."""
        refused, self.scope.refused = self.scope.refused, None
        if refused is not None and certain:
            self.said, self.line = refused, node.start_point[0] + 1
            self.do_exit(["1"], certain)

    def do_nothing(self, words: list[str], certain: bool) -> bool:
        del words, certain
        return True

    def do_no(self, words: list[str], certain: bool) -> bool:
        del words, certain
        return False


def _runs_text(word: str, option: str) -> bool:
    """Whether two words begin `bash -c`, `sh -ec`, `/bin/bash -lc`."""
    return word.rpartition("/")[2] in {"bash", "sh", "zsh"} and _TEXT_OPTION.fullmatch(option) is not None


def _compared(left: str, operator: str, right: str) -> bool | None:
    if operator in {"=", "=="}:
        return fnmatch.fnmatchcase(left, right)
    if operator == "!=":
        return not fnmatch.fnmatchcase(left, right)
    numbers = [int(each) for each in (left, right) if each.lstrip("-").isdigit()]
    if len(numbers) != 2:
        return None
    one, two = numbers
    return {"-eq": one == two, "-ne": one != two, "-lt": one < two, "-le": one <= two, "-gt": one > two,
            "-ge": one >= two}.get(operator)  # fmt: skip


#: commands that set variables as nobody can tell
_SET_VARIABLES = frozenset({
    "mapfile", "readarray", "let", "getopts", "module", "ml", "spack", "conda", "mamba", "micromamba", "set_env",
})  # fmt: skip
_BUILTINS: dict[str, Callable[[_Reader, list[str], bool], bool | None]] = {
    "cd": _Reader.do_cd, "pushd": _Reader.do_cd, "set": _Reader.do_set, "shift": _Reader.do_shift,
    "read": _Reader.do_read,
    "source": _Reader.do_source, ".": _Reader.do_source, "eval": _Reader.do_eval, "exit": _Reader.do_exit,
    "true": _Reader.do_nothing, ":": _Reader.do_nothing, "false": _Reader.do_no, "echo": _Reader.do_echo,
    "printf": _Reader.do_echo, "trap": _Reader.do_nothing, "ulimit": _Reader.do_nothing, "wait": _Reader.do_nothing,
    "shopt": _Reader.do_nothing, "mkdir": _Reader.do_nothing, "sleep": _Reader.do_nothing,
}  # fmt: skip
