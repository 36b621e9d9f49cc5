"""The launcher belongs to another interpreter than `python`.

## What it means
`accelerate`, `torchrun`, `deepspeed`, `trl`, `vllm` and `ray` are small scripts whose first line names an interpreter.
PATH gave one that an installation in another environment left there (often ~/.local/bin).
## What it does to a run
The run imports torch, TRL and everything else from that other environment: other versions, missing packages, or an
import error although `pip list` shows the package.
## What to do
Start the launcher as a module of the interpreter that has the packages: `python -m accelerate.commands.launch`.
## How it is found
The first line of the launcher that PATH gives, against `python` on PATH or the interpreter that is judged.
## References
https://github.com/huggingface/accelerate/issues/2660
https://github.com/huggingface/accelerate/issues/1928
"""

from __future__ import annotations

import re
import shlex

from doctor.checks.launch.launcher_not_found import AS_MODULE
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.commands import Command, Commands
from doctor.facts.environment import Environment
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT004", name="launcher-of-another-python", severity=WARNING, since="0.1")

LAUNCHED = Message(
    en=Words(
        "`{launcher}` on PATH runs {other}, and `python` is {python}",
        "This command trains with the packages of the launcher's interpreter, not with those of `python`: other "
        "versions, or an import error for what was installed into the other one.",
        "Start the launcher as a module of the interpreter that holds the packages.",
    ),
    zh=Words(
        "PATH 上的 `{launcher}` 由 {other} 运行,而 `python` 是 {python}",
        "该命令使用启动器所属解释器里的包,而不是 `python` 的:版本不同,或者找不到装在另一处的包。",
        "请以模块方式用装有这些包的解释器启动。",
    ),
)

ON_PATH = Message(
    en=Words(
        "`{launcher}` on PATH runs {other}, not {python}",
        "A launch with `{launcher}` would train with the packages of that other interpreter: other versions, or an "
        "import error for what was installed into this one.",
        "Start the launcher as a module of the interpreter that holds the packages.",
    ),
    zh=Words(
        "PATH 上的 `{launcher}` 由 {other} 运行,而不是 {python}",
        "用 `{launcher}` 启动会使用那个解释器里的包:版本不同,或者找不到装在这里的包。",
        "请以模块方式用装有这些包的解释器启动。",
    ),
)

#: launcher -> distribution that must be in the judged interpreter for the comparison to matter
NEEDS = {
    "accelerate": "torch", "torchrun": "torch", "deepspeed": "torch", "trl": "trl", "vllm": "vllm", "swift": "ms-swift",
    "megatron": "ms-swift",    "ray": "ray",
}  # fmt: skip

_VERSION = re.compile(r"python(\d+\.\d+)t?$")


def _same(one: str, other: str) -> bool:
    """Whether two paths name one interpreter: one folder, and no other version in the name."""
    folders = [re.sub(r"^/bin$", "/usr/bin", path.rpartition("/")[0]) for path in (one, other)]
    versions = {match[1] for path in (one, other) if (match := _VERSION.search(path))}
    return folders[0] == folders[1] and len(versions) <= 1


@check(PROBLEM)
def launched(
    launch: Launch, commands: Commands, interpreter: Interpreter, environment: Environment, packages: Packages
) -> Judgement:
    """The launcher of the command against `python`: that is the one whose packages the user looks at."""
    launcher = commands.found.get(launch.program)
    python = commands.found.get("python") or commands.found.get("python3")
    if launch.program not in NEEDS or launcher is None or launcher.interpreter is None:
        return
    if python is None or python.interpreter is None or _same(launcher.interpreter, python.interpreter):
        return
    if not _same(launcher.interpreter, interpreter.executable):  # --python, PYTHON_EXEC: another one was meant
        return
    active = [environment.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    if any(prefix and launcher.interpreter.startswith(f"{prefix}/") for prefix in active):
        return
    lacking = packages.complete and NEEDS[launch.program] not in packages.distributions
    yield found(
        PROBLEM,
        LAUNCHED,
        severity=ERROR if lacking else WARNING,
        confidence=LIKELY,
        commands=_module(launch.program, python.interpreter),
        evidence=_evidence(launcher),
        launcher=launch.program,
        other=launcher.interpreter,
        python=python.interpreter,
    )


@check(PROBLEM)
def on_path(launch: Launch | None, commands: Commands, interpreter: Interpreter, packages: Packages) -> Judgement:
    """Without a command: every launcher that would leave the judged interpreter."""
    if launch is not None:
        return
    for name, needs in NEEDS.items():
        launcher = commands.found.get(name)
        if launcher is None or launcher.interpreter is None or needs not in packages.distributions:
            continue
        if _same(launcher.interpreter, interpreter.executable):
            continue
        yield found(
            PROBLEM,
            ON_PATH,
            confidence=LIKELY,
            commands=_module(name, interpreter.executable),
            evidence=_evidence(launcher),
            launcher=name,
            other=launcher.interpreter,
            python=interpreter.executable,
        )


def _module(name: str, python: str) -> tuple[str, ...]:
    """Return the launcher as a module of an interpreter, where it is one."""
    options = AS_MODULE.get("accelerate launch" if name == "accelerate" else name)
    return (shlex.join([python, *options]),) if options else ()


def _evidence(launcher: Command) -> tuple[Evidence, ...]:
    return (Evidence(launcher.path, f"#!{launcher.interpreter}", 1),)
