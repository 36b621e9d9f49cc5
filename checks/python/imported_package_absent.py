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
In a log: by the exception, where the user's own code is what imported the module. Before launch: imports at the top of
the script, outside any `if`, `try` and function, and the package of `python -m PACKAGE`, are looked up on the
interpreter's own path. Only packages of the training stack are judged there. Where the script changes `sys.path`, or
may, the finding is likely only.
## References
https://docs.python.org/3/reference/import.html#searching
https://docs.python.org/3/installing/index.html#work-with-multiple-versions-of-python-installed-in-parallel
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.checks.python._helpers import distributions_of, present
from doctor.checks.python.requirement_missing import DISTRIBUTIONS, GONE_FROM_PYTHON, package_of
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.base import Place
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.probe import MODULES as LOOKED_FOR
from doctor.facts.script import Script

PROBLEM = Problem(id="PYT024", name="imported-package-absent", severity=ERROR, since="0.1")

#: problems that know more of the same line
_OTHERS = (
    "TRL", "VLL", "DSP", "TRF", "FLA", "TOR", "CUD", "DAT", "VRL", "ORL", "TRI", "RAY", "BNB", "ACC", "PFT", "HUB",
    "LCH", "TRK", "PYT010", "PYT015", "PYT025", "PYT032",
)  # fmt: skip

#: frames of a package that is being built, in an environment of its own that pip makes and empties
_BUILDS = re.compile(r"setup\.py:|<string>|[\\/]pip-(?:build|install|req|ephem)|build-env")

SIGNATURES = (Signature(r"^ModuleNotFoundError: No module named '(?P<module>[A-Za-z_]\w{0,60})'$", symptom_of=_OTHERS),)

LOG_MESSAGE = Message(
    en=Words(
        "your code imports `{module}`, which the interpreter that ran it does not have",
        "The environment that holds it was not active, the launcher belongs to another Python than `pip`, or it was "
        "never installed there.",
        "Start from the environment that has it, or install it into the one that ran: `python -m pip install {dist}`, "
        "with the python of the traceback. `python -m torch.distributed.run`, `python -m accelerate.commands.launch` "
        "and `python -m deepspeed.launcher.runner` start the launchers with the same interpreter.",
    ),
    zh=Words(
        "你的代码导入 `{module}`,而运行它的解释器中没有这个包",
        "装有该包的环境没有激活,启动器与 `pip` 属于不同的 Python,或从未在那里安装。",
        "在装有它的环境中启动,或安装到实际运行的解释器:`python -m pip install {dist}`(使用异常栈中的 python)。"
        "`python -m torch.distributed.run`、`python -m accelerate.commands.launch`、"
        "`python -m deepspeed.launcher.runner` 可用同一解释器启动各启动器。",
    ),
)

OWN_MODULE = Message(
    en=Words(
        "your code imports `{module}`, which is neither installed nor found beside the script",
        "Python looks in the folder of the script that was started, in `PYTHONPATH` and among the installed packages. "
        "`python -m` and `torchrun -m` look in the current folder instead of the script's. A module of your own in "
        "another folder is not found; in workers of Ray, or on other nodes, the folder may be missing altogether.",
        "A module of your own: start in its folder, or `export PYTHONPATH=/folder/that/holds/{module}:$PYTHONPATH` (on "
        "every node; with Ray in `runtime_env`), or install your project with `pip install -e .`; what a checkout "
        "carries as a submodule is fetched with `git submodule update --init --recursive`. A package: "
        "`python -m pip install` it by its name on PyPI, which may differ from `{module}`.",
    ),
    zh=Words(
        "你的代码导入 `{module}`,它既没有安装,也不在脚本旁边",
        "Python 会在所启动脚本的目录、`PYTHONPATH` 和已安装的包中查找;`python -m` 与 `torchrun -m` 查找的是当前目录而不"
        "是脚本目录。放在其他目录的自有模块找不到;在 Ray 的 worker 或其他节点上,该目录可能根本不存在。",
        "自己的模块:在其所在目录启动,或 `export PYTHONPATH=/包含/{module}/的目录:$PYTHONPATH`(每个节点都要;Ray 用 "
        "`runtime_env`),或用 `pip install -e .` 安装自己的项目;仓库以子模块携带的代码用 "
        "`git submodule update --init --recursive` 获取。第三方包:用 `python -m pip install` 按 PyPI "
        "上的名称安装,名称可能与 `{module}` 不同。",
    ),
)

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
    "swift-rollout": ("swift", "vllm"),
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


def explain(hits: Hits) -> Finding | None:
    """Of what the user's own code imports; a package that lacks another one is a matter of its own."""
    module = hits.first.groups["module"]
    frames = [each for each in hits.first.frames if not each.startswith(("importlib", "<frozen"))]
    if module in GONE_FROM_PYTHON or (frames and (package_of(frames[-1]) or _BUILDS.search(frames[-1]))):
        return None
    known = module in LOOKED_FOR or module in DISTRIBUTIONS
    dist = DISTRIBUTIONS.get(module, distributions_of(module)[0])
    return found(
        PROBLEM,
        LOG_MESSAGE if known else OWN_MODULE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if known and frames else LIKELY,
        commands=(f"python -m pip install {dist}",) if known else (),
        module=module,
        dist=dist,
    )
