"""What the message of an unknown exception itself says about the way out: settings, a name meant, a command.

Many libraries end a refusal by naming the option to change; Python 3.10 and newer propose a name after an
AttributeError or NameError (https://docs.python.org/3/whatsnew/3.10.html#better-error-messages).
"""

from __future__ import annotations

import re

from doctor.base.patterns import later

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


def advice_of(exception: str, message: str) -> tuple[str, str]:
    """Sentences in English and in Chinese on what a message proposes; empty where it proposes nothing."""
    told = _WARNED.split(message[:_LOOKED_AT].partition(_GENERAL)[0], maxsplit=1)[0]
    if exception == _VALIDATION and _FIELD.search(told):
        return _of_fields(told)
    if exception == _VALIDATION and (whole := _WHOLE.search(told)):
        return _of_whole(told, whole["complaint"].rstrip("."))
    told = _GIVEN.sub("", told)
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
    library = _LIBRARY.search(told)
    if library:
        english.append(
            f"The loader does not find `{library['library']}`: `find / -name '{library['library']}*' 2>/dev/null` "
            "shows whether it is there. If so, name its folder before the start (`export "
            "LD_LIBRARY_PATH=FOLDER:$LD_LIBRARY_PATH`, with Ray before `ray start`) or run `ldconfig`; if not, install "
            "what brings it. "
        )
        chinese.append(
            f"加载器找不到 `{library['library']}`:用 `find / -name '{library['library']}*' 2>/dev/null` "
            "查看它是否存在。若存在,在启动前指明其目录(`export LD_LIBRARY_PATH=FOLDER:$LD_LIBRARY_PATH`,使用 Ray 时在 "
            "`ray start` 之前)或运行 `ldconfig`;若不存在,请安装提供它的软件包。"
        )
    command = _COMMAND.search(told)
    if command:
        line = command["command"].rstrip(".,;:'\"")
        english.append(f"It proposes `{line}`. ")
        chinese.append(f"它建议执行 `{line}`。")
    return "".join(english), "".join(chinese)


def _of_whole(told: str, complaint: str) -> tuple[str, str]:
    """What the model's own check says of values that do not fit together, or of what it could not read."""
    model = _MODEL.search(told)
    name = f"`{model['model']}`" if model else "its model"
    english = (
        f"pydantic only hands on what the check of {name} says: {complaint}. Look for the setting, file or package "
        "that this speaks of; the values that were given stand behind it in the log. "
    )
    chinese = (
        f"pydantic 只是转述 {name} 自身检查所说的内容:{complaint}。"
        "请查看其中所指的设置、文件或包;所给的值在日志中位于其后。"
    )
    return english, chinese


def _of_fields(told: str) -> tuple[str, str]:
    """What pydantic says of each field; what it was given is not repeated."""
    model = _MODEL.search(told)
    whose = f" of `{model['model']}`" if model else ""
    whose_zh = f"`{model['model']}` 的" if model else ""
    fields = [(each["field"], each["complaint"].rstrip("."), each["kind"]) for each in _FIELD.finditer(told)]
    listed = "; ".join(f"`{name}`: {complaint}" for name, complaint, _ in fields[:_MOST])
    missing = any(kind.endswith("missing") for _, _, kind in fields)
    extra = any("extra" in kind for _, _, kind in fields)
    english = f"Fields{whose} are refused: {listed}. Correct them in the configuration, file or request that is read. "
    chinese = f"{whose_zh}以下字段被拒绝:{listed}。请在所读取的配置、文件或请求中更正。"
    if missing:
        english += "A missing one may mean that the file is meant for another command or release. "
        chinese += "缺少字段也可能说明该文件是为另一个命令或版本写的。"
    if extra:
        english += "An extra one is misspelled, stands at another level, or belongs to another release. "
        chinese += "多余的字段可能是拼写错误、层级不对,或属于另一版本。"
    return english, chinese
