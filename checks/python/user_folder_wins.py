"""PYTHONPATH or the user's own site folder puts another version in front of the environment's.

## What it means
Folders in PYTHONPATH come before everything that is installed, and `~/.local/lib/pythonX.Y/site-packages` (from
`pip install --user`) comes before the packages of a system or conda Python. Both hold another version of a package
than the environment does.
## What it does to a run
The run imports the version from that folder, not the one that was installed into the environment.
## What to do
Take the folder out of PYTHONPATH, or set PYTHONNOUSERSITE=1 where the user's folder is in the way.
## How it is found
Metadata on the path of a normal start: which copy comes first, and which variable or folder brought it there.
## References
https://docs.python.org/3/using/cmdline.html#envvar-PYTHONPATH
https://docs.python.org/3/using/cmdline.html#envvar-PYTHONNOUSERSITE
"""

from __future__ import annotations

from doctor.checks.python._helpers import stack
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT006", name="python-user-folder-wins", severity=WARNING, since="0.1")

BY_PYTHONPATH = Message(
    en=Words(
        "PYTHONPATH puts `{name}` {version} in front of the installed {other}",
        "The run imports `{name}` from {folder}, not the version of the environment.",
        "Take {folder} out of PYTHONPATH, or keep only the folders that this run needs.",
    ),
    zh=Words(
        "PYTHONPATH 使 `{name}` {version} 排在已安装的 {other} 之前",
        "运行时会从 {folder} 导入 `{name}`,而不是环境里的版本。",
        "把 {folder} 从 PYTHONPATH 中去掉,只保留本次运行需要的目录。",
    ),
)

BY_USER_SITE = Message(
    en=Words(
        "The user's site folder puts `{name}` {version} in front of the installed {other}",
        "The run imports `{name}` from {folder}, where `pip install --user` put it, not the version of the "
        "environment.",
        "Set PYTHONNOUSERSITE=1 for this run, or uninstall the copy in the user's folder.",
    ),
    zh=Words(
        "用户 site 目录使 `{name}` {version} 排在已安装的 {other} 之前",
        "运行时会从 {folder}(`pip install --user` 的安装位置)导入 `{name}`,而不是环境里的版本。",
        "为本次运行设置 PYTHONNOUSERSITE=1,或卸载用户目录里的那一份。",
    ),
)


def brought_by_user(location: str, interpreter: Interpreter) -> str | None:
    """Return "PYTHONPATH" or "user site" when one of them put a folder on the path, else None."""
    if location in interpreter.pythonpath:
        return "PYTHONPATH"
    return "user site" if interpreter.user_site and location == interpreter.user_site else None


@check(PROBLEM)
def user_folder_wins(packages: Packages, interpreter: Interpreter) -> Judgement:
    """Only where the two versions differ."""
    for name in sorted(stack() & packages.distributions.keys()):
        each = packages.distributions[name]
        by = brought_by_user(each.location, interpreter)
        other = next((copy for copy in each.shadowed if copy.version and copy.version != each.version), None)
        if by is None or other is None or each.version is None:
            continue
        user_site = by == "user site"
        yield found(
            PROBLEM,
            BY_USER_SITE if user_site else BY_PYTHONPATH,
            commands=("export PYTHONNOUSERSITE=1",) if user_site else ("unset PYTHONPATH",),
            evidence=(
                Evidence(each.location, f"{name} {each.version}"),
                Evidence(other.location, f"{name} {other.version}"),
            ),
            name=name,
            version=each.version,
            other=other.version,
            folder=each.location,
        )
