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

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

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
        r"Failed to fetch URI (?P<gone>gcs://\S{1,120}) from GCS",
        symptom_of=("RAY008", "HST"),
    ),
    Signature(
        r"Failed to upload (?P<uploaded>module|package|working_dir)[^\n]{0,200}to the Ray cluster: ",
        symptom_of=("RAY008", "HST"),
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

GONE = Message(
    en=Words(
        "the package with the job's code is gone from Ray's head (`{gone}`)",
        "`working_dir` and `py_modules` are zipped, uploaded to the head's memory (GCS) and fetched by each node. The "
        "head was restarted since, the package was dropped because nothing held it any more "
        "(`RAY_RUNTIME_ENV_TEMPORARY_REFERENCE_EXPIRATION_S`, ten minutes), or a node that still knows it asks "
        "another cluster.",
        "Submit the job anew from the folder with the code. With several clusters look at `RAY_ADDRESS`; where nodes "
        "start late raise the time on the head: `export RAY_RUNTIME_ENV_TEMPORARY_REFERENCE_EXPIRATION_S=3600` before "
        "`ray start`. Or put the code on shared storage or into the image and leave `working_dir` out.",
    ),
    zh=Words(
        "任务代码的包已不在 Ray head 上(`{gone}`)",
        "`working_dir` 与 `py_modules` 会打包上传到 head 的内存(GCS),再由各节点下载。此后 head 重启过,或因无人引用而被"
        "清除(`RAY_RUNTIME_ENV_TEMPORARY_REFERENCE_EXPIRATION_S`,十分钟),或仍记得它的节点连接的是另一个集群。",
        "在代码所在目录重新提交任务。有多个集群时检查 `RAY_ADDRESS`;节点启动较晚时在 head 上调大时间:`ray start` 之前 "
        "`export RAY_RUNTIME_ENV_TEMPORARY_REFERENCE_EXPIRATION_S=3600`。或把代码放到共享存储或镜像中,不写 "
        "`working_dir`。",
    ),
)
UPLOAD = Message(
    en=Words(
        "the {uploaded} of `runtime_env` could not be packed and uploaded to Ray",
        "It happens on this machine, before any node is asked. The rest of the line says why: a path that does not "
        "exist here, a file that vanished or may not be read while it was packed, or the zip was removed by another "
        "job of this machine that uploads the same folder at the same moment (they share "
        "/tmp/ray/session_*/runtime_resources).",
        "Check the path from where the command runs, and start the job again. Let jobs that start together upload one "
        "after another, or submit them with `ray job submit` from different folders; keep outputs, checkpoints and "
        "`.git` out of the folder (`excludes`).",
    ),
    zh=Words(
        "`runtime_env` 的 {uploaded} 无法打包上传到 Ray",
        "这发生在本机,尚未涉及任何节点。该行余下部分说明原因:路径在此处不存在,打包期间文件消失或不可读,或本机另一任务"
        "在同一时刻上传同一目录而删除了压缩包(它们共用 /tmp/ray/session_*/runtime_resources)。",
        "在命令执行的位置检查该路径,然后重新启动任务。同时启动的任务应依次上传,或从不同目录用 `ray job submit` 提交;把"
        "输出、检查点和 `.git` 排除在该目录之外(`excludes`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A package that is not there, one that was not sent, or what its setup ran into."""
    message = hits.choice({"gone": GONE, "uploaded": UPLOAD}, LOG_MESSAGE)
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if message is LOG_MESSAGE else LIKELY,
        gone=hits.get("gone") or "", uploaded=hits.get("uploaded") or "",
    )  # fmt: skip
