"""What the command starts or imports first is not installed in the interpreter that runs it.

## What it means
The script, or the launcher that is started as a module, imports a package that this interpreter does not have. Most
often the environment that holds it is not the active one, or `pip` installed into another interpreter.
## What it does to a run
`ModuleNotFoundError: No module named 'trl'` within the first seconds, on every rank.
## What to do
Install the package with `python -m pip` of the interpreter that runs, or start the command from the environment
that has it.
## How it is found
Imports at the top of the script, outside any `if`, `try` and function, and the package of `python -m PACKAGE`, are
looked up on the interpreter's own path. Only packages of the training stack are judged. Where the script changes
`sys.path`, or may, the finding is likely only.
## References
https://docs.python.org/3/reference/import.html#searching
https://docs.python.org/3/installing/index.html#work-with-multiple-versions-of-python-installed-in-parallel
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.checks.python._helpers import distributions_of, present
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.base import Place
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.probe import MODULES as LOOKED_FOR
from doctor.facts.script import Script

PROBLEM = Problem(id="PYT024", name="imported-package-absent", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "The command imports {names}, not installed for `{python}`",
        "The process ends with ModuleNotFoundError in its first seconds. Most often the environment that holds the "
        "package is not active, or pip installed it into another interpreter.",
        "Start the command from the environment that has {names}, or install into this one.",
    ),
    zh=Words(
        "命令会导入 {names},而 `{python}` 中没有安装",
        "进程会在最初几秒内以 ModuleNotFoundError 结束。通常是装有该包的环境没有激活,或 pip 装到了另一个解释器里。",
        "在装有 {names} 的环境中启动命令,或安装到当前解释器。",
    ),
)

#: kind of launch -> packages that it imports before it does anything
_OF_KIND = {
    "accelerate": ("accelerate",),
    "torchrun": ("torch",),
    "trl": ("trl",),
    "trl-vllm-serve": ("trl", "vllm"),
    "vllm-serve": ("vllm",),
    "vllm-api-server": ("vllm",),
    "vllm-openai-server": ("vllm",),
    "verl": ("verl",),
    "trinity": ("trinity",),
    "swift": ("swift",),
}


@check(PROBLEM, requires=("LCH002",))
def imported_package_absent(
    launch: Launch, packages: Packages, interpreter: Interpreter, script: Script | None
) -> Judgement:
    """Only a complete list proves an absence; `uv run` installs what the script names before it starts."""
    places = {module: place for module, place in _wanted(launch, script) if _absent(packages, module)}
    if not places:
        return
    if not packages.complete:
        yield Skip(f"whether {_named(places)} is installed is not in the list of packages")
        return
    if "uv" in launch.wrappers or any(word.startswith("--container") for word in launch.argv):
        yield Skip(f"the command makes an environment of its own, in which {_named(places)} may be installed")
        return
    place = next((each for each in places.values() if each is not None), None)
    changes_path = script is not None and bool({"sys.path", "sys", "site"} & set(script.imports))
    names = " ".join(distributions_of(module)[0] for module in places)
    yield found(
        PROBLEM,
        MESSAGE,
        where=Where(file=place.file, line=place.line, column=place.column) if place else None,
        confidence=LIKELY if changes_path else CONFIRMED,
        commands=(f"{interpreter.executable} -m pip install {names}",),
        evidence=(Evidence(interpreter.executable, f"chosen: {interpreter.chosen_because}"),),
        names=_named(places),
        python=interpreter.executable,
    )


def _wanted(launch: Launch, script: Script | None) -> Iterator[tuple[str, Place | None]]:
    """Yield packages that are imported for certain: those of the script first, for they have a place."""
    for dotted, place in (script.needs if script is not None else {}).items():
        yield dotted.partition(".")[0], place
    yield from ((module, None) for module in _OF_KIND.get(launch.kind, ()))


def _absent(packages: Packages, module: str) -> bool:
    """Whether nothing brings a module that the probe looks for: no file on the path and no distribution."""
    if module not in LOOKED_FOR or packages.modules.get(module):
        return False
    return not any(present(packages, each) for each in distributions_of(module))


def _named(places: dict[str, Place | None]) -> str:
    return ", ".join(f"`{module}`" for module in places)
