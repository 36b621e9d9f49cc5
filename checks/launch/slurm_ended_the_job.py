"""Slurm ended the job.

## What it means
The time limit was reached, a job of higher priority took the nodes, a node failed, or someone cancelled it.
## What it does to a run
All processes get SIGTERM and then SIGKILL; what they print then is noise.
## What to do
Ask for more time, save more often, let the job be requeued.
## How it is found
The words of slurmstepd.
## References
https://slurm.schedmd.com/sbatch.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH021", name="slurm-ended-the-job", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:JOB|STEP) (?P<job>[\d._+]{1,30}) ON (?P<node>[\w.\-]{1,80}) CANCELLED AT"
        r" [\dT:\-]{1,30} DUE TO (?P<why>TIME LIMIT|PREEMPTION|NODE FAILURE|JOB REQUEUE)",
        symptom_of=("*", "LCH023"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Slurm ended job {job} on {node}: {why}",
        "The scheduler stopped it from outside; exit codes and connection errors after that only "
        "follow. If the run had hung before, the limit is not the cause.",
        "Ask for more time (`sbatch --time`), save checkpoints more often (`save_steps`) and resume "
        "with `resume_from_checkpoint`, let Slurm warn and requeue (`--signal=B:USR1@300 "
        "--requeue`). After a node failure exclude the node (`--exclude`).",
    ),
    zh=Words(
        "Slurm 结束了节点 {node} 上的作业 {job}:{why}",
        "调度器从外部停止了它;之后的退出码与连接错误只是后果。若任务此前已挂起,则时限并非原因。",
        "申请更长时间(`sbatch --time`),更频繁地保存检查点(`save_steps`)并用 `resume_from_checkpoint` "
        "恢复,让 Slurm 提前发信号并重新排队(`--signal=B:USR1@300 --requeue`)。节点故障时排除该节点"
        "(`--exclude`)。",
    ),
)
LOG_CONFIDENCE = LIKELY
