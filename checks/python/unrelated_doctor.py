"""An unrelated package with the import name `doctor` is installed.

## What it means
The distribution `doctor` on the package index validates data for Flask and has nothing to do with this one, which is
called `grpo-doctor`. Both bring a folder `doctor/`, so the one installed last has overwritten files of the other.
## What it does to a run
Training is not touched. The `doctor` command and what imports `doctor` in the training script break.
## What to do
Uninstall `doctor`, then install `grpo-doctor` again: its files were overwritten or removed with the other.
## How it is found
The installed distributions.
## References
https://pypi.org/project/doctor/
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT012", name="unrelated-doctor", severity=WARNING, since="0.1", affects={"doctor": ">=0"})

MESSAGE = Message(
    en=Words(
        "The unrelated distribution `doctor` {version} is installed",
        "It validates data for Flask and brings a folder `doctor/`, as `grpo-doctor` does: each overwrites files of "
        "the other.",
        "Uninstall `doctor`, then install `grpo-doctor` again.",
    ),
    zh=Words(
        "安装了无关的发行包 `doctor` {version}",
        "它用于 Flask 的数据校验,与 `grpo-doctor` 一样带有 `doctor/` 目录:两者会互相覆盖文件。",
        "卸载 `doctor`,然后重新安装 `grpo-doctor`。",
    ),
)


@check(PROBLEM)
def unrelated_doctor(packages: Packages) -> Judgement:
    """The engine has found the distribution; its name alone decides."""
    version = packages.version("doctor")
    yield found(
        PROBLEM,
        MESSAGE,
        commands=("pip uninstall -y doctor grpo-doctor", "pip install grpo-doctor"),
        evidence=(Evidence(packages.distributions["doctor"].location or "installed packages", f"doctor {version}"),),
        version=version,
    )
