"""The `ray` command cannot start with this click on Python 3.10.

## What it means
Before 2.53 Ray copies the commands of its command line, which Python 3.10 cannot do with the marker objects of click
8.3.
## What it does to a run
`ray start`, `ray status` and every other `ray` command end with `ValueError: <object object at ...> is not a valid
Sentinel`. `ray.init` inside a program is not touched.
## What to do
Install click below 8.3, or Ray 2.53 or newer.
## How it is found
Versions of Ray, click and Python.
## References
https://github.com/ray-project/ray/issues/56747
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(
    id="RAY004",
    name="ray-command-dies-on-click",
    severity=ERROR,
    since="0.1",
    affects={"ray": ">=2.9,<2.53", "click": ">=8.3"},
)

SIGNATURES = (
    Signature(
        r"ValueError: <object object at 0x[0-9a-f]{1,16}> is not a valid Sentinel", frame="ray/scripts/scripts\\.py:"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the `ray` command dies at import because of click 8.3",
        "Ray deep-copies its click commands, and the sentinel of click 8.3 cannot be copied on Python 3.10.",
        'Pin an older click: `pip install "click<8.3"` (8.2.1), or upgrade Ray to a release that '
        "works with it (2.53 or newer), or use Python 3.11.",
    ),
    zh=Words(
        "`ray` 命令因 click 8.3 在导入时退出",
        "Ray 会深拷贝其 click 命令,而 click 8.3 的 sentinel 在 Python 3.10 上无法拷贝。",
        '固定旧版 click:`pip install "click<8.3"`(8.2.1),或升级到兼容的 Ray(2.53 及以上),或使用 Python 3.11。',
    ),
)
LOG_COMMANDS = ("pip install 'click<8.3'",)

MESSAGE = Message(
    en=Words(
        "The `ray` command of Ray {ray} cannot start with click {click} on Python 3.10",
        "Every `ray` command ends with `ValueError: <object object> is not a valid Sentinel`. It is a bug of this "
        "pair, not of your configuration; `ray.init` inside a program is not touched.",
        "Install click below 8.3, or Ray 2.53 or newer.",
    ),
    zh=Words(
        "在 Python 3.10 上,Ray {ray} 的 `ray` 命令无法与 click {click} 一起启动",
        "所有 `ray` 命令都会以 `ValueError: <object object> is not a valid Sentinel` 失败。"
        "这是两者组合的缺陷,与你的配置无关;程序中的 `ray.init` 不受影响。",
        "安装低于 8.3 的 click,或 Ray 2.53 及以上版本。",
    ),
)


@check(PROBLEM)
def command_dies_on_click(packages: Packages, interpreter: Interpreter, launch: Launch | None) -> Judgement:
    """An error for a command that is the broken one."""
    if interpreter.version_info != (3, 10):
        return
    ray, click = packages.version("ray"), packages.version("click")
    yield found(
        PROBLEM,
        MESSAGE,
        ray=ray,
        click=click,
        severity=ERROR if launch is not None and launch.kind == "ray" else WARNING,
        commands=('pip install "click<8.3"',),
        evidence=(Evidence("installed packages", f"ray {ray}, click {click}, Python {interpreter.version}"),),
    )
