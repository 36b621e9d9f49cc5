"""A folder without code is imported in place of a package that is not installed.

## What it means
A bare folder on the path (the working folder's `wandb/` from earlier runs, the outer folder of a checkout `trl/`) makes
`import` succeed with an empty module when the real package is absent.
## What it does to a run
Libraries that ask whether the package can be found get a yes, and the first use fails: `module 'wandb' has no attribute
'init'`, `cannot import name 'GRPOTrainer' from 'trl' (unknown location)`.
## What to do
Install the package, or rename the folder.
## How it is found
Folders without `__init__.py` that `import` would take, where no distribution of that name is installed.
## References
https://github.com/wandb/docs/pull/1081
https://docs.python.org/3/reference/import.html#namespace-packages
"""

from __future__ import annotations

from doctor.checks.python._helpers import distributions_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

PROBLEM = Problem(id="PYT011", name="module-is-empty-folder", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`import {module}` takes the folder `{folder}`, and `{module}` is not installed",
        "The folder has no code, so the import succeeds with an empty module and the first use fails: `{module}` has "
        "no such attribute, or `cannot import name ... (unknown location)`.",
        "Install `{module}`, or rename the folder.",
    ),
    zh=Words(
        "`import {module}` 会取到目录 `{folder}`,而 `{module}` 并未安装",
        "该目录里没有代码,导入会成功但得到空模块,第一次使用时才失败:没有该属性,或 "
        "`cannot import name ... (unknown location)`。",
        "安装 `{module}`,或给该目录改名。",
    ),
)

#: what Transformers' trainers use as soon as it can be found, named in `report_to` or not
_FOUND_IS_USED = frozenset({"wandb", "mlflow", "swanlab", "trackio"})


@check(PROBLEM)
def module_is_empty_folder(packages: Packages, script: Script | None, training: Training | None) -> Judgement:
    """Only folders that this run would trip over: imported by the script, or a tracker that trainers look for."""
    if not packages.complete:
        return
    imported = {name.partition(".")[0] for name in script.imports} if script is not None else set()
    for module in packages.namespaces:
        folder = packages.modules.get(module)
        if not folder or any(name in packages.distributions for name in distributions_of(module)):
            continue
        if module not in imported and not (module in _FOUND_IS_USED and training is not None):
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=folder),
            commands=(f"pip install {distributions_of(module)[0]}",),
            evidence=(Evidence(folder, "a folder without `__init__.py`"),),
            module=module,
            folder=folder,
        )
