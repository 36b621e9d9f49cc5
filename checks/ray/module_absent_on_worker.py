"""A worker of Ray cannot import a module that the driver has.

## What it means
What is sent to a worker (a reward function, a class, an argument) is sent by the name of its module, unless it was
defined in the script that was started. The worker then imports that module, with its own path: folders that the driver
added to `sys.path`, and files of other machines, are not there.
## What it does to a run
The first call ends with `RaySystemError: System error: No module named ...`, though the same import works in the
driver.
## What to do
Let the workers have the folder: `PYTHONPATH`, `working_dir` or `py_modules`.
## How it is found
In a log: by Ray's words for what it could not rebuild, with ModuleNotFoundError.
## References
https://docs.ray.io/en/latest/ray-core/handling-dependencies.html
https://github.com/ray-project/ray/issues/5235
https://github.com/ray-project/ray/issues/45849
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RAY033", name="module-absent-on-worker", severity=ERROR, since="0.1")

MODULE = Message(
    en=Words(
        "the workers of Ray cannot import `{module}`, which the driver has",
        "An argument or class is sent to a worker by the name of its module. The worker looks for it on its own "
        "path: what the driver's script adds to `sys.path`, and files that lie on the driver's machine alone, are "
        "missing there.",
        "Give the folder that holds it to every worker: `ray.init(runtime_env={{'env_vars': {{'PYTHONPATH': "
        "'/folder'}}}})` where it exists on all nodes, or let Ray send it: `runtime_env={{'working_dir': '.'}}` "
        "or `{{'py_modules': ['/folder/{module}']}}`; best `pip install -e .` your project on every node. `export "
        "PYTHONPATH=...` must come before `ray start`.",
    ),
    zh=Words(
        "Ray 的 worker 无法导入 driver 中存在的 `{module}`",
        "参数或类是按其模块名发送给 worker 的。worker 在自己的路径中查找:driver 脚本加入 `sys.path` 的目录,以及只"
        "在 driver 机器上的文件,在那里都不存在。",
        "让每个 worker 都有该目录:各节点都存在时用 `ray.init(runtime_env={{'env_vars': {{'PYTHONPATH': '/目录"
        "'}}}})`,或让 Ray 发送:`runtime_env={{'working_dir': '.'}}` 或 `{{'py_modules': ['/目录/{module}']}}`;最好"
        "在每个节点 `pip install -e .` 安装自己的项目。`export PYTHONPATH=...` 须在 `ray start` 之前。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"(?:RaySystemError: System error|The actor with name [^\n]{1,120} failed to import on the worker"
            r"[^\n]{0,400}|Failed to unpickle [^\n]{1,120}): (?:ModuleNotFoundError: )?No module named '(?P<m"
            r"odule>[\w.]{1,80})'",
            symptom_of=("PYT015", "TRF056"),
        ),
        MODULE,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
