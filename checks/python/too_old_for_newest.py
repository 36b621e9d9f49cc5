"""The interpreter holds TRL back.

## What it means
The installed TRL is the newest that this Python may have, and newer releases exist. pip calls it up to date.
## What it does to a run
Nothing breaks. Fixes and support for newer vLLM releases do not arrive, whatever `pip install -U trl` says.
## What to do
Where a newer TRL is wanted, make an environment with a newer Python.
## How it is found
The interpreter's version against the Requires-Python of TRL's releases, and the installed TRL.
## References
https://pypi.org/project/trl/
https://packaging.python.org/en/latest/guides/dropping-older-python-versions/
"""

from __future__ import annotations

from doctor import data
from doctor.checks.python._helpers import python_allowed
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

PROBLEM = Problem(
    id="PYT002", name="python-holds-trl-back", severity=INFO, since="0.1", ends_run=False, affects={"trl": ">=0.14"}
)

MESSAGE = Message(
    en=Words(
        "Python {python} holds TRL at {installed}; the newest is {newest}",
        "TRL {newest} needs Python {needs}. pip reports TRL {installed} as up to date, because it is the newest that "
        "this interpreter may have.",
        "Make an environment with Python {needs} where a newer TRL is wanted.",
    ),
    zh=Words(
        "Python {python} 使 TRL 停在 {installed},最新版是 {newest}",
        "TRL {newest} 需要 Python {needs}。TRL {installed} 是这个解释器能用的最新版,所以 pip 认为它已是最新。",
        "如需更新的 TRL,请用 Python {needs} 新建环境。",
    ),
)


@check(PROBLEM)
def too_old_for_newest(interpreter: Interpreter, packages: Packages) -> Judgement:
    """Only where the installed TRL is the last that this interpreter may have: an older one was chosen by hand."""
    reachable = [
        version
        for version, release in data.releases("trl").items()
        if not release.yanked and python_allowed(release.requires_python, interpreter.version)
    ]
    newest = data.newest("trl")
    release = data.release("trl", newest) if newest else None
    if not reachable or release is None or reachable[-1] == newest:
        return
    if not packages.matches("trl", f"=={reachable[-1]}"):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        commands=("uv venv --python 3.12",),
        evidence=(Evidence(f"metadata of trl {newest}", f"Requires-Python: {release.requires_python}"),),
        python=interpreter.version,
        installed=packages.version("trl"),
        newest=newest,
        needs=release.requires_python,
    )
