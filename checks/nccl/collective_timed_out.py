"""A rank waited for a collective until the watchdog ended it; the one that is to blame is another rank.

## What it means
The rank that prints the time-out reached the collective and waited. At least one other rank never came: it failed,
hangs, still computes (a long reward function, tokenization, checkpoint or graph capture on one rank), or takes part in
another collective.
## What it does to a run
After the time-out (10 minutes for NCCL by default) torch ends the process, because its data can no longer be trusted.
## What to do
Look for the first failure among the ranks that do not print the time-out. Where a slow phase on one rank is meant to be
slow, raise the time-out; where ranks disagree, find out with the flight recorder which collective each waited for.
## How it is found
The message of torch's NCCL watchdog or of gloo; the dumps of torch's flight recorder where they lie beside the logs.
## References
https://pytorch.org/docs/stable/distributed.html
https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.ddp_timeout
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.core.collectives import Standstill
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.ranks import ranks_text
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NCC011", name="collective-timed-out", severity=ERROR, since="0.1")

LOG_MESSAGE = Message(
    en=Words(
        "{who} waited {seconds} s for `{operation}` in vain",
        "A rank that reports a time-out is one that came to the collective; the culprit is a rank that did not. "
        "{absent}It failed before, hangs, or was still busy with something slow that the others do not do, such as "
        "tokenization, a reward function, loading or a checkpoint on one rank.",
        "Look for the first failure in the logs of the other ranks. If one rank is only slow, prepare that work "
        "beforehand or raise the time-out (`ddp_timeout`, `InitProcessGroupKwargs(timeout=...)`, "
        "`init_process_group(timeout=...)`). If it hangs, set `TORCH_NCCL_TRACE_BUFFER_SIZE=2000 "
        "TORCH_NCCL_DUMP_ON_TIMEOUT=1` and take `py-spy dump` of every rank.",
    ),
    zh=Words(
        "{who_zh} 等待 `{operation}` {seconds} 秒未果",
        "报告超时的 rank 是已到达集合通信的一方;问题出在没有到达的 rank。{absent_zh}它可能先行失败、挂起,"
        "或仍在做其他 rank 不做的慢操作,例如某个 rank 上的分词、奖励函数、加载或保存检查点。",
        "在其他 rank 的日志中查找最先的失败。若只是某个 rank 慢,请提前完成该工作,或增大超时"
        "(`ddp_timeout`、`InitProcessGroupKwargs(timeout=...)`、`init_process_group(timeout=...)`)。若挂起,设置 "
        "`TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1`,并对每个 rank 执行 `py-spy dump`。",
    ),
)

ABSENT_MESSAGE = Message(
    en=Words(
        "rank {absent} never entered `{operation}` number {number}; rank {waiting} waits",
        "The flight recorder's dumps show it for the process group {group}. {behind}A rank that does not come failed "
        "before, hangs, or went another way through the code than the others.{unseen}",
        "Look for the first failure in the log of rank {first}, and at the place where its dump ends. Where ranks "
        "take different branches (an empty batch, a condition on the rank, a reward function that one rank alone "
        "runs), let all of them call the same collectives.",
    ),
    zh=Words(
        "rank {absent} 从未进入第 {number} 次 `{operation}`;rank {waiting} 在等待",
        "flight recorder 的转储显示进程组 {group} 的情况。{behind_zh}没有到达的 rank 可能先行失败、挂起,"
        "或在代码中走了与其他 rank 不同的分支。{unseen_zh}",
        "查看 rank {first} 日志中最先的失败,以及其转储结束处的代码位置。若各 rank 走了不同分支(空批次、按 rank "
        "判断的条件、只在某个 rank 上运行的奖励函数),请让所有 rank 调用相同的集合通信。",
    ),
)
DIFFERS_MESSAGE = Message(
    en=Words(
        "ranks disagree on collective number {number}: {ways}",
        "The flight recorder's dumps show that the ranks of process group {group} entered the same collective with "
        "another {what}. NCCL cannot complete it: all of them wait until the time-out.",
        "Find the place where the ranks part, by the stack that each dump keeps: a condition on the rank, "
        "tensors that were not padded to one length, parameters without gradients on some ranks, or another order "
        "of the same calls.",
    ),
    zh=Words(
        "各 rank 对第 {number} 次集合通信的调用不一致:{ways}",
        "flight recorder 的转储显示,进程组 {group} 的各 rank 以不同的{what_zh}进入同一次集合通信。NCCL 无法完成它,"
        "所有 rank 会一直等到超时。",
        "根据各转储保存的调用栈找到各 rank 分歧之处:按 rank 判断的条件、未补齐到相同长度的张量、"
        "某些 rank 上没有梯度的参数,或相同调用的顺序不同。",
    ),
)
ALL_CAME = Message(
    en=Words(
        "{who} all came to `{operation}` number {number}, and it did not finish in {seconds} s",
        "Nobody that the log shows is missing, so the data do not get through between the GPUs. On one machine that is "
        "mostly peer-to-peer access, which PCIe ACS, an IOMMU or a virtual machine breaks without an error; between "
        "machines a network interface, a firewall or RoCE. Rarer: ranks that bring tensors of other sizes, or a defect "
        "of this NCCL or driver.",
        "On one machine run with `NCCL_P2P_DISABLE=1`: where that helps, switch ACS and IOMMU off (BIOS: VT-d, AMD "
        "IOMMU; kernel: `iommu=pt`; bridges: `setpci`), or keep the variable, and update driver and NCCL. Between "
        "machines set `NCCL_SOCKET_IFNAME`, try `NCCL_IB_DISABLE=1`, open the ports. `NCCL_DEBUG=INFO` shows the way "
        "(`via P2P`, `via SHM`, `via NET`); `all_reduce_perf` of nccl-tests shows it without the program.",
    ),
    zh=Words(
        "{who_zh} 都进入了第 {number} 次 `{operation}`,但 {seconds} 秒内没有完成",
        "日志中的 rank 没有缺席,说明数据无法在 GPU 之间传输。单机多为 peer-to-peer 访问被 PCIe ACS、IOMMU 或虚拟机无声"
        "地破坏;多机则是网卡、防火墙或 RoCE。少数情况是各 rank 的张量大小不同,或该版本 NCCL、驱动的缺陷。",
        "单机用 `NCCL_P2P_DISABLE=1` 运行:若有效,关闭 ACS 与 IOMMU(BIOS:VT-d、AMD IOMMU;内核:`iommu=pt`;桥:`setpci`),"
        "或保留该变量,并更新驱动与 NCCL。多机设置 `NCCL_SOCKET_IFNAME`,尝试 `NCCL_IB_DISABLE=1`,放开端口。"
        "`NCCL_DEBUG=INFO` 显示所用通路(`via P2P`、`via SHM`、`via NET`);"
        "nccl-tests 的 `all_reduce_perf` 可脱离程序验证。",
    ),
)
_DIFFERENCES = {"operation": "操作", "shape": "形状", "dtype": "数据类型"}

SIGNATURES = (
    Signature(
        r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=\d{1,12}, OpType=(?P<operation>\w{1,60})"
        r"[^\n]{0,200}?Timeout\(ms\)=(?P<ms>\d{1,10})\)",
        symptom_of=("*",),
    ),
    Signature(
        r"Timed out waiting (?P<ms>\d{1,10}) ?ms for (?P<operation>recv|send) operation to complete", symptom_of=("*",)
    ),
)


#: the call as the watchdog tells it: number, operation and sizes
_CALL = re.compile(r"WorkNCCL\(SeqNum=(\d{1,12}), OpType=\w{1,60}(?:, NumelIn=\d{1,15}, NumelOut=\d{1,15})?")
#: what the watchdog says of itself, whatever stands in front of the line
_RANK = re.compile(r"\[Rank (\d{1,6})\] Watchdog caught")
#: without the size of the world only a group that hangs from its start on is taken for complete
EARLY = 3


def _common_call(hits: Hits) -> int | None:
    """The number of the one call that every rank waited in, None where ranks differ or some are not seen."""
    calls = {found_.group(0) for hit in hits if (found_ := _CALL.search(hit.text))}
    if len(calls) != 1 or len(hits.ranks) < 2 or hits.ranks != list(range(len(hits.ranks))):
        return None
    number = int(_CALL.search(calls.pop()).group(1))  # type: ignore[union-attr]
    complete = len(hits.ranks) == hits.world_size if hits.world_size else number <= EARLY
    return number if complete else None


def _waiting(hits: Hits) -> list[int]:
    """Ranks that reported it: those of the lines, and those that the words name where a line has no rank in front."""
    told = {int(match[1]) for hit in hits if (match := _RANK.search(hit.text))}
    return sorted(told.union(hits.ranks))


def explain(hits: Hits) -> Finding | None:
    """Name who waited, for how long, and who is missing where the size of the world is known."""
    waited = _waiting(hits)
    ranks = ranks_text(waited)
    number = _common_call(hits)
    if number is not None:
        return found(
            PROBLEM, ALL_CAME, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, number=number,
            who=f"rank {ranks}", who_zh=f"rank {ranks}", operation=hits.get("operation"),
            seconds=f"{int(hits.get('ms') or 0) / 1000:g}", commands=("NCCL_P2P_DISABLE=1", "NCCL_DEBUG=INFO"),
        )  # fmt: skip
    world = max(hits.world_size or 0, max(waited, default=-1) + 1)
    missing = sorted(set(range(world)) - set(waited)) if waited else []
    names = ranks_text(missing)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        who=f"rank {ranks}" if ranks else "a rank", who_zh=f"rank {ranks}" if ranks else "某个 rank",
        seconds=f"{int(hits.get('ms') or 0) / 1000:g}", operation=hits.get("operation"),
        absent=f"No word of it from rank "
            f"{names}. " if names else "", absent_zh=f"rank {names} 没有相关输出。" if names else "",
    )  # fmt: skip


def of_standstill(standstill: Standstill) -> Finding:
    """What the flight recorder's dumps show; asked by `doctor.logs.flight_recorder`."""
    where = Where(file=standstill.file or None, rank=next(iter(standstill.absent), None))
    if standstill.differs:
        ways: dict[str, list[int]] = {}
        for rank, way in standstill.values.items():
            ways.setdefault(way, []).append(rank)
        told = [f"`{way}` on rank {_few(ranks)}" for way, ranks in sorted(ways.items(), key=lambda each: len(each[1]))]
        return found(
            PROBLEM, DIFFERS_MESSAGE, where=where, evidence=standstill.evidence,
            confidence=CONFIRMED if standstill.certain else LIKELY, number=standstill.number, group=standstill.group,
            what=standstill.differs, what_zh=_DIFFERENCES[standstill.differs], ways=", ".join(told[:3]),
        )  # fmt: skip
    last = next(iter(standstill.last.values()), 0)
    unseen = _few(standstill.unseen)
    return found(
        PROBLEM, ABSENT_MESSAGE, where=where, evidence=standstill.evidence, confidence=LIKELY,
        absent=_few(standstill.absent), waiting=_few(standstill.waiting), operation=standstill.operation,
        number=standstill.number, group=standstill.group, first=next(iter(standstill.absent)),
        behind=f"Its last one there was number {last}. " if last > 0 else "",
        behind_zh=f"它在该组中的最后一次是第 {last} 次。" if last > 0 else "",
        unseen=f" Of rank {unseen} there is no dump." if unseen else "",
        unseen_zh=f" rank {unseen} 没有转储。" if unseen else "",
    )  # fmt: skip


def _few(ranks: Sequence[int]) -> str:
    """``0, 1, 2`` or ``0, 1, 2, 3 … (+61)``."""
    return ", ".join(str(each) for each in ranks[:4]) + (f" … (+{len(ranks) - 4})" if len(ranks) > 4 else "")
