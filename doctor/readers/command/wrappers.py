"""What stands in front of a launch command: assignments, `env`, `nohup`, `timeout`, `srun`, `uv run`, `bash -c` ...

Each wrapper is described by the options of it that take a word, from its manual page, and by how many words of its
own follow them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import takewhile

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.readers.command.argv import guess
from doctor.readers.command.wrapper_table import WRAPPERS, Wrapper

_SHELL_WORD = r"(&&|\|\|?&?|;;?|&|<|[0-9&]?>>?(&[0-9-])?|[0-9]>>?[^\s=>]\S*|>>?[^\s=>&]\S*|&>>?\S+)\Z"
_SHELL_SIGNS = frozenset("&|;<>")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
#: these start the command somewhere else, with another file system or environment
ELSEWHERE = frozenset({
    "docker", "podman", "nerdctl", "singularity", "apptainer", "enroot", "kubectl", "ssh", "pdsh", "modal", "sky",
})  # fmt: skip
_PREPARES = frozenset({
    "source", ".", "set", "ulimit", "module", "sleep", "echo", "mkdir", "rm", "wait", "date", "hostname", "nvidia-smi",
})  # fmt: skip
BATCH = frozenset({"sbatch", "qsub", "bsub", "condor_submit", "make", "tmux", "screen", "parallel", "xargs"})


class Unwrapped:
    """What is left of a command line, and what was said in front of it."""

    def __init__(self, words: list[str], folder: str) -> None:
        self.words = words
        self.folder = folder
        self.environment: dict[str, str] = {}
        self.unset: set[str] = set()
        self.ignores_environment = False
        self.wrappers: list[str] = []
        self.options: dict[str, Observed] = {}
        self.not_understood: str | None = None
        self.unread: list[str] = []  # words that name a file or a system where the command itself stands

    def assign(self, word: str) -> None:
        """Note `NAME=value`."""
        name, _, value = word.partition("=")
        self.environment[name] = value
        self.unset.discard(name)

    def go_to(self, folder: str) -> None:
        """Change the folder that the command runs in."""
        self.folder = os.path.normpath(os.path.join(self.folder, folder))  # noqa: PTH118 - no file is touched


def is_assignment(word: str) -> bool:
    """Whether a word is `NAME=value`."""
    name, joined, _ = word.partition("=")
    return bool(joined) and name.isidentifier() and name.isascii()


def _is_shell_word(word: str) -> bool:
    return not _SHELL_SIGNS.isdisjoint(word[:2]) and re.match(_SHELL_WORD, word) is not None


def unwrap(words: list[str], folder: str, stops: Callable[[str], bool]) -> Unwrapped:
    """Take assignments and wrappers off. `stops`: whether a word is a launcher that the caller knows."""
    state = Unwrapped(words, folder)
    _cut_at_shell_syntax(state)
    for _ in range(64):  # wrappers nest, but not for ever
        before = list(state.words)
        while state.words and is_assignment(state.words[0]):
            state.assign(state.words.pop(0))
        if not state.words or stops(os.path.basename(state.words[0])):  # noqa: PTH119 - a word, not a file
            break
        _one(state)
        if state.words == before or (state.not_understood and not state.words):
            break
    return state


def _cut_at_shell_syntax(state: Unwrapped) -> None:
    for index, word in enumerate(state.words):
        if _is_shell_word(word):
            state.not_understood = f"`{word}` is shell syntax; the rest of the command was not checked"
            state.words = state.words[:index]
            return


def _one(state: Unwrapped) -> None:
    """Take one wrapper off, or say why what stands there leads nowhere."""
    name = os.path.basename(state.words[0])  # noqa: PTH119 - a word, not a file
    if name == "env":
        _env(state)
    elif name in _SHELLS:
        _shell(state, name)
    elif name in ELSEWHERE:
        state.unread = state.words
        _give_up(state, f"`{name}` runs the command on another system; run doctor there, with the command alone")
    elif name in BATCH:
        state.unread = state.words
        _give_up(state, f"`{name}` runs a command defined elsewhere; pass that command itself")
    elif name in WRAPPERS:
        _wrapper(state, name, WRAPPERS[name])


def _give_up(state: Unwrapped, why: str) -> None:
    state.not_understood = why
    state.words = []


def _wrapper(state: Unwrapped, name: str, wrapper: Wrapper) -> None:
    rest = state.words[1:]
    if wrapper.second is not None:
        while rest and rest[0].startswith("-"):
            rest = rest[1:]
        if rest[:1] != [wrapper.second]:
            shown = " ".join(state.words[:2])
            _give_up(state, f"`{shown}` starts no training and no server")
            return
        rest = rest[1:]
    rest = _own_options(state, name, wrapper, rest)
    state.wrappers.append(name)
    state.words = rest[wrapper.words :]
    if not state.words:
        _give_up(state, f"`{name}` is followed by no command")


def _own_options(state: Unwrapped, name: str, wrapper: Wrapper, rest: list[str]) -> list[str]:
    """Words after the wrapper's own options."""
    keep = dict(wrapper.keep)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word, rest = rest[0], rest[1:]
        if word == "--":
            break
        if word in {"-m", "--module"} and name == "uv":
            return ["python", "-m", *rest]
        option, joined, value = word.partition("=")
        if not joined and word in wrapper.pairs:
            rest = rest[2:]
            continue
        if not joined and _takes_word(word, wrapper):
            value, rest = (rest[0] if rest else ""), rest[1:]
        elif not joined and not word.startswith("--") and word[:2] in keep:
            option, value = word[:2], word[2:]  # -N2
        if option in keep and value:
            _keep(state, name, keep[option], value)
    return rest


