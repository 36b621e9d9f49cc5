"""Commands of a shell script that end before their last line as written, and the options that are lost with it.

A comment ends at the end of its line, and a backslash in it joins nothing:
https://www.gnu.org/software/bash/manual/bash.html#Comments
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from doctor.base.evidence import Place
from doctor.base.patterns import later
from doctor.facts.launch import Cut
from doctor.readers.script.shell_words import ShellNode, text_of

#: what may stand between a command and a backslash that joins nothing: redirections, no quotes and no comment
_BLANK = later(rb"[^'\"#\\]*\\[ \t]+(?:#.*)?")
#: an option, or an override of Hydra, as no program is called
_OPTION = later(r"(--?[A-Za-z][\w.-]*)(?:=.*)?|(\+{0,2}[A-Za-z_]\w*(?:\.\w+)+)=.*", re.DOTALL)
#: the grammar takes `--lr=1` for an assignment
_WORDS = frozenset({"command_name", "variable_assignment", "word", "concatenation"})
_HOLDERS = frozenset({"redirected_statement", "pipeline", "list"})


def cut_of(node: ShellNode, source: bytes, file: str) -> Cut | None:
    """Where a command is cut off; None: it is whole."""
    line = node.end_point[0] + 1
    statement = _statement(node)
    comments, lost = _below(statement)
    if _ends_in_blank(node, source):
        return Cut(Place(file, line), "blank", tuple(lost))
    if not lost:
        return None
    if comments:
        return Cut(Place(file, comments[0].start_point[0] + 1), "comment", tuple(lost))
    return Cut(Place(file, statement.end_point[0] + 1), "not joined", tuple(lost))


def _ends_in_blank(node: ShellNode, source: bytes) -> bool:
    """Whether a backslash with blanks behind it (and a comment) ends the line that should go on in the next one."""
    line, _, below = source[node.end_byte :].partition(b"\n")
    following = below.partition(b"\n")[0].strip()
    return _BLANK.fullmatch(line.rstrip(b"\r")) is not None and following[:1] not in (b"", b"#")


def _statement(node: ShellNode) -> ShellNode:
    """The whole of what a command ends: its redirections, and the pipeline or list of which it is the last."""
    while node.parent is not None and node.parent.type in _HOLDERS:
        behind = node.next_named_sibling
        if behind is not None and behind.type not in {"file_redirect", "herestring_redirect"}:
            break
        node = node.parent
    return node


def _below(statement: ShellNode) -> tuple[list[ShellNode], list[str]]:
    """Comments up to the first lines that are lost, and the options in all lines that are."""
    comments: list[ShellNode] = []
    lost: list[str] = []
    following = statement.next_sibling
    while following is not None:
        if following.type == "comment":
            comments += [] if lost else [following]
        elif following.start_point[0] > statement.end_point[0] and (options := _options(following)):
            lost += options
        else:
            break
        following = following.next_sibling
    return comments, lost


def _options(node: ShellNode) -> list[str]:
    """Names of the options that a statement consists of; none where it begins with a program."""
    while node.type in _HOLDERS and node.named_children:
        node = node.named_children[0]
    if node.has_error or node.type not in {"command", "variable_assignments", "variable_assignment"}:
        return []
    parts = [node] if node.type == "variable_assignment" else node.named_children
    words = [text_of(each) for each in parts if each.type in _WORDS]
    if not words or _OPTION.fullmatch(words[0]) is None:
        return []
    return list(chain.from_iterable(map(_named, words)))


def _named(word: str) -> Iterator[str]:
    match = _OPTION.fullmatch(word)
    if match is not None:
        yield match[1] or match[2]
