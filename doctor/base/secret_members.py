"""Secrets whose own name says nothing: members of a mapping or a list that a name of secrets stands above.

`{"keys": {"openai": "..."}}`, `passwords = dict(root="...")`, a table of TOML, lines of YAML below `tokens:`.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.base.secret_looks import looks_typed
from doctor.base.secret_names import HARMLESS_TAILS, OF_KEY, VOCABULARY, is_secret_name, words_of

_MASK = "***"
#: names of what holds secrets, whatever its members are called
_SURE = frozenset({"secrets", "passwords", "passwds", "credentials", "creds", "apikeys", "passphrases"})
#: and of what may hold something else: keys of a mapping, tokens of a tokenizer
_MAYBE = frozenset({"keys", "tokens", "logins", "cookies"})
#: and of what holds users beside how they log in
_OF_USERS = frozenset({"auth", "logins"})
#: members that tell whose a secret is, and for what
_ABOUT = frozenset({
    "user", "username", "region", "url", "uri", "endpoint", "email", "mail", "name", "id", "host", "kind",
    "algorithm", "audience", "issuer", "flow", "grant",
    "description", "apiversion", "metadata", "namespace", "created", "updated", "role", "scope", "account",
})  # fmt: skip
_Q = r"\\{0,4}[\"'`]"
#: a mapping, a list, or lines that are indented; and a table of TOML or of an INI file
_OPENING = later(
    rf"(?<![\w.\-])(?P<name>[^\W\d][\w.\-]{{0,80}})(?:{_Q}\]?)?\s{{0,4}}(?:=>?|:)\s{{0,4}}"
    r"(?:(?P<open>[{\[]|(?:dict|OrderedDict|list|tuple)?\()"
    r"|[ \t]{0,8}(?:#[^\n]{0,200})?\r?\n(?P<indent>[ \t]{1,40}|(?=- )))"
    r"|(?:^|[ \t])\[(?P<table>[A-Za-z_][\w.\-\"]{0,80})\][ \t]{0,8}\r?\n",
    re.MULTILINE,
)
_CLOSING = {"{": "}", "[": "]", "(": ")"}
#: a member with its name, or one of a list
_NAMED = (
    rf"(?:{_Q})?(?P<name>[A-Za-z_\u4e00-\u9fff][\w./\- ]{{0,80}}?)(?:{_Q})?[ \t]{{0,4}}[:=][ \t]{{0,4}}"
    rf"(?:[brf]?(?P<q>{_Q})(?P<quoted>[^\"'`\\\n]{{1,4096}})(?P=q)|(?P<bare>[^\s\"'`,;{{}}\[\]()\\#]{{1,4096}}))"
)
_LISTED = (
    rf"(?:(?<![\w\"'])- |(?<=[\[,(])\s{{0,4}})(?:[brf]?(?P<p>{_Q})(?P<item>[^\"'`\\\n]{{1,4096}})(?P=p)"
    r"|(?P<word>[^\s\"'`,;{}\[\]()\\#:=]{1,4096}))(?![^\s,\])}])(?!\s{0,4}[:=])"
)
_MEMBER = later(f"{_NAMED}|{_LISTED}")
_VALUES = ("quoted", "bare", "item", "word")
_MOST = 8192  # characters of what lies below a name
#: what is no word of a language and no plain number
_MADE = later(r"(?=[^0-9]{0,80}[0-9])(?=[^A-Za-z]{0,80}[A-Za-z])[\w\-+/=.:~]{8,}\Z|[\w\-+/=.]{24,}\Z")
#: what only chance makes: letters of both sizes and digits, or very many of them
_RANDOM = later(
    r"(?=[^0-9]{0,200}[0-9])(?:(?=[^a-z]{0,200}[a-z])(?=[^A-Z]{0,200}[A-Z])[\w\-+/=.:~]{12,}|[\w\-]{32,})\Z"
)
SIGNS = (
    "secret", "stringdata", "passw", "credential", "creds", "keys", "tokens", "logins", "passphrases", "cookies",
    "auth:", "auth=", "auth =", 'auth"', "auth'", "auth]",
)  # fmt: skip


def collects(name: str) -> bool | None:
    """Whether the members below a name are secrets: True; None where their values have to look so; False."""
    words = words_of(name)
    last = words[-1] if words else ""
    if last in _SURE or (last in _MAYBE - {"cookies"} | {"key", "token"} and is_secret_name(name)):
        return True
    if last in {"password", "passwd", "passphrase", "secret", "credential"}:
        return True
    return None if last in _MAYBE | _OF_USERS else False


def is_member(above: str, name: str, value: str) -> bool:
    """Whether a value is a secret by the name that stands above its own.

    Args:
        above: the name of the mapping or list.
        name: its own, empty in a list.
        value: text that is no switch, place or code.

    """
    words, sure = words_of(name), collects(above)
    if sure is False or (words and (words[-1] in _ABOUT or words[-1] in HARMLESS_TAILS)):
        return False
    if words_of(above)[-1] == "tokens" and any(each in VOCABULARY for each in words):
        return False
    if sure:
        return True
    if words_of(above)[-1] in _OF_USERS and looks_typed(value):
        return True
    if words_of(above)[-1] == "keys" and any(each in OF_KEY for each in words):
        return bool(_MADE.match(value))
    return bool(_RANDOM.match(value))


def members_in(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Start and end of every value that lies below a name of secrets, with that name and its own."""
    text = _ESCAPED.sub(_as_break, text)
    place = 0
    while (found := _OPENING.search(text, place)) is not None:
        place = found.end()
        above = found["name"] or (found["table"] or "").strip('"')
        if above == "stringData" or (above == "data" and _of_secret(text, found.start())):
            above = "secrets"
        if collects(above) is False:
            continue
        end = _end_of(text, found)
        for each in _MEMBER.finditer(text, found.end() - (1 if found["open"] else 0), end):
            group = next(name for name in _VALUES if each[name] is not None)
            if each[group] != _MASK:
                yield each.start(group), each.end(group), above, (each["name"] or "").strip()
        place = max(place, end)


