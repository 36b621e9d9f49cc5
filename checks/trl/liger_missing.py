"""The Liger kernels are asked for and not installed, or too old.

## What it means
`use_liger_kernel` (before TRL 0.28 also `use_liger_loss`) needs the package `liger-kernel`; TRL 0.17 to
1.14 want a minimum version of it for the GRPO loss.
## What it does to a run
The trainer raises ImportError ("Liger is required") on every process.
## What to do
Install `liger-kernel` in the version that TRL wants, or take the argument out.
## How it is found
The argument is true, against the installed packages and the minimum of the installed TRL.
In a log: by the exception of Transformers or TRL.
## References
https://github.com/huggingface/trl/blob/v1.13.0/trl/trainer/grpo_trainer.py
https://pypi.org/project/liger-kernel/
"""

from __future__ import annotations

from doctor import data
from doctor.checks.trl._helpers import absent, installed, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="TRL024", name="liger-kernel-missing", severity=ERROR, since="0.1", affects={"trl": ">=0.17"})

SIGNATURES = (
    Signature(
        r"ImportError: You have set `(?P<name>\w{1,40})` to `True` but liger-kernel >="
        r" (?P<minimum>[\d.]{1,12}) is not available",
    ),
    Signature(r"ImportError: Liger is required to use `(?P<name>\w{1,40})` as the GRPO loss"),
    Signature(r"ImportError: You set `(?P<name>\w{1,40})=True` but the liger kernel is not available"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{name}=True`, and `liger-kernel` is not installed or too old",
        "The Liger kernels are a package of their own, which neither TRL nor Transformers brings along; "
        "a release that is too old counts as absent.",
        "Install it for the interpreter that trains: `pip install -U liger-kernel`, or take `{name}` out.",
    ),
    zh=Words(
        "`{name}=True`,但 `liger-kernel` 未安装或版本过旧",
        "Liger 内核是单独的包,TRL 和 Transformers 都不附带;过旧的版本视为未安装。",
        "为训练所用的解释器安装:`pip install -U liger-kernel`,或删除 `{name}`。",
    ),
)

LOG_COMMANDS = ("pip install -U liger-kernel",)

MESSAGE = Message(
    en=Words(
        "`{name}=True`, and `liger-kernel` is not installed",
        "The trainer raises ImportError on every process before the first step.",
        "Install `liger-kernel`, or take the argument out.",
    ),
    zh=Words(
        "`{name}=True`,但未安装 `liger-kernel`",
        "训练器会在第一步之前于每个进程抛出 ImportError。",
        "安装 `liger-kernel`,或删除该参数。",
    ),
)

OLD = Message(
    en=Words(
        "`{name}=True` needs `liger-kernel` {minimum}; {liger} is installed",
        "TRL {version} takes an older `liger-kernel` for absent and raises ImportError on every process.",
        "Install `liger-kernel` {minimum} or newer.",
    ),
    zh=Words(
        "`{name}=True` 需要 `liger-kernel` {minimum};当前安装的是 {liger}",
        "TRL {version} 会把更旧的 `liger-kernel` 视为未安装,并在每个进程抛出 ImportError。",
        "安装 `liger-kernel` {minimum} 或更新版本。",
    ),
)


@check(PROBLEM)
def liger_missing(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit switch against the packages."""
    names = ("use_liger_kernel", "use_liger_loss")
    setting = next((each for name in names if (each := training.get(name)) and truth(each.value)), None)
    if not is_grpo(training) or setting is None:
        return
    version = installed(packages, "trl")
    release = data.trl_release(version)
    minimum = release.liger_minimum if release and packages.matches("trl", "<1.15") else None
    missing = absent(packages, "liger-kernel")
    old = minimum is not None and packages.matches("liger-kernel", f"<{minimum}")
    if not missing and not old:
        return
    yield found(
        PROBLEM,
        MESSAGE if missing else OLD,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=(f'pip install "liger-kernel>={minimum}"' if minimum else "pip install liger-kernel",),
        name=setting.name,
        minimum=minimum,
        liger=packages.version("liger-kernel"),
        version=version,
    )
