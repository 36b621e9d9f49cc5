"""With sleep mode this vLLM may crash when the process ends.

## What it means
Sleep mode's allocator calls back into Python while the interpreter shuts down. vLLM 0.10.2 keeps the
callback alive; older releases do not.
## What it does to a run
After everything is done and saved, the process ends with `Segmentation fault` or `Trying to free a pointer
not allocated here`, exit code 134 or 139. Outputs are complete, but a scheduler may count the job as failed
and start it again.
## What to do
Do not take the exit code for the result, or install vLLM 0.10.2 or newer.
## How it is found
Sleep mode of the server or trainer and the installed vLLM.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/issues/16993
https://github.com/vllm-project/vllm/pull/23477
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words, found
from doctor.core.problem import INFO, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training

PROBLEM = Problem(
    id="VLL018",
    name="sleep-mode-crashes-at-exit",
    severity=INFO,
    since="0.1",
    affects={"vllm": ">=0.7,<0.10.2"},
)

SIGNATURES = (Signature(r"Trying to free a pointer not allocated here", kind="warning"),)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM's sleep-mode allocator crashed while the process was ending",
        "The callbacks of sleep mode are called while the interpreter shuts down (fixed in part in vLLM "
        "0.10.2). It happens after the work is done: outputs and checkpoints are complete, but the exit "
        "code is 134 or 139.",
        "Do not take the exit code for the result; install vLLM 0.10.2 or newer, or switch sleep mode "
        "off (`vllm_enable_sleep_mode=False`).",
    ),
    zh=Words(
        "进程结束时 vLLM 睡眠模式的分配器崩溃",
        "睡眠模式的回调在解释器关闭期间被调用(vLLM 0.10.2 已部分修复)。此时工作已经完成:输出和检查点都完"
        "整,但退出码为 134 或 139。",
        "不要以退出码判断结果;安装 vLLM 0.10.2 及以上版本,或关闭睡眠模式(`vllm_enable_sleep_mode=False`)。",
    ),
)

LOG_CONFIDENCE = LIKELY

MESSAGE = Message(
    en=Words(
        "Sleep mode of vLLM {version} may crash the process at its very end",
        "The crash (exit code 134 or 139) comes when Python shuts down, after all work is done and saved. "
        "It is a bug of vLLM before 0.10.2.",
        "Judge the run by its outputs rather than by the exit code, or install vLLM 0.10.2 or newer.",
    ),
    zh=Words(
        "vLLM {version} 的睡眠模式可能使进程在最后退出时崩溃",
        "崩溃(退出码 134 或 139)发生在 Python 关闭时,此时工作均已完成并保存。这是 vLLM 0.10.2 之前的缺陷。",
        "以输出而不是退出码判断运行结果,或安装 vLLM 0.10.2 及以上版本。",
    ),
)


@check(PROBLEM)
def sleep_crashes_at_exit(serving: Serving | None, training: Training | None, packages: Packages) -> Judgement:
    """The engine has compared the version."""
    setting = serving.arguments.get("enable_sleep_mode") if serving is not None else None
    if setting is None and training is not None and training.value("use_vllm"):
        setting = training.get("vllm_enable_sleep_mode")
    if setting is None or not setting.known or not truth(setting.value):
        return
    yield found(PROBLEM, MESSAGE, version=packages.version("vllm"), where=place_of(setting), evidence=(proof(setting),))
