"""Takes secrets out of text before anybody sees it.

One door: whatever is stored or leaves goes through `redact_text` (text), `redact` (JSON-like values), `redact_argv`
(command lines) or `hide` (a value that is still worked with, whose paths have to stay as they are). The forms of
secrets are data, in `secret_forms`; private keys of many lines are `key_blocks`.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Iterable, Optional, Sequence

from doctor.base.key_blocks import MASK, without_keys
from doctor.base.patterns import later
from doctor.base.secret_columns import cells_in
from doctor.base.secret_forms import FORMS, SecretForm
from doctor.base.secret_looks import is_harmless, is_secret
from doctor.base.secret_members import SIGNS, collects, is_member, members_in
from doctor.base.secret_names import is_secret_name, is_weak

# names -------------------------------------------------------------------------------------------------------------

#: a text without any of these has no name of a secret in it
_NAME_SIGNS = (
    "key", "secret", "token", "pass", "bearer", "pw", "wort", "credential", "auth", "cookie", "webhook", "jwt", "psk",
    "pat=", "pat:", "pat ", 'pat"', "pat'",
    "sk=", "sk:", "sk ", 'sk"', "sk'", "ak=", "ak:", "ak ", 'ak"', "ak'", "sk\\", "ak\\",
    "密码", "口令", "密钥", "秘钥", "授权码", "令牌", "密碼", "パスワード", "비밀번호", "парол", "contrase", "senha",
    "hasło",
)  # fmt: skip
#: how quotes stand in text: plain, escaped once or more, or for a page of HTML
_QUOTE = r"(?:\\{0,4}[\"'`]|&quot;|&#3[49];)"
#: the end of a line, as it is or escaped
_BREAK = r"(?:\r?\n|\\{1,4}n)"
#: what may follow a name: a value in quotes of its own, or a word
_VALUE = later(
    r"\\{1,4}\"(?P<e>[^\"\\\n]{1,4096})|\\{1,4}'(?P<f>[^'\\\n]{1,4096})|"
    r"[bruBRUf]{0,2}\"(?P<d>(?:[^\"\\\n]|\\.){1,4096})|"
    r"[bruBRUf]{0,2}'(?P<q>(?:[^'\\\n]|\\.){1,4096})|&quot;(?P<h>[^&\n]{1,4096})|`(?P<t>[^`\n]{1,4096})|"
    r"(?P<w>[^\s\"'`,;&<}\])\\][^\s\"'`,;&<}\]\\]{0,4096})"
)
#: (what may stand before a value, one of what it needs), the more particular first
_NAMED = (
    # `name = X\nvalue = Y` of containers' settings
    (
        later(
            rf"(?i)\b(?:name|key){_QUOTE}?\s{{0,2}}[:=]\s{{0,2}}{_QUOTE}?(?P<name>[A-Za-z_][\w.\-]{{1,80}}){_QUOTE}?(?:[\s,]|\\{{1,4}}n){{1,60}}"
            rf"{_QUOTE}?value{_QUOTE}?\s{{0,2}}[:=]\s{{0,2}}"
        ),
        ("value",),
    ),
    # `name: |`, and the value in the lines below it, or behind it where somebody has joined the lines
    (
        later(
            rf"(?<![\w.\-])(?P<name>[^\W\d][\w.\-]{{0,120}}){_QUOTE}?:[ \t]{{0,4}}"
            r"[|>][+\-\d]{0,2}(?:\r?\n|\\{1,4}n)?[ \t]{1,40}"
        ),
        (": |", ": >"),
    ),
    # `name = """value"""`
    (
        later(
            r"(?<![\w.\-])(?P<name>[^\W\d][\w.\-]{0,120})\s{0,4}[:=]\s{0,4}"
            r"(?:\\{0,4}\"\\{0,4}\"\\{0,4}\"|\\{0,4}'\\{0,4}'\\{0,4}')(?:\\{1,4}n|\n)?[ \t]{0,40}"
        ),
        ('"""', "'''", '\\"\\"\\"'),
    ),
    # `ENV NAME value`, `setenv NAME value`, `set -x NAME value`, `aws configure set NAME value`
    (
        later(
            r"(?:(?<!\w)(?:ENV|setenv)|(?<!\w)set[ \t]{1,4}-[A-Za-z]{1,4}|\b(?:configure|config)[ \t]{1,4}set)"
            r"[ \t]{1,4}(?P<name>[A-Za-z_/:][\w.\-/:]{2,120})[ \t]{1,8}(?=[^\s=])"
        ),
        ("ENV ", "setenv ", "set -", "configure set ", "config set "),
    ),
    # what pydantic refuses: the name, and in the line below it the value
    (
        later(
            r"(?:(?<=\\n)|(?<![\w.\-\\]))(?P<name>[^\W\d][\w.\-]{0,120})[ \t]{0,4}(?:\r?\n|\\{1,4}n)[ \t]{0,40}"
            r"[^\n=\\]{1,300}\[type=\w{1,60},[ ]{1,2}input_value="
        ),
        ("input_value=",),
    ),
    # what OmegaConf refuses, with the name in a line below
    (
        later(
            rf"\bValue (?=\\{{0,4}}[\"'][^\s\"'\\]{{4,400}}\\{{0,4}}[\"'][^\n\\]{{1,200}}{_BREAK}[ \t]{{0,20}}"
            r"full_key:[ \t]{0,4}(?P<name>[A-Za-z_][\w.\-]{2,120}))"
        ),
        ("full_key",),
    ),
    # what argparse refuses
    (
        later(
            r"\bargument (?:-\w{1,3}/|[\w\-]{1,40}, ){0,4}--?(?P<name>[A-Za-z][\w.\-]{1,80}): "
            r"(?:invalid [\w.<>]{1,60} value|invalid choice|ignored explicit argument):? "
        ),
        ("argument -",),
    ),
    # `name: {"desc": null, "value": "value"}`, as wandb keeps a configuration
    (
        later(
            rf"(?<![\w.\-])(?P<name>[^\W\d][\w.\-]{{0,120}}){_QUOTE}?[ \t]{{0,4}}:[ \t]{{0,4}}(?:\{{|{_BREAK})"
            rf"(?:[ \t]|{_BREAK}){{0,40}}(?:{_QUOTE}?desc{_QUOTE}?[ \t]{{0,4}}:[^\n,\\]{{0,200}}(?:,|{_BREAK})"
            rf"(?:[ \t]|{_BREAK}){{0,40}})?{_QUOTE}?value{_QUOTE}?[ \t]{{0,4}}:[ \t]{{0,4}}"
        ),
        ("value",),
    ),
    # JSON in an address
    (
        later(r"(?i)%22(?P<name>[A-Za-z_][\w.\-]{1,80})%22(?:%20|\+)?%3A(?:%20|\+)?%22"),
        ("%22",),
    ),
    # `name = value`, `name: value`, `"name": "value"`, `name => value`, `environ["name"] = "value"`
    (
        later(
            rf"(?<![\w.\-])(?<!\$\{{)-{{0,2}}(?P<name>[^\W\d][\w.\-]{{0,120}})(?:{_QUOTE}\]?)?\s{{0,4}}"
            r"(?:=(?!=)>?|[:\uff1a](?!:)=?|\\{1,4}u003[dD])(?:[ \t]{0,4}(?:\r?\n|\\{1,4}n)[ \t]{0,20}- {1,4}|"
            r"[ \t]{0,4}(?:\r?\n|\\{1,4}n)[ \t]{0,40}(?=\\{0,4}[\"'])|\s{0,4})"
            r"(?:[&!][\w!.:\-]{1,60}[ \t]{1,4})?"
            r"(?:(?:\[|\(|Secret\w{0,10}\(|str\()(?:\s|\\{1,4}n){0,40}(?=[bruBRU]{0,2}\\{0,4}[\"']))?"
        ),
        ("=", ":", "\uff1a", "u003"),
    ),
    # `--name value`, `-name value`, and as the kernel shows a command, with a zero between words
    (
        later(
            r"(?:(?<=x00)|(?<=u0000)|(?<![\w\-]))--?(?P<name>[A-Za-z][\w.\-]{1,80})"
            r"(?:[ \t\0]|\\{1,4}(?:x00|u0000)){1,4}(?!-)"
        ),
        ("-",),
    ),
    # `("name", "value")`, as headers are written
    (
        later(
            rf"{_QUOTE}-{{0,2}}(?P<name>[A-Za-z_][\w.\-]{{2,80}}){_QUOTE}\s{{0,2}},\s{{0,2}}(?=[bruBRUf]{{0,2}}\\{{0,4}}[\"'])"
        ),
        (",",),
    ),
    (later(r"<(?P<name>[A-Za-z_][\w.\-]{2,80})>"), ("</",)),
    # `<name>NAME</name> <value>value</value>`
    (
        later(
            r"(?i)<(?:name|key)>\s{0,4}(?P<name>[A-Za-z_][\w.\-]{1,80})\s{0,4}</(?:name|key)>(?:\s|\\{1,4}n){0,40}<\w{1,20}>\s{0,4}"
        ),
        ("</",),
    ),
    # a row of a table, or an arrow; a word without a digit is a heading
    (
        later(
            r"(?<![\w.\-])(?P<name>[^\W\d][\w.\-]{0,120})(?:\s{0,60}[|\u2502\u2503]|\s{0,4}(?:->|\u2192|\u21d2))\s{0,60}"
            r"(?=[^\s\d|]{0,80}\d)"
        ),
        ("|", "\u2502", "\u2503", "->", "\u2192", "\u21d2"),
    ),
    # `name == "value"`, of letters of both sizes and a digit
    (
        later(
            rf"(?<![\w.\-])(?P<name>[^\W\d][\w.\-]{{0,120}})(?:{_QUOTE}[\])]{{1,2}})?\s{{0,4}}[!=]=\s{{0,4}}"
            r"(?=[bruBRU]{0,2}\\{0,4}[\"'](?=[^\"'\s\d]{0,80}\d)(?=[^\"'\sA-Z]{0,80}[A-Z])(?=[^\"'\sa-z]{0,80}[a-z]))"
        ),
        ("==", "!="),
    ),
    # `name: type = "value"`, `name: type = field(default="value")`
    (
        later(
            r"(?<![\w.\-])(?P<name>[^\W\d][\w.\-]{0,120})\s{0,2}:\s{0,2}[A-Za-z_][\w.\[\], |]{0,60}?\s{0,2}=\s{0,2}"
            r"(?:[\w.]{1,60}\(\s{0,20}(?:default\s{0,2}=\s{0,2})?)?(?=[bruBRU]{0,2}\\{0,4}[\"'])"
        ),
        ("=",),
    ),
    # what is taken where a variable, an option or an input of that name is not given: `${name:-value}`,
    # `get("name") or "value"`, `add_argument("--name", default="value")`, `variable "name" { default = "value" }`
    (later(r"\$\{(?:oc\.env:)?(?P<name>[A-Za-z_]\w{1,80})(?::?[-=]|,\s{0,2})"), ("${",)),
    (
        later(
            rf"{_QUOTE}(?P<name>[A-Za-z_][\w.\-]{{1,80}}){_QUOTE}\s{{0,2}}[)\]]\s{{0,2}}(?:or|\|\||\?\?)\s{{0,2}}(?=\\{{0,4}}[\"'])"
        ),
        (" or ", "|| ", "?? "),
    ),
    (
        later(
            rf"{_QUOTE}-{{0,2}}(?P<name>[A-Za-z_][\w.\-]{{1,80}}){_QUOTE}[^()}}\"]{{0,200}}?\bdefault\s{{0,2}}=\s{{0,2}}(?=\\{{0,4}}[\"'])"
        ),
        ("default",),
    ),
    # `value = X\nname = NAME`, as some tools order the variables of a container
    (
        later(
            rf"(?<![\w.\-])value{_QUOTE}?\s{{0,2}}[:=]\s{{0,2}}(?={_QUOTE}?[^\s\"',]{{4,400}}{_QUOTE}?(?:[\s,]|\\{{1,4}}n){{1,60}}"
            rf"{_QUOTE}?(?:name|key){_QUOTE}?\s{{0,2}}[:=]\s{{0,2}}{_QUOTE}?(?P<name>[A-Za-z_][\w.\-]{{2,80}}))"
        ),
        ("value",),
    ),
    # in an address, escaped
    (later(r"(?i)(?P<name>[A-Za-z_][\w.\-]{1,80})%3[ad](?:%20|\+|%22){0,2}"), ("%3",)),
)
_GROUPS = ("e", "f", "d", "q", "h", "t", "w")

