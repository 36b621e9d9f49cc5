"""What the words of a command give to the options that a script declares on a plain `argparse` parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from doctor.base.record import record
from doctor.facts.script import Flag


@record
class Typed:
    """Words behind a script. Options are kept as typed; an option without a word of its own has the value True."""

    options: Mapping[str, str | bool] = field(default_factory=dict)
    words: Sequence[str] = ()

    @classmethod
    def of(cls, words: Sequence[str]) -> Typed:
        """Read the words of a command."""
        found: dict[str, str | bool] = {}
        for index, word in enumerate(words):
            name, joined, value = word.partition("=")
            if not _is_option(word):
                continue
            following = words[index + 1] if index + 1 < len(words) else "-"
            found[name] = value if joined else following if not _is_option(following) else True
        return cls(found, words)

    def word(self, flag: Flag, flags: Mapping[str, Flag]) -> str | bool | None:
        """What is typed for one of the script's options or positional arguments; None where nothing is."""
        if flag.names and not flag.names[0].startswith("-"):
            return self._positional(flag, flags)
        return next((self.options[name] for name in flag.names if name in self.options), None)

    def _positional(self, flag: Flag, flags: Mapping[str, Flag]) -> str | None:
        """The word at a positional argument's turn; None as well where an option is not known to take a word."""
        takes = {name: each.takes_value for each in flags.values() for name in each.names}
        left, words = [], list(self.words)
        while words:
            word = words.pop(0)
            if not _is_option(word):
                left.append(word)
            elif word.partition("=")[0] not in takes:
                return None
            elif "=" not in word and takes[word] and words:
                words.pop(0)
        turns = [each.destination for each in flags.values() if each.names and not each.names[0].startswith("-")]
        turn = turns.index(flag.destination)
        return left[turn] if turn < len(left) else None


def converted(word: str | bool, flag: Flag) -> Any:
    """A typed word, or a default that is text, as `argparse` hands it on."""
    if not flag.takes_value or isinstance(word, bool):
        return flag.constant if flag.constant is not None else True
    if flag.converts_to == "bool":
        return bool(word)  # what argparse really does with type=bool: any text is True
    if flag.converts_to in {"int", "float"}:
        try:
            return int(word) if flag.converts_to == "int" else float(word)
        except ValueError:
            return word
    return word


def _is_option(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit()
