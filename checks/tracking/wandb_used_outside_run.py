"""wandb is asked to log where no run is open.

## What it means
`wandb.log` writes to the run that `wandb.init` opened in the same process, until `wandb.finish` (or the end of the
trainer) closes it.
## What it does to a run
`wandb.log` raises, on the ranks and in the workers that never called `wandb.init`, or after the end of training.
## What to do
Log on the process that opened the run, before it is closed.
## How it is found
In a log: by wandb's messages.
## References
https://docs.wandb.ai/models/ref/python/functions/init
https://github.com/wandb/wandb/blob/v0.21.0/wandb/sdk/lib/preinit.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="TRK012", name="wandb-used-outside-run", severity=ERROR, since="0.1")

BEFORE = Message(
    en=Words(
        "`{name}` is called where `wandb.init` was not",
        "No run is open in this process: another rank or worker opened it, wandb is switched off in the trainer "
        "(`report_to`), or the run was closed already by `wandb.finish()` or at the end of training.",
        "Log on rank 0 only, after `wandb.init(project=...)` in that very process: `if wandb.run is not None: "
        'wandb.log(...)`. With the Hugging Face trainers use `trainer.log({{...}})`, or `report_to="wandb"`; in '
        "a reward function on other ranks leave it out.",
    ),
    zh=Words(
        "调用了 `{name}`,而此处没有执行过 `wandb.init`",
        "该进程中没有打开的 run:由另一个 rank 或 worker 打开,训练器关闭了 wandb(`report_to`),或 "
        "`wandb.finish()` 或训练结束时已关闭。",
        "只在 rank 0 上记录,且在同一进程中先 `wandb.init(project=...)`:`if wandb.run is not None: "
        'wandb.log(...)`。Hugging Face 训练器用 `trainer.log({{...}})` 或 `report_to="wandb"`;其他 rank 上'
        "的奖励函数中不要调用。",
    ),
)
AFTER = Message(
    en=Words(
        "wandb is asked to write to a run that is finished already",
        "`wandb.finish()`, or the trainer at the end of training, closed the run before this call.",
        'Log before the end, or open the run again: `wandb.init(id=RUN_ID, resume="allow")`; keep '
        "`wandb.finish()` for the last line of the script.",
    ),
    zh=Words(
        "wandb 被要求写入一个已结束的 run",
        "`wandb.finish()` 或训练结束时的训练器在此之前已关闭该 run。",
        '在结束前记录,或重新打开:`wandb.init(id=RUN_ID, resume="allow")`;把 `wandb.finish()` 留到脚本最后一行。',
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"Error: You must call wandb\.init\(\) before (?P<name>wandb\.\w{1,30})\(?\)?"),
        BEFORE,
        CONFIRMED,
    ),
    (
        Signature(r"UsageError: Run \([\w\-]{1,60}\) is finished\. The call to"),
        AFTER,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
