"""Ray could not set up the runtime environment of a job or actor.

## What it means
`runtime_env` asks for packages (pip, uv, conda), a working directory or variables that Ray installs on each
node before the first process starts. An installation that fails, no network, a missing path or a broken agent
ends it.
## What it does to a run
No actor starts; the job fails at once, or hangs where it is tried again.
## What to do
Look at the log of the installation, or install the packages beforehand.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.ray.io/en/latest/ray-core/handling-dependencies.html
https://github.com/ray-project/ray/issues/22472
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RAY016", name="ray-runtime-environment-fails", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"runtime_env setup failed: (?:Failed to set up runtime environment)?",
        symptom_of=("RAY008", "CKP", "HST"),
    ),
    Signature(
        r"ray\.exceptions\.RuntimeEnvSetupError",
        symptom_of=("RAY008", "CKP", "HST"),
    ),
    Signature(
        r"Fails to create or get runtime env\b|for URI (?:pip|conda|uv|gcs)://\S{1,120} does not exist on the "
        r"cluster",
        symptom_of=("RAY008", "CKP", "HST"),
    ),
    Signature(
        r"Failed to (?:set up|setup|create) runtime env(?:ironment)?\b",
        symptom_of=("RAY008", "CKP", "HST"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Ray could not set up the `runtime_env` of the job",
        "Before the first process starts, Ray installs what `runtime_env` names: pip, uv or conda "
        "packages, `working_dir`, `py_modules`. That failed on a node: a package or version that does "
        "not exist or does not build, no network or index there, a path that is absent, a full disk, or "
        "an agent that died.",
        "Read runtime_env_setup-*.log and runtime_env_agent.log under /tmp/ray/session_latest/logs on "
        "that node, and run the same `pip install` there by hand. Safer: install the packages into the "
        "image or environment of every node and leave `pip` out of `runtime_env`; keep `working_dir` "
        "small (`excludes`); give only the variables that are needed in `env_vars`. "
        "`RAY_RUNTIME_ENV_LOG_TO_DRIVER_ENABLED=1` shows the log.",
    ),
    zh=Words(
        "Ray 无法为任务准备 `runtime_env`",
        "首个进程启动前,Ray 会安装 `runtime_env` 指定的内容:pip、uv 或 conda 包、`working_dir`、"
        "`py_modules`。这在某个节点失败:包或版本不存在或无法编译,该处没有网络或软件源,路径不存在,磁盘已满"
        ",或 agent 已退出。",
        "查看该节点 /tmp/ray/session_latest/logs 下的 runtime_env_setup-*.log 与 runtime_env_agent.log,并"
        "在该节点手动执行同样的 `pip install`。更稳妥的做法:把包装入每个节点的镜像或环境,`runtime_env` 中"
        "不写 `pip`;保持 `working_dir` 较小(`excludes`);`env_vars` 只给需要的变量。"
        "`RAY_RUNTIME_ENV_LOG_TO_DRIVER_ENABLED=1` 可显示日志。",
    ),
)
