"""Slurm refuses a job or a step, or makes it wait for itself.

## What it means
A job step needs what the job has left: an `srun` inside of one that already holds all CPUs, memory or GPUs waits for
ever, and one that asks for more than the job has is refused. A job that no node of the partition could ever hold is
refused when it is submitted. Credentials fail when the clocks of the nodes differ or munge is down.
## What it does to a run
Nothing starts.
## What to do
Let steps share (`--overlap`), ask for what the job and the partition have, or tell the administrators.
## How it is found
In a log: by the words of srun, sbatch and salloc.
## References
https://github.com/verl-project/verl/issues/491
https://github.com/ai4d-iasc/trixie/issues/58
https://github.com/snakemake/snakemake-executor-plugin-slurm/issues/225
https://github.com/llnl/ats/issues/133
https://github.com/meta-pytorch/torchx/pull/1100
https://slurm.schedmd.com/configless_slurm.html
https://github.com/NVIDIA/pyxis/issues/107
https://slurm.schedmd.com/slurm.conf.html#OPT_MessageTimeout
https://slurm.schedmd.com/srun.html#OPT_overlap
https://slurm.schedmd.com/faq.html
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH035", name="slurm-refused", severity=ERROR, since="0.1")

#: a part of Slurm's words -> what it says, https://github.com/SchedMD/slurm/blob/master/src/common/slurm_errno.c
REASONS = (
    ("memory required by task", "more memory than the job has left", "内存超出作业剩余"),
    ("node configuration is not available", "no node has all that is asked for", "没有节点满足全部要求"),
    ("generic resource", "it does not know GPUs of that kind or number", "不认识所写的 GPU 类型或数量"),
    ("policy", "a limit of the account or QOS is reached", "达到账户或 QOS 的上限"),
    ("account", "the account may not use this partition", "该账户不能使用此分区"),
    ("qos", "the QOS does not allow it", "QOS 不允许"),
    ("partition configuration", "more than the partition allows, or it is down", "超出分区允许的范围,或分区已停用"),
    ("not permitted to use this partition", "your group may not use this partition", "你所在的组不能使用此分区"),
    ("partition", "the partition does not exist, or these nodes are not in it", "分区不存在,或这些节点不在其中"),
    ("time limit", "more time than the partition allows", "时间超过分区上限"),
    ("processors", "more CPUs than the job or partition has", "CPU 超出作业或分区所有"),
    ("task count", "more tasks than the job has room for", "任务数超出作业容量"),
    ("invalid job id", "the job has ended or is another user's", "作业已结束或属于其他用户"),
)
OTHER_REASON = ("see its own words", "见其原文")
#: not the request is at fault: the controller did not answer, or is busy
_CONTROLLER = re.compile(
    r"(?i)slurm controller|socket timed out|zero bytes were transmitted|temporarily unable|try again"
)

SIGNATURES = (
    Signature(
        r"srun: Job (?P<waiting>\d{1,12}) step creation (?:temporarily|still) disabled, retrying \(Req"
        r"uested nodes are busy\)",
    ),
    Signature(
        r"(?:srun|sbatch|salloc): error: (?:Unable to create step for job \d{1,12}|Batch job submissio"
        r"n failed|Unable to allocate resources|Job submit/allocate failed): (?P<why>[^\n]{3,160}\w)",
    ),
    Signature(
        r"srun: (?:error: (?:Task launch for \S{1,60} failed on node (?P<node>[\w.\-]{1,80})|Applicati"
        r"on launch failed)|fatal): (?P<launch>Job credential (?:expired|replayed|revoked)|Invalid job"
        r" credential|Communication connection failure|Protocol authentication error)",
    ),
    Signature(
        r"(?P<exclusive>SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually excl"
        r"usive)",
    ),
    Signature(
        r"srun: (?:error: (?:Task launch for \S{1,60} failed on node (?P<node>[\w.\-]{1,80})|Applicati"
        r"on launch failed)|fatal): (?P<silent>Socket timed out on send/recv operation|Unable to contact slurm"
        r" controller)",
    ),
    Signature(
        r"srun: error: (?:Task launch for \S{1,60} failed on node (?P<node>[\w.\-]{1,80})|Application launch failed): "
        r"(?P<unbound>Unable to (?:layout tasks on given cpus|satisfy cpu bind request))"
    ),
    Signature(r"(?:srun|sbatch|salloc): error: Failed to validate job spec\. (?P<spec>[^\n]{3,160}\w)"),
    Signature(
        r"(?:srun|sbatch|salloc|squeue|sinfo|scontrol): (?P<nowhere>fatal: Could not establish a configuration source)"
    ),
    Signature(r"srun: (?P<created>Step created for )(?:StepId|job)", kind="sign"),
)

LOG_MESSAGE_WAITS = Message(
    en=Words(
        "`srun` waits inside of job {job}: another step holds the CPUs, memory or GPUs it asks for",
        "A step takes all resources of the job unless told otherwise. A second `srun` on the same nodes "
        "(Ray's head and then its workers, a job started from an `srun --pty` shell, one in the "
        "background) waits for the first to end, for ever.",
        "Add `--overlap` to every `srun` that shall run beside another (`srun --overlap --nodes=1 "
        "--ntasks=1 -w NODE ray start ...`), and give each its share (`--exact`, `--mem=0`, "
        "`--gpus-per-node`). Inside of an interactive `srun --pty` start the program directly, or get "
        "the shell with `salloc`.",
    ),
    zh=Words(
        "`srun` 在作业 {job} 内等待:另一个 step 占着它申请的 CPU、内存或 GPU",
        "除非另行说明,一个 step 会占用作业的全部资源。同一节点上的第二个 `srun`(先 Ray head 再 worker、在"
        " `srun --pty` 的 shell 里启动、后台启动)会一直等第一个结束。",
        "给每个要并行运行的 `srun` 加上 `--overlap`(`srun --overlap --nodes=1 --ntasks=1 -w NODE ray "
        "start ...`),并分配各自的份额(`--exact`、`--mem=0`、`--gpus-per-node`)。在交互式 `srun --pty` 里"
        "请直接运行程序,或用 `salloc` 获得 shell。",
    ),
)

LOG_MESSAGE_REQUEST = Message(
    en=Words(
        "Slurm refuses the request: {why}",
        "What is asked for does not fit: a step more than its job has, or a job more than any node of "
        "the partition has (GPUs of that type, CPUs or memory for each node, time), or the account or "
        "QOS does not allow it. Nothing was started.",
        "Compare the `#SBATCH` lines and the options of `srun` with `scontrol show job $SLURM_JOB_ID`, "
        "`sinfo -o '%P %G %c %m %l'` (GPUs, CPUs, memory, time limit of each partition) and `sacctmgr "
        "show assoc user=$USER`. In a step give no more GPUs, memory or tasks than the job, or leave the "
        "options out: they are inherited.",
    ),
    zh=Words(
        "Slurm 拒绝了该请求:{why_zh}",
        "所申请的不合适:step 超出作业所有,或作业超出分区中任何节点所有(该型号的 GPU、每节点 CPU 或内存、"
        "时间),或账户、QOS 不允许。什么都没有启动。",
        "将 `#SBATCH` 行与 `srun` 的选项同 `scontrol show job $SLURM_JOB_ID`、`sinfo -o '%P %G %c %m "
        "%l'`(各分区的 GPU、CPU、内存、时限)和 `sacctmgr show assoc user=$USER` 比较。step 中的 GPU、内存"
        "、任务数不要超过作业,或干脆不写:会自动继承。",
    ),
)

LOG_MESSAGE_CREDENTIAL = Message(
    en=Words(
        "Slurm could not start the step on {node}: its credential or connection was not accepted",
        "The step carries a signed ticket that the node checks. It fails when the clocks of the nodes "
        "differ by minutes, when munge or slurmd on the node is not well, or after the node was "
        "rebooted. Your command has no part in it.",
        "Leave the node out (`#SBATCH --exclude={node}`) and submit again; tell the administrators "
        "(`date` on each node, `munge -n | ssh NODE unmunge`, `systemctl status slurmd munge`).",
    ),
    zh=Words(
        "Slurm 无法在 {node} 上启动 step:凭证或连接未被接受",
        "step 带有一个由节点校验的签名凭证。节点间时钟相差数分钟、该节点的 munge 或 slurmd 异常,或节点重"
        "启之后都会失败。与你的命令无关。",
        "排除该节点(`#SBATCH --exclude={node}`)后重新提交;并告知管理员(各节点的 `date`、`munge -n | ssh "
        "NODE unmunge`、`systemctl status slurmd munge`)。",
    ),
)

LOG_MESSAGE_EXCLUSIVE = Message(
    en=Words(
        "two ways to ask for memory were given, and Slurm takes one: per CPU, per GPU or per node",
        "The job was submitted with one of `--mem`, `--mem-per-cpu` and `--mem-per-gpu`, and the step "
        "(or an environment variable that an outer job left behind) has another.",
        "Use one of them everywhere. Where it was inherited: `unset SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU "
        "SLURM_MEM_PER_NODE` before `srun` or `sbatch`.",
    ),
    zh=Words(
        "同时给出了两种内存申请方式,而 Slurm 只接受一种:每 CPU、每 GPU 或每节点",
        "作业提交时用了 `--mem`、`--mem-per-cpu`、`--mem-per-gpu` 之一,而 step(或外层作业遗留的环境变量)用了另一种。",
        "各处只用一种。若是继承而来:在 `srun` 或 `sbatch` 之前 `unset SLURM_MEM_PER_CPU "
        "SLURM_MEM_PER_GPU SLURM_MEM_PER_NODE`。",
    ),
)


LOG_MESSAGE_CONTROLLER = Message(
    en=Words(
        "Slurm's controller did not answer the request",
        "`slurmctld` is down, restarts or is overloaded, or this machine cannot reach it: a node or container without "
        "the cluster's configuration, another network, a firewall. What was asked for has no part in it.",
        "`scontrol ping` tells whether it is up; try again in a minute, from a login node of the cluster. In a "
        "container mount /etc/slurm and the munge socket. If it stays, tell the administrators.",
    ),
    zh=Words(
        "Slurm 控制器没有应答该请求",
        "`slurmctld` 已停止、正在重启或过载,或本机无法连接它:节点或容器中没有集群的配置,网络不同,或被防火墙阻断。"
        "与所申请的内容无关。",
        "`scontrol ping` 可查看它是否在运行;稍后在集群的登录节点重试。容器中请挂载 /etc/slurm 与 munge 套接字。"
        "若持续如此,请告知管理员。",
    ),
)

LOG_MESSAGE_SILENT = Message(
    en=Words(
        "Slurm could not launch the step on {node}: its `slurmd` did not answer in time",
        "`srun` waits `MessageTimeout` (10 s unless set) for each node. The node was busy before the first process (a "
        "container image of pyxis and enroot is imported, a prolog runs, its disk is slow), its name leads elsewhere, "
        "or a firewall is between. Your command has no part in it.",
        "Try again, first `srun -N N hostname` without the container. Import the image once beforehand (`enroot "
        "import -o image.sqsh docker://...`, `--container-image=image.sqsh`), leave a bad node out (`#SBATCH "
        "--exclude={node}`), and tell the administrators (`systemctl status slurmd`, `MessageTimeout` in slurm.conf, "
        "the name and port 6818 of the node).",
    ),
    zh=Words(
        "Slurm 无法在 {node} 上启动 step:该节点的 `slurmd` 没有及时应答",
        "`srun` 对每个节点等待 `MessageTimeout`(默认 10 秒)。第一个进程启动之前该节点就很忙(pyxis/enroot 正在导入容器"
        "镜像、prolog 在运行、磁盘慢),节点名解析到别处,或被防火墙阻断。与你的命令无关。",
        "重试;先不带容器运行 `srun -N N hostname`。提前导入镜像(`enroot import -o image.sqsh "
        "docker://...`,`--container-image=image.sqsh`),排除有问题的节点(`#SBATCH --exclude={node}`),并告知管理员"
        "(`systemctl status slurmd`、slurm.conf 中的 `MessageTimeout`、该节点的名称与 6818 端口)。",
    ),
)

LOG_MESSAGE_UNBOUND = Message(
    en=Words(
        "Slurm could not bind the step's tasks to the CPUs of the job ({unbound})",
        "The step asks for a binding, or for threads of a core, that the CPUs it was given do not allow. Mostly it was "
        "inherited: an `srun` or `sbatch` that runs inside of another job takes over `SLURM_CPU_BIND`, "
        "`SLURM_TRES_PER_TASK` and the numbers of tasks of the outer one; or a node gave the job other cores than its "
        "neighbours.",
        "`unset ${{!SLURM_CPU_BIND*}}` before the inner `srun`, and name its own numbers (`--ntasks`, "
        "`--cpus-per-task`); `srun --cpu-bind=none` leaves the binding out, which training with torchrun does not "
        "need. Submit jobs from a login node instead of from inside of a job, or with `--export=NONE`.",
    ),
    zh=Words(
        "Slurm 无法将 step 的任务绑定到作业的 CPU({unbound})",
        "step 要求的绑定方式或每核线程数与其分到的 CPU 不符。多为继承而来:在另一作业内运行的 `srun` 或 `sbatch` 继承了"
        "外层的 `SLURM_CPU_BIND`、`SLURM_TRES_PER_TASK` 与任务数;或某节点分给作业的核与其他节点不同。",
        "在内层 `srun` 之前 `unset ${{!SLURM_CPU_BIND*}}`,并写明自己的数量(`--ntasks`、`--cpus-per-task`);`srun "
        "--cpu-bind=none` 不做绑定,torchrun 训练也不需要绑定。从登录节点而非作业内提交,或加 `--export=NONE`。",
    ),
)
LOG_MESSAGE_SPEC = Message(
    en=Words(
        "Slurm refuses the combination of options: {spec}",
        "It checks them against each other before it looks for nodes. Nothing was started.",
        "Give the total beside what is counted per task: `#SBATCH --ntasks=8` (or `--gpus=8`) with "
        "`--gpus-per-task=1`; or count by node: `--nodes=2 --ntasks-per-node=1 --gpus-per-node=8`, one launcher "
        "(torchrun) per node.",
    ),
    zh=Words(
        "Slurm 拒绝了这些选项的组合:{spec}",
        "它在寻找节点之前先检查各选项是否一致。什么都没有启动。",
        "按任务计数时同时给出总数:`#SBATCH --ntasks=8`(或 `--gpus=8`)配合 `--gpus-per-task=1`;或按节点计数:"
        "`--nodes=2 --ntasks-per-node=1 --gpus-per-node=8`,每个节点一个启动器(torchrun)。",
    ),
)
LOG_MESSAGE_NOWHERE = Message(
    en=Words(
        "Slurm's commands find no configuration of a cluster on this machine",
        "There is no /etc/slurm/slurm.conf, `SLURM_CONF` does not name one, and the name server knows no controller "
        "(`_slurmctld._tcp`). The commands are installed here, and the machine or container is no part of a cluster.",
        "Log in to a node of the cluster and submit there. In a container mount the cluster's /etc/slurm and "
        "/run/munge. Without a cluster run the commands of the script directly: `bash experiment.sh`, or `torchrun` "
        "instead of `srun`.",
    ),
    zh=Words(
        "本机的 Slurm 命令找不到任何集群配置",
        "没有 /etc/slurm/slurm.conf,`SLURM_CONF` 未指向配置文件,DNS 中也没有控制器(`_slurmctld._tcp`)。本机只安装了命"
        "令,这台机器或容器不属于任何集群。",
        "登录到集群的节点再提交。容器中请挂载集群的 /etc/slurm 与 /run/munge。没有集群时直接运行脚本中的命令:`bash "
        "experiment.sh`,或以 `torchrun` 代替 `srun`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """It waits for itself, asks for too much, or cannot prove who it is; a step that was created waited no longer."""
    if hits.get("created") and all(hit.signature in (0, len(SIGNATURES) - 1) for hit in hits):
        return None
    told = hits.get("why") or ""
    english, chinese = next(((en, zh) for part, en, zh in REASONS if part in told.lower()), OTHER_REASON)
    request = LOG_MESSAGE_CONTROLLER if _CONTROLLER.search(told) else LOG_MESSAGE_REQUEST
    messages = {
        "why": request, "exclusive": LOG_MESSAGE_EXCLUSIVE, "launch": LOG_MESSAGE_CREDENTIAL,
        "waiting": LOG_MESSAGE_WAITS, "silent": LOG_MESSAGE_SILENT,
        "unbound": LOG_MESSAGE_UNBOUND, "spec": LOG_MESSAGE_SPEC, "nowhere": LOG_MESSAGE_NOWHERE,
    }  # fmt: skip
    return found(
        PROBLEM,
        hits.choice(messages, LOG_MESSAGE_REQUEST),
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if told and english == OTHER_REASON[0] and request is LOG_MESSAGE_REQUEST else CONFIRMED,
        job=hits.get("waiting") or "",
        why=english,
        why_zh=chinese,
        node=hits.get("node") or "a node",
        unbound=hits.get("unbound") or "",
        spec=_spec(hits.get("spec") or ""),
    )


def _spec(told: str) -> str:
    """Its options, or its first words."""
    options = " ".join(dict.fromkeys(re.findall(r"--[a-z\-]{2,30}", told)))
    return f"`{options}`" if options else told[:60]
