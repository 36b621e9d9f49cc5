"""Collects the fact `framework_words`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.base.fact import Context, DoesNotApply, Unavailable, fact
from doctor.base.patterns import later
from doctor.base.record import record
from doctor.base.redact import redact_text
from doctor.facts.framework_config import DISTRIBUTIONS, FrameworkConfig
from doctor.facts.framework_words import FrameworkWords
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

#: seconds that a framework may take to be imported and to answer
LIMIT_S = 60.0
_BOOT = """\
import sys
sys.path.insert(0, sys.argv[3])
from doctor.readers.patient.validator import main
main(sys.argv[1], sys.argv[2], sys.argv[4])
"""
_PROGRAMS = {
    "llamafactory": "LLaMA-Factory", "axolotl": "axolotl", "openrlhf": "OpenRLHF", "oumi": "oumi", "skyrl": "SkyRL",
    "areal": "AReaL", "nemo_rl": "NeMo-RL", "prime_rl": "prime-rl", "slime": "slime", "rllm": "rLLM",
    "swift": "ms-swift", "verl": "veRL",
}  # fmt: skip
_DISTRIBUTIONS = {**DISTRIBUTIONS, "swift": ("ms-swift",), "verl": ("verl",), "rllm": ("rllm",)}
_PACKAGES = {"skyrl": ("skyrl", "skyrl_train")}
#: subcommands that train; others have settings of their own
_TRAINING = {"llamafactory": ("train",), "axolotl": ("train",), "oumi": ("train",), "swift": ("sft", "pt", "rlhf")}
#: variables of a launcher that would make the child part of a group, and what may lead it to others
_LEFT_OUT = frozenset({
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT", "RAY_ADDRESS",
    "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SWIFT_CONFIG_FILE",
})  # fmt: skip
_OFFLINE = {
    "CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "ASCEND_RT_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "WANDB_MODE": "disabled", "DO_NOT_TRACK": "1",
    "AXOLOTL_DO_NOT_TRACK": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0",
}  # fmt: skip
#: caches that libraries make when they are imported: these go to the child's own folder
_CACHES = ("TMPDIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "MPLCONFIGDIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
_LONGEST_SCRIPT = 200_000
_RLLM = later(r"^\s*(?:from|import)\s+rllm\b", re.MULTILINE)


@record
class Question:
    """What is put to a framework: its entry point, the words behind it, the folder that the command runs in."""

    framework: str
    entry: str
    words: tuple[str, ...]
    script: str | None = None


@fact(timeout_s=LIMIT_S + 10)  # slow by name: told in the report, and left out by an option
def collect(
    context: Context,
    interpreter: Interpreter,
    launch: Launch,
    packages: Packages | None,
    framework_config: FrameworkConfig | None,
) -> FrameworkWords:
    """Call the framework's validator in a held child of the patient's interpreter.

    Raises:
        DoesNotApply: it is not to be asked, or the command starts no framework that has a validator.
        Unavailable: the framework is not installed there, or the interpreter cannot be started.

    """
    question = asked(launch, framework_config)
    if not context.framework or question is None:
        raise DoesNotApply("no framework's own validator is called")
    if launch.image or launch.unclear:
        raise Unavailable("the command's arguments for the framework are not fully known")
    version = _version(question.framework, packages)
    if version is None:
        raise Unavailable(f"{_PROGRAMS[question.framework]} is not installed in the environment that is examined")
    return _answer(context, interpreter, launch, question, version)


def asked(launch: Launch, config: FrameworkConfig | None) -> Question | None:
    """The question that a command makes, None where there is nobody to put it to."""
    argv = list(launch.argv)
    if launch.kind == "swift" and launch.program == "swift" and launch.subcommand in _TRAINING["swift"]:
        at = next((at for at, word in enumerate(argv) if os.path.basename(word) == "swift"), None)
        return None if at is None else Question("swift", launch.subcommand, tuple(argv[at + 2 :]))
    if launch.kind == "verl" and launch.module == "verl.trainer.main_ppo":
        return Question("verl", launch.module, tuple(argv[argv.index(launch.module) + 1 :]))
    if config is not None and config.framework in _PROGRAMS:
        return _of_config(config.framework, argv, launch)
    if launch.script and launch.trains and _RLLM.search(_text(launch.script)):
        return Question("rllm", launch.script, launch.script_args, launch.script)
    return None


def _of_config(framework: str, argv: list[str], launch: Launch) -> Question | None:
    """The words behind the program, module or script by which a framework is recognised."""
    from doctor.readers.files.framework_config import recognised

    _, words = recognised(argv, launch.folder)
    before = argv[: len(argv) - len(words)]
    if framework in _TRAINING:
        program = before[-2:] if before[-1] in _TRAINING[framework] else []
        return Question(framework, "train", words) if len(program) > 1 else None
    entry = before[-1]
    if entry.endswith(".py"):
        return Question(framework, entry, words, entry)
    entry = entry.rpartition("/")[2]
    return Question(framework, entry.rpartition(".")[2] if framework == "prime_rl" else entry, words)


def _version(framework: str, packages: Packages | None) -> str | None:
    versions = (packages.version(each) for each in _DISTRIBUTIONS[framework]) if packages is not None else ()
    return next(filter(None, versions), None)


def _answer(
    context: Context, interpreter: Interpreter, launch: Launch, question: Question, version: str
) -> FrameworkWords:
    from doctor.base.scratch import Folder
    from doctor.readers.patient.carry import carry
    from doctor.readers.patient.folder import Child

    program = _PROGRAMS[question.framework]
    with Folder("asked") as carried:
        carry(("doctor.readers.patient.validator",), Path(carried))
        plan = json.dumps(_plan(context, interpreter, launch, question, carried))
        environ = _environ(context, launch)
        try:
            child = Child(interpreter.executable, (carried, plan), environ=environ, timeout_s=LIMIT_S, text=_BOOT)
        except OSError as exc:
            raise Unavailable(f"`{interpreter.executable}` cannot be started: {exc.strerror or exc}") from exc
        ended = child.finish()
    start = next(iter(ended.all("started")), {})
    held = tuple(start.get("held", ()))
    base: dict[str, Any] = {"program": program, "version": version, "held": held, "seconds": ended.seconds}
    if ended.timed_out:
        return FrameworkWords(question.framework, outcome="timeout", **base)
    said = next(iter(ended.all("outcome")), None)
    if said is None:
        end = ended.signal or f"exit code {ended.exit_code}"
        return FrameworkWords(question.framework, outcome="signal", message=end, **base)
    return FrameworkWords(question.framework, **{**base, **_fields(said)})


def _fields(said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the fact that the child told."""
    names = ("outcome", "kind", "message", "file", "line", "function", "raised_in", "system", "missing", "imports",
             "wanted")  # fmt: skip
    found = {name: said[name] for name in names if said.get(name) is not None}
    for name in ("message", "file", "raised_in"):
        if name in found:
            found[name] = redact_text(str(found[name]))
    return found


