"""The interpreter is too old for any TRL that has GRPO.

## What it means
GRPO came to TRL in 0.14.0, which needs Python 3.9. pip never says that an interpreter is too old: it takes the newest
release that the interpreter may have, and for Python 3.8 that is TRL 0.11.4.
## What it does to a run
`from trl import GRPOTrainer` ends with an ImportError. Upgrading TRL does not help: pip answers "requirement already
satisfied".
## What to do
Make an environment with a newer Python and install the stack there.
## How it is found
The version of the interpreter that would run the training, against the Requires-Python of TRL's releases.
## References
https://pypi.org/project/trl/0.14.0/
https://github.com/huggingface/trl/releases/tag/v0.14.0
"""

from __future__ import annotations

from doctor import data
from doctor.checks.python._helpers import python_allowed, wants_grpo
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

PROBLEM = Problem(id="PYT001", name="python-too-old-for-grpo", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "Python {python} can have no TRL with GRPO; it got TRL {installed}",
        "GRPO came in TRL {first}, which needs Python {needs}. pip took the newest TRL that Python {python} may have, "
        "without a word, and `from trl import GRPOTrainer` fails. Upgrading TRL here changes nothing.",
        "Make an environment with a newer Python: {needs} for TRL {first}, {newest_needs} for the newest, TRL "
        "{newest}.",
    ),
    zh=Words(
        "Python {python} 装不上带 GRPO 的 TRL,得到的是 TRL {installed}",
        "GRPO 从 TRL {first} 起才有,需要 Python {needs}。pip 不作提示地选了 Python {python} 能用的最新 TRL,"
        "因此 `from trl import GRPOTrainer` 会失败。在这里升级 TRL 没有用。",
        "请用更新的 Python 新建环境:TRL {first} 需要 {needs},最新的 TRL {newest} 需要 {newest_needs}。",
    ),
)

WITHOUT_TRL = Message(
    en=Words(
        "Python {python} can have no TRL with GRPO",
        "GRPO came in TRL {first}, which needs Python {needs}. `pip install trl` in this interpreter takes an older "
        "TRL without a word.",
        "Make an environment with a newer Python: {needs} for TRL {first}, {newest_needs} for the newest, TRL "
        "{newest}.",
    ),
    zh=Words(
        "Python {python} 装不上带 GRPO 的 TRL",
        "GRPO 从 TRL {first} 起才有,需要 Python {needs}。"
        "在这个解释器里执行 `pip install trl` 会不作提示地装上更旧的 TRL。",
        "请用更新的 Python 新建环境:TRL {first} 需要 {needs},最新的 TRL {newest} 需要 {newest_needs}。",
    ),
)


def _first_with_grpo() -> str | None:
    """Return the first TRL release that has a GRPO trainer."""
    known = ((version, data.trl_release(version)) for version in data.releases("trl"))
    return next((version for version, facts in known if facts is not None and facts.has_grpo), None)


def _python_of(version: str | None) -> str | None:
    release = data.release("trl", version) if version else None
    return release.requires_python if release else None


def _meant_for_trl(interpreter: Interpreter, packages: Packages, launch: Launch | None) -> bool:
    """Whether somebody asks about this interpreter by name, before anything is installed that trains otherwise."""
    others = ("verl", "openrlhf", "trinity-rft", "vllm")
    named = interpreter.chosen_because == "--python" and launch is None
    return named and not any(packages.version(each) for each in others)


@check(PROBLEM)
def too_old_for_grpo(
    interpreter: Interpreter,
    packages: Packages,
    launch: Launch | None,
    script: Script | None,
    training: Training | None,
) -> Judgement:
    """Silent when the command certainly does something else than GRPO."""
    first, newest = _first_with_grpo(), data.newest("trl")
    wanted = wants_grpo(launch, script, training)
    if wanted is False or python_allowed(_python_of(first), interpreter.version) is not False:
        return
    installed = packages.version("trl")
    if installed is None and wanted is not True and not _meant_for_trl(interpreter, packages, launch):
        return
    if installed is not None and packages.matches("trl", f">={first}"):
        return
    yield found(
        PROBLEM,
        MESSAGE if installed else WITHOUT_TRL,
        commands=("uv venv --python 3.12", "conda create -n grpo python=3.12"),
        evidence=(
            Evidence(interpreter.executable, f"Python {interpreter.version}, chosen: {interpreter.chosen_because}"),
            Evidence(f"metadata of trl {first}", f"Requires-Python: {_python_of(first)}"),
        ),
        python=interpreter.version,
        installed=installed,
        first=first,
        needs=_python_of(first),
        newest=newest,
        newest_needs=_python_of(newest),
    )