#: of what stands for itself in a command or a configuration whatever its name is
_SWITCHES = frozenset({"true", "false", "yes", "no", "none", "null", "auto", "0", "1", ""})

_HOME_PATH = later(r"(?<![A-Za-z0-9_./~-])(/home/|/Users/|[A-Z]:\\Users\\)(?!\*\*\*)[^/\\\s'\"]+")
_HOME_SIGNS = ("/home/", "/Users/", ":\\Users\\")

# text -------------------------------------------------------------------------------------------------------------


def redact_text(text: str, *, homes: bool = True) -> str:
    """`text` without tokens, keys, passwords and, with `homes`, user names in home paths; lines stay as many."""
    if text not in _clean:
        shown = _taken_out(text, [])
        if shown == text and len(text) <= _SHORT:
            if len(_clean) >= _MOST_CLEAN:
                _clean.clear()
            _clean.add(text)
        text = shown
    if homes and any(sign in text for sign in _HOME_SIGNS):
        return _HOME_PATH.sub(r"\1***", text)
    return text


#: texts that were looked through and hold no secret: a thousand nodes, and lines of a log, say the same again
_clean: set[str] = set()
_SHORT, _MOST_CLEAN = 512, 4096


def redact_lines(lines: Sequence[str]) -> list[str]:
    """Lines that belong together, each without its line end; a secret may stretch over many of them."""
    shown = redact_text("\n".join(lines)).split("\n")
    return shown if len(shown) == len(lines) else [redact_text(line) for line in lines]