#: https://kubernetes.io/docs/concepts/configuration/secret/
_KIND = later(r"(?<![\w\-])kind(?:\\{0,4}[\"'])?[ \t]{0,4}:[ \t]{0,4}(?:\\{0,4}[\"'])?(?P<kind>[A-Z][A-Za-z]{2,40})")


def _of_secret(text: str, place: int) -> bool:
    """Whether `data` at a place is that of a Secret of Kubernetes: by the kind above it, or else below it."""
    above = list(_KIND.finditer(text, max(0, place - _MOST), place))
    kind = above[-1] if above else _KIND.search(text, place, place + _MOST)
    return kind is not None and kind["kind"] == "Secret"


#: the end of a line in a text that is escaped into one; a break of the same length keeps every place
_ESCAPED = later(r"\\{1,4}n")


def _as_break(escaped: re.Match[str]) -> str:
    return "\n".rjust(len(escaped[0]))


def _end_of(text: str, opening: re.Match[str]) -> int:
    """Where what was opened ends."""
    start, most = opening.end(), min(len(text), opening.end() + _MOST)
    if opening["open"]:
        return _closed(text, opening["open"][-1], start, most)
    if opening["table"] is not None:
        following = re.compile(r"^[ \t]*(?:\[|$)", re.MULTILINE).search(text, start, most)
        return following.start() if following is not None else most
    indent = len(opening["indent"] or "")
    line = text.find("\n", start, most)
    while 0 <= line < most:
        below = text[line + 1 : line + 1 + indent]
        if (indent and below.strip(" \t")) or (not indent and not text.startswith("- ", line + 1)):
            return line
        line = text.find("\n", line + 1, most)
    return most


def _closed(text: str, opened: str, start: int, most: int) -> int:
    """Where a bracket is closed; those in quotes are few, and end it too early at worst."""
    depth, closing = 1, _CLOSING[opened]
    for place in range(start, most):
        depth += (text[place] == opened) - (text[place] == closing)
        if not depth:
            return place
    return most