def _plan(
    context: Context, interpreter: Interpreter, launch: Launch, question: Question, carried: str
) -> dict[str, Any]:
    folder = launch.folder or str(context.cwd)
    return {
        "framework": question.framework,
        "entry": question.entry,
        "words": list(question.words),
        "folder": folder,
        "first": [interpreter.first_on_path] if interpreter.first_on_path else [],
        "carried": carried,
        "package": _package(question),
        "script_text": _text(os.path.join(folder, question.script)) if question.script else "",
        "parent": os.getpid(),
        "caches": list(_CACHES),
    }


def _package(question: Question) -> str:
    """The folder of packages that the framework's own frames lie in."""
    several = _PACKAGES.get(question.framework)
    if several is None:
        return question.framework
    return next((each for each in reversed(several) if question.entry.startswith(each)), several[0])


def _text(path: str) -> str:
    from doctor.readers.files.text import read_text

    text = read_text(path)
    return text[:_LONGEST_SCRIPT] if isinstance(text, str) else ""


def _environ(context: Context, launch: Launch) -> dict[str, str]:
    """Variables of the command without those that make it part of a group; nothing is looked for elsewhere."""
    given: Mapping[str, str] = {} if launch.ignores_environment else context.environ
    environ = {**given, **launch.environment}
    kept = {name: text for name, text in environ.items() if name not in _LEFT_OUT and name not in launch.unset}
    kept.update(_OFFLINE)
    kept.setdefault("HF_HOME", os.path.join(_home(kept), "huggingface"))
    return kept


def _home(environ: Mapping[str, str]) -> str:
    """Where caches of the user's lie (https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables)."""
    home = environ.get("HOME", "/")
    return re.sub(r"^~(?=/|$)", home, environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"))