def secrets_in(text: str) -> list[str]:
    """What `redact_text` takes out of a text, so that words taken from it can be looked through."""
    taken: list[str] = []
    _taken_out(text, taken)
    return [each for each in dict.fromkeys(taken) if len(each) >= _SHORTEST]


#: a shorter one is not looked for elsewhere: it would be found in every word
_SHORTEST = 4


#: secrets that were hidden where a text was stored, newest last: a headline may hold a word of one
_hidden: dict[str, None] = {}
_MOST_HIDDEN = 1000


def remember(text: str) -> None:
    """Keep the secrets of a text that is stored without them, so that a report can look for them everywhere."""
    _hidden.update(dict.fromkeys(secrets_in(text)))
    while len(_hidden) > _MOST_HIDDEN:
        del _hidden[next(iter(_hidden))]


def remembered() -> list[str]:
    """Secrets of texts that this process has stored."""
    return list(_hidden)


def without(text: str, secrets: Iterable[str], *, parts: bool = True) -> str:
    """A word or sentence made of a text whose secrets are known, without them; with `parts` not even a piece of one."""
    for secret in sorted(secrets, key=len, reverse=True):
        bare = secret.strip("\"'")
        if bare and bare in text:
            text = re.sub(rf"{_BEGINS}{re.escape(bare)}(?![A-Za-z0-9])", MASK, text)
        if parts and len(text) >= _SHORTEST and text in secret:
            return MASK
    return text


