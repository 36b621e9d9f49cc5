"""Two versions of a package are installed, and only the first on the path is imported.

## What it means
Python searches its folders in order and takes the first copy. A second copy of another version lies further down the
path (dist-packages under site-packages, a Python tree that a venv lets through), or two metadata folders lie side by
side in one folder.
## What it does to a run
The version that `pip` shows, the one that libraries read from metadata and the one that is imported can differ;
uninstalling removes one and uncovers the other.
## What to do
Uninstall until none is left, then install the wanted version once.
## How it is found
All metadata folders on the path of the interpreter, in its order.
## References
https://docs.python.org/3/library/sys.html#sys.path
https://pip.pypa.io/en/stable/cli/pip_uninstall/
"""

from __future__ import annotations

from doctor.checks.python._helpers import stack
from doctor.checks.python.user_folder_wins import brought_by_user
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT005", name="distribution-twice", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{name}` is installed twice: {version} is imported, {other} lies behind it",
        "The copy in {folder} is imported; the one in {behind} is not. Tools that look at one of them mislead about "
        "the other.",
        "Uninstall `{name}` until none is left, then install the wanted version once.",
    ),
    zh=Words(
        "`{name}` 装了两份:导入的是 {version},后面还有 {other}",
        "实际导入的是 {folder} 中的一份,{behind} 中的不会被导入。只看其中一份的工具会给出误导的结果。",
        "反复卸载 `{name}` 直到没有剩余,再安装一次需要的版本。",
    ),
)

SIDE_BY_SIDE = Message(
    en=Words(
        "`{name}` has several metadata folders in one place",
        "{reason} in {folder}. An installation was interrupted, or files were copied over it. Which version libraries "
        "read is chance, and the files of both are mixed.",
        "Delete the metadata folders of `{name}`, then install it again.",
    ),
    zh=Words(
        "`{name}` 在同一目录下有多个元数据目录",
        "{folder}:{reason}。安装曾被中断,或被覆盖复制。各库读到哪个版本取决于偶然,两个版本的文件混在一起。",
        "删除 `{name}` 的这些元数据目录,然后重新安装。",
    ),
)


@check(PROBLEM)
def distribution_twice(packages: Packages, interpreter: Interpreter | None) -> Judgement:
    """Copies of one version are harmless; those that PYTHONPATH or the user's folder put first are PYT006."""
    for name in sorted(stack() & packages.distributions.keys()):
        each = packages.distributions[name]
        remove = (f"pip uninstall -y {name}", f"pip install --force-reinstall --no-deps {name}")
        if each.broken and "side by side" in each.broken:
            yield found(
                PROBLEM, SIDE_BY_SIDE, commands=remove, evidence=(Evidence(each.location, each.broken),),
                name=name, reason=each.broken, folder=each.location,
            )  # fmt: skip
            continue
        other = next((copy for copy in each.shadowed if copy.version and copy.version != each.version), None)
        if other is None or each.version is None:
            continue
        if interpreter is not None and brought_by_user(each.location, interpreter):
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            confidence=LIKELY if each.editable else CONFIRMED,
            commands=remove,
            evidence=(
                Evidence(each.location, f"{name} {each.version}"),
                Evidence(other.location, f"{name} {other.version}"),
            ),
            name=name,
            version=each.version,
            other=other.version,
            folder=each.location,
            behind=other.location,
        )
