"""An interrupted pip left renamed folders of a package behind.

## What it means
pip renames the old folders before it installs a new version (`torch` becomes `~orch`) and deletes them at the end. They
are still there: pip was killed, or could not delete files that a running process held open.
## What it does to a run
Usually nothing but the warning `Ignoring invalid distribution ~orch`. The package itself may be half replaced.
## What to do
Delete the folders; where the package misbehaves, install it again.
## How it is found
Names that begin with `~` in the site folders, compared with the names of the stack's packages.
## References
https://github.com/pypa/pip/issues/10452
https://github.com/pypa/pip/pull/14047
"""

from __future__ import annotations

from doctor.checks.python._helpers import stack
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT008", name="pip-leftovers", severity=INFO, since="0.1", ends_run=False)

MESSAGE = Message(
    en=Words(
        "An interrupted pip left {count} renamed folders: {names}",
        "pip was stopped while it replaced these packages. Most often only a warning of pip's remains; a package that "
        "misbehaves may be half replaced.",
        "Delete the folders, and install the package again where it misbehaves.",
    ),
    zh=Words(
        "被中断的 pip 留下了 {count} 个改名的目录:{names}",
        "pip 在替换这些包时被停止。多数情况下只会留下 pip 的警告;如果某个包行为异常,它可能只替换了一半。",
        "删除这些目录;行为异常的包请重新安装。",
    ),
)


def _of_stack(leftover: str) -> bool:
    """Whether a name like `~orch` or `~orch-2.6.0.dist-info` stems from a package of the stack."""
    name = leftover.rpartition("/")[2].lstrip("~-").split("-")[0].removesuffix(".libs").replace("_", "-").lower()
    known = {*stack(), "nvidia"}
    return len(name) > 1 and any(each[1:] == name or each[2:] == name for each in known)


@check(PROBLEM)
def pip_leftovers(packages: Packages) -> Judgement:
    """One finding for all of them; those of other packages are pip's own affair."""
    mine = [each for each in packages.leftovers if _of_stack(each)]
    if not mine:
        return
    names = ", ".join(f"`{each.rpartition('/')[2]}`" for each in mine[:3])
    yield found(
        PROBLEM,
        MESSAGE,
        where=Where(file=mine[0]),
        commands=tuple(f"rm -r '{each}'" for each in mine[:5]),
        evidence=tuple(Evidence(each, "left by pip") for each in mine[:5]),
        count=len(mine),
        names=names if len(mine) <= 3 else f"{names} ...",
    )