#: where a word begins: behind what is none, an option's letter, or an escaped line end
_BEGINS = r"(?:(?<![A-Za-z0-9])|(?<=-[A-Za-z])|(?<=\\[nrt]))"


def without_secrets(words: Mapping[str, str], text: str) -> tuple[dict[str, str], str]:
    """Words that were taken from a text, and the text, both without its secrets; paths stay as they are."""
    secrets = secrets_in(text)
    if not secrets:
        return dict(words), text
    return {name: without(word, secrets) for name, word in words.items()}, redact_text(text, homes=False)


def secrets_of_environment() -> list[str]:
    """Values of this process's variables that are secrets by name and look like one."""
    named = (value for name, value in os.environ.items() if is_secret(name, value))
    return [value for value in named if len(value) >= _LONG and any(each.isdigit() for each in value)]


#: what is shorter may be a word of a sentence, too
_LONG = 12


def _taken_out(text: str, taken: list[str]) -> str:
    text = without_keys(_COLOURS.sub("", text) if "\x1b" in text else text, taken)
    lowered = text.lower()
    for place in sorted({place for sign, place in _SIGNS if sign in lowered}):
        text = _without_form(FORMS[place], text, taken)
    if any(sign in lowered for sign in SIGNS):
        text = _without_members(text, taken)
    if any(sign in lowered for sign in _NAME_SIGNS):
        for pattern, signs in _NAMED:
            if any(sign in text for sign in signs):
                text = _without_values(pattern, text, taken)
        if "\n" in text:
            text = _without_cells(text, taken)
    return text


