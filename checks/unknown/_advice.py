"""What the message of an unknown exception itself says about the way out: settings, a name meant, a command.

Many libraries end a refusal by naming the option to change; Python 3.10 and newer propose a name after an
AttributeError or NameError (https://docs.python.org/3/whatsnew/3.10.html#better-error-messages).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.catalogue.finding import Phrase
from doctor.catalogue.words import words_of

TOML = words_of(__name__)

#: characters of a message that are looked at, and settings that are repeated
_LOOKED_AT, _MOST = 1500, 4

_MEANT = later(r"\b[Dd]id you mean:? ?['\"`]?(?P<name>[A-Za-z_-][\w.\-/]{0,60}[\w])")
_COMMAND = later(
    r"\b(?P<command>(?:python -m )?(?:uv )?pip3? install (?:-[\w-]{1,20} )*['\"]?[\w.\[\],<>=!~@+:/-]{2,100})"
)
#: an option of a command line, an assignment, a variable of the environment, a dotted or underscored name
_SETTING = later(
    r"(?<![\w/-])--[a-z][\w.-]{1,50}(?:=[\w.]{1,30})?"
    r"|(?<![\w./])[A-Za-z]\w{0,30}(?:[._]\w{1,30}){1,6}(?:(?: ?= ?|: )(?:True|False|None|true|false|null|none|\d{1,9}"
    r"|'[\w.-]{1,30}'|\"[\w.-]{1,30}\"))?(?![\w/(])"
)
#: a version, a file, a module of a traceback or a type of torch is no setting
_NO_SETTING = later(
    r"(?:_[A-Za-z]*\d\w*?){4}|(?:^|\.)(?:py|json|yaml|yml|txt|so|bin|pt|safetensors|jinja|md|html|com|org|co|net|io)$|^[a-z]\.[a-z]\.?$"
    r"|^\w?\d[\d._]*$|\.(?:weight|bias)$|^torch\.(?:cuda|\w*int\d|\w*float\w*|bool|half|Size|nn|device)"
)
#: one field that pydantic refuses, below its name: releases 2 and 1
#: https://docs.pydantic.dev/latest/errors/validation_errors/
_FIELD = later(
    r"^(?P<field>[A-Za-z_][^\s=]{0,100})\n {2,4}(?P<complaint>[^\n]{3,200}?) [\[(]type=(?P<kind>[a-z][\w.]{1,60})",
    re.MULTILINE,
)
#: a refusal of the whole by a function of the model's own, without a field; what was given stands behind it
_WHOLE = later(r"^ {0,4}(?:Value error|Assertion failed), (?P<complaint>[^\n]{3,300}?) \[type=\w{1,40}", re.MULTILINE)
_GIVEN = later(r" \[type=\w{1,60}, input_value=[^\n]{0,600}")
#: remedies that SGLang lists whatever broke the capture of its graphs
_GENERAL = "\nPossible solutions:"
#: what Python warns of on its way out, behind the message
_WARNED = later(r"\n\S{1,300}\.py:\d{1,6}: \w{0,40}Warning: ")
_VALIDATION = "ValidationError"
_MODEL = later(r"^\d{1,4} validation errors? for (?P<model>[\w.\[\]]{1,80})")
#: exceptions by which code refuses what it was given, in words of its own
_REFUSALS = ("ValueError", "AssertionError", "NotImplementedError", "ValidationError", "RuntimeError", "Exception")
#: words of the dynamic loader, https://man7.org/linux/man-pages/man8/ld.so.8.html
_LIBRARY = later(r"(?:^|: )(?P<library>[\w.+-]{2,80}\.so[\w.]{0,12}): cannot open shared object file: No such file")
_ASKS = later(
    r"(?i)\b(?:please|should|must|need(?:s|ed)?(?: to)?|try|consider|use|set|pass|specify|provide|enable|disable|turn|"
    r"increase|reduce|decrease|remove|add|install|upgrade|required?|instead)\b"
)


def settings_of(message: str) -> tuple[str, ...]:
    """Names of settings in a message, as it writes them, in its order; at most four."""
    told = message[:_LOOKED_AT]
    names = (match[0].strip() for match in _SETTING.finditer(told))
    kept = (each for each in names if not _NO_SETTING.search(each))
    return tuple(dict.fromkeys(kept))[:_MOST]


def advice_of(exception: str, message: str) -> list[Phrase]:
    """Sentences on what a message proposes; none where it proposes nothing."""
    told = _WARNED.split(message[:_LOOKED_AT].partition(_GENERAL)[0], maxsplit=1)[0]
    if exception == _VALIDATION and _FIELD.search(told):
        return list(_of_fields(told))
    if exception == _VALIDATION and (whole := _WHOLE.search(told)):
        return [TOML.phrase("whole", model=_model_of(told), complaint=whole["complaint"].rstrip("."))]
    told = _GIVEN.sub("", told)
    sentences = []
    if meant := _MEANT.search(told):
        sentences.append(TOML.phrase("meant", meant=meant["name"]))
    listed = ", ".join(f"`{each}`" for each in settings_of(told))
    if listed and _ASKS.search(told):
        sentences.append(TOML.phrase("asks", listed=listed))
    elif listed and exception in _REFUSALS:
        sentences.append(TOML.phrase("speaks", listed=listed))
    if library := _LIBRARY.search(told):
        sentences.append(TOML.phrase("library", library=library["library"]))
    if command := _COMMAND.search(told):
        sentences.append(TOML.phrase("command", command=command["command"].rstrip(".,;:'\"")))
    return sentences


def _model_of(told: str) -> str:
    model = _MODEL.search(told)
    return model["model"] if model else ""


def _of_fields(told: str) -> Iterator[Phrase]:
    """What pydantic says of each field; what it was given is not repeated."""
    fields = [(each["field"], each["complaint"].rstrip("."), each["kind"]) for each in _FIELD.finditer(told)]
    listed = "; ".join(f"`{name}`: {complaint}" for name, complaint, _ in fields[:_MOST])
    yield TOML.phrase("fields", model=_model_of(told), listed=listed)
    if any(kind.endswith("missing") for _, _, kind in fields):
        yield TOML.phrase("missing")
    if any("extra" in kind for _, _, kind in fields):
        yield TOML.phrase("extra")
