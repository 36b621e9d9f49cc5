"""Words of a command as options and values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.redact import hide, hide_value
from doctor.data.launchers import Option, OptionTable, nearest

# Plain classes and string methods here and in the modules beside it: this is on the way of every `doctor check -- ...`,
# and making a data class or compiling a pattern at import costs more than reading a whole command line.

_TRUE = frozenset({"yes", "true", "t", "y", "1", "on"})
_FALSE = frozenset({"no", "false", "f", "n", "0", "off"})
_DIGITS = frozenset("0123456789")
_OF_FLOATS = frozenset("0123456789.eE+-")
_LONGEST_NUMBER = 40
#: a shell would have replaced these, so a script was read that computes the value
_OF_SHELL = ("$(", "${", "`")
_NO_IDENTIFIER = str.maketrans("./@-", "____")


class Parsed:
    """What was read.

    Args:
        settings: by the parser's own name for the option.
        words: words that belong to no option, in order.
        rest: words from the first such one on, where parsing stops there.
        unknown: options that the program does not have, without their values.
        leftover: those options and the words after them, in order, as `parse_known_args` gives them back.
        missing: options that lack their value.
        ambiguous: prefixes that fit several options.
        known: the options that the program has.

    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.known = known
        self.settings: dict[str, Observed] = {}
        self.words: list[str] = []
        self.rest: tuple[str, ...] = ()
        self.unknown: list[str] = []
        self.leftover: list[str] = []
        self.missing: list[str] = []
        self.ambiguous: list[str] = []

    def complaint(self, program: str) -> str | None:
        """Say in a sentence what the program would refuse, None when nothing."""
        if self.missing:
            return f"`{self.missing[0]}` lacks its value"
        if self.ambiguous:
            return f"`{self.ambiguous[0]}` fits several options of `{program}`"
        if self.unknown:
            near = nearest(self.unknown[0], self.known)
            return f"`{program}` has no option `{self.unknown[0]}`{near and f'; it has `{near}`'}"
        return None


def parse(words: Sequence[str], known: OptionTable, *, stop_at_word: bool) -> Parsed:
    """Read `words`; with `stop_at_word` the first word that belongs to no option ends it (script and its arguments)."""
    return _Parser(list(words), known, stop_at_word=stop_at_word).run()


class _Parser:
    def __init__(self, words: list[str], known: OptionTable, *, stop_at_word: bool) -> None:
        self.words = words
        self.known = known
        self.stop_at_word = stop_at_word
        self.at = 0
        self.parsed = Parsed(known.options)

    def run(self) -> Parsed:
        while self.at < len(self.words):
            word = self.words[self.at]
            if word == "--":
                self._positionals(self.words[self.at + 1 :])
                break
            found = self._find(word)
            if found is None:
                if self.stop_at_word:
                    self._positionals(self.words[self.at :])
                    break
                self.parsed.words.append(word)
                self.parsed.leftover.append(word)
                self.at += 1
            elif isinstance(found, str):
                self._strange(word, found)
            else:
                self._take(word, *found)
        return self.parsed

    def _positionals(self, words: list[str]) -> None:
        """The script and what follows; argparse drops one `--` behind the script."""
        if self.stop_at_word and words[1:2] == ["--"]:
            words = [words[0], *words[2:]]
        self.parsed.rest = tuple(words)
        self.parsed.words += words
        self.parsed.leftover += words

    def _find(self, word: str) -> tuple[str, Option, str | None] | str | None:
        """(option string, option, joined value), "unknown" or "ambiguous", or None for a word that is no option."""
        if not word.startswith("-") or word == "-":
            return None
        options = self.known.options
        if word in options:
            return word, options[word], None
        name, joined, value = word.partition("=")
        if joined and name in options:
            return name, options[name], value
        candidates = self._abbreviated(word)
        if len(candidates) > 1:
            return "ambiguous"
        if candidates:
            return candidates[0]
        return None if _is_negative(word) or " " in word else "unknown"

    def _abbreviated(self, word: str) -> list[tuple[str, Option, str | None]]:
        options = self.known.options
        if word.startswith("--"):
            if not self.known.abbreviations:
                return []
            name, joined, value = word.partition("=")
            fits = [each for each in options if each.startswith(name)]  # argparse counts spellings, not options
            return [(each, options[each], value if joined else None) for each in fits]
        short, joined_value = word[:2], word[2:]
        found: list[tuple[str, Option, str | None]] = []
        if short in options:
            found.append((short, options[short], joined_value))
        found += [(each, options[each], None) for each in options if each.startswith(word) and each != short]
        return found

    def _strange(self, word: str, kind: str) -> None:
        """An option that the program does not have, with the word that is most likely its value."""
        name = word.partition("=")[0]
        (self.parsed.ambiguous if kind == "ambiguous" else self.parsed.unknown).append(name)
        self.parsed.leftover.append(word)
        self.at += 1
        following = self.words[self.at : self.at + 2]
        has_more = len(following) == 2 or not self.stop_at_word
        if following and "=" not in word and has_more and self._is_value(following[0]) and not _is_script(following[0]):
            self.parsed.leftover.append(following[0])
            self.at += 1

    def _take(self, word: str, string: str, option: Option, joined: str | None) -> None:
        self.at += 1
        if joined is not None and option.words == 0:
            self._flags(word, string, option, joined)
        elif joined is not None:
            self._set(option, [joined.removeprefix("=") if not string.startswith("--") else joined])
        elif option.words == 0:
            self._set(option, [])
        else:
            self._set_following(string, option)

    def _flags(self, word: str, string: str, option: Option, joined: str) -> None:
        """Joined short flags: `-mq` is `-m -q`; `--flag=value` is refused."""
        if string.startswith("--") or f"-{joined[:1]}" not in self.known.options:
            self.parsed.missing.append(word)
            return
        self._set(option, [])
        self.words.insert(self.at, f"-{joined}")

    def _set_following(self, string: str, option: Option) -> None:
        most = 1 if option.words in {1, "?"} else len(self.words)
        values: list[str] = []
        while len(values) < most and self.at < len(self.words) and self._is_value(self.words[self.at]):
            values.append(self.words[self.at])
            self.at += 1
        if not values and option.words in {1, "+"}:
            self.parsed.missing.append(string)
            return
        self._set(option, values)

    def _is_value(self, word: str) -> bool:
        return word != "--" and self._find(word) is None

    def _set(self, option: Option, values: list[str]) -> None:
        if not values:
            value: Any = option.constant if option.words in {0, "?"} else []
        elif option.words in {"*", "+"}:
            value = [convert(option.type, each) for each in values]
        else:
            value = convert(option.type, values[0])
        text = " ".join(values)
        self.parsed.settings[option.name] = secured(Observed.written(option.name, value, True, text))