def _without_cells(text: str, taken: list[str]) -> str:
    """A text without what stands in columns of secrets."""
    out: list[str] = []
    shown = 0
    for start, end in cells_in(text):
        taken.append(text[start:end])
        out += (text[shown:start], MASK)
        shown = end
    return "".join((*out, text[shown:]))


def _without_members(text: str, taken: list[str]) -> str:
    """A text without the values below names of secrets, whatever their own names are."""
    out: list[str] = []
    shown = 0
    for start, end, above, name in members_in(text):
        value = text[start:end]
        if start >= shown and not is_harmless(name or above, value) and is_member(above, name, value):
            taken.append(value)
            out += (text[shown:start], MASK)
            shown = end
    return "".join((*out, text[shown:]))


#: (sign, place of its form): one loop over all signs is what keeps a text without secrets cheap
_SIGNS = tuple((sign, place) for place, form in enumerate(FORMS) for sign in form.signs)
#: they end in a letter, which would be taken for the beginning of what follows
_COLOURS = later(r"\x1b\[[0-9;]{0,20}[A-Za-z]")


def _without_form(form: SecretForm, text: str, taken: list[str]) -> str:
    def masked(match: re.Match[str]) -> str:
        taken.append(match["s"])
        start, (first, last) = match.start(), match.span("s")
        return f"{match[0][: first - start]}{MASK}{match[0][last - start :]}"

    for _ in range(_MOST_AGAIN):
        shown = form.pattern.sub(masked, text)
        if shown == text:
            break
        text = shown
    return text


#: of a command that takes several secrets, each match reaches up to the first that still stands there
_MOST_AGAIN = 20


def _without_values(named: re.Pattern[str], text: str, taken: list[str]) -> str:
    """A text without the values behind names of secrets; a value of another name may hold such a name itself."""
    out: list[str] = []
    shown = place = 0
    while (match := named.search(text, place)) is not None:
        place = match.end()
        if not (is_secret_name(match["name"]) or is_weak(match["name"])):
            continue
        value = _VALUE.match(text, place)
        if value is None:
            continue
        group = next(each for each in _GROUPS if value[each] is not None)
        secret = _secret_in(match["name"], value[group])
        if secret:
            taken.append(secret)
            out += (text[shown : value.start(group)], MASK)
            shown = value.start(group) + len(secret)
            while (more := _MORE.match(text, shown)) is not None:
                taken.append(more["s"])
                out += (text[shown : more.start("s")], MASK)
                shown = more.end("s")
        place = max(value.end(group), shown, place + 1)
    return "".join((*out, text[shown:]))


def _secret_in(name: str, value: str) -> str:
    """What is secret of a value; a bracket behind it may close a call: `main(KEY=value)`."""
    if is_secret(name, value):
        return value
    inner = value.rstrip(")") if "(" not in value else value
    return inner if inner != value and is_secret(name, inner) else ""


#: the next of several secrets under one name, or the rest of one that is written in pieces: only what chance makes
_MORE = later(
    r"(?:\\{0,4}[\"']?\s{0,2}(?:[,;|]|\+|\\?\r?\n)?(?:\s|\\{1,4}n){0,40}[bruf]{0,2}\\{0,4}[\"']|[,;|])"
    r"(?P<s>(?=[^0-9]{0,80}[0-9])(?:(?=[^a-z]{0,80}[a-z])(?=[^A-Z]{0,80}[A-Z])[A-Za-z0-9+/_]{20,400}|[0-9a-f]{32,128}))"
    r"(?![\w.:=/-])"
)


# values -----------------------------------------------------------------------------------------------------------


def hide(name: str, text: str) -> str:
    """A value without its secrets; paths stay as they are, for it is still worked with.

    Args:
        name: of the setting, option or variable; empty where there is none.
        text: its value.

    """
    if is_secret(name, text):
        return MASK
    return redact_text(text, homes=False)


def hide_value(name: str, value: Any) -> Any:
    """The same for a value of any type; lists item by item."""
    if isinstance(value, str):
        return hide(name, value)
    return [hide_value(name, each) for each in value] if isinstance(value, list) else value


def redact_variable(name: str, value: str, *, homes: bool = True) -> str:
    """Value of an environment variable fit to be shown: secrets become "set" or "unset"."""
    if is_secret_name(name) and (not value or value.lower() not in _SWITCHES):
        return "set" if value else "unset"
    if is_secret(name, value):
        return "set"
    return redact_text(value, homes=homes)


