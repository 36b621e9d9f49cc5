"""NCCL's debug output is left on.

## What it means
NCCL_DEBUG is INFO or TRACE, or NCCL_DEBUG_SUBSYS asks for every collective, and the output goes to the run's own log.
## What it does to a run
INFO adds some hundred lines a rank at every start. TRACE and the subsystems COLL, CALL and ALL write a line for every
operation of every rank: gigabytes in a day, and each line costs time on the way.
## What to do
Set NCCL_DEBUG=WARN, which still reports errors, or send the output to files of its own with NCCL_DEBUG_FILE.
## How it is found
The variables as the run will have them.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-debug
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import group_size, shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import INFO, WARNING, Problem
from doctor.facts.environment import Environment
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

PROBLEM = Problem(id="NCC005", name="nccl-debug-left-on", severity=INFO, since="0.1", ends_run=False)
PER_OPERATION = frozenset({"ALL", "COLL", "CALL"})

START = Message(
    en=Words(
        "`NCCL_DEBUG={value}` is on",
        "Every rank writes some hundred lines at each start of a group, between the lines of the training.",
        "Set it to WARN when nothing is being looked for: errors are still reported.",
    ),
    zh=Words(
        "`NCCL_DEBUG={value}` 处于开启状态",
        "每个 rank 在每次建组时都会输出数百行日志,混在训练日志中。",
        "不排查问题时设为 WARN:错误仍会报告。",
    ),
)
EVERY = Message(
    en=Words(
        "`{setting}` logs every NCCL operation",
        "Each collective of each rank writes a line: the log grows by gigabytes and every line slows the step.",
        "Set NCCL_DEBUG=WARN, or send the output to files of its own with NCCL_DEBUG_FILE.",
    ),
    zh=Words(
        "`{setting}` 会记录每一次 NCCL 操作",
        "每个 rank 的每次集合通信都会写一行:日志会增长到数 GB,并拖慢每一步。",
        "设为 NCCL_DEBUG=WARN,或用 NCCL_DEBUG_FILE 把输出写到单独的文件。",
    ),
)


@check(PROBLEM)
def debug_left_on(
    environment: Environment,
    world: World | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """Judge runs of several ranks; output that goes to files of its own is meant."""
    level = (value_of(environment, training, "NCCL_DEBUG") or "").upper()
    if level not in {"INFO", "TRACE"} or value_of(environment, training, "NCCL_DEBUG_FILE"):
        return
    if group_size(world, serving, verl_config, trinity_config) < 2:
        return
    subsystems = value_of(environment, training, "NCCL_DEBUG_SUBSYS") or ""
    where = where_set(training, "NCCL_DEBUG")
    fix = ("export NCCL_DEBUG=WARN",)
    if level == "TRACE" or not PER_OPERATION.isdisjoint(subsystems.upper().split(",")):
        setting = "NCCL_DEBUG=TRACE" if level == "TRACE" else f"NCCL_DEBUG_SUBSYS={subsystems}"
        name, _, value = setting.partition("=")
        yield found(
            PROBLEM, EVERY, setting=setting, severity=WARNING, where=where, commands=fix, evidence=shown(name, value)
        )
    else:
        yield found(PROBLEM, START, value=level, where=where, commands=fix, evidence=shown("NCCL_DEBUG", level))
