"""What the message of an unknown exception itself says about the way out: settings, a name meant, a command.

Many libraries end a refusal by naming the option to change; Python 3.10 and newer propose a name after an
AttributeError or NameError (https://docs.python.org/3/whatsnew/3.10.html#better-error-messages).
"""

from __future__ import annotations

from doctor.core.patterns import later

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
    r"(?:^|\.)(?:py|json|yaml|yml|txt|so|bin|pt|safetensors|jinja|md|html|com|org|co|net|io)$|^[a-z]\.[a-z]\.?$"
    r"|^\w?\d[\d._]*$|\.(?:weight|bias)$|^torch\.(?:cuda|\w*int\d|\w*float\w*|bool|half|Size|nn|device)"
)
#: exceptions by which code refuses what it was given, in words of its own
_REFUSALS = ("ValueError", "AssertionError", "NotImplementedError", "ValidationError", "RuntimeError", "Exception")
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


def advice_of(exception: str, message: str) -> tuple[str, str]:
    """Sentences in English and in Chinese on what a message proposes; empty where it proposes nothing."""
    told = message[:_LOOKED_AT]
    english, chinese = [], []
    meant = _MEANT.search(told)
    if meant:
        english.append(
            f"The message proposes the name `{meant['name']}`: write that if it was a slip; otherwise the object is of "
            "another release than the code expects. "
        )
        chinese.append(f"异常消息建议的名称是 `{meant['name']}`:若是笔误就改成它,否则该对象与代码所预期的版本不同。")
    listed = ", ".join(f"`{each}`" for each in settings_of(told))
    if listed and _ASKS.search(told):
        english.append(f"Its message asks for a change of {listed}: start there, in configuration, command or call. ")
        chinese.append(f"异常消息要求改动 {listed}:先检查配置、启动命令或调用中的这些项。")
    elif listed and exception in _REFUSALS:
        english.append(f"Its message speaks of {listed}: start there, in configuration, command or call. ")
        chinese.append(f"异常消息提到 {listed}:先检查配置、启动命令或调用中的这些项。")
    command = _COMMAND.search(told)
    if command:
        line = command["command"].rstrip(".,;:'\"")
        english.append(f"It proposes `{line}`. ")
        chinese.append(f"它建议执行 `{line}`。")
    return "".join(english), "".join(chinese)