def _takes_word(word: str, wrapper: Wrapper) -> bool:
    if word in wrapper.values:
        return True
    return wrapper.flags is not None and word.startswith("--") and word not in wrapper.flags


def _keep(state: Unwrapped, wrapper: str, name: str, value: str) -> None:
    if name == "chdir":
        state.go_to(value)
    elif name in {"export", "env"}:  # srun --export=ALL,A=1 and mpirun -x A=1
        for each in value.split(",") if name == "export" else [value]:
            if is_assignment(each):
                state.assign(each)
    state.options[f"{wrapper}.{name}"] = Observed.written(f"{wrapper}.{name}", guess(value), True, value)


def _env(state: Unwrapped) -> None:
    """`env` of https://www.gnu.org/software/coreutils/manual/html_node/env-invocation.html."""
    rest = state.words[1:]
    state.wrappers.append("env")
    while rest:
        word, rest = rest[0], rest[1:]
        option, _, value = word.partition("=")
        if word in {"-i", "-", "--ignore-environment"}:
            state.environment.clear()
            state.ignores_environment = True
        elif word in {"-u", "--unset", "-C", "--chdir", "-S", "--split-string"} and rest:
            rest = _env_value(state, word, rest[0], rest[1:])
        elif option in {"--unset", "--chdir", "--split-string"}:
            rest = _env_value(state, option, value, rest)
        elif word[:2] in {"-u", "-C", "-S"}:
            rest = _env_value(state, word[:2], word[2:], rest)
        elif is_assignment(word):
            state.assign(word)
        elif not word.startswith("-") or word == "--":
            rest = rest if word == "--" else [word, *rest]
            break
    state.words = rest
    if not rest:
        _give_up(state, "`env` is followed by no command")


def _env_value(state: Unwrapped, option: str, value: str, rest: list[str]) -> list[str]:
    if option in {"-u", "--unset"}:
        state.environment.pop(value, None)
        state.unset.add(value)
    elif option in {"-C", "--chdir"}:
        state.go_to(value)
    else:
        return [*_split(value), *rest]
    return rest


def _split(text: str) -> list[str]:
    import shlex

    try:
        return shlex.split(text, comments=True)
    except ValueError:  # an unclosed quote
        return text.split()


def _shell(state: Unwrapped, name: str) -> None:
    """`bash -c "..."`: the first command in it that is more than a preparation."""
    rest = state.words[1:]
    while rest and rest[0].startswith("-") and not ("c" in rest[0] and not rest[0].startswith("--")):
        rest = rest[1:]
    if not rest:
        _give_up(state, f"`{name}` is followed by no command")
    elif not rest[0].startswith("-"):
        state.unread = rest
        _give_up(state, f"`{rest[0]}` is a shell script and was not read; pass the command inside it")
    elif len(rest) < 2:
        _give_up(state, f"`{name} -c` is followed by no command")
    else:
        state.wrappers.append(name)
        _script_text(state, rest[1])


def _script_text(state: Unwrapped, text: str) -> None:
    commands = _commands(text)
    if commands is None:
        _give_up(state, "the shell command has a quote that is not closed")
        return
    for command in commands:
        if not _is_preparation(state, command):
            state.words = command
            return
    _give_up(state, "the shell command starts no training and no server")


def _commands(text: str) -> list[list[str]] | None:
    """Simple commands of a shell text, redirections cut off; None with an unclosed quote."""
    import shlex

    separators = ";&|\n"
    text, inner = _without_substitutions(text.replace("\\\n", " "))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=separators)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    commands: list[list[str]] = [[]]
    try:
        for token in lexer:
            if token and set(token) <= set(separators):
                commands.append([])
            else:
                commands[-1].append(token)
    except ValueError:
        return None
    known = [list(takewhile(lambda word: not re.match("[0-9]?[<>]", word), command)) for command in commands]
    return [[_MARK.sub(lambda mark: inner[int(mark[1])], word) for word in command] for command in known]


#: stands for a command substitution while words are told apart, so that its blanks and pipes divide nothing
_MARK = later("\ue000(\\d+)\ue001")


def _without_substitutions(text: str) -> tuple[str, list[str]]:
    """A shell text with a mark in the place of each `$(...)`, and what stood there."""
    found: list[str] = []
    result, at = "", 0
    while (start := text.find("$(", at)) >= 0:
        depth, end = 0, start + 1
        while end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
            if not depth:
                break
        if depth:
            break
        result += f"{text[at:start]}\ue000{len(found)}\ue001"
        found.append(text[start:end])
        at = end
    return result + text[at:], found


def _is_preparation(state: Unwrapped, command: list[str]) -> bool:
    """Whether a command only prepares (`cd`, `export`, `source`), noting what it does."""
    first, following = (command[0], command[1:]) if command else ("", [])
    if first == "cd" and following:
        state.go_to(following[0])
    elif first == "unset":
        state.unset.update(following)
    elif first == "export" or all(map(is_assignment, command)):
        for each in filter(is_assignment, command):
            state.assign(each)
    else:
        return first in _PREPARES or command[:2] == ["conda", "activate"]
    return True
