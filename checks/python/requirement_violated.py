"""An installed package does not accept the version of another one that is installed.

## What it means
Packages state in their metadata which versions of others they work with. Installing one at a time, `--no-deps`, and
several tools in one environment leave combinations that nobody accepts.
## What it does to a run
It depends on the pair. vLLM is compiled against exactly one torch and its import fails beside another; Transformers
compares four packages while it is imported and raises; elsewhere functions are missing or behave differently.
## What to do
Install a version that all of them accept, and let pip solve it: name the packages in one command.
## How it is found
Requires-Dist of the stack's packages, with the markers of the interpreter that is judged, against the installed
versions. Extras are not counted.
## References
https://packaging.python.org/en/latest/specifications/dependency-specifiers/
https://pip.pypa.io/en/stable/topics/dependency-resolution/
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/dependency_versions_check.py
"""

from __future__ import annotations

from doctor.checks.python._helpers import Need, applies, needs, parsed, satisfies, stack
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT014", name="requirement-violated", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{owner}` {version} needs `{requirement}`, and {installed} is installed",
        "`{owner}` was not made for `{name}` {installed}: functions that it calls can be missing or behave "
        "differently. pip reports such a pair as a conflict and leaves it.",
        "Install a `{name}` that `{owner}` accepts, or another `{owner}`.",
    ),
    zh=Words(
        "`{owner}` {version} 需要 `{requirement}`,而安装的是 {installed}",
        "`{owner}` 不是为 `{name}` {installed} 制作的:它调用的函数可能不存在或行为不同。pip 会报告冲突,但不会处理。",
        "安装 `{owner}` 接受的 `{name}`,或更换 `{owner}` 的版本。",
    ),
)

COMPILED = Message(
    en=Words(
        "`{owner}` {version} is built for `{requirement}`, and {installed} is installed",
        "Its compiled modules are made for exactly that `{name}`. With another one `import {owner}` ends with "
        "`undefined symbol`, or it crashes later.",
        "Install the `{name}` that `{owner}` was built for, or the `{owner}` that was built for this `{name}`.",
    ),
    zh=Words(
        "`{owner}` {version} 是为 `{requirement}` 编译的,而安装的是 {installed}",
        "它的编译模块只对应那个版本的 `{name}`。换成别的版本,`import {owner}` 会以 `undefined symbol` 失败,"
        "或在之后崩溃。",
        "安装 `{owner}` 编译时对应的 `{name}`,或安装为当前 `{name}` 编译的 `{owner}`。",
    ),
)

COMPARED = Message(
    en=Words(
        "`transformers` {version} refuses `{name}` {installed}: it needs `{requirement}`",
        "Transformers compares this while it is imported and raises ImportError, so nothing that uses it starts.",
        "Install a `{name}` that Transformers accepts, or another Transformers.",
    ),
    zh=Words(
        "`transformers` {version} 拒绝 `{name}` {installed}:需要 `{requirement}`",
        "Transformers 在导入时会检查它并抛出 ImportError,因此所有使用它的程序都无法启动。",
        "安装 Transformers 接受的 `{name}`,或更换 Transformers 的版本。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed packages contradict each other: {pairs}",
        "pip installed what it was asked for and left packages behind that do not accept it; functions they call "
        "can be missing, and compiled ones fail at import.",
        "Let pip solve it in one command: name all of them together (`pip install {names}`), upgrade the package "
        "that asks for the old version, or make a fresh environment and install the requirements there. `pip check` "
        "must be silent.",
    ),
    zh=Words(
        "已安装的包互相矛盾:{pairs_zh}",
        "pip 安装了被要求的版本,却留下不接受它的包;它们调用的函数可能不存在,编译过的包会在导入时失败。",
        "让 pip 一次解决:把它们写在同一命令中(`pip install {names}`),升级要求旧版本的包,或新建环境并在其中安装依赖。"
        "`pip check` 应无输出。",
    ),
)
SIGNATURES = (
    Signature(
        r"^(?P<asker>[\w.\-]{1,80}) (?P<release>[\w.+!\-]{1,40}) requires (?P<need>[^\n]{1,120}?), but you have"
        r" (?P<have>[\w.\-]{1,80}) (?P<version>[\w.+!\-]{1,40}) which is incompatible",
        kind="warning",
        symptom_of=("PYT", "TOR", "VLL", "FLA", "TRF", "TRL", "CUD"),
    ),
)
_PAIRS = 3  # that a sentence can carry

#: told by checks of their own: torchvision and torchaudio beside torch, torch beside Triton
ELSEWHERE = frozenset({("torchvision", "torch"), ("torchaudio", "torch"), ("torch", "triton")})
#: compared in transformers/dependency_versions_check.py (4.46.0, 4.57.1, 5.0.0 and 5.23.0 read)
_COMPARED = frozenset({"tokenizers", "huggingface-hub", "safetensors", "numpy"})


@check(PROBLEM)
def requirement_violated(packages: Packages, interpreter: Interpreter | None) -> Judgement:
    """Judge pairs of installed packages only, so a partial list serves too."""
    for need in needs(packages):
        installed = packages.version(need.name)
        named = need.name in stack() or (need.owner.name == "torch" and need.name.startswith("nvidia-"))
        if installed is None or not named or (need.owner.name, need.name) in ELSEWHERE:
            continue
        requirement = parsed(need.line)
        if requirement is None or not requirement.specifier or not applies(requirement, interpreter):
            continue
        if satisfies(installed, requirement.specifier) is False:
            yield _finding(need, f"{requirement.name}{requirement.specifier}", installed)


def _finding(need: Need, requirement: str, installed: str) -> Finding:
    owner = need.owner
    message, severity = MESSAGE, WARNING
    if (owner.name, need.name) == ("vllm", "torch"):
        message, severity = COMPILED, ERROR
    elif owner.name == "transformers" and need.name in _COMPARED:
        message, severity = COMPARED, ERROR
    return found(
        PROBLEM,
        message,
        severity=severity,
        commands=(f'pip install "{owner.name}=={owner.version}" "{requirement}"',),
        evidence=(
            Evidence(f"metadata of {owner.name} {owner.version}", f"Requires-Dist: {need.line}"),
            Evidence("installed packages", f"{need.name} {installed}"),
        ),
        owner=owner.name,
        version=owner.version,
        requirement=requirement,
        name=need.name,
        installed=installed,
    )


def explain(hits: Hits) -> Finding:
    """The pairs that pip names."""
    pairs = [hit.groups for hit in hits][:_PAIRS]
    told = [f"`{each['asker']} {each['release']}` needs `{each['need']}` and finds {each['version']}" for each in pairs]
    told_zh = [f"`{each['asker']} {each['release']}` 需要 `{each['need']}`,实际为 {each['version']}" for each in pairs]
    names = dict.fromkeys(name for each in pairs for name in (each["asker"], f'"{each["need"]}"'))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, pairs="; ".join(told),
        pairs_zh=";".join(told_zh), names=" ".join(names),
    )  # fmt: skip
