"""A package was found, but not the module in it that one's own code asks for.

## What it means
Python names the whole path, `No module named 'open_r1.trainer.x'`, where it did find `open_r1`: at another place than
the code expects, or without that file. Projects that grew out of the same repository carry packages of the same name
(`open_r1`, `src`, `utils`), and the one that was installed or started first is found. Where Python adds "is not a
package", a single file of that name is found.
## What it does to a run
The import raises in the first second.
## What to do
Look where the package comes from, and make the project's own one come first.
## How it is found
In a log: by the exception, where the user's own code asks and no library of the stack has that name.
## References
https://docs.python.org/3/reference/import.html#searching
https://docs.python.org/3/library/exceptions.html#ModuleNotFoundError
https://github.com/Liuziyu77/Visual-RFT/issues/222
"""

from __future__ import annotations

from doctor.checks.python._api_history import asker_of
from doctor.checks.python.requirement_missing import DISTRIBUTIONS, GONE_FROM_PYTHON
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.data.api import packages
from doctor.facts.probe import MODULES as LOOKED_FOR

PROBLEM = Problem(id="PYT052", name="part-of-package-absent", severity=ERROR, since="0.1")

#: problems that know more of the same line
_OTHERS = (
    "TRL", "VLL", "DSP", "TRF", "FLA", "TOR", "CUD", "DAT", "VRL", "ORL", "TRI", "RAY", "BNB", "ACC", "PFT", "HUB",
    "LCH", "TRK", "RLX", "CKP", "PYT010", "PYT015", "PYT030", "PYT018", "PYT025", "PYT032", "PYT043",
)  # fmt: skip

SIGNATURES = (
    Signature(
        r"^ModuleNotFoundError: No module named '(?P<package>[A-Za-z_]\w{0,60})(?P<part>(?:\.\w{1,80}){1,8})'"
        r"(?:; '(?P<file>[\w.]{1,120})' is not a package)?$",
        symptom_of=_OTHERS,
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{package}` was found, but it has no module `{part}`",
        "Had `{package}` itself been missing, Python would have named it alone. Either another `{package}` is found "
        "than the one that the code means (a second project with a package of that name, installed before with `pip "
        "install -e .` or lying in the folder of the start), or this checkout does not have the file: another branch, "
        "a renamed or private file, a submodule that was not fetched.",
        'See which one it is: `python -c "import {package}; print({package}.__path__)"`, started in the same folder. '
        "Is it another project's: `pip uninstall {dist}`, then `pip install -e .` in the folder of this project that "
        "holds `setup.py` or `pyproject.toml`, or `export PYTHONPATH=/folder/that/holds/{package}:$PYTHONPATH`. Is it "
        "the right one: look for the file (`git ls-files | grep {last}`), fetch submodules, or change the import.",
    ),
    zh=Words(
        "找到了 `{package}`,但其中没有模块 `{part}`",
        "若缺少的是 `{package}` 本身,Python 只会给出它的名称。要么找到的是另一个 `{package}`(另一个项目也有同名包,此前"
        "用 `pip install -e .` 安装过,或就在启动目录中),要么这份代码没有该文件:分支不同、文件改名或未公开、子模块没有"
        "获取。",
        '在同一目录查看找到的是哪一个:`python -c "import {package}; print({package}.__path__)"`。若属于另一个项目:`pip '
        "uninstall {dist}`,然后在本项目含有 `setup.py` 或 `pyproject.toml` 的目录执行 `pip install -e .`,或 `export "
        "PYTHONPATH=/包含/{package}/的目录:$PYTHONPATH`。若正是它:查找该文件(`git ls-files | grep {last}`),获取子模块,"
        "或修改导入。",
    ),
)

FILE = Message(
    en=Words(
        "`{file}` is a single file here, not the package that has `{part}`",
        "Python took the first `{file}` on its path, and that is a file `{name}.py`, which has no modules inside: most "
        "often a script of your own in the folder of the start with the name of the library, else an older release "
        "that was one file.",
        'See which one it is: `python -c "import {file}; print({file}.__file__)"`, started in the same folder. Rename '
        "a file of your own and delete `__pycache__` beside it; a library is upgraded.",
    ),
    zh=Words(
        "此处的 `{file}` 是单个文件,而不是含有 `{part}` 的包",
        "Python 取用了路径中第一个 `{file}`,它是文件 `{name}.py`,其中没有子模块:多半是启动目录中自己的脚本与库同名,否"
        "则是仍为单文件的旧版本。",
        '在同一目录查看找到的是哪一个:`python -c "import {file}; print({file}.__file__)"`。自己的文件应改名并删除'
        "旁边的 `__pycache__`;若是库则升级它。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """What a library asks for is told by others, and so is a part of a package that the data know."""
    package, part, file = hits.first.groups["package"], hits.first.groups["part"][1:], hits.first.groups.get("file")
    if package in GONE_FROM_PYTHON or asker_of(hits.first.frames):
        return None
    if file:
        return found(
            PROBLEM, FILE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, file=file,
            name=file.replace(".", "/"), part=f"{package}.{part}",
        )  # fmt: skip
    if package in LOOKED_FOR or package in DISTRIBUTIONS or package in packages():
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=package,
        part=part, last=part.rpartition(".")[2], dist=package.replace("_", "-"),
    )  # fmt: skip
