"""Ray waits for resources that the cluster does not have.

## What it means
Actors and placement groups stay pending until GPUs, CPUs or custom resources are free. Ray says so now and then
and waits on.
## What it does to a run
The command hangs before the first step, for hours if nobody looks.
## What to do
Ask for less, or give the cluster what is asked for.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.ray.io/en/latest/ray-core/scheduling/resources.html
https://github.com/vllm-project/vllm/issues/13909
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY015", name="ray-waits-for-resources", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(
        r"Waiting for creating a placement group of specs for (?P<seconds>[1-9]\d{1,5}) seconds\."
        r" specs=(?P<wanted>\[[^\]\n]{1,300}\])",
        kind="warning",
    ),
    Signature(
        r"No available node types can fulfill resource requests? (?P<wanted>\{[^}\n]{1,120}\})",
        kind="warning",
    ),
    Signature(
        r"The following resource request cannot be scheduled right now: (?P<wanted>\{[^}\n]{1,120}\})",
        kind="warning",
    ),
    Signature(r"Timed out waiting for placement groups to be ready\."),
    Signature(
        r"Failed to create placement group with (?P<bundles>\d{1,6}) bundles \(requiring (?P<gpus>\d{1,6}) GPUs,"
    ),
    Signature(
        r"^\s{1,12}(?:\w{1,40} = )?ray\.get\((?:self\.)?\w{0,30}(?:pg|placement_group)\w{0,10}\.ready\(\), timeout="
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Ray waits for resources that are not free: {wanted}{seconds}",
        "The placement group or actor stays pending: the cluster has fewer free GPUs or CPUs than the "
        "parallel sizes ask for, a node has not joined, left-over actors of an earlier run hold them, or "
        "the address that is demanded (`node:IP`) is not one that Ray knows (VLLM_HOST_IP of several "
        "network cards).",
        "Compare with `ray status` (Demands and Usage) and `ray list nodes`. End left-over jobs (`ray stop --force` "
        "ends all your Ray runs on a machine), join the missing nodes (`ray start --address=HEAD:6379`), ask for fewer "
        "GPUs (`tensor_parallel_size`, `pipeline_parallel_size`, `trainer.n_gpus_per_node`) or CPUs (`ray start "
        "--num-cpus`), and set VLLM_HOST_IP on every node to the address that `ray list nodes` shows.",
    ),
    zh=Words(
        "Ray 在等待尚不可用的资源:{wanted}{seconds_zh}",
        "placement group 或 actor 一直处于等待:集群的空闲 GPU 或 CPU 少于并行大小所需,某节点未加入,先前运"
        "行残留的 actor 仍占用资源,或要求的地址(`node:IP`)不是 Ray 所知的地址(多网卡时的 VLLM_HOST_IP)。",
        "对照 `ray status`(Demands 与 Usage)和 `ray list nodes`。结束残留任务(`ray stop --force` 会结束你在该机器上的所"
        "有 Ray 任务),加入缺少的节点(`ray start --address=HEAD:6379`),减少所需 GPU(`tensor_parallel_size`、"
        "`pipeline_parallel_size`、`trainer.n_gpus_per_node`)或 CPU(`ray start --num-cpus`),并在每个节点把 "
        "VLLM_HOST_IP 设为 `ray list nodes` 显示的地址。",
    ),
)

LOG_CONFIDENCE = LIKELY


def explain(hits: Hits) -> Finding:
    """With what is asked for, and how long it was waited at most."""
    seconds = max(hits.ints("seconds"), default=0)
    gpus = hits.get("gpus")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        wanted=f"{gpus} GPU" if gpus else _short(hits.get("wanted") or ""),
        seconds=f" (for {seconds} s)" if seconds else "",
        seconds_zh=f"(已等待 {seconds} 秒)" if seconds else "",
    )


def _short(wanted: str) -> str:
    """Total of GPUs and CPUs of all bundles, as `2 GPU, 16 CPU`."""
    totals: dict[str, float] = {}
    for name, amount in re.findall(r"'(GPU|CPU|NPU|TPU)': (\d{1,6}(?:\.\d{1,4})?)", wanted):
        totals[name] = totals.get(name, 0.0) + float(amount)
    return ", ".join(f"{amount:g} {name}" for name, amount in totals.items()) or "a placement group"
