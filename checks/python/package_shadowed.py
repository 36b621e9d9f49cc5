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
In a log: by Python's own hint, by a module of the stack that is only half loaded when one of its names is wanted, or by
one that lacks the name that everybody uses.
## References
https://docs.python.org/3/library/sys_path_init.html
https://github.com/huggingface/datasets/issues/4906
https://docs.python.org/3/whatsnew/3.13.html#improved-error-messages
https://github.com/wandb/wandb/issues/1036
"""

from __future__ import annotations

from doctor.checks.python._helpers import distributions_of
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Distribution, Packages

PROBLEM = Problem(id="PYT010", name="package-shadowed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"\(consider renaming '(?P<file>[^'\n]{1,250})' since it has the same name as the "
        r"(?:standard library module|library you intended to import|third-party module)",
    ),
    Signature(
        r"^AttributeError: partially initialized module '(?P<module>[\w.]{1,60})' (?:from '(?P<file>[^'\n]{1,250})' )?"
        r"has no attribute '(?P<name>\w{1,80})'(?! \(consider renaming)",
    ),
    Signature(
        r"^AttributeError: module '(?P<module>wandb)' has no attribute '(?:init|log|login|run|finish|config)'"
        r"|^AttributeError: module '(?P<ray>ray)' has no attribute '(?:init|remote|get|put|is_initialized)'"
        r"|^AttributeError: module '(?P<datasets>datasets)' has no attribute '(?:load_dataset|Dataset|load_from_disk)'"
        r"|^AttributeError: module '(?P<torch>torch)' has no attribute '(?:nn|Tensor|tensor|cuda|float32|__version__)'",
    ),
    Signature(
        r"^ImportError: cannot import name '(?P<name>\w{1,80})' from '(?P<module>trl|transformers|torch|datasets|peft"
        r"|accelerate|deepspeed|vllm|ray|wandb|verl|tokenizers|numpy|evaluate|openai|sympy|random|types|json|logging|"
        r"math_verify|bitsandbytes)' \((?P<file>(?![^)\n]{0,300}(?:site|dist)-packages)[^)\n]{0,300}?(?P=module)\.py)\)"
    ),
)

LOG_FILE = Message(
    en=Words(
        "your own file `{file}` is imported in place of the library of the same name",
        "Python looks in the folder of the script first. Every import of that name, also those inside of libraries, "
        "takes this file, which lacks what they expect.",
        "Rename the file, and delete the `__pycache__` folder beside it: `mv {file} {file}.mine` (with another name "
        "than any library has). Or start from another folder.",
    ),
    zh=Words(
        "导入的是你自己的文件 `{file}`,而不是同名的库",
        "Python 首先在脚本所在目录查找。所有对该名称的导入(包括各库内部的)都会取到这个文件,而其中没有它们需要的内容。",
        "给该文件改名并删除旁边的 `__pycache__` 目录:`mv {file} {file}.mine`(使用任何库都没有的名称)。"
        "或换一个目录启动。",
    ),
)

LOG_MODULE = Message(
    en=Words(
        "the module `{module}` that was imported is not the whole package of that name",
        "Most often a file `{module}.py` or a folder `{module}` of your own lies in the folder of the script (wandb "
        "itself makes a folder `wandb` there) or in PYTHONPATH, and is taken instead of the package, or the package is "
        "not installed and the folder is all there is; less often its installation is broken, or two modules import "
        "each other.",
        '`python -c "import {module}; print({module}.__file__, {module}.__path__)"` in that folder shows what is '
        "taken. Rename the file or folder of your own and delete `__pycache__`, or install the package: `python -m pip "
        "install --force-reinstall --no-deps {module}`.",
    ),
    zh=Words(
        "导入的模块 `{module}` 不是该名称的完整软件包",
        "多半是脚本所在目录(wandb 自己会在那里建 `wandb` 目录)或 PYTHONPATH 中有自己的文件 `{module}.py` 或目录 "
        "`{module}`,它代替软件包被导入;或软件包没有安装,只剩该目录;少数情况是安装损坏,或两个模块互相导入。",
        '在该目录执行 `python -c "import {module}; print({module}.__file__, {module}.__path__)"` 可看到实际导入的内容。'
        "给自己的文件或目录改名并删除 `__pycache__`,或安装软件包:`python -m pip install --force-reinstall --no-deps "
        "{module}`。",
    ),
)

FILE = Message(
    en=Words(
        "`{file}` is imported instead of the installed `{module}`",
        "Every `import {module}`, also those inside the libraries, takes this file, which lacks what they expect. The "
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
        "The folder comes first on the path. Its code runs, while version checks read the metadata of the installed "
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


def explain(hits: Hits) -> Finding:
    """The file where Python names it, else the module."""
    file = hits.get("file")
    if file:
        return found(
            PROBLEM, LOG_FILE, where=hits.where(), evidence=hits.evidence(), file=file,
            confidence=LIKELY if hits.first.signature else CONFIRMED,
        )  # fmt: skip
    module = next(
        iter(hits.first.groups[name] for name in ("module", "ray", "datasets", "torch") if name in hits.first.groups)
    )
    return found(
        PROBLEM, LOG_MODULE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, module=module
    )  # fmt: skip
