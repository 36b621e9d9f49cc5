"""Installed packages do not support this interpreter.

## What it means
The metadata of an installed package name the Python versions it was made for, and the interpreter is not one of them.
pip refuses such a pair; `--ignore-requires-python`, a copied environment, PYTHONPATH or an upgraded Python make it.
## What it does to a run
Syntax or library functions that this Python lacks raise as soon as the package is imported, or later; compiled parts
cannot be loaded at all.
## What to do
Make an environment with a Python that all of them support.
## How it is found
Requires-Python of the installed distributions against the version of the interpreter that would run.
## References
https://packaging.python.org/en/latest/specifications/core-metadata/#requires-python
https://pip.pypa.io/en/stable/cli/pip_install/
"""

from __future__ import annotations

from doctor.checks.python._helpers import python_allowed, stack
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT003", name="requires-python-violated", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "Python {python} is outside what `{name}` {version} supports ({needs})",
        "The package was not made for this interpreter: its import fails, or functions that it calls are missing.",
        "Make an environment with a Python that {name} {version} supports.",
    ),
    zh=Words(
        "Python {python} 不在 `{name}` {version} 支持的范围内({needs})",
        "该包不是为这个解释器制作的:导入会失败,或调用到不存在的函数。",
        "请用 {name} {version} 支持的 Python 新建环境。",
    ),
)

SEVERAL = Message(
    en=Words(
        "{count} installed packages do not support Python {python}: {names}",
        "They were not made for this interpreter: imports fail, or functions that they call are missing. Such a "
        "mixture comes from PYTHONPATH, from a copied environment, or from a Python that was upgraded in place.",
        "Make a fresh environment and install the packages into it.",
    ),
    zh=Words(
        "{count} 个已安装的包不支持 Python {python}:{names}",
        "它们不是为这个解释器制作的:导入会失败,或调用到不存在的函数。这种混合通常来自 PYTHONPATH、复制的环境,"
        "或就地升级的 Python。",
        "请新建环境并重新安装这些包。",
    ),
)


@check(PROBLEM)
def requires_python(interpreter: Interpreter, packages: Packages) -> Judgement:
    """One finding for all, for they have one cause."""
    violated = [
        each
        for each in packages.distributions.values()
        if each.broken is None and python_allowed(each.requires_python, interpreter.version) is False
    ]
    if not violated:
        return
    violated.sort(key=lambda each: (each.name not in stack(), each.name))
    first = violated[0]
    shown = ", ".join(f"`{each.name}`" for each in violated[:3])
    yield found(
        PROBLEM,
        MESSAGE if len(violated) == 1 else SEVERAL,
        severity=ERROR if first.name in stack() else WARNING,
        commands=("uv venv --python 3.12",),
        evidence=tuple(
            Evidence(each.location or "metadata", f"{each.name} {each.version}: Requires-Python {each.requires_python}")
            for each in violated[:10]
        ),
        python=interpreter.version,
        name=first.name,
        version=first.version,
        needs=first.requires_python,
        count=len(violated),
        names=shown if len(violated) <= 3 else f"{shown} ...",
    )
