"""Ray refuses a value in runtime_env before anything starts.

## What it means
`runtime_env` is checked where it is given: variables must be strings, folders must exist, fields of packages have
their own forms, and some exclude each other.
## What it does to a run
`ray.init`, `ray job submit` or the first actor raises at once.
## What to do
Correct the value that the message names.
## How it is found
In a log: by the messages of Ray's checks.
## References
https://github.com/ray-project/ray/blob/ray-2.40.0/python/ray/_private/runtime_env/validation.py
https://github.com/ray-project/ray/blob/ray-2.40.0/python/ray/_private/runtime_env/packaging.py
https://github.com/ray-project/ray/issues/61350
https://docs.ray.io/en/latest/ray-core/handling-dependencies.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RAY032", name="ray-runtime-env-value-refused", severity=ERROR, since="0.1")

VARIABLE = Message(
    en=Words(
        "`runtime_env` holds a variable whose name or value is no string (`{value}`)",
        "Ray hands variables to its workers as the system does: names and values are text. Numbers and booleans "
        "of YAML or Python are refused, and so is None.",
        'Put it in quotes: `env_vars: {{OMP_NUM_THREADS: "8"}}`; in Python `{{name: str(value) for name, value '
        "in variables.items() if value is not None}}`.",
    ),
    zh=Words(
        "`runtime_env` 中有变量的名称或值不是字符串(`{value}`)",
        "Ray 像系统一样把变量交给 worker:名称和值都是文本。YAML 或 Python 的数字、布尔值以及 None 都会被拒绝。",
        '加上引号:`env_vars: {{OMP_NUM_THREADS: "8"}}`;在 Python 中 `{{name: str(value) for name, value in '
        "variables.items() if value is not None}}`。",
    ),
)
FOLDER = Message(
    en=Words(
        "the folder `{path}` that `runtime_env` names does not exist where the job is submitted",
        "`working_dir` and `py_modules` are packed on the machine that calls `ray.init` or `ray job submit`, so "
        "the path must be a folder (or an archive) there, not on the head node or in the container of the workers.",
        "Correct the path, or submit from where it exists; for a folder that lies on every node already leave "
        "`working_dir` out, and set `PYTHONPATH` in `env_vars` or `cd` in the entrypoint.",
    ),
    zh=Words(
        "`runtime_env` 指定的目录 `{path}` 在提交任务的机器上不存在",
        "`working_dir` 与 `py_modules` 在调用 `ray.init` 或 `ray job submit` 的机器上打包,因此该路径必须是那里的目"
        "录(或压缩包),而不是 head 节点或 worker 容器中的路径。",
        "改正路径,或在存在该目录的机器上提交;若目录已在每个节点上,则不写 `working_dir`,用 `env_vars` 中的 "
        "`PYTHONPATH` 或在入口命令里 `cd`。",
    ),
)
FIELD = Message(
    en=Words(
        "`runtime_env` has a field or form that Ray does not take",
        "The message names the field: pip, uv and conda exclude each other, `excludes` and `py_modules` are lists "
        "of strings, a file of requirements must exist, and a worker's or actor's own `runtime_env` cannot upload "
        "a local folder: that is for `ray.init` and jobs alone.",
        "Write it as the documentation has it: `runtime_env={{'working_dir': '.', 'env_vars': {{'A': 'text'}}, "
        "'pip': ['package==1.0'], 'excludes': ['*.pt', 'data/']}}`; give local folders to `ray.init` or `ray job "
        "submit`, and packages to one of pip, uv and conda.",
    ),
    zh=Words(
        "`runtime_env` 含有 Ray 不接受的字段或形式",
        "消息指出了字段:pip、uv 与 conda 互斥,`excludes` 与 `py_modules` 是字符串列表,requirements 文件必须存在,而"
        " worker 或 actor 自己的 `runtime_env` 不能上传本地目录(只有 `ray.init` 和任务可以)。",
        "按文档书写:`runtime_env={{'working_dir': '.', 'env_vars': {{'A': 'text'}}, 'pip': ['package==1.0'], "
        "'excludes': ['*.pt', 'data/']}}`;本地目录交给 `ray.init` 或 `ray job submit`,软件包只用 pip、uv、conda 之"
        "一。",
    ),
)
HOOK = Message(
    en=Words(
        "Ray's own variable for the worker's set-up hook was handed on to a second `ray.init`",
        "The run sets `worker_process_setup_hook`, which Ray carries in a variable that nobody else may set. A "
        "library inside a worker (vLLM with its Ray executor) starts Ray with the same `runtime_env` once more, "
        "and Ray refuses that variable. It is a defect of older releases of Ray.",
        "Upgrade Ray (`pip install -U ray` on every node), or leave `worker_process_setup_hook` out of "
        "`runtime_env`; with tensor parallelism inside one node the executor `mp` does not start Ray at all.",
    ),
    zh=Words(
        "Ray 内部用于 worker 启动钩子的变量被传给了第二次 `ray.init`",
        "运行设置了 `worker_process_setup_hook`,Ray 用一个他人不可设置的变量携带它。worker 内的库(使用 Ray 执行器"
        "的 vLLM)又以同样的 `runtime_env` 启动 Ray,因而被拒绝。这是 Ray 旧版本的缺陷。",
        "升级 Ray(每个节点 `pip install -U ray`),或在 `runtime_env` 中去掉 `worker_process_setup_hook`;单节点内的"
        "张量并行用 `mp` 执行器则根本不启动 Ray。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"runtime_env\['env_vars'\] must be of type Dict\[str, str\],? (?:but the (?:value|key) |got )(?P"
            r"<value>[^\n]{1,60}?)(?: is of type|$)"
        ),
        VARIABLE,
        CONFIRMED,
    ),
    (
        Signature(r"ValueError: directory (?P<path>[^\n]{1,300}) must be an existing directory"),
        FOLDER,
        CONFIRMED,
    ),
    (
        Signature(
            r"(?:TypeError|ValueError): (?:runtime_env\['(?:pip|uv|conda|excludes|py_modules|working_dir)'\]|"
            r"`(?:py_modules|py_module|working_dir|excludes)`) (?:must|can only)"
        ),
        FIELD,
        CONFIRMED,
    ),
    (
        Signature(
            r"'conda' field of runtime_env cannot be specified at the same time|is not a valid URI\. Passing "
            r"directories or modules to be dynamically uploaded"
        ),
        FIELD,
        CONFIRMED,
    ),
    (
        Signature(r"The env var, __RAY_WORKER_PROCESS_SETUP_HOOK_ENV_VAR, is not permitted"),
        HOOK,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding | None:
    """Say what the case of the first hit calls for, filled with what it captured; others want folders, too."""
    first = hits.first
    folder = "path" in first.groups and bool(first.frames)
    if folder and not any("/ray/" in frame.replace("\\", "/") for frame in first.frames):
        return None
    return finding_of_signature(PROBLEM, CASES, hits)
