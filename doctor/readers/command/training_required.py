"""What a script's parser must be given: required options, fields without a default, and what the command gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from doctor.facts.script import Flag, Script
from doctor.readers.command.hf_arguments import Given
from doctor.readers.script.shell_words import unknown

_HELP = frozenset({"-h", "--help"})


def asked_of(script: Script) -> tuple[str, ...]:
    """Names that the script's own classes and options declare without a default, so that its parser asks for them."""
    if script.parser is None:
        return tuple(flag.destination for flag in script.flags.values() if flag.required)
    if not script.reads_command_line:
        return ()
    filled = [script.classes[name] for name in script.parses_arguments_into if name in script.classes]
    return tuple(dict.fromkeys(name for each in filled for name in each.required))


def given_by(script: Script, given: Given, words: Sequence[str]) -> frozenset[str] | None:
    """Names that the command and its file give to the parser; None where that is not seen whole."""
    if script.parser is not None and not script.reads_command_line:
        return None
    if given.broken is not None or any(map(unknown, words)) or not _HELP.isdisjoint(words):
        return None
    if script.parser is not None:
        return frozenset(given.settings)
    typed = [word.partition("=")[0] for word in words if word.startswith("-")]
    return frozenset(
        flag.destination for flag in script.flags.values() if _is_typed(flag, typed, script.flags.values())
    )


def _is_typed(flag: Flag, typed: Iterable[str], flags: Iterable[Flag]) -> bool:
    """Whether an option is typed, in full or so far as argparse needs it."""
    others = [name for each in flags if each is not flag for name in each.names]
    return any(
        name in flag.names
        or (name.startswith("--") and name not in others and any(each.startswith(name) for each in flag.names))
        for name in typed
    )