def _is_script(word: str) -> bool:
    return word.endswith(".py")


def secured(setting: Observed) -> Observed:
    """The setting without the secret that its name or value says it holds."""
    name = setting.name.rpartition(".")[2]
    if setting.place is None and any(each in setting.text for each in _OF_SHELL):  # a file has no shell
        return Observed.written(setting.name, None, False, hide(setting.name, setting.text), setting.place)
    if isinstance(setting.value, list):
        items = hide_value(name, setting.value)
        return Observed.written(setting.name, items, setting.known, hide(name, setting.text), setting.place)
    if setting.text and hide(setting.name, setting.text) != setting.text:
        return Observed.written(
            setting.name, hide_value(setting.name, setting.value), setting.known, "***", setting.place
        )
    return setting


def convert(kind: str | None, text: str) -> Any:
    """Value of `text` for a parser's type; text that is none of it stays text."""
    if kind == "int":
        return int(text) if is_int(text) else text
    if kind == "float":
        return float(text) if is_float(text) else text
    if kind == "bool" and text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    return text


def guess(text: str) -> Any:
    """Value of `text` where the type is not known: numbers and truth values, else the text."""
    if is_int(text):
        return int(text)
    if is_float(text):
        return float(text)
    if text in {"True", "true", "False", "false"}:
        return text.lower() == "true"
    return text


def is_int(text: str) -> bool:
    """Whether `text` is a whole number without leading zeros."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    plain = _DIGITS.issuperset(digits) and digits != "" and len(digits) < _LONGEST_NUMBER
    return plain and (digits == "0" or digits[0] != "0")


def is_float(text: str) -> bool:
    """Whether `text` is a number such as 1e-5 or .5."""
    if not _OF_FLOATS.issuperset(text) or len(text) > _LONGEST_NUMBER:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_negative(word: str) -> bool:
    return word[:1] == "-" and word[1:2] != "-" and "e" not in word.lower() and word[-1:] != "." and is_float(word)


def override(word: str) -> tuple[str, str, str] | None:
    """(sign, key, value) of Hydra's `key=value`, `+key=value`, `++key=value` or `~key`; None for any other word."""
    key, joined, value = word.partition("=")
    name = key.lstrip("+~")
    sign = key[: len(key) - len(name)]
    if sign not in {"", "+", "++", "~"} or not (joined or sign == "~"):
        return None
    return (sign, name, value) if name.translate(_NO_IDENTIFIER).isidentifier() else None


def parse_loosely(words: Iterable[str]) -> tuple[dict[str, Observed], list[str]]:
    """`--key value` pairs of a program whose options nobody knows, and the words that belong to none.

    A key without a word behind it is True, one with several is a list; `key=value` words belong to no key.
    """
    settings: dict[str, Observed] = {}
    others: list[str] = []
    todo = list(words)
    while todo:
        word = todo.pop(0)
        if word == "--" or not _is_key(word):
            others += [] if word == "--" else [word]
            continue
        key, joined, value = word.partition("=")
        values = [value] if joined else []
        while not joined and todo and todo[0] != "--" and not _is_key(todo[0]) and override(todo[0]) is None:
            values.append(todo.pop(0))
        name = key.lstrip("-").replace("-", "_")
        guessed: Any = [guess(each) for each in values] if len(values) > 1 else guess(values[0]) if values else True
        settings[name] = secured(Observed.written(name, guessed, True, " ".join(values)))
    return settings, others


def _is_key(word: str) -> bool:
    return word.startswith("-") and word.strip("-") != "" and not _is_negative(word) and " " not in word[:3]
