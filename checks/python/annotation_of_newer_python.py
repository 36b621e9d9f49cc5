"""A package writes type annotations that the running Python does not understand.

## What it means
Annotations are evaluated while a module is imported. `list[int]` needs Python 3.9, `int | None` 3.10, and
`array.array[int]` 3.12; an older Python raises TypeError there.
## What it does to a run
The import fails before anything of the program runs. In an engine that is its start.
## What to do
Use a Python that the package supports, or the release of the package before that line came in.
## How it is found
In a log, by the TypeError in the body of an installed module together with the version of Python.
## References
https://peps.python.org/pep-0585/
https://peps.python.org/pep-0604/
https://docs.python.org/3/whatsnew/3.12.html
https://github.com/verl-project/verl-omni/issues/505
"""

from __future__ import annotations

import re

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.libraries import package_of
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hit, Hits, Signature

PROBLEM = Problem(id="PYT035", name="annotation-of-newer-python", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"TypeError: type 'array\.array' is not subscriptable"),
    Signature(r"TypeError: '(?:type|ABCMeta)' object is not subscriptable"),
    Signature(
        r"TypeError: unsupported operand type\(s\) for \|: '(?:type|_GenericAlias|_UnionGenericAlias"
        r"|types\.GenericAlias|ABCMeta|EnumMeta)' and '(?:type|NoneType|_GenericAlias|types\.GenericAlias"
        r"|ABCMeta|EnumMeta)'"
    ),
)
#: signature -> the first Python that evaluates such an annotation
_SINCE = ((3, 12), (3, 9), (3, 10))

LOG_MESSAGE = Message(
    en=Words(
        "`{package}` is written for Python {since} or newer and runs on {python}",
        "An annotation in its code is evaluated on import and uses what Python has only since {since}. The "
        "package says that it supports this Python, or was installed past its own requirement; your code and "
        "settings are not to blame.",
        "Make the environment with Python {since} or newer, or install the release of `{package}` before "
        "(`pip index versions PACKAGE` lists them) and pin it.",
    ),
    zh=Words(
        "`{package}` 面向 Python {since} 或更新版本编写,而运行的是 {python}",
        "其代码中的一个类型注解在导入时求值,用到了 Python {since} 才有的写法。该包声明支持此 Python,或绕过其要求安装;"
        "与您的代码和设置无关。",
        "用 Python {since} 或更新版本创建环境,或安装 `{package}` 的前一个版本"
        "(`pip index versions PACKAGE` 可列出)并固定。",
    ),
)

_PYTHON = re.compile(r"/python(?P<major>\d)\.(?P<minor>\d{1,2})/")
#: code that runs while a module is imported: its own or a class's body
_IMPORTED = re.compile(r":(?:<module>|[A-Z]\w{0,80})$")


def explain(hits: Hits) -> Finding | None:
    """Only where an installed package is imported by a Python that is too old for what the message says."""
    return next((each for each in map(_told, hits) if each is not None), None)


def _told(hit: Hit) -> Finding | None:
    frame = hit.frames[-1] if hit.frames else ""
    package = package_of(frame.rpartition(":")[0])
    running = next((told for each in reversed(hit.frames) if (told := _PYTHON.search(each))), None)
    if not package or running is None or not _IMPORTED.search(frame):
        return None
    python, since = (int(running["major"]), int(running["minor"])), _SINCE[hit.signature]
    if python >= since:
        return None
    hits = Hits((hit,), 1)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        package=package,
        python=f"{python[0]}.{python[1]}",
        since=f"{since[0]}.{since[1]}",
    )
