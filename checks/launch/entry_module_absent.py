"""The module that the command names is not there.

## What it means
`python -m NAME`, `torchrun -m NAME` and `deepspeed --module NAME` look for NAME in the environment of that python and
in the folder they are started in. It is in neither.
## What it does to a run
Nothing of it starts.
## What to do
Use the python of the environment that has the package, start in the checkout's folder, or correct the name.
## How it is found
In a log: by the interpreter's own line.
## References
https://docs.python.org/3/library/runpy.html
https://github.com/verl-project/verl/issues/2886
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH041", name="entry-module-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?P<python>\S{0,200}python[\d.]{0,6}): No module named '?(?P<module>[\w.\-]{1,150})'?$",
        symptom_of=("TRL023", "VLL002"),
    ),
    Signature(
        r"^(?P<python>\S{0,200}python[\d.]{0,6}): Error while finding module specification for"
        r" '(?P<module>[\w./\-]{1,150})'",
        symptom_of=("TRL023", "VLL002"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{python}` finds no module `{module}` to start",
        "The package `{package}` is not installed in the environment of this very interpreter (another conda or "
        "venv is active, `sudo` or Slurm changed PATH), the checkout that holds it is not the working folder, or "
        "the name is that of another release: entry points of recipes and examples are moved and renamed often.",
        "Look which python this is and what it has: `{python} -m pip show {package}`. Install the package there "
        "(`{python} -m pip install -e .` in the checkout), or activate the environment that has it. If {package} "
        "is there, list what it offers (`ls` in its folder) and take the command from the documentation of the "
        "installed release. Write the module with dots and without `.py`.",
    ),
    zh=Words(
        "`{python}` 找不到要启动的模块 `{module}`",
        "该解释器所在环境没有安装 `{package}`(激活的是另一个 conda 或 venv,`sudo` 或 Slurm 改变了 PATH),工作目录不"
        "是含有它的源码目录,或名称属于另一版本:recipe 与示例的入口经常移动和改名。",
        "先看这是哪个 python、装了什么:`{python} -m pip show {package}`。在其中安装该包(在源码目录中 `{python} -m "
        "pip install -e .`),或激活装有它的环境。若 {package} 已存在,查看其目录中有哪些模块(`ls`),并采用已安装版本文"
        "档中的命令。模块名用点分隔,不带 `.py`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With the package that the module belongs to."""
    module = hits.get("module") or ""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        python=hits.get("python"),
        module=module,
        package=module.replace("/", ".").partition(".")[0],
    )
