"""Slurm ended the job.

## What it means
The time limit was reached, a job of higher priority took the nodes, a node failed, or someone cancelled it.
## What it does to a run
All processes get SIGTERM and then SIGKILL; what they print then is noise.
## What to do
Ask for more time, save more often, let the job be requeued; ask Slurm who cancelled it.
## How it is found
The words of slurmstepd. Steps are also cancelled because one of their tasks failed, so without a reason only a whole
job counts.
## References
https://slurm.schedmd.com/sbatch.html
https://slurm.schedmd.com/job_state_codes.html
https://slurm.schedmd.com/sacct.html
https://github.com/SchedMD/slurm/blob/master/src/slurmd/slurmstepd/req.c
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="LCH021", name="slurm-ended-the-job", severity=ERROR, since="0.1")

ENDED = Message(
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
CANCELLED = Message(
    en=Words(
        "the Slurm job {job} on {node} was cancelled, and Slurm names no reason",
        "A time limit, a pre-emption or a failed node would be named. Without a reason it is mostly `scancel`, by its "
        "user, an administrator or a script; why stands in no log.",
        "`sacct -j {job} -o JobID,State%30,ExitCode,Elapsed,Timelimit` tells who did it (`CANCELLED by UID`). Where "
        "it was you because the run stood still, look at the last lines of every rank before that moment.",
    ),
    zh=Words(
        "Slurm 作业 {job}(节点 {node})被取消,Slurm 没有给出原因",
        "若是时限、抢占或节点故障,Slurm 会写明。没有原因时多半是 `scancel`(用户、管理员或脚本);为何取消不在日志中。",
        "`sacct -j {job} -o JobID,State%30,ExitCode,Elapsed,Timelimit` 可看出是谁取消的(`CANCELLED by UID`)。若是因为"
        "运行卡住而由自己取消,请查看该时刻之前各 rank 的最后几行。",
    ),
)

_JOB = r"(?P<job>[\d._+]{1,30}) ON (?P<node>[\w.\-]{1,80}) CANCELLED AT [\dT:\-]{1,30}"
#: (signature, what is said of it, how sure it is)
CASES = (
    (
        Signature(
            rf"(?:JOB|STEP) {_JOB} DUE TO (?P<why>TIME LIMIT|PREEMPTION|NODE FAILURE|JOB REQUEUE)",
            symptom_of=("*", "LCH023"),
        ),
        ENDED,
        LIKELY,
    ),
    (
        Signature(rf"slurmstepd\S{{0,80}}: error: \*\*\* JOB {_JOB} \*\*\*", symptom_of=("*", "LCH023")),
        CANCELLED,
        LIKELY,
    ),
)
SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own words call for."""
    return finding_of_signature(PROBLEM, CASES, hits)
