"""The launch command could not be understood.

## What it means
The doctor knows `accelerate launch`, `torchrun`, `deepspeed`, `python`, `trl`, `vllm serve`, veRL, Trinity-RFT and
`ray`. This command is none of them, something in it stopped the reading, or the launcher has no such option.
## What it does to a run
Nothing by itself. The checks that need the command are left out, so silence about it proves nothing.
## What to do
Give the command that starts the training itself, without pipes, redirections or a shell script around it; correct an
option that is named.
## How it is found
The parser of launch commands stopped and says where.
## References
https://huggingface.co/docs/accelerate/basic_tutorials/launch
"""

from __future__ import annotations

import shlex

from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.launch import Launch

PROBLEM = Problem(id="LCH001", name="command-not-understood", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "The launch command could not be read: {reason}",
        "Checks that need the command are left out, so their silence proves nothing. The run itself may be fine.",
        "Give the command that starts the training itself, without a pipe or a shell script around it.",
    ),
    zh=Words(
        "无法读懂启动命令:{reason}",
        "依赖该命令的检查会被跳过,因此它们不报告问题并不说明没有问题;训练本身可能是正常的。",
        "直接给出启动训练的命令,不要带管道,也不要包在 shell 脚本里。",
    ),
)

REFUSED = Message(
    en=Words(
        "Will be refused: {reason}",
        "The launcher ends with exit code 2 before anything starts, unless its release is newer than the doctor knows. "
        "Checks that need the command are left out, so their silence proves nothing.",
        "Correct the option, or add its value. Options of the launcher stand before the script, those of the script "
        "behind it.",
    ),
    zh=Words(
        "命令会被拒绝:{reason}",
        "启动器会在启动任何进程之前以退出码 2 结束,除非其版本比 doctor 所知的更新。依赖该命令的检查会被跳过,"
        "因此它们不报告问题并不说明没有问题。",
        "改正该选项,或补上它的值。启动器的选项写在脚本之前,脚本的选项写在脚本之后。",
    ),
)

#: what the parser says of options, see `doctor.facts._argv.Parsed.complaint`
_OF_OPTIONS = (" has no option `", "` lacks its value", "` fits several options of `")


@check(PROBLEM)
def command_not_understood(launch: Launch) -> Judgement:
    """Say what stopped the parser."""
    if launch.not_understood is None and launch.kind != "unknown":
        return
    if {"--help", "-h", "--version"} & set(launch.argv):
        return  # starts nothing
    reason = launch.not_understood or f"`{launch.program}` is no launcher that the doctor knows"
    evidence = (Evidence("launch command", shlex.join(launch.argv)),)
    refused = any(each in reason for each in _OF_OPTIONS)
    yield found(
        PROBLEM,
        REFUSED if refused else MESSAGE,
        confidence=LIKELY if refused else CONFIRMED,
        reason=reason.rstrip("."),
        evidence=evidence,
    )
