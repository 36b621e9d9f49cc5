"""One device multiplies matrices slower than the others of its model.

## What it means
All devices multiplied the same matrices at the same time, and this one was clearly slower: heat, a lower power limit or
clock, an error of its hardware, or a program that shares it.
## What it does to a run
Synchronous training runs at the speed of its slowest device: all others wait for it.
## What to do
Compare it with its neighbours: temperature, power limit, clock event reasons, ECC errors. Leave it out until then.
## How it is found
`doctor check --deep` over many nodes: a series of 8192 x 8192 products in bf16 on every GPU at once, the median of nine
portions after a warm-up. A GPU that is a third slower in time than the median of its model (good ones differ by 8 % on
average) and by more than 5 standard deviations of the measured noise; a CPU core where it is four times slower.
## References
https://arxiv.org/abs/2208.11035
https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
"""

from __future__ import annotations

from doctor.cluster.measured import Measured, slow_products
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="PRF016", name="multiplies-slower", severity=WARNING, since="0.1", ends_run=False)

GPU = Message(
    en=Words(
        "GPU {gpu} of `{host}` multiplies at {own} TFLOP/s, others of its model at {others}",
        "Synchronous training runs at the speed of its slowest GPU, so all others wait for this one.",
        "Compare it with its neighbours: temperature, power limit, clock event reasons, ECC errors.",
    ),
    zh=Words(
        "`{host}` 的 GPU {gpu} 矩阵乘法为 {own} TFLOP/s,同型号的其他卡为 {others}",
        "同步训练的速度由最慢的 GPU 决定,其余的卡都在等它。",
        "与相邻的卡比较:温度、功率上限、时钟事件原因、ECC 错误。",
    ),
)

CPU = Message(
    en=Words(
        "A core of `{host}` multiplies at {own} TFLOP/s, those of the other nodes at {others}",
        "What a training does on the CPU (data, rewards, an offloaded optimizer) is slower there, and all nodes wait.",
        "Look for other work on that node (`top`), for its frequency governor and its temperature.",
    ),
    zh=Words(
        "`{host}` 的单核矩阵乘法为 {own} TFLOP/s,其他节点为 {others}",
        "训练在 CPU 上的部分(数据、奖励、卸载的优化器)在该节点更慢,所有节点都要等待。",
        "检查该节点上的其他任务(`top`)、频率调节策略和温度。",
    ),
)


@check(PROBLEM)
def multiplies_slower(cluster: Cluster) -> Judgement:
    """Likely: it was so at the time of the measurement."""
    measured = Measured(cluster)
    for node, process, slow in slow_products(measured):
        host, own, others = measured.name(node), f"{1 / slow.own:.3g}", f"{1 / slow.others:.3g}"
        text = f"{own} TFLOP/s, median of the others {others}, {slow.sigmas:.0f} standard deviations of the noise"
        yield found(
            PROBLEM,
            CPU if process.gpu is None else GPU,
            gpu=process.gpu,
            host=host,
            own=own,
            others=others,
            confidence=LIKELY,
            where=Where(host=host, gpu=process.gpu),
            commands=("top -b -n 1 | head -20",)
            if process.gpu is None
            else (f"nvidia-smi -q -i {process.gpu} -d PERFORMANCE,CLOCK,POWER,TEMPERATURE,ECC",),
            evidence=(Evidence("doctor check --deep", text),),
        )
