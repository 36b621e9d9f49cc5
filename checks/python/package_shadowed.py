"""A file or folder of the user's is imported instead of an installed package.

## What it means
Python looks in the script's folder (or the working folder of `-m`) and in PYTHONPATH before the installed packages.
There lies a file or a package with the same name: `trl.py`, `datasets/__init__.py`, a checkout of the source.
## What it does to a run
`import` takes that one. A file of the user's lacks what libraries expect of the package, and the import chain ends with
"cannot import name" or "partially initialized module"; a checkout runs other code than the installed version.
## What to do
Rename the file or folder, or start the command from elsewhere.
## How it is found
What `import` would take for each package of the stack, against the folder where its distribution is installed.
## References
https://docs.python.org/3/library/sys_path_init.html
https://github.com/huggingface/datasets/issues/4906
"""

from __future__ import annotations

from doctor.checks.python._helpers import distributions_of
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.packages import Distribution, Packages

PROBLEM = Problem(id="PYT010", name="package-shadowed", severity=ERROR, since="0.1")

FILE = Message(
    en=Words(
        "`{file}` is imported instead of the installed `{module}`",
        "Every `import {module}`, also those inside the libraries, takes this file, which lacks what they "
        "expect. The "
        "run ends with `cannot import name` or `partially initialized module`.",
        "Rename the file, and delete the `__pycache__` folder beside it.",
    ),
    zh=Words(
        "会导入 `{file}`,而不是已安装的 `{module}`",
        "所有 `import {module}`(包括各库内部的)都会取到这个文件,而其中没有它们需要的内容。"
        "运行会以 `cannot import name` 或 `partially initialized module` 结束。",
        "请给该文件改名,并删除旁边的 `__pycache__` 目录。",
    ),
)

FOLDER = Message(
    en=Words(
        "`{module}` is imported from `{file}`, not from where {version} is installed",
        "The folder comes first on the path. Its code runs, while version checks read the metadata of the "
        "installed "
        "{version}.",
        "Start the command from another folder, take the folder out of PYTHONPATH, or install the checkout itself.",
    ),
    zh=Words(
        "`{module}` 从 `{file}` 导入,而不是已安装的 {version}",
        "该目录在搜索路径中排在最前。实际运行的是它的代码,而版本检查读到的是已安装的 {version} 的元数据。",
        "换一个目录执行命令,把该目录从 PYTHONPATH 去掉,或安装这份源代码本身。",
    ),
)


@check(PROBLEM)
def package_shadowed(packages: Packages) -> Judgement:
    """Editable installs are imported from their source on purpose."""
    for module, file in sorted(packages.modules.items()):
        owners = [packages.distributions[name] for name in distributions_of(module) if name in packages.distributions]
        if not file or not owners or any(_brings(each, file) for each in owners):
            continue
        is_file = file.endswith((".py", ".pyc", ".so"))
        yield found(
            PROBLEM,
            FILE if is_file else FOLDER,
            severity=ERROR if is_file else WARNING,
            confidence=CONFIRMED if is_file else LIKELY,
            where=Where(file=file),
            commands=(f"pip install -e '{file.rpartition('/')[0]}'",) if not is_file else (),
            evidence=(Evidence(owners[0].location, f"{owners[0].name} {owners[0].version} is installed here"),),
            module=module,
            file=file,
            version=f"{owners[0].name} {owners[0].version}",
        )


def _brings(owner: Distribution, file: str) -> bool:
    """Whether a distribution's own folder, or its source when it is a development install, holds the module.

    Distributions without a location (a pasted list) and Debian's split folders prove nothing.
    """
    if not owner.location or owner.editable or owner.editable_from is not None:
        return True
    folder = owner.location.removesuffix(".egg-info").rstrip("/")
    return file.startswith(f"{folder}/") or "/site-packages/" in file or "/dist-packages/" in file
