"""Installed packages are newer than what the doctor knows.

## What it means
The doctor's version knowledge was built on a certain day. These packages were released later, so the checks that
depend on their version stay silent about them: silence is not approval.
## What it does to a run
Nothing. Problems that came with these releases are not found.
## What to do
Update the doctor.
## How it is found
The installed versions against the newest ones in the doctor's data.
## References
https://pypi.org/project/trl/#history
https://pypi.org/project/vllm/#history
"""

from __future__ import annotations

from doctor import data
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT016", name="packages-newer-than-data", severity=INFO, since="0.1", ends_run=False)

MESSAGE = Message(
    en=Words(
        "Newer than the doctor's data of {built}: {names}",
        "Checks that depend on these versions stay silent about them. That nothing was found there is no approval.",
        "Update the doctor.",
    ),
    zh=Words(
        "比诊断数据({built})更新:{names}",
        "依赖这些版本的检查对它们保持沉默。没有发现问题并不表示没有问题。",
        "请更新本诊断工具。",
    ),
)

#: packages whose releases the checks look at
JUDGED = ("trl", "vllm", "torch", "transformers", "deepspeed", "accelerate", "peft")


@check(PROBLEM)
def newer_than_data(packages: Packages) -> Judgement:
    """Development builds count only when they lie behind the newest known release."""
    newer = [
        (name, version)
        for name in JUDGED
        if (version := packages.version(name)) and data.standing(name, version) is data.Standing.NEWER
    ]
    if not newer:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        commands=("pip install -U grpo-doctor",),
        evidence=tuple(Evidence("doctor's data", f"newest known {name}: {data.newest(name)}") for name, _ in newer),
        built=data.built().isoformat(),
        names=", ".join(f"{name} {version}" for name, version in newer),
    )