def redact(value: object, name: str = "", *, homes: bool = True) -> object:
    """A JSON-like value with every secret in it taken out; keys decide as well as contents.

    Without `homes` paths stay as they are, for values that go to a machine of the same user and are used there.
    """
    if isinstance(value, str):
        below, _, own = name.rpartition(_BELOW)
        if below and not is_harmless(own or below, value) and is_member(below, own, value):
            return MASK
        return redact_variable(own, value, homes=homes)
    if isinstance(value, dict):
        return {key: redact(each, _name_of(value, name, str(key)), homes=homes) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        words = redact_argv(value) if value and all(isinstance(each, str) for each in value) else value
        if words is not value:
            words = [each if each != own else line for each, own, line in zip(words, value, _together(value))]  # noqa: B905
        return [redact(each, name, homes=homes) for each in words]
    return value


def _together(lines: Sequence[str]) -> Sequence[str]:
    """Lines of a text: a name may stand in one and its secret in the next. The same lines where they are none."""
    text = "\n".join(lines)
    lowered = text.lower()
    if len(lines) < 2 or not any(sign in lowered for sign in (*_NAME_SIGNS, *SIGNS)):
        return lines
    shown = redact_text(text, homes=False).split("\n")
    return shown if len(shown) == len(lines) else lines


#: keys of a setting that is written as {"name": NAME, "value": VALUE, "text": "as written"}
_VALUES = frozenset({"value", "text", "default"})


def _name_of(owner: dict[Any, Any], above: str, key: str) -> str:
    """By what a member of a mapping is judged: its key, with the mapping's name where that alone says too little."""
    if key in _VALUES:
        named = owner.get("name")
        return named if isinstance(named, str) else above
    below, _, own = above.rpartition(_BELOW)
    if (below or collects(own) is not False) and isinstance(owner.get(key), (str, list, tuple, dict)):
        return f"{below or own}{_BELOW}{key}"
    return f"{own}.{key}" if key.lower() in {"key", "keys"} else key


#: between the name of a collection of secrets and a member's own; no name has it
_BELOW = "\x00"


# commands ---------------------------------------------------------------------------------------------------------


def redact_argv(argv: Sequence[str]) -> list[str]:
    """Words of a command without secrets: of options, assignments and headers, by their looks and by the command."""
    known = secrets_in(_joined(argv))
    shown: list[str] = []
    option: Optional[str] = None
    for word in argv:
        name, value = _assigned(word)
        asked, option = option, None
        if asked is not None and not word.startswith("-") and is_secret(asked, word):
            shown.append(MASK)
            continue
        if name and value and (secret := _secret_in(name, value)):
            shown.append(f"{word[: -len(value)]}{MASK}{value[len(secret) :]}")
            continue
        if name and word.startswith("-") and value is None and (is_secret_name(name) or is_weak(name)):
            option = name
        inside = len(word) > _SHORTEST and any(word in secret for secret in known if " " in secret)
        shown.append(MASK if inside else without(redact_text(word, homes=False), known, parts=False))
    return shown


def _joined(argv: Sequence[str]) -> str:
    """One line as a shell shows it; words that look like nothing unusual stay without quotes."""
    return " ".join(f"'{each}'" if " " in each and "'" not in each else each for each in argv)


def _assigned(word: str) -> tuple[str, Optional[str]]:
    """Name and value of `NAME=value`, `--name=value`, `+name=value`; the value is None of an option alone."""
    if word.startswith("-") and "=" not in word:
        return word.lstrip("-"), None
    name, equals, value = word.partition("=")
    bare = name.lstrip("-+~")
    if equals and bare and not any(each in bare for each in " /\n'\"{}?&:"):
        return bare, value
    return "", None


# terminals --------------------------------------------------------------------------------------------------------

#: what makes a terminal act (C0 and C1 but tab and line feed, DEL) and what makes text read other than it stands
_ACTING = later("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def inert(value: object) -> object:
    """A JSON-like value without characters that terminals obey; what follows an escape stays as plain words."""
    if isinstance(value, str):
        return _ACTING.sub("", value)
    if isinstance(value, dict):
        return {key: inert(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [inert(each) for each in value]
    return value
