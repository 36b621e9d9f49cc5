"""The launcher is not on PATH.

## What it means
The first word of the command is a console script, and the shell would not find it.
## What it does to a run
The shell answers `command not found`; nothing starts.
## What to do
Activate the environment that holds the launcher, or start it as a module of the interpreter that trains.
## How it is found
The word is looked up in PATH as the shell does it.
In a log: by the words of the shell, or of a program that wanted to start it.
## References
https://huggingface.co/docs/accelerate/basic_tutorials/launch
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.commands import Commands
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch

PROBLEM = Problem(id="LCH002", name="launcher-not-found", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:^|: |\uff1a)(?P<program>accelerate|torchrun|deepspeed|trl|vllm|ray|llamafactory-cli|swift|"
        r"axolotl|python|python3|ninja)(?:: (?:command )?not found|[:\uff1a] ?未找到命令)$"
    ),
    Signature(
        r"^FileNotFoundError: \[Errno 2\] [^:'\n]{2,60}: '(?P<program>accelerate|"
        r"torchrun|deepspeed|trl|vllm|ray|swift|ninja|mpirun|pdsh)'",
        symptom_of=("VLL", "TOR", "DSP"),
    ),
    Signature(
        r"^'(?P<program>[\w.\-]{1,40})' (?:is not recognized as an internal or external command|"
        r"不是内部或外部命令)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the command `{program}` was not found",
        "It is not on PATH of the shell that started the run: the environment that has it is not "
        "active (a job script, `ssh` and `docker exec` start without it), or the package is not "
        "installed there.",
        "Activate the environment in the script (`source VENV/bin/activate`, `conda activate "
        "ENV`), or call it through the interpreter that has it: `python -m "
        "accelerate.commands.launch`, `python -m torch.distributed.run`, `python -m pip install "
        "...` for what is missing; `which -a python {program}` shows what is found.",
    ),
    zh=Words(
        "找不到命令 `{program}`",
        "它不在启动该运行的 shell 的 PATH 中:含有它的环境未激活(作业脚本、`ssh`、`docker exec` "
        "启动时没有激活),或该包未安装在其中。",
        "在脚本中激活环境(`source VENV/bin/activate`、`conda activate ENV`),"
        "或通过含有它的解释器调用:`python -m accelerate.commands.launch`、`python -m "
        "torch.distributed.run`,缺少的用 `python -m pip install ...` 安装;`which -a python "
        "{program}` 可显示找到了什么。",
    ),
)

#: launcher -> options of an interpreter that do the same; `-m trl.cli` would do in TRL 0.17, where it is a module, and
#: no longer in 1.16, where it is a package
AS_MODULE: Mapping[str, tuple[str, str]] = {
    "accelerate launch": ("-m", "accelerate.commands.launch"),
    "accelerate": ("-m", "accelerate.commands.accelerate_cli"),
    "torchrun": ("-m", "torch.distributed.run"),
    "deepspeed": ("-m", "deepspeed.launcher.runner"),
    "trl": ("-c", "from trl.cli import main; main()"),
    "vllm": ("-m", "vllm.entrypoints.cli.main"),
    "swift": ("-m", "swift.cli.main"),
    "megatron": ("-m", "swift.cli._megatron.main"),
}
LOOKED_UP = {*AS_MODULE, "ray", "trinity", "python", "python3"}

MESSAGE = Message(
    en=Words(
        "`{program}` is not on PATH",
        "The shell answers `{program}: command not found` and nothing starts. Most often the environment that holds it "
        "is not active, or the package is installed in another one.",
        "Activate the environment that holds `{program}`, or start it through the interpreter that trains.",
    ),
    zh=Words(
        "PATH 中没有 `{program}`",
        "shell 会报 `{program}: command not found`,什么都不会启动。通常是装有它的环境没有激活,或者装到了另一个环境里。",
        "激活装有 `{program}` 的环境,或用训练所用的解释器以模块方式启动它。",
    ),
)


@check(PROBLEM)
def launcher_not_found(launch: Launch, commands: Commands, interpreter: Interpreter | None) -> Judgement:
    """Compare the program with what PATH gives; a path is the user's own business."""
    program = launch.program
    if program not in LOOKED_UP or program in commands.found:
        return
    named = interpreter is not None and interpreter.chosen_because == "--python"
    command = _as_module(launch, interpreter.executable if interpreter and named else "python")
    yield found(
        PROBLEM,
        MESSAGE,
        program=program,
        commands=(command,) if command else (),
        evidence=(Evidence("launch command", " ".join(launch.argv)),),
    )


def _as_module(launch: Launch, python: str) -> str:
    """The whole command with the launcher as a module of an interpreter; empty where it is none."""
    at = launch.argv.index(launch.program)
    words = 2 if launch.argv[at : at + 2] == ("accelerate", "launch") else 1
    options = AS_MODULE.get(" ".join(launch.argv[at : at + words]))
    return _typed([*launch.argv[:at], python, *options, *launch.argv[at + words :]]) if options else ""


def _typed(words: Iterable[str]) -> str:
    """Words as a shell wants them; of `NAME=value` only the value is quoted."""
    parts = (re.match(r"([A-Za-z_]\w*=)?(.*)", word, re.DOTALL) for word in words)
    return " ".join(f"{part[1] or ''}{shlex.quote(part[2]) if part[2] else ''}" for part in parts if part)


#: who starts programs; another file of that name may be missing as well
_STARTS = re.compile(r"subprocess\.py:|[\\/]os\.py:|frozen os>?:|multiprocessing[\\/]|asyncio[\\/]")


def explain(hits: Hits) -> Finding | None:
    """A name that nobody started as a program is a file or folder."""
    said = [hit for hit in hits if not hit.frames or any(_STARTS.search(frame) for frame in hit.frames)]
    if not said:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), program=said[0].groups.get("program")
    )
